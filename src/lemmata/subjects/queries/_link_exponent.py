"""The information exponent of a label along a direction: the degree of the first nonzero Hermite coefficient."""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import BLUE, styled
from lemmata.printable import preformatted

from ._filtered_pca import mean_p_value
from ._inputs import checked, normality

_CLAIMS = ("queries.hermite_flow.gradient_of_a_correlation", "queries.hermite_flow.flow_at_high_exponents")
_BINS, _FEW = 10, 1000
_FEWEST, _MOST = 499, 9999  # least and largest number of permutations of the labels
# Intervals are widened by this factor. Without the factor, intervals of level 0.95 for four degrees held jointly in
# 0.91 to 0.98 of samples, for links without heavy tails.
_STRETCH = 1.15


@dataclasses.dataclass(frozen=True, eq=False)
class InformationExponent:
    """The Hermite coefficients of a label along a direction, and the samples that gradient descent needs to find it.

    Args:
        exponent: the first degree whose coefficient is significantly different from zero. None if there is no such
            degree.
        coefficients: means of y h_k(z) for the degrees k = 1, 2, ..., in the unit of y. Here z is the scaled
            projection, and h_k is the Hermite polynomial with E h_k² = 1.
        intervals: confidence intervals of the coefficients, (degrees, 2). The level is the probability that all
            intervals hold.
        p_values: for each degree, the p-value of the hypothesis that the coefficient is zero. Each value is the larger
            p-value of two tests: a test of the mean, and a test with permuted labels.
        label_p_values: for each degree, the p-value of the hypothesis that the Hermite polynomial has the same mean for
            all labels.
        label_exponent: the first degree whose polynomial has significantly different means for different labels. Then
            some filter (a function) of the label has a nonzero coefficient of this degree. None if there is no such
            degree.
        dimension: the number of columns of x.
        rows: the number of rows.
        level: the joint confidence level of the intervals.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    exponent: int | None
    coefficients: Float[np.ndarray, " k"]
    intervals: Float[np.ndarray, "k 2"]
    p_values: Float[np.ndarray, " k"]
    label_p_values: Float[np.ndarray, " k"]
    label_exponent: int | None
    dimension: int
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def samples(self) -> float | None:
        """The order of the number of samples that online gradient descent needs from a random start.

        In dimension d, the order is d^(k-1) for an exponent k above 2, d log d for k = 2, and d for k = 1, without
        constants. None if no exponent was found.
        """
        if self.exponent is None:
            return None
        d = float(self.dimension)
        return (
            d if self.exponent == 1 else d * max(math.log(d), 1.0) if self.exponent == 2 else d ** (self.exponent - 1)
        )

    def __str__(self) -> str:
        lines = [f"degree  coefficient  {100 * self.level:g} % interval"]
        digits = ".3f" if 0.1 <= np.abs(self.coefficients).max() < 1e6 else ".3g"
        for k, (value, (low, high)) in enumerate(zip(self.coefficients, self.intervals, strict=True), 1):
            lines.append(f"{k:>6}{value:>13{digits}}  {low:{digits}} to {high:{digits}}")
        if self.exponent is None:
            lines.append(f"no coefficient up to degree {len(self.coefficients)} is shown to differ from zero")
        else:
            lines.append(
                f"information exponent {self.exponent}: online descent needs of the order of {self.samples:.3g} "
                f"samples in {self.dimension} dimensions"
            )
        if self.label_exponent is not None and (self.exponent is None or self.label_exponent < self.exponent):
            lines.append(f"with a filter of the label, the exponent is {self.label_exponent}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the Hermite coefficients with their confidence intervals."""
        import altair as alt

        rows = [
            {"degree": k, "coefficient": float(value), "low": float(low), "high": float(high)}
            for k, (value, (low, high)) in enumerate(zip(self.coefficients, self.intervals, strict=True), 1)
        ]
        x = alt.X("degree:O", axis=alt.Axis(title="degree", labelAngle=0))
        base = alt.Chart(alt.Data(values=rows))
        bars = base.mark_rule(color=BLUE, strokeWidth=2).encode(
            x=x, y=alt.Y("low:Q", axis=alt.Axis(title="coefficient, with its interval", grid=False)), y2="high:Q"
        )
        points = base.mark_point(filled=True, size=60, color=BLUE, opacity=1).encode(x=x, y="coefficient:Q")
        zero = alt.Chart(alt.Data(values=[{"at": 0.0}])).mark_rule(strokeDash=[5, 4], color="gray").encode(y="at:Q")
        return styled((zero + bars + points).properties(width=240, height=220))


