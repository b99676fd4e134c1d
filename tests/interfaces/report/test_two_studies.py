"""On the page of two studies neither place is a better one: exchanged studies say the same of each."""

import collections
import dataclasses
import re

import pytest

from lemmata.interfaces.report import _comparison
from lemmata.interfaces.report._comparison import comparison
from lemmata.workflows.records.studies import Finding
from tests.interfaces.report.example import classified, empty, measured, noise
from tests.interfaces.report.page import Page


def named(record, name):
    return dataclasses.replace(record, data=dataclasses.replace(record.data, name=name))


WARNED = measured(findings=[Finding("identifier", ("number",), "column number looks like an identifier")])
STUDIES = {
    "classified": classified(),
    "asked": classified(answers=dataclasses.replace(classified().answers, best="linear", asked=0.8)),
    "warned": WARNED,
    "noise": noise(),
    "empty": empty(),
    "interrupted": classified(interrupted=True, findings=[]),
}
PAIRS = (("classified", "warned"), ("noise", "asked"), ("interrupted", "empty"))


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Pages without the pictures and scripts, which take seconds; what they draw is told by their words."""
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, vl_version: "<svg></svg>")
    monkeypatch.setattr("lemmata.interfaces.report._page.bundle", lambda: "")


def words(text):
    """How often each word stands on a page."""
    return collections.Counter(Page(text).words.split())


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_exchanged_studies_say_the_same_of_each(pair):
    first, second = (named(STUDIES[name], f"{name}.csv") for name in pair)
    one, other = comparison(first, second), comparison(second, first)
    assert words(one) == words(other)
    for what, left, right in _comparison._facts([first, second]):
        assert (what, right, left) in _comparison._facts([second, first])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_each_study_stands_there_with_what_its_own_page_says(pair):
    first, second = (named(STUDIES[name], f"{name}.csv") for name in pair)
    page = comparison(first, second)
    halves = re.split(r"<h3>(?:\w+)\.csv</h3>", page)
    assert len(halves) == 3
    told = [Page(half.split("</main>")[0]).words for half in halves[1:]]
    texts = [{finding.text for finding in record.findings} for record in (first, second)]
    for place, record in enumerate((first, second)):
        assert all(model.title in told[place] for model in record.models)
        assert all(text in told[place] for text in texts[place])
        assert not [text for text in texts[place] - texts[1 - place] if text in told[1 - place]]
    pictures = _comparison._pictures([first, second])
    described = _comparison._described([first, second])
    for name, record in zip(("first", "second"), (first, second), strict=True):
        if name in pictures:
            drawn = {row["model"] for row in pictures[name]["data"]["values"]}
            assert drawn <= {model.title for model in record.models} | {"guessing"}
        assert described[name].startswith(f"{record.data.name}: ")


def test_in_one_picture_each_study_has_its_own_rows_and_the_value_it_asked_for():
    asked = STUDIES["asked"]
    second = dataclasses.replace(asked, data=dataclasses.replace(asked.data, name="asked.csv", used_rows=200))
    chart = _comparison._together([classified(), second])
    text = str(chart["layer"])
    assert "to reach: 90.0 %" in text
    assert "to reach: 80.0 %" in text
    ends = collections.defaultdict(float)
    for row in chart["data"]["values"]:
        if row["what"] == "measured":
            ends[row["model"]] = max(ends[row["model"]], row["n"])
    assert set(ends) == {"flowers.csv: RBF kernel", "asked.csv: linear model"}
