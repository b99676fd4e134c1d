"""Best values of decision processes of bits, and the formulas that compute them.

There are two families of processes. In the parity process, pairs of bits are flipped until a goal is reached. In the
majority process, a counter runs over the bits and sets them. Each part of the model (a bit of the next state, the
reward) is a short formula. But the best value decides a parity or a majority of all bits. A search for the smallest
circuits of constant depth takes too long. For formulas of depth two, the least number of terms is found exactly. This
theory describes how long a formula is. It does not explain how well a network, which is not such a formula,
approximates the model or the values.
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
    """Consider the process of n bits in which each action flips one pair of bits, or no bit. The reward is 1 in the
    goal state and 0 in all other states. Let k be the number of bits in which a state differs from the goal. The best
    value of the state is the largest possible sum of rewards over H > n/2 states, starting with this state. The best
    value is H - k/2 if k is even, and 0 if k is odd.
    """

    title = "Best values in the parity process, which flips pairs of bits, depend on a parity of all bits"
    source = Source(_KEY, "Abstract, Q-function", note="for the parity process")
    population = BitDecisions()
    relation = Equal()
    control = Control(
        "each step corrects one bit", lambda values, problem: jnp.maximum(2 * values - problem.horizon, 0)
    )
    controls = "the best value of each state"
    unexplained = "the size of a circuit that computes the best value"
    reading = "the process is the known one that flips pairs of bits; the abstract does not name a process"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(np.where(problem.wrong % 2, 0.0, problem.horizon - problem.wrong / 2))

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Compute the best values by dynamic programming."""
        return jnp.asarray(optimal_values(problem.parity, problem.horizon)[0])


class MajorityBestValues(Claim[BitDecision]):
    """Consider a process in which a counter runs over n bits. One action sets the bit at the counter to the value of
    this bit in the goal. The other action moves the counter on by one. The reward is 1 if the counter has reached n and
    all bits agree with the goal, and 0 otherwise. Let k be the number of bits in which a state with the counter at 0
    differs from the goal. The largest possible sum of rewards over H >= 2n states is then H - n - k.
    """

    title = "Best values in the majority process, which sets bits one by one, depend on the number of wrong bits"
    source = Source(_KEY, "Abstract, Q-function", note="for the majority process")
    population = BitDecisions()
    relation = Equal()
    control = Control("the counter need not reach its end", lambda values, problem: values + problem.bits)
    controls = "the best value of each state in which the counter is 0"
    unexplained = "the size of a circuit that computes the best value"
    reading = (
        "the goal requires that the counter has reached n; otherwise the time would be k plus the position "
        "of the last wrong bit"
    )
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(problem.horizon - problem.bits - problem.wrong, float)

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Compute the best values by dynamic programming."""
        return jnp.asarray(optimal_values(problem.majority, problem.horizon)[0][: 2**problem.bits])


class FormulasOfParity(Claim[BitDecision]):
    """Consider the process that flips pairs of n bits, with the reward 1 in one goal state and 0 in all others. Write
    functions of the bits as disjunctions of conjunctions. Under a given action, each of the n bits of the next state is
    a single conjunction, and so is the reward. Together, the bits and the reward need n + 1 conjunctions. Let a best
    value be the largest possible sum of rewards over H > n/2 states. A formula that decides whether the best value is
    above 0 needs at least 2^(n-1) conjunctions, and 2^(n-1) are enough.
    """

    title = "Short DNF formulas describe the parity process, but its best values need 2^(n-1) conjunctions of n bits"
    source = Source(_KEY, "Abstract, circuits", note="at depth two, where the smallest formula is found")
    population = BitDecisions()
    relation = Equal()
    control = Control("half as many conjunctions are enough for both", lambda terms, problem: terms / 2)
    controls = "the least number of conjunctions in a formula"
    unexplained = "circuits of constant depth above two, whose smallest sizes are known only from proofs"
    reading = (
        "constant depth means two, the action is given, and the Q-function is represented by whether a value is above 0"
    )
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray([problem.bits + 1.0, 2.0 ** (problem.bits - 1)])

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Count all prime implicants, and those that cover a state that no other prime implicant covers."""
        process = problem.parity
        values = optimal_values(process, problem.horizon)[0]
        model = [*next_bits(process, int(problem.action)), process.reward > 0]
        return jnp.asarray([float(sum(map(essential_terms, parts))) for parts in (model, [values > 0])])


