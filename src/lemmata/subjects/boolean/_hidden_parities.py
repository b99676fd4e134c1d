"""Parities of unknown sets of bits, with and without noise, and two algorithms that find such parities."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension
from lemmata.functions import walsh_hadamard


class UnknownParity(eqx.Module):
    """A parity of bits: the label of x in {0, 1}^d is the sum of the bits in a set, modulo 2.

    Args:
        secret: the set as a number: bit i is 1 if element i is in the set.
        bits: the number d of bits.
    """

    secret: Int[Array, ""]
    bits: int = eqx.field(static=True)


class UnknownParities(Population[UnknownParity]):
    """Parities of uniform random sets, including the empty set."""

    settings = Space(bits=dimension(12, 1, 30, corners=(8, 20)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnknownParity:
        return UnknownParity(jax.random.randint(key, (), 0, 2 ** setting["bits"]), setting["bits"])

    def hypotheses(self, problem: UnknownParity) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the number of the set",
                problem.secret,
                "<",
                2.0**problem.bits,
                "otherwise the set has more than d bits",
            )
        ]


def eliminated(examples: list[int], bits: int) -> tuple[int, int]:
    """Return the number of examples until the rank is full, and the set that these examples determine. If the rank is
    never full, return the number of examples plus 1, and -1. An example is a number whose bit d is the label and whose
    lower bits are the inputs.

    Rows are kept in reduced form: the leading bit of a row is 0 in all other rows.
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


class NoisyLabels(eqx.Module):
    """The probabilities with which k labels are flipped independently."""

    rates: Float[Array, " k"]


def rates_are_probabilities(problem: NoisyLabels) -> Hypothesis:
    return Hypothesis("the largest probability", problem.rates.max(), "<=", 1.0, "a probability")


class NoisyParity(eqx.Module):
    """A parity of d bits with noisy labels, and a split of the bits into blocks.

    Args:
        secret: the set as a number: bit i is 1 if element i is in the set.
        eta: the probability that a label is flipped.
        blocks: the number a of blocks.
        width: the number b of bits in a block, where d = a b.
    """

    secret: Int[Array, ""]
    eta: Float[Array, ""]
    blocks: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def examples(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw uniform inputs, as numbers, and noisy labels 0 or 1."""
        inputs = rng.integers(0, 1 << self.blocks * self.width, n)
        labels = np.bitwise_count(inputs & int(self.secret)) & 1
        return inputs, labels ^ (rng.random(n) < float(self.eta))


class NoisyParities(Population[NoisyParity]):
    """Parities of uniform nonempty sets of d = a b bits. The noise rate is between 1/2 and 1 times the largest rate."""

    settings = Space(
        blocks=Integer(3, 2, 3, "blocks of bits"),
        width=Integer(7, 6, 8, "bits of a block", corners=(6, 8)),
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
    """Make a block 0. For each value of the block, add the first example with this value to the other examples with
    this value, and drop the first example.
    """
    value = inputs >> block * width & (1 << width) - 1
    first = np.unique(value, return_index=True)[1]
    partner = np.zeros(1 << width, int)
    partner[value[first]] = first
    others = np.setdiff1d(np.arange(len(inputs)), first)
    return inputs[others] ^ inputs[partner[value[others]]], labels[others] ^ labels[partner[value[others]]]


def parity_by_blocks(inputs: np.ndarray, labels: np.ndarray, blocks: int, width: int) -> int:
    """Return the set that the algorithm of Blum, Kalai and Wasserman finds.

    For each block, `reduced` makes all other blocks 0. Of all parities of this block, the algorithm chooses the one
    that agrees with most labels.
    """
    found = 0
    for block in range(blocks):
        x, y = inputs, labels
        for other in set(range(blocks)) - {block}:
            x, y = reduced(x, y, other, width)
        sums = np.bincount(x >> block * width, 1.0 - 2 * y, 1 << width)
        found |= int(np.argmax(np.asarray(walsh_hadamard(jnp.asarray(sums))))) << block * width
    return found
