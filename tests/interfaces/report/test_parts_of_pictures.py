"""Parts of the pictures of a study: heights, axes, rows and lines, on small records whose values are written here."""

import dataclasses
import math

import pytest

from lemmata.interfaces.report import _curves, _theme
from lemmata.interfaces.report._charts import _log, residuals, spectra, theory, training
from lemmata.interfaces.report._curves import Frame, best_of, curve_rows, drawn_models, frame, height, level, size_line
from lemmata.interfaces.report._described import told_model
from lemmata.interfaces.report._text import bounds_of, number, percent, plain, told_marks, told_save, verdict
from lemmata.workflows.records.studies import Expected, Interval, Point, Residual, Unit
from tests.interfaces.report.example import ACCURACY, RMSE, TRAINING, classified, measured, noise

R2 = Unit("r2", "r2", True, False, 0.0)
CORRELATION = Unit("correlation", "correlation", True, False, 0.0, best=1.0, worst=-1.0)
LOSS = Unit("log_loss", "loss", False, False, 0.7, best=0.0)
GAIN = Unit("gain", "gain", True, False, 0.0, best=5.0)
inf = math.inf


def point(n, value, se):
    return Point(float(n), value, se, 3)


def residual(row, truth, said):
    return Residual(row, truth, said, 0.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (True, "yes"), (False, "no"), ("a", "a"), (0, "0"), (-1234, "−1,234"), (9_999_999, "9,999,999"),
        (10_000_000, "1.00 × 10⁷"), (0.0, "0"), (inf, "–"), (math.nan, "–"), (999_999.0, "1.00 × 10⁶"),
        (0.001, "0.00100"),
        (0.00099, "9.90 × 10⁻⁴"), (-0.5, "−0.500"), (123456.0, "123,456"), (12.34, "12.3"),
    ],
)  # fmt: skip
def test_numbers_are_written_for_readers(value, text):
    assert number(value) == text


def test_digits_of_a_number_may_be_asked_for():
    assert [number(0.123456, digits) for digits in (1, 2, 5)] == ["0.1", "0.12", "0.12346"]
    assert number(1.5e9, 2) == "1.5 × 10⁹"
    assert [percent(share) for share in (0.5, 0.12345, 1.0, 0.0)] == ["50 %", "12.3 %", "100 %", "0 %"]
    assert [verdict(value) for value in (True, False, None)] == ["yes", "no", "cannot be checked"]
    assert plain({1: (math.nan, 2.0, [inf, "a"])}) == {"1": [None, 2.0, [None, "a"]]}


@pytest.mark.parametrize(
    ("unit", "bounds", "best"),
    [
        (ACCURACY, (0.0, 1.0), 1.0), (RMSE, (0.0, inf), 0.0), (R2, (-inf, 1.0), 1.0), (CORRELATION, (-1.0, 1.0), 1.0),
        (LOSS, (0.0, inf), 0.0), (GAIN, (-inf, 5.0), 5.0), (Unit("error", "error", False, True, 0.5), (0.0, 1.0), 0.0),
    ],
)  # fmt: skip
def test_a_metric_has_its_bounds_and_its_best_value(unit, bounds, best):
    assert bounds_of(unit) == bounds
    assert best_of(unit) == best
    assert height(0.75, unit) == (best - 0.75 if unit.rises else 0.75 - best)


def test_a_perfect_value_lies_below_the_frame():
    own = Frame(ACCURACY, (10.0, 1000.0), (0.01, 0.5))
    assert own.height(0.9) == pytest.approx(0.1)
    assert own.height(1.0) == own.height(0.9995) == 0.001


@pytest.mark.parametrize(
    ("unit", "label", "reverse"),
    [
        (ACCURACY, "format(100 * (1 - datum.value), '.4~r') + ' %'", True),
        (RMSE, "format(datum.value, ',.4~r')", False),
        (R2, "format(1 - datum.value, ',.4~r')", True), (GAIN, "format(5 - datum.value, ',.4~r')", True),
        (dataclasses.replace(GAIN, best=0.0), "format(-datum.value, ',.4~r')", True),
        (dataclasses.replace(LOSS, best=2.0), "format(2 + datum.value, ',.4~r')", False),
    ],
)  # fmt: skip
def test_labels_of_the_axis_are_values_of_the_metric(unit, label, reverse):
    own = Frame(unit, (10.0, 1000.0), (0.01, 0.5)).y()
    assert own["axis"]["labelExpr"] == label
    assert own["scale"] == {"type": "log", "domain": [0.01, 0.5], "nice": False, "reverse": reverse}
    assert (own["axis"]["title"], own["axis"]["values"]) == (f"{unit.name} on new rows", _theme.ticks(0.01, 0.5))
    across = Frame(unit, (10.0, 1000.0), (0.01, 0.5)).x()
    assert (across["field"], across["scale"]["domain"]) == ("n", [10.0, 1000.0])


