"""Two studies on one page."""

import dataclasses
import re

import pytest

from lemmata.interfaces.report import write_page
from tests.interfaces.report.example import classified, empty, measured, noise
from tests.interfaces.report.page import Page
from tests.interfaces.report.test_page import PAYLOAD


def compared(first, second, directory):
    return Page(write_page(directory, first, second).read_text(encoding="utf-8"))


def test_the_same_metric_shares_a_picture(tmp_path):
    first = classified()
    second = classified(answers=dataclasses.replace(first.answers, best="linear", asked=0.8))
    page = compared(first, second, tmp_path)
    assert set(page.specs) == {"curves"}
    rows = page.specs["curves"]["spec"]["data"]["values"]
    assert {row["model"] for row in rows} == {"flowers.csv (first): RBF kernel", "flowers.csv (second): linear model"}
    assert "value to reach accuracy 90.0 % accuracy 80.0 %" in page.words
    assert "rows for that value 360 (290 to no upper limit) 360 (290 to no upper limit)" in page.words
    assert page.words.count("Reaching accuracy 90.0 % takes about 360 rows") == 2


def test_both_pages_have_one_frame(tmp_path):
    record = classified()
    first = write_page(tmp_path / "one", record).read_text(encoding="utf-8")
    first = re.sub('<meta name="lemmata-files".*\n', "", first)  # of the files of one record
    second = write_page(tmp_path / "two", record, record).read_text(encoding="utf-8")
    for start, end in (("<!doctype", "<title>"), ("</title>", "<header>"), ("</main>", '<script type="app')):
        parts = [page[page.index(start) : page.index(end)] for page in (first, second)]
        assert parts[0] == parts[1]


@pytest.mark.parametrize("other", [measured, noise])
def test_other_metrics_and_noise_stand_beside_each_other(tmp_path, other):
    page = compared(classified(), other(), tmp_path)
    assert set(page.specs) == {"first", "second"}
    assert "flowers.csv and prices.csv" in page.words
    assert len(page.ids) == len(set(page.ids))


def test_an_empty_study_and_hostile_names(tmp_path):
    record = classified()
    named = classified(data=dataclasses.replace(record.data, name=PAYLOAD, target=PAYLOAD))
    page = compared(named, empty(), tmp_path)
    assert set(page.specs) == {"first"}
    assert page.tags.count("script") == compared(record, empty(), tmp_path / "plain").tags.count("script")
    assert "<script>alert(1)</script>" in page.words
