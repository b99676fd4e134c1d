"""A site of a few claims: what stands on its pages, how they behave in a browser, and what axe says of them."""

import html
import json
import pathlib
import re
import tomllib

import pytest

from lemmata.engine.catalogue import all_runs, entries, part_of, rows
from lemmata.engine.sources import chapters
from lemmata.interfaces.report import number
from lemmata.interfaces.search import ask, ask_all
from lemmata.interfaces.site import (
    _build,
    _code,
    _front,
    _house,
    _pictures,
    _problems,
    _search,
    _sources,
    _table,
)
from lemmata.interfaces.site._heights import LIMIT
from tests import test_floors
from tests.interfaces.search.test_search import SAME_NAME
from tests.interfaces.site.browser import NARROW, WIDE, browser, complaints, overflow, until, violations
from tests.interfaces.site.making import few, made

KINDS = (
    "index.html", "search.html", "claims.html", "claims/0009.html", "claims/0201.html", "claims/0005.html",
    "subjects/index.html",
    "subjects/diffusion.html", "subjects/scaling.html", "sources/index.html", "sources/emergence2026.html",
    "sources/foundation2025.html", "sources/li2025incontext.html",
    "house.html", "docs/index.html", "docs/tutorial.html", "docs/kernels.html", "docs/design.html",
    "docs/examples/index.html", "reference/index.html", "reference/kernels.html",
    "reference/interfaces.python.html", "reference/subjects.bounds.html", "reference/subjects.dynamics.html",
    "claims/0367.html", "docs/examples/trust.html",
)  # fmt: skip
QUERIES = tomllib.loads((pathlib.Path(__file__).parents[1] / "search" / "queries.toml").read_text())["query"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The whole site, but for most of the claims."""
    return made(tmp_path_factory.mktemp("few"), whole=False)


# What the style sheet says by width names no colour, so each page is seen once at each width and once in each scheme.
@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True)])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_window(small, width, dark):
    with browser(width, dark) as driver:
        for page in KINDS:
            driver.get(f"{(small / page).as_uri()}")
            assert violations(driver) == [], page
            assert overflow(driver) == 0, page
            assert driver.execute_script("return document.documentElement.scrollHeight") < LIMIT, page
            assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == (
                "rgb(21, 23, 27)" if dark else "rgb(255, 255, 255)"
            )


SHIFTS = """window.shifts = []; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) shifts.push(entry.value);
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_moves_while_a_page_loads(small, width):
    pages = ("index.html", "claims.html", "claims.html#verdict=refuted", "claims/0009.html", "docs/tutorial.html",
             "docs/examples/index.html", "docs/examples/attempts.html", "docs/in_context/finite-precision.html",
             "docs/study.html", "subjects/scaling.html", "search.html?q=grokking", "sources/foundation2025.html",
             "reference/kernels.html")  # fmt: skip
    moving = small / "moving.html"
    moving.write_text("<p>a</p><script>setTimeout(() => { document.body.prepend(document.createElement('pre')); "
                      "document.body.firstChild.style.height = '200px'; }, 200)</script>")  # fmt: skip
    with browser(width) as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SHIFTS})
        for page in pages:
            driver.get("about:blank")
            driver.get(f"{small.as_uri()}/{page}")
            driver.execute_async_script("setTimeout(arguments[0], 300)")
            assert sum(driver.execute_script("return shifts")) < 0.001, page
        driver.get(moving.as_uri())
        until(driver, "return shifts.length", lambda number: number > 0)
    moving.unlink()


CUT = """return [...document.querySelectorAll('main pre, main .scroll, main .tall, main .chart')].filter((part) =>
  part.clientWidth && (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1)
  && getComputedStyle(part).overflow !== 'visible').map((part) => part.outerHTML.slice(0, 100))"""
"""Parts of a page that show less than they have."""


@pytest.mark.parametrize("page", ["claims.html", "docs/examples/double_descent.html", "claims/0009.html"])
def test_paper_has_what_a_screen_scrolls(small, page):
    paper = 718  # pixels across a sheet of A4 between its margins
    with browser(paper) as driver:
        driver.get((small / page).as_uri())
        driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
        assert driver.execute_script(CUT) != [], "on a screen"
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert driver.execute_script(CUT) == []
        lines = "return [...document.querySelectorAll('main pre')].map((part) => part.scrollWidth - part.clientWidth)"
        assert max(driver.execute_script(lines), default=0) <= 0
        assert overflow(driver) == 0


