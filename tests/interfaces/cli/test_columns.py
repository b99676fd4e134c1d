"""Columns of a user's table: which one is meant, and how its cells are read as numbers."""

import polars as pl
import pytest

from lemmata.errors import DataError, UnknownNameError
from lemmata.interfaces.cli import _columns
from lemmata.interfaces.cli._columns import frame_of, numeric_column, usual_column


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        (["x", "Train Loss"], "Train Loss"), (["train-loss", "loss"], "train-loss"), (["loss", "x"], "loss"),
        (["LOSS", "train_loss"], "train_loss"), (["loss", "Loss"], "loss"), (["Loss", "loss"], "Loss"),
        (["trainloss"], "train_loss"), ([], "train_loss"), ([" train  (loss) "], " train  (loss) "),
    ],
)  # fmt: skip
def test_the_first_usual_name_that_a_column_has_is_meant(columns, wanted):
    frame = pl.DataFrame({name: [1] for name in columns})
    assert usual_column(frame, ("train_loss", "loss")) == wanted


def read(cells, sizes=False, name="size"):
    return numeric_column(pl.DataFrame({"size": cells}), name, "--size", "model", sizes).tolist()


def test_cells_are_read_as_numbers():
    assert read([1, 2]) == [1, 2]
    assert read([" 1 ", "2e3", "-.5"]) == [1.0, 2000.0, -0.5]
    assert read(["70M", "1.4b", " 3 K ", "2t", "5"], sizes=True) == [70e6, 1.4e9, 3e3, 2e12, 5.0]
    assert read(["70m", "14B", "3k", "2.5T"], sizes=True) == [70e6, 14e9, 3e3, 2.5e12]
    assert read([3, 4], sizes=True) == [3, 4]


@pytest.mark.parametrize(
    ("cells", "sizes", "said"),
    [
        (["1", "70M"], False, "column 'size' in line 3; found: the cell '70M'; rule: a column of numbers"),
        (["1", "x7", "y"], True, "column 'size' in line 3; found: the cell 'x7'"),
        (["22%", "3"], False, "line 2; found: the cell '22%'; rule: a column of numbers; write the share: 22% is 0.22"),
        (["7M5"], True, "found: the cell '7M5'"), (["70 Mio"], True, "found: the cell '70 Mio'"),
        (["small", "large"], False, "column 'size'; found: type String; rule: a column with one number for each model"),
        ([1.0, None, 2.0, None], False, "column 'size' in line 3; found: an empty cell; rule: a number in every row"),
        (["1", None], False, "column 'size' in line 3; found: an empty cell"),
        (["1", "9" * 50 + "x"], False, f"the cell '{'9' * 40}'"),
    ],
)  # fmt: skip
def test_a_cell_that_is_no_number_is_named_with_its_line(cells, sizes, said):
    with pytest.raises(DataError) as error:
        read(cells, sizes)
    for part in said.split("; "):
        assert part.partition(": ")[2] in str(error.value) if ": " in part else part in str(error.value)


def test_a_column_that_does_not_exist_is_answered_by_the_nearest():
    with pytest.raises(UnknownNameError) as error:
        read([1], name="sise")
    assert "column 'sise'" in str(error.value)
    assert "did you mean 'size'? name the column with --size" in str(error.value)
    with pytest.raises(UnknownNameError) as error:
        numeric_column(pl.DataFrame({f"c{k}": [1] for k in range(13)}), "zzz", "--size", "model")
    assert "columns c0, c1," in str(error.value)
    assert "c11" in str(error.value)
    assert "c12" not in str(error.value)
    assert "did you mean" not in str(error.value)


def test_a_table_has_rows_and_is_not_shortened(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("size,loss\n1,2\n3,4\n", encoding="utf-8")
    assert frame_of(path, "model").rows() == [(1, 2), (3, 4)]
    path.write_text("size,loss\n", encoding="utf-8")
    with pytest.raises(DataError, match="one row for each model"):
        frame_of(path, "model")
    assert _columns._BYTES == 256 * 2**20
