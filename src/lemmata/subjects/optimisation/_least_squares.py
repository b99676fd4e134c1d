"""Least squares by gradient descent: the problem, features computed from a kernel, and random problems."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.conditions import rounding_floor
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import DEFINITE_KERNEL, KERNEL, NOISE, sampled_regression
from lemmata.engine.problems.singular import singular_cause
from lemmata.kernels import gram

_ROWS = 64
_MOST_STEPS = 20_000


class LeastSquares(eqx.Module):
    """Minimise 1/2 |features w - y|² by gradient descent w <- w - step features' (features w - y).

    Args:
        features: one row for each point; their Gram matrix is features features'.
        y: the targets, one column per output.
        start: the weights before the first step.
        step: the step size eta.
        steps: the number of steps.
        accuracy: the fraction eps of the first residual that counts as fitted.
        inputs: the training rows that the features belong to, if known. Error messages use `inputs` to name equal rows.
    """

    features: Float[Array, "n p"]
    y: Float[Array, "n k"]
    start: Float[Array, "p k"]
    step: Float[Array, ""]
    steps: int = eqx.field(static=True, default=100)
    accuracy: float = eqx.field(static=True, default=1e-3)
    inputs: Float[Array, "n d"] | None = None


def kernel_features(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return features U sqrt(a) from the eigenvectors U and eigenvalues a of a Gram matrix. Negative eigenvalues count
    as 0.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    return vectors * jnp.sqrt(jnp.maximum(values, 0.0))


def stable_step(features: Float[Array, "n p"]) -> Float[Array, ""]:
    """Return 1 / lambda_max, where lambda_max is the square of the largest singular value of the features."""
    return 1 / jnp.linalg.norm(features, ord=2) ** 2


def kernel_least_squares(problem: Regression, steps: int = 100) -> LeastSquares:
    """Return least squares on kernel features of the training rows, with start 0 and the step 1 / lambda_max."""
    features = kernel_features(problem.gram)
    step = stable_step(features)
    return LeastSquares(features, problem.y, jnp.zeros_like(problem.y), step, steps, inputs=problem.x)


class KernelDescents(Population[LeastSquares]):
    """Gradient descent from zero on the features of a kernel on random rows.

    The step is between 0.1/lambda_max and 1.9/lambda_max.
    """

    def settings(self) -> Space:
        steps = Integer(100, 1, 10_000, "steps of gradient descent")
        return Space(n=Integer(30, 2, 400, "training rows"), steps=steps, noise=NOISE, kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        rows_key, step_key = jax.random.split(key)
        n, noise = setting["n"], setting["noise"]
        rows = sampled_regression(rows_key, n=n, t=1, d=5, kernel=setting["kernel"], noise=noise)
        features = kernel_features(rows.gram)
        step = jax.random.uniform(step_key, minval=0.1, maxval=1.9) * stable_step(features)
        return LeastSquares(features, rows.y, jnp.zeros_like(rows.y), step, setting["steps"])

    def pose(self, problem: object) -> LeastSquares | None:
        """Return least squares on kernel features of the training rows, with 100 steps of size 1 / lambda_max."""
        return kernel_least_squares(problem) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        largest = jnp.linalg.norm(problem.features, ord=2) ** 2
        return [
            Hypothesis("the step is at most 2 / lambda_max", problem.step, "<=", 2 / largest, "residuals stay bounded"),
            Hypothesis(
                "training starts at zero", jnp.abs(problem.start).max(), "<=", 0.0, "then the first residual is y"
            ),
        ]


class DefiniteDescents(Population[LeastSquares]):
    """Gradient descent from zero on the features of a positive definite kernel on random rows.

    The step is 1 / lambda_max.
    """

    free = ("y",)
    settings = Space(n=Integer(20, 2, 200, "training rows"), noise=NOISE, kernel=DEFINITE_KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        n, noise = setting["n"], setting["noise"]
        return kernel_least_squares(sampled_regression(key, n=n, t=1, d=5, kernel=setting["kernel"], noise=noise))

    def pose(self, problem: object) -> LeastSquares | None:
        """Return least squares on kernel features of the training rows.

        Rows count as fitted if the residual is at most a thousandth of the first residual.
        """
        return kernel_least_squares(problem) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        values = jnp.linalg.eigvalsh(problem.features @ problem.features.T)
        name = "the Gram matrix is positive definite (smallest eigenvalue)"
        why = "below the rounding error the condition number is infinite: duplicate rows, or more rows than features"
        scaled = problem.step * values[-1]
        return [
            Hypothesis(name, values[0], ">", rounding_floor(values), why),
            Hypothesis("the step is 1 / lambda_max", scaled, "==", 1.0, "the rate is 1 - 1/kappa", 1e-10),
        ]

    def culprit(self, problem: LeastSquares) -> str | None:
        """Return the reason for a singular Gram matrix, or None."""
        return singular_cause(problem.features @ problem.features.T, problem.inputs)


class Interpolations(Population[LeastSquares]):
    """Normal features, several for each row, with normal targets and a normal start."""

    settings = Space(n=Integer(20, 1, 60, "training rows"), ratio=Integer(3, 2, 30, "features for each row"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        """Draw independent features, targets and start; take 4000 steps."""
        feature_key, target_key, start_key = jax.random.split(key, 3)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        features = jax.random.normal(feature_key, (n, p))
        y, start = jax.random.normal(target_key, (n, 1)), jax.random.normal(start_key, (p, 1))
        return LeastSquares(features, y, start, stable_step(features), steps=4000)

    def pose(self, problem: object) -> LeastSquares | None:
        """Return least squares on kernel features of up to 64 training rows.

        The features come from the Gram matrix of up to 64 training and 64 held-out rows. Only the first output is used,
        with a random start. The number of steps follows from the condition number and is at most 20,000.
        """
        if not isinstance(problem, Regression):
            return None
        points = jnp.concatenate([problem.x[:_ROWS], problem.x_test[:_ROWS]])
        features, y = kernel_features(gram(problem.kernel, points))[: len(problem.x[:_ROWS])], problem.y[:_ROWS, :1]
        start = jax.random.normal(jax.random.key(0), (features.shape[1], 1))
        values = np.linalg.svd(np.asarray(features), compute_uv=False)
        with np.errstate(divide="ignore"):
            needed = 36.1 * (values[0] / values[-1]) ** 2
        steps = int(min(max(needed + 1, 1), _MOST_STEPS))
        return LeastSquares(features, y, start, stable_step(features), steps, inputs=problem.x[:_ROWS])

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        n, p = problem.features.shape
        values = jnp.linalg.svd(problem.features, compute_uv=False) ** 2
        eps = jnp.finfo(values.dtype).eps
        return [
            Hypothesis(
                "interpolation is possible (smallest eigenvalue)",
                values[-1],
                ">",
                rounding_floor(values),
                "duplicate rows with different targets cannot be interpolated",
            ),
            Hypothesis("features outnumber rows", p, ">", n, "otherwise there is at most one interpolant"),
            Hypothesis("the step is below 2 / lambda_max", problem.step, "<", 2 / values[0], "descent converges"),
            Hypothesis(
                "there are enough steps (t eta lambda_min)",
                problem.steps * problem.step * values[-1],
                ">=",
                -jnp.log(eps),
                "then the limit is reached up to rounding",
            ),
        ]

    def culprit(self, problem: LeastSquares) -> str | None:
        """Return the reason for a singular Gram matrix of the training rows, or None.

        If the Gram matrix is singular, no number of steps is enough.
        """
        return singular_cause(problem.features @ problem.features.T, problem.inputs)