def test_an_address_opens_what_it_names_within_something_folded(small):
    with browser(NARROW) as driver:
        driver.get((small / "sources" / "foundation2025.html").as_uri() + "#problem-3")
        opened = "return [...document.querySelectorAll('details[open]')].map((part) => part.id)"
        assert driver.execute_script(opened) == ["problem-3"]
        driver.execute_script("location.hash = '#problem-5'")
        until(driver, opened, lambda found: found == ["problem-3", "problem-5"])
        assert complaints(driver) == []


def test_axe_would_find_a_picture_without_words_and_text_without_contrast(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<html lang="en"><title>t</title><main><h1>h</h1><img src="x.png"><p style="color:#bbb">pale</p>')
    with browser() as driver:
        driver.get(page.as_uri())
        assert {rule for rule, _ in violations(driver)} >= {"image-alt", "color-contrast"}


SHOWN = "return [...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length"
FIRST = "return [...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden)[0].cells[0].textContent"


def after(driver, said):
    """Waits until the status of the page says something, which it does once the index is there."""
    # The page may still be the one that the driver is about to leave.
    line = "const told = document.querySelector('[role=status]'); return told ? told.textContent : ''"
    until(driver, line, lambda found: said in found)


def test_the_table_is_searched_and_filtered_and_the_address_keeps_it(small):
    known = few()
    with browser() as driver:
        index = (small / "claims.html").as_uri()
        driver.get(index)
        assert driver.execute_script(SHOWN) == len(known)
        assert not driver.execute_script("return 'lemmata' in window"), "the index is loaded when it is asked"
        tools = sum(row["tool"] == "Fourier analysis" for row in known)
        driver.get(f"{index}#tool=Fourier+analysis")
        assert driver.execute_script(SHOWN) == tools > 0
        box = driver.find_element("css selector", "#filters [name=search]")
        box.send_keys("zebra")
        after(driver, f"0 of {len(known)} claims")
        assert "search=zebra" in driver.current_url
        driver.find_element("tag name", "button").click()
        assert driver.execute_script(SHOWN) == len(known)
        box.send_keys("barron parametre of gausian")
        after(driver, "these have the nearest spelling")
        assert 1 <= driver.execute_script(SHOWN) < len(known)
        assert "Barron" in driver.execute_script(FIRST)
        assert complaints(driver) == []


def test_the_search_of_every_page_leads_to_what_it_found(small):
    with browser() as driver:
        driver.get((small / "claims" / "0009.html").as_uri())
        box = driver.find_element("name", "q")
        box.send_keys("write a claim")
        box.submit()
        after(driver, "result")
        found = driver.execute_script(
            "return [...document.querySelectorAll('#results a')].slice(0, 5).map(a => a.href)"
        )
        assert any("docs/claims.html" in address for address in found)
        driver.get(f"{(small / 'search.html').as_uri()}?q=tangent+kernel+zebra")
        after(driver, "No result has all words")
        assert "'tangent kernel'" in driver.find_element("id", "told").text
        driver.get(f"{(small / 'search.html').as_uri()}?q=kernel_ridge&of=reference")
        after(driver, "result")
        assert driver.find_element("css selector", "#results a").text == "kernel_ridge"


def test_the_browser_finds_what_the_command_line_finds(small):
    known = few()
    typed = [query["typed"] for query in QUERIES] + ["over-parametrised Rényi's", "tagnent kernal", "the", "x", "of of"]
    typed += [*SAME_NAME, *(row["tag"] for row in known[:3]), "tag 0005", "1 mu", "mu pi", "xmu-p"]
    own_shelves = _search.all_shelves(known)
    script = "return arguments[0].map(typed => lemmata.search.askAll(typed))"
    with browser() as driver:
        driver.get(f"{(small / 'search.html').as_uri()}?q=kernel")
        after(driver, "result")
        for words, found in zip(typed, driver.execute_script(script, typed), strict=True):
            for shelf in own_shelves:
                own = ask(shelf, words)
                there = found["of"][shelf.name]
                assert [hit["place"] for hit in there["hits"]] == list(own.hits), words
                assert [hit["place"] for hit in there["near"]] == list(own.near), words


def test_the_keyboard_reaches_the_content_first_and_without_scripts_the_table_is_whole(small):
    with browser() as driver:
        driver.get((small / "claims" / "0005.html").as_uri())
        from selenium.webdriver.common.keys import Keys

        driver.find_element("tag name", "body").send_keys(Keys.TAB)
        assert driver.switch_to.active_element.text == "Skip to the content"
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        driver.get((small / "claims.html").as_uri())
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


def test_a_subject_shows_the_picture_of_its_tools(small):
    page = (small / "subjects" / "scaling.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img src="../docs/pictures/scaling.svg"[^>]* alt="Left, losses with the fitted law', page)
    assert len(pictures) == 1
    assert 'width="633" height="321"' in pictures[0]
    assert (small / "docs" / "pictures" / "scaling.svg").is_file()
    assert "<img" not in (small / "subjects" / "diffusion.html").read_text(encoding="utf-8")


def test_sources_are_listed_by_title_and_lead_to_the_work(small):
    page = (small / "sources" / "index.html").read_text(encoding="utf-8")
    titles = re.findall(r'<th scope="row"><a href="\w+\.html">([^<]+)</a></th><td>', page)
    plain = [re.sub(r"^(A|An|The) |\W", "", html.unescape(title)).lower() for title in titles]
    assert len(titles) > 20
    assert plain == sorted(plain)
    assert '<a href="https://arxiv.org/abs/2506.05200">arXiv:2506.05200</a>' in page
    own = (small / "sources" / "li2025incontext.html").read_text(encoding="utf-8")
    assert '<a href="https://arxiv.org/abs/2506.05200">' in own
    assert "@article{li2025incontext" in own


def test_a_claim_can_be_cited_downloaded_and_followed_to_what_it_runs(small):
    row = next(row for row in few() if row["tag"] == "0201")
    page = (small / "claims" / "0201.html").read_text(encoding="utf-8")
    assert "@misc{lemmata-0201," in page
    assert '<a href="0201.json">' in page
    assert json.loads((small / "claims" / "0201.json").read_text(encoding="utf-8"))["name"] == row["name"]
    for name in all_runs()[row["name"]]:
        assert f"<code>{name}</code>" in page


def test_a_source_in_part_says_which_chapters_are_listed(small):
    said = "The list covers chapters "
    page = (small / "sources" / "emergence2026.html").read_text(encoding="utf-8")
    assert f"{said}{', '.join(map(str, chapters('emergence2026')))};" in page
    assert page.count('<span class="soft">(caption)</span>') > 50
    assert said not in (small / "sources" / "foundation2025.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("number", "parts"), [(0, [0]), (300, [300]), (301, [150, 151]), (903, [225, 226, 226, 226])])
def test_the_statements_of_a_source_are_divided_evenly_among_its_pages(number, parts):
    """A page of as many statements as may stand on one is almost too large, next to a short one."""
    divided = _sources._parts("li2025incontext", {"statements": list(range(number))})
    assert [len(part["statements"]) for part in divided] == parts
    assert [each for part in divided for each in part["statements"]] == list(range(number))


def test_a_misprint_and_its_correction_name_each_other(small):
    wrong = (small / "claims" / "0005.html").read_text(encoding="utf-8")
    right = (small / "claims" / "0006.html").read_text(encoding="utf-8")
    assert "Corrected by" in wrong
    assert 'href="../claims/0006.html"' in wrong
    assert "Corrects" in right
    assert 'href="../claims/0005.html"' in right
    house = (small / "house.html").read_text(encoding="utf-8")
    assert 'href="claims/0006.html"' in house


def test_the_survey_stands_with_its_verdicts_references_and_problems(small):
    page = (small / "sources" / "foundation2025.html").read_text(encoding="utf-8")
    assert page.count('<details class="problem" id="problem-') == 7
    for word in ("unverifiable", "contradictory", "altered", "Its references"):
        assert word in page
    first = (small / "sources" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="count">The number 114</h2>' in first


def test_an_open_problem_has_its_statement_what_is_known_a_probe_and_its_picture():
    known = rows()
    found = _problems.entries_of("foundation2025", known, lambda name: None)
    assert [entry.problem.number for entry in found] == list(range(1, 8))
    for entry in found:
        assert entry.claims == sum(row["problem"] == entry.problem.number for row in known)
        assert len(entry.probes) >= 1
        for probe in entry.probes:
            verdict, numbers = probe.row["verdict"], dict(probe.numbers)
            assert probe.picture.count("<svg") == 1
            assert "control: " in probe.picture
            assert numbers["Control"].endswith("refuted")
            (stated,) = [panel.stated for panel in _pictures.panels(probe.row)[:1]]
            assert numbers["Predicted"].endswith(number(stated))
            middle = verdict["slack"][1] if numbers["Quantity"] == "predicted / measured" else verdict["estimate"]
            assert numbers["Measured"].startswith(f"{number(middle)}, from ")
    pages = _sources.source_pages(known, {})
    page = pages["sources/foundation2025.html"]
    assert page.count("<figure>") == 7
    assert page.count("<svg") == sum(len(entry.probes) for entry in found)
    assert len(page.encode()) < 250_000
    assert 'id="problem-' not in pages["sources/gu2024softmax.html"]


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


def test_every_hypothesis_of_every_claim_has_its_words():
    found = [own for row in rows() for own in _code.hypotheses_of(row["place"], row["class"], row["population"])]
    assert len(found) > 2000
    for own in found:
        assert not own.name.startswith("…"), own
        assert not re.search(r"=$|(?<!`)--[a-z]", f"{own.name}\n{own.why}", re.M), own
    given = [own for own in found if own.name == "deployment rows are given"]
    assert {(own.asked, own.why) for own in given} == {("", "pass `--deploy`, or `deployed=`")}


def test_the_map_draws_the_imports_that_the_files_have():
    for path in test_floors.FILES:
        own = {part_of(test_floors.module_of(path)), "version"}
        assert _code.imports(path) - own == test_floors.rooms(path) - own, path
    below = _house.rooms()
    floors = _house.levels(below)
    assert all(floors[room] > floors[other] for room in below for other in below[room])


def test_the_first_page_and_the_table_stay_small(small):
    assert len((small / "index.html").read_bytes()) < 60_000
    known = rows()
    page, empty = (len(_table.table_page(own).encode()) for own in (known, known[:1]))
    assert (page - empty) / (len(known) - 1) * 1050 + empty < 300_000
    assert len((small / "search.js").read_bytes()) < 1_500_000


def test_the_first_page_names_claims_that_are_there_and_shows_a_picture_for_each_question():
    by_class = {row["class"]: row for row in rows()}
    chosen = _front._chosen()
    assert len(chosen["false"]) == 10
    for each in chosen["false"]:
        wrong, right = by_class[each["claim"]], by_class[each["correction"]]
        assert wrong["status"] == "refuted"
        assert wrong["passage"], "a passage of a source is accused, and where it stands is known"
        assert right["status"] == "supported"
        assert right["corrects"] == wrong["name"]
    assert all(by_class[name]["kind"] == "own result" for name in chosen["own"])
    page = _front.front_page(rows())
    assert page.count("<img ") + page.count("<svg") == len(chosen["question"]) == 4
    assert page.count("The work would be right if") == 10
    assert "Claim G.1, as printed" in page, "an accusation names the place of the words"


def test_a_withdrawn_claim_keeps_its_address(tmp_path, monkeypatch):
    monkeypatch.setattr(_build, "tags", lambda: {"0005": "LinearAsPrinted", "9000": "NoMore"})
    monkeypatch.setattr(_build, "rows", few)
    page = _build.site()["claims/9000.html"]
    assert "NoMore" in page
    assert "no longer in the catalogue" in page


OF_PAGES = [query for query in QUERIES if ":" in "".join(query["must"])]


@pytest.mark.parametrize("query", OF_PAGES, ids=lambda query: query["typed"].replace(" ", "_"))
def test_what_people_ask_finds_a_page_or_a_name_among_the_first_five(everything, query):
    best = [shelf.items[place].name for shelf, place in ask_all(everything, query["typed"])[:5]]
    for must in query["must"]:
        assert set(must.split("|")) & set(best), f"{must} is not among {best}"


@pytest.fixture(scope="module")
def everything():
    return _search.all_shelves(rows())
