"""README is one screen: its commands are those of the first page, its links lead somewhere, its pictures are small."""

import pathlib
import re
import tomllib

import pytest

from lemmata.engine.catalogue import entries
from lemmata.interfaces.site._front import ABOUT
from lemmata.version import __version__

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
QUESTIONS = tomllib.loads((ROOT / "src/lemmata/interfaces/site/front.toml").read_text(encoding="utf-8"))["question"]
PAGES = ("README.md", "docs/tour.md", "docs/glossary.md")
LARGEST = 120_000


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}


def test_it_is_one_screen_with_the_two_commands_that_continuous_integration_runs():
    assert len(TEXT.splitlines()) <= 85
    blocks = re.findall(r"```sh\n(.*?)\n```", TEXT, re.S)
    assert blocks == ["pip install . && lemmata study digits", "pip install '.[test]' && pytest"]


def test_its_lead_is_that_of_the_first_page():
    assert TEXT.split("\n\n")[1].replace("\n", " ") == ABOUT
    assert len(re.findall(r"\.(?= |$)", ABOUT)) == 2


@pytest.mark.parametrize("name", PAGES)
def test_its_links_lead_to_files_and_headings(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if re.match("https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["asked"])
def test_its_four_questions_are_those_of_the_first_page(question):
    assert question["asked"] in TEXT
    assert f"$ {question['command']}\n" in TEXT
    plain = " ".join(TEXT.split())
    for line in question["printed"].strip().split("\n"):
        assert line.removeprefix("refuted: ").rstrip(".") in plain


def test_what_it_says_of_a_claim_is_what_the_catalogue_says():
    (entry,) = [entry for name, entry in entries().items() if name.endswith(".printed_logarithmic_samples")]
    verdict = entry["verdict"]
    assert verdict["status"] == "refuted"
    low, high = verdict["interval"]
    assert f"slope along n {verdict['estimate']:.3f}, interval [{low:.3f}, {high:.3f}]" in TEXT
    assert f"n^({verdict['estimate']:.2f})" in TEXT
    assert f"n^({verdict['estimate']:.2f})" in QUESTIONS[3]["about"]
    assert f"{verdict['judged']} of {verdict['requested']} trials judged" in TEXT


def test_its_pictures_are_small_and_their_makers_are_named():
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.png"))
    pages = ("study_page", "model_page", "shift_page")
    assert {path.stem for path in pictures} == {f"{page}{look}" for page in pages for look in ("", "_narrow")}
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < LARGEST
    program = (ROOT / "docs" / "page_pictures.py").read_text(encoding="utf-8")
    for path in pictures:
        assert path.stem.removesuffix("_narrow") in program
    for question in QUESTIONS[:3]:
        assert question["command"].split(" --target")[0] in program


def test_the_glossary_has_each_word_once_in_order():
    words = re.findall(r"^## (.+)$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.M)
    assert words == sorted(set(words), key=str.lower)
    assert {"Claim", "Control", "Tightness", "Kernel", "Ridge", "Verdict"} <= set(words)


def test_the_citation_is_of_this_version():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
