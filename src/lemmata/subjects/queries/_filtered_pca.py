"""The directions of inputs on which a label depends, from PCA of inputs that a filter of the label selects.

A filter is a function of the label, whose values are weights of the inputs.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside, whole
from lemmata.core import answer_of, numbers_of
from lemmata.errors import SettingError, ShapeError
from lemmata.pictures import BLUE, RED, styled
from lemmata.printable import preformatted

from ._inputs import checked, normality, whitened

Filter = Callable[[np.ndarray], Any]
_CLAIMS = (
    "queries.filters.filters_vanish_off_the_span",
    "queries.filters.large_labels_give_a_signal",
    "queries.filters.filter_sees_what_correlation_cannot",
)

_WORK = 2e8  # approximate number of multiplications for the shuffled labels of one filter


def _large(y: np.ndarray) -> np.ndarray:
    size = np.abs(y - np.median(y))
    return size >= np.quantile(size, 0.9)


FILTERS: dict[str, Filter] = {
    "label": lambda y: y,
    "square": lambda y: (y / np.abs(y).max() - np.mean(y / np.abs(y).max())) ** 2,
    "large": _large,
    "top": lambda y: y >= np.quantile(y, 0.9),
}
"""Filters by name. "label" is the label itself, and "square" is its squared deviation from the mean. "large" selects
the tenth of the labels that is farthest from the median, and "top" the largest tenth.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class FilterResult:
    """The directions that one filter finds.

    Args:
        name: the name of the filter.
        eigenvalues: the eigenvalues of the mean of psi(y) zz', the largest in absolute value first. Here z is a
            whitened input, and the filter psi is scaled to mean 0 and variance 1.
        p_values: for each eigenvalue, the p-value of the hypothesis that the eigenvalue is zero. The list ends with the
            first hypothesis that is not rejected. Each half of the rows tests the eigenvectors of the other half.
        count: the number of eigenvalues that differ significantly from zero.
        null: the largest absolute eigenvalue after random shuffles of the labels among the rows. There are 19 shuffles,
            or fewer, at least 3, for large tables.
    """

    name: str
    eigenvalues: Float[np.ndarray, " d"]
    p_values: tuple[float, ...]
    count: int
    null: float


@dataclasses.dataclass(frozen=True, eq=False)
class FilteredPCA:
    """The directions of inputs on which a label was found to depend.

    Args:
        results: the results, one for each filter.
        best: the name of the filter that found the most directions. If several filters found equally many, the filter
            with the smallest p-value.
        directions: the directions that the best filter found, one unit vector in each column, in the coordinates of x.
            The label depends on x through x @ directions.
        correlation: whether the label correlates significantly with linear or quadratic functions.
        linear_p: the p-value of the correlation with linear functions.
        rows: the number of rows.
        level: the largest probability that any filter finds a direction if all eigenvalues are zero.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    results: tuple[FilterResult, ...]
    best: str
    directions: Float[np.ndarray, "d k"]
    correlation: bool
    linear_p: float
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        lines = [f"{'filter':<12}{'directions':>10}{'eigenvalue':>12}{'p-value':>10}"]
        lines += [
            f"{own.name:<12}{own.count:>10}{own.eigenvalues[0]:>12.3f}{own.p_values[0]:>10.2g}" for own in self.results
        ]
        found = self.directions.shape[1]
        if not found and self.correlation:
            lines.append(
                f"no filter finds a direction in {self.rows} rows, but linear functions correlate with the label"
            )
        elif not found:
            null = max(own.null for own in self.results)
            lines.append(f"no filter finds a direction in {self.rows} rows, but shuffled labels give eigenvalues up "
            f"to {null:.2g}, so that smaller ones are not excluded")  # fmt: skip
        elif self.correlation:
            lines.append(f"{found} found by '{self.best}'; correlations with the label find a direction as well")
        else:
            lines.append(f"{found} found by '{self.best}', but no correlation with the label finds a direction")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the absolute eigenvalues of each filter, and of the largest for shuffled labels."""
        import altair as alt

        rows = [
            {
                "filter": own.name,
                "eigenvalue": float(abs(value)),
                "kind": "found" if number < own.count else "not found",
            }
            for own in self.results
            for number, value in enumerate(own.eigenvalues)
        ]
        nulls = [
            {"filter": own.name, "eigenvalue": own.null, "kind": "largest of shuffled labels"} for own in self.results
        ]
        names = [own.name for own in self.results]
        kinds = alt.Scale(domain=["found", "not found", "largest of shuffled labels"], range=[BLUE, "#9aa3ad", RED])
        x = alt.X("eigenvalue:Q", axis=alt.Axis(title="absolute eigenvalue", grid=False, tickCount=6))
        y = alt.Y("filter:N", sort=names, axis=alt.Axis(title=None))
        legend = alt.Legend(title=None, orient="top", labelLimit=300)
        colour = alt.Color("kind:N", scale=kinds, legend=legend)
        points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=50).encode(x=x, y=y, color=colour)
        ticks = alt.Chart(alt.Data(values=nulls)).mark_tick(thickness=2, size=22).encode(x=x, y=y, color=colour)
        return styled(alt.layer(points, ticks).properties(width=420, height=140))