def information_exponent(
    x: Any, y: Any, direction: Any, *, degrees: int = 4, level: float | int = 0.95
) -> InformationExponent:
    """Find the first Hermite polynomial of a projection with which y correlates, and the samples that descent needs.

    The projection of x on the direction is scaled to mean 0 and variance 1. Let y depend on one direction of normal
    inputs, and let the first nonzero coefficient have the degree k. Gradient descent on new samples then finds the
    direction from a random start. For k above 2, the descent needs about d^(k-1) samples. For k = 2, it needs about d
    log d samples, and for k = 1, about d samples.

    The intervals are normal intervals, widened by 15 %, with Bonferroni's correction over the degrees. The exponent
    that is found is an upper limit. A lower degree may have a coefficient that is too small to be detected in these
    rows.

    Args:
        x: inputs, (n, d).
        y: one number for each row.
        direction: d numbers. The direction must not have been chosen with these rows.
        degrees: the highest degree, at most 8.
        level: the joint confidence level of the intervals.

    Raises:
        SettingError: if `degrees` is outside 1 to 8, the level is outside (0, 1), or the level is too high for 9999
            permutations.
        DataError, ShapeError: if the shapes of x, y and direction do not fit each other, the projection is constant, or
            there are fewer than 100 rows.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(4000, 20))
        >>> found = information_exponent(x, x[:, 3] ** 3 - 3 * x[:, 3], np.eye(20)[3])
        >>> found.exponent, found.samples, found.label_exponent
        (3, 400.0, 1)
    """
    level, degrees = inside("level", level, 0.0, 1.0), whole("degrees", degrees, 1)
    if degrees > 8:
        raise SettingError(
            "degrees",
            found=degrees,
            rule="at most 8, because rows determine higher degrees badly",
            remedy="pass degrees=8 or fewer",
        )
    share = (1 - level) / degrees
    trials = max(_FEWEST, math.ceil(2 / share))
    if trials > _MOST:
        found, rule = f"{level:g} for {degrees} degrees", f"at most {1 - 2 * degrees / _MOST:.4f}, for permutations"
        raise SettingError("level", found=found, rule=rule, remedy="pass a lower level or fewer degrees")
    inputs, labels = checked(x, y)
    way = numbers_of("direction", direction)
    if way.shape != inputs.shape[1:]:
        raise ShapeError("direction", found=f"shape {way.shape}", rule=f"shape ({inputs.shape[1]},), like a row of x")
    if len(labels) < 100:
        raise DataError("x and y", found=f"{len(labels)} rows", rule="at least 100 rows", remedy="add rows")
    z = (inputs / (np.abs(inputs).max() or 1.0)) @ (way / (np.abs(way).max() or 1.0))
    if not z.std() > 1e-12 * np.abs(z).max():
        raise DataError(
            "direction",
            found="a projection of x that is constant",
            rule="a projection that varies",
            remedy="pass a direction along which the rows differ",
        )
    unit = np.abs(labels).max()
    z, labels = (z - z.mean()) / z.std(), labels / unit - np.mean(labels / unit)
    polynomials = _polynomials(z, degrees)
    terms = labels[:, None] * polynomials
    values, errors = terms.mean(axis=0), np.maximum(terms.std(axis=0), _moves(z, labels, polynomials).std(axis=0))
    reach = _STRETCH * stats.norm.isf(share / 2) * errors / math.sqrt(len(z))
    p_values = np.maximum(
        [mean_p_value((column,)) for column in terms.T], _permuted(labels, polynomials, values, trials)
    )
    by_label = _by_label(polynomials, labels, trials)
    first = lambda found: next((k for k, p in enumerate(found, 1) if p <= share), None)
    exponent = first(p_values)
    return InformationExponent(
        exponent, unit * values, unit * np.stack([values - reach, values + reach], axis=1), p_values, by_label,
        first(by_label), inputs.shape[1], len(z), level, (
            Condition("rows are independent draws of one distribution", None, None,
                      "the intervals assume independent rows"),
            Condition("the direction was not chosen with these rows", None, None,
                      "otherwise coefficients tend to be too large"),
            normality(z[:, None], "the projection is"),
            Condition("rows", float(len(z)), len(z) >= _FEW, "otherwise intervals can be too short"),
            *_content(exponent, values, reach, inputs.shape[1]),
        ),
    )  # fmt: skip


