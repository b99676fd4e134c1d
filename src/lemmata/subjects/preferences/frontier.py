"""The largest gain in reward at a given divergence: for rewards with light tails, a multiple of the root of the
divergence.

This theory bounds the gain E_pi r - E_ref r of any policy by its divergence from the reference. It assumes rewards
that are sub-Gaussian under the reference. It leaves unexplained proxies with heavy tails, for which no such bound
exists.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Kind, Source
from lemmata.subjects.preferences import divergence, divergence_bound, expected_normal_maximum
from lemmata.subjects.preferences._tabular_policies import RankedAnswers, Rankings, SubGaussianRewards, TabularPolicy

ABOUT = {"tool": "information theory", "architecture": "any", "object": "inequality"}


class DivergenceFrontier(Claim[TabularPolicy]):
    """Let the rewards r be sigma-sub-Gaussian under a reference ref, which means E_ref
    e^(t (r - E_ref r)) <= e^(t² sigma²/2) for all t. Then the expected reward of every policy pi exceeds the expected
    reward of the reference by at most

        E_pi r - E_ref r <= sigma sqrt(2 KL(pi | ref)).

    Exponential tilting of normal rewards attains this bound, so the largest gain grows as the square root of the
    divergence.
    """

    title = "Over a reference, a policy pi gains at most sigma sqrt(2 KL(pi | ref)) in a sigma-sub-Gaussian reward"
    source = Source(
        "emergence2026", "Figure 20.12", note="the gain against the divergence; here as the Donsker-Varadhan bound"
    )
    population = SubGaussianRewards()
    relation = AtMost()
    control = Control("the gain is at most sigma sqrt(KL)", lambda bound, problem: bound / jnp.sqrt(2.0))
    controls = "the gain in reward of any policy"
    unexplained = "rewards with heavy tails; whether the reward measures what is wanted"

    def predict(self, problem: TabularPolicy) -> Array:
        return problem.scale * jnp.sqrt(2 * divergence(problem.log_policy, problem.log_ref))

    def measure(self, problem: TabularPolicy, key: Key[Array, ""]) -> Array:
        moved = jnp.exp(problem.log_policy) - jnp.exp(problem.log_ref)
        return jnp.sum(moved * problem.rewards)

    def condition(self, problem: TabularPolicy) -> Array:
        """Bound the rounding errors. Both sides are rounded sums over the answers. Terms cancel down to the size of the
        divergence's root.
        """
        return 100 * (1 + 1 / jnp.sqrt(2 * divergence(problem.log_policy, problem.log_ref)))

    def trivial(self, problem: TabularPolicy) -> Array:
        """Return the gain of the policy that always gives the best answer."""
        return problem.rewards.max() - jnp.sum(jnp.exp(problem.log_ref) * problem.rewards)


class FrontierShareOfBestOfN(Claim[RankedAnswers]):
    """Let the rewards of draws from a reference be normal with standard deviation 1, and let z_1, ..., z_n be
    independent standard normal numbers. The best of n draws has the divergence log n - (n - 1)/n from the reference.
    The best of n gains at least nine tenths of the largest gain that a policy can have at this divergence:

        E max(z_1, ..., z_n) >= 0.9 sqrt(2 (log n - (n - 1)/n)),    n >= 2.

    The exact fraction is 0.908 at n = 2 and rises slowly to 1. For n equal to a million it is 0.96.
    """

    title = "The best of n draws achieves at least nine tenths of the largest reward gain at its KL divergence"
    source = Source("beirami2025", note="compared with exponential tilting, for normal rewards, with a constant")
    stated = Kind.OWN
    population = Rankings(answers=2, fewest=2, most=2000)
    relation = AtLeast()
    control = Control(
        "the best of n gains at least 0.94 of the largest gain", lambda bound, problem: bound * 0.94 / 0.9
    )
    controls = "the gain of the best of n, relative to the best policy at the same divergence"
    unexplained = "rewards that are not normal"
    trivial = 0.0  # the gain of one draw

    def predict(self, problem: RankedAnswers) -> Array:
        return 0.9 * jnp.sqrt(2 * divergence_bound(problem.draws))

    def measure(self, problem: RankedAnswers, key: Key[Array, ""]) -> Array:
        return expected_normal_maximum(problem.draws)
