"""If people disagree, fitted rewards rank answers by how often they win, not by their mean utility.

This theory is about the Bradley-Terry rewards that are fitted to comparisons, made by annotators of several kinds, if
every pair of answers is compared equally often. It assumes that each kind has its own utilities. It leaves unexplained
whose utilities should count.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.preferences._preference_comparisons import MixedOpinions, Opinions

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_NEWTON = 14


def _ranks(values: Float[Array, " k"]) -> Array:
    """Return the rank of each value, from 1 for the smallest."""
    return 1.0 + jnp.argsort(jnp.argsort(values))


class FittedRewardsOrderByBorda(Claim[Opinions]):
    """Let annotators of several kinds compare answers, and let each kind have its own utilities. Pairs of answers are
    drawn uniformly, and an annotator is drawn at random for each pair. Let P_ij be the probability that a random
    annotator prefers answer i to answer j. The Bradley-Terry rewards r that maximise the expected likelihood rank the
    answers by their Borda scores

        sum_j P_ij.

    The reason is that r solves sum_j P_ij = sum_j sigma(r_i - r_j), where sigma is the logistic function, and that the
    right side increases in r_i. This ranking can differ from the ranking by mean utility. Even an answer that beats
    every other answer by a majority can come second in the ranking by Borda scores.
    """

    title = "Bradley-Terry rewards of mixed opinions rank answers by Borda score"
    source = Source("siththaranjan2024", note="main result")
    population = MixedOpinions()
    relation = Equal(block=1)
    control = Control(
        "the rewards rank the answers by mean utility",
        lambda ranks, problem: _ranks(problem.shares @ problem.utilities),
    )
    controls = "the ranking of answers by rewards that are fitted to the choices of many people"
    unexplained = "pairs that are not compared equally often; which ranking is right"

    def predict(self, problem: Opinions) -> Array:
        return _ranks(problem.preferred.sum(axis=1))

    def measure(self, problem: Opinions, key: Key[Array, ""]) -> Array:
        """Return the ranks of rewards fitted by Newton's method to the expected log likelihood."""
        preferred = problem.preferred * (1 - jnp.eye(problem.utilities.shape[1]))

        def loss(rewards):
            return -jnp.sum(preferred * jax.nn.log_sigmoid(rewards[:, None] - rewards[None, :]))

        def step(_, rewards):
            curvature = jax.hessian(loss)(rewards)
            return rewards - jnp.linalg.solve(curvature + 1.0, jax.grad(loss)(rewards))

        return _ranks(jax.lax.fori_loop(0, _NEWTON, step, jnp.zeros(len(preferred))))
