"""The page of an examined model: escaped, small, whole without scripts, and read by people who do not see it."""

import dataclasses
import math
import re

import pytest

from lemmata.interfaces.python import ModelStudy
from lemmata.interfaces.report import write_page
from lemmata.interfaces.report._model import model_page, model_sentences, silence, strip_chart
from lemmata.intervals import Interval
from lemmata.workflows.examinations import ExaminationRecord
from lemmata.workflows.records.examinations import (
    LEFT_OUT,
    Check,
    Condition,
    Finding,
    Gauge,
    GaugeInterval,
    Model,
    Rows,
    Score,
)
from lemmata.workflows.records.model_tables import (
    InputShown,
    InputTable,
    LayerShown,
    LayerTable,
    OutputScore,
    PosteriorShown,
)
from tests.interfaces.report.page import Page
from tests.interfaces.report.test_page import PAYLOAD
from tests.interfaces.site.browser import NARROW, WIDE, browser, overflow, violations

STATUSES = ("agrees", "disagrees", "vacuous", "inapplicable", "unscored", "unaffordable", "failed")
KEPT = {*STATUSES, "estimate", "upper", "classification"}


def gauge(i, status="agrees"):
    seen = status in ("agrees", "disagrees")
    return Gauge(
        name=f"part.section.gauge_{i}", title=f"Gauge number {i} of a trained model", theory=f"Theory {i % 4}",
        controls="something", source="someone, Theorem 1", status=status, reason="as it was found",
        hypotheses=[Condition("rows", 300.0, ">=", 100.0, True, "why"), Condition("law", None, "==", None, None, "no"),
                    Condition("decay", 0.0, ">", 0.0, status != "inapplicable", "why")],
        predicted=None if status == "inapplicable" else GaugeInterval(0.2 * i, 0.1 * i, 0.3 * i, 0.97),
        measured=GaugeInterval(0.19 * i if status == "agrees" else 9.0 * i, 0.1 * i, 10.0 * i) if seen else None,
        route="by hand", trivial=0.9, control="half of it", unexplained="why it is so", label="estimate", seconds=0.1,
    )  # fmt: skip


def example(gauges=7, **changes):
    own = [gauge(i + 1, STATUSES[i % len(STATUSES)]) for i in range(gauges)]
    found = ExaminationRecord(
        schema=2, lemmata="0", command="lemmata model net.py rows.csv", created="2026-01-01",
        model=Model("PyTorch", "net.py", 17226, ["0.weight 128x64", "0.bias 128"], "float32", "ab", "logits",
                    "classification", 1e-3, "stated"),
        rows=Rows("rows.csv", 300, 497, [64], [str(i) for i in range(10)]),
        train_error=GaugeInterval(0.0, 0.0, 0.01), held_error=GaugeInterval(0.06, 0.04, 0.08, 0.95),
        preflight=[Check("outputs are finite", "all", True)], gauges=own,
        findings=[Finding("Two rows of three are copies.", ["copies"])], score=Score(2, 1, 1.1),
        silent=["Gauge 3: the bound says no more"], open=["why"], plan=["Gauge 1: 3 s"], notes=["A note."],
        seconds=41.0,
    )  # fmt: skip
    return dataclasses.replace(found, **changes)


def with_gauges(gauges, **changes):
    return dataclasses.replace(example(0, **changes), gauges=gauges)


def failed():
    check = Check("classes are in the order of the outputs", "error 0.9", False, "labels=(1, 0)")
    return example(0, preflight=[check], held_error=None, findings=[], silent=[], open=[], score=Score(0, 0, None))


