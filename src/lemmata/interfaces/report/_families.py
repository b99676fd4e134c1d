"""The page of a comparison: which family of sequence models wins, the learning curves, and the costs."""

import math
from typing import Any

from lemmata.printable import clean
from lemmata.workflows.records.comparisons import ComparisonRecord, CostPoint, FamilyResult, PairResult

from ._letters import axis_of_names
from ._page import drawn, shipped, template
from ._text import MISSING, number
from ._theme import Spec, colour, colour_of, mark, quantity, ticks, word

FLOOR = 1e-4
"""Errors below this value are drawn at this value."""
Row = dict[str, Any]


def families_page(record: ComparisonRecord) -> str:
    """The HTML of the page of a comparison."""
    record = clean(record, lines=True)
    found = {"errors": errors_chart(record), "curves": curves_chart(record), "cost": cost_chart(record)}
    pictures = drawn({name: chart for name, chart in found.items() if chart is not None}, _words(record))
    return template("families.html").render(
        record=record, pictures=pictures, rows=_rows(record), pairs=_pairs(record), curves=_curve_rows(record),
        costs=_cost_rows(record), titles=dict(zip([own.name for own in record.families], _titles(record), strict=True)),
        version=record.lemmata, **shipped(pictures),
    )  # fmt: skip


def families_fragment(record: ComparisonRecord) -> str:
    """A fragment of HTML for a notebook: the answer, the errors as a picture (SVG), and a table, without scripts."""
    record = clean(record, lines=True)
    chart = errors_chart(record)
    pictures = drawn({} if chart is None else {"errors": chart}, _words(record))
    return template("families_fragment.html").render(record=record, pictures=pictures, rows=_rows(record))


def _titles(record: ComparisonRecord) -> list[str]:
    return [family.title for family in record.families]


def errors_chart(record: ComparisonRecord) -> Spec | None:
    """Draw the error of each family with its interval, and its error with shuffled targets as a hollow point."""
    if not record.families:
        return None
    rows = []
    for family in record.families:
        for what, own in (("error", family.error), ("shuffled", family.permuted)):
            rows.append({"model": family.title, "what": what, "value": own.value, "lower": own.lower,
                         "upper": own.upper, "drawn": max(own.value, FLOOR), "from": max(own.lower, FLOOR),
                         "to": max(own.upper, FLOOR)})  # fmt: skip
    low, high = min(row["from"] for row in rows) / 1.3, max(row["to"] for row in rows) * 1.1
    scale = {"type": "log", "domain": [low, high], "nice": False}
    axis = {"title": "share of the variance unexplained (1: guessing)", "values": ticks(low, high), "format": ".4~r",
            "labelOverlap": "greedy", "labelSeparation": 6}  # fmt: skip
    order = [family.title for family in sorted(record.families, key=lambda own: own.error.value)]
    y = word("model", sort=order, title=None, axis={"ticks": False, "domain": False, **axis_of_names(order, 13)})
    tips = [word("model", title="family"), word("what"),
            *(quantity(name, format=".3~r") for name in ("value", "lower", "upper"))]  # fmt: skip
    base = {"y": y, "color": colour(_titles(record))}
    real, mixed = (f"datum.what === '{what}'" for what in ("error", "shuffled"))
    points = base | {"x": quantity("drawn", scale=scale, axis=axis), "tooltip": tips}
    between = base | {"x": quantity("from", scale=scale, axis=axis), "x2": {"field": "to"}}
    layers = [
        mark("point", points, mixed, size=60, filled=False, opacity=0.6),
        mark("rule", between, real, strokeWidth=3),
        mark("point", points, real, size=110, filled=True, opacity=1),
    ]
    return {"data": {"values": rows}, "layer": layers, "width": 500, "height": 46 * len(record.families)}


