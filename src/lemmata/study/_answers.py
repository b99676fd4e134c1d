"""How many samples an error needs, by the theory, by a fitted power law, and as measured; and which needs fewest."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._curves import Curve
from ._power_law import PowerLaw, fit_power_law

GRID = 48
FARTHEST = 1000.0
"""Numbers of samples beyond this many times the data are not given: the answer is that the error is not in reach."""
FLATTER, STEEPER = 1 / 3, 2.0
"""Beyond the data the curve may fall as slowly as a third of its last slope, and as fast as twice its steepest."""
TARGETS = (0.2, 0.4, 0.6, 0.8)
LAST, MISTRUST = 3, 1.5
"""A prediction that is off by a factor of 1.5 in the median of the last three sizes is said not to be trusted."""


def samples(curve: Curve, error: float) -> dict:
    """The numbers of training rows at which held-out squared error falls to `error`, by two routes, and measured.

    The theory's number is where the predicted curve, times exp(drift) so that it ends at leave-one-out, falls to the
    error for good; its interval is where the two ends of the predicted interval do. Beyond the N rows of the data the
    prediction is continued as a power law in n with its slope from N/2 to N: an extrapolation. Its interval allows a
    slope of a third of that up to twice the steepest of the last two octaves.

    The second route is a power law with a floor, fitted to the measured errors alone; its interval is 5 % to 95 %.
    They agree where the intervals overlap.

    Args:
        curve: what is known of the architecture.
        error: the error to reach, summed over outputs.

    Returns:
        The `samples` section of study.json. A number that is not in reach is None.
    """
    theory = _crossings(*_continued(curve), error, curve.total)
    law = fit_power_law(curve.sizes.astype(float), curve.measured, curve.measured_se)
    fitted = {
        **_interval(*law.samples(error), curve.total),
        "exponent": -law.exponent,
        "exponent_se": law.exponent_se,
        "floor": law.floor,
    }
    measured = measured_crossing(curve, error)
    agree = _overlap(theory, fitted)
    section = {"error": error, "theory": theory, "power_law": fitted, "measured": measured, "agree": agree}
    return {**section, "text": _text(curve, law, section)}


def measured_crossing(curve: Curve, error: float) -> float | None:
    """The number of rows from which the measured curve stays at or below `error`, by log-log interpolation.

    None where it does so at every size, or at none.
    """
    found = _first_below(curve.sizes.astype(float), curve.measured, error)
    return found if curve.sizes[0] < found < math.inf else None


def coverage(curves: Sequence[Curve]) -> tuple[int, int, float]:
    """How often the theory's interval covers the measured number of samples, how often that was asked, and its width.

    The width is the median over those questions of sqrt(upper / lower); infinite where most have no upper end.

    Four target errors a curve, spread evenly in the logarithm between its largest and smallest measured error.
    """
    covered = asked = 0
    widths = []
    for curve in curves:
        continued = _continued(curve)
        high, low = np.log(curve.measured.max()), np.log(curve.measured.min())
        for share in TARGETS:
            error = float(np.exp(high + share * (low - high)))
            truth = measured_crossing(curve, error)
            if truth is None:
                continue
            found = _crossings(*continued, error, curve.total)
            asked += 1
            lower, upper = (found[end] or math.inf for end in ("lower", "upper"))
            covered += lower <= truth <= upper
            widths.append(math.inf if math.isinf(upper) else math.sqrt(upper / lower))
    return covered, asked, float(np.median(widths)) if widths else math.inf


def default_error(curves: Sequence[Curve]) -> tuple[float, str]:
    """The error that the median architecture is predicted to reach at N/4 rows, to two digits, and where it is from."""
    quarter = max(1, curves[0].total // 4)
    reached = [curve.predict([float(quarter)]) for curve in curves]
    error = float(np.median([float(found.error[0]) * math.exp(float(found.drift[0])) for found in reached]))
    error = float(f"{error:.2g}")
    return error, f"chosen: what the median architecture is predicted to reach with a quarter of the rows ({quarter})"


def answers(curves: Sequence[Curve], error: float, origin: str) -> dict:
    """Which architecture needs the fewest samples for `error` by the theory, and what else there is to say.

    Args:
        curves: the architectures, at least one.
        error: the error to reach.
        origin: where that error comes from.

    Returns:
        The `answers` section of study.json. An architecture whose prediction is far from its own measurements is best
        only where no other reaches the error. Where no architecture reaches the error, `best` is the one with the
        smallest predicted error on all rows.
    """
    found = [samples(curve, error) for curve in curves]
    needs = [entry["theory"]["n"] for entry in found]
    reaching = [i for i, need in enumerate(needs) if need is not None]
    reaching = [i for i in reaching if _off(curves[i]) <= MISTRUST] or reaching
    level = f"a held-out squared error of {error:.3g}"
    if reaching:
        best = min(reaching, key=lambda i: needs[i])
        theory = found[best]["theory"]
        sentences = [f"Fewest samples for {level}: {_named(curves[best])} with {_spell(theory)} rows."]
        if theory["extrapolates"] and theory["upper"] is None:
            sentences = [
                f"These data cannot tell whether {level} is in reach. Nearest comes {_named(curves[best])}: "
                f"by the theory {_spell(theory)} rows, where the data have {curves[best].total}."
            ]
        rivals = [curves[i] for i in reaching if i != best and _overlap(found[i]["theory"], found[best]["theory"])]
        if rivals:
            names = ", ".join(_named(curve) for curve in rivals)
            sentences.append(f"Within its interval, these may need no more: {names}.")
    else:
        best = int(np.argmin([_ends(curve) for curve in curves]))
        sentences = [
            f"No architecture comes to {level} within {FARTHEST:,.0f} times the data; the nearest on all "
            f"{curves[best].total} rows is {_named(curves[best])}, with a predicted error of {_ends(curves[best]):.3g}."
        ]
    sentences += _shared(curves, found, level)
    return {"error": error, "error_origin": origin, "best": curves[best].name, "sentences": sentences}


def _shared(curves: Sequence[Curve], found: list[dict], level: str) -> list[str]:
    """Sentences about all architectures: do the routes agree, who extrapolates, who never arrives."""
    sentences = []
    agreeing = sum(entry["agree"] for entry in found)
    sentences.append(f"Theory and fitted power law agree for {agreeing} of {len(found)} architectures.")
    pairs = list(zip(curves, found, strict=True))
    for curve in curves:
        if _off(curve) > MISTRUST:
            sentences.append(
                f"Do not trust the prediction for {_named(curve)}: at the largest sizes it is a factor of "
                f"{_off(curve):.2g} from what was measured, as happens where a few rows carry much weight."
            )
    beyond = [_named(curve) for curve, entry in pairs if entry["theory"]["n"] and entry["theory"]["extrapolates"]]
    if beyond:
        sentences.append(
            f"Numbers beyond the {curves[0].total} rows of the data are extrapolations: {', '.join(beyond)}."
        )
    never = [_named(curve) for curve, entry in pairs if entry["theory"]["n"] is None]
    if never and len(never) < len(curves):
        sentences.append(f"Not in reach of {level}: {', '.join(never)}.")
    return sentences


def _continued(curve: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sizes from 2 to 1000 N with the predicted error and the ends of its interval, continued beyond N."""
    total = curve.total
    inside = np.unique([*np.geomspace(2.0, total, GRID), total / 4, total / 2])
    found = curve.predict(inside)
    quarter, half = (int(np.searchsorted(inside, total / part)) for part in (4, 2))
    drift, error = np.asarray(found.drift), np.asarray(found.error)
    central = error * np.exp(drift)
    # A mean over the few rows that are left near N fluctuates for want of rows, not of knowledge: there the width is
    # that of a measurement at N/2.
    width = np.log(np.asarray(found.upper) / np.maximum(error, np.finfo(float).tiny)) - np.maximum(drift, 0)
    width = np.where(error > 0, width, 0.0)
    width[half:] = width[half]
    low, high = error * np.exp(np.minimum(drift, 0) - width), error * np.exp(np.maximum(drift, 0) + width)
    logs = np.log(np.maximum(central, np.finfo(float).tiny))
    earlier, last = (logs[quarter] - logs[half]) / math.log(2), (logs[half] - logs[-1]) / math.log(2)
    outside = np.geomspace(1.0, FARTHEST, 2 * GRID)[1:]
    slopes = (last, STEEPER * max(earlier, last, 0.0), min(FLATTER * last, last))
    parts = zip((central, low, high), slopes, strict=True)
    extended = [np.append(part, part[-1] * outside**-slope) for part, slope in parts]
    return np.append(inside, total * outside), extended[0], extended[1], extended[2]


