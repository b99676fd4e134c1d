"""Power laws with a floor, error = floor + scale n^-exponent, fitted to a learning curve, with a confidence band."""

import dataclasses

import numpy as np
from scipy.optimize import least_squares

FEWEST_POINTS = 4
STEEPEST = 4.0
BAND = 2.0


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """A fitted law error(n) = floor + scale n^-exponent.

    Args:
        floor, scale, exponent: the fit.
        covariance: of (log floor, log scale, exponent), by the delta method; scaled up where the misfit exceeds the weights.
    """

    floor: float
    scale: float
    exponent: float
    covariance: np.ndarray

    @property
    def exponent_se(self) -> float:
        """Standard error of the exponent."""
        return float(np.sqrt(self.covariance[2, 2]))

    def error(self, n: np.ndarray) -> np.ndarray:
        """The error at n rows."""
        return self.floor + self.scale * n**-self.exponent

    def band(self, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two standard errors below and above, on a logarithmic scale."""
        error, decay = self.error(n), self.scale * n**-self.exponent
        gradient = np.stack([self.floor / error, decay / error, -np.log(n) * decay / error])
        spread = BAND * np.sqrt(np.maximum(np.einsum("in,ij,jn->n", gradient, self.covariance, gradient), 0.0))
        return error * np.exp(-spread), error * np.exp(spread)


def fit_power_law(n: np.ndarray, error: np.ndarray, spread: np.ndarray) -> PowerLaw | None:
    """Least squares of log error with standard errors `spread` of the logarithms; None with fewer than 4 points.

    Args:
        n: numbers of rows.
        error: errors, positive.
        spread: standard errors of log error, positive.
    """
    usable = (error > 0) & np.isfinite(error) & np.isfinite(spread)
    n, error, spread = n[usable].astype(float), error[usable], spread[usable]
    if len(n) < FEWEST_POINTS:
        return None
    centre = np.exp(np.log(n).mean())

    def residuals(theta):
        return (np.log(np.exp(theta[0]) + np.exp(theta[1]) * (n / centre) ** -theta[2]) - np.log(error)) / spread

    least = np.log(error.min())
    bounds = ([least - 12, least - 12, 0.0], [least + 0.01, np.log(error.max()) + 3, STEEPEST])
    starts = [(least - shift, np.log(error.max()) - 0.7, slope) for shift in (0.3, 3.0) for slope in (0.3, 1.0)]
    fits = [least_squares(residuals, start, bounds=bounds) for start in starts]
    fit = min(fits, key=lambda candidate: candidate.cost)
    excess = max(1.0, 2 * fit.cost / max(len(n) - 3, 1))
    covariance = np.linalg.pinv(fit.jac.T @ fit.jac) * excess
    # From powers of n / centre to powers of n: log scale grows by exponent log centre.
    change = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, np.log(centre)], [0.0, 0.0, 1.0]])
    floor, scale, exponent = np.exp(fit.x[0]), np.exp(fit.x[1] + fit.x[2] * np.log(centre)), fit.x[2]
    return PowerLaw(float(floor), float(scale), float(exponent), change @ covariance @ change.T)
