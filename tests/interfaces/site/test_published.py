"""Links to works, the catalogue to download, and what a site has when it is published under an address."""

import csv
import email.utils
import hashlib
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from pybtex.database import parse_string
from typer.testing import CliRunner

from lemmata.engine.catalogue import history, rows
from lemmata.engine.claims import bibliography
from lemmata.errors import SettingError
from lemmata.interfaces.cli import app
from lemmata.interfaces.site import Published, _build, _claims, _download, _pages, _prose, _published, _works

BASE = "https://example.org/lemmata"


@pytest.mark.parametrize("key", sorted(bibliography()))
def test_an_identifier_in_the_bibliography_has_its_form_and_becomes_a_link(key):
    entry = bibliography()[key]
    fields = {name.lower(): value for name, value in entry.fields.items()}
    named = " ".join(fields.get(name, "") for name in ("doi", "eprint", *_works._FIELDS))
    found = _works.work(key)
    if "doi" in fields:
        assert _works.DOI.fullmatch(fields["doi"])
    if "eprint" in fields:
        assert _works.ARXIV.fullmatch(fields["eprint"])
    if "doi" in fields or "eprint" in fields or re.search(r"arxiv:|doi:", named, re.I):
        assert re.fullmatch(r"https://(doi\.org/10\.\S+|arxiv\.org/abs/\S+)", found.link), named
    else:
        assert found.link == "", "no identifier is invented"
    (again,) = parse_string(found.bibtex, "bibtex").entries
    assert again == key


def test_a_work_has_the_title_of_its_entry():
    found = _works.work("hoeffding1963")
    assert found.title == "Probability inequalities for sums of bounded random variables"
    assert found.bibtex.startswith("@article{hoeffding1963,")
    assert _works.work("nobody1999") is None


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("doi = {10.1214/21-AOS2133}, journal = {arXiv:2304.12465}", "doi:10.1214/21-AOS2133"),
        ("eprint = {2209.10652}", "arXiv:2209.10652"), ("howpublished = {arXiv:cs/0411099}", "arXiv:cs/0411099"),
        ("journal = {arXiv preprint arXiv:2304.12465v2}", "arXiv:2304.12465v2"), ("journal = {arXiv preprint}", ""),
        ("journal = {Nature}, volume = {2304}", ""),
    ],
)  # fmt: skip
def test_the_identifier_of_an_entry_is_found_where_it_stands(text, called):
    (entry,) = parse_string(f"@article{{key, title = {{T}}, {text}}}", "bibtex").entries.values()
    assert _works.identifier(entry) == called


@pytest.mark.parametrize(
    ("name", "address"),
    [("solvers.kernel_ridge", "a.html"), ("attention.routed", "b.html"), ("solvers.none", None)],
)
def test_a_public_name_is_found_in_a_subpackage_and_in_a_subject(name, address):
    addresses = {"lemmata.solvers.kernel_ridge": "a.html", "lemmata.subjects.attention.routed": "b.html"}
    assert _claims._place(name, addresses) == address


def test_the_catalogue_can_be_downloaded_whole():
    known = rows()
    files = _download.download_files(known)
    assert [row["name"] for row in json.loads(files["catalogue.json"])["claims"]] == [row["name"] for row in known]
    table = list(csv.DictReader(io.StringIO(files["catalogue.csv"])))
    assert [row["title"] for row in table] == [row["title"] for row in known]
    assert [row["status"] for row in table] == [row["status"] for row in known]
    assert json.loads(files["claims/0009.json"])["tag"] == "0009"


