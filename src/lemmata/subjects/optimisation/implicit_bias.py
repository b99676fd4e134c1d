"""Implicit bias: which of the infinitely many solutions gradient descent chooses.

This theory gives the limit of gradient descent on underdetermined least squares: the interpolant nearest to the start.
It assumes that the features do not change. It does not explain why the nearest interpolant should predict well, or
what other losses or architectures choose.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.engine.problems.conditions import rounding_floor
from lemmata.subjects.optimisation._least_squares import Interpolations, LeastSquares

from ._descent import gradient_descent

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "training"}


def nearest_interpolant(
    features: Float[Array, "n p"], y: Float[Array, "n k"], start: Float[Array, "p k"]
) -> Float[Array, "p k"]:
    """Return start + features^+ (y - features start), the solution of features w = y nearest to the start.

    With start = 0, the result is the minimum-norm interpolant features^+ y.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.optimisation.implicit_bias import nearest_interpolant
    >>> phi, y, start = jnp.array([[1.0, 1.0]]), jnp.array([[2.0]]), jnp.array([[1.0], [0.0]])
    >>> nearest_interpolant(phi, y, start).round(6).ravel().tolist()
    [1.5, 0.5]
    """
    return start + jnp.linalg.pinv(features) @ (y - features @ start)


class MinimumNormInterpolant(Claim[LeastSquares]):
    """Let Phi be the matrix of p features of n rows, with p > n and full rank, and let y be the targets of the rows.
    Run gradient descent on the least squares loss 1/2 |Phi w - y|² with a step below 2 / lambda_max of Phi Phi'. From
    zero, gradient descent converges to the minimum-norm interpolant Phi^+ y. From any start w_0, it converges to the
    interpolant nearest to w_0,

        w_0 + Phi^+ (y - Phi w_0),

    because every step lies in the row space of Phi.
    """

    title = "Gradient descent from zero converges to the minimum-norm interpolant"
    source = Source("zhang2017", "Section 5", note="linear models")
    population = Interpolations()
    # a coordinate is a sum over all rows that cancels; each of the two limits has the error of its largest coordinate
    relation = Equal(block=2)
    control = Control(
        "both starts lead to one interpolant, half-way between the two limits",
        lambda limits, problem: jnp.broadcast_to(limits.mean(axis=0), limits.shape),
    )
    controls = "the weights in the limit of many steps"
    unexplained = "whether the minimum-norm interpolant predicts well; other losses; features that change"

    def predict(self, problem: LeastSquares) -> Array:
        """Return the limits from zero and from the start, by pseudo-inverse."""
        starts = (jnp.zeros_like(problem.start), problem.start)
        return jnp.stack([nearest_interpolant(problem.features, problem.y, start) for start in starts])

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        descend = lambda start: gradient_descent(problem.features, problem.y, start, problem.step, problem.steps)
        return jnp.stack([descend(jnp.zeros_like(problem.start)), descend(problem.start)])

    def condition(self, problem: LeastSquares) -> Array:
        """Bound the errors: each of the kappa log(1/eps) steps before convergence rounds by eps (|w| + |y| / |Phi|).

        Along the row space, each step shrinks the error by the share 1/kappa; outside the row space, the error stays.
        Only the steps that are taken cause rounding errors. The number kappa is computed from the eigenvalues above the
        rounding error, so it is finite even for a singular matrix. For such a matrix, descent and pseudo-inverse need
        not agree. The pseudo-inverse has a rounding error of eps times the condition number of the features.
        """
        values = jnp.linalg.svd(problem.features, compute_uv=False)
        kappa = values[0] ** 2 / jnp.maximum(values[-1] ** 2, rounding_floor(values**2))
        steps = jnp.minimum(-jnp.log(jnp.finfo(values.dtype).eps) * kappa, problem.steps) + jnp.sqrt(kappa)
        sizes = []
        for start in (jnp.zeros_like(problem.start), problem.start):
            limit = start + jnp.linalg.lstsq(problem.features, problem.y - problem.features @ start)[0]
            size = jnp.linalg.norm(limit) + jnp.linalg.norm(start) + jnp.linalg.norm(problem.y) / values[0]
            sizes.append(size / jnp.abs(limit).max())
        return steps * jnp.stack(sizes)