class FormulaOfMajority(Claim[BitDecision]):
    """Consider the process in which a counter runs over n bits. One action sets the bit at the counter to the value of
    this bit in the goal, and the other action moves the counter on by one. The reward is 1 if the counter has reached n
    and all bits agree with the goal, and 0 otherwise. Let the counter be at 0. At least half of the bits agree with the
    goal if and only if the best sum of rewards over H >= 2n states is at least H - n - floor(n/2). A disjunction of
    conjunctions that decides this condition needs at least binom(n, ceil(n/2)) conjunctions, and this number of
    conjunctions is enough.
    """

    title = "In the majority process, the shortest DNF formula for a threshold of best values has C(n, ceil(n/2)) terms"
    source = Source(_KEY, "Abstract, circuits", note="at depth two, for majorities")
    population = BitDecisions()
    relation = Equal()
    control = Control(
        "one more bit must agree with the goal", lambda terms, problem: math.comb(problem.bits, _more(problem))
    )
    controls = "the least number of conjunctions in a formula"
    unexplained = "circuits of constant depth above two"
    reading = (
        "constant depth means two, and the Q-function is represented by whether the best value reaches a threshold"
    )
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        return jnp.asarray(float(math.comb(problem.bits, (problem.bits + 1) // 2)))

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Compute best values by dynamic programming, and then count prime implicants."""
        values = optimal_values(problem.majority, problem.horizon)[0][: 2**problem.bits]
        return jnp.asarray(float(essential_terms(values >= problem.horizon - problem.bits - problem.bits // 2)))


def _more(problem: BitDecision) -> int:
    """Return one bit more than half of the bits, rounded up."""
    return (problem.bits + 1) // 2 + 1


class InfluenceAtMostWidth(Claim[Formula]):
    """Let a function of bits be a disjunction of conjunctions of at most w literals each. The number w is the width of
    this formula. At a uniformly random state, count the bits whose flip changes the value of the function. The mean of
    this count is the total influence, and it is at most w. Boppana gave a bound of this kind, and Amano proved the
    bound in this form. It follows that every formula that decides a parity of n bits has a conjunction of all n bits.
    """

    title = "The total influence of a DNF formula is at most its width"
    source = Source(_KEY, "Abstract, circuits", note="why a parity has no short formula")
    population = Formulas()
    relation = AtMost()
    control = Control("the influence is at most 0.9 times the width", lambda width, problem: 0.9 * width)
    controls = "how many bits influence the function at a random state"
    unexplained = "the number of conjunctions, and depths above two, for which the bound is a power of log(size)"
    traced = False

    def predict(self, problem: Formula) -> Array:
        return problem.width

    def measure(self, problem: Formula, key: Key[Array, ""]) -> Array:
        """Return the mean, over all states, of the number of bits whose flip changes the value."""
        return jnp.asarray(total_influence(problem.truth))

    def trivial(self, problem: Formula) -> Array:
        """Return the number of bits, because a flip of each bit can change the value."""
        return jnp.asarray(float(len(problem.truth).bit_length() - 1))


class WeightsOfParityValues(Claim[BitDecision]):
    """Consider the process that flips pairs of n >= 4 bits, with the reward 1 in one goal state and 0 in all others.
    Let a best value be the largest possible sum of rewards over H > n/2 states, and let m = (H - n/4)/2. Add up the
    squared Walsh coefficients of the best values at each degree. At the degrees 0, 1, n - 1 and n, the sums are m²,
    n/64, n/64 and m². At all other degrees, the sum is 0. So half of the mean square of the best values is at the two
    highest degrees.
    """

    title = "In the parity process, half of the mean square of best values is at the two highest Walsh degrees"
    source = Source(_KEY, "Abstract, Q-function", note="by degrees")
    population = BitDecisions(bits=7)
    relation = Equal(block=-1)
    control = Control(
        "the mean square at the highest degree is half as large", lambda weights, problem: weights.at[-1].divide(2)
    )
    controls = "how the mean square of the best values is distributed over degrees"
    unexplained = "learners that can learn a parity"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        middle, n = (problem.horizon - problem.bits / 4) / 2, problem.bits
        weights = jnp.zeros(n + 1).at[jnp.asarray([1, n - 1])].add(n / 64)
        return weights.at[jnp.asarray([0, n])].add(middle**2)

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Return the sum of squared coefficients at each degree, by dynamic programming and a fast Walsh transform."""
        return jnp.asarray(weight_by_degree(optimal_values(problem.parity, problem.horizon)[0]))

    def condition(self, problem: BitDecision) -> Array:
        return jnp.asarray(4.0 * problem.bits)


class EasyValuesOfHardModels(Claim[ScrambledDecision]):
    """Consider a process in which the action is the first bit of the following state, and the reward of a state is its
    first bit. Every other bit of the following state is a parity of more than half of the bits. Then the best values
    are a function of Walsh degree 1. In contrast, the Walsh degree of each of these parity bits is the number of bits
    in its parity. In the process that flips pairs of bits, the reverse holds: the best values have a higher degree than
    the bits of the next state.
    """

    title = "A decision process with parities as transitions can have best values of degree 1"
    source = Source(_KEY, "Abstract, insight", note="a process for which the opposite holds")
    population = ScrambledDecisions()
    relation = Equal()
    control = Control("all degrees are higher by one", lambda degrees, problem: degrees + 1)
    controls = "the degrees of the best values and of the bits of the next state"
    unexplained = "which of the two orders a process in practice has"
    traced = False

    def predict(self, problem: ScrambledDecision) -> Array:
        return jnp.asarray([1.0, *np.bitwise_count(problem.masks[1:]).astype(float)])

    def measure(self, problem: ScrambledDecision, key: Key[Array, ""]) -> Array:
        """Return the highest Walsh degree with nonzero weight, of the best values and of each bit of the next state."""
        values = optimal_values(problem.process, problem.horizon)[0]
        parts = [values, *next_bits(problem.process, 0)[1:].astype(float)]
        return jnp.asarray([float(np.flatnonzero(weight_by_degree(part) > 1e-9).max()) for part in parts])
