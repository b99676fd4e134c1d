"""Parities: elimination finds them, noise spoils it, and statistical queries do not see them.

A parity is the product of the coordinates in an unknown set. This theory counts the examples that elimination needs,
computes what adding noisy examples does to their noise, and bounds how many parities one statistical query can exclude.
It assumes inputs that are uniform on the cube {-1, 1}^d. It does not explain whether noisy parities can be learned in
polynomial time.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
    Witness,
)
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows
from lemmata.functions import cube, walsh_hadamard

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "estimator"}

DELTA = 0.05


class UnknownParity(eqx.Module):
    """A parity of bits: the label of x in {0, 1}^d is the sum of the bits in a set, modulo 2.

    Args:
        secret: the set, whose element i is bit i of this number.
        bits: d.
    """

    secret: Int[Array, ""]
    bits: int = eqx.field(static=True)


class UnknownParities(Population[UnknownParity]):
    """Uniform sets, also the empty one."""

    settings = Space(bits=dimension(12, 1, 30, corners=(8, 20)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnknownParity:
        return UnknownParity(jax.random.randint(key, (), 0, 2 ** setting["bits"]), setting["bits"])

    def hypotheses(self, problem: UnknownParity) -> list[Hypothesis]:
        return [Hypothesis("the number of the set", problem.secret, "<", 2.0**problem.bits, "a set of d bits")]


def eliminated(examples: list[int], bits: int) -> tuple[int, int]:
    """How many examples give full rank, and the set that they determine; an example is its bits and its label at bit d.

    Each row is kept in reduced form: the leading bit of a row is in no other row.
    """
    kept: dict[int, int] = {}
    for used, example in enumerate(examples, 1):
        row = example
        for lead, other in kept.items():
            row ^= other if row >> lead & 1 else 0
        inputs = row & (1 << bits) - 1
        if inputs:
            lead = inputs.bit_length() - 1
            kept = {at: other ^ (row if other >> lead & 1 else 0) for at, other in kept.items()}
            kept[lead] = row
        if len(kept) == bits:
            return used, sum(1 << lead for lead, own in kept.items() if own >> bits & 1)
    return len(examples) + 1, -1


class ParityByElimination(Claim[UnknownParity]):
    """Label uniform inputs in {0, 1}^d by the parity of an unknown set of bits, without noise. Gaussian elimination modulo
    2 determines the set as soon as the inputs span {0, 1}^d. The mean number of examples until then is

        d + sum_{i=1}^d 1/(2^i - 1),

    where the sum is less than 1.6067 for every d.
    """

    title = "Elimination finds a parity of d bits from d + 1.61 examples in the mean"
    source = Source("emergence2026", "Figure 10.19", "Definition 10.22", note="with the mean number of examples")
    stated = Kind.OWN
    population = UnknownParities()
    relation = EqualInMean(margin=0.02, resolution=0.06)
    control = Control("2 examples more than d are needed", lambda extra, problem: jnp.asarray(2.0))
    controls = "the number of examples that determine a parity"
    unexplained = "labels with noise, for which elimination fails"
    traced = False
    trials = 100

    def predict(self, problem: UnknownParity) -> Array:
        return jnp.asarray(sum(1 / (2.0**i - 1) for i in range(1, problem.bits + 1)))

    def measure(self, problem: UnknownParity, key: Key[Array, ""]) -> Array:
        """The mean of the examples beyond d in 40 runs; a run that finds another set counts as infinite."""
        rng, d, secret = generator_of(key), problem.bits, int(problem.secret)
        runs = []
        for inputs in rng.integers(0, 2**d, (40, d + 60)).tolist():
            used, found = eliminated([x | ((x & secret).bit_count() & 1) << d for x in inputs], d)
            runs.append(used - d if found == secret else np.inf)
        return jnp.asarray(np.mean(runs))


class NoisyLabels(eqx.Module):
    """The probabilities with which k labels are flipped, independently."""

    rates: Float[Array, " k"]


def _rates(problem: NoisyLabels) -> Hypothesis:
    return Hypothesis("the largest probability", problem.rates.max(), "<=", 1.0, "a probability")


class PilingUp(Claim[NoisyLabels]):
    """Let k labels of parities be flipped independently, label i with probability eta_i. The product of the labels is
    the label of the product of the k inputs, flipped with probability

        1/2 - (1/2) (1 - 2 eta_1) ... (1 - 2 eta_k),

    which is 1/2 - (1 - 2 eta)^k/2 if all rates are eta. So the advantage over a coin falls exponentially with k.
    """

    title = "Adding noisy examples multiplies their advantages"
    source = Source("emergence2026", "Figure 10.19", note="why elimination is not robust to noise")
    stated = Kind.OWN
    population = Drawn(
        NoisyLabels, _rates, k=Integer(6, 1, 14, "labels", corners=(3, 9)), rates=uniform(0.01, 0.45, "k")
    )
    relation = Equal()
    control = Control("the rates add up, as for rare flips", lambda rate, problem: jnp.sum(problem.rates))
    controls = "the noise of sums of examples"
    unexplained = "flips that depend on each other"

    def predict(self, problem: NoisyLabels) -> Array:
        return (1 - jnp.prod(1 - 2 * problem.rates)) / 2

    def measure(self, problem: NoisyLabels, key: Key[Array, ""]) -> Array:
        """The probability of an odd number of flips, over all patterns of flips."""
        flips = cube(len(problem.rates)) < 0
        chances = jnp.prod(jnp.where(flips, problem.rates, 1 - problem.rates), axis=1)
        return jnp.sum(jnp.where(flips.sum(axis=1) % 2 == 1, chances, 0.0))

    def condition(self, problem: NoisyLabels) -> Array:
        """Products of k factors; a small rate is a difference from 1/2."""
        return len(problem.rates) + 1 / jnp.sum(problem.rates)


class NoisyParity(eqx.Module):
    """A parity of d bits with noisy labels, and a split of the bits into blocks.

    Args:
        secret: the set, whose element i is bit i of this number.
        eta: the probability that a label is flipped.
        blocks: a.
        width: b, with d = a b.
    """

    secret: Int[Array, ""]
    eta: Float[Array, ""]
    blocks: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def examples(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Uniform inputs, as numbers, and noisy labels 0 or 1."""
        inputs = rng.integers(0, 1 << self.blocks * self.width, n)
        labels = np.bitwise_count(inputs & int(self.secret)) & 1
        return inputs, labels ^ (rng.random(n) < float(self.eta))


