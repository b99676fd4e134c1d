"""The dimension of the set that the rows of a table fill, from the distances of each row to its nearest two rows."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from lemmata.answers import Condition, inside, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError, ShapeError
from lemmata.pictures import BLUE, lines, styled
from lemmata.printable import preformatted

_CLAIMS = ("approximation.lookups.two_nearest_neighbours", "approximation.lookups.torus_lookup")
_LEAST, _ASKED, _RESAMPLES = 20, 5000, 1000
_STABLE = 1.25
_CANDIDATES, _BLOCK, _EQUAL, _FEW_TIES = 10, 200, 1e-9, 0.01
# Neighbouring rows share neighbours, so the logarithms are dependent. In experiments with tori and with normal rows, of
# dimension 1 to 8, the variance of their mean was 1.3 to 1.8 times as large as for independent logarithms.
_STRETCH = 1.35


@dataclasses.dataclass(frozen=True, eq=False)
class IntrinsicDimension:
    """The intrinsic dimension of rows.

    Args:
        dimension: 1 over the mean of log(r_2/r_1), where r_1 and r_2 are the distances to the nearest two rows.
        interval: a confidence interval of the dimension, from a bootstrap of the rows. The interval is widened, because
            rows share neighbours. The upper end may be inf.
        sizes: the number of all rows, its half, its quarter and its eighth, as long as at least 20 rows remain.
        dimensions: the estimates from random subsets of these sizes. The smaller a subset is, the larger are the
            distances between its nearest rows.
        rows: the number of different rows.
        columns: the number of columns.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    dimension: float
    interval: tuple[float, float]
    sizes: Int[np.ndarray, " k"]
    dimensions: Float[np.ndarray, " k"]
    rows: int
    columns: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def exponent(self) -> float:
        """The exponent -1/dimension. The error of a lookup table decreases like this power of the number of rows."""
        return -1 / self.dimension

    def __str__(self) -> str:
        low, high = self.interval
        curve = ", ".join(f"{d:.3g} at {n}" for n, d in zip(self.sizes, self.dimensions, strict=True))
        lines = [
            f"the intrinsic dimension of {self.rows} rows with {self.columns} column{'s' if self.columns > 1 else ''} "
            f"is {self.dimension:.3g} ({100 * self.level:g} % interval {low:.3g} to {high:.3g})",
            f"estimates by number of rows: {curve}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the estimates by number of rows, with the interval for all rows.

        An interval without an upper end is drawn up to the number of columns.
        """
        import altair as alt

        most = max(float(self.columns), self.dimensions.max())
        ends = {"x": int(self.sizes[0]), "low": self.interval[0], "high": min(self.interval[1], most)}
        rule = alt.Chart(alt.Data(values=[ends])).mark_rule(color=BLUE, strokeWidth=2)
        rule = rule.encode(x=alt.X("x:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
        curve = lines(
            {"estimate": (self.sizes, self.dimensions)},
            ("number of rows", f"intrinsic dimension (bar: {100 * self.level:g} % interval)"),
            logarithmic="x",
        )
        return styled(alt.layer(curve, rule))


def intrinsic_dimension(x: Any, *, level: float = 0.9, seed: int = 0) -> IntrinsicDimension:
    """Estimate the dimension of the set that the rows of a table fill, from the distances of each row to the nearest
    two.

    Let r_1 and r_2 be the distances of a row to its two nearest rows. Suppose that the rows fill a set of dimension d,
    and that the density of the rows is constant over distances up to r_2. Then E log(r_2/r_1) = 1/d. This mean does not
    depend on the value of the density or on the place of the set. The estimate is too low if d is large, because every
    row is then near the boundary of the set. Noise raises the estimate at small distances. Therefore the dimension is
    also estimated from subsets of the rows, in which the distances between neighbours are larger.

    Args:
        x: a table of shape (n, columns). Images or other arrays are flattened to rows. The columns are not rescaled, so
            the distances depend on their units.
        level: the confidence level of the interval.
        seed: the random seed of subsets and resamples.

    Raises:
        SettingError: for a level outside (0, 1), or a seed that is not a whole number of at least 0.
        ShapeError, PrecisionError, DataError: if x is not a table of at least 20 different rows of numbers. A DataError
            is also raised for data on a lattice, where most rows are equally far from their two nearest rows.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> print(intrinsic_dimension(rng.uniform(size=(2000, 2)) @ rng.normal(size=(2, 30))))
        the intrinsic dimension of 2000 rows with 30 columns is 1.98 (90 % interval 1.89 to 2.08)
        estimates by number of rows: 1.98 at 2000, 1.95 at 1000, 1.95 at 500, 1.95 at 250
    """
    level = inside("level", level, 0.0, 1.0)
    rng = np.random.default_rng(whole("seed", seed))
    table = numbers_of("x", x)
    if table.ndim < 2:
        remedy = "pass one column as a table of shape (n, 1)"
        raise ShapeError("x", found=f"shape {table.shape}", rule="a table (n, columns)", remedy=remedy)
    table = table.reshape(len(table), -1).astype(float)
    different = _centred(np.unique(table, axis=0))
    if len(different) < _LEAST:
        found = f"{len(different)} different row{'s' if len(different) > 1 else ''}"
        raise DataError("x", found=found, rule=f"at least {_LEAST} different rows", remedy="add rows")
    different = different[rng.permutation(len(different))]
    sizes = [len(different) // 2**k for k in range(4) if len(different) // 2**k >= _LEAST]
    # The first subset contains all rows. For each smaller size, the mean is over the rows of several disjoint parts.
    logs = [_logs(different)]
    for size in sizes[1:]:
        parts = [different[start : start + size] for start in range(0, len(different) - size + 1, size)]
        logs.append(np.concatenate([_logs(part) for part in parts]))
    ties = float(np.mean(logs[0] < _EQUAL))
    if ties > 0.5:
        raise DataError(
            "x",
            found=f"{100 * ties:.3g} % of the rows equally far from their two nearest neighbours, as on a lattice",
            rule="at most 50 %, because the estimate compares these two distances",
            remedy="pass values that are not rounded",
        )
    means = np.array([own.mean() for own in logs])
    resampled = logs[0][rng.integers(0, len(logs[0]), (_RESAMPLES, len(logs[0])))].mean(axis=1)
    ends = means[0] + _STRETCH * (np.quantile(resampled, [(1 + level) / 2, (1 - level) / 2]) - means[0])
    low, high = (1 / end if end > 0 else np.inf for end in ends)
    dimension = float(1 / means[0])
    return IntrinsicDimension(
        dimension=dimension, interval=(float(low), float(high)), sizes=np.array(sizes), dimensions=1 / means,
        rows=len(different), columns=table.shape[1], level=level,
        conditions=(
            *_conditions(dimension, float(1 / means[-1]), len(table), different.shape, float(low), ties),
            _excluded(float(low), float(high), table.shape[1]),
        ),
    )  # fmt: skip


def _centred(rows: np.ndarray) -> np.ndarray:
    """Centre the rows and divide them by their largest absolute entry, so that squares neither cancel nor overflow."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    middle = low / 2 + high / 2
    unit = float(np.abs(rows - middle).max())
    return (rows - middle) / unit if unit > 0 else rows


def _logs(rows: np.ndarray) -> np.ndarray:
    """Return log(r_2/r_1) for each row. The rows are in random order. If there are more than 5000 rows, return the
    logarithms for the first 5000.

    If there are many columns, the neighbour search rounds small distances. So the distances to the 10 nearest
    candidates are computed again.
    """
    asked, logs = rows[:_ASKED], []
    candidates = NearestNeighbors(n_neighbors=_CANDIDATES).fit(rows).kneighbors(asked, return_distance=False)
    for start in range(0, len(asked), _BLOCK):
        apart = rows[candidates[start : start + _BLOCK]] - asked[start : start + _BLOCK, None]
        unit = np.abs(apart).max(axis=2)
        sizes = unit * np.sqrt(((apart / np.where(unit > 0, unit, 1.0)[..., None]) ** 2).sum(axis=2))
        others = np.sort(np.where(candidates[start : start + _BLOCK] == _own(start, len(sizes)), np.inf, sizes), axis=1)
        logs.append(np.log(others[:, 1] / np.maximum(others[:, 0], 1e-300)))
    return np.concatenate(logs)


def _own(start: int, count: int) -> np.ndarray:
    return np.arange(start, start + count)[:, None]


def _conditions(
    dimension: float, coarse: float, rows: int, shape: tuple[int, ...], low: float, ties: float
) -> tuple[Condition, ...]:
    ratio, (different, columns) = max(dimension / coarse, coarse / dimension), shape
    return (
        Condition("the density is constant over the distances to the nearest two rows", None, None,
                  "otherwise the estimate depends on the number of rows"),
        Condition("estimates of all rows and of the smallest subsets agree (their ratio)", ratio, ratio <= _STABLE,
                  ("otherwise noise raises the dimension at small distances, or the rows lie on a surface "
                  "that is curved at large distances")),
        Condition("the base-2 logarithm of the number of rows is above the dimension", float(np.log2(different)),
                  bool(np.log2(different) > dimension),
                       "otherwise every row is near a boundary, and the estimate is too low"),
        Condition("the interval begins at or below the number of columns", low, low <= columns,
                  "otherwise the estimate is impossible, as for rounded values"),
        Condition("share of rows that are equally far from their two nearest neighbours", ties, ties <= _FEW_TIES,
                  "if this share is large, values are rounded or whole, and the estimate is too high"),
        Condition("duplicate rows, which are left out", float(rows - different), rows == different,
                  "rows repeat if values are rounded, or if rows are copies of other rows"),
    )  # fmt: skip


def _excluded(low: float, high: float, columns: int) -> Condition:
    """Return the condition that the interval excludes at least one whole dimension from 1 to the number of columns."""
    count = sum(not low <= dimension <= high for dimension in range(1, columns + 1))
    return Condition("the interval excludes a dimension from 1 to the number of columns (how many it excludes)",
                     float(count), count > 0,
                     "otherwise every dimension is possible; one column always has dimension 1")  # fmt: skip
