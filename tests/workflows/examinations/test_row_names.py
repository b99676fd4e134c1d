"""Rows are named as their owner finds them: by the index of a frame, by the lines of a file, else by places from 0."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import lemmata
from lemmata.workflows.examinations._row_names import PLACES, Names, names_in_file, names_in_frame
from lemmata.workflows.examinations._row_table import _names

CSV = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n"
FILES = {
    "plain": ("rows.csv", CSV.encode(), 3, "2, 4 (lines of rows.csv)"),
    "compressed": ("rows.csv.gz", gzip.compress(CSV.encode()), 3, "2, 4 (lines of rows.csv.gz)"),
    "blank lines": ("rows.csv", CSV.replace("3,4", "\n\n3,4").encode(), 3, "2, 6 (lines of rows.csv)"),
    "Windows": ("rows.tsv", CSV.replace("\n", "\r\n").encode(), 3, "2, 4 (lines of rows.tsv)"),
    "a cell of two lines": (
        "rows.csv",
        CSV.replace("1,2", '"1\n",2').encode(),
        3,
        "0, 2 (rows of rows.csv below its header, counted from 0)",
    ),
    "Parquet": ("rows.parquet", b"PAR1", 3, "0, 2 (rows of rows.parquet, counted from 0)"),
}


@pytest.mark.parametrize("name", FILES)
def test_rows_of_files_are_lines_where_each_row_is_one(tmp_path, name):
    file, content, rows, told = FILES[name]
    (tmp_path / file).write_bytes(content)
    assert names_in_file(tmp_path / file, rows).told([0, 2]) == told


def test_rows_of_frames_have_their_index():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    assert names_in_frame(frame).told([2, 0]) == "w, u (index of the frame)"
    assert names_in_frame(frame.iloc[1:]).told([0]) == "v (index of the frame)"
    for other in (frame.reset_index(), np.zeros((3, 1)), [[1.0]], pl.DataFrame({"a": [1.0]}), None):
        assert names_in_frame(other) == PLACES.training
    assert Names(["u", "v"], "index").of(np.array([False, True])).told([0]) == "v (index)"
    assert Names().of(np.array([False, True, True])).told([1]) == "2 (counted from 0)"
    assert Names().told(range(20)) == "0, 1, 2, 3, 4, 5, 6, 7 and others (counted from 0)"


@pytest.mark.seconds(10)
def test_rows_with_wrong_labels_are_found_by_the_names_that_are_told():
    """Of the rows that are named nearly all are wrong, by the index of a frame and by places."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 4))
    right = (x @ [3.0, -2.0, 1.0, 0.0] > 0).astype(int)
    wrong = rng.permutation(400)[:40]
    y = right.copy()
    y[wrong] = 1 - y[wrong]
    index = [f"case {number}" for number in rng.permutation(400)]
    model = LogisticRegression().fit(x, y)
    for rows, name in ((x, lambda place: str(place)), (pd.DataFrame(x, index=index), lambda place: index[place])):
        found = lemmata.study_model(model, rows, y, decay=0.0025)
        (text,) = [own.text for own in found.record.findings if "training labels look wrong" in own.text]
        named = text.split("training rows ")[1].split(" (")[0].removesuffix(" and others").split(", ")
        known = {name(place) for place in wrong}
        assert len(named) == 8
        assert len(known & set(named)) >= 7


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([3, np.int64(5)], [3, 5]),
        ([3, "b"], ["3", "b"]),
        ([1.5, 2.0], ["1.5", "2.0"]),
        ([True, False], ["True", "False"]),
        ([np.int32(7)], [7]),
    ],
)
def test_whole_numbers_stay_numbers_in_the_table_of_rows(given, told):
    found = _names(given)
    assert found == told
    assert [type(name) for name in found] == [type(name) for name in told]
