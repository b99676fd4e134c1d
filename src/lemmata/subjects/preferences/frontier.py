"""How much reward a divergence can buy: a root of it, for light tails.

This theory controls the gain E_pi r - E_ref r of any policy by its divergence from the reference. It assumes rewards
that are sub-Gaussian under the reference; it leaves unexplained proxies with heavy tails, where no such bound exists.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Kind, Source
from lemmata.subjects.preferences import divergence, divergence_bound, expected_normal_maximum
from lemmata.subjects.preferences._tabular_policies import RankedAnswers, Rankings, SubGaussianRewards, TabularPolicy

ABOUT = {"tool": "information theory", "architecture": "any", "object": "inequality"}


class DivergenceFrontier(Claim[TabularPolicy]):
    """If the rewards are sigma-sub-Gaussian under the reference, E_ref e^(t (r - E_ref r)) <= e^(t² sigma²/2) for all
    t, then every policy gains at most

        E_pi r - E_ref r <= sigma sqrt(2 KL(pi | ref)).

    Exponential tilting of normal rewards attains it: the gain grows as the root of the divergence.
    """

    title = "Reward grows at most as the root of the divergence"
    source = Source("emergence2026", "Figure 20.12", note="fit against distance, as the Donsker-Varadhan bound")
    population = SubGaussianRewards()
    relation = AtMost()
    control = Control("sigma sqrt(KL) suffices", lambda bound, problem: bound / jnp.sqrt(2.0))
    controls = "the gain in reward of any policy"
    unexplained = "rewards with heavy tails; whether the reward is the one that is meant"

    def predict(self, problem: TabularPolicy) -> Array:
        return problem.scale * jnp.sqrt(2 * divergence(problem.log_policy, problem.log_ref))

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        moved = jnp.exp(problem.log_policy) - jnp.exp(problem.log_ref)
        return jnp.sum(moved * problem.rewards)

    def condition(self, problem: TabularPolicy) -> Array:
        """Both sides are rounded sums over the answers, of differences as small as the root of the divergence."""
        return 100 * (1 + 1 / jnp.sqrt(2 * divergence(problem.log_policy, problem.log_ref)))

    def trivial(self, problem: TabularPolicy) -> Array:
        """The gain of the best answer alone."""
        return problem.rewards.max() - jnp.sum(jnp.exp(problem.log_ref) * problem.rewards)


class FrontierShareOfBestOfN(Claim[RankedAnswers]):
    """For rewards that are normal with standard deviation 1 under the reference the best of n gains at least nine
    tenths of what any policy can at the same divergence:

        E max(z_1, ..., z_n) >= 0.9 sqrt(2 (log n - (n - 1)/n)),    n >= 2,

    z_i independent standard normal. The share is 0.908 at n = 2 and rises to 1, slowly: 0.96 at a million.
    """

    title = "The best of n reaches nine tenths of the frontier"
    source = Source("beirami2025", note="beside exponential tilting, for normal rewards, with a constant")
    stated = Kind.OWN
    population = Rankings(answers=2, fewest=2, most=2000)
    relation = AtLeast()
    control = Control("it reaches 0.94 of it", lambda bound, problem: bound * 0.94 / 0.9)
    controls = "the gain of the best of n against that of the best policy as far away"
    unexplained = "rewards that are not normal"
    trivial = 0.0  # the gain of one draw

    def predict(self, problem: RankedAnswers) -> Array:
        return 0.9 * jnp.sqrt(2 * divergence_bound(problem.draws))

    def measure(self, problem: RankedAnswers, key: Key[Array, ""]) -> Array:
        return expected_normal_maximum(problem.draws)