def curves_chart(record: ComparisonRecord) -> Spec | None:
    """Draw the learning curves: predicted lines with bands, and measured points with bars of two standard errors."""
    if not record.families:
        return None
    rows = _drawn_points(record)
    low = min(row["from"] for row in rows) / 1.1
    high = max(row["to"] for row in rows) * 1.1
    sizes = [row["n"] for row in rows]
    ends = [min(sizes) / 1.1, max(sizes) * 1.1]
    x = quantity("n", scale={"type": "log", "domain": ends, "nice": False},
                 axis={"title": "training rows", "values": ticks(*ends), "format": ",d", "labelOverlap": "greedy"},
                 )  # fmt: skip
    axis = {"title": "share of the variance that is unexplained", "values": ticks(low, high), "format": ".4~r"}
    up = {"scale": {"type": "log", "domain": [low, high], "nice": False, "clamp": True}, "axis": axis}
    tips = [word("model", title="family"), word("what"), quantity("n", format=",d"),
            *(quantity(name, format=".3~r") for name in ("value", "lower", "upper"))]  # fmt: skip
    legend = {"title": None, "orient": "right", "symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
    base = {"x": x, "color": colour(_titles(record), legend)}
    between = base | {"y": quantity("from", **up), "y2": {"field": "to"}}
    line = base | {"y": quantity("drawn", **up), "tooltip": tips}
    theory, points = (f"datum.what === '{what}'" for what in ("predicted", "measured"))
    layers = [
        mark("area", between, theory, opacity=0.13),
        mark("line", line, theory, strokeWidth=2),
        mark("rule", between, points, strokeWidth=1.5),
        mark("point", line, points, filled=True, size=55, opacity=1),
    ]
    return {"data": {"values": rows}, "layer": layers, "width": 500, "height": 290}


def _drawn_points(record: ComparisonRecord) -> list[Row]:
    rows = []
    for family in record.families:
        for point in family.points:
            if point.measured is not None:
                reach = 2 * (point.se or 0.0)
                rows.append(_point(family.title, "measured", point.n, point.measured, point.measured - reach,
                                   point.measured + reach))  # fmt: skip
            if point.predicted is not None:
                own = point.predicted
                rows.append(_point(family.title, "predicted", point.n, own.value, own.lower, own.upper))
    return rows


def _point(title: str, what: str, n: int, value: float, lower: float, upper: float) -> Row:
    return {"model": title, "what": what, "n": n, "value": value, "lower": lower, "upper": upper,
            "drawn": max(value, FLOOR), "from": max(lower, FLOOR), "to": max(upper, FLOOR)}  # fmt: skip


def cost_chart(record: ComparisonRecord) -> Spec | None:
    """Draw the operations, bytes and seconds that one row takes, against the length of the row's sequence."""
    points = [(family, point) for family in record.families if family.cost for point in family.cost.points]
    if not points:
        return None
    parts = []
    lengths = [point.length for _, point in points]
    x = quantity("length", scale={"type": "log", "nice": False}, title="length of a row",
                 axis={"values": sorted(set(lengths)), "format": "d", "labelOverlap": "greedy"})  # fmt: skip
    for field, title in (("flops", "operations"), ("bytes", "bytes held"), ("seconds", "seconds here")):
        rows = [{"model": family.title, "length": point.length, "value": getattr(point, field)}
                for family, point in points]  # fmt: skip
        legend = {"title": None, "orient": "bottom", "columns": 4} if field == "bytes" else None
        y = quantity("value", scale={"type": "log", "nice": False, "padding": 8}, title=None,
                     axis={"format": "~s" if field != "seconds" else ".0e", "tickCount": 5})  # fmt: skip
        tips = [word("model", title="family"), quantity("length"), quantity("value", format=".3~s", title=title)]
        channels = {"x": x, "y": y, "color": colour(_titles(record), legend), "tooltip": tips}
        line = mark("line", channels, point=True, strokeWidth=2)
        parts.append({"data": {"values": rows}, "title": title, **line, "width": 225, "height": 190})
    return {"hconcat": parts}


def _rows(record: ComparisonRecord) -> list[Row]:
    """One table row for each family, in the order of the errors, with the smallest error first."""
    return [
        {
            "title": family.title, "words": family.words, "colour": colour_of(place),
            "ahead": family.name in record.leaders, "won": family.name == record.winner,
            "error": number(family.error.value),
            "range": f"{number(family.error.lower)} to {number(family.error.upper)}",
            "wrong": None if family.wrong is None else f"{100 * family.wrong:.1f} %",
            "predicted": _predicted(family, record), "ratio": number(family.ratio, 2),
            "equivalent": number(family.equivalent),
            "far": family.ratio is not None and abs(math.log(max(family.ratio, 1e-9))) > math.log(1.15),
            "permuted": number(family.permuted.value), "sound": family.sound,
            "setting": f"{family.setting}: {', '.join(f'{v:g}' for v in sorted(set(family.chosen)))}",
            "dimension": number(family.effective_dimension),
            "alignment": [f"{100 * share:.0f} %" for share in family.alignment],
            "later": [(f"{point.n:,}", number(point.predicted.value),
                       f"{number(point.predicted.lower)} to {number(point.predicted.upper)}")
                      for point in family.later if point.predicted is not None],
            "seconds": f"{family.seconds:.1f}",
        }
        for place, family in sorted(enumerate(record.families), key=lambda item: item[1].error.value)
    ]  # fmt: skip


def _predicted(family: FamilyResult, record: ComparisonRecord) -> str:
    own = next((point.predicted for point in family.points if point.n == record.data.training), None)
    return MISSING if own is None else f"{number(own.value)} ({number(own.lower)} to {number(own.upper)})"


def _ratio(pair: PairResult) -> str:
    own = pair.ratio
    return MISSING if own is None else f"{number(own.value, 2)} ({number(own.lower, 2)} to {number(own.upper, 2)})"


def _pairs(record: ComparisonRecord) -> list[Row]:
    titles = {family.name: family.title for family in record.families}
    return [
        {
            "first": titles[pair.first], "second": titles[pair.second], "difference": number(pair.difference.value, 2),
            "range": f"{number(pair.difference.lower, 2)} to {number(pair.difference.upper, 2)}",
            "ratio": _ratio(pair), "p": number(pair.adjusted, 2), "decided": pair.decided,
        }
        for pair in record.pairs
    ]  # fmt: skip


def _curve_rows(record: ComparisonRecord) -> list[Row]:
    return [
        {
            "title": family.title, "n": f"{point.n:,}", "measured": number(point.measured), "se": number(point.se, 2),
            "predicted": MISSING if point.predicted is None else number(point.predicted.value),
        }
        for family in record.families for point in family.points
    ]  # fmt: skip


def _cost_rows(record: ComparisonRecord) -> list[Row]:
    rows = []
    for place, family in enumerate(record.families):
        if family.cost is None:
            continue
        last: CostPoint = family.cost.points[-1]
        rows.append({
            "title": family.title, "colour": colour_of(place), "flops": f"{family.cost.flops:.2f}",
            "bytes": f"{family.cost.bytes:.2f}", "seconds": f"{family.cost.seconds:.2f}",
            "read": f"{family.cost.read:.2f}", "length": f"{last.length:,}", "most": number(last.flops, 2),
            "mib": number(last.bytes / 2**20, 2), "milliseconds": number(1000 * last.seconds, 2),
        })  # fmt: skip
    return rows


def _words(record: ComparisonRecord) -> dict[str, str]:
    """Describe the pictures in words."""
    errors = "; ".join(
        f"{own.title} {number(own.error.value)} ({number(own.error.lower)} to {number(own.error.upper)})"
        for own in sorted(record.families, key=lambda own: own.error.value)
    )
    ratios = "; ".join(f"{own.title} {number(own.ratio, 2)}" for own in record.families)
    costs = "; ".join(f"{own.title} {own.cost.flops:.2f}" for own in record.families if own.cost)
    return {
        "errors": f"Share of the target's variance that each family leaves unexplained, with 95 % intervals: {errors}.",
        "curves": "Share of the variance that is left unexplained, against the number of training rows. Lines are "
        f"predicted, points are measured. Predicted divided by measured, with all training rows: {ratios}.",
        "cost": (
            "Operations, memory and time for one row, against the length of the row. The operations grow with these "
            f"exponents: {costs}."
        ),
    }