def model(points=(), band=(), **more):
    own = classified().models[1]
    return dataclasses.replace(own, points=list(points), band=list(band), **more)


POINTS = (point(10, 0.6, 0.05), point(40, 0.8, 0.02))
BAND = (Expected(20.0, 0.7, 0.6, 0.75), Expected(100.0, 0.9, 0.85, 0.95), Expected(200.0, 0.95, 0.9, 1.0))


def test_a_frame_holds_all_values_and_marks_with_a_margin():
    own = frame([model(POINTS, BAND)], ACCURACY, [0.98, inf])
    assert own.sizes == pytest.approx((10 / 1.1, 220.0))
    assert own.heights == pytest.approx((0.02 / 1.12, 0.4 * 1.1))
    perfect = frame([model([point(10, 1.0, 0.0), point(20, 0.5, 0.0)])], ACCURACY, [])
    assert perfect.heights == pytest.approx((0.5 / 1.12, 0.55))
    far = frame([model([point(10, 1 - 1e-9, 0.0), point(20, 0.5, 0.0)])], ACCURACY, [])
    assert far.heights == pytest.approx((0.5e-4 / 1.12, 0.55))
    assert frame([model([point(10, 1.0, 0.0)])], ACCURACY, []).heights == pytest.approx((0.1 / 1.12, 1.1))
    unknown = frame([model([point(10, math.nan, 0.0), point(20, 0.9, 0.0)])], ACCURACY, [])
    assert unknown.heights == pytest.approx((0.1 / 1.12, 0.11))


def test_rows_of_a_curve_are_its_points_with_their_ends():
    around = Frame(ACCURACY, (9.0, 220.0), (0.02, 0.44))
    found = curve_rows([model((*POINTS, point(50, math.nan, 0.0), point(60, 0.99, 0.01)), BAND)], around, 100)
    assert [(row["what"], row["n"]) for row in found] == [
        ("measured", 10), ("measured", 40), ("measured", 60), ("expected", 20), ("expected", 100), ("expected", 200)
    ]  # fmt: skip
    assert [(row["lower"], row["upper"]) for row in found] == [
        pytest.approx(pair) for pair in ((0.5, 0.7), (0.76, 0.84), (0.97, 1.0), (0.6, 0.75), (0.85, 0.95), (0.9, 1.0))
    ]
    assert [row["height"] for row in found] == pytest.approx([0.4, 0.2, 0.01, 0.3, 0.1, 0.05])
    assert [row["from"] for row in found] == pytest.approx([0.5, 0.24, 0.03, 0.4, 0.15, 0.1])
    assert [row["to"] for row in found] == pytest.approx([0.3, 0.16, 0.002, 0.25, 0.05, 0.002])
    assert [row["inside"] for row in found] == [True] * 5 + [False]
    assert [row["onwards"] for row in found] == [False, False, False, False, True, True]
    assert found[0]["told"] == "60.0 %"
    assert found[0]["range"] == "50.0 % to 70.0 %"
    beyond = curve_rows([model((), BAND[2:])], around, 100)
    assert [row["onwards"] for row in beyond] == [False], "no point is within the rows"


def test_a_model_that_is_no_better_than_guessing_ends_at_the_rows():
    record = classified()
    total = record.data.total
    ends = {own.name: own.band[-1].n for own in record.models if own.band}
    assert max(ends.values()) > total
    found = {own.name: own.band[-1].n for own in drawn_models(record)}
    assert all((found[own.name] <= total) is (not own.learns) for own in record.models if own.name in found)
    unsure = dataclasses.replace(record, answers=dataclasses.replace(record.answers, best=None))
    assert all(each.n <= total for own in drawn_models(unsure) for each in own.band)
    bare = dataclasses.replace(record, models=[model(), model((), BAND[:1]), model(POINTS)])
    assert len(drawn_models(bare)) == 2


