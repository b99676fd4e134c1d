"""Draw a claim's last verdict from the catalogue: its result, the values that support it, and its control.

The control is a false version of the claim. The catalogue does not store single trials. So the picture shows the tested
statistic with its interval, quantiles of predicted / measured, and the distance of the control. For bounds, it is known
on which side the control lies. If the side is not known, both sides are drawn.
"""

import dataclasses
from typing import Any

from lemmata.interfaces.report import INK, number

from ._code import is_relative
from ._drawing import drawn

STEPS = "smallest mean step"
"""The title of a panel about an order. Only the measurement is drawn, because the prediction is a sign."""
_FAR = 5.0  # a control that is further away than this many spans is drawn as an arrow at the edge


@dataclasses.dataclass(frozen=True)
class Panel:
    """One axis: the claim's interval, the band of values that support it, and the possible values of the control.

    Args:
        title: the meaning of the axis.
        band: the two ends of the band of support; None on a side without an end.
        claim: the claim's lower end, point and upper end.
        control: the possible positions of the control.
        stated: the value that the claim states, drawn as a line; None for no line.
        log: whether the axis is logarithmic.
        percent: whether the axis shows shares, from 0 on.
        either: whether the control is at one of several positions, and the record does not say at which.
    """

    title: str
    band: tuple[float | None, float | None]
    claim: tuple[float, float, float]
    control: tuple[float, ...] = ()
    stated: float | None = None
    log: bool = False
    percent: bool = False
    either: bool = False

    @property
    def domain(self) -> tuple[float, float]:
        """The ends of the axis. They include everything that is drawn, but the control only if it is near."""
        values = [*(end for end in self.band if end is not None), *self.claim]
        values += [] if self.stated is None else [self.stated]
        if self.log:
            low, high = min([*values, *self.control]), max([*values, *self.control])
            around = max((high / low) ** 0.08, 1.05)
            return low / around, high * around
        if self.percent:
            return 0.0, max(0.1, *values, *self.control) * 1.04
        low, high = min(values), max(values)
        span = (high - low) or max((abs(value - high) for value in self.control), default=0.0) or abs(high) or 1.0
        rounded = span < 1e-6 * max(abs(low), abs(high))
        near = [value for value in self.control if rounded or low - _FAR * span <= value <= high + _FAR * span]
        low, high = min([low, *near]), max([high, *near])
        span = (high - low) or 1.0
        return low - 0.06 * span, high + 0.06 * span


def panels(entry: dict[str, Any]) -> list[Panel]:
    """The pictures that can be drawn for an entry's verdict; empty if there are none."""
    verdict = entry.get("verdict")
    if not verdict:
        return []
    relation, interval = entry["relation"], verdict.get("interval")
    found: list[Panel | None] = []
    if relation.startswith(("measured <= predicted", "measured >= predicted")):
        found.append(_ratio(verdict, upper=entry["label"] == "upper"))
    if relation == "measured = predicted, to rounding":
        found.append(_equal(verdict))
    if not interval or verdict.get("estimate") is None:
        return [panel for panel in found if panel]
    if relation == "measured = predicted, to rounding":
        share = {**verdict, "estimate": interval[0]}
        found.append(_share(share, "share of trials that contradict the claim", (0.0, 0.1)))
    elif relation.startswith("the construction"):
        found.append(
            _share(verdict, "share of constructions that attain the predicted value", verdict["band"], success=True)
        )
    elif relation.startswith(("measured <= predicted", "measured >= predicted")):
        found.append(_share(verdict, "share of trials that contradict the claim", verdict["band"]))
    elif "is ordered" in relation:
        found.append(_ends(verdict, STEPS, 0.0, (-verdict["estimate"],)))
    elif " C " in relation:
        found.append(_exponent(verdict, upper="<=" in relation))
    elif verdict["band"]:
        found.append(_difference(entry, verdict))
    return [panel for panel in found if panel]


def _ratio(verdict: dict[str, Any], upper: bool) -> Panel | None:
    """The panel with quantiles of predicted / measured, for a bound.

    The control of a bound lies on the side where the bound is violated. The control's factor is its distance from the
    claim.
    """
    slack, control = verdict.get("slack"), verdict["control"]
    if not slack or any(value is None or value <= 0 for value in slack):
        return None
    factors = [factor for factor in (control["nearest"], control["farthest"]) if factor]
    places = tuple(dict.fromkeys(slack[1] / factor if upper else slack[1] * factor for factor in factors))
    low, middle, high = sorted(slack)
    if any(not 1e-290 < value < 1e290 for value in (low, high, *places)):
        return None
    band = (1.0, None) if upper else (None, 1.0)
    return Panel("predicted / measured", band, (low, middle, high), places, 1.0, log=True)