def spoiled(value):
    """The record with a payload behind each string, but those that the examination itself chooses from a list."""
    if isinstance(value, str):
        return value if value in KEPT else value + PAYLOAD
    if dataclasses.is_dataclass(value):
        fields = {f.name: spoiled(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return [spoiled(item) for item in value] if isinstance(value, list) else value


def text_of(record, folder):
    return write_page(folder, record).read_text(encoding="utf-8")


def test_one_small_page_without_scripts_and_without_other_files(tmp_path):
    text = text_of(example(40), tmp_path)
    page = Page(text)
    assert len(text.encode()) < 300_000
    assert "script" not in page.tags
    assert not [value for _, name, value in page.attributes if name in ("src", "action", "srcset")]
    assert len(page.ids) == len(set(page.ids))
    links = [value for _, name, value in page.attributes if name == "href"]
    assert links
    assert set(links) <= {f"#{name}" for name in page.ids}
    layers = [f"layer{i}.weight 10x10" for i in range(5000)]
    wide = example(2, model=dataclasses.replace(example().model, layers=layers))
    assert len(text_of(wide, tmp_path).encode()) < 100_000
    assert "and 4960 more" in text_of(wide, tmp_path)


def test_the_first_screen_says_what_was_found(tmp_path):
    words = Page(text_of(example(), tmp_path)).unfolded
    for part in ("Error on held-out rows: 6 %, 95 % interval 4 % to 8 %", "Two rows of three are copies", "A note",
                 "1 of 2 predicted intervals contain", "Gauge number 1 of a trained model", "why",
                 "predicted 0.200 (97 %: 0.100 to 0.300), measured 0.190"):  # fmt: skip
        assert part in words, part
    interrupted = Page(text_of(example(interrupted=True), tmp_path)).unfolded
    assert "The examination was interrupted" in interrupted


@pytest.mark.parametrize("value", [0.0, 0.25])
def test_errors_that_do_not_vary_have_no_interval(value):
    ends = GaugeInterval(value, value, value, 0.95)
    same = example(0, held_error=ends, model=dataclasses.replace(example().model, task="regression"))
    (first, *_) = model_sentences(same)
    assert "without an interval, because the errors of the rows do not vary" in first
    assert " to " not in first
    (first, *_) = model_sentences(example(0))
    assert "95 % interval 4 % to 8 %" in first


@pytest.mark.parametrize(("held", "missed"), [(0.5, False), (9.0, True)])
def test_a_vacuous_prediction_beside_a_measured_error_is_told_so(held, missed):
    own = dataclasses.replace(gauge(1, "vacuous"), name=LEFT_OUT, predicted=GaugeInterval(0.5, 0.0, 1.0, 0.97))
    ends = GaugeInterval(held, held / 2, 2 * held, 0.95)
    text = " ".join(model_sentences(with_gauges([own], held_error=ends)))
    assert "The prediction is no better than the error without the model" in text
    assert ("the measured error lies outside the predicted interval" in text) == missed


def test_places_in_the_strip_are_those_of_the_numbers(tmp_path):
    text = text_of(example(1), tmp_path)
    (value,) = re.findall(r'class="dot agrees" style="left:([\d.]+)%"', text)
    assert float(value) == pytest.approx(50 + 100 * math.log2(0.2 / 0.19) / 6, abs=0.01)
    (left, right) = re.findall(r'style="left:([\d.]+)%;right:([\d.]+)%"', text)[0]
    assert float(left) == pytest.approx(50 + 100 * math.log2(0.1 / 0.19) / 6, abs=0.01)
    assert 100 - float(right) == pytest.approx(50 + 100 * math.log2(0.3 / 0.19) / 6, abs=0.01)


def test_a_measured_zero_stands_in_the_tables_and_the_page_says_so(tmp_path):
    none = dataclasses.replace(gauge(1), measured=GaugeInterval(0.0, 0.0, 0.01))
    text = text_of(with_gauges([none, gauge(2)], score=Score(2, 2, 1.0)), tmp_path)
    assert "The tables below show 1 more, with a measured value of 0" in Page(text).unfolded


def test_without_held_rows_the_sentences_begin_with_what_is_known(tmp_path):
    own = dataclasses.replace(gauge(1, "unscored"), name="trained_models.leaving_out.held_out_error_from_training_rows")
    record = with_gauges([own], held_error=None, score=Score(0, 0, None))
    assert model_sentences(record) == [
        "Error on new rows, from training rows alone: 20 %, 97 % interval 10 % to 30 %.",
        "The error on new rows was not measured, because no held-out rows were given.",
    ]
    assert "No prediction was measured here" in Page(text_of(record, tmp_path)).unfolded


def test_a_failed_check_is_said_first_with_its_remedy(tmp_path):
    words = Page(text_of(failed(), tmp_path)).unfolded
    said = "does not hold: classes are in the order of the outputs. Found: error 0.9. Remedy: labels=(1, 0)."
    assert said in words
    assert "What theory predicted" not in words


def test_names_that_a_stranger_chose_are_escaped(tmp_path):
    for record in (example(), failed()):
        text = text_of(spoiled(record), tmp_path)
        both = write_page(tmp_path / "two", spoiled(record), spoiled(example())).read_text(encoding="utf-8")
        fragment = ModelStudy(spoiled(record))._repr_html_()
        for page in (text, both, fragment):
            assert "<script>" not in page
            assert "</style>&" not in page
            assert page.count("</style>") == 1
            assert not re.search("[\x00\x07\x1b\u202e\ud800]", page)
            assert "7 * 7" in page
            Page(page)
        assert ExaminationRecord.from_json(record.to_json()) == record


def test_a_notebook_shows_the_answer():
    fragment = ModelStudy(example())._repr_html_()
    assert "Error on held-out rows: 6 %" in fragment
    assert "<svg" in fragment
    assert "<html" not in fragment


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False)])
def test_axe_finds_nothing_with_everything_unfolded(tmp_path, width, dark):
    pages = [write_page(tmp_path / str(i), record) for i, record in enumerate((example(8), failed(), example(0)))]
    pages.append(write_page(tmp_path / "two", example(), failed()))
    with browser(width, dark) as driver:
        for page in pages:
            driver.get(page.as_uri())
            driver.execute_script("document.querySelectorAll('details').forEach(own => { own.open = true })")
            assert violations(driver) == [], page
            assert overflow(driver) == 0, page


