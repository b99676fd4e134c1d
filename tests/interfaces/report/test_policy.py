"""Every page says what it may run and load: its own scripts run, and no script that a stranger put into it."""

import re

import pytest

from lemmata.interfaces.report import secured, write_page, write_verified
from tests.interfaces.report import example as studies
from tests.interfaces.report import test_families, test_model_page, test_verified_page
from tests.interfaces.report.page import Page
from tests.interfaces.site.browser import browser, complaints

CHARTS = "document.querySelectorAll('.chart').length"
INJECTED = (
    "<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 1'>",
    "<a id=bad href='javascript:window.ran=1'>x</a>", "<svg onload='window.ran = 1'></svg>",
    "<style>body { display: none }</style>",
    "<iframe src='data:text/html,x'></iframe>", "<base href='https://elsewhere.invalid/'>",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    first, model = studies.classified(), test_model_page.example()
    return {
        "study": write_page(folder / "study", first),
        "two studies": write_page(folder / "studies", first, studies.measured()),
        "families": write_page(folder / "families", test_families.example()),
        "model": write_page(folder / "model", model),
        "two models": write_page(folder / "models", model, test_model_page.failed()),
        "verdicts": write_verified(test_verified_page.record(rows=[], changes=[]), folder / "verdicts"),
    }


def policy_of(text):
    (found,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    return {part.split()[0]: part.split()[1:] for part in found.split("; ")}


def test_every_kind_of_page_has_a_policy_before_anything_that_it_rules(pages):
    for kind, path in pages.items():
        text = path.read_text(encoding="utf-8")
        policy = policy_of(text)
        assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == ["'none'"], kind
        assert all(source == "'none'" or source.startswith("'sha256-") for source in policy["script-src"]), kind
        assert "'unsafe-inline'" not in policy["style-src-elem"], kind
        assert Page(text).tags[:5] == ["html", "head", "meta", "meta", "meta"], kind
        assert text.index("http-equiv") < min(text.index("<style"), text.index("<title")), kind


def waited(driver, script):
    """What a script returns, once that is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 100).until(lambda driver: driver.execute_script(script))


def test_pages_work_and_a_strangers_scripts_do_not(pages, tmp_path):
    text = pages["model"].read_text(encoding="utf-8")
    with browser() as driver:
        for kind, path in pages.items():
            driver.get(path.as_uri())
            driver.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
            if driver.find_elements("id", "specs"):
                drawn = ".chart .vega-actions, .chart[data-failed]"
                waited(driver, f"return document.querySelectorAll('{drawn}').length == {CHARTS}")
                link = "document.querySelector('.vega-actions a')"
                driver.execute_script(f"{link}.dispatchEvent(new MouseEvent('mousedown'))")
                assert waited(driver, f"return {link}.href.startsWith('data:image') || {link}.href.startsWith('blob:')")
            assert not driver.find_elements("css selector", ".chart[data-failed]"), kind
            assert complaints(driver) == [], kind
        for place, injected in enumerate(INJECTED):
            bad = tmp_path / f"{place}.html"
            bad.write_text(text.replace("<main>", f"<main>{injected}", 1), encoding="utf-8")
            driver.get(bad.as_uri())
            driver.execute_script("document.querySelectorAll('#bad').forEach(link => link.click())")
            assert driver.execute_script("return window.ran") is None, injected
            assert driver.execute_script("return getComputedStyle(document.body).display") != "none", injected
            assert "elsewhere" not in driver.execute_script("return document.baseURI")
            assert complaints(driver), injected


def test_a_digest_is_that_of_the_text_that_a_browser_reads():
    page = '<!doctype html>\n<head>\n<meta charset="utf-8">\n<script>{}</script></head>'
    alike = [policy_of(secured(page.format(f"a{end}b")))["script-src"] for end in ("\n", "\r\n", "\r")]
    assert alike[0] == alike[1] == alike[2]
    assert alike[0] != policy_of(secured(page.format("a b")))["script-src"]
    data = '<script type="application/json">{}</script>'
    assert policy_of(secured(page.format("") + data))["script-src"] == policy_of(secured(page.format("")))["script-src"]
    assert secured("<p>a fragment</p>") == "<p>a fragment</p>"
