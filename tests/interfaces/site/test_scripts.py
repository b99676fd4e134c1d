"""The scripts of the site's front page, table of claims and listings do their work in a browser."""

import re

import pytest
from markupsafe import escape

from lemmata.engine.catalogue import rows
from lemmata.interfaces.site import _build, _claims, _documents, _front, _pages, _published, _search, _table
from tests.interfaces.site.browser import browser, complaints, until

NAME = "tutorial"
SESSION = '<pre class="code"><code>$ lemmata list\n3 claims\n$ lemmata map</code></pre>'
SHOWN = "return [...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length"


@pytest.mark.parametrize(("address", "loads"), [("claims.html", True), ("search.html", True), ("index.html", False)])
def test_only_pages_with_the_search_index_may_load_scripts(address, loads):
    text = _pages.page("missing.html", address, "", "No page here", base="")
    (policy,) = re.findall("script-src ([^;]*);", text)
    assert ("'self'" in policy or "file:" in policy) == loads, policy


@pytest.fixture(scope="module")
def known():
    found = rows()
    return [*(row for row in found if row["status"] == "refuted"), *found[:30]][:45]


@pytest.fixture(scope="module")
def pages(tmp_path_factory, known):
    """The few pages that have scripts, without those of claims."""
    (document,) = [own for own in _documents.documents() if own.name == NAME]
    found = {
        "site.css": _build._style(),
        "index.html": _front.front_page(rows()),
        "claims.html": _table.table_page(known),
    }
    found |= _search.search_pages(known)
    found |= _documents._page_of(document, None, {})
    found[document.address] = str(found[document.address]).replace("</article>", f"{SESSION}</article>")
    folder = tmp_path_factory.mktemp("site")
    for name, text in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def amiss(driver):
    """What the browser complains of, but for pictures and pages that are left out here."""
    return [line for line in complaints(driver) if "ERR_FILE_NOT_FOUND" not in line]


@pytest.fixture(scope="module")
def window():
    with browser() as driver:
        yield driver


def test_an_old_address_of_the_front_page_leads_to_the_filtered_table(window, pages, known):
    index = (pages / "index.html").as_uri()
    window.get(index)
    assert window.current_url == index
    assert amiss(window) == []
    window.get("about:blank")
    window.get(f"{index}#verdict=refuted")
    until(window, "return location.pathname", lambda found: found.endswith("/claims.html"))
    refuted = sum(row["status"] == "refuted" for row in known)
    assert 0 < refuted < len(known)
    until(window, SHOWN, lambda found: found == refuted)
    window.find_element("css selector", "#filters button").click()
    assert window.execute_script(SHOWN) == len(known)
    assert amiss(window) == []


def test_the_search_of_the_table_loads_its_index_and_narrows(window, pages, known):
    window.get((pages / "claims.html").as_uri())
    box = window.find_element("css selector", "#filters [name=search]")
    box.send_keys(known[0]["title"])
    status = "return document.querySelector('[role=status]').textContent"
    until(window, status, lambda found: f"of {len(known)} claims" in found and "loading" not in found)
    assert 1 <= window.execute_script(SHOWN) < len(known)
    assert amiss(window) == []


FIRST = "return [...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden)[0].cells[0].textContent"


def test_without_a_search_refuted_claims_come_first_and_then_the_tightest(known):
    found = [_table._rank(row) for row in sorted(known, key=_table._rank)]
    refuted = sum(row["status"] == "refuted" for row in known)
    assert all(rank[0] == 0 for rank in found[:refuted])
    assert all(rank[0] > 0 for rank in found[refuted:])
    text = _table.table_page([*known[refuted:], *known[:refuted]])
    addresses = re.findall(r"<td><a href=(claims/\S+?\.html)", text)
    assert len(addresses) == len(known)
    assert set(addresses[:refuted]) == {_pages.claim_address(row) for row in known if row["status"] == "refuted"}
    tight = [row["tightness"] for row in sorted(known, key=_table._rank) if row["status"] == "supported"]
    assert tight == sorted(tight, key=_table.TIGHTNESS.index)
    assert len(set(tight)) > 1


