"""The scripts of a study's and a comparison's page do their work in a browser, where escaped ones would do nothing."""

import csv
import dataclasses
import io
import json
import urllib.parse

import pytest

from lemmata.interfaces.report import write_page
from tests.interfaces.report.example import classified, measured
from tests.interfaces.report.page import Page
from tests.interfaces.report.test_model_page import example, spoiled
from tests.interfaces.report.test_page import spoiled as spoiled_study
from tests.interfaces.site.browser import NARROW, browser, complaints, until

FORMULA = "=HYPERLINK(1)"
DRAWN = "return document.querySelectorAll('#chart-{} .chart-wrapper svg').length"
FAILED = "return [...document.querySelectorAll('[data-failed]')].map(own => own.id + own.dataset.failed)"
ITEMS = "return [...document.querySelectorAll('#chart-{} .vega-actions a')].map(own => own.textContent)"


def named(title):
    """A study whose first model has a name of its own."""
    record = classified()
    first, *others = record.models
    return dataclasses.replace(record, models=[dataclasses.replace(first, title=title), *others])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        "study": write_page(folder / "study", named(FORMULA)),
        "comparison": write_page(folder / "comparison", classified(), measured()),
        "shared": write_page(folder / "shared", classified(), classified()),
        "hostile": write_page(folder / "hostile", spoiled_study(classified())),
        "model": write_page(folder / "model", spoiled(example())),
    }


@pytest.fixture(scope="module")
def window():
    with browser() as driver:
        yield driver


def drawn(driver, name):
    """Waits until a chart is drawn by the script."""
    until(driver, DRAWN.format(name), lambda found: found == 1)


def specs(path):
    return Page(path.read_text(encoding="utf-8")).specs


def test_a_chart_in_sight_is_drawn_and_one_in_a_fold_when_it_opens(window, pages):
    window.get(pages["study"].as_uri())
    drawn(window, "curves")
    for name in ("all-curves", "theory", "spectra", "training-0"):
        assert window.execute_script(DRAWN.format(name)) == 0, "nothing is drawn before it is seen"
        window.execute_script(f"document.getElementById('chart-{name}').closest('details').open = true")
        drawn(window, name)
    for name, own in specs(pages["study"]).items():
        wrapper = window.find_element("css selector", f"#chart-{name} .chart-wrapper")
        assert wrapper.get_attribute("aria-label") == own["spec"]["description"]
        assert wrapper.get_attribute("role") == "img"
    assert window.execute_script(FAILED) == []
    assert complaints(window) == []


@pytest.mark.parametrize(("page", "names"), [("comparison", {"first", "second"}), ("shared", {"curves"})])
def test_every_chart_of_a_comparison_is_drawn(window, pages, page, names):
    window.get(pages[page].as_uri())
    assert set(specs(pages[page])) == names
    for name in names:
        drawn(window, name)
    assert window.execute_script(FAILED) == []
    assert complaints(window) == []


def test_the_menu_saves_what_is_drawn_and_a_formula_as_text(window, pages):
    window.get(pages["study"].as_uri())
    drawn(window, "curves")
    until(window, ITEMS.format("curves"), lambda found: found == ["Save as SVG", "Save as PNG", "Save as CSV"])
    link = window.find_element("css selector", "#chart-curves .vega-actions a:last-child")
    assert link.get_attribute("download") == "curves.csv"
    text = urllib.parse.unquote(link.get_attribute("href").removeprefix("data:text/csv;charset=utf-8,"))
    names, *rows = csv.reader(io.StringIO(text))
    own = specs(pages["study"])["curves"]
    values = own["spec"]["data"]["values"]
    assert names == (own["csv"] or list(values[0]))
    assert len(rows) == len(values)
    place = names.index("model")
    assert {row[place] for row in rows} == {value["model"].replace(FORMULA, f"'{FORMULA}") for value in values}
    assert f"'{FORMULA}" in {row[place] for row in rows}
    number = names.index("n")
    assert [float(row[number]) for row in rows] == [value["n"] for value in values]