def test_a_level_is_drawn_within_the_frame_alone():
    around = Frame(ACCURACY, (9.0, 220.0), (0.02, 0.44))
    assert level(around, inf, "a", True) == level(around, 0.5, "a", True) == level(around, 0.99, "a", True) == []
    line, text = level(around, 0.9, "a", left=True, dashed=True)
    assert line["data"]["values"] == [{"height": pytest.approx(0.1), "label": "a"}]
    assert line["mark"]["strokeDash"] == [5, 4]
    assert (text["mark"]["align"], text["mark"]["dx"], text["encoding"]["x"]) == ("left", 4, {"value": 0})
    line, text = level(around, 0.9, "a", left=False)
    assert line["mark"]["strokeDash"] == [2, 3]
    assert (text["mark"]["align"], text["mark"]["dx"], text["encoding"]["x"]) == ("right", -4, {"value": "width"})
    assert len(level(around, 0.56, "a", True)) == len(level(around, 0.98, "a", True)) == 2, "the ends belong to it"


@pytest.mark.parametrize(("total", "side"), [(10, "left"), (240, "left"), (260, "right"), (1000, "right")])
def test_the_label_of_the_rows_stands_where_there_is_room(total, side):
    line, text = size_line(Frame(ACCURACY, (10.0, 1000.0), (0.02, 0.44)), total, "rows")
    assert line["data"]["values"] == [{"n": total, "label": "rows"}]
    assert text["mark"]["align"] == side
    assert text["mark"]["dx"] == (5 if side == "left" else -5)


def test_layers_of_the_best_models_are_a_band_two_lines_bars_and_points():
    around = Frame(ACCURACY, (9.0, 220.0), (0.02, 0.44))
    kinds = lambda best: [own["mark"]["type"] for own in _curves.curve_layers(best, around, {})]
    assert kinds(["a"]) == ["line", "area", "line", "line", "rule", "point"]
    assert kinds([]) == ["line"]
    first, area, inside, onwards, bars, points = _curves.curve_layers(["a"], around, {})
    chosen = {"field": "model", "oneOf": ["a"]}
    assert first["transform"][1] == {"filter": {"not": chosen}}
    assert all(own["transform"][1] == {"filter": chosen} for own in (area, inside, onwards, bars, points))
    assert (inside["transform"][2], onwards["transform"][2]) == (
        {"filter": "datum.inside"},
        {"filter": "datum.onwards"},
    )
    what = lambda own: own["transform"][0]["filter"]
    assert {what(own) for own in (first, area, inside, onwards)} == {"datum.what === 'expected'"}
    assert {what(own) for own in (bars, points)} == {"datum.what === 'measured'"}


def test_a_logarithmic_axis_has_a_margin():
    scale, values = _log([2.0, 10.0, 5.0], 2.0)
    assert scale == {"type": "log", "domain": [1.0, 20.0], "nice": False, "clamp": True}
    assert values == _theme.ticks(1.0, 20.0)
    assert _log([3, 3])[0]["domain"] == pytest.approx([3 / 1.15, 3 * 1.15])


def test_errors_of_predictions_are_drawn_for_numbers():
    record = dataclasses.replace(
        measured(), residuals=[residual(3, 5.0, 4.0), residual(4, 1.0, 2.5), residual(5, math.nan, 1.0)]
    )
    chart = residuals(record)
    assert chart is not None
    assert chart["data"]["values"] == [
        {"row": 3, "truth": 5.0, "predicted": 4.0, "residual": 1.0},
        {"row": 4, "truth": 1.0, "predicted": 2.5, "residual": -1.5},
    ]
    points = chart["layer"][1]["encoding"]
    assert points["y"]["scale"]["domain"] == pytest.approx([-1.5 - 0.125, 1.0 + 0.125])
    assert points["x"]["scale"]["domain"] == pytest.approx([2.5 - 0.075, 4.0 + 0.075])
    assert chart["layer"][0]["data"] == {"values": [{"residual": 0}]}
    one = residuals(dataclasses.replace(record, residuals=[residual(3, 4.0, 4.0)]))
    assert one is not None
    assert one["layer"][1]["encoding"]["y"]["scale"]["domain"] == pytest.approx([-0.05, 0.05])
    assert one["layer"][1]["encoding"]["x"]["scale"]["domain"] == pytest.approx([3.8, 4.2])
    assert residuals(dataclasses.replace(record, residuals=[residual(3, "a", "b")])) is None
    assert residuals(dataclasses.replace(record, residuals=[])) is None


