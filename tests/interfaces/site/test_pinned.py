"""Pages of a small catalogue as they stand, without the documentation, which is made of files that change."""

import json
import re

import pytest

from lemmata.engine.catalogue import Change, rows
from lemmata.interfaces.site import _build, _pictures, _published
from lemmata.interfaces.site._claims import claim_page, withdrawn_page
from lemmata.interfaces.site._download import download_files
from lemmata.interfaces.site._published import Published
from lemmata.interfaces.site._sources import source_pages
from lemmata.interfaces.site._subjects import subject_pages
from lemmata.interfaces.site._table import table_page
from lemmata.version import __version__
from tests import pinned
from tests.interfaces import frozen
from tests.interfaces.report.test_pinned import plain

WHERE = {"nowhere": Published(), "somewhere": Published("https://example.org/a", "https://example.org/code/")}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    frozen.freeze(monkeypatch)
    monkeypatch.setattr("lemmata.interfaces.site._subjects.svg_of", lambda spec, said, name: json.dumps(spec) + said)


def told(text):
    """A page without numbers that other changes of the code move: lines of files and the version."""
    return re.sub(r"#L\d+", "#L", plain(text).replace(__version__, "VERSION"))


def known():
    return _build._told_apart(rows())


def addresses(own):
    return {row["name"]: f"claims/{row['tag']}.html" for row in own}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("third", range(3))
def test_pages_of_claims_are_as_they_were(where, third):
    own = known()
    by_name = {row["name"]: row for row in own}
    chosen = own[third::7] if where == "nowhere" else own[third : third + 1]
    pages = [told(claim_page(row, by_name, addresses(own), WHERE[where])) for row in chosen]
    pinned.check(__file__, f"claims-{where}-{third}", "\n".join(pages))


def test_pages_of_subjects_are_as_they_were():
    own = known()
    found = subject_pages(own, addresses(own))
    pinned.check(__file__, "subjects", "\n".join(f"== {name}\n{told(text)}" for name, text in found.items()))


def test_pages_of_sources_are_as_they_were():
    own = known()
    found = source_pages(own, addresses(own))
    taken = {name: text for name, text in found.items() if "wu2024" in name or "fu2024" in name}
    assert len(taken) == 2
    pinned.check(__file__, "sources", "\n".join(f"== {name}\n{told(text)}" for name, text in taken.items()))


def test_the_table_and_what_can_be_downloaded_are_as_they_were():
    own = known()
    found = {"claims.html": told(table_page(own)), **download_files(own)}
    text = "\n".join(f"== {name}\n{told(text)}" for name, text in found.items() if len(text) < 12_000)
    pinned.check(__file__, "table", re.sub(r"\b[0-9a-f]{64}\b", "digest", text))
    pinned.check(__file__, "withdrawn", plain(withdrawn_page("0009", "GoneAway")))


@pytest.mark.parametrize("where", WHERE)
def test_what_a_published_site_has_besides_is_as_it_was(where, monkeypatch):
    own = known()
    days = {row["class"]: (Change("2026-11-22", row["status"]),) for row in own}
    days[own[0]["class"]] = (Change("2026-11-20", "failed"), Change("2026-11-21", own[0]["status"]))
    monkeypatch.setattr("lemmata.interfaces.site._front.history", lambda: days)
    pages = {"index.html": "<html><head></head></html>", "claims/0009.html": "<head></head>", "site.css": "a {}"}
    found = _published.finished(pages, WHERE[where], own)
    pinned.check(__file__, f"published-{where}", "\n".join(f"== {name}\n{told(text)}" for name, text in found.items()))


@pytest.mark.parametrize(
    ("band", "words", "numbers"),
    [
        ((1.0, 2.0), "from to", [1, 2]), ((None, 2.0), "at most", [2]), ((1.5, None), "at least", [1.5]),
        ((None, None), "at", [1]), ((0.0, 0.1), "from to", [0, 0.1]), ((0.0, None), "at least", [0]),
        ((-0.5, 0.0), "from to", [-0.5, 0]),
    ],
)  # fmt: skip
def test_a_band_is_said_by_the_ends_that_it_has(band, words, numbers):
    said = _pictures.supported_where(band).replace("−", "-")
    assert re.findall(r"[a-z]+", said) == words.split()
    assert [float(each) for each in re.findall(r"-?[\d.]+", said)] == numbers
