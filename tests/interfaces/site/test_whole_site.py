"""The whole site: how long it takes, how large its pages are, where its links lead, and what it leaves alone."""

import html.parser
import json
import re
import urllib.parse

import pytest

from lemmata.engine.catalogue import rows, tags
from lemmata.interfaces.site._heights import LIMIT, height
from tests.interfaces.site.browser import NARROW, WIDE, browser, overflow, violations
from tests.interfaces.site.making import made

LARGEST = 300_000
LOOKS = """const seen = {};
for (const row of document.querySelectorAll('#claims tbody tr')) {
  const look = row.getAttributeNames().map((name) => `${name}=${row.getAttribute(name)}`).join(' ');
  seen[look] = (seen[look] || 0) + 1;
  if (seen[look] > 2) row.remove();
}
return seen;"""
"""Leaves two rows of each look in the table of claims, and counts the rows of each look."""


class Links(html.parser.HTMLParser):
    """The addresses that a page names, its anchors, and its headings of the first level."""

    def __init__(self, text):
        super().__init__()
        self.named, self.anchors, self.titles = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.named += [given[name] for name in ("href", "src") if given.get(name)]
        self.anchors += [given["id"]] if "id" in given else []
        self.titles += tag == "h1"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole"), whole=True)


def test_every_claim_has_its_page(whole):
    pages = {path.stem for path in (whole / "claims").iterdir()}
    assert pages == set(tags())
    assert {row["tag"] for row in rows()} <= pages


def test_pages_are_small_and_fetch_nothing(whole):
    """The table of all claims grows with the catalogue: it may have 300 bytes for each claim."""
    for path in whole.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        largest = 300 * len(rows()) if path.name == "claims.html" else LARGEST
        assert len(text.encode()) < largest, path
        assert "<script src" not in text
        assert text.index('<meta http-equiv="Content-Security-Policy"') < text.index("<title")
        assert "script-src 'sha256-" in text or path.name in ("claims.html", "search.html")
        loaded = [name for name in Links(text).named if name.endswith((".css", ".js", ".svg", ".png"))]
        assert not [name for name in loaded if ":" in name], path


def test_no_page_is_taller_than_anybody_scrolls(whole):
    """By the estimate; the pages of other tests are measured in a browser."""
    others = [path for path in whole.rglob("*.html") if path.parent.name != "claims"]
    largest = sorted((whole / "claims").glob("*.html"), key=lambda path: path.stat().st_size)[-40:]
    assert len(others) > 400
    tall = {path: round(height(path.read_text(encoding="utf-8"))) for path in [*others, *largest]}
    assert {path: own for path, own in tall.items() if own > LIMIT} == {}


def test_every_link_leads_somewhere(whole):
    folder = whole
    pages = {path.resolve(): Links(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    for path, page in pages.items():
        assert page.titles == 1, path
        assert len(set(page.anchors)) == len(page.anchors), path
        for name in page.named:
            if urllib.parse.urlsplit(name).scheme:
                continue
            file, _, anchor = name.partition("#")
            target = (path.parent / urllib.parse.unquote(file)).resolve() if file else path
            assert target.is_file(), f"{path}: {name}"
            if anchor and "=" not in anchor:
                assert urllib.parse.unquote(anchor) in pages[target].anchors, f"{path}: {name}"
    assert json.loads((folder / "lemmata-site.json").read_text())


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True)])
def test_axe_finds_nothing_on_the_table_of_all_claims(whole, width, dark):
    """Contrast takes axe a tenth of a second for each row, and depends on nothing but the look of a row."""
    contrast = ["color-contrast"]
    with browser(width, dark) as driver:
        driver.get((whole / "claims.html").as_uri())
        assert overflow(driver) == 0
        assert violations(driver, without=contrast) == []
        counts = driver.execute_script(LOOKS)
        assert set(counts) == {"", "class=r", "class=w"}
        assert sum(counts.values()) == len(rows())
        assert violations(driver, only=contrast) == []
        driver.execute_script("document.querySelector('#claims tbody td:last-child').style.color = '#777'")
        assert [rule for rule, _ in violations(driver, only=contrast)] == contrast


def test_formulas_are_set_in_titles(whole):
    table = (whole / "claims.html").read_text(encoding="utf-8")
    assert "approaches its limit as m<sup>−1/2</sup></a>" in table
    assert "at most of the order of the Barron parameter C<sub>F</sub> of the class" in table
    assert "<math" not in table
    page = (whole / "claims" / "0220.html").read_text(encoding="utf-8")
    assert '<h1>The softmax tangent kernel approaches its limit as <math alttext="m^(-1/2)">' in page
    assert "<title>The softmax tangent kernel approaches its limit as m^(-1/2) · lemmata</title>" in page
    assert '<math alttext="NS(eta)">' in (whole / "claims" / "1016.html").read_text(encoding="utf-8")


def test_cards_of_the_documentation_begin_with_a_sentence(whole):
    for path in (whole / "docs").rglob("*.html"):
        for lead in re.findall(r"</a></h3><p>(.*?)</p></li>", path.read_text(encoding="utf-8")):
            assert not lead or len(lead.split()) > 4, (path, lead)
            assert not lead.endswith(":"), (path, lead)
