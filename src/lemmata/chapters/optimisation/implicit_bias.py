"""Implicit bias: which of the infinitely many fits gradient descent chooses.

This theory controls the limit of gradient descent on underdetermined least squares: the interpolant nearest to the
start. It assumes that the features do not move; it leaves unexplained why the nearest interpolant should be a good one,
and what other losses or architectures choose.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Source, Space
from lemmata.kernels import gram
from lemmata.problems import Regression
from lemmata.problems._singular import singular_cause

from .least_squares import LeastSquares, gradient_descent, kernel_features, stable_step

_ROWS = 64
_MOST_STEPS = 20_000


def nearest_interpolant(
    features: Float[Array, "n p"], y: Float[Array, "n k"], start: Float[Array, "p k"]
) -> Float[Array, "p k"]:
    """The solution w of features w = y that is nearest to the start: start + features^+ (y - features start).

    With start = 0 it is the minimum-norm interpolant features^+ y.

    >>> import jax.numpy as jnp
    >>> from lemmata.chapters.optimisation.implicit_bias import nearest_interpolant
    >>> phi, y, start = jnp.array([[1.0, 1.0]]), jnp.array([[2.0]]), jnp.array([[1.0], [0.0]])
    >>> nearest_interpolant(phi, y, start).round(6).ravel().tolist()
    [1.5, 0.5]
    """
    return start + jnp.linalg.pinv(features) @ (y - features @ start)


def _floor(problem: LeastSquares, eigenvalues: Float[Array, " r"]) -> Float[Array, ""]:
    """Eigenvalues of the Gram matrix, largest first, are zero to rounding up to 16 n eps times the largest."""
    return 16 * len(problem.y) * jnp.finfo(eigenvalues.dtype).eps * eigenvalues[0]


class MinimumNormInterpolant(Claim[LeastSquares]):
    """Gradient descent on underdetermined least squares, with a step below 2 / lambda_max, converges from zero to the
    minimum-norm interpolant Phi^+ y, and from any start w_0 to the interpolant nearest to it,

        w_0 + Phi^+ (y - Phi w_0),

    because every step lies in the row space of Phi.
    """

    title = "Gradient descent from zero finds the minimum-norm interpolant"
    source = Source("zhang2017", "Section 5", note="linear models")
    relation = Equal()
    label = "identity"
    controls = "the weights in the limit of many steps"
    unexplained = "whether the minimum-norm interpolant predicts well; other losses; moving features"
    problem = LeastSquares
    trials = 128

    def settings(self) -> Space:
        """Rows, features for each row."""
        return Space(n=Integer(20, 1, 60, "training rows"), ratio=Integer(3, 2, 30, "features for each row"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        """Normal features, targets and start."""
        feature_key, target_key, start_key = jax.random.split(key, 3)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        features = jax.random.normal(feature_key, (n, p))
        y, start = jax.random.normal(target_key, (n, 1)), jax.random.normal(start_key, (p, 1))
        return LeastSquares(features, y, start, stable_step(features), steps=4000)

    def pose(self, problem: object) -> LeastSquares | None:
        """The kernel's features on up to 64 training and 64 held-out rows together, fitted on the training ones.

        Only the first output; a start drawn at random; as many steps as the condition number asks for, up to 20,000.
        """
        if not isinstance(problem, Regression):
            return problem if isinstance(problem, LeastSquares) else None
        points = jnp.concatenate([problem.x[:_ROWS], problem.x_test[:_ROWS]])
        features, y = kernel_features(gram(problem.kernel, points))[: len(problem.x[:_ROWS])], problem.y[:_ROWS, :1]
        start = jax.random.normal(jax.random.key(0), (features.shape[1], 1))
        values = np.linalg.svd(np.asarray(features), compute_uv=False)
        with np.errstate(divide="ignore"):
            needed = 36.1 * (values[0] / values[-1]) ** 2
        steps = int(min(max(needed + 1, 1), _MOST_STEPS))
        return LeastSquares(features, y, start, stable_step(features), steps, inputs=problem.x[:_ROWS])

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        """More features than rows, interpolation possible, a stable step, enough steps."""
        n, p = problem.features.shape
        values = jnp.linalg.svd(problem.features, compute_uv=False) ** 2
        eps = jnp.finfo(values.dtype).eps
        return [
            Hypothesis(
                "interpolation is possible (smallest eigenvalue)",
                values[-1],
                ">",
                _floor(problem, values),
                "duplicate rows with different targets cannot be interpolated",
            ),
            Hypothesis("features outnumber rows", p, ">", n, "otherwise there is at most one interpolant"),
            Hypothesis("the step is below 2 / lambda_max", problem.step, "<", 2 / values[0], "descent converges"),
            Hypothesis(
                "steps are enough: t eta lambda_min",
                problem.steps * problem.step * values[-1],
                ">=",
                -jnp.log(eps),
                "the limit is reached to rounding",
            ),
        ]

    def predict(self, problem: LeastSquares) -> Array:
        """The minimum-norm interpolant, and the interpolant nearest to the start, by pseudo-inverse."""
        zero = jnp.zeros_like(problem.start)
        starts = (zero, problem.start)
        return jnp.stack([nearest_interpolant(problem.features, problem.y, start) for start in starts])

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        """The weights after gradient descent from zero and from the start."""
        descend = lambda start: gradient_descent(problem.features, problem.y, start, problem.step, problem.steps)
        return jnp.stack([descend(jnp.zeros_like(problem.start)), descend(problem.start)])

    def culprit(self, problem: LeastSquares) -> str | None:
        """Why the training rows' Gram matrix is singular, where it is: too few steps are then a consequence."""
        return singular_cause(problem.features @ problem.features.T, problem.inputs)

    def condition(self, problem: LeastSquares) -> Array:
        """Rounding eps (|w| + |y| / |Phi|) enters in each of the kappa log(1/eps) steps before the residual is gone.

        Along the row space it is damped by 1/kappa a step, off it it stays. No more steps than are taken can round;
        kappa is that of the eigenvalues above the rounding floor, so that it is finite for a singular matrix, where
        descent and pseudo-inverse need not agree. The pseudo-inverse itself rounds by eps times the condition number
        of the features.
        """
        values = jnp.linalg.svd(problem.features, compute_uv=False)
        kappa = values[0] ** 2 / jnp.maximum(values[-1] ** 2, _floor(problem, values**2))
        steps = jnp.minimum(-jnp.log(jnp.finfo(values.dtype).eps) * kappa, problem.steps) + jnp.sqrt(kappa)
        limit = problem.start + jnp.linalg.lstsq(problem.features, problem.y - problem.features @ problem.start)[0]
        size = jnp.linalg.norm(limit) + jnp.linalg.norm(problem.start) + jnp.linalg.norm(problem.y) / values[0]
        return steps * size / jnp.abs(limit).max()

    def control(self) -> Control:
        """The start is forgotten."""
        words = "descent finds the minimum-norm interpolant from every start"
        return Control(words, lambda limits, problem: jnp.stack([limits[0], limits[0]]))
