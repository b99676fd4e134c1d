"""What the jobs show in a notebook: no script, and nothing that axe objects to on a light or a dark page."""

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import lemmata
from tests.interfaces.site.browser import browser, overflow, violations

PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><body style="{}"><main><h1>x</h1>{}</main>'


def study():
    return lemmata.study("iris", models=["linear", "rbf"], quick=True)


def examined():
    x, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(x[::2], y[::2])
    return lemmata.study_model(model, x[::2], y[::2], held=(x[1::2], y[1::2]))


def compared():
    return lemmata.compare("motif", families=["mlp", "conv"], repeats=2, max_rows=200, lengths="none")


CUT = """return [...document.querySelectorAll('svg text')].filter((label) => {
  const own = label.getBoundingClientRect(), frame = label.closest('svg').getBoundingClientRect();
  return own.width && (own.left < frame.left - 0.5 || own.right > frame.right + 0.5);
}).map((label) => label.textContent)"""
"""The labels that reach beyond their picture."""


@pytest.mark.parametrize("job", [study, examined, compared], ids=lambda job: job.__name__)
def test_a_job_shows_itself_on_a_light_and_on_a_dark_page_without_a_script(job, tmp_path):
    shown = job()._repr_html_()
    assert "<script" not in shown
    assert "<svg" in shown
    page = tmp_path / "page.html"
    for width in (390, 700, 900):
        with browser(width) as driver:
            for colours in ("background: #fff; color: #111", "background: #111; color: #eee"):
                page.write_text(PAGE.format(colours, shown), encoding="utf-8")
                driver.get(page.as_uri())
                assert violations(driver) == [], width
                assert overflow(driver) == 0, width
                assert driver.execute_script(CUT) == [], width
