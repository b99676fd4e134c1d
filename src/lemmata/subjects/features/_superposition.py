"""Find the features that the toy model of superposition stores in few dimensions, and their directions.

Superposition means that more features than dimensions are stored, so their directions are not orthogonal.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize

from lemmata.answers import Condition, probability, whole
from lemmata.core import numbers_of
from lemmata.errors import SettingError, ShapeError
from lemmata.printable import preformatted

from ._two_features import one_feature_loss, pair_boundary, two_feature_loss

_CLAIMS = (
    "features.stored_features.pair_beats_one_feature",
    "features.stored_features.fewer_features_if_dense",
    "features.stored_features.more_features_under_pressure",
)
_ROWS, _STARTS, _STORED, _EDGE = 2500, 6, 0.5, 0.1
_FRESH, _EQUAL = 20_000, 1e-2
_LARGEST, _SHOWN, _LEAST, _ACCURACY = 64, 12, 0.01, 1e-4
_INK, _BLUE, _RED = "#7b828c", "#3b6fb6", "#c2562d"
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class Superposition:
    """The best weights that were found for the model y = ReLU(W'W x + b) with n features and m dimensions.

    Args:
        phase: "superposition" if more features than dimensions are stored. If at most m features are stored, the phase
            is "dedicated" if no pair of them is in `edges`, and otherwise "shared". If no feature is stored, the phase
            is "nothing stored".
        weights: the matrix W, with one column W_i for each feature i.
        biases: the vector b of biases, one for each feature.
        loss: the mean squared error of the model, weighted by importance.
        loss_without: the least loss without superposition; then each of the m most important features has its own
            dimension.
        sizes: |W_i|² for each feature i. A size is near 1 for a stored feature and near 0 for a feature that is not
            stored.
        stored: the features of size above 1/2.
        per_dimension: |W|²/m, the sum of all sizes per dimension, which is about the number of stored features per
            dimension.
        interference: the matrix of W_i'W_j, with 0 on the diagonal.
        edges: pairs of stored features whose directions have a cosine above 0.1 in absolute value, with this cosine.
            The pairs with the largest absolute cosines come first.
        sufficient: for two features in one dimension, the frequency up to which storing both features as an antipodal
            pair (in opposite directions) is proved to be better than storing one feature. None for other sizes.
        boundary: for two features in one dimension, two frequencies that enclose the boundary of superposition. At the
            first, a search found weights near an antipodal pair that are better than storing one feature. At the
            second, which is larger by 1e-4, the search found no such weights. None for other sizes, and if the ratio of
            the importances is below 0.01.
        exact: whether the loss is exact. Otherwise it is a mean over random rows.
        starts: the number of starts that ended within 1 % of the least loss, and the number of all starts.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    phase: str
    weights: Float[np.ndarray, "m n"]
    biases: Float[np.ndarray, " n"]
    loss: float
    loss_without: float
    sizes: Float[np.ndarray, " n"]
    stored: tuple[int, ...]
    per_dimension: float
    interference: Float[np.ndarray, "n n"]
    edges: tuple[tuple[int, int, float], ...]
    sufficient: float | None
    boundary: tuple[float, float] | None
    exact: bool
    starts: tuple[int, int]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        m, n = self.weights.shape
        lines = [
            f"{self.phase}: {len(self.stored)} of {n} features stored in {m} dimension{'s' * (m > 1)}, "
            f"{self.per_dimension:.2f} per dimension",
            f"loss {self.loss:.3g}; with one feature per dimension, the loss would be {self.loss_without:.3g}",
        ]
        if self.edges:
            shown = ", ".join(f"{i} and {j} ({cosine:+.2f})" for i, j, cosine in self.edges[:_SHOWN])
            more = f" and {len(self.edges) - _SHOWN} more" if len(self.edges) > _SHOWN else ""
            lines.append(f"interference (cosine): {shown}{more}")
        if self.sufficient is not None:
            found = (
                ""
                if self.boundary is None
                else f", and a search found superposition better up to {self.boundary[0]:.3f}"
            )
            lines.append(f"superposition is proved better up to density {self.sufficient:.3g}{found}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot W'W as an Altair chart, with stored features on the diagonal and interference off the diagonal."""
        import altair as alt

        gram = self.weights.T @ self.weights
        rows = [{"i": i, "j": j, "value": float(gram[i, j])} for i in range(len(gram)) for j in range(len(gram))]
        scale = alt.Scale(domain=[-1, 0, 1], range=[_RED, "#f3f3f3", _BLUE], clamp=True)
        chart = alt.Chart(alt.Data(values=rows)).mark_rect()
        return chart.encode(
            x=alt.X("i:O", axis=alt.Axis(title="feature", labelAngle=0)),
            y=alt.Y("j:O", axis=alt.Axis(title="feature")),
            color=alt.Color("value:Q", scale=scale, legend=alt.Legend(title="W'W")),
            tooltip=["i:O", "j:O", alt.Tooltip("value:Q", format="+.3f")],
        ).properties(width=240, height=240)


def superposition(n: Any, m: Any, density: Any, importance: Any = 1.0, *, seed: int = 0) -> Superposition:
    """Find which of n sparse features the best model y = ReLU(W'W x + b) stores in m dimensions.

    Each feature is uniform on [0, 1] with probability `density`, and 0 otherwise. The loss is the mean of the sum of
    importance_i (x_i - y_i)². For two features in one dimension the loss is exact. Otherwise weights are fitted to 2500
    random rows in which some feature is active, and the loss is a mean over 20,000 other rows. The result is the least
    loss from several starts, which may be above the global minimum.

    Args:
        n: the number of features, at most 64.
        m: the number of dimensions, below n.
        density: the probability that a feature is active.
        importance: one number for each feature, or one number r. With r, the importance of each feature is r times that
            of the previous feature.
        seed: the random seed of the starts and rows.

    Raises:
        SettingError: if n or m is not a whole number, n is above 64, m is not below n, or the density is outside [1e-6,
            1]. This error is also raised if an importance is not positive, or if one is more than 1e9 times another.
        ShapeError: if there is not one importance for each feature.

    Example:
        >>> found = superposition(2, 1, 0.2, 0.5)
        >>> found.phase, found.edges
        ('superposition', ((0, 1, -1.0),))
    """
    n, m, seed = whole("n", n, 2), whole("m", m, 1), whole("seed", seed)
    if n > _LARGEST:
        raise SettingError("n", found=f"{n}", rule=f"at most {_LARGEST} features")
    if m >= n:
        raise SettingError("m", found=f"{m} dimensions for {n} features", rule="fewer dimensions than features")
    p = probability("density", density)
    if p < 1e-6:
        raise SettingError("density", found=f"{p:g}", rule="at least 1e-6 and at most 1")
    weight = _importances(importance, n)
    rng = np.random.default_rng(seed)
    two = n == 2 and m == 1
    scale = weight.max()
    loss = _exact(weight / scale, p) if two else _sampled(weight / scale, p, m, rng)
    values, found = _least(loss, n, m, rng, two)
    fresh = values.min() if two else _sampled(weight / scale, p, m, np.random.default_rng((seed, 1)), _FRESH)(found)[0]
    near = int(np.sum(values <= values.min() * 1.01 + 1e-12))
    w, b = found[: n * m].reshape(m, n), found[n * m :]
    sizes = np.sum(w**2, axis=0)
    stored = tuple(int(i) for i in np.flatnonzero(sizes > _STORED))
    unit = w[:, stored] / np.sqrt(sizes[list(stored)])
    cosine = unit.T @ unit
    edges = sorted(
        ((stored[i], stored[j], round(float(cosine[i, j]), 6) + 0.0)
        for i in range(len(stored)) for j in range(i + 1, len(stored)) if abs(cosine[i, j]) > _EDGE),
        key=lambda edge: (-round(abs(edge[2]), 2), edge[:2]),
    )  # fmt: skip
    least = np.sort(weight)[: n - m].sum() * one_feature_loss(p, 1.0)
    interference = w.T @ w
    np.fill_diagonal(interference, 0.0)
    sufficient, boundary = _edge_of_superposition(float(weight.min() / scale)) if two else (None, None)
    conditions = (
        Condition(
            "another start ended at the same loss",
            float(near),
            near > 1,
            "otherwise the least possible loss may be lower",
        ),
        Condition(
            "the loss is at most the loss of one feature per dimension (ratio)",
            float(fresh * scale / least),
            bool(fresh * scale <= least * (1 + _EQUAL)),
            "otherwise these weights are not the best",
        ),
        Condition("features are independent and equally frequent", None, None, "the model assumes this"),
    )
    return Superposition(
        _phase(len(stored), m, edges), w, b, float(fresh * scale), float(least), sizes, stored,
        float(sizes.sum() / m), interference, tuple(edges), sufficient, boundary, two, (near, len(values)), conditions,
    )  # fmt: skip


def _importances(importance: Any, n: int) -> np.ndarray:
    given = numbers_of("importance", importance).astype(float)
    if given.ndim == 0:
        with np.errstate(all="ignore"):  # numbers that overflow raise an error below
            given = float(given) ** np.arange(n)
    if given.shape != (n,):
        raise ShapeError(
            "importance", found=f"shape {given.shape}", rule=f"one ratio, or {n} numbers, one for each feature"
        )
    if not given.min() > 0 or not np.isfinite(given.max()) or given.min() < 1e-9 * given.max():
        raise SettingError(
            "importance", found=f"values from {given.min():g} to {given.max():g}",
            rule="positive numbers, the largest at most 1e9 times the smallest",
        )  # fmt: skip
    return given


def _exact(weight: np.ndarray, p: float) -> Loss:
    """Return the exact loss of two features in one dimension as a function of the weights and biases.

    The errors of the more important feature have the weight 1.
    """
    swap = weight[0] < weight[1]
    order = np.array([1, 0, 3, 2]) if swap else np.arange(4)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = two_feature_loss(weights[order], p, float(weight.min()))
        return value, slope[order]

    return loss


def _sampled(weight: np.ndarray, p: float, m: int, rng: np.random.Generator, count: int = _ROWS) -> Loss:
    """Return the loss as a function of weights and biases, estimated on random rows.

    The estimate is a mean over random rows with an active feature, plus the exact loss of rows without an active
    feature.
    """
    n = len(weight)
    silent = (1 - p) ** n
    # draw the first active feature, given that there is one, and then independently whether later features are active
    first = np.minimum(np.floor(np.log1p(-rng.random(count) * (1 - silent)) / np.log1p(-min(p, 1 - 1e-12))), n - 1)
    place = np.arange(n)
    active = np.where(place > first[:, None], rng.random((count, n)) < p, place == first[:, None])
    x = rng.random((count, n)) * active

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: n * m].reshape(m, n), flat[n * m :]
        gram = w.T @ w
        reach = x @ gram + b
        left = np.maximum(reach, 0.0) - x
        share = (1 - silent) / count
        slope = 2 * share * weight * left * (reach > 0)
        rest = silent * weight * np.maximum(b, 0.0)
        total = share * np.sum(weight * left**2) + rest @ np.maximum(b, 0.0)
        outer = x.T @ slope
        return float(total), np.concatenate([(w @ (outer + outer.T)).ravel(), slope.sum(axis=0) + 2 * rest])

    return loss


def _least(loss: Loss, n: int, m: int, rng: np.random.Generator, two: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses at the end of each descent, and the weights and biases with the least loss."""
    starts = [np.concatenate([rng.normal(size=n * m) / np.sqrt(m), np.zeros(n)]) for _ in range(_STARTS)]
    if two:
        starts += [np.array(own, float) for own in ((1, -1, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0))]
    method, options = ("BFGS", {"gtol": 1e-10}) if two else ("L-BFGS-B", {"maxiter": 400, "ftol": 1e-9})
    size = loss(np.zeros(n * m + n))[0]
    scaled = lambda at: tuple(own / size for own in loss(at))
    ends = [optimize.minimize(scaled, start, jac=True, method=method, options=options) for start in starts]
    values = np.array([float(end.fun) for end in ends]) * size
    return values, np.asarray(ends[int(values.argmin())].x)


def _phase(count: int, m: int, edges: list) -> str:
    if not count:
        return "nothing stored"
    if count > m:
        return "superposition"
    return "shared" if edges else "dedicated"


def _edge_of_superposition(r: float) -> tuple[float, tuple[float, float] | None]:
    """Return the frequency `sufficient` and the interval `boundary` for the importance r <= 1."""
    proved = 4 * r / (2 + 5 * r)
    if r < _LEAST:
        return proved, None
    low = pair_boundary(r, _ACCURACY)
    return proved, (low, low + _ACCURACY)