def test_the_held_out_error_is_the_first_row_and_silence_is_one_folded_line(tmp_path):
    name = "trained_models.leaving_out.held_out_error_from_training_rows"
    last = dataclasses.replace(gauge(3), title="The error", name=name)
    quiet = [gauge(i, status) for i, status in enumerate(("vacuous", "inapplicable", "failed", "unaffordable"), 10)]
    empty = dataclasses.replace(gauge(20, "unscored"), predicted=None)
    silent = [f"Theory {i}: why" for i in range(9)]
    record = with_gauges([gauge(1), gauge(2), last, *quiet, empty, gauge(21, "unscored")], silent=silent)
    text = text_of(record, tmp_path)
    assert re.findall(r'<li><span class="name"><a href="#gauge-\d+">(.*?)</a></span>', text) == [
        "The error", "Gauge number 1 of a trained model", "Gauge number 2 of a trained model"
    ]  # fmt: skip
    words = Page(text).unfolded
    assert not any(f"Theory {i}: why" in words for i in range(9))
    fold = text[text.index('id="silent"') :]
    assert re.search(r"<summary>(.*?) <span", fold).group(1) == "5 checks say nothing here"
    assert all(f"Theory {i}: why" in fold for i in range(9))
    place = {i: own.title for i, own in enumerate(record.gauges)}
    assert [place[int(i)] for i in re.findall(r'href="#gauge-(\d+)"', fold)] == [own.title for own in (*quiet, empty)]
    assert "nothing measured" not in text


def test_ends_that_nothing_names_are_not_printed(tmp_path):
    bare = dataclasses.replace(gauge(1), predicted=GaugeInterval(0.2, 0.1, 0.3))
    named = dataclasses.replace(gauge(2), ends="quartiles of rows")
    text = text_of(with_gauges([bare, named]), tmp_path)
    assert "0.200 (0.100 to 0.300)" in text  # no level is known, and none is claimed
    assert "0.380 (quartiles of rows: 0.200 to 20.0)" in text
    assert "0.190 (" not in text


def test_gauges_are_grouped_by_what_they_wait_for():
    start = Condition("the initial parameters are given", 0.0, ">=", 1.0, False, "--start")
    rate = Condition("the learning rate of full-batch descent is given", 0.0, ">=", 1.0, False, "why")
    other = Condition("rows", 3.0, ">=", 100.0, False, "why")
    waits = lambda i, reason, *own: dataclasses.replace(gauge(i, "inapplicable"), reason=reason, hypotheses=list(own))
    gauges = [waits(1, "a", start), waits(2, "b", start, rate), waits(3, "c", start, other), waits(4, "a", start)]
    titles = [own.title for own in gauges]
    silent = [f"{titles[0]}; {titles[3]}: a", f"{titles[1]}: b", f"{titles[2]}: c"]
    record = with_gauges([*gauges, gauge(5)], silent=silent)
    said, waiting = silence(record)
    assert said == [f"{titles[2]}: c"]  # a start alone would not make it speak
    assert waiting == [("--start FILE", [titles[0], titles[3]]), ("--start FILE and --rate NUMBER", [titles[1]])]
    page = model_page(record)
    assert "3 more checks run if you add what they need" in page