def _crossings(sizes: np.ndarray, central: np.ndarray, low: np.ndarray, high: np.ndarray, error: float, total: int):
    n, lower, upper = (_first_below(sizes, part, error) for part in (central, low, high))
    return _interval(n, lower, upper, total)


def _interval(n: float, lower: float, upper: float, total: int) -> dict:
    """Numbers of samples; those that are not in reach become None."""
    given = [value if value <= FARTHEST * total else None for value in (n, lower, upper)]
    return {"n": given[0], "lower": given[1], "upper": given[2], "extrapolates": n > total}


def _first_below(sizes: Float[np.ndarray, " s"], errors: Float[np.ndarray, " s"], error: float) -> float:
    """The size from which the interpolated curve stays at or below `error`: at least the first size; inf for never."""
    above = np.flatnonzero(~(errors <= error))
    if not len(above):
        return float(sizes[0])
    last = int(above[-1])
    if last == len(sizes) - 1:
        return math.inf
    logs, ends = np.log(np.maximum(errors[last : last + 2], np.finfo(float).tiny)), np.log(sizes[last : last + 2])
    if not np.isfinite(logs[0]):
        return float(sizes[last + 1])
    share = (logs[0] - math.log(max(error, np.finfo(float).tiny))) / (logs[0] - logs[1])
    return float(np.exp(ends[0] + np.clip(share, 0.0, 1.0) * (ends[1] - ends[0])))