def test_the_metadata_say_what_the_files_hold():
    files = _download.download_files(rows())
    told = json.loads(files["croissant.json"])
    assert told["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for file in told["distribution"]:
        assert file["sha256"] == hashlib.sha256(files[file["contentUrl"]].encode()).hexdigest()
    (records,) = told["recordSet"]
    columns = [field["source"]["extract"]["column"] for field in records["field"]]
    assert columns == next(csv.reader(io.StringIO(files["catalogue.csv"])))
    assert {field["source"]["fileObject"]["@id"] for field in records["field"]} == {"catalogue.csv"}


def test_the_metadata_have_what_their_format_requires():
    told = json.loads(_download.download_files(rows(), Published(BASE))["croissant.json"])
    required = ("@context", "@type", "name", "conformsTo", "description", "license", "url", "creator", "datePublished")
    assert [name for name in required if not told.get(name)] == []
    assert told["url"] == f"{BASE}/"
    assert told["datePublished"] == max(change.day for changes in history().values() for change in changes)
    assert "url" not in json.loads(_download.download_files([])["croissant.json"]), "no address is invented"


def test_every_claim_can_be_cited():
    for row in rows():
        entries = parse_string(_claims.cited(row, Published(BASE)), "bibtex").entries
        ((key, entry),) = entries.items()
        assert key == f"lemmata-{row['tag']}"
        assert entry.fields["url"].startswith(f"{BASE}/claims/")
        assert row["status"] in entry.fields["note"]
        assert entry.fields["year"] == history()[row["class"]][-1].day[:4], "the year of the present verdict"


def two(known):
    return {"index.html": _pages.page("missing.html", "index.html", "", "First & last", base=""), "site.css": ""}


def test_an_address_brings_canonical_links_a_map_and_a_feed():
    known = rows()
    found = _published.finished(two(known), Published(BASE + "/"), known)
    assert f'<link rel="canonical" href="{BASE}/">' in found["index.html"]
    assert f'content="{BASE}/docs/pictures/' in found["index.html"]
    assert '<meta name="description" content="First &amp; last">' in found["index.html"]
    assert f'<base href="{BASE}/">' in found["404.html"]
    assert "canonical" not in found["404.html"]
    own = _pages.claim_address(known[0])
    more = {**two(known), own: "", "claims/0001.html": "", "docs/a.html": ""}
    places = ElementTree.fromstring(_published.finished(more, Published(BASE), known)["sitemap.xml"])
    named = [place[0].text.removeprefix(f"{BASE}/") for place in places]
    assert named == [own, "docs/a.html", ""], "without the page of a withdrawn tag"
    places = ElementTree.fromstring(found["sitemap.xml"])
    assert [place[0].text for place in places] == [f"{BASE}/"]
    assert f"Sitemap: {BASE}/sitemap.xml" in found["robots.txt"]
    items = ElementTree.fromstring(found["feed.xml"]).findall("channel/item")
    assert len(items) == _published._FED
    changed = {row["tag"] for row in known if len(history().get(row["class"], ())) > 1}
    tags = [item.find("link").text[-9:-5] for item in items]
    assert set(tags[: len(changed)]) == changed, "every changed verdict comes before the new claims"
    days = [email.utils.parsedate_to_datetime(item.find("pubDate").text) for item in items]
    for part in (days[: len(changed)], days[len(changed) :]):
        assert part == sorted(part, reverse=True), "the newest first"
    assert len({item.find("guid").text for item in items}) == len(items)


def test_without_an_address_nothing_names_one():
    found = _published.finished(two(rows()), Published(), rows())
    assert set(found) == {"index.html", "site.css", "404.html", "favicon.svg", "robots.txt"}
    assert _pages.HEAD not in found["index.html"]
    assert "canonical" not in found["index.html"]
    assert "http" not in found["robots.txt"]


def test_a_claims_code_is_linked_at_the_version_of_the_package():
    assert Published(repository="https://example.org/r/").code("subjects/a.py", 3) == (
        f"https://example.org/r/blob/v{_published.__version__}/src/lemmata/subjects/a.py#L3"
    )
    assert Published().code("subjects/a.py", 3) == ""


@pytest.mark.parametrize("address", ["example.org", "ftp://example.org", "https://example.org/?a=b", "javascript:x"])
def test_an_address_that_is_none_is_refused(address, tmp_path, monkeypatch):
    with pytest.raises(SettingError, match="https://HOST/PATH"):
        Published(address)
    monkeypatch.setattr(_build, "site", lambda *given: {"index.html": "first"})
    done = CliRunner().invoke(app, ["map", "--out", str(tmp_path / "site"), "--base-url", address])
    assert done.exit_code == 2
    assert "--base-url" in done.stderr


def test_the_keys_of_works_are_not_printed():
    keys = set(bibliography())
    for row in rows():
        for part in ("source", "statement", "title", "reading"):
            assert not keys.intersection(re.findall(r"\b[a-z]+\d{4}[a-z0-9]*\b", row[part] or "")), (row["name"], part)
    said = str(_prose.sentence("Lemma 1 of gu2024softmax, and a bound (barron1993); not of nobody1999"))
    assert said == "Lemma 1 of Gu et al. (2024), and a bound (Barron, 1993); not of nobody1999"
