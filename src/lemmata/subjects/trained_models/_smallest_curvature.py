"""The smallest eigenvalue of the Hessian of an objective.

This eigenvalue shows whether a stationary point is a minimum.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from lemmata.errors import SolverError
from lemmata.spectra import ritz_values

from ._polish import Objective

_MOST = 300
_FOLDED = 1e3  # periods of a cosine in a typical entry


@dataclasses.dataclass(frozen=True)
class SmallestCurvature:
    """An estimate of the smallest eigenvalue, which is an upper bound, with its residual.

    Args:
        value: the smallest Ritz value of the Hessian; the smallest eigenvalue is at most this value.
        residual: |H v - value v|; some eigenvalue differs from the value by at most this residual.
        products: the number of products with the Hessian.
    """

    value: float
    residual: float
    products: int


def smallest_curvature(
    objective: Objective, tolerance: float, *, seed: int = 0, most: int = _MOST
) -> SmallestCurvature:
    """Estimate the smallest eigenvalue of the Hessian of mean loss + (delta/2) |theta|², by Lanczos' method.

    The three-term recurrence keeps three vectors. The method ends if the residual of the smallest Ritz pair is at most
    the tolerance, or after `most` products with any residual. Ritz values are never below the smallest eigenvalue. So a
    value below 0 shows a saddle, for any residual. A value above 0 shows a minimum if the residual is smaller than the
    value.

    Args:
        objective: the objective, at its model.
        tolerance: the tolerance of the residual, in the units of the Hessian, for example 1/100 of the decay.
        seed: the seed of the first direction.
        most: the largest number of products.

    Raises:
        SolverError: if a product is not finite.
    """
    start, curved = _direction(objective, seed), objective.hessian()
    now, before, length = start, np.zeros_like(start), 0.0
    diagonal, beside, eps = [], [], float(np.finfo(start.dtype).eps)
    value, residual = np.nan, np.inf
    for step in range(1, min(most, 2 * len(start)) + 1):
        moved = -np.asarray(curved(now), start.dtype) - start.dtype.type(length) * before
        along = float(now @ moved)
        moved -= start.dtype.type(along) * now
        length = float(np.linalg.norm(moved))
        diagonal.append(along)
        beside.append(length)
        if not np.isfinite(along + length):
            raise SolverError("products with the Hessian", found="NaN or infinity", rule="finite ones")
        found = ritz_values(np.array(diagonal), np.array(beside), np.zeros(step), eps)
        value, residual = -float(found.values[0]), float(found.residuals[0])
        if found.whole or residual <= tolerance:
            return SmallestCurvature(value, residual, step)
        before, now = now, moved / start.dtype.type(length)
    return SmallestCurvature(value, residual, len(diagonal))


def _direction(objective: Objective, seed: int) -> Float[np.ndarray, " P"]:
    """Return a pseudo-random unit vector that does not depend on the order of the parameters.

    For random u, the vector J' u would be concentrated in directions of large curvature. Such a vector would hardly
    contain directions of small curvature. So each entry of J' u is replaced by a rapidly varying function of the entry,
    a cosine.
    """
    model = objective.model
    u = np.random.default_rng([seed, 21]).normal(size=objective.y.shape)
    along = model.vjp(u, objective.x).astype(float)
    noise = np.cos(_FOLDED * along / max(float(np.sqrt((along**2).mean())), 1e-300))
    return (noise / np.linalg.norm(noise)).astype(model.theta.dtype)
