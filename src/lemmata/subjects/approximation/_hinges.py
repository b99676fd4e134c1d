"""The number of ReLU units that fit a curve of one variable within a tolerance, and the places of their hinges."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition, positive
from lemmata.core import numbers_of
from lemmata.errors import DataError, ShapeError
from lemmata.pictures import BLUE, RED, styled
from lemmata.printable import preformatted

from ._stabbed_gates import joined_line, links

_CLAIMS = ("approximation.steps_and_knots.free_knots",)
_FACTORS = (16.0, 4.0, 1.0, 0.25)
_SAMPLES = 8  # steps of the second differences in a piece
_SLACK, _ROUNDING = 1e-9, 1e-14  # gates are widened by _SLACK tolerances; for the lower bound also by _ROUNDING
_LARGEST, _ROWS, _SHOWN = 1e300, 1000, 2000


@dataclasses.dataclass(frozen=True, eq=False)
class Hinges:
    """A piecewise linear function within a tolerance of a curve, with few hinges.

    Args:
        units: the number of hinges, each of which is one ReLU unit.
        fewest: a proved lower bound; no piecewise linear function with fewer hinges is within the tolerance at the
            points.
        places: the places of the hinges.
        weights: the change of the slope at each hinge, which is the outgoing weight of its unit.
        slope, height: the affine function to the left of all hinges. The height is the value of this affine function at
            the first point.
        error: the largest absolute difference between the function and the curve at the points.
        tolerance: the requested tolerance, the largest allowed difference at the points.
        predicted: the number of units that the second derivative of the curve predicts, for small tolerances.
        tolerances, counts: four tolerances, and the number of hinges that are found for each tolerance.
        x, y: the points, in order.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
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
        """Evaluate the function, which is an affine part plus one ReLU unit for each hinge.

        Args:
            x: places, in an array of any shape.

        Raises:
            ShapeError, PrecisionError, DataError: if x does not consist of finite numbers.
        """
        at = numbers_of("x", x).astype(float)
        flat, bends = at.ravel(), np.zeros(at.size)
        for start in range(0, at.size, _ROWS):  # an array of places times hinges may exceed the memory
            part = flat[start : start + _ROWS, None]
            bends[start : start + _ROWS] = np.maximum(part - self.places, 0.0) @ self.weights
        return np.asarray(self.height + self.slope * (at - self.x[0]) + bends.reshape(at.shape))

    def __str__(self) -> str:
        count = f"{self.units}" if self.units == self.fewest else f"{self.fewest} to {self.units}"
        curve = ", ".join(f"{n} at {t:.3g}" for t, n in zip(self.tolerances, self.counts, strict=True))
        lines = [
            f"{count} ReLU {'unit fits' if self.units == 1 else 'units fit'} {len(self.x)} points within "
            f"{self.tolerance:.4g} (largest error {self.error:.4g})",
            (f"the curvature predicts about {round(self.predicted, 3):.3g} units; units by tolerance: {curve}"),
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the points, the function and its hinges. If there are more than 2000 points, the
        chart shows an even selection.
        """
        import altair as alt

        some = slice(None, None, -(-len(self.x) // _SHOWN))
        ends = np.concatenate([self.x[:1], self.places, self.x[-1:]])
        rows = lambda name, x, y: alt.Data(
            values=[{"x": float(at), "y": float(value), "name": name} for at, value in zip(x, y, strict=True)]
        )
        names = ["points", "function and its hinges"]
        x, y = alt.X("x:Q", axis=alt.Axis(grid=False)), alt.Y("y:Q", axis=alt.Axis(grid=False))
        legend = alt.Legend(title=None, orient="top", labelLimit=300, symbolOpacity=1)
        colour = alt.Color("name:N", scale=alt.Scale(domain=names, range=[BLUE, RED]), legend=legend)
        points = alt.Chart(rows(names[0], self.x[some], self.y[some])).mark_point(size=24, filled=True, opacity=0.5)
        line = alt.Chart(rows(names[1], ends, self(ends))).mark_line(point={"size": 40})
        both = points.encode(x=x, y=y, color=colour), line.encode(x=x, y=y, color=colour)
        return styled(alt.layer(*both).properties(title=str(self).split("\n")[0], width=420, height=240))


def hinges(x: Any, y: Any, tolerance: float | int) -> Hinges:
    """Find a small number of ReLU units that fit a curve of one variable within a tolerance, and the places of their
    hinges.

    A network of one layer and N units in one variable is an affine function with N hinges. So `hinges` searches for few
    joined affine pieces that pass through the gates [y - tolerance, y + tolerance]. The smallest number of separate
    (not joined) pieces is computed exactly. Joined pieces are never fewer than separate pieces, so `fewest` is a proved
    lower bound. The joined pieces that are found form a network with `units` hinges. If `units` equals `fewest`, this
    number is the smallest possible number.

    For a smooth curve f and a small tolerance, the number of units is near the integral of |f''|^(1/2) divided by 4
    tolerance^(1/2).

    Args:
        x: the places at which the curve is given, in any order.
        y: the value of the curve at each place.
        tolerance: the largest difference that is allowed at the points.

    Raises:
        SettingError: for a tolerance that is not a positive number.
        ShapeError, PrecisionError, DataError: if x and y are not two equally long columns of numbers, or if there are
            fewer than 3 different places. These errors are also raised if equal places have values that are too far
            apart, or if rounding errors exceed the tolerance.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 1, 401)
        >>> print(hinges(x, np.exp(3 * x), 0.01))
        16 ReLU units fit 401 points within 0.01 (largest error 0.009986)
        the curvature predicts about 16.4 units; units by tolerance: 4 at 0.16, 8 at 0.04, 16 at 0.01, 32 at 0.0025
    """
    tolerance = positive("tolerance", tolerance)
    given_x, given_y = _column("x", x), _column("y", y)
    places, low, high, values = _gates(given_x, given_y, tolerance)
    span, height = places[-1] - places[0], max(float(np.ptp(values)), tolerance)
    gate_x, gate_y = (places - places[0]) / span, (values - values[0]) / height
    reach = (high - low) / (2 * height) + _SLACK * tolerance / height
    through = lambda times: links(gate_x, *_widened(gate_y, reach, (times - 1) * tolerance / height), True)
    exact = links(gate_x, gate_y - reach - _ROUNDING, gate_y + reach + _ROUNDING, False)
    found = {times: through(times) for times in _FACTORS}
    knots_x, knots_y = joined_line(found[1.0], gate_x)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        knots_x, knots_y = places[0] + span * knots_x, values[0] + height * knots_y
        slopes = np.diff(knots_y) / np.diff(knots_x)
    units, fewest = len(slopes) - 1, len(exact) - 1
    curvature = _root_curvature(gate_x, gate_y, len(exact)) * (height / tolerance) ** 0.5
    predicted = max(curvature / 4 - 1, 0.0)
    network = Hinges(
        units=units, fewest=fewest, places=knots_x[1:-1], weights=np.diff(slopes), slope=float(slopes[0]),
        height=float(knots_y[0]), error=0.0, tolerance=tolerance, predicted=predicted,
        tolerances=tolerance * np.array(_FACTORS), counts=np.array([len(own) - 1 for own in found.values()]),
        x=places, y=values, conditions=(*_conditions(units, fewest, predicted, len(places)), _seen(given_y, tolerance)),
    )  # fmt: skip
    return dataclasses.replace(network, error=_error(network, given_x, given_y))


def _error(network: Hinges, x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest error of the network at the points. Raise an error if rounding errors in the sum over units
    bring this largest error above the tolerance.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.abs(network(x) - y).max())
    if not error <= network.tolerance * (1 + 1e-6):
        raise DataError(
            "x and y",
            found=f"a rounding error of {error:.3g} in the network",
            rule=f"at most the tolerance {network.tolerance:g}",
            remedy="pass a larger tolerance, subtract a constant from x and y, or drop places that nearly coincide",
        )
    return error


def _column(name: str, values: Any) -> np.ndarray:
    column = numbers_of(name, values)
    if column.ndim != 1:
        rule, remedy = "shape (n,), one number for each point", f"pass {name} as one column"
        raise ShapeError(name, found=f"shape {column.shape}", rule=rule, remedy=remedy)
    column = column.astype(float)
    if np.abs(column).max() > _LARGEST:
        found = f"{np.abs(column).max():.3g} as the largest absolute value"
        raise DataError(name, found=found, rule=f"at most {_LARGEST:g}", remedy="change the unit")
    return column


def _gates(x: np.ndarray, y: np.ndarray, tolerance: float) -> tuple[np.ndarray, ...]:
    """Return the sorted distinct places, and the gate at each place: the lowest, highest and middle allowed value."""
    if len(x) != len(y):
        raise ShapeError("x and y", found=f"{len(x)} and {len(y)} values", rule="one value of y for each place x")
    places, which = np.unique(x, return_inverse=True)
    if len(places) < 3:
        found = f"{len(places)} different place{'s' if len(places) > 1 else ''}"
        raise DataError("x", found=found, rule="at least 3 different places", remedy="add points")
    if places[-1] - places[0] < 1 / _LARGEST:
        found = f"places within {places[-1] - places[0]:.3g}"
        raise DataError("x", found=found, rule=f"places at least {1 / _LARGEST:g} apart", remedy="change the unit")
    high, low = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.minimum.at(high, which, y + tolerance)
    np.maximum.at(low, which, y - tolerance)
    if (low - high > _SLACK * tolerance).any():
        at = int(np.argmax(low - high))
        least = (low[at] - high[at]) / 2 + tolerance
        raise DataError("y", found=f"values at x = {places[at]:g} that differ by {2 * least:.4g}",
                        rule=f"at most twice the tolerance {tolerance:g}",
                        remedy=f"pass a tolerance of at least {_rounded_up(least)}")  # fmt: skip
    middle = (low + high) / 2
    return places, np.minimum(low, middle), np.maximum(high, middle), middle


def _rounded_up(number: float) -> str:
    text = f"{number:.4g}"
    return text if float(text) >= number * (1 - _SLACK / 2) else f"{number * 1.0005:.4g}"


def _widened(y: np.ndarray, reach: np.ndarray, more: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends of the gates, widened by `more` on each side. If `more` is negative, the gates
    become narrower, but each gate keeps at least one point.
    """
    half = np.maximum(reach + more, 0.0)
    return y - half, y + half


