"""Lines of text below a table are left out and told; rows without a target stay rows."""

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import Reading, load_dataset, read_table, target_numbers
from tests.workflows.studies.test_saved_model import made, run
from tests.workflows.studies.test_wild_tables import sheets

ROWS = 60
X, Z, Y = np.random.default_rng(0).normal(size=(3, ROWS)).round(3)
TABLE = pl.DataFrame({"x": X, "z": Z, "y": Y})
BELOW = {
    "a mark": ["* provisional", None, None],
    "a source": ["Source: Eurostat 2024", " own computations", None],
    "the second column": [None, "Source: Eurostat 2024", None],
    "the target": [None, None, "Source: Eurostat 2024"],
}


def written(path, kind, *below):
    """Write the table with these lines below it."""
    if kind == "csv":
        lines = [",".join(cell or "" for cell in line) for line in below]
        path.with_suffix(".csv").write_text(TABLE.write_csv() + "\n".join([*lines, ""]))
        return str(path.with_suffix(".csv"))
    if kind == "xlsx":
        cells = [[cell or "" for cell in line] for line in below]
        sheets(path.with_suffix(".xlsx"), {"Data": [TABLE.columns, *map(list, TABLE.iter_rows()), *cells]})
        return str(path.with_suffix(".xlsx"))
    texts = pl.DataFrame([*below], schema=TABLE.columns, orient="row")
    return pl.concat([TABLE.cast(pl.String), texts.cast(pl.String)])


@pytest.mark.parametrize("kind", ["csv", "xlsx", "frame"])
@pytest.mark.parametrize("below", BELOW)
def test_text_below_a_table_is_left_out(tmp_path, kind, below):
    found = load_dataset(written(tmp_path / "t", kind, BELOW[below]), "y")
    np.testing.assert_array_equal(found.inputs, np.stack([X, Z], axis=1))
    np.testing.assert_array_equal(found.targets[:, 0], Y)
    first = next(cell for cell in BELOW[below] if cell)
    assert found.notes == (f"1 line of text below the table left out, beginning {first!r}",)
    assert not found.findings
    assert found.rows == ROWS


def test_several_lines_and_blank_ones(tmp_path):
    found = load_dataset(written(tmp_path / "t", "csv", [None] * 3, *BELOW.values()), "y")
    assert found.notes == ("4 lines of text below the table left out, beginning '* provisional'",)


@pytest.mark.parametrize(("cells", "last"), [
    ([f"{i}.5 kg" for i in range(40)], "7 kg"), ([f"{1 + i % 28}-Jan-24" for i in range(40)], "30-Jan-24"),
    ([f"{i}.5" for i in range(40)], "n.d."), ([f"{i}.5" for i in range(40)], "7"), (["a", "b"] * 20, "c"),
])  # fmt: skip
def test_a_row_without_a_target_is_not_text_below(cells, last):
    table = pl.DataFrame({"x": [*cells, last], "y": [*np.arange(40.0), None], "z": [*np.sin(np.arange(40)), None]})
    found = load_dataset(table, "y")
    assert not any("below the table" in note for note in found.notes)
    assert any("dropped 1 row of 41" in note for note in found.notes)


def test_a_target_with_a_unit_is_not_text_below():
    table = pl.DataFrame({"x": [*np.arange(40.0), None], "y": [f"{i % 7}.5 kg" for i in range(41)]})
    assert load_dataset(table, "y").targets.shape == (41, 1)


@pytest.mark.parametrize("below", ["a source", "the target"])
def test_a_saved_model_and_its_program_leave_the_text_out(tmp_path, below):
    path = written(tmp_path / "t", "csv", BELOW[below])
    final = made(path, "linear")
    again = run(final.code)
    np.testing.assert_allclose(again["model"].predict(again["table"]), final.model.predict(TABLE), rtol=1e-9)
    assert len(again["table"]) == ROWS
    target = target_numbers(read_table(path, Reading(2**20, 0)), ["x", "z"], "y")
    assert target.to_list() == [*Y, None]
