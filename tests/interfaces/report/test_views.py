"""Rows and small pictures of a page, from the parts of a record that they show."""

import re

import pytest

from lemmata.interfaces.report import _views
from lemmata.workflows.records.studies import Column


@pytest.mark.parametrize("counts", [[], [0], [0, 0, 0]])
def test_a_column_without_counts_has_no_picture(counts):
    assert _views._histogram(Column("a", "number", 0, 0, counts, "")) == ""


def test_bars_are_as_high_as_their_counts_and_stand_on_one_line():
    picture = str(_views._histogram(Column("a", "number", 0, 3, [1, 0, 4, 2], "0 to 1")))
    bars = re.findall(r'<rect x="(\d+)" y="([\d.]+)" width="6" height="([\d.]+)"/>', picture)
    assert bars == [("0", "16.5", "5.5"), ("14", "0.0", "22.0"), ("21", "11.0", "11.0")]
    assert 'width="28" height="22"' in picture
