"""The best of n draws: its distribution, its divergence from the reference, and how often it beats another draw.

This theory is about the answer with the largest reward among n independent draws from a reference. It assumes that
rewards have no ties, or that ties are broken at random. It leaves unexplained whether the reward is worth having.
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.preferences import best_of_n_law, divergence_bound
from lemmata.subjects.preferences._tabular_policies import FewAnswers, RankedAnswers, Rankings, ShortRankings

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "sampler"}


class LawOfBestOfN(Claim[FewAnswers]):
    """Let k answers have different rewards, and number the answers in increasing order of reward. Let p_1, ..., p_k be
    their probabilities, and let F_i = p_1 + ... + p_i. The best of n independent draws is answer i with probability

        F_i^n - F_(i-1)^n.
    """

    title = "The best of n draws is the i-th lowest answer with probability F_i^n - F_(i-1)^n, for cumulative F_i"
    source = Source("beirami2025", "Section 2", note="the distribution of the best of n")
    population = ShortRankings()
    relation = Equal()
    control = Control(
        "the probability is n p_i F_i^(n-1), normalised, as for a density", lambda law, problem: _as_a_density(problem)
    )
    controls = "the probability of every answer under the best of n"
    unexplained = "rewards that are drawn anew for each answer"

    def predict(self, problem: FewAnswers) -> Array:
        return jnp.exp(best_of_n_law(jnp.log(problem.probabilities), problem.draws))

    def measure(self, problem: FewAnswers, key: Key[Array, ""]) -> Array:
        """Return the probability that each answer is the best, by adding up the probabilities of all k^n draws."""
        answers = len(problem.probabilities)
        drawn = np.array(list(itertools.product(range(answers), repeat=problem.draws)))
        chance = jnp.prod(problem.probabilities[drawn], axis=1)
        return jnp.stack([jnp.sum(chance * (drawn.max(axis=1) == i)) for i in range(answers)])

    def condition(self, problem: FewAnswers) -> float:
        return 8.0 * problem.draws


def _as_a_density(problem: FewAnswers) -> Array:
    weights = problem.probabilities * jnp.cumsum(problem.probabilities) ** (problem.draws - 1)
    return weights / weights.sum()


def _measured_divergence(problem: RankedAnswers) -> Array:
    """Return KL(best of n | reference), computed from positive differences of powers of the distribution function."""
    chance = jnp.exp(problem.logp)
    after = jnp.cumsum(chance)
    law = after**problem.draws - (after - chance) ** problem.draws
    return jnp.sum(jnp.where(law > 0, law * jnp.log(jnp.where(law > 0, law, 1.0) / chance), 0.0))


class DivergenceOfBestOfN(Claim[RankedAnswers]):
    """Let the best of n be the answer with the largest reward among n independent draws from a reference. For any
    rewards, the divergence of the best of n from the reference is at most

        log n - (n - 1)/n.

    Equality holds only if the rewards have a continuous distribution. With k answers, the divergence is also at most
    log(1/p_k), where p_k is the probability of the best answer. So the bound log n - (n - 1)/n is useless if n is much
    larger than 1/p_k.
    """

    title = "The divergence of the best of n draws from their reference is at most log n - (n - 1)/n"
    source = Source("beirami2025", "Theorem 3.1")
    population = Rankings()
    relation = AtMost()
    control = Control("the divergence is at most log n - 1", lambda bound, problem: bound - 1 / problem.draws)
    controls = "the divergence of the best of n from the reference"
    unexplained = "how much smaller the divergence is with few answers"

    def predict(self, problem: RankedAnswers) -> Array:
        return divergence_bound(problem.draws)

    def measure(self, problem: RankedAnswers, key: Key[Array, ""]) -> Array:
        return _measured_divergence(problem)

    def condition(self, problem: RankedAnswers) -> float:
        return 16.0 * len(problem.logp)

    def trivial(self, problem: RankedAnswers) -> Array:
        """Return log(1/p_k), the divergence of the policy that always gives the best answer."""
        return -problem.logp[-1]


class WinRateOfBestOfN(Claim[RankedAnswers]):
    """Let the best of n be the answer with the largest reward among n independent draws from a reference. Compare it
    with one additional draw, and count a tie as one half. The best of n has the larger reward with probability at most

        n / (n + 1).

    Continuous rewards attain this bound, because the additional draw is the best of all n + 1 draws with probability
    1/(n + 1).
    """

    title = "The best of n beats one more draw with probability at most n/(n + 1)"
    source = Source("beirami2025", "Section 5", note="the win rate of the best of n")
    population = Rankings()
    relation = AtMost()
    control = Control("the probability is at most (n - 1)/n", lambda rate, problem: (problem.draws - 1) / problem.draws)
    controls = "how often the best of n beats the reference by its own reward"
    unexplained = "how often people prefer the best of n"
    trivial = 1.0  # a probability is at most 1

    def predict(self, problem: RankedAnswers) -> Array:
        return problem.draws / (problem.draws + 1)

    def measure(self, problem: RankedAnswers, key: Key[Array, ""]) -> Array:
        """Average the chance that a further draw has a smaller reward, plus half the chance of a tie. The average is
        over the distribution of the best of n.
        """
        chance = jnp.exp(problem.logp)
        worse = jnp.cumsum(chance) - chance
        return jnp.sum(jnp.exp(best_of_n_law(problem.logp, problem.draws)) * (worse + chance / 2))

    def condition(self, problem: RankedAnswers) -> float:
        return 16.0 * len(problem.logp)
