"""A model with noise on its inputs: its most frequent classes, radii in which these do not change, and attacks."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from lemmata.subjects.robustness import smooth

from ._contract import AbstractModel
from ._once import once
from ._trained import Trained

ROWS = 8
"""The number of rows that are certified and attacked."""
_DRAWS = 1024  # number of draws that bound a probability, and that decide whether an attack succeeds
_SELECTION = 256
_ALPHA = 1e-4
_NOISE = 0.25  # standard deviation of the noise, as a share of the spread of the features
_STEPS, _GUIDES = 10, 32  # the number of steps of an attack, and the number of draws that its gradient averages
_DOUBLINGS, _HALVINGS = 3, 5
_ENDS = 0.1
_SURE = 3.5  # standard deviations by which another class must be more frequent


@dataclasses.dataclass(frozen=True)
class Smoothed:
    """The smoothed model argmax_c P(f(x + sigma z) = c) for standard normal z, at rows where its class is certified.

    Args:
        model: the model f.
        sigma: the standard deviation of the noise.
        x: rows (r, *row) at which the class is certified.
        classes: the class of the smoothed model at each of these rows.
        radii: the radii of the Euclidean balls in which these classes do not change, each with a probability of at
            least 0.9999 over the draws.
        seed: the seed of all draws.
    """

    model: AbstractModel
    sigma: float
    x: Float[np.ndarray, "r *row"]
    classes: Int[np.ndarray, " r"]
    radii: Float[np.ndarray, " r"]
    seed: int

    def broken(self) -> Float[np.ndarray, " r"]:
        """Return, for each row, the least radius at which an attack changes the class, or 8 times its certified radius.

        The result is 8 times the certified radius if no attack succeeds. Projected gradient steps lower the mean
        probability of the class under the noise. Fresh draws decide whether the class has changed: another class must
        be more frequent by 3.5 standard deviations. The search begins at the certified radius, doubles the radius while
        attacks fail, and then bisects.
        """
        rng = np.random.default_rng([self.seed, 16])
        low, high = np.zeros(len(self.x)), self.radii.copy()
        for _ in range(_DOUBLINGS):
            missed = ~self._changed(high, rng)
            if not missed.any():
                break
            low, high = np.where(missed, high, low), np.where(missed, 2 * high, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            hit = self._changed(middle, rng)
            low, high = np.where(hit, low, middle), np.where(hit, middle, high)
        return high

    def _changed(self, radius: Float[np.ndarray, " r"], rng: np.random.Generator) -> Bool[np.ndarray, " r"]:
        """Return whether gradient steps in balls around the rows end at points where another class is more frequent."""
        count, shape = self.x.shape[0], self.x.shape[1:]
        wide, away = (count, *(1,) * len(shape)), np.zeros(self.x.shape)
        noise = self.sigma * rng.normal(size=(count, _GUIDES, *shape))
        for _ in range(_STEPS):
            points = (self.x[:, None] + away[:, None] + noise).reshape(-1, *shape)
            p = softmax(self.model.outputs(points), axis=1)
            own = np.repeat(self.classes, _GUIDES)
            at = p[np.arange(len(p)), own][:, None]
            pull = self.model.input_vjp(at * (p - np.eye(p.shape[1])[own]), points)  # minus the gradient of p_own
            slope = pull.reshape(count, _GUIDES, *shape).mean(1)
            away = away + slope * (radius / 3 / np.maximum(_norms(slope), 1e-300)).reshape(wide)
            away = away * np.minimum(1.0, radius / np.maximum(_norms(away), 1e-300)).reshape(wide)
        return np.array([self._loses(row, c, rng) for row, c in zip(self.x + away, self.classes.tolist(), strict=True)])

    def _loses(self, row: Float[np.ndarray, "*row"], c: int, rng: np.random.Generator) -> bool:
        """Return whether another class than c is significantly more frequent under the noise."""
        calls = self.model.outputs(row + self.sigma * rng.normal(size=(_DRAWS, *row.shape))).argmax(1)
        counts = np.bincount(calls, minlength=c + 1)
        own, rival = counts[c], np.delete(counts, c).max(initial=0)
        return bool(rival - own > _SURE * np.sqrt(own + rival))


def _norms(rows: Float[np.ndarray, "r *row"]) -> Float[np.ndarray, " r"]:
    return np.linalg.norm(rows.reshape(len(rows), -1), axis=1)


@once
def smoothed(trained: Trained) -> Smoothed:
    """Return the smoothed model at those of the first eight rows where its class can be certified.

    Held-out rows are used if there are any, and otherwise training rows. The standard deviation of the noise is a
    quarter of the root mean square of the features' standard deviations.

    Args:
        trained: a classifier whose rows are arrays of floating-point numbers.
    """
    x = np.asarray(trained.x if trained.held is None else trained.held[0], float)[:ROWS]
    spread = np.asarray(trained.x, float).reshape(len(trained.x), -1).std(0)
    sigma = _NOISE * float(np.sqrt((spread**2).mean()))
    answers = lambda rows: trained.model.outputs(rows.reshape(-1, *x.shape[1:]))
    found = [
        smooth(answers, row.ravel(), sigma, _DRAWS, _ALPHA, selection=_SELECTION, seed=trained.seed + place)
        for place, row in enumerate(x)
    ]
    certain = [place for place, own in enumerate(found) if own.label is not None]
    classes = np.array([found[place].candidate for place in certain], int)
    radii = np.array([found[place].radius for place in certain])
    return Smoothed(trained.model, sigma, x[certain], classes, radii, trained.seed)


def spread_ratio(x: np.ndarray) -> float:
    """Return the ratio of large to small scales of features, or 1 if all values are in [-1, 1], as in images.

    The ratio is the 90 % quantile of the standard deviations of the varying features, divided by the 10 % quantile.

    Args:
        x: rows (n, *row) of floating-point numbers.
    """
    flat = np.asarray(x, float).reshape(len(x), -1)
    if np.abs(flat).max() <= 1:
        return 1.0
    spread = flat.std(0)
    low, high = np.quantile(spread[spread > 0], [0.1, 0.9]) if (spread > 0).any() else (1.0, np.inf)
    return float(high / low)


def shared_range(x: np.ndarray) -> float:
    """Return the share of varying features whose range is the common range of all features, up to 10 % of this range.

    The share is near 1 for pixels. Columns with different units have different ranges.

    Args:
        x: rows (n, *row) of floating-point numbers.
    """
    flat = np.asarray(x, float).reshape(len(x), -1)
    low, high = flat.min(0), flat.max(0)
    varies, reach = high > low, _ENDS * float(flat.max() - flat.min())
    if not varies.any():
        return 0.0
    alike = (high >= flat.max() - reach) & (low <= flat.min() + reach)
    return float(alike[varies].mean())
