"""Fit the law E + A n^-alpha (+ B d^-beta) to log losses by Huber's loss, from a grid of starts.

E is called the floor.
"""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float
from scipy.optimize import leastsq, nnls

from ._laws import Design

_EXPONENTS = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.6)
_POLISHED = 3
_SEEN, _NOUGHT = 1e-2, 1e-8  # shares of the least loss: the least floor that can grow, and a floor that counts as none
_CLIP = 1.345  # Huber's constant: 95 % of the efficiency of least squares for normal noise
_NORMAL_MEDIAN = 0.6745  # median of the absolute value of a standard normal variable


@dataclasses.dataclass(frozen=True)
class Fit:
    """A fitted law, with the numbers from which intervals are computed.

    Args:
        design: the sizes, and whether the law has a floor E.
        log_loss: the measured log losses.
        theta: the fitted parameters.
        clip: the size beyond which residuals count linearly.
        scale: the amount that noise alone adds to the objective for each parameter. This amount is the unit of
            `excess`.
    """

    design: Design
    log_loss: Float[np.ndarray, "m"]
    theta: Float[np.ndarray, "p"]
    clip: float
    scale: float

    @property
    def residuals(self) -> Float[np.ndarray, "m"]:
        """Measured minus fitted log losses."""
        return self.log_loss - self.design.log_loss(self.theta, self.design.sizes)[0]

    def excess(self, theta: Float[np.ndarray, "p"]) -> float:
        """Return the excess of another law's objective over that of the fit, in units of `scale`.

        This excess has about the distribution of a squared t variable.
        """
        return (_objective(self, theta) - _objective(self, self.theta)) / self.scale

    def covariance(self) -> Float[np.ndarray, "p p"]:
        """The covariance of the parameters, from the derivatives at the fit.

        The variance is infinite along a direction that the data do not determine.
        """
        slopes = self.design.log_loss(self.theta, self.design.sizes)[1]
        return self.scale * np.linalg.pinv(slopes.T @ slopes, rcond=1e-12, hermitian=True)

    def towards(self, theta: Float[np.ndarray, "p"], pull, weight: float) -> Float[np.ndarray, "p"]:
        """Return the parameters of the best law with an extra loss weight² (value - wanted)².

        Here `value` is a number that theta determines, and pull(theta) returns value - wanted and its slope.
        """
        unit = np.sqrt(self.scale)

        def residuals(at):
            return np.append(_clipped(self, at)[0] / unit, weight * pull(at)[0])

        def slopes(at):
            return np.vstack([_clipped(self, at)[1] / unit, weight * pull(at)[1]])

        return _minimise(residuals, slopes, _raised(self.design, self.log_loss, theta, _SEEN))


def _raised(design: Design, log_loss: np.ndarray, theta: np.ndarray, share: float) -> np.ndarray:
    """Raise the floor to at least this share of the least loss, because the logarithm of a floor of 0 has no slope."""
    theta = theta.copy()
    if design.floor:
        theta[0] = max(theta[0], log_loss.min() - design.unit + np.log(share))
    return theta


def _clipped(fit: Fit, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers whose squares sum to twice Huber's objective, and their derivatives."""
    predicted, slopes = fit.design.log_loss(theta, fit.design.sizes)
    away = fit.log_loss - predicted
    size = np.abs(away)
    beyond = size > fit.clip
    bent = np.sqrt(np.where(beyond, fit.clip * (2 * size - fit.clip), size**2))
    factor = np.where(beyond, fit.clip / np.where(beyond, bent, 1.0), 1.0)
    return np.sign(away) * bent, -factor[:, None] * slopes


def _objective(fit: Fit, theta: np.ndarray) -> float:
    return float((_clipped(fit, theta)[0] ** 2).sum())


def _minimise(residuals, slopes, start: np.ndarray) -> np.ndarray:
    """Minimise by MINPACK's Levenberg-Marquardt method."""
    return leastsq(residuals, start, Dfun=slopes, ftol=1e-11, xtol=1e-9, maxfev=400, full_output=True)[0]


def _starts(design: Design, log_loss: np.ndarray) -> list[np.ndarray]:
    """For each set of exponents on a grid, compute the floor and amplitudes with the least relative error.

    Only the best few of these starts are returned.
    """
    away = design.sizes - design.centre
    own = log_loss - design.unit
    found = []
    for exponents in itertools.product(_EXPONENTS if design.terms == 1 else _EXPONENTS[1:6], repeat=design.terms):
        powers = np.exp(-np.asarray(exponents) * away)
        columns = np.column_stack([np.ones(len(away)), powers]) if design.floor else powers
        parts, misfit = nnls(columns * np.exp(-own)[:, None], np.ones(len(away)))
        # a term that is zero cannot grow, because its slope is 0
        parts = np.log(np.maximum(parts, _SEEN * np.exp(own.min())))
        first = int(design.floor)
        start = np.empty(design.parameters)
        start[:first], start[first::2], start[first + 1 :: 2] = parts[:first], parts[first:], np.log(exponents)
        found.append((misfit, start))
    return [start for _, start in sorted(found, key=lambda pair: pair[0])[:_POLISHED]]


def _best(fit: Fit, starts: list[np.ndarray]) -> Fit:
    run = lambda start: _minimise(lambda at: _clipped(fit, at)[0], lambda at: _clipped(fit, at)[1], start)
    thetas = [run(start) for start in starts]
    best = min(thetas, key=lambda theta: _objective(fit, theta))
    return dataclasses.replace(fit, theta=_raised(fit.design, fit.log_loss, best, _NOUGHT))


def without_each_scale(fit: Fit) -> list[Fit]:
    """Return, for every size n, the fit to all points except the points of this size."""
    found = []
    for size in np.unique(fit.design.sizes[:, 0]):
        kept = fit.design.sizes[:, 0] != size
        design = dataclasses.replace(fit.design, sizes=fit.design.sizes[kept])
        found.append(_best(dataclasses.replace(fit, design=design, log_loss=fit.log_loss[kept]), [fit.theta]))
    return found


def fit_law(design: Design, log_loss: Float[np.ndarray, "m"], robust: bool = True) -> Fit:
    """Fit by least squares from a grid's best starts, and then by Huber's loss at 1.345 robust standard deviations.

    The unit of `excess` is Huber's: the mean square of the clipped residuals, divided by the share of residuals that
    are not clipped (at least 1/4). This mean is the sum of squares divided by the degrees of freedom, which are the
    number of points minus the number of parameters. If no residual is clipped, the unit is the usual variance.
    """
    spare = len(log_loss) - design.parameters
    starts = _starts(design, log_loss)
    fit = _best(Fit(design, log_loss, starts[0], np.inf, 1.0), starts)
    tiny = 1e-12
    if robust:
        inflated = np.sqrt(len(log_loss) / spare)
        middle = np.median(np.abs(fit.residuals)) / _NORMAL_MEDIAN * inflated
        fit = _best(dataclasses.replace(fit, clip=max(_CLIP * middle, tiny)), [fit.theta])
    residuals = fit.residuals
    inside = np.abs(residuals) <= fit.clip
    squares = float((np.minimum(np.abs(residuals), fit.clip) ** 2).sum())
    return dataclasses.replace(fit, scale=max(squares / spare / max(inside.mean(), 0.25), tiny**2))
