"""The page of a comparison: charts that are valid, numbers that are the record's, names that cannot break out."""

import dataclasses
import re

import altair as alt
import pytest

from lemmata.interfaces.report import _families as families
from lemmata.interfaces.report import themed, write_page
from lemmata.workflows.records.comparisons import (
    SCHEMA,
    ComparisonRecord,
    Cost,
    CostPoint,
    Data,
    FamilyResult,
    FiniteResult,
    Interval,
    PairResult,
    Point,
    ScoreResult,
    Statement,
    Theorem,
)
from tests.interfaces.site.browser import NARROW, WIDE, browser, overflow, violations

DATA = Data(
    "rows.csv", "", "", 90, 80, 12, 5, 2, 40, 40, 3, "classification", "kind", ["a", "b"], "last", "fixed", ["a note"]
)
COST = Cost(
    [CostPoint(64, 1e4, 2e4, 1e-5), CostPoint(256, 1.6e5, 3.2e5, 2e-4)], 2.0, 2.0, 2.16, 1.0,
)  # fmt: skip


def family(name, title, error, **changed):
    points = [
        Point(20, 1.2 * error, 0.02, Interval(1.1 * error, error, 1.3 * error)),
        Point(40, error, 0.01, Interval(0.9 * error, 0.8 * error, error)),
        Point(80, None, None, Interval(0.5 * error, 0.4 * error, 0.6 * error)),
    ]
    parts = {
        "name": name, "title": title, "words": f"what {title} does", "error": Interval(error, 0.9 * error, 1.1 * error),
        "wrong": 0.123, "permuted": Interval(1.01, 0.98, 1.05), "sound": True, "setting": "width",
        "values": [0.5, 1.0, 2.0], "chosen": [1.0, 0.5, 1.0], "ridges": [0.1] * 3, "points": points, "ratio": 0.9,
        "equivalent": error, "later": [Point(80, None, None, Interval(0.5 * error, 0.3 * error, error))],
        "effective_dimension": 17.2, "alignment": [0.5, 0.9], "seconds": 2.0, "cost": COST,
    } | changed  # fmt: skip
    return FamilyResult(**parts)


def example():
    return ComparisonRecord(
        SCHEMA, "0.1.0", "2024-01-01T00:00:00+00:00", "lemmata compare rows.csv", 3, 12.3, 0.5, DATA, "attention",
        ["attention"], ["Attention wins: it leaves 0.0213 of the variance.", "More."],
        [family("mlp", "flattened", 0.7), family("attention", "attention", 0.0213, ratio=0.6, sound=False)],
        [PairResult("mlp", "attention", Interval(0.6787, 0.6, 0.7), 5e-4, 5e-4, True)],
        Theorem("Says.", "recurrent", False, "why it is wrong", "its rates"),
        [Statement("cost", "It grows.", None, "not checked here", "approximation.costs.attention")],
        [FiniteResult("mlp", 0.4, 0.7, 5000, 1200, 3.0)], [ScoreResult("Gaussian", 0.5, 0.8)], ["another note"],
    )  # fmt: skip


@pytest.fixture
def record():
    return example()


@pytest.mark.parametrize("chart", [families.errors_chart, families.curves_chart, families.cost_chart])
def test_charts_are_valid(record, chart):
    assert alt.Chart.from_dict(themed(chart(record))).to_dict(validate=True)["config"]


@pytest.mark.parametrize(("width", "dark"), [(NARROW, True), (WIDE, False)])
def test_axe_finds_nothing_on_the_page_with_its_folds_open(record, tmp_path, width, dark):
    page = write_page(tmp_path, record)
    with browser(width, dark) as driver:
        driver.get(page.as_uri())
        assert violations(driver) == []
        for fold in driver.find_elements("css selector", "details > summary"):
            fold.click()
        assert violations(driver) == []
        assert overflow(driver) == 0


def test_the_page_says_what_the_record_does(record):
    page = families.families_page(record)
    visible = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    for words in (
        "Attention wins", "0.0213", "12.3 %", "0.60 to 0.70", "what flattened does", "T<sup>2.00</sup>", "wrong here",
        "why it is wrong", "its rates", "lemmata show approximation.costs.attention", "cannot be checked", "a note",
        "another note", "5 to 12 tokens", "80 rows of 90", "lemmata compare rows.csv", "took 12 seconds",
        "Trained networks", "Denoising",
    ):  # fmt: skip
        assert words in visible, words
    assert '<b class="bad">0.60</b>' in visible, "a ratio that is off is marked"
    assert '<b class="bad">1.01</b>' in visible, "shuffled targets that are not at 1 are marked"
    assert visible.count('<svg role="img"') == 3
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", visible)
    assert "https://" not in visible


def test_every_picture_is_described(record):
    page = families.families_page(record)
    labels = re.findall(r'<svg role="img"[^>]*aria-label="([^"]*)"', page)
    assert len(labels) == 3
    assert "attention 0.0213 (0.0192 to 0.0234)" in labels[0]
    assert "attention 0.60" in labels[1]
    assert "attention 2.00" in labels[2]


def test_names_cannot_break_out(record):
    name = "</script><img src=x onerror=alert(1)>"
    own = dataclasses.replace(record.data, name=name, target=name, notes=[name], classes=[name, "b"])
    for text in (
        families.families_page(dataclasses.replace(record, data=own, sentences=[name])),
        families.families_fragment(dataclasses.replace(record, data=own, sentences=[name])),
    ):
        assert "<img src=x" not in text


def test_what_is_missing_is_left_out(record):
    empty = dataclasses.replace(
        record, families=[], pairs=[], leaders=[], winner=None, sentences=[], theorem=None, statements=[], finite=[],
        scores=[], interrupted=True,
    )  # fmt: skip
    page = families.families_page(empty)
    assert "stopped before it had a result" in page
    assert "was interrupted" in page
    assert "<svg" not in page
    assert (
        families.cost_chart(dataclasses.replace(record, families=[family("mlp", "flattened", 0.5, cost=None)])) is None
    )
    assert "What longer rows cost" not in families.families_page(
        dataclasses.replace(record, families=[family("mlp", "flattened", 0.5, cost=None)], pairs=[])
    )


def test_the_fragment_needs_no_script(record):
    text = families.families_fragment(record)
    assert "<script" not in text
    assert "<svg" in text
    assert "Attention wins" in text
