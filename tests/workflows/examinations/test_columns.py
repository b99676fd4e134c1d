"""The columns of a table become the numbers of a model: kinds that are taken, and kinds that are refused."""

import datetime

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError
from lemmata.workflows.examinations._row_names import Names
from lemmata.workflows.examinations._rows import _matrix, _Table

WHOLE, PARTS, TRUTHS = [3, 1, 2], [0.5, -1.5, 2.0], [True, False, True]


def table(**columns):
    return _Table("rows.csv", pl.DataFrame(columns), None, Names(words="rows"))


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"a": WHOLE, "b": WHOLE}, np.int64), ({"a": WHOLE, "b": PARTS}, np.float64),
        ({"a": PARTS, "b": WHOLE}, np.float64), ({"a": TRUTHS, "b": WHOLE}, np.float64),
        ({"a": WHOLE, "b": TRUTHS}, np.float64),
    ],
)  # fmt: skip
def test_numbers_and_truths_become_a_matrix(columns, kind):
    found = _matrix(table(**columns), list(columns))
    assert found.dtype == kind
    np.testing.assert_array_equal(found, np.array(list(columns.values()), float).T)
    np.testing.assert_array_equal(_matrix(table(**columns), ["b"])[:, 0], np.array(columns["b"], float))


def test_a_gap_is_refused_unless_it_may_be_there():
    for place in ("a", "b"):
        own = table(**{"a": WHOLE, "b": WHOLE, place: [1, None, 2]})
        with pytest.raises(DataError, match=f"column '{place}', row 1 .*; found a cell that is empty"):
            _matrix(own, ["a", "b"])
        found = _matrix(own, ["a", "b"], gaps=True)
        assert np.isnan(found).sum() == 1
        assert np.isnan(found[1, "ab".index(place)])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["x", "y", "z"], "words, for example 'x'"), ([None, "y", "z"], "words, for example 'y'"),
        ([datetime.date(2020, 1, 1)] * 3, "date, for example '2020-01-01'"), ([None] * 3, "only empty cells"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["a", "b"])
def test_other_kinds_are_refused_wherever_they_stand(column, words, place):
    own = table(**{"a": WHOLE, "b": TRUTHS, place: column})
    with pytest.raises(DataError, match=rf"column '{place}'; found {words}; rule: numbers"):
        _matrix(own, ["a", "b"])


def test_a_table_without_inputs_is_refused():
    with pytest.raises(DataError, match="only the target column"):
        _matrix(table(a=WHOLE), [])
