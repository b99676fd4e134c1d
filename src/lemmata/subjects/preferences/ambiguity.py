"""One reward for people who disagree: it orders answers by how often they win, not by what they are worth.

This theory controls the Bradley-Terry rewards fitted to comparisons by annotators of several kinds, every pair compared
equally often. It assumes that each kind has its own utilities; it leaves unexplained whose utilities should count.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.preferences._preference_comparisons import MixedOpinions, Opinions

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_NEWTON = 14


def _ranks(values: Float[Array, " k"]) -> Array:
    """1 for the smallest."""
    return 1.0 + jnp.argsort(jnp.argsort(values))


class FittedRewardsOrderByBorda(Claim[Opinions]):
    """Where pairs are drawn uniformly and an annotator of a random kind decides, so that answer i is preferred to j
    with probability P_ij whatever its origin, the Bradley-Terry rewards of the largest expected likelihood order the
    answers by their Borda scores

        sum_j P_ij,

    since they solve sum_j P_ij = sum_j sigma(r_i - r_j), whose right side increases in r_i: not by the mean utility,
    and an answer that wins every duel by a majority can come second.
    """

    title = "Rewards fitted to mixed opinions follow the Borda count"
    source = Source("siththaranjan2024", note="main result")
    population = MixedOpinions()
    relation = Equal(block=1)
    control = Control("they follow the mean utility", lambda ranks, problem: _ranks(problem.shares @ problem.utilities))
    controls = "the order of rewards that are fitted to the choices of many people"
    unexplained = "pairs that are compared unequally often; which order is right"

    def predict(self, problem: Opinions) -> Array:
        return _ranks(problem.preferred.sum(axis=1))

    def measure(self, problem: Opinions, key: Key[Array, ""]) -> Array:
        """Newton's method on the expected log likelihood, with automatic derivatives."""
        preferred = problem.preferred * (1 - jnp.eye(problem.utilities.shape[1]))

        def loss(rewards):
            return -jnp.sum(preferred * jax.nn.log_sigmoid(rewards[:, None] - rewards[None, :]))

        def step(_, rewards):
            curvature = jax.hessian(loss)(rewards)
            return rewards - jnp.linalg.solve(curvature + 1.0, jax.grad(loss)(rewards))

        return _ranks(jax.lax.fori_loop(0, _NEWTON, step, jnp.zeros(len(preferred))))
