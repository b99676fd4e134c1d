"""The pictures of verdicts: they hold the numbers, their axes hold the pictures, and their labels stay apart."""

import itertools
import pathlib
import re
import types
import xml.etree.ElementTree as ElementTree

import pytest

from lemmata.engine.catalogue import rows
from lemmata.interfaces.report import widest
from lemmata.interfaces.site import _documents, _drawing, _front, _pictures, _sizes
from tests.interfaces.report.test_letters import cut
from tests.interfaces.site.browser import browser
from tests.interfaces.site.making import KEPT


@pytest.mark.parametrize("tag", KEPT)
def test_a_picture_holds_the_numbers_of_its_verdict(tag):
    row = next(row for row in rows() if row["tag"] == tag)
    found = _pictures.panels(row)
    verdict = row["verdict"]
    last = found[-1]
    assert last.claim[1] == verdict["estimate"]
    assert [last.claim[0], last.claim[2]] == verdict["interval"]
    assert list(last.band) == verdict["band"]
    said = _pictures.words(found)
    picture = _pictures.svg(found, said)
    assert 'role="img"' in picture
    assert "#7b828c" not in picture, "greys are the colour of the text"
    control = verdict["control"]
    if control["violating"] is not None:
        assert last.control == (control["violating"],)
    elif last.title == "exponent":
        assert all(abs(abs(place - last.stated) - control["nearest"]) < 1e-12 for place in last.control)


def test_every_verdict_can_be_drawn_within_its_axis():
    drawn = 0
    for row in rows():
        for panel in _pictures.panels(row):
            low, high = panel.domain
            assert low <= min(panel.claim) <= max(panel.claim) <= high, row["name"]
            drawn += 1
    assert drawn > 300


def test_the_control_of_an_equality_is_at_one_of_two_places_on_either_side_of_1():
    verdict = {"slack": [1.1, 1.0, 0.9], "control": {"nearest": 0.2}}
    (panel,) = _pictures.panels({"relation": "measured = predicted, to rounding", "verdict": verdict})
    assert (panel.title, panel.band, panel.claim) == ("predicted / measured", (None, None), (0.9, 1.0, 1.1))
    assert panel.control == pytest.approx((4 / 5, 5 / 4))
    assert (panel.stated, panel.either, panel.log) == (1.0, True, False)


@pytest.mark.parametrize("slack", [None, [0.9, None, 1.1], [0.9, 1.0, 1e6], [1e-6, 1.0, 1.1]])
def test_a_ratio_that_is_unknown_or_far_from_1_is_not_drawn(slack):
    verdict = {"slack": slack, "control": {"nearest": 0.2}}
    assert _pictures.panels({"relation": "measured = predicted, to rounding", "verdict": verdict}) == []


@pytest.mark.parametrize(
    ("domain", "percent", "log", "value", "text"),
    [
        ((0.0, 1.0), True, False, 0.2, "20%"), ((0.9, 1.1), False, True, 0.95, "0.95"),
        ((-0.6, 1.0), False, False, -0.5, "−0.5"), ((0.0, 4e-7), False, False, 2e-7, "0.0000002"),
        ((1.0, 1e6), False, True, 1e5, "1e5"), ((1000.0, 3000.0), False, False, 2000.0, "2,000"),
        ((0.99999, 1.00001), False, False, 0.999995, "0.999995"), ((-1.0, 1.0), False, False, 0.0, "0"),
    ],
)  # fmt: skip
def test_numbers_of_an_axis_are_those_that_stand_there(domain, percent, log, value, text):
    axis = types.SimpleNamespace(domain=domain, percent=percent, log=log)
    assert _drawing.shown(value, axis) == text


def test_pictures_are_well_formed_and_their_labels_do_not_overlap():
    for row in rows():
        found = _pictures.panels(row)
        if not found:
            continue
        drawn = _pictures.svg(found, _pictures.words(found))
        assert cut(drawn) == [], row["name"]
        picture = ElementTree.fromstring(drawn)
        space = "{http://www.w3.org/2000/svg}" if "}" in picture.tag else ""
        for group in picture.iter(f"{space}g"):
            texts = [each for each in group.iter(f"{space}text") if each.get("text-anchor") == "middle"]
            labels = [each for each in texts if each.get("font-size") is None]
            ends = [(float(each.get("x")), widest(each.text, 11) / 2) for each in labels]
            assert len(labels) >= 1, row["name"]
            for (place, half), (after, its) in itertools.pairwise(ends):
                assert place + half <= after - its, row["name"]


DOCS = pathlib.Path(__file__).parents[3] / "docs"
CUT = """const box = document.documentElement.viewBox.baseVal, to = document.documentElement.getScreenCTM();
const left = to.e + to.a * box.x, right = left + to.a * box.width;
return [...document.querySelectorAll('text')].filter((label) => {
  const own = label.getBoundingClientRect();
  return own.width && Math.max(left - own.left, own.right - right) > 0.5 * to.a;
}).map((label) => label.textContent)"""
"""The labels of the SVG that is open which reach beyond its left or right edge."""


def test_no_label_of_a_picture_of_the_documentation_is_cut(tmp_path):
    """In a browser, whose letters on most machines without a screen are those of a wide font."""
    narrow = tmp_path / "narrow.svg"
    label = '<text x="40" y="9" text-anchor="end">membership</text>'
    narrow.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 20">{label}</svg>')
    with browser() as driver:
        for path in sorted(DOCS.rglob("*.svg")):
            driver.get(path.as_uri())
            assert driver.execute_script(CUT) == [], path
        driver.get(narrow.as_uri())
        assert driver.execute_script(CUT) == ["membership"]


def test_the_pictures_for_telephones_on_the_front_page_have_their_sizes_and_show_the_chart():
    text = _front.front_page(rows())
    found = re.findall(r'srcset="docs/([^"]+)" width="(\d+)" height="(\d+)"', text)
    assert len(found) >= 3
    for name, width, height in found:
        assert (int(width), int(height)) == _sizes.size_of(_documents.pictures()[name])
    assert {name: int(height) for name, _, height in found}["pictures/study_page_narrow.png"] > 1400
