"""How to find parities: elimination needs few examples if labels are exact, and fails if they are noisy.

A parity is the product of the coordinates in an unknown set. This theory counts the examples that elimination needs.
It gives the noise of sums of noisy examples, and a method that finds noisy parities by cancelling blocks of bits. It
assumes uniform inputs. It does not explain whether noisy parities can be learned in polynomial time.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Integer, Kind, Source, Witness
from lemmata.engine.problems.drawn import Drawn, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.functions import cube
from lemmata.subjects.boolean._hidden_parities import (
    NoisyLabels,
    NoisyParities,
    NoisyParity,
    UnknownParities,
    UnknownParity,
    eliminated,
    parity_by_blocks,
    rates_are_probabilities,
    reduced,
)

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "estimator"}


class ParityByElimination(Claim[UnknownParity]):
    """Label uniform inputs in {0, 1}^d by the parity of an unknown set of bits, without noise. Gaussian elimination
    modulo 2 determines the set as soon as the inputs span {0, 1}^d. The mean number of examples until the inputs span
    {0, 1}^d is

        d + sum_{i=1}^d 1/(2^i - 1),

    where the sum is less than 1.6067 for every d.
    """

    title = "Gaussian elimination finds a parity of d bits from at most d + 1.61 noiseless examples on average"
    source = Source("emergence2026", "Figure 10.19", "Definition 10.22", note="with the mean number of examples")
    stated = Kind.OWN
    population = UnknownParities()
    relation = EqualInMean(margin=0.02, resolution=0.06)
    control = Control("d + 2 examples are needed", lambda extra, problem: jnp.asarray(2.0))
    controls = "the number of examples that determine a parity"
    unexplained = "labels with noise, for which elimination fails"
    traced = False
    trials = 100

    def predict(self, problem: UnknownParity) -> Array:
        return jnp.asarray(sum(1 / (2.0**i - 1) for i in range(1, problem.bits + 1)))

    def measure(self, problem: UnknownParity, key: Key[Array, ""]) -> Array:
        """Return the mean number of examples minus d in 40 runs; a run that finds another set counts as infinite."""
        rng, d, secret = generator_of(key), problem.bits, int(problem.secret)
        runs = []
        for inputs in rng.integers(0, 2**d, (40, d + 60)).tolist():
            used, found = eliminated([x | ((x & secret).bit_count() & 1) << d for x in inputs], d)
            runs.append(used - d if found == secret else np.inf)
        return jnp.asarray(np.mean(runs))


class PilingUp(Claim[NoisyLabels]):
    """Take k examples of one parity, and flip the label of example i with probability eta_i, independently. Write
    labels and bits as signs. The product of the k labels is then the label of the coordinatewise product of the k
    inputs, flipped with probability

        1/2 - (1/2) (1 - 2 eta_1) ... (1 - 2 eta_k),

    which is 1/2 - (1 - 2 eta)^k/2 if all rates are eta. The advantage over guessing is 1 minus twice the flip
    probability. So the advantage of the sum falls exponentially with k.
    """

    title = "If noisy examples of a parity are added up, their advantages over guessing are multiplied"
    source = Source("emergence2026", "Figure 10.19", note="why elimination is not robust to noise")
    stated = Kind.OWN
    population = Drawn(
        NoisyLabels,
        rates_are_probabilities,
        k=Integer(6, 1, 14, "labels", corners=(3, 9)),
        rates=uniform(0.01, 0.45, "k"),
    )
    relation = Equal()
    control = Control("the rates add up, as for rare flips", lambda rate, problem: jnp.sum(problem.rates))
    controls = "the noise of sums of examples"
    unexplained = "flips that depend on each other"

    def predict(self, problem: NoisyLabels) -> Array:
        return (1 - jnp.prod(1 - 2 * problem.rates)) / 2

    def measure(self, problem: NoisyLabels, key: Key[Array, ""]) -> Array:
        """Sum the probability of an odd number of flips over all patterns of flips."""
        flips = cube(len(problem.rates)) < 0
        chances = jnp.prod(jnp.where(flips, problem.rates, 1 - problem.rates), axis=1)
        return jnp.sum(jnp.where(flips.sum(axis=1) % 2 == 1, chances, 0.0))

    def condition(self, problem: NoisyLabels) -> Array:
        """Bound the rounding errors. They come from products of k factors and, at small rates, from subtracting the
        product from 1.
        """
        return len(problem.rates) + 1 / jnp.sum(problem.rates)


class ReducedAdvantage(Claim[NoisyParity]):
    """Divide the d bits of a parity into blocks of b bits, and let a = d/b be the number of blocks. Let the labels of
    examples be flipped with probability eta. Cancel all blocks but the last, one after another. To cancel a block,
    choose one example for each value of the block. Add the chosen example modulo 2 to all other examples whose block
    has the same value. Let the label y of a remaining example be -1 or 1, and let chi be the parity of the unknown bits
    in the last block. The mean of y chi is the advantage of the remaining examples over guessing. Before any block is
    cancelled, the advantage of an example is A = 1 - 2 eta. The mean of y chi is A^2 for a = 2. For a = 3, this mean is

        (1 - 2^-b) A^4 + 2^-b A^2.

    The reason is that a remaining example is the sum of 2^(a-1) examples, whose advantages are multiplied. If a = 3,
    two of these examples are the same with probability 2^-b, and then they cancel. If eta = 1/2, the mean of y chi is
    0.
    """

    title = (
        "Cancelling a block of bits by adding noisy parity examples in pairs nearly squares their advantage over "
        "guessing"
    )
    source = Source("blum2003", "Main result", note="the advantage that remains")
    stated = Kind.OWN
    population = NoisyParities()
    relation = EqualInMean(margin=0.01, resolution=0.03)
    control = Control(
        "the advantage has one factor 1 - 2 eta less", lambda value, problem: value / (1 - 2 * problem.eta)
    )
    controls = "the noise of the examples from which a block of a noisy parity is read"
    unexplained = "how strongly remaining examples that share a partner depend on each other"
    traced = False
    trials = 64

    def predict(self, problem: NoisyParity) -> Array:
        square, equal = (1 - 2 * problem.eta) ** 2, 0.5**problem.width
        return square if problem.blocks == 2 else (1 - equal) * square**2 + equal * square

    def measure(self, problem: NoisyParity, key: Key[Array, ""]) -> Array:
        """Return the mean of y chi over 12 samples, because the sums in one sample share few added examples."""
        rng, found = generator_of(key), []
        for _ in range(12):
            inputs, labels = problem.examples(rng, 10 << problem.width)
            for block in range(1, problem.blocks):
                inputs, labels = reduced(inputs, labels, block, problem.width)
            wrong = labels ^ (np.bitwise_count(inputs & int(problem.secret)) & 1)
            found.append(1 - 2 * wrong.mean())
        return jnp.asarray(np.mean(found))


class NoisyParityByBlocks(Claim[NoisyParity]):
    """Divide the d bits of a parity into blocks of b bits, and let a = d/b be the number of blocks. Let the labels of
    examples be flipped with probability eta. Treat each block alone. To cancel the other blocks, add up 2^(a-1)
    examples modulo 2, and do so many times. Of all parities of the block's own bits, take the parity that agrees most
    often with the labels of these sums. If a <= 3, 6 <= b <= 8 and eta <= 0.12, this method finds the parity from 40 *
    2^b examples. So the correlation between the found parity and new noisy labels is at least

        0.95 (1 - 2 eta).

    The time is of the order a^2 2^b. A search over all sets of bits takes a time of the order 2^(a b).
    """

    title = "The algorithm of Blum, Kalai and Wasserman finds a parity from noisy labels"
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
        """Return the correlation of the found parity with 20 000 new noisy labels."""
        rng = generator_of(key)
        found = parity_by_blocks(*problem.examples(rng, 40 << problem.width), problem.blocks, problem.width)
        inputs, labels = problem.examples(rng, 20_000)
        return jnp.asarray(1 - 2 * np.mean(labels ^ (np.bitwise_count(inputs & found) & 1)))
