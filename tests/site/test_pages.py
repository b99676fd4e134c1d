"""A site of a few claims: what stands on its pages, how they behave in a browser, and what axe says of them."""

import json
import re

import pytest

from lemmata.catalogue import entries, rows
from lemmata.site import _build, _code, _house, _index, _pictures, write_site
from tests import test_floors
from tests.site.browser import NARROW, WIDE, browser, overflow, violations

KINDS = (
    "index.html", "claims/0009.html", "claims/0201.html", "claims/0001.html", "subjects/index.html",
    "subjects/diffusion.html", "sources/index.html", "sources/foundation2025.html", "sources/li2025incontext.html",
    "house.html", "docs/index.html", "docs/tutorial.html", "docs/kernels.html", "docs/design.html",
    "docs/examples/index.html", "reference/index.html", "reference/kernels.html",
)  # fmt: skip
KEPT = ("0001", "0002", "0009", "0041", "0105", "0201")


def few():
    known = rows()
    subjects = {row["subject"]: row["tag"] for row in known}
    corrected = {row["tag"] for row in known if row["corrects"]} & {"0004", "0006"}
    return [row for row in known if row["tag"] in {*KEPT, *subjects.values(), *corrected}]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The whole site, but for most of the claims."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_build, "rows", few)
        return write_site(tmp_path_factory.mktemp("few") / "site").parent


@pytest.mark.rotating(4)
@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False)])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_window(small, width, dark):
    with browser(width, dark) as driver:
        for page in KINDS:
            driver.get(f"{(small / page).as_uri()}")
            assert violations(driver) == [], page
            assert overflow(driver) == 0, page
            assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == (
                "rgb(21, 23, 27)" if dark else "rgb(255, 255, 255)"
            )


def test_axe_would_find_a_picture_without_words_and_text_without_contrast(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<html lang="en"><title>t</title><main><h1>h</h1><img src="x.png"><p style="color:#bbb">pale</p>')
    with browser() as driver:
        driver.get(page.as_uri())
        assert {rule for rule, _ in violations(driver)} >= {"image-alt", "color-contrast"}


@pytest.mark.rotating(2)
def test_the_table_is_searched_and_filtered_and_the_address_keeps_it(small):
    known = few()
    shown = "return [...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length"
    with browser() as driver:
        index = (small / "index.html").as_uri()
        driver.get(index)
        assert driver.execute_script(shown) == len(known)
        tools = sum(row["tool"] == "Fourier analysis" for row in known)
        driver.get(f"{index}#tool=Fourier+analysis")
        assert driver.execute_script(shown) == tools > 0
        box = driver.find_element("name", "search")
        box.send_keys("softmax")
        assert driver.execute_script(shown) == 0
        assert driver.find_element("id", "found").text == f"0 of {len(known)} claims"
        assert "search=softmax" in driver.current_url
        driver.find_element("tag name", "button").click()
        assert driver.execute_script(shown) == len(known)
        box.send_keys("laplacian")  # a word of a statement, which the table does not show
        assert 1 <= driver.execute_script(shown) < len(known)


def test_the_keyboard_reaches_the_content_first_and_without_scripts_the_table_is_whole(small):
    with browser() as driver:
        driver.get((small / "claims" / "0001.html").as_uri())
        from selenium.webdriver.common.keys import Keys

        driver.find_element("tag name", "body").send_keys(Keys.TAB)
        assert driver.switch_to.active_element.text == "Skip to the content"
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        driver.get((small / "index.html").as_uri())
        assert not driver.find_element("id", "filters").is_displayed()
        assert len(driver.find_elements("css selector", "#claims tbody tr")) == len(few())


def test_a_page_of_a_claim_says_all_that_the_catalogue_says(small):
    row = next(row for row in few() if row["tag"] == "0009")
    page = (small / "claims" / "0009.html").read_text(encoding="utf-8")
    for words in (row["title"], row["kind"], row["status"], row["control"]["statement"], row["name"], row["tool"]):
        assert words in page
    assert 'href="../sources/barron1993.html"' in page
    assert 'href="../subjects/approximation.html#barron_parameter"' in page
    assert "weights are positive" in page, "a hypothesis, read from the code of the population"
    assert "class PositiveDefiniteBound(" in page
    assert page.count("<svg") == 1
    assert "<math" in page


def test_a_misprint_and_its_correction_name_each_other(small):
    wrong = (small / "claims" / "0001.html").read_text(encoding="utf-8")
    right = (small / "claims" / "0004.html").read_text(encoding="utf-8")
    assert "Corrected by" in wrong
    assert 'href="../claims/0004.html"' in wrong
    assert "Corrects" in right
    assert 'href="../claims/0001.html"' in right
    house = (small / "house.html").read_text(encoding="utf-8")
    assert 'href="claims/0004.html"' in house


def test_the_survey_stands_with_its_verdicts_references_and_problems(small):
    page = (small / "sources" / "foundation2025.html").read_text(encoding="utf-8")
    assert page.count('<li id="problem-') == 7
    for word in ("unverifiable", "contradictory", "altered", "Its references"):
        assert word in page
    first = (small / "sources" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="count">The number 114</h2>' in first


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


def test_populations_and_hypotheses_are_found_in_the_code():
    missing = [
        name for name, row in entries().items() if not _code.population_of(name.rpartition(".")[0], row["population"])
    ]
    assert missing == []
    known = [_code.hypotheses_of(row["place"], row["class"], row["population"]) for row in rows()]
    assert sum(map(bool, known)) > 0.8 * len(known)
    (row,) = [row for row in rows() if row["class"] == "OneOutputReachesError"]
    conditions = _code.hypotheses_of(row["place"], row["class"], row["population"])
    assert "violated" in {condition.standing for condition in conditions}
    assert any("inputs lie in the unit ball" in condition.name for condition in conditions)


@pytest.mark.rotating(3)
def test_the_map_draws_the_imports_that_the_files_have():
    for path in test_floors.FILES:
        found = _code.imports(path) & set(test_floors.FLOOR)
        assert found == test_floors.rooms(path), path
    below = _house.rooms()
    floors = _house.levels(below)
    assert all(floors[room] > floors[other] for room in below for other in below[room])


def test_the_index_of_words_finds_what_statements_say():
    known = rows()
    index = json.loads(_index.words(known))
    places = [int(place, 36) for place in index["laplacian"].split()]
    assert places
    for place in places:
        assert "laplacian" in json.dumps(known[place]).lower()
    assert not re.search("<", str(_index.words(known)))


def test_a_withdrawn_claim_keeps_its_address(tmp_path, monkeypatch):
    monkeypatch.setattr(_build, "tags", lambda: {"0001": "LinearAsPrinted", "9000": "NoMore"})
    monkeypatch.setattr(_build, "rows", few)
    page = _build.site()["claims/9000.html"]
    assert "NoMore" in page
    assert "no longer in the catalogue" in page
