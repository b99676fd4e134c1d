"""How tall pages are, estimated from their HTML, and what is folded where they would be too tall."""

import re

import pytest
from markupsafe import Markup

from lemmata.interfaces.site import _folds, _heights
from lemmata.interfaces.site._markdown import rendered
from tests.interfaces.site.browser import NARROW, browser

LINE = "A sentence of some words, which stand here to fill a line or two of a page.\n\n"
TABLE = "| a | b |\n| --- | --- |\n" + "| word | another word |\n" * 15 + "\n"
TEXTS = {
    "prose": LINE * 60,
    "listings": ("```python\n" + "x = 1\n" * 12 + "```\n\n") * 10,
    "tables": TABLE * 8,
    "lists": ("* an item of a list\n* another one, with more words in it than stand on a line\n" * 8 + "\n") * 6,
}


def html(text):
    return rendered(text, lambda name: None, lambda target: target)


def style():
    from lemmata.interfaces.site import _build

    return _build._style()


@pytest.mark.parametrize("kind", TEXTS)
def test_the_estimate_is_within_a_third_of_what_a_browser_shows(kind, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f'<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width">'
                    f"<style>{style()}</style></head><body><main>{html(TEXTS[kind])}</main>")  # fmt: skip
    with browser(NARROW) as driver:
        driver.get(page.as_uri())
        shown = driver.execute_script("return document.querySelector('main').scrollHeight")
    assert shown > 1500
    assert 0.67 < _heights.height(page.read_text()) / shown < 1.5


@pytest.mark.parametrize(
    ("text", "height"),
    [
        (f'<svg viewBox="0 0 {2 * _heights.WIDTH} 100"></svg>', 8 + 50),
        (f'<svg viewBox="-1 0 {_heights.WIDTH / 2} 100"></svg>', 8 + 100),
        ("<svg></svg>", 8 + 260),
        ("<pre>a\nb\nc\n</pre>", 38 + 4 * 18.5),
        ("<pre>a</pre>\n", 38 + 18.5),
        ("<select><option>a</option></select>", 0),
        (f"<table><tr><th>{'a ' * 17}</th></tr><tr class='b'><td>{'a' * 35}</td></tr></table>", 12 + 14 + 3 * 18.5),
    ],
)
def test_a_block_is_as_tall_as_its_lines_or_its_picture_on_a_narrow_screen(text, height):
    assert _heights._of_block(text) == pytest.approx(height)


def test_what_is_closed_or_scrolls_in_a_box_counts_by_what_is_seen():
    text = "<p>" + "word " * 2000 + "</p>"
    assert _heights.height(f"<details><summary>More</summary>{text}</details>") < 50
    assert _heights.height(f"<details open><summary>More</summary>{text}</details>") > 4000
    assert _heights.height(f'<div class="scroll tall">{text}</div>') < 700
    assert (
        _heights.height(f"<details><summary>A</summary><details><summary>B</summary>{text}</details></details>{text}")
        > 4000
    )


@pytest.mark.parametrize(
    ("text", "folds"),
    [
        (LINE * 200, ["The rest of this section"]),
        (LINE * 5 + "### First\n\n" + LINE * 100 + "### Second\n\n" + LINE * 100, ["First", "Second"]),
        (LINE * 120 + "### First\n\n" + LINE * 100, ["The rest of this section", "First"]),
        ("```\n### no heading\n```\n\n" + LINE * 200, ["The rest of this section"]),
    ],
)
def test_a_text_that_is_too_tall_is_folded_and_keeps_every_word(text, folds):
    found = _folds.folded(text, html, 3000.0)
    assert _heights.height(found) <= 3000
    words = lambda page: sorted(re.sub("<[^>]*>", " ", page).replace("The rest of this section", "").split())
    assert words(found) == words(html(text))
    summaries = [re.sub("<[^>]*>", "", own).strip() for own in re.findall("<summary>(.*?)</summary>", found, re.S)]
    assert summaries == folds


def test_a_page_is_folded_where_it_does_not_fit_and_only_there():
    made = lambda folded: Markup("folded") if folded else Markup("<p>" + "word " * words + "</p>")
    words = 10
    assert _folds.fitting(made) != "folded"
    words = 10_000
    assert _folds.fitting(made) == "folded"
