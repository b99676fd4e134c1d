"""The second route to a number of samples: a power law fitted to measured errors alone."""

import dataclasses

import numpy as np
from jaxtyping import Float

EXPONENTS = np.linspace(0.02, 3.0, 150)
MISFIT = 0.03  # relative error that the power law itself is allowed, so that a lucky small standard error does not rule
DRAWS = 200


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """error(n) = scale n^-exponent + floor, and how sure the fit is.

    Args:
        scale, exponent, floor: of the best fit; floor >= 0.
        exponent_se: standard error of the exponent.
        draws: the same three numbers (columns) fitted to errors redrawn within their uncertainty.
    """

    scale: float
    exponent: float
    floor: float
    exponent_se: float
    draws: Float[np.ndarray, "draws 3"]

    def samples(self, error: float) -> tuple[float, float, float]:
        """The n where the law falls to `error`, and its 5 % and 95 % quantiles; inf where the floor is above it."""
        central = _crossing(np.array([[self.scale, self.exponent, self.floor]]), error)[0]
        crossings = np.sort(_crossing(self.draws, error))
        low, high = (float(crossings[int(q * (len(crossings) - 1))]) for q in (0.05, 0.95))
        return float(central), min(low, float(central)), max(high, float(central))


def fit_power_law(
    sizes: Float[np.ndarray, " s"], measured: Float[np.ndarray, " s"], se: Float[np.ndarray, " s"], seed: int = 0
) -> PowerLaw:
    """Fit error = a n^-b + c with a, c >= 0 by least squares of relative errors, weighted by their uncertainty.

    The relative uncertainty of a point is its standard error and 3 % for the law, in quadrature, scaled up where the
    points scatter more than that. The uncertainty of the fit is that of 200 refits to errors redrawn within it.

    Args:
        sizes: numbers of training rows.
        measured: mean measured errors, positive.
        se: their standard errors.
        seed: of the redrawn errors.
    """
    relative = np.sqrt((se / measured) ** 2 + MISFIT**2)
    best, squares = _fit(sizes, measured[None], 1 / (measured * relative))
    scatter = np.sqrt(max(1.0, squares[0] / max(1, len(sizes) - 3)))
    noise = np.random.default_rng(seed).normal(size=(DRAWS, len(sizes)))
    redrawn = measured * np.exp(scatter * relative * noise)
    draws, _ = _fit(sizes, redrawn, 1 / (measured * relative))
    scale, exponent, floor = best[0].tolist()
    return PowerLaw(scale, exponent, floor, float(np.std(draws[:, 1])), draws)


def _fit(
    sizes: Float[np.ndarray, " s"], errors: Float[np.ndarray, "draws s"], weights: Float[np.ndarray, " s"]
) -> tuple[Float[np.ndarray, "draws 3"], Float[np.ndarray, " draws"]]:
    """For each row of errors the best (a, b, c), and its weighted sum of squares.

    For a given b the problem is linear in (a, c); the corner c = 0 is taken where the free solution has c < 0.
    """
    weighted = errors * weights
    slopes = weights * sizes ** -EXPONENTS[:, None]
    ss, sw, ww = (slopes**2).sum(1), slopes @ weights, (weights**2).sum()
    sy, wy, yy = weighted @ slopes.T, (weighted @ weights)[:, None], (weighted**2).sum(1)[:, None]
    determinant = ss * ww - sw**2
    scale, floor = (sy * ww - sw * wy) / determinant, (ss * wy - sw * sy) / determinant
    bounded = (floor < 0) | (scale < 0)
    scale, floor = np.where(bounded, np.maximum(sy / ss, 0), scale), np.where(bounded, 0.0, floor)
    squares = yy - 2 * (scale * sy + floor * wy) + scale**2 * ss + 2 * scale * floor * sw + floor**2 * ww
    at = np.argmin(squares, axis=1)
    rows = np.arange(len(errors))
    return np.stack([scale[rows, at], EXPONENTS[at], floor[rows, at]], axis=1), np.maximum(squares[rows, at], 0)


def _crossing(laws: Float[np.ndarray, "draws 3"], error: float) -> Float[np.ndarray, " draws"]:
    scale, exponent, floor = laws.T
    gap = error - floor
    reached = gap > 0
    with np.errstate(over="ignore", divide="ignore"):
        logarithm = np.log(np.where(reached, scale / np.where(reached, gap, 1.0), 1.0)) / exponent
        return np.where(reached, np.exp(np.minimum(logarithm, 700.0)), np.inf)