def _equal(verdict: dict[str, Any]) -> Panel | None:
    """The panel with quantiles of predicted / measured around 1, and the control's difference on either side."""
    slack, apart = verdict.get("slack"), verdict["control"]["nearest"]
    if not slack or any(value is None or not 1e-6 < value < 1e6 for value in slack):
        return None
    places = (1 - apart, 1 / (1 - apart)) if apart and apart < 0.999 else ()
    low, middle, high = sorted(slack)
    return Panel("predicted / measured", (None, None), (low, middle, high), places, 1.0, either=len(places) > 1)


def _share(verdict: dict[str, Any], title: str, band: Any, success: bool = False) -> Panel | None:
    """The panel with a share of trials (see `title`) and its interval, and the same share for the control."""
    low, high = verdict["interval"]
    if low is None or high is None:
        return None
    share = verdict["control"]["violating"]
    control = () if share is None else (1 - share if success else share,)
    return Panel(title, tuple(band), (low, verdict["estimate"], high), control, percent=True)


def _ends(verdict: dict[str, Any], title: str, stated: float | None, control: tuple[float, ...]) -> Panel:
    low, high = verdict["interval"]
    low, high = (verdict["estimate"] if end is None else end for end in (low, high))
    band = tuple(verdict["band"])
    return Panel(title, band, (low, verdict["estimate"], high), control, stated, either=len(control) > 1)


def _exponent(verdict: dict[str, Any], upper: bool) -> Panel | None:
    """The panel with the fitted exponent (slope) of the claim and that of the control.

    For upper bounds on rates, the control's slope is below the stated one; otherwise it may be on either side.
    """
    low, high = verdict["band"]
    found = _exponents(verdict["reason"])
    stated = found if found is not None else (None if low is None or high is None else (low + high) / 2)
    distance = verdict["control"]["nearest"]
    places: tuple[float, ...] = ()
    if stated is not None and distance:
        places = (stated - distance,) if upper else (stated - distance, stated + distance)
    return _ends(verdict, "exponent", stated, places)


def _exponents(reason: str) -> float | None:
    """The stated exponent in the reason of a verdict: "slope ..., stated at most -2.000, supported ..."."""
    words = reason.partition(", stated ")[2].removeprefix("at most ").partition(",")[0]
    try:
        return float(words)
    except ValueError:
        return None


def _difference(entry: dict[str, Any], verdict: dict[str, Any]) -> Panel | None:
    """The panel with a mean difference. The record says how far away the control lies, but not on which side."""
    factor, (low, high) = verdict["control"]["nearest"], verdict["band"]
    if low is None or high is None:
        return None
    relative = is_relative(entry["place"], entry["class"])
    title = "measured / predicted - 1" if relative else "measured - predicted"
    title = f"{title} at the largest size" if "->" in entry["relation"] else f"mean of {title}"
    places: tuple[float, ...] = ()
    if factor and factor > 1:
        apart = (factor - 1) * high
        places = (1 / factor - 1, factor - 1) if relative else (-apart, apart)
    return _ends(verdict, title, 0.0, places)


def svg(found: list[Panel], said: str) -> str:
    """The panels below each other as SVG, in the colour of the text around them.

    Args:
        found: the panels, at least one.
        said: the descriptions, for readers who cannot see the pictures.
    """
    return drawn(found, said)


def in_ink(picture: str) -> str:
    """A picture whose greys take the colour of the surrounding text, in the light and the dark scheme."""
    return picture.replace(INK, "currentColor")


def words(found: list[Panel]) -> str:
    """The panels in words, for readers who cannot see them."""
    said = []
    for panel in found:
        low, middle, high = (number(value) for value in panel.claim)
        beside = " or ".join(number(value) for value in panel.control)
        control = f"; the control: {beside}" if beside else ""
        where = supported_where(panel.band)
        said.append(f"{panel.title}: {middle}, from {low} to {high}; supported {where}{control}")
    return ". ".join(said) + "."


def supported_where(band: tuple[float | None, float | None]) -> str:
    """The band in words: "from 1 to 2", "at least 1"."""
    low, high = (None if end is None else number(end) for end in band)
    if low is None and high is None:
        return "at 1"
    return f"from {low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