def _overlap(first: dict, second: dict) -> bool:
    """Whether two intervals share a number; an end that is not in reach is infinite, and "never" lies there."""
    lows, highs = (
        [math.inf if answer[end] is None else answer[end] for answer in (first, second)] for end in ("lower", "upper")
    )
    return max(lows) <= min(highs)


def _off(curve: Curve) -> float:
    """The median factor between predicted and measured error over the last three sizes."""
    pairs = np.maximum([curve.predicted[-LAST:], curve.measured[-LAST:]], np.finfo(float).tiny)
    return float(np.exp(np.median(np.abs(np.log(pairs[0] / pairs[1])))))


def _ends(curve: Curve) -> float:
    """The predicted error on all rows: that of leave-one-out."""
    return curve.leave_one_out


def _named(curve: Curve) -> str:
    return f"the {curve.title}".replace(", depth", " of depth").replace(", degree", " of degree")


def _spell(answer: dict) -> str:
    if answer["upper"] is None:
        return f"{_count(answer['n'])} (at least {_count(answer['lower'])}, no upper limit)"
    return f"{_count(answer['n'])} ({_count(answer['lower'])} to {_count(answer['upper'])})"


def _count(n: float) -> str:
    return f"{float(f'{n:.3g}'):,.0f}"


def _text(curve: Curve, law: PowerLaw, section: dict) -> str:
    """One plain sentence or two on the number of samples of one architecture."""
    theory, fitted, measured, error = (section[key] for key in ("theory", "power_law", "measured", "error"))
    if error >= curve.baseline:
        return f"An error of {error:.3g} asks for nothing: predicting the mean has {curve.baseline:.3g}."
    if theory["n"] is None:
        text = f"By the theory {error:.3g} is not in reach: on all {curve.total} rows the error is {_ends(curve):.3g}"
        text += " and falls too slowly." if theory["lower"] is None else " and may not fall far enough."
    else:
        text = f"By the theory {_spell(theory)} rows reach {error:.3g}"
        text += f", extrapolated beyond the {curve.total} rows of the data." if theory["extrapolates"] else "."
    if fitted["n"] is None:
        text += (
            f" The fitted power law levels off at {law.floor:.3g}, above it"
            if law.floor > error
            else (" The fitted power law does not come to it")
        )
    else:
        text += f" The fitted power law says {_spell(fitted)}"
        text += ", an extrapolation too" if fitted["extrapolates"] else ""
    text += ": the two agree." if section["agree"] else ": the two disagree."
    if measured is not None:
        text += f" Measured: {_count(measured)}."
    elif theory["n"] is not None and theory["n"] > curve.sizes[-1]:
        text += f" Measurements end at {curve.sizes[-1]} rows, above it."
    return text
