"""How many ReLU units a curve of one variable needs within a tolerance, and where."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition, positive
from lemmata.core import check_numbers
from lemmata.errors import DataError, ShapeError
from lemmata.printable import preformatted

from ._stabbed_gates import joined_line, links

_CLAIMS = ("approximation.steps_and_knots.free_knots",)
_FACTORS = (16.0, 4.0, 1.0, 0.25)
_SAMPLES = 8  # steps of the second differences in a piece


@dataclasses.dataclass(frozen=True, eq=False)
class Hinges:
    """A piecewise linear function within a tolerance of a curve, with few hinges.

    Args:
        units: its hinges, each of which is one ReLU unit.
        fewest: no function with fewer hinges is within the tolerance at the points.
        places: of the hinges.
        weights: the change of the slope at each hinge, which is the outgoing weight of its unit.
        slope, height: of the affine function to the left of all hinges, at the first point.
        error: the largest difference at the points.
        tolerance: what was asked for.
        predicted: the number of units from the second derivative of the curve, for small tolerances.
        tolerances, counts: other tolerances, and the hinges that are found for them.
        x, y: the points, in order.
        conditions: what the numbers rest on.
        claims: which state them.
    """

    units: int
    fewest: int
    places: Float[np.ndarray, " units"]
    weights: Float[np.ndarray, " units"]
    slope: float
    height: float
    error: float
    tolerance: float
    predicted: float
    tolerances: Float[np.ndarray, " t"]
    counts: Int[np.ndarray, " t"]
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __call__(self, x: Any) -> np.ndarray:
        """The function: an affine part and one ReLU unit for each hinge."""
        at = np.asarray(x, float)
        bends = np.maximum(at[..., None] - self.places, 0.0) @ self.weights
        return self.height + self.slope * (at - self.x[0]) + bends

    def __str__(self) -> str:
        count = f"{self.units}" if self.units == self.fewest else f"{self.fewest} to {self.units}"
        curve = ", ".join(f"{n} at {t:.3g}" for t, n in zip(self.tolerances, self.counts, strict=True))
        lines = [
            f"{count} ReLU units fit {len(self.x)} points within {self.tolerance:.4g} (largest error {self.error:.4g})",
            f"from the curvature: about {self.predicted:.3g}; units by tolerance: {curve}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """The points, the function and its hinges as an Altair chart."""
        import altair as alt
        import polars as pl

        ends = np.concatenate([self.x[:1], self.places, self.x[-1:]])
        points = alt.Chart(pl.DataFrame({"x": self.x, "y": self.y})).mark_point(size=8, opacity=0.5)
        line = alt.Chart(pl.DataFrame({"x": ends, "y": self(ends)})).mark_line(point=True, color="black")
        return (points.encode(x="x", y="y") + line.encode(x="x", y="y")).properties(title=str(self).split("\n")[0])


def hinges(x: Any, y: Any, tolerance: float | int) -> Hinges:
    """The least number of ReLU units that fit a curve of one variable within a tolerance, with their places.

    A network of one layer and N units in one variable is an affine function with N hinges. So the question is how few
    joined affine pieces pass through the gates [y - tolerance, y + tolerance]. Separate pieces are found exactly, one
    after another, and N joined pieces cannot do better: `fewest` is a proof. The joined pieces that are found are a
    network, with `units` hinges. If both numbers agree, the answer is exact.

    For a smooth curve and a small tolerance, the number is the integral of |f''|^(1/2), over 4 tolerance^(1/2).

    Args:
        x: places, in any order.
        y: values.
        tolerance: the largest difference that is allowed at the points.

    Raises:
        SettingError: for a tolerance that is not a positive number.
        ShapeError, DataError: for points that are not two equally long columns of numbers, fewer than 3 places, or
            equal places whose values are too far apart.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 401)
        >>> print(hinges(x, np.exp(3 * x), 0.01))
        16 ReLU units fit 401 points within 0.01 (largest error 0.009986)
        from the curvature: about 16.4; units by tolerance: 4 at 0.16, 8 at 0.04, 16 at 0.01, 32 at 0.0025
    """
    tolerance = positive("tolerance", tolerance)
    places, low, high, values = _gates(x, y, tolerance)
    span, height = places[-1] - places[0], max(float(np.ptp(values)), tolerance)
    gate_x, gate_y = (places - places[0]) / span, (values - values[0]) / height
    reach = (high - low) / (2 * height)
    through = lambda times: links(gate_x, *_widened(gate_y, reach, times * tolerance / height), True)
    exact = links(gate_x, gate_y - reach, gate_y + reach, False)
    found = {times: through(times) for times in _FACTORS}
    knots_x, knots_y = joined_line(found[1.0], gate_x)
    knots_x, knots_y = places[0] + span * knots_x, values[0] + height * knots_y
    slopes = np.diff(knots_y) / np.diff(knots_x)
    error = float(np.abs(np.interp(np.asarray(x, float), knots_x, knots_y) - np.asarray(y, float)).max())
    units, fewest = len(slopes) - 1, len(exact) - 1
    predicted = max(_root_curvature(places, values, len(exact)) / (4 * tolerance**0.5) - 1, 0.0)
    return Hinges(
        units=units, fewest=fewest, places=knots_x[1:-1], weights=np.diff(slopes), slope=float(slopes[0]),
        height=float(knots_y[0]), error=error, tolerance=tolerance, predicted=predicted,
        tolerances=tolerance * np.array(_FACTORS), counts=np.array([len(own) - 1 for own in found.values()]),
        x=places, y=values, conditions=_conditions(units, fewest, predicted, len(places)),
    )  # fmt: skip


def _gates(x: Any, y: Any, tolerance: float) -> tuple[np.ndarray, ...]:
    """Places in order, without repetition; the lowest and highest value allowed at each; and the middle of both."""
    given = {"x": np.asarray(x), "y": np.asarray(y)}
    for name, column in given.items():
        check_numbers(name, column)
        if column.ndim != 1:
            raise ShapeError(name, found=f"shape {column.shape}", rule="one column of numbers")
    if len(given["x"]) != len(given["y"]):
        found = f"{len(given['x'])} and {len(given['y'])} values"
        raise ShapeError("x and y", found=found, rule="one value of y for each place x")
    places, which = np.unique(given["x"].astype(float), return_inverse=True)
    if len(places) < 3:
        raise DataError("x", found=f"{len(places)} different places", rule="at least 3 different places")
    high, low = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.minimum.at(high, which, given["y"].astype(float) + tolerance)
    np.maximum.at(low, which, given["y"].astype(float) - tolerance)
    if (low > high).any():
        at = int(np.argmax(low - high))
        least = (low[at] - high[at]) / 2 + tolerance
        raise DataError("y", found=f"values at x = {places[at]:g} that differ by {2 * least:.4g}",
                        rule=f"at most twice the tolerance {tolerance:g}",
                        remedy=f"pass a tolerance of at least {least:.4g}")  # fmt: skip
    return places, low, high, (low + high) / 2


def _widened(y: np.ndarray, reach: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Gates of another tolerance; repeated places keep at least a point."""
    half = np.maximum(reach + tolerance - reach.max(), 0.0)
    return y - half, y + half


