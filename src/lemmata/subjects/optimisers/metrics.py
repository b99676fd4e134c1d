"""Metrics that change during training, and the steepest step in a metric.

This theory gives the exact end of a descent whose metric changes once, and the direction of a preconditioned step. It
does not explain metrics that follow the gradients, whose change is not known in advance.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "training"}


class ChangedMetric(eqx.Module):
    """Descent on 1/2 |x w - y|² with fewer rows than weights: `early` steps in one metric, `late` in another.

    Args:
        x, y: the rows and their targets.
        metrics: the first and the second metric, positive definite.
        early, late: the numbers of steps in the first and in the second metric.
    """

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    metrics: Float[Array, "2 p p"]
    early: int = eqx.field(static=True)
    late: int = eqx.field(static=True)

    @property
    def grams(self) -> Float[Array, "2 n n"]:
        """The matrix X P X' for each metric P."""
        return self.x @ self.metrics @ self.x.T

    @property
    def rates(self) -> Float[Array, " 2"]:
        """A stable step in each metric: 1/|X P X'|_F."""
        return 1 / jnp.sqrt(jnp.sum(self.grams**2, axis=(1, 2)))


def _metric(key: Key[Array, ""], p: int) -> Float[Array, "p p"]:
    one, two = jax.random.split(key)
    factor = jax.random.normal(two, (p, 2)) / jnp.sqrt(p)
    return jnp.diag(0.5 * 4 ** jax.random.uniform(one, (p,))) + factor @ factor.T


class ChangedMetrics(Population[ChangedMetric]):
    """Normal rows, and metrics that are a diagonal between 1/2 and 2 plus two random directions."""

    settings = Space(
        n=Integer(4, 1, 30, "rows"),
        ratio=Integer(8, 6, 30, "weights per row", corners=(6, 12)),
        early=Integer(4, 1, 100, "steps in the first metric", corners=(2, 8)),
        late=Integer(2000, 500, 100_000, "steps in the second metric", corners=(2000, 3000)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ChangedMetric:
        keys = jax.random.split(key, 4)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        metrics = jnp.stack([_metric(keys[0], p), _metric(keys[1], p)])
        x, y = jax.random.normal(keys[2], (n, p)), jax.random.normal(keys[3], (n,))
        return ChangedMetric(x, y, metrics, setting["early"], setting["late"])

    def hypotheses(self, problem: ChangedMetric) -> list[Hypothesis]:
        least = problem.rates[1] * jnp.linalg.eigvalsh(problem.grams[1])[0]
        needed = 36.7 / jnp.maximum(least, 1e-12)
        return [
            Hypothesis(
                "the number of steps is large enough",
                problem.late,
                ">=",
                needed,
                "then the limit is reached up to rounding",
            )
        ]


class SteepestStep(eqx.Module):
    """A gradient, and a factor S of the metric P = S S'."""

    gradient: Float[Array, " d"]
    factor: Float[Array, "d d"]


class SteepestSteps(Population[SteepestStep]):
    """Normal gradients, and triangular factors with a diagonal between 1/2 and 2."""

    settings = Space(d=Integer(5, 2, 60, "coordinates", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteepestStep:
        keys = jax.random.split(key, 3)
        d = setting["d"]
        lower = jnp.tril(jax.random.normal(keys[0], (d, d)), -1) / jnp.sqrt(d)
        factor = lower + jnp.diag(0.5 * 4 ** jax.random.uniform(keys[1], (d,)))
        return SteepestStep(jax.random.normal(keys[2], (d,)), factor)

    def hypotheses(self, problem: SteepestStep) -> list[Hypothesis]:
        size = jnp.linalg.norm(problem.gradient)
        return [Hypothesis("the gradient is not 0", size, ">", 1e-6, "otherwise every step is equally good")]


_WHOLE = -1
_ASCENT = 400


def _dual(problem: ChangedMetric, residuals: Float[Array, "2 n"]) -> Float[Array, "2 p"]:
    """Return P X'(X P X')^-1 r for both metrics P, each with its own r."""
    weights = jnp.linalg.solve(problem.grams, residuals[..., None])
    return (problem.metrics @ (problem.x.T @ weights))[..., 0]


class ChangedMetricMovesTheLimit(Claim[ChangedMetric]):
    """Let the matrix X have n linearly independent rows with p > n coordinates, and let y be their targets. Let descent
    from 0 take steps w <- w - a P X'(X w - y) of size a in a metric P. Let P be A in the first s steps, and B in all
    later steps. With K_P = X P X' for P = A and P = B, the descent ends at

        A X' K_A^-1 (y - r) + B X' K_B^-1 r,   r = (1 - a K_A)^s y,

    where r is the residual of the rows when the metric changes. In continuous time, r is e^(-t K_A) y after the time t
    in metric A. So descent does not end at the interpolant of least norm for B alone, even if B is used for most of the
    time. The part of the targets that was fitted before a change of metric keeps its effect on the limit, even if the
    metric tends to B.
    """

    title = "A metric (preconditioner) used early in descent still shapes the interpolant at the end"
    source = Source(
        "emergence2026", "Definition 5.11", "Figure 5.16", note="for discrete steps and one change of metric"
    )
    population = ChangedMetrics()
    relation = Equal(block=_WHOLE)
    control = Control(
        "the end is the interpolant of the second metric alone",
        lambda value, problem: _dual(problem, jnp.stack([problem.y, problem.y]))[1],
    )
    controls = "the interpolant that is found if the metric changes"
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
        """Bound the errors: a rounding error of the residual decays over about kappa steps. Here kappa is the
        condition number of X P X', which also bounds the error of the linear solve.
        """
        values = jnp.linalg.eigvalsh(problem.grams)
        return problem.x.shape[1] * (values[:, -1] / values[:, 0]).max()


class PreconditionedStepIsSteepest(Claim[SteepestStep]):
    """Let g be the gradient and P a positive definite preconditioner. Among all steps d with d' P^-1 d <= 1, the step
    along -P g lowers the linearised loss g'd most. This step lowers g'd by

        sqrt(g' P g).

    So a preconditioned step is still a steepest descent step: the preconditioner chooses the norm.
    """

    title = "A preconditioned step is the steepest descent in the norm of the inverse preconditioner"
    source = Source("emergence2026", "Figure 5.3", "Definition 5.1", note="made exact")
    population = SteepestSteps()
    relation = Equal()
    control = Control(
        "the direction of the gradient itself is as good, at its largest admissible length",
        lambda value, problem: (
            jnp.sum(problem.gradient**2) / jnp.linalg.norm(jnp.linalg.solve(problem.factor, problem.gradient))
        ),
    )
    controls = "the direction of one step"
    unexplained = "which norm is best for a loss"

    def predict(self, problem: SteepestStep) -> Array:
        metric = problem.factor @ problem.factor.T
        return jnp.sqrt(problem.gradient @ metric @ problem.gradient)

    def measure(self, problem: SteepestStep, key: Key[Array, ""]) -> Array:
        """Search by ascent on the ellipsoid d = S u, |u| = 1, from a random point."""

        def lowered(u: Array) -> Array:
            return -problem.gradient @ (problem.factor @ u)

        def one(_, u):
            moved = u + jax.grad(lowered)(u)
            return moved / jnp.linalg.norm(moved)

        start = jax.random.normal(key, problem.gradient.shape)
        return lowered(jax.lax.fori_loop(0, _ASCENT, one, start / jnp.linalg.norm(start)))

    def condition(self, problem: SteepestStep) -> Array:
        """Bound the rounding errors of products of the factor with its transpose."""
        return len(problem.gradient) * jnp.sum(problem.factor**2)