def tables():
    ends = lambda value: Interval(value, value - 0.5, value + 0.5)
    inputs = InputTable("held out", 300, 20, 0.25, "log loss", ["A note on inputs."], [
        InputShown("width", 0.5, ends(0.75), 0.1, True), InputShown("height", 0.2, ends(0.0), 0.1, False),
        InputShown("depth", 0.1)])  # fmt: skip
    layers = LayerTable(32, 39, ["A note on layers."], [
        LayerShown("0.weight", [64, 32, 3, 3], [64, 288], 3.0, 1.5, Interval(1.0, 0.9, 1.1), 2, 0.9, ends(0.5)),
        LayerShown("3 vectors", [], [], 1.0, share=0.1, share_null=ends(0.2))])  # fmt: skip
    outputs = [OutputScore(name, ends(1.0), ends(0.5)) for name in ("left", "right", "all together")]
    posterior = PosteriorShown("", True, 12.0, 300, [0.5], 0.9, Interval(0.8, 0.75, 0.85))
    return {"inputs": inputs, "layers": layers, "outputs": outputs, "posterior": posterior}


def test_inputs_layers_and_outputs_have_tables_whose_numbers_are_explained(tmp_path):
    text = text_of(example(**tables()), tmp_path)
    page = Page(text)
    for part in ("1 of 2 matter", "width (matters)", "0.750 (0.250 to 1.25)", "± 0.100", "2 outputs",
                 "0.weight 64×32×3×3", "1.50 (0.900 to 1.10) above", "4.00 (7.44 to 11.1) below", "A note on layers.",
                 "A note on inputs.", "all together", "0.100 (−0.300 to 0.700)",
                 "contain 80 % of the targets of 300 held-out rows (75 % to 85 %). disagrees",
                 "on 300 held-out rows"):  # fmt: skip
        assert part in page.words, part
    for anchor in ("inputs", "layers", "outputs"):
        heads = re.findall(rf'<a href="#({anchor}-\d)">', text)
        assert heads
        assert set(heads) <= set(page.ids)
    assert "script" not in page.tags
    mute = example(posterior=PosteriorShown("why <not>"))
    assert "has no result here: why <not>." in Page(text_of(mute, tmp_path)).words
    for spoilt in (text_of(spoiled(example(**tables())), tmp_path), text_of(spoiled(mute), tmp_path)):
        assert "<script>" not in spoilt
    bare = example(**tables() | {"inputs": InputTable("training", 30, 20, 1.0, "log loss", ["None were permuted."])})
    assert "None were permuted." in text_of(bare, tmp_path)


@pytest.mark.parametrize(("width", "dark"), [(WIDE, True), (NARROW, False)])
def test_tables_are_whole_where_the_screen_is_narrow(tmp_path, width, dark):
    page = write_page(tmp_path, example(8, **tables()))
    with browser(width, dark) as driver:
        driver.get(page.as_uri())
        driver.execute_script("document.querySelectorAll('details').forEach(own => { own.open = true })")
        assert violations(driver) == []
        assert overflow(driver) == 0
        script = (
            "return [...document.querySelectorAll('table.stack td')].map(own => own.getBoundingClientRect())"
            ".filter(own => own.right > window.innerWidth || own.left < 0).length"
        )
        assert driver.execute_script(script) == 0
        seen = driver.execute_script(
            "return [...document.querySelectorAll('td[data-label=measured]')].map(own => own.innerText)"
        )
        assert "0.190" in " ".join(seen)


@pytest.mark.parametrize("gauges", [1, 2, 15])
def test_the_strip_as_a_chart_has_as_much_height_for_each_row(gauges):
    record = example(gauges)
    shown = sum(own.status in ("agrees", "disagrees") for own in record.gauges)
    chart = strip_chart(record)
    assert len(chart["data"]["values"]) == shown
    assert (chart["width"], chart["height"]) == (420, 34 * shown)


def test_without_a_prediction_that_was_tested_there_is_no_chart():
    assert strip_chart(with_gauges([gauge(1, "vacuous")], score=Score(0, 0, None))) is None