def _content(exponent: int | None, values: np.ndarray, reach: np.ndarray, columns: int) -> tuple[Condition, ...]:
    """Return the conditions that x has several columns, and that the rows exclude exponents below the one found."""
    several = Condition("x has several columns", float(columns), columns > 1,
                        "with one column, there is only one direction")  # fmt: skip
    if exponent is None:
        return (several,)
    lower = (np.abs(values) + reach)[: exponent - 1].max(initial=0.0) / abs(values[exponent - 1])
    return (
        several,
        Condition("coefficients of lower degrees are smaller (largest limit, divided by the coefficient found)",
                  float(lower), bool(lower < 1), "otherwise the rows do not exclude a smaller exponent"),
    )  # fmt: skip


def _polynomials(z: np.ndarray, degrees: int) -> np.ndarray:
    """Return the Hermite polynomials h_1, ..., h_degrees, one in each column, with E h² = 1 for a normal variable."""
    columns = [np.ones_like(z), z]
    for k in range(1, degrees):
        columns.append((z * columns[k] - math.sqrt(k) * columns[k - 1]) / math.sqrt(k + 1))
    return np.stack(columns[1:], axis=1)


def _moves(z: np.ndarray, y: np.ndarray, polynomials: np.ndarray) -> np.ndarray:
    """Return the influence of each row on each coefficient, including the effect of the projection's mean and scale."""
    below = np.concatenate([np.ones((len(z), 1)), polynomials[:, :-1]], axis=1)
    slopes = y[:, None] * below * np.sqrt(np.arange(1, polynomials.shape[1] + 1))  # h_k' = sqrt(k) h_(k-1)
    shift, scale = slopes.mean(axis=0), (slopes * z[:, None]).mean(axis=0)
    return y[:, None] * polynomials - np.outer(z, shift) - np.outer(z**2 - 1, scale) / 2


def _permuted(y: np.ndarray, polynomials: np.ndarray, values: np.ndarray, trials: int) -> np.ndarray:
    """Return, for each degree, the share of permutations of the labels with at least as large a coefficient as
    `values`.
    """
    generator = np.random.default_rng(0)
    null = np.stack([np.abs(generator.permutation(y) @ polynomials) for _ in range(trials)]) / len(y)
    return (1 + np.sum(null >= np.abs(values), axis=0)) / (1 + trials)


def _by_label(polynomials: np.ndarray, y: np.ndarray, trials: int) -> np.ndarray:
    """Return p-values for equal means in ten groups of labels. Each is the larger p-value of two tests.

    Alexander and Govern's test allows groups of different variances. In small groups with heavy tails, its p-values are
    too small. So the second test uses the share of permutations of the labels for which the means are at least as far
    apart.
    """
    edges = np.unique(np.quantile(y, np.linspace(0, 1, _BINS + 1)[1:-1]))
    groups = np.unique(np.searchsorted(edges, y, side="right"), return_inverse=True)[1]
    sizes = np.bincount(groups)
    if len(sizes) < 2 or sizes.min() < 2:
        return np.ones(polynomials.shape[1])
    parts = [polynomials[groups == group] for group in range(len(sizes))]
    # A group without variance has an infinite weight in Alexander and Govern's test. Then only permutations count.
    fixed = np.min([np.ptp(part, axis=0) for part in parts], axis=0) <= 1e-9 * np.abs(polynomials).max(axis=0)
    columns = zip(*(part.T for part in parts), strict=True)
    found = [0.0 if flat else stats.alexandergovern(*own).pvalue for flat, own in zip(fixed, columns, strict=True)]
    members, centred = np.eye(len(sizes))[groups] / np.sqrt(sizes), polynomials - polynomials.mean(axis=0)
    generator = np.random.default_rng(1)
    apart = lambda order: np.sum((members[order].T @ centred) ** 2, axis=0)
    seen = apart(slice(None)) * (1 - 1e-12)
    null = np.stack([apart(generator.permutation(len(y))) for _ in range(trials)])
    return np.maximum(found, (1 + np.sum(null >= seen, axis=0)) / (1 + trials))
