"""Draw the learning curves of a study in one chart, with measured, expected and requested values."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from lemmata.errors import DataError
from lemmata.workflows.records.studies import ModelResult, StudyRecord, Unit

from ._text import bounds_of, told, told_asked
from ._theme import INK, Spec, colour, mark, quantity, ticks, word

EXPECTED, MEASURED = "expected", "measured"
COLUMNS = ("model", "what", "n", "value", "lower", "upper")
"""The fields of a chart's row that are written to CSV."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """The axes of a chart of a metric over training rows.

    A metric with a best value, such as 1, is drawn as the distance from this value on a reversed logarithmic axis. The
    labels still show the metric: 90 %, 95 % and 99 % are as far apart as errors of 10, 5 and 1 %.

    Args:
        unit: the metric.
        sizes: the smallest and the largest number of rows.
        heights: the smallest and the largest height that is drawn (see `height`).
    """

    unit: Unit
    sizes: tuple[float, float]
    heights: tuple[float, float]

    def height(self, value: float) -> float:
        """The height of a value. A perfect value, which a logarithmic axis cannot show, lies well below the frame."""
        return max(height(value, self.unit), self.heights[0] / 10)

    def x(self) -> Spec:
        """The horizontal axis: the number of training rows."""
        axis = {"title": "training rows", "values": ticks(*self.sizes), "format": ",d", "labelOverlap": "greedy"}
        return quantity("n", scale={"type": "log", "domain": list(self.sizes), "nice": False}, axis=axis)

    def y(self, field: str = "height") -> Spec:
        """The vertical axis: the metric."""
        best, sign = best_of(self.unit), "-" if self.unit.rises else "+"
        shown = f"{best:g} {sign} datum.value" if best else "-datum.value" if self.unit.rises else "datum.value"
        label = f"format(100 * ({shown}), '.4~r') + ' %'" if self.unit.percent else f"format({shown}, ',.4~r')"
        axis = {"title": _caption(self.unit), "values": ticks(*self.heights), "labelExpr": label}
        scale = {"type": "log", "domain": list(self.heights), "nice": False, "reverse": self.unit.rises}
        return quantity(field, scale=scale, axis=axis)

    def between(self) -> Spec:
        """The chart's channels for the lower and the upper end of a band or a bar."""
        return {"y": self.y("from"), "y2": {"field": "to"}}


def height(value: float, unit: Unit) -> float:
    """The height of a value of the metric on a logarithmic axis: its distance from the value of a perfect model."""
    return best_of(unit) - value if unit.rises else value - best_of(unit)


def best_of(unit: Unit) -> float:
    """The value of the metric for a perfect model."""
    return (1.0 if unit.rises else 0.0) if unit.best is None else unit.best


def _caption(unit: Unit) -> str:
    return f"{unit.name} on new rows"


def frame(models: Sequence[ModelResult], unit: Unit, marks: Sequence[float]) -> Frame:
    """Axes that contain the measured and expected values of these models, and the values `marks` of the metric."""
    sizes = [point.n for model in models for point in [*model.points, *model.band]]
    points = [height(point.value, unit) for model in models for point in model.points]
    expected = [height(point.value, unit) for model in models for point in model.band]
    held = [value for value in points + expected if math.isfinite(value)]
    held += [height(mark, unit) for mark in marks if math.isfinite(mark)]
    top = max(held, default=1.0) or 1.0
    bottom = max(min([value for value in held if value > 0], default=top / 10), top / 1e4)
    return Frame(unit, (min(sizes) / 1.1, max(sizes) * 1.1), (bottom / 1.12, top * 1.1))


def drawn_models(record: StudyRecord) -> list[ModelResult]:
    """The models with a curve. The curve of a model that is no better than guessing ends at the available rows."""
    found, total = [], record.data.total
    for model in record.models:
        if record.answers.best is None or not model.learns:
            model = dataclasses.replace(model, band=[point for point in model.band if point.n <= total])
        if model.points or model.band:
            found.append(model)
    return found


def curve_rows(models: Sequence[ModelResult], around: Frame, total: int) -> list[dict[str, Any]]:
    """The data of the chart: one row for each point of each model.

    Measured values have bars of two standard errors. Expected values have 90 % intervals.

    `inside` and `onwards` say whether a point belongs to the line up to the available rows, and to the line beyond
    them.
    """
    unit, found = around.unit, []
    for model in models:
        edge = max((point.n for point in model.band if point.n <= total), default=math.inf)
        for kind, part in ((MEASURED, model.points), (EXPECTED, model.band)):
            for point in part:
                if not math.isfinite(point.value):
                    continue
                reach, (least, most) = 2 * getattr(point, "se", 0.0), bounds_of(unit)
                lower, upper = (
                    getattr(point, "lower", max(point.value - reach, least)),
                    getattr(point, "upper", min(point.value + reach, most)),
                )
                row = {
                    "model": model.title, "what": kind, "n": round(point.n, 1), "value": point.value, "lower": lower,
                    "upper": upper, "height": around.height(point.value), "from": around.height(lower),
                    "to": around.height(upper), "told": told(point.value, unit),
                    "range": f"{told(lower, unit)} to {told(upper, unit)}",
                    "inside": point.n <= total, "onwards": point.n >= edge,
                }  # fmt: skip
                found.append(row)
    return found


