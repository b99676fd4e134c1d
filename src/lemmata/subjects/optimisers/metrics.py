"""Metrics that change while rows are fitted, and the steepest step in a metric.

This theory controls the end of a descent whose metric changes once, exactly, and the direction of a preconditioned
step. It leaves unexplained metrics that follow the gradients, of which the change is not known beforehand.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.engine.problems._changed_metrics import ChangedMetric, ChangedMetrics, SteepestStep, SteepestSteps

_WHOLE = -1
_ASCENT = 400


def _dual(problem: ChangedMetric, residuals: Float[Array, "2 n"]) -> Float[Array, "2 p"]:
    """P X'(X P X')^-1 r for both metrics P, each with its r."""
    weights = jnp.linalg.solve(problem.grams, residuals[..., None])
    return (problem.metrics @ (problem.x.T @ weights))[..., 0]


class ChangedMetricMovesTheLimit(Claim[ChangedMetric]):
    """Descent w <- w - a P X'(X w - y) from 0 with a metric A for s steps of size a, and a metric B from then on, on n
    independent rows X of p > n coordinates, ends at

        A X' K_A^-1 (y - r) + B X' K_B^-1 r,   r = (1 - a K_A)^s y,

    K_P = X P X' and r what the rows still miss when the metric changes (in continuous time e^(-t K_A) y): not at the
    interpolant of B, however late most of the way is. Where the metric tends to B, what was fitted before stays where
    it was put.
    """

    title = "What was fitted in an early metric stays in the limit"
    source = Source("emergence2026", "Definition 5.11", "Figure 5.16", note="in steps, with one change")
    population = ChangedMetrics()
    relation = Equal(block=_WHOLE)
    control = Control(
        "it is the interpolant of the later metric alone",
        lambda value, problem: _dual(problem, jnp.stack([problem.y, problem.y]))[1],
    )
    controls = "which interpolant is found by a metric that changes"
    unexplained = "metrics that follow the gradients"

    def predict(self, problem: ChangedMetric) -> Array:
        step = jnp.eye(len(problem.y)) - problem.rates[0] * problem.grams[0]
        missed = jnp.linalg.matrix_power(step, problem.early) @ problem.y
        return _dual(problem, jnp.stack([problem.y - missed, missed])).sum(axis=0)

    def measure(self, problem: ChangedMetric, key: Key[Array, ""]) -> Array:
        def one(number, w):
            which = jnp.where(number < problem.early, 0, 1)
            slope = problem.x.T @ (problem.x @ w - problem.y)
            return w - problem.rates[which] * problem.metrics[which] @ slope

        return jax.lax.fori_loop(0, problem.early + problem.late, one, jnp.zeros(problem.x.shape[1]))

    def condition(self, problem: ChangedMetric) -> Array:
        """A residual is rounded in every step and forgotten in kappa of them; the solve has kappa itself."""
        values = jnp.linalg.eigvalsh(problem.grams)
        return problem.x.shape[1] * (values[:, -1] / values[:, 0]).max()


class PreconditionedStepIsSteepest(Claim[SteepestStep]):
    """Of all steps d with d' P^-1 d <= 1, P positive definite, the one along -P g lowers the linearised loss g'd most,
    by

        sqrt(g' P g):

    a preconditioner does not leave the steepest descent, it says in which norm.
    """

    title = "A preconditioned step is steepest in the norm of the inverse"
    source = Source("emergence2026", "Figure 5.3", "Definition 5.1", note="made exact")
    population = SteepestSteps()
    relation = Equal()
    control = Control(
        "the direction of the gradient itself is as good, with its longest step",
        lambda value, problem: (
            jnp.sum(problem.gradient**2) / jnp.linalg.norm(jnp.linalg.solve(problem.factor, problem.gradient))
        ),
    )
    controls = "the direction of one step"
    unexplained = "which norm suits a loss"

    def predict(self, problem: SteepestStep) -> Array:
        metric = problem.factor @ problem.factor.T
        return jnp.sqrt(problem.gradient @ metric @ problem.gradient)

    def measure(self, problem: SteepestStep, key: Key[Array, ""]) -> Array:
        """By ascent on the ellipsoid d = S u, |u| = 1, from a random place."""

        def lowered(u: Array) -> Array:
            return -problem.gradient @ (problem.factor @ u)

        def one(_, u):
            moved = u + jax.grad(lowered)(u)
            return moved / jnp.linalg.norm(moved)

        start = jax.random.normal(key, problem.gradient.shape)
        return lowered(jax.lax.fori_loop(0, _ASCENT, one, start / jnp.linalg.norm(start)))

    def condition(self, problem: SteepestStep) -> Array:
        """Products of the factor with its transpose."""
        return len(problem.gradient) * jnp.sum(problem.factor**2)
