"""The pictures show what the record holds, on axes whose ticks can be read."""

import dataclasses
import json
import math
import re
import threading

import altair as alt
import pytest
from jsonschema import ValidationError

from lemmata.errors import DataError
from lemmata.interfaces.report import _vega, learning_curve_chart
from lemmata.interfaces.report._charts import all_curves, residuals, spectra, theory, training
from lemmata.interfaces.report._comparison import _pictures as comparison_pictures
from lemmata.interfaces.report._page import _pictures
from lemmata.interfaces.report._theme import linear_ticks, plotted, themed, ticks
from tests.interfaces.report.example import classified, empty, measured, noise


@pytest.mark.parametrize("lower", [1.3e-4, 0.9, 8.0, 52.0, 4e4])
@pytest.mark.parametrize("ratio", [1.05, 1.6, 7.0, 400.0, 1e7])
def test_ticks_are_three_to_eight_round_numbers_inside(lower, ratio):
    upper = lower * ratio
    found = ticks(lower, upper)
    assert 3 <= len(found) <= 8
    assert found == sorted(set(found))
    assert all(lower <= value <= upper for value in found)
    assert all(len(f"{value:.10g}".strip("0.").replace(".", "").lstrip("0").split("e")[0]) <= 4 for value in found)


def test_linear_ticks_hold_zero_where_it_is_inside():
    assert 0.0 in linear_ticks(-3.1, 8.0)


def layers(chart):
    return chart["layer"]


def texts(chart):
    """The labels written into a chart."""
    marked = [layer for layer in layers(chart) if layer["mark"]["type"] == "text"]
    return {value["label"] for layer in marked for value in layer["data"]["values"]}


def test_the_curve_shows_target_data_and_what_was_measured():
    record = classified()
    chart = learning_curve_chart(record)
    assert {"to reach: 90.0 %", "your 400 rows"} <= texts(chart)
    rows = chart["data"]["values"]
    told = {(row["n"], row["value"]) for row in rows if row["what"] == "measured" and row["model"] == "RBF kernel"}
    assert told == {(point.n, point.value) for point in record.models[1].points}
    assert all(math.isclose(row["height"], 1 - row["value"]) for row in rows), "a share is drawn as what is missing"


def test_a_metric_that_rises_is_drawn_upwards():
    for record, upwards in ((classified(), True), (measured(), False)):
        heights = [layer["encoding"].get("y", {}).get("scale") for layer in layers(learning_curve_chart(record))]
        assert {scale["reverse"] for scale in heights if scale} == {upwards}


def test_the_frame_holds_points_and_target():
    for record in (classified(), measured()):
        frame = next(layer["encoding"]["y"]["scale"]["domain"] for layer in layers(learning_curve_chart(record)))
        heights = [1 - p.value if record.unit.rises else p.value for p in record.models[1].points]
        asked = 1 - record.answers.asked if record.unit.rises else record.answers.asked
        assert all(frame[0] <= value <= frame[1] for value in [*heights, asked])


def test_noise_has_guessing_and_no_target():
    assert texts(learning_curve_chart(noise())) == {"guessing: 30.0", "your 120 rows"}


def test_a_perfect_score_and_unbounded_ends_have_a_place():
    record = classified()
    perfect = dataclasses.replace(record.models[1].points[-1], value=1.0, se=0.0)
    band = [dataclasses.replace(point, upper=math.inf) for point in record.models[1].band]
    model = dataclasses.replace(record.models[1], points=[*record.models[1].points[:-1], perfect], band=band)
    chart = learning_curve_chart(classified(models=[model]))
    assert all(0 < row[name] < math.inf for row in chart["data"]["values"] for name in ("height", "from", "to"))


def test_no_model_no_chart():
    with pytest.raises(DataError, match="no learning curve"):
        learning_curve_chart(empty())
    assert [draw(empty()) for draw in (all_curves, theory, spectra, residuals)] == [None] * 4
    assert training({"widths": []}) is None


@pytest.mark.parametrize("record", [classified, measured, noise, empty])
def test_every_picture_follows_the_schema(record):
    charts = {**_pictures(record()), **{f"with {name}": chart for name, chart in compared(record()).items()}}
    assert charts
    for chart in charts.values():
        assert alt.Chart.from_dict(themed(chart)).to_dict(validate=True)["config"]["view"]["stroke"] is None


def test_the_schema_refuses_what_it_does_not_know():
    chart = {**themed(learning_curve_chart(classified())), "autosize": "sideways"}
    with pytest.raises(ValidationError):
        alt.Chart.from_dict(chart)


def test_a_plot_is_a_chart_of_altair_with_the_look_of_the_page():
    chart = plotted(learning_curve_chart(classified()))
    assert isinstance(chart, alt.LayerChart)
    assert chart.to_dict(validate=True)["config"]["background"] == "transparent"
    wider = chart.properties(width=900).to_dict()
    assert wider["width"] == 900
    assert len(wider["layer"]) == len(learning_curve_chart(classified())["layer"])


def compared(record):
    """The pictures of a comparison with another study, and with the same metric."""
    return {
        f"{name} of {i}": chart
        for i, other in enumerate((classified(), measured()))
        for name, chart in comparison_pictures([record, other]).items()
    }


def test_residuals_are_truth_minus_prediction():
    rows = residuals(measured())["data"]["values"]
    assert [(row["row"], row["residual"]) for row in rows] == [(4, -40.0), (2, 2.25)]
    assert residuals(classified()) is None


@pytest.mark.parametrize("limited", [False, True])
def test_the_converter_starts_on_a_thread_unless_the_address_space_is_limited(monkeypatch, limited):
    drawn = []
    monkeypatch.setattr(_vega, "_is_limited", lambda: limited)
    monkeypatch.setattr(_vega, "svg_text", drawn.append)
    _vega.start_converter()
    for thread in threading.enumerate():
        if thread.name == "vega":
            thread.join(30)
    assert len(drawn) == (not limited)


@pytest.mark.parametrize("lost", ["time", "error"])
def test_the_picture_of_training_leaves_out_what_a_logarithm_cannot_show(lost):
    names = [f"{who}_{part}" for who in ("network", "kernel") for part in ("train", "test")]
    points = [{"time": time, **dict.fromkeys(names, 0.5 / time)} for time in (1.0, 2.0, 4.0)]
    points[0] |= {"time": 0.0} if lost == "time" else dict.fromkeys(names, 0.0)
    chart = training({"widths": [{"width": 64, "points": points}]})
    text = json.dumps(chart)
    assert text.count('"width": "width 64"') == 2 * len(names)
    shown = re.findall('"time": ([0-9.]+), "error": ([0-9.]+)', text)
    assert len(shown) == 2 * len(names)
    assert min(float(number) for pair in shown for number in pair) > 0
