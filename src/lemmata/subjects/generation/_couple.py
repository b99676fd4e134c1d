"""Pair noise and data by optimal transport inside batches, for the training of a flow."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from scipy.spatial.distance import cdist

from lemmata.answers import Condition, inside, whole
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._rows import in_unit, rows_of, same_columns, squarable
from ._transport import assigned

_CLAIMS = ("generation.couplings.minibatch_pairs_of_one_law", "generation.couplings.minibatch_pairs_approach_transport")
_MOST = 4000


@dataclasses.dataclass(frozen=True, eq=False)
class Coupling:
    """A pairing of noise and data.

    Args:
        order: row i of x0 is paired with row order[i] of x1. Each row is in exactly one pair.
        cost: the mean squared distance of the two rows of a pair.
        interval: a confidence interval of the mean cost of new batches. Both ends are NaN if there is only one full
            batch.
        independent: the mean squared distance of a row of x0 and a row of x1 that are drawn independently.
        batches: the sizes of smaller batches for a comparison, and the size `batch`.
        costs: the mean squared distance of a pair for each of these sizes.
        batch: the number of pairs in a batch.
        rows: the number of pairs.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    order: Int[np.ndarray, " n"]
    cost: float
    interval: tuple[float, float]
    independent: float
    batches: Int[np.ndarray, " b"]
    costs: Float[np.ndarray, " b"]
    batch: int
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        sure = "" if np.isnan(low) else f" ({100 * self.level:g} % interval {low:.4g} to {high:.4g})"
        curve = ", ".join(f"{b}: {cost:.4g}" for b, cost in zip(self.batches, self.costs, strict=True))
        lines = [
            f"{self.rows} pairs in batches of {self.batch} have the mean squared distance {self.cost:.4g}{sure}, "
            f"and independent pairs have {self.independent:.4g}",
            f"by size of the batch: {curve}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the mean squared distance of a pair against the size of the batch, as an Altair chart."""
        import altair as alt

        pairs = zip(self.batches.tolist(), self.costs.tolist(), strict=True)
        chart = alt.Chart(alt.Data(values=[{"batch": b, "cost": cost} for b, cost in pairs])).mark_line(point=True)
        return chart.encode(
            x=alt.X("batch:Q", title="size of the batch", scale=alt.Scale(type="log")),
            y=alt.Y("cost:Q", title="mean squared distance of a pair"),
        ).properties(width=360, height=220)


def couple(x0: Any, x1: Any, batch: int | float, *, level: float | int = 0.95, seed: int = 0) -> Coupling:
    """Pair noise with nearby data, by optimal transport inside random batches.

    The noise of these pairs, and their data, are distributed as in independent pairs. In flow matching, these pairs
    give straighter paths than independent pairs. Train on the pairs of x0 and x1[order].

    Args:
        x0: noise, (n, d).
        x1: data, (n, d).
        batch: the size of a batch, at most 4,000. The last batch may be smaller.
        level: the confidence level of the interval.
        seed: the random seed of the batches.

    Raises:
        SettingError: if a setting is invalid.
        ShapeError, DataError: if rows are invalid, if there are fewer than 20 rows, or if x0 and x1 differ in shape.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> found = couple(rng.normal(size=(1024, 6)), rng.normal(size=(1024, 6)), 128)
        >>> round(found.independent, 1), round(found.cost, 1), len(set(found.order.tolist()))
        (11.9, 2.6, 1024)
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    first, second = rows_of("x0", x0), rows_of("x1", x1)
    same_columns("x1", second, "x0", first)
    if len(first) != len(second):
        raise DataError(
            "x1", found=f"{len(second)} rows", rule=f"{len(first)} rows, one for each row of x0",
            remedy="draw as many rows of noise as there are data rows",
        )  # fmt: skip
    size, n = whole("batch", batch, 1), len(first)
    if size > min(n, _MOST):
        raise SettingError("batch", found=size, rule=f"at most {min(n, _MOST)}")
    (first, second), unit, _ = in_unit(first, second)
    squarable("x0 and x1", unit)
    rng = np.random.default_rng(seed)
    left, right = rng.permutation(n), rng.permutation(n)
    ladder = np.unique([max(1, size // 4**k) for k in range(6)])
    found = [_paired(first, second, left, right, int(b)) for b in ladder]
    order, costs = found[-1]
    independent = np.mean(first**2, axis=0).sum() + np.mean(second**2, axis=0).sum()
    independent = float(independent - 2 * first.mean(axis=0) @ second.mean(axis=0))
    square, limits = unit**2, _limits(costs, size, level, unit**2)
    cost = float(costs.mean())
    saved = 1 - cost / independent if independent > 0 else 0.0
    shown = True if limits[1] < independent * square else None  # None: too few batches to be sure
    return Coupling(
        order, cost * square, limits, independent * square, ladder,
        np.array([own.mean() for _, own in found]) * square, size, n, level,
        (
            Condition("rows of x0 and of x1 are independent draws"),
            Condition("batches of one size (rows in a smaller last batch)", float(n % size), n % size == 0,
                      "pairs in the smaller batch are farther apart"),
            Condition("pairs are nearer than independent pairs (share of the squared distance that the pairing saves)",
                      saved, False if saved < 0.01 or size == 1 else shown,
                      "otherwise the pairing changes nothing; pass a larger batch"),
        ),
    )  # fmt: skip


def _paired(
    x0: np.ndarray, x1: np.ndarray, left: np.ndarray, right: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pair the rows batch by batch, in the orders `left` of x0 and `right` of x1.

    Return the pairing and the squared distance of each pair.
    """
    order, costs = np.empty(len(x0), dtype=int), []
    for start in range(0, len(x0), size):
        rows, others = left[start : start + size], right[start : start + size]
        squares = cdist(x0[rows], x1[others], "sqeuclidean")
        chosen = assigned(squares)
        order[rows] = others[chosen]
        costs.append(squares[np.arange(len(rows)), chosen])
    return order, np.concatenate(costs)


def _limits(costs: np.ndarray, size: int, level: float, square: float) -> tuple[float, float]:
    """Return Student's confidence interval for the mean cost of new batches, computed from the mean costs of the full
    batches.
    """
    count = len(costs) // size
    if count < 2:
        return float("nan"), float("nan")
    means = costs[: count * size].reshape(count, size).mean(axis=1)
    half = stats.t.ppf((1 + level) / 2, count - 1) * means.std(ddof=1) / np.sqrt(count)
    centre = float(costs.mean())
    return max(centre - half, 0.0) * square, (centre + half) * square