def _root_curvature(x: np.ndarray, y: np.ndarray, pieces: int) -> float:
    """Estimate the integral of |f''|^(1/2) by second differences with steps of an eighth of a piece."""
    step = max(1, len(x) // (_SAMPLES * pieces))
    x, y = x[::step], y[::step]
    widths = np.diff(x)
    if len(widths) < 2:
        return 0.0
    bends = np.diff(np.diff(y) / widths) / ((widths[1:] + widths[:-1]) / 2)
    weights = (widths[1:] + widths[:-1]) / 2
    return float(np.sqrt(np.abs(bends)) @ weights * (widths.sum() / weights.sum()))


def _seen(y: np.ndarray, tolerance: float) -> Condition:
    """Return the condition that a constant does not fit all points within the tolerance."""
    with np.errstate(over="ignore"):
        ratio = float(np.ptp(y) / 2 / tolerance)
    return Condition("the values vary by more than twice the tolerance (their range divided by it)", ratio, ratio > 1,
                     "otherwise a constant is within the tolerance of every point")  # fmt: skip


def _conditions(units: int, fewest: int, predicted: float, n: int) -> tuple[Condition, ...]:
    ratio = (predicted + 1) / (fewest + 1)
    return (
        Condition("no function with fewer hinges is close enough (units minus the proved minimum)",
                  float(units - fewest), units == fewest,
                  "otherwise a number of hinges between the two may be enough, at other places"),
        Condition("points for each piece", n / (units + 1), n / (units + 1) >= _SAMPLES,
                  "otherwise the curve between the points is unknown"),
        Condition("the curvature predicts the number of pieces (predicted divided by proved)",
                  ratio, 0.8 <= ratio <= 1.25,
                  "otherwise the curve has noise or corners, or less than one bend for each piece"),
    )  # fmt: skip
