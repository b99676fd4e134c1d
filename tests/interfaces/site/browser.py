"""A page in headless Chromium: at a width, in a colour scheme, and what axe finds on it."""

import contextlib
import functools
import importlib.util
import pathlib
import shutil

import pytest

WIDE, NARROW = 1280, 390
_PLACES = ("chromium", "chromium-browser", "google-chrome")


@functools.cache
def axe():
    """The text of axe, which checks a page against WCAG."""
    pytest.importorskip("selenium", reason="the extra `oracles` is not installed")
    found = importlib.util.find_spec("selenium_axe_python")
    if found is None:
        pytest.skip("the extra `oracles` is not installed: it brings axe")
    folder = pathlib.Path(next(iter(found.submodule_search_locations)))
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def browser(width=WIDE, dark=False):
    """A driver of headless Chromium; the test is skipped where the machine has none."""
    pytest.importorskip("selenium", reason="the extra `oracles` is not installed")
    program = next(filter(None, map(shutil.which, _PLACES)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium or its driver is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        found.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        found.set_script_timeout(120)
        yield found
    finally:
        found.quit()


def violations(driver, only=(), without=()):
    """What axe finds on the page that is open: the rule, and the first element that breaks it.

    Args:
        only: the rules; none for all that axe applies by default.
        without: rules that are left out.
    """
    driver.execute_script(axe())
    options = {"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in without}}
    options |= {"runOnly": {"type": "rule", "values": list(only)}} if only else {}
    script = "axe.run(arguments[0]).then((found) => arguments[1](found.violations))"
    found = driver.execute_async_script(script, options)
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


def complaints(driver):
    """What the console of the browser says of the pages since it was asked last: what a policy forbade, and errors."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def overflow(driver):
    """Pixels by which the page is wider than the window."""
    script = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    return driver.execute_script(script)


def until(driver, script, holds):
    """Waits until what a script returns has come to hold; fails with what it returned last."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    try:
        WebDriverWait(driver, 60).until(lambda driver: holds(driver.execute_script(script)))
    except TimeoutException:
        pytest.fail(f"{script}: {driver.execute_script(script)}")