def _root_curvature(x: np.ndarray, y: np.ndarray, pieces: int) -> float:
    """The integral of |f''|^(1/2) by second differences, whose steps are an eighth of a piece."""
    step = max(1, len(x) // (_SAMPLES * pieces))
    x, y = x[::step], y[::step]
    widths = np.diff(x)
    if len(widths) < 2:
        return 0.0
    bends = np.diff(np.diff(y) / widths) / ((widths[1:] + widths[:-1]) / 2)
    weights = (widths[1:] + widths[:-1]) / 2
    return float(np.sqrt(np.abs(bends)) @ weights * (widths.sum() / weights.sum()))


def _conditions(units: int, fewest: int, predicted: float, n: int) -> tuple[Condition, ...]:
    ratio = (predicted + 1) / (fewest + 1)
    return (
        Condition("no function has fewer hinges (hinges beyond the proof)", float(units - fewest), units == fewest,
                  "between the two numbers, some other places might do"),
        Condition("points for each piece", n / (units + 1), n / (units + 1) >= _SAMPLES,
                  "else the curve between the points is unknown"),
        Condition("the curvature predicts the number (ratio of pieces)", ratio, 0.8 <= ratio <= 1.25,
                  "else the curve has noise, corners, or less than a bend for each piece"),
    )  # fmt: skip