def test_panels_of_training_have_a_row_for_each_positive_error():
    chart = training(TRAINING[0])
    assert chart is not None
    rows = chart["data"]["values"]
    assert len(rows) == 2 * 3 * 2 * 2
    assert {row["width"] for row in rows} == {"width 64", "width 1,024"}
    assert chart["facet"]["sort"] == ["width 64", "width 1,024"]
    assert {(row["who"], row["on"]) for row in rows} == {
        (who, on) for who in ("network", "kernel") for on in ("training rows", "held-out rows")
    }
    first = next(row for row in rows if row["who"] == "network" and row["on"] == "held-out rows" and row["time"] == 0.1)
    assert first["error"] == pytest.approx(0.1 + 1.1 / 1.1)
    zero = {"time": 0.0, "kernel_train": 1.0}
    part = {"time": 1.0, "kernel_train": 0.0, "kernel_test": 0.5, "network_train": None}
    cut = training({"widths": [{"width": 8, "points": [zero, part]}]})
    assert cut is not None
    assert [(row["who"], row["on"], row["error"]) for row in cut["data"]["values"]] == [
        ("kernel", "held-out rows", 0.5)
    ]
    assert training({}) is None
    assert training({"widths": [{"width": 8, "points": [zero]}]}) is None


def test_kernels_that_were_not_measured_have_no_panel():
    record = classified()
    for draw in (theory, spectra):
        chart = draw(record)
        assert chart is not None
        assert chart["data"]["values"]
    bare = dataclasses.replace(
        record, models=[dataclasses.replace(own, theory=[], spectrum=None) for own in record.models]
    )
    assert theory(bare) is None
    assert spectra(bare) is None


def test_a_model_is_told_by_its_last_measurement_and_where_it_ends():
    record = classified()
    total, now = record.data.total, Interval(0.9, 0.8, 0.95)
    own = model([point(40, 0.8, 0.02), point(10, 0.6, 0.05), point(90, math.nan, 0.0)], now=now, title="It")
    assert told_model(own, record) == "It measured 80.0 % at 40 rows, expected 90.0 % (80.0 % to 95.0 %) with all rows"
    beyond = dataclasses.replace(own, band=[Expected(2.0 * total, 0.95, 0.9, 1.0)])
    assert told_model(beyond, record) == f"{told_model(own, record)}, 95.0 % at {number(2 * total)} rows"
    inside = dataclasses.replace(own, band=[Expected(float(total), 0.95, 0.9, 1.0)])
    assert told_model(inside, record) == told_model(own, record)
    unknown = dataclasses.replace(own, band=[Expected(2.0 * total, math.nan, 0.9, 1.0)])
    assert told_model(unknown, record) == told_model(own, record)
    nothing = Interval(math.nan, math.nan, math.nan)
    assert told_model(model(title="It", now=nothing), record) == "It not measured"


def test_marks_of_the_table_are_explained_if_they_occur():
    record = classified()
    of = lambda *needed: dataclasses.replace(
        record, models=[model(needed=Interval(*own), learns=True, name=f"m{k}") for k, own in enumerate(needed)]
    )
    finite, open_, least, beyond = (420.0, 61.0, 530.0), (inf, 1.0, inf), (inf, 1990.0, inf), (inf, inf, inf)
    assert told_marks(of(finite)) == ""
    assert told_marks(of(open_)) == "“open” means that more rows may or may not reach accuracy 90.0 %."
    assert told_marks(of(least)).startswith("“open (≥ n)” means that at least n rows")
    assert "8 times the rows" in told_marks(of(finite, beyond))
    assert told_marks(of(least, beyond)).count("; ") == 1
    unsure = dataclasses.replace(of(finite), models=[model(needed=Interval(*finite), learns=False, name="m")])
    assert told_marks(unsure).startswith("“–” means that no number is given")
    best = dataclasses.replace(unsure, answers=dataclasses.replace(unsure.answers, best="m"))
    assert told_marks(best) == ""
    assert told_marks(noise()) == ""


def test_the_recommended_model_can_be_saved_unless_it_uses_no_columns():
    record = classified()
    assert f"({next(own.title for own in record.models if own.name == record.answers.best)})" in told_save(record)
    for name in ("last", "season"):
        answers = dataclasses.replace(record.answers, best=name)
        assert told_save(dataclasses.replace(record, answers=answers, models=[model(name=name)])) == ""
    assert told_save(noise()) == ""