def test_an_address_opens_the_folds_around_its_target(window, pages):
    path = pages["study"]
    inner = next(own for own in Page(path.read_text(encoding="utf-8")).ids if own.startswith("claim-"))
    shut = f"return [...document.querySelectorAll('#{inner}, details:has(#{inner})')].filter(own => !own.open).length"
    window.get(path.as_uri())
    assert window.execute_script(shut) == 2
    window.execute_script(f"location.hash = '{inner}'")
    until(window, shut, lambda found: found == 0)
    window.get("about:blank")
    window.get(f"{path.as_uri()}#{inner}")
    assert window.execute_script(shut) == 0
    assert window.execute_script(f"return document.getElementById('{inner}').getBoundingClientRect().top") < 900


def test_a_chart_that_cannot_be_drawn_stays_as_it_was_printed(window, pages):
    window.get(pages["study"].as_uri())
    script = "window.vegaEmbed = () => Promise.reject(new Error('no')); document.getElementById('theory').open = true"
    still = window.execute_script("return document.getElementById('chart-theory').innerHTML")
    window.execute_script(script)
    until(window, FAILED, lambda found: found == ["chart-theoryError: no"])
    assert "<svg" in still
    assert window.execute_script("return document.getElementById('chart-theory').innerHTML") == still


def test_words_of_strangers_run_nothing_and_stop_nothing(window, pages):
    """A dialog of theirs would make every later command fail."""
    window.get(pages["hostile"].as_uri())
    drawn(window, "curves")
    label = window.find_element("css selector", "#chart-curves .chart-wrapper").get_attribute("aria-label")
    assert "<script>alert(1)</script>" in label
    assert window.execute_script(FAILED) == []
    window.get(pages["model"].as_uri())
    assert window.execute_script("return document.scripts.length") == 0
    details = window.find_element("css selector", "details > summary")
    before = window.execute_script("return document.querySelectorAll('details[open]').length")
    details.click()
    assert window.execute_script("return document.querySelectorAll('details[open]').length") == before + 1
    assert complaints(window) == []


def test_a_narrow_window_has_its_charts_whole_and_the_keyboard_reaches_what_scrolls(pages):
    with browser(NARROW) as driver:
        driver.get(pages["study"].as_uri())
        drawn(driver, "curves")
        right = "return document.querySelector('#chart-curves .chart-wrapper svg').getBoundingClientRect().right"
        assert driver.execute_script(right) <= NARROW
        driver.execute_script("document.querySelectorAll('details').forEach(own => { own.open = true })")
        reached = (
            "return [...document.querySelectorAll('.scroll')].filter(own => own.clientWidth).map("
            "own => [own.scrollWidth > own.clientWidth || own.scrollHeight > own.clientHeight, own.tabIndex === 0])"
        )
        until(driver, reached, lambda found: all(scrolls == tab for scrolls, tab in found))
        assert {scrolls for scrolls, _ in driver.execute_script(reached)} == {True, False}
        assert complaints(driver) == []


def test_complaints_of_a_page_are_seen(window, tmp_path):
    """The check that the other tests make can fail: of an error, a rejected promise, and what a policy forbids."""
    page = tmp_path / "page.html"
    for script, said in (
        ("throw new Error('thrown')", "thrown"), ("Promise.reject(new Error('rejected'))", "rejected"),
        ("console.error('told')", "told"), ("eval('1')", "EvalError"),
    ):  # fmt: skip
        policy = "<meta http-equiv='Content-Security-Policy' content=\"script-src 'unsafe-inline'\">"
        page.write_text(f"<!doctype html><head>{policy}</head><script>{script}</script>", encoding="utf-8")
        window.get(page.as_uri())
        assert said in json.dumps(complaints(window))
    assert complaints(window) == [], "each is told once"
