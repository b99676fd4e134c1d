"""Best values of decision processes of bits, and the formulas that they need.

Two families of processes: pairs of bits are flipped until a goal is reached, or a counter runs over the bits and sets
them. Each part of the model (a following bit, the reward) is a short formula; the best value decides a parity or a
majority of all bits. Circuits of constant depth cannot be searched, but formulas of depth two can: the least number of
terms is found exactly here. This theory controls how long a formula is. It leaves open how well a network, which is no
such formula, approximates either.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.decisions import essential_terms, optimal_values, total_influence, weight_by_degree
from lemmata.subjects.decisions._bit_decisions import (
    BitDecision,
    BitDecisions,
    Formula,
    Formulas,
    ScrambledDecision,
    ScrambledDecisions,
    next_bits,
)

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "function class"}

_KEY = "zhu2024representation"


class ParityBestValues(Claim[BitDecision]):
    """In the process that flips a pair of n bits at each step, or none, with reward 1 in the goal, the best sum of the
    rewards in H > n/2 states is H - k/2 where the state differs from the goal in an even number k of bits, and 0 where
    it is odd.
    """

    title = "Best values decide a parity"
    source = Source(_KEY, "Abstract, Q-function", note="the process of parities")
    population = BitDecisions()
    relation = Equal()
    control = Control("a step mends one bit", lambda values, problem: jnp.maximum(2 * values - problem.horizon, 0))
    controls = "the best value of each state"
    unexplained = "how long a circuit is that computes it"
    reading = "the process of flips of pairs, as it is known; the abstract names none"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(np.where(problem.wrong % 2, 0.0, problem.horizon - problem.wrong / 2))

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """By dynamic programming."""
        return jnp.asarray(optimal_values(problem.parity, problem.horizon)[0])


class MajorityBestValues(Claim[BitDecision]):
    """In the process in which a counter runs over n bits and an action sets the bit that it points to, with reward 1
    where the counter has reached n and all bits are those of the goal, the best sum of the rewards in H >= 2n states
    is H - n - k where the counter is 0 and k bits differ from the goal.
    """

    title = "Best values count bits"
    source = Source(_KEY, "Abstract, Q-function", note="the process of majorities")
    population = BitDecisions()
    relation = Equal()
    control = Control("the counter need not run to its end", lambda values, problem: values + problem.bits)
    controls = "the best value of each state where the counter is 0"
    unexplained = "how long a circuit is that computes it"
    reading = "the goal asks for the counter's end: else the time is the place of the last wrong bit plus k"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(problem.horizon - problem.bits - problem.wrong, float)

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """By dynamic programming."""
        return jnp.asarray(optimal_values(problem.majority, problem.horizon)[0][: 2**problem.bits])


class FormulasOfParity(Claim[BitDecision]):
    """In the process that flips pairs of n bits, the n following bits under a given action, and the reward, take one
    conjunction each, n + 1 together. Whether a best value is above 0 takes 2^(n-1) conjunctions, no fewer.
    """

    title = "Short formulas of a model, long ones of its values"
    source = Source(_KEY, "Abstract, circuits", note="at depth two, where the smallest is found")
    population = BitDecisions()
    relation = Equal()
    control = Control("half as many decide either", lambda terms, problem: terms / 2)
    controls = "the least number of conjunctions"
    unexplained = "circuits of constant depth above two, whose least sizes are known by proofs alone"
    reading = "constant depth as two, the action given, and the Q-function by whether a value is above 0"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray([problem.bits + 1.0, 2.0 ** (problem.bits - 1)])

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """All prime implicants; those that nothing else covers."""
        process = problem.parity
        values = optimal_values(process, problem.horizon)[0]
        model = [*next_bits(process, int(problem.action)), process.reward > 0]
        return jnp.asarray([float(sum(map(essential_terms, parts))) for parts in (model, [values > 0])])


class FormulaOfMajority(Claim[BitDecision]):
    """In the process in which a counter runs over n bits, with the counter at 0, whether at least half of the bits are
    those of the goal is whether the best sum of the rewards in H states is at least H - n - floor(n/2), and that takes
    binom(n, ceil(n/2)) conjunctions, no fewer.
    """

    title = "A formula for best values that count"
    source = Source(_KEY, "Abstract, circuits", note="at depth two, for majorities")
    population = BitDecisions()
    relation = Equal()
    control = Control("of one more bit that is right", lambda terms, problem: math.comb(problem.bits, _more(problem)))
    controls = "the least number of conjunctions"
    unexplained = "circuits of constant depth above two"
    reading = "constant depth as two, and the Q-function by a threshold of the best value"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(float(math.comb(problem.bits, (problem.bits + 1) // 2)))

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Dynamic programming, then prime implicants."""
        values = optimal_values(problem.majority, problem.horizon)[0][: 2**problem.bits]
        return jnp.asarray(float(essential_terms(values >= problem.horizon - problem.bits - problem.bits // 2)))


def _more(problem: BitDecision) -> int:
    """A number of bits whose binomial coefficient differs from that of half of them."""
    return (problem.bits + 1) // 2 + 1


class InfluenceAtMostWidth(Claim[Formula]):
    """If a function of bits is a disjunction of conjunctions of at most w literals, then at a random state at most w
    bits in the mean change it when they are flipped (Amano's form of a bound of Boppana). So a formula that decides a
    parity of n bits has a conjunction of all n.
    """

    title = "Influence is at most the width"
    source = Source(_KEY, "Abstract, circuits", note="why a parity has no short formula")
    population = Formulas()
    relation = AtMost()
    control = Control("at most nine tenths of the width", lambda width, problem: 0.9 * width)
    controls = "how many bits matter at a random state"
    unexplained = "the number of conjunctions, and depths above two, where the bound is a power of log(size)"
    traced = False

    def predict(self, problem: Formula) -> Array:
        return problem.width

    def measure(self, problem: Formula, key: Key[Array, ""]) -> Array:
        """Over all states."""
        return jnp.asarray(total_influence(problem.truth))

    def trivial(self, problem: Formula) -> Array:
        """All bits."""
        return jnp.asarray(float(len(problem.truth).bit_length() - 1))


class WeightsOfParityValues(Claim[BitDecision]):
    """In the process that flips pairs of n >= 4 bits, over H > n/2 states, the squared Walsh coefficients of the best
    values add up to m², n/64, n/64 and m² at the degrees 0, 1, n - 1 and n, with m = (H - n/4)/2, and to 0 between:
    half of the mean square is at the two highest degrees.
    """

    title = "Half of the values is of highest degree"
    source = Source(_KEY, "Abstract, Q-function", note="by degrees")
    population = BitDecisions(bits=7)
    relation = Equal(block=-1)
    control = Control("half of that at the highest degree", lambda weights, problem: weights.at[-1].divide(2))
    controls = "the degrees of the best values"
    unexplained = "learners that can tell a parity"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        middle, n = (problem.horizon - problem.bits / 4) / 2, problem.bits
        weights = jnp.zeros(n + 1).at[jnp.asarray([1, n - 1])].add(n / 64)
        return weights.at[jnp.asarray([0, n])].add(middle**2)

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Dynamic programming and a fast Walsh transform."""
        return jnp.asarray(weight_by_degree(optimal_values(problem.parity, problem.horizon)[0]))

    def condition(self, problem: BitDecision) -> Array:
        return jnp.asarray(4.0 * problem.bits)


class EasyValuesOfHardModels(Claim[ScrambledDecision]):
    """The action is the first bit of the following state and the reward of a state is its first bit, while every other
    following bit is a parity of more than half of the bits. Then the best values are of degree 1, and following bits
    have the degrees of their parities: the order of the parity process is turned round.
    """

    title = "Easy values of a hard model"
    source = Source(_KEY, "Abstract, insight", note="a process where it is the other way round")
    population = ScrambledDecisions()
    relation = Equal()
    control = Control("of degrees higher by one", lambda degrees, problem: degrees + 1)
    controls = "degrees of best values and of the model's bits"
    unexplained = "which order a process of practice has"
    traced = False

    def predict(self, problem: ScrambledDecision) -> Array:
        return jnp.asarray([1.0, *np.bitwise_count(problem.masks[1:]).astype(float)])

    def measure(self, problem: ScrambledDecision, key: Key[Array, ""]) -> Array:
        """The highest degree of which there is any weight."""
        values = optimal_values(problem.process, problem.horizon)[0]
        parts = [values, *next_bits(problem.process, 0)[1:].astype(float)]
        return jnp.asarray([float(np.flatnonzero(weight_by_degree(part) > 1e-9).max()) for part in parts])