class NoisyParities(Population[NoisyParity]):
    """Uniform sets of d = a b bits; the noise rate is between half and the whole of a largest one."""

    settings = Space(
        blocks=Integer(3, 2, 3, "blocks of bits"),
        width=Integer(7, 3, 8, "bits of a block", corners=(5, 8)),
        most=Real(0.1, 0.02, 0.12, "largest noise rate"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyParity:
        rng = generator_of(key)
        secret = int(rng.integers(1, 1 << setting["blocks"] * setting["width"]))
        eta = setting["most"] * rng.uniform(0.5, 1.0)
        return NoisyParity(jnp.asarray(secret), jnp.asarray(eta), setting["blocks"], setting["width"])

    def hypotheses(self, problem: NoisyParity) -> list[Hypothesis]:
        return [Hypothesis("the noise rate", problem.eta, "<", 0.5, "labels carry information")]


def reduced(inputs: np.ndarray, labels: np.ndarray, block: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose bits of one block are 0: the first example with each value of the block is added to the others."""
    value = inputs >> block * width & (1 << width) - 1
    first = np.unique(value, return_index=True)[1]
    partner = np.zeros(1 << width, int)
    partner[value[first]] = first
    others = np.setdiff1d(np.arange(len(inputs)), first)
    return inputs[others] ^ inputs[partner[value[others]]], labels[others] ^ labels[partner[value[others]]]


def parity_by_blocks(inputs: np.ndarray, labels: np.ndarray, blocks: int, width: int) -> int:
    """The set that the algorithm of Blum, Kalai and Wasserman finds.

    For each block, all others are cancelled, and the parity of the block that agrees most with the labels is taken.
    """
    found = 0
    for block in range(blocks):
        x, y = inputs, labels
        for other in set(range(blocks)) - {block}:
            x, y = reduced(x, y, other, width)
        sums = np.bincount(x >> block * width, 1.0 - 2 * y, 1 << width)
        found |= int(np.argmax(np.asarray(walsh_hadamard(jnp.asarray(sums))))) << block * width
    return found


class ReducedAdvantage(Claim[NoisyParity]):
    """Let examples of a parity of d = a b bits have labels that are flipped with probability eta. Cancel a - 1 of the a
    blocks of b bits, one after another: take one example for each value of the block, and add it modulo 2 to the other
    examples with this value. Every remaining example is the sum of 2^(a-1) examples. If y = -1, 1 is the label and chi
    the parity of the last block, then the mean of y chi over the remaining examples is

        (1 - 2 eta)^(2^(a-1)).

    If eta = 1/2, the mean is 0.
    """

    title = "Cancelling all blocks of bits but one leaves an advantage of (1 - 2 eta)^(2^(a-1))"
    source = Source("blum2003", "Main result", note="the advantage that is left")
    stated = Kind.STEP
    population = NoisyParities()
    relation = EqualInMean(margin=0.01, resolution=0.04)
    control = Control(
        "sums of a examples: (1 - 2 eta)^a", lambda value, problem: (1 - 2 * problem.eta) ** problem.blocks
    )
    controls = "the noise of the examples from which a block of a noisy parity is read"
    unexplained = "how strongly remaining examples that share a partner depend on each other"
    traced = False
    trials = 64

    def predict(self, problem: NoisyParity) -> Array:
        return (1 - 2 * problem.eta) ** (2 ** (problem.blocks - 1))

    def measure(self, problem: NoisyParity, key: Key[Array, ""]) -> Array:
        inputs, labels = problem.examples(generator_of(key), 40 << problem.width)
        for block in range(1, problem.blocks):
            inputs, labels = reduced(inputs, labels, block, problem.width)
        wrong = labels ^ (np.bitwise_count(inputs & int(problem.secret)) & 1)
        return jnp.asarray(1 - 2 * wrong.mean())


class NoisyParityByBlocks(Claim[NoisyParity]):
    """Let labels of a parity of d = a b bits be flipped with probability eta. For each of the a blocks of b bits, cancel
    the other blocks by sums of 2^(a-1) examples, and take the parity of this block that agrees most with the summed
    labels. From 40 * 2^b examples, with a <= 3, b <= 8 and eta <= 0.12, this finds the parity. So the found parity
    agrees with new noisy labels with a correlation of at least

        0.95 (1 - 2 eta).

    The time is of the order a^2 2^b, in place of 2^(a b) for a search over all sets.
    """

    title = "The algorithm of Blum, Kalai and Wasserman finds a parity in spite of noise"
    source = Source("blum2003", "Main result", note="for two and three blocks of bits")
    stated = Kind.OWN
    population = NoisyParities()
    relation = Witness()
    control = Control("the correlation is 1.1 (1 - 2 eta)", lambda value, problem: value * 1.1 / 0.95)
    controls = "whether a parity with noisy labels is found"
    unexplained = "more blocks, for which the advantage falls doubly exponentially"
    trivial = "another parity has correlation 0 with the labels"
    traced = False

    def predict(self, problem: NoisyParity) -> Array:
        return 0.95 * (1 - 2 * problem.eta)

    def measure(self, problem: NoisyParity, key: Key[Array, ""]) -> Array:
        """The correlation with 20 000 new labels."""
        rng = generator_of(key)
        found = parity_by_blocks(*problem.examples(rng, 40 << problem.width), problem.blocks, problem.width)
        inputs, labels = problem.examples(rng, 20_000)
        return jnp.asarray(1 - 2 * np.mean(labels ^ (np.bitwise_count(inputs & found) & 1)))


class Query(eqx.Module):
    """A correlational statistical query h on {-1, 1}^d, and the tolerance of its answers.

    Args:
        values: h at the points of `cube(d)`, in [-1, 1].
        tau: the tolerance.
    """

    values: Float[Array, " points"]
    tau: Float[Array, ""]


class Queries(Population[Query]):
    """Bent functions of k of the coordinates with tau = 2^(-k/2) in half of the problems, and otherwise uniform values."""

    settings = Space(d=dimension(8, 3, 11, corners=(6, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Query:
        d = setting["d"]
        pair_key, shift_key, kind_key, value_key, rate_key = jax.random.split(key, 5)
        pairs = jax.random.randint(pair_key, (), 1, (d - 1) // 2 + 1)
        bits = cube(d) < 0
        products = bits[:, 0 : 2 * ((d - 1) // 2) : 2] & bits[:, 1 : 2 * ((d - 1) // 2) : 2]
        inner = jnp.sum(products & (jnp.arange((d - 1) // 2) < pairs), axis=1)
        shift = jnp.sum(bits & jax.random.bernoulli(shift_key, 0.5, (d,)), axis=1)
        bent = 1.0 - 2.0 * ((inner + shift) % 2)
        spread = jax.random.uniform(value_key, (2**d,), minval=-1.0)
        is_bent = jax.random.bernoulli(kind_key)
        tau = 2.0 ** -(d / 2) * jax.random.uniform(rate_key, minval=1.1, maxval=2.0)
        return Query(jnp.where(is_bent, bent, spread), jnp.where(is_bent, 0.5**pairs, tau))

    def hypotheses(self, problem: Query) -> list[Hypothesis]:
        return [Hypothesis("the largest |h|", jnp.abs(problem.values).max(), "<=", 1.0, "answers are in [-1, 1]")]


class QueriesEliminateFew(Claim[Query]):
    """Let h be a function on {-1, 1}^d with |h| <= 1, and let chi_T be the product of the coordinates in T. The number of
    sets T with |E h chi_T| >= tau is at most

        1/tau^2.

    A statistical query with tolerance tau that is answered by 0 is consistent with all other parities. So it takes at
    least (2^d - 1) tau^2 such queries to find a parity. Bent functions attain the bound.
    """

    title = "A statistical query of tolerance tau excludes at most 1/tau^2 parities"
    source = Source("emergence2026", "Figure 10.18", note="with the count of Blum et al. (1994)")
    stated = Kind.THEOREM
    population = Queries()
    relation = AtMost()
    control = Control("half of it is enough", lambda number, problem: number / 2)
    controls = "how many queries of a given tolerance a parity needs"
    unexplained = "algorithms that see single examples, such as elimination"

    def predict(self, problem: Query) -> Array:
        return problem.tau**-2

    def measure(self, problem: Query, key: Key[Array, ""]) -> Array:
        return jnp.sum(jnp.abs(walsh_hadamard(problem.values)) >= problem.tau).astype(float)

    def trivial(self, problem: Query) -> Array:
        """All sets."""
        return jnp.asarray(float(len(problem.values)))


class LabelledCube(eqx.Module):
    """Labels -1 or 1 at the points of `cube(d)`, and a number of examples.

    Args:
        labels: of all points.
        rows: m.
    """

    labels: Float[Array, " points"]
    rows: int = eqx.field(static=True)


class LabelledCubes(Population[LabelledCube]):
    """Independent labels; the queries are the correlations with all 2^d products of coordinates."""

    settings = Space(d=dimension(6, 2, 9, corners=(4, 7)), rows=rows(400, 50, 10_000, corners=(200, 800)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledCube:
        return LabelledCube(jax.random.rademacher(key, (2 ** setting["d"],), float), setting["rows"])

    def hypotheses(self, problem: LabelledCube) -> list[Hypothesis]:
        gap = jnp.abs(jnp.abs(problem.labels) - 1).max()
        return [Hypothesis("the largest distance of a label from -1 or 1", gap, "==", 0.0, "queries are in [-1, 1]")]


class SampledQueries(Claim[LabelledCube]):
    """Let q_1, ..., q_k be functions of an example with values in [-1, 1], fixed before m independent examples are drawn.
    With probability at least 1 - delta, the averages over the examples differ from the expectations of all k functions
    by at most

        tau = sqrt( 2 log(2 k/delta) / m ),   delta = 1/20.

    So 2 log(2 k/delta)/tau^2 examples answer k statistical queries with tolerance tau. The trials use the correlations
    of the label with all products of coordinates.
    """

    title = "Averages over 2 log(2k/delta)/tau^2 examples answer k statistical queries"
    source = Source("emergence2026", "Figure 10.17", note="with the number of examples")
    stated = Kind.THEOREM
    population = LabelledCubes()
    relation = AtMost(DELTA)
    control = Control("three quarters of the tolerance are reached", lambda tau, problem: 0.75 * tau)
    controls = "the answers to many statistical queries from one sample"
    unexplained = "queries that are chosen after earlier answers on the same sample"
    trivial = 1.0  # the answer 0 is off by at most 1
    trials = 400

    def predict(self, problem: LabelledCube) -> Array:
        return jnp.sqrt(2 * jnp.log(2 * len(problem.labels) / DELTA) / problem.rows)

    def measure(self, problem: LabelledCube, key: Key[Array, ""]) -> Array:
        drawn = jax.random.randint(key, (problem.rows,), 0, len(problem.labels))
        counts = jnp.zeros(len(problem.labels)).at[drawn].add(1.0)
        surplus = (counts / problem.rows - 1 / len(problem.labels)) * problem.labels
        numbers = jnp.arange(len(problem.labels))
        products = 1 - 2.0 * (jnp.bitwise_count(numbers[:, None] & numbers) % 2)
        return jnp.abs(products @ surplus).max()