def filtered_pca(
    x: Any,
    y: Any,
    filters: Mapping[str, Filter] | Any = None,
    *,
    level: float | int = 0.05,
    seed: int = 0,
) -> FilteredPCA:
    """Find directions of x on which y depends, by principal components of rows that a filter of y selects or weights.

    The inputs x are whitened to z, which has mean 0 and covariance I. Let y depend on a few directions of normal
    inputs. Take any filter psi (a function of y), and the mean of the matrix psi(y)(zz' - I). Each eigenvector of this
    matrix with an eigenvalue other than zero lies in the span of these directions. The filter "label" gives the
    correlation of the label with quadratic functions. Other filters can find directions even if the label does not
    correlate with linear or quadratic functions. Each half of the rows tests the eigenvectors of the other half, in the
    order of the absolute eigenvalues.

    Args:
        x: inputs, (n, d).
        y: one number for each row.
        filters: a dictionary from names to functions of all labels, which return one number for each row. None means
            the filters "square", "large" and "top", without those that are constant on these labels. The filter "label"
            is always added.
        level: the largest probability that any filter finds a direction if the matrices of all filters are zero.
        seed: the random seed of the split of the rows into halves.

    Raises:
        SettingError: if a filter is not a function, fails or does not vary, or if the level is outside (0, 1).
        DataError, ShapeError: if x and y have different numbers of rows, columns are linearly dependent, or there are
            too few rows.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(4000, 6))
        >>> found = filtered_pca(x, x[:, 1] ** 3 - 3 * x[:, 1])
        >>> found.best, found.correlation, [round(float(entry), 1) for entry in abs(found.directions[:, 0])]
        ('large', False, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    chosen = FILTERS if filters is None else _chosen(filters)
    inputs, labels = checked(x, y)
    if filters is None:  # with only two different labels, "square" or "large" can be constant
        chosen = {name: function for name, function in chosen.items() if _varies(function(labels).astype(float))}
    z, back = whitened(inputs)
    weights = {name: _standardised(name, function, labels) for name, function in chosen.items()}
    order = np.random.default_rng(seed).permutation(len(labels))
    halves = order[::2], order[1::2]
    share = level / (len(chosen) + 1)
    found = {name: _judged(name, z, weight, halves, share) for name, weight in weights.items()}
    linear_p = _linear(z, weights["label"], halves)
    best = max(found.values(), key=lambda own: (own.count, -own.p_values[0], abs(own.eigenvalues[0])))
    directions = back @ _eigen(z, weights[best.name])[1][:, : best.count]
    directions = directions / np.abs(directions).max(axis=0)  # avoids an overflow of squares
    directions = directions / np.linalg.norm(directions, axis=0)
    return FilteredPCA(
        tuple(found.values()), best.name, directions, bool(found["label"].count or linear_p <= share), linear_p,
        len(labels), level, _conditions(z, labels, best.count),
    )  # fmt: skip


def _chosen(filters: Any) -> dict[str, Filter]:
    if not isinstance(filters, Mapping) or not filters:
        found = "none" if isinstance(filters, Mapping) else f"a {type(filters).__name__}"
        raise SettingError(
            "filters",
            found=found,
            rule="a dictionary of functions of the labels, at least one",
            remedy='pass a dictionary such as {"square": np.square}, or leave it out',
        )
    if "label" in filters:
        raise SettingError("filter 'label'", found="a filter with this name", rule="a name other than 'label'",
                           remedy="rename it: lemmata adds the filter psi(y) = y as 'label'")  # fmt: skip
    for name, function in filters.items():
        if not callable(function):
            raise SettingError(
                f"filter '{name}'",
                found=f"a {type(function).__name__}",
                rule="a function of the labels",
                remedy="pass a function such as np.square",
            )
    return {"label": FILTERS["label"], **{str(name): function for name, function in filters.items()}}


def _standardised(name: str, function: Filter, y: np.ndarray) -> np.ndarray:
    rule = "a function of the array of all labels, which returns one number for each row"
    weight = numbers_of(f"filter '{name}'", answer_of(f"filter '{name}'", function, y.copy(), rule=rule))
    if weight.shape != y.shape:
        raise ShapeError(
            f"filter '{name}'", found=f"shape {weight.shape}", rule=f"shape {y.shape}, one number for each row"
        )
    if not _varies(weight):
        raise SettingError(
            f"filter '{name}'",
            found="one value for all rows",
            rule="a filter that varies with the label",
            remedy="leave out this filter, or let it depend on the label",
        )
    weight = weight / np.abs(weight).max()
    weight = weight - weight.mean()
    return weight / weight.std()


def _varies(weight: np.ndarray) -> bool:
    largest = np.abs(weight).max()
    return bool(largest > 0 and (weight / largest).std() > 1e-12)


def _eigen(z: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh((z.T * weight) @ z / len(z))
    order = np.argsort(-np.abs(values))
    return values[order], vectors[:, order]


def mean_p_value(terms: tuple[np.ndarray, ...]) -> float:
    """Return the p-value of the hypothesis that the mean of all terms is zero. Each part has its own statistic.

    The statistic of each part is Student's t statistic with Johnson's correction for skewness. The mean of these
    statistics is compared with the standard normal distribution. The statistics may depend on each other, but the
    variance of their mean is at most about 1. So the p-value is not too small.

    Args:
        terms: the numbers, one array for each part.
    """
    total = 0.0
    for own in terms:
        mean, spread, n = own.mean(), own.std(ddof=1), len(own)
        if not spread > 0:
            return 1.0
        skew = np.mean((own - mean) ** 3) / spread**3
        total += np.sqrt(n) * (mean / spread + skew / (6 * n) + skew * (mean / spread) ** 2 / 3)
    return float(2 * stats.norm.sf(abs(total) / len(terms)))


def _judged(
    name: str, z: np.ndarray, weight: np.ndarray, halves: tuple[np.ndarray, np.ndarray], share: float
) -> FilterResult:
    others = [_eigen(z[rows], weight[rows])[1] for rows in halves[::-1]]
    p_values: list[float] = []
    for place in range(z.shape[1]):
        squares = [(z[rows] @ vectors[:, place]) ** 2 - 1 for rows, vectors in zip(halves, others, strict=True)]
        p_values.append(mean_p_value(tuple(weight[rows] * own for rows, own in zip(halves, squares, strict=True))))
        if p_values[-1] > share:
            break
    count = sum(p <= share for p in p_values)
    return FilterResult(name, _eigen(z, weight)[0], tuple(p_values), count, _shuffled(z, weight))


def _shuffled(z: np.ndarray, weight: np.ndarray) -> float:
    """Return the largest absolute eigenvalue over 19 random shuffles of the weights. Large tables have 3 to 19
    shuffles.
    """
    rng, times = np.random.default_rng(0), int(np.clip(_WORK / z.size / z.shape[1], 3, 19))
    return max(float(abs(_eigen(z, rng.permutation(weight))[0][0])) for _ in range(times))


def _linear(z: np.ndarray, y: np.ndarray, halves: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the p-value of the hypothesis that y is uncorrelated with all linear functions of z."""
    others = [y[rows] @ z[rows] for rows in halves[::-1]]
    return mean_p_value(tuple(y[rows] * (z[rows] @ way) for rows, way in zip(halves, others, strict=True)))


def _conditions(z: np.ndarray, y: np.ndarray, found: int) -> tuple[Condition, ...]:
    return (
        Condition("rows are independent draws of one distribution", None, None, "the tests assume normal inputs"),
        normality(z, "whitened inputs are"),
        Condition("number of different labels is above two", float(len(np.unique(y))), len(np.unique(y)) > 2,
                  "with two labels, all filters are the same"),
        Condition("fewer directions than columns were found (columns minus directions)",
                  float(z.shape[1] - found), found < z.shape[1], "otherwise the directions span all inputs"),
    )  # fmt: skip
