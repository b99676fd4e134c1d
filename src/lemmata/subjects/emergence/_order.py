"""Infer from the widths of a transition at several sizes whether the transition comes from the metric, is continuous,
or is a switch between two states.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

_CLAIMS = (
    "emergence.metrics.exact_match_width",
    "emergence.transitions.critical_width",
    "emergence.transitions.two_states_width",
)
KINDS = {
    "the metric, or a smooth change: the width does not depend on the size": 0.0,
    "a continuous transition, as of coupled units: the width falls like size^(-1/2)": -0.5,
    "a switch between two states: the width falls like 1/size": -1.0,
}
_FEWEST = 4


@dataclasses.dataclass(frozen=True, eq=False)
class TransitionOrder:
    """Widths of a transition at several sizes, and the exponent with which the widths fall.

    Args:
        sizes: the sizes of the system, ascending.
        widths: the widths of the transition at each size, in the unit of the control parameter.
        places: the control parameter at which half of the rise is reached, for each size.
        exponent: the slope of log width against log size.
        interval: a confidence interval of the exponent, of level `level`.
        level: the confidence level of `interval`.
        kinds: explanations whose exponent lies in the interval, or at most 0.02 outside.
        conditions: the conditions under which the exponent can be interpreted, and whether they hold.
        claims: names of the claims that state the exponents.
    """

    sizes: Float[np.ndarray, " m"]
    widths: Float[np.ndarray, " m"]
    places: Float[np.ndarray, " m"]
    exponent: float
    interval: tuple[float, float]
    level: float
    kinds: tuple[str, ...]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"the width falls like size^{self.exponent:.2f}, {100 * self.level:g} % interval {low:.2f} to {high:.2f}"
        ]
        lines += [f"this agrees with {kind}" for kind in self.kinds]
        if not self.kinds:
            lines.append("none of the exponents 0, -1/2 and -1 lies in this interval")
        if len(self.kinds) > 1:
            lines.append("these sizes cannot tell these explanations apart")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the widths against the sizes on logarithmic axes, with the fitted slope, as an Altair chart."""
        import altair as alt

        x_log = np.log(self.sizes)
        fitted = np.exp(np.mean(np.log(self.widths)) + self.exponent * (x_log - np.mean(x_log)))
        x = alt.X("size:Q", scale=alt.Scale(type="log"), title="size")
        y = alt.Y("width:Q", scale=alt.Scale(type="log"), title="width of the transition")
        rows = [{"size": float(n), "width": float(w)} for n, w in zip(self.sizes, self.widths, strict=True)]
        line = [{"size": float(n), "width": float(w)} for n, w in zip(self.sizes, fitted, strict=True)]
        points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True).encode(x, y)
        return (alt.Chart(alt.Data(values=line)).mark_line().encode(x, y) + points).properties(width=300, height=220)


