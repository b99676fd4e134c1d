"""Test problems: decision processes whose states are bits, with random goals or scrambled bits, and random formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.decisions import BitProcess, majority_process, parity_process, scrambled_process


class BitDecision(eqx.Module):
    """A decision process of n bits with one goal state and a finite horizon.

    Args:
        goal: the bits of the goal.
        action: the action whose transitions are studied.
        bits: the number n of bits.
        horizon: the number of states whose rewards count.
        degree: the degree of the polynomials that are fitted to parts of the process.
    """

    goal: Int[np.ndarray, ""]
    action: Int[np.ndarray, ""]
    bits: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)

    @property
    def parity(self) -> BitProcess:
        """The process that flips pairs of bits."""
        return parity_process(self.bits, int(self.goal))

    @property
    def majority(self) -> BitProcess:
        """The process that sets the bit to which a counter points."""
        return majority_process(self.bits, int(self.goal))

    @property
    def wrong(self) -> Int[np.ndarray, " states"]:
        """The number of bits in which each setting of n bits differs from the goal."""
        return np.bitwise_count(np.arange(2**self.bits) ^ int(self.goal)).astype(int)


class BitDecisions(Population[BitDecision]):
    """Processes with random goals. The horizon is above twice the number of bits, so every reachable goal is reached.

    Args:
        bits: the default number of bits.
    """

    bits: int = 6

    def settings(self) -> Space:
        return Space(
            bits=Integer(self.bits, 3, 9, "bits", corners=(self.bits - 1, self.bits + 1)),
            spare=Integer(5, 1, 50, "states beyond twice the bits"),
            degree=Integer(2, 1, 4, "degree of polynomials", corners=(1, 2)),
        ).where("the degree is at least 2 below the number of bits", lambda s: s["degree"] < s["bits"] - 1)

    def sample(self, setting: dict, key: Key[Array, ""]) -> BitDecision:
        rng, n = generator_of(key), setting["bits"]
        goal, action = np.asarray(rng.integers(2**n)), np.asarray(rng.integers(1, n * (n - 1) // 2 + 1))
        return BitDecision(goal, action, n, 2 * n + setting["spare"], setting["degree"])

    def hypotheses(self, problem: BitDecision) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the horizon", problem.horizon, ">", 2 * problem.bits, "otherwise far states also have the value 0"
            )
        ]


class ScrambledDecision(eqx.Module):
    """A process whose next state has the action as bit 0 and parities as other bits. The reward is bit 0 of the state.

    Args:
        masks: for each bit k > 0 of the next state, the bits whose parity gives bit k. Bit 0 is the action, so masks[0]
            is not used.
        horizon: the number of states whose rewards count.
    """

    masks: Int[np.ndarray, " bits"]
    horizon: int = eqx.field(static=True)

    @property
    def process(self) -> BitProcess:
        """The decision process that these masks define."""
        return scrambled_process(len(self.masks), self.masks)


class ScrambledDecisions(Population[ScrambledDecision]):
    """Processes in which each bit k > 0 of the next state is a parity of more than half of the bits."""

    settings = Space(bits=Integer(8, 4, 10, "bits", corners=(7, 9)), horizon=Integer(6, 2, 60, "states that count"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ScrambledDecision:
        rng, n = generator_of(key), setting["bits"]
        sizes = rng.integers(n // 2 + 1, n + 1, n)
        masks = [sum(1 << int(bit) for bit in rng.permutation(n)[:size]) for size in sizes]
        return ScrambledDecision(np.array(masks), setting["horizon"])

    def hypotheses(self, problem: ScrambledDecision) -> list[Hypothesis]:
        least = np.bitwise_count(problem.masks).min()
        return [
            Hypothesis(
                "bits in the shortest parity",
                float(least),
                ">",
                len(problem.masks) / 2,
                "otherwise a bit of the next state is easy to learn",
            )
        ]


class Formula(eqx.Module):
    """A disjunction of conjunctions of at most `width` literals, given by its truth value in each state."""

    truth: Bool[np.ndarray, " states"]
    width: Float[Array, ""]


class Formulas(Population[Formula]):
    """Random formulas.

    With probability 1/2, a formula is a disjunction of random terms with equally many literals. Otherwise, the formula
    is the parity of as many bits as a term has literals, written as a disjunction of terms.
    """

    settings = Space(
        bits=Integer(9, 3, 12, "bits"), width=Integer(4, 1, 8, "literals of a term"), terms=Integer(12, 1, 200, "")
    ).where("a term has at most all bits", lambda s: s["width"] <= s["bits"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> Formula:
        rng, n, width = generator_of(key), setting["bits"], setting["width"]
        states, truth = np.arange(2**n), np.zeros(2**n, bool)
        chosen = lambda: sum(1 << int(bit) for bit in rng.permutation(n)[:width])
        if rng.random() < 0.5:
            truth = np.bitwise_count(states & chosen()) % 2 == 1
        for _ in range(0 if truth.any() else setting["terms"]):
            literals = chosen()
            truth = truth | (states & literals == int(rng.integers(2**n)) & literals)
        return Formula(truth, jnp.asarray(float(width)))

    def hypotheses(self, problem: Formula) -> list[Hypothesis]:
        share = float(problem.truth.mean())
        return [
            Hypothesis(
                "share of states in which the formula is true",
                share,
                ">",
                0.0,
                "otherwise it is a formula without terms",
            ),
            Hypothesis("share of states in which the formula is true", share, "<=", 1.0, "a share is at most 1"),
        ]


def explained(values: Float[np.ndarray, " states"], degree: int) -> float:
    """Return the share of a function's variance that the best fit by products of at most `degree` bits, coded as signs,
    explains.
    """
    n = len(values).bit_length() - 1
    states = np.arange(len(values))
    monomials = states[np.bitwise_count(states) <= degree]
    signs = 1.0 - 2.0 * (np.bitwise_count(states[:, None] & monomials) % 2)
    assert len(states) == 2**n
    left = values - signs @ np.linalg.lstsq(signs, values, rcond=None)[0]
    return float(1 - left @ left / (len(values) * values.var()))


def next_bits(process: BitProcess, action: int) -> Bool[np.ndarray, "bits states"]:
    """Return each bit of the next state under an action, as a function of the state."""
    return np.array([process.following[action] >> bit & 1 for bit in range(process.bits)], bool)


def kernel_error(values: Float[np.ndarray, " states"], rows: int, key: Key[Array, ""]) -> float:
    """Return an infinitely wide ReLU network's squared error at new states, divided by the variance at these states.

    The network's outputs come from kernel regression on random states, whose bits are coded as signs. The kernel is the
    tangent kernel of one hidden layer, and the ridge is 1e-3.
    """
    bits, order = len(values).bit_length() - 1, np.asarray(jax.random.permutation(key, len(values)))
    signs = 1.0 - 2.0 * (order[:, None] >> np.arange(bits) & 1)
    cosine = np.clip(signs @ signs[:rows].T / bits, -1.0, 1.0)
    angle = np.arccos(cosine)
    # the covariance of outputs, plus the cosine times the covariance of derivatives
    kernel = (np.sqrt(1 - cosine**2) + 2 * (np.pi - angle) * cosine) / np.pi
    own, y = kernel[:rows] + 1e-3 * np.eye(rows), values[order]
    found = y[:rows].mean() + kernel[rows:] @ np.linalg.solve(own, y[:rows] - y[:rows].mean())
    return float(np.mean((found - y[rows:]) ** 2) / np.var(y[rows:]))