def _tips() -> list[Spec]:
    named = {"model": "model", "what": "what", "told": "value", "range": "from, to"}
    tips = [word(field, title=title) for field, title in named.items()]
    return [*tips[:2], quantity("n", format=",.0f", title="training rows"), *tips[2:]]


def curve_layers(best: Sequence[str], around: Frame, shades: Spec) -> list[Spec]:
    """Draw a thin line for each model. For the models in `best`, draw a band, a thick line and measured points."""
    base = {"x": around.x(), "color": shades}
    chosen = {"field": "model", "oneOf": list(best)}
    expected, measured = (f"datum.what === '{what}'" for what in (EXPECTED, MEASURED))
    line = {**base, "y": around.y(), "tooltip": _tips()}
    between = {**base, **around.between()}
    layers = [mark("line", line, expected, {"not": chosen}, strokeWidth=1.3, opacity=0.8, clip=True)]
    if best:
        layers += [
            mark("area", between, expected, chosen, opacity=0.2, clip=True),
            mark("line", line, expected, chosen, "datum.inside", strokeWidth=2.8, clip=True),
            mark("line", line, expected, chosen, "datum.onwards", strokeWidth=2.8, strokeDash=[7, 4], clip=True),
            mark("rule", between, measured, chosen, strokeWidth=1.5, clip=True),
            mark("point", line, measured, chosen, filled=True, size=50, opacity=1, clip=True),
        ]
    return layers


def level(around: Frame, value: float, label: str, left: bool, dashed: bool = False) -> list[Spec]:
    """A horizontal line at a value of the metric, with a label above it; nothing if the value is outside the frame."""
    place = height(value, around.unit) if math.isfinite(value) else math.nan
    if not around.heights[0] <= place <= around.heights[1]:
        return []
    data = {"data": {"values": [{"height": place, "label": label}]}}
    named = {"y": around.y(), "x": {"value": 0 if left else "width"}, "text": word("label")}
    look = {"color": INK, "align": "left" if left else "right", "dx": 4 if left else -4, "dy": -7, "fontSize": 11}
    dash = [5, 4] if dashed else [2, 3]
    return [
        data | mark("rule", {"y": around.y()}, color=INK, strokeDash=dash, strokeWidth=1.2),
        data | mark("text", named, **look),
    ]


def size_line(around: Frame, total: int, label: str) -> list[Spec]:
    """A vertical line at the available number of rows, with its label on the side that has room."""
    lower, upper = (math.log(size) for size in around.sizes)
    late = math.log(total) > lower + 0.7 * (upper - lower)
    data = {"data": {"values": [{"n": total, "label": label}]}}
    named = {"x": around.x(), "y": {"value": 0}, "text": word("label")}
    side = {"align": "right", "dx": -5} if late else {"align": "left", "dx": 5}
    return [
        data | mark("rule", {"x": around.x()}, color=INK, strokeDash=[2, 3], strokeWidth=1.2),
        data | mark("text", named, color=INK, baseline="top", dy=3, fontSize=11, **side),
    ]


def learning_curve_chart(record: StudyRecord, width: int | str = 640, height: int = 330) -> Spec:
    """Draw the best model's learning curve with band and measurements, the requested value, and the other models.

    If another model reaches the requested value with the fewest rows, its curve is drawn in the same way as the best
    model's.

    Args:
        record: a study.
        width: the width of the plot in pixels, or "container".
        height: the height of the plot in pixels.

    Returns:
        The Vega-Lite specification of a chart over training rows on a logarithmic axis. Points with bars of two
        standard errors are measured on held-out rows. The line is the expected value with its 90 % band; it is dashed
        beyond the number of available rows.

    Raises:
        DataError: if no model was measured.
    """
    models = drawn_models(record)
    if not models:
        raise DataError("this study has no learning curve", rule="at least one model must be measured")
    unit, answers, total = record.unit, record.answers, record.data.total
    best = [model for model in models if model.name in (answers.best, answers.first)]
    useful = [model for model in models if model.learns] or models
    marks = [unit.guessing] if not best else [answers.asked] if answers.needed is not None else []
    around = frame(best or useful, unit, [*marks, *(model.band[-1].value for model in useful if model.band)])
    legend = {"title": None, "orient": "right", "labelLimit": 200, "symbolStrokeWidth": 3, "symbolType": "stroke"}
    shades = colour([model.title for model in record.models], legend)
    layers = curve_layers([model.title for model in best], around, shades)
    # Each label is placed where the curve is far from the line of the label. The target's label is at few training
    # rows, and the label of guessing is at many.
    layers += level(around, unit.guessing, f"guessing: {told(unit.guessing, unit)}", left=not best)
    if answers.needed is not None:
        layers += level(around, answers.asked, f"to reach: {told_asked(answers, unit)}", left=True, dashed=True)
    layers += size_line(around, total, f"your {total:,} rows")
    data = {"values": curve_rows(models, around, total)}
    return {"data": data, "layer": layers, "width": width, "height": height}
