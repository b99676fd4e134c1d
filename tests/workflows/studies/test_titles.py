"""Titles above a table are left out and told; headers of any kind stay."""

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._final_table import raw_table
from lemmata.workflows.studies._titles import title_lines, title_rows
from tests.workflows.studies.test_wild_tables import sheets

ROWS = 40
TABLE = pl.DataFrame({"a": np.arange(ROWS) % 7 + 0.5, "b": np.arange(ROWS) % 3, "y": np.arange(ROWS) * 1.0})
TITLES = {
    "one line": "Sales of 2024\n",
    "two lines and a blank one": "Sales of 2024\nof the north\n\n",
    "empty fields": "Sales of 2024{0}{0}\n{0}{0}\n",
    "a title with another separator": "Sales{1} of 2024\n\n",
}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("title", TITLES)
def test_a_title_is_left_out(tmp_path, title, separator):
    other = " -"
    text = TITLES[title].format(separator, other) + TABLE.write_csv(separator=separator)
    (tmp_path / "t.csv").write_text(text)
    found = load_dataset(tmp_path / "t.csv", "y")
    np.testing.assert_array_equal(found.targets[:, 0], TABLE["y"])
    assert found.raw_features == ("a", "b")
    assert any("above the header left out, beginning 'Sales" in note for note in found.notes)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a\n1,5\n2,5\n", ",b\n1,2\n", "b,\n1,2\n", "a b\n1 2\n",
                                  "name;x;y\n1;2;3\n", '"a\nb",c\n1,2\n', "b,c\n1,2,3\n"])  # fmt: skip
def test_a_header_is_no_title(text):
    assert title_lines(text.splitlines(keepends=True), ",;\t|") == 0


@pytest.mark.parametrize(("rows", "titles"), [
    ([("Sales", None, None), ("a", "b", "y"), (1, 2, 3)], 1),
    ([("Sales", None, None), (None, None, None), ("a", "b", "y"), (1, 2, 3)], 2),
    ([("a", "b", "y"), (1, 2, 3)], 0),
    ([("a", None), (1, 2)], 0),
])  # fmt: skip
def test_rows_above_the_header_of_a_sheet(rows, titles):
    assert title_rows(rows) == titles


@pytest.mark.parametrize("ends", ["\r", "\r\n", "\n"])
def test_lines_may_end_in_any_way(tmp_path, ends):
    (tmp_path / "t.csv").write_bytes(TABLE.write_csv().replace("\n", ends).encode())
    np.testing.assert_array_equal(load_dataset(tmp_path / "t.csv", "y").targets[:, 0], TABLE["y"])


@pytest.mark.parametrize(("name", "title"), [("t.csv", "Sales\n\n"), ("t.csv", "\nSales of 2024,,\n"), ("t.csv", "")])
def test_the_program_of_a_saved_model_leaves_the_title_out(tmp_path, name, title):
    pandas = pytest.importorskip("pandas")
    (tmp_path / name).write_text(title + TABLE.write_csv())
    raw = raw_table(str(tmp_path / name), load_dataset(tmp_path / name, "y"))
    function, settings = raw.reading
    assert function == "pandas.read_csv"
    assert pandas.read_csv(tmp_path / name, **settings).columns.tolist() == ["a", "b", "y"]


@pytest.mark.parametrize("above", [[["Sales"]], [["Sales"], [""]], [], [[], ["Sales"], []], [[], [], ["Sales"]], [[]]])
def test_a_sheet_with_a_title(tmp_path, above):
    body = [TABLE.columns, *map(list, TABLE.iter_rows())]
    sheets(tmp_path / "t.xlsx", {"Data": [*above, *body]})
    found = load_dataset(tmp_path / "t.xlsx", "y")
    np.testing.assert_array_equal(found.targets[:, 0], TABLE["y"])
    assert raw_table(str(tmp_path / "t.xlsx"), found).reading[1] == ({"skiprows": len(above)} if above else {})


COMMENTS = {
    "a line": ("# from the laboratory\n", "a{0}b{0}y\n"),
    "lines and a blank one": ("# from the laboratory\n# in 2024\n\n", "a{0}b{0}y\n"),
    "as many fields as the table": ("# sales{0} of 2024{0} in the north\n", "a{0}b{0}y\n"),
    "the names in a comment": ("# from the laboratory\n", "#a{0}b{0}y\n"),
}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("lines", COMMENTS)
def test_comments_above_the_header_are_left_out(tmp_path, lines, separator):
    above, header = (text.format(separator) for text in COMMENTS[lines])
    (tmp_path / "t.csv").write_text(above + header + TABLE.write_csv(separator=separator, include_header=False))
    found = load_dataset(tmp_path / "t.csv", "y")
    np.testing.assert_array_equal(found.targets[:, 0], TABLE["y"])
    assert found.raw_features == (header.split(separator)[0], "b")
    assert any("above the header left out, beginning '# " in note for note in found.notes)


@pytest.mark.parametrize("above", ["a b y\n", "# made by us\n\na b y\n", "# a b y\n", "# made by us\n# a b y\n"])
def test_comments_above_fields_that_blanks_separate(tmp_path, above):
    (tmp_path / "t.dat").write_text(above + TABLE.write_csv(separator=" ", include_header=False))
    found = load_dataset(tmp_path / "t.dat", "y")
    np.testing.assert_array_equal(found.targets[:, 0], TABLE["y"])
    assert found.raw_features == ("a", "b")


def test_a_name_may_begin_with_a_hash(tmp_path):
    (tmp_path / "t.csv").write_text("#a,b,y\n" + TABLE.write_csv(include_header=False))
    assert load_dataset(tmp_path / "t.csv", "y").raw_features == ("#a", "b")


def test_a_row_of_numbers_is_no_header():
    assert title_rows([(None, "y", None), (1, 2, 3), (4, 5, 6)]) == 0
    assert title_rows([("Sales", None, None), ("2023", "2024", "2025"), (4, 5, 6)]) == 0
    assert title_rows([("Sales", None, None), ("2023", "y", "2025"), (4, 5, 6)]) == 1