def transition_order(
    curves: Any, *, low: float | int = 0.1, high: float | int = 0.9, level: float | int = 0.9
) -> TransitionOrder:
    """Estimate the exponent with which the width of a transition falls with the size of the system.

    A curve passes the shares `low` and `high` of its rise at two places, which linear interpolation finds. The width is
    the distance between these places. The exponent is the least-squares slope of log width against log size, with an
    interval from Student's t distribution. The exponent is 0 for a jump that comes from the metric, -1/2 for a
    continuous transition, and -1 for a switch between two states.

    Args:
        curves: for each size (a positive number), a pair of columns: the control parameter, which is varied, and the
            measured value.
        low: the first share of the rise.
        high: the second share of the rise.
        level: the confidence level of the interval.

    Raises:
        SettingError: if a share or the level is outside (0, 1), or if low is not below high.
        DataError, ShapeError: if there are fewer than four sizes, or if a curve does not pass each share exactly once.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 2001)
        >>> found = transition_order({n: (x, 1 / (1 + np.exp(-n * x))) for n in (16, 32, 64, 128)})
        >>> round(found.exponent, 2), len(found.kinds)
        (-1.0, 1)
    """
    level, low, high = inside("level", level, 0.0, 1.0), inside("low", low, 0.0, 1.0), inside("high", high, 0.0, 1.0)
    if not low < high:
        raise SettingError("low and high", found=f"{low:g} and {high:g}", rule="low below high")
    if not isinstance(curves, Mapping):
        found, rule = type(curves).__name__, "a mapping from sizes to pairs (control parameter, value)"
        raise DataError("curves", found=found, rule=rule, remedy="pass {size: (x, y), ...}")
    if len(curves) < _FEWEST:
        rule = f"at least {_FEWEST}, because a slope from fewer sizes has no useful interval"
        raise DataError("curves", found=f"{len(curves)} sizes", rule=rule)
    found = sorted((_size(size), *_crossings(size, pair, low, high)) for size, pair in curves.items())
    sizes, starts, halves, ends, margins, counts = (np.array(column) for column in zip(*found, strict=True))
    if np.any(np.diff(sizes) == 0):
        raise DataError("curves", found="a size that occurs twice", rule="one curve for each size")
    x, y = np.log(sizes), np.log(ends - starts)
    slope, start = (float(own) for own in np.polyfit(x, y, 1))
    error = math.sqrt(np.sum((y - start - slope * x) ** 2) / (len(x) - 2) / np.sum((x - x.mean()) ** 2))
    reach = float(stats.t.ppf((1 + level) / 2, len(x) - 2)) * error
    interval = (slope - reach, slope + reach)
    kinds = tuple(kind for kind, exponent in KINDS.items() if interval[0] - 0.02 <= exponent <= interval[1] + 0.02)
    bend = float(np.polyfit(x, y, 2)[0] * (x[-1] - x[0]) ** 2 / 4)
    with np.errstate(over="ignore"):
        spread = float(sizes[-1] / sizes[0])
    margin, points = float(np.min(margins / (ends - starts))), int(counts.min())
    conditions = (
        Condition(
            "each curve continues for half a width on both sides of its rise",
            margin,
            margin >= 0.5,
            "otherwise the width depends on the range that was measured",
        ),
        Condition(
            "each curve has at least 3 points inside its rise",
            float(points),
            points >= 3,
            "otherwise the width depends on the spacing of the points",
        ),
        Condition(
            "the sizes span a factor of at least 4", spread, spread >= 4, "otherwise the slope is poorly determined"
        ),
        Condition(
            "the logarithm of the width is linear in the logarithm of the size",
            float(bend),
            bool(abs(bend) < 0.25),
            "small sizes may not follow the line",
        ),
    )
    return TransitionOrder(sizes, ends - starts, halves, slope, interval, level, kinds, conditions)


def _size(size: Any) -> float:
    number = numbers_of("a size in curves", size)
    if number.shape or not number > 0:
        raise DataError("a size in curves", found=repr(size)[:40], rule="one positive number")
    return float(number)


def _crossings(size: Any, pair: Any, low: float, high: float) -> tuple[float, float, float, float, int]:
    """Return the places at which a curve passes the shares low, 1/2 and high of its rise.

    Also return the smaller of two distances, of the first and of the last place from the ends of the curve, and the
    number of points between the places.
    """
    if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
        raise DataError(
            f"the curve of size {size}", found=type(pair).__name__, rule="a pair (control parameter, value)"
        )
    x, y = (numbers_of(f"the curve of size {size}", column) for column in pair)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 3:
        rule = "two columns of the same length, of at least 3 numbers"
        raise ShapeError(f"the curve of size {size}", found=f"shapes {x.shape} and {y.shape}", rule=rule)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    rise = y[-1] - y[0]
    if np.any(np.diff(x) == 0) or rise == 0:
        rule = "different control parameters, and different values at both ends"
        raise DataError(
            f"the curve of size {size}", found="a parameter that occurs twice, or equal values at both ends", rule=rule
        )
    share = (y - y[0]) / rise
    places = []
    for level in (low, 0.5, high):
        above = share >= level
        after = int(np.argmax(above))
        if not above[after:].all():
            rule = "a curve that crosses each share of its rise once"
            remedy = "smooth the curve, or choose other shares low and high"
            raise DataError(
                f"the curve of size {size}", found=f"several crossings of {level:g}", rule=rule, remedy=remedy
            )
        part = (level - share[after - 1]) / (share[after] - share[after - 1])
        places.append(float(x[after - 1] + part * (x[after] - x[after - 1])))
    if not places[2] > places[0]:
        raise DataError(f"the curve of size {size}", found="a width of 0", rule="points inside the rise")
    inner = int(np.sum((x > places[0]) & (x < places[2])))
    if not inner:
        rule = (
            "at least one measured point between the two shares, because otherwise the width depends on "
            "the spacing of the points"
        )
        raise DataError(
            f"the curve of size {size}", found="no point inside the rise", rule=rule, remedy="measure more points there"
        )
    return places[0], places[1], places[2], min(places[0] - float(x[0]), float(x[-1]) - places[2]), inner