def test_the_search_shows_the_row_that_it_found_in_a_table_of_another_order(window, pages, known):
    order = [row["class"] for row in sorted(known, key=_table._rank)]
    moved = [
        row for place, row in enumerate(known) if order[place] != row["class"] and re.fullmatch(r"[\w ]+", row["title"])
    ]
    assert moved
    for row in (moved[0], moved[-1]):
        window.get("about:blank")
        window.get(f"{(pages / 'claims.html').as_uri()}#search={row['title'].replace(' ', '+')}")
        until(window, FIRST, lambda found, title=row["title"]: found == title)
        assert not window.execute_script("return document.documentElement.classList.contains('sifting')")
    assert amiss(window) == []


CODE = "document.querySelectorAll('pre.code')[{}].querySelector('code').textContent"
CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: text => "


def test_a_button_copies_a_listing_and_of_a_session_what_was_typed(window, pages):
    page = pages / "docs" / f"{NAME}.html"
    window.get(page.as_uri())
    count = window.execute_script("return document.querySelectorAll('pre.code').length")
    buttons = window.find_elements("css selector", ".listing > button.copy")
    assert len(buttons) == count > 1
    window.execute_script(CLIPBOARD + "{ window.kept = text; return Promise.resolve() }}})")
    sessions = 0
    for place, button in enumerate(buttons):
        text = window.execute_script(f"return {CODE.format(place)}")
        typed = [line[2:] for line in text.split("\n") if line.startswith("$ ")]
        sessions += bool(typed)
        window.execute_script("arguments[0].click()", button)
        until(window, f"return document.querySelectorAll('button.copy')[{place}].textContent", "Copied".__eq__)
        assert window.execute_script("return window.kept") == ("\n".join(typed) if typed else text).rstrip() + "\n"
    assert sessions == 1
    window.get(page.as_uri())
    window.execute_script(CLIPBOARD + "Promise.reject(new Error('no'))}})")
    window.execute_script("document.querySelector('button.copy').click()")
    until(window, "return document.querySelector('button.copy').textContent", "Press Ctrl+C".__eq__)
    first = window.execute_script(f"return {CODE.format(0)}")
    assert window.execute_script("return getSelection().toString()").split() == first.split()
    assert amiss(window) == []


PROGRAM = '''import jax  # the "backend"
x = f(1.5, "a # b", r'c')
class A(B):
    """Let x be 1."""
    def format(self): return None
'''


@pytest.fixture(scope="module")
def claims(tmp_path_factory, known):
    """The page of a claim."""
    folder = tmp_path_factory.mktemp("claim")
    row = next(row for row in known if row["tag"])
    page = _claims.claim_page(row, {each["name"]: each for each in known}, {}, _published.Published())
    (folder / "site.css").write_text(_build._style(), encoding="utf-8")
    (folder / "claims").mkdir()
    path = folder / "claims" / "page.html"
    own = f'<pre class="code" data-python id="own"><code>{escape(PROGRAM)}</code></pre>'
    path.write_text(page.replace("</main>", f"{own}</main>"), encoding="utf-8")
    return path


def test_the_code_of_a_claim_is_coloured_and_each_of_its_listings_can_be_copied(window, claims):
    window.get(claims.as_uri())
    colours = "return [...document.querySelectorAll('#own code span')].map(part => [part.className, part.textContent])"
    assert window.execute_script(colours) == [
        ["k", "import"], ["c1", '# the "backend"'], ["mi", "1.5"], ["s1", '"a # b"'], ["s1", "'c'"], ["k", "class"],
        ["s1", '"""Let x be 1."""'], ["k", "def"], ["k", "return"], ["k", "None"],
    ]  # fmt: skip
    assert window.execute_script("return document.querySelector('#own code').textContent") == PROGRAM
    count = window.execute_script("return document.querySelectorAll('main pre').length")
    assert len(window.find_elements("css selector", ".listing > button.copy")) == count >= 4
    assert window.execute_script("return document.querySelectorAll('pre:not(#own) span.k').length") > 3
    assert amiss(window) == []


@pytest.mark.parametrize("anchor", ["%E0%A4%A", "%", "%zz", "statement"])
def test_an_anchor_that_is_no_text_is_no_error(window, claims, anchor):
    window.get("about:blank")
    window.get(f"{claims.as_uri()}#{anchor}")
    assert amiss(window) == []
