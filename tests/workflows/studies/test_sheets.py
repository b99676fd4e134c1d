"""The sheet with the target is read, and a name that is not in the header is found below it."""

import logging
import re
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.errors import DataError, UnknownNameError
from lemmata.workflows.studies import Reading, load_dataset, read_table
from lemmata.workflows.studies._final_table import raw_table
from tests.workflows.studies.test_wild_tables import sheets

X, Z, Y = np.random.default_rng(0).normal(size=(3, 60)).round(3)
BODY = [["x", "z", "y"], *zip(X.tolist(), Z.tolist(), Y.tolist(), strict=True)]
README = [["Field", "Meaning"], ["x", "a length"], ["y", "a weight"]]


@pytest.mark.parametrize("title", [[], [["Weights of 2024"], [""]]])
def test_the_first_sheet_with_the_target_is_read(tmp_path, title):
    path = str(tmp_path / "t.xlsx")
    sheets(path, {"Fields": README, "Numbers": [*title, *BODY], "More": BODY})
    found = load_dataset(path, "y")
    np.testing.assert_array_equal(found.inputs, np.stack([X, Z], axis=1))
    assert found.notes[0] == "sheet 'Numbers' was read, and not 'Fields', 'More'"
    skipped = {"skiprows": len(title)} if title else {}
    assert raw_table(path, found).reading == ("pandas.read_excel", {"sheet_name": "Numbers"} | skipped)


def test_a_target_that_no_sheet_has_names_the_sheets(tmp_path):
    sheets(tmp_path / "t.xlsx", {"Fields": README, "Numbers": BODY})
    with pytest.raises(UnknownNameError) as refusal:
        load_dataset(str(tmp_path / "t.xlsx"), "weight")
    assert refusal.value.rule == (
        "the columns of sheet 'Fields' are Field, Meaning; the other sheets with cells are 'Numbers'"
    )


@pytest.mark.parametrize("header", ["x..y", "x.y", "xyz..", "x....y"])
def test_a_header_names_at_least_half_of_the_columns(tmp_path, header):
    path, unnamed = tmp_path / "t.xlsx", header.count(".")
    names = [None if name == "." else name for name in header]
    sheets(path, {"Data": [names, *([i % k for k in range(2, 2 + len(header))] for i in range(20))]})
    if 2 * unnamed > len(header):
        with pytest.raises(DataError, match="seems to have no header") as refused:
            read_table(str(path), Reading(10**9, 0))
        assert f"{unnamed} of {len(header)} columns without a name" in refused.value.found
    else:
        frame = read_table(str(path), Reading(10**9, 0)).frame
        assert frame.columns == [name or f"column {k} (unnamed)" for k, name in enumerate(names, 1)]


@pytest.mark.parametrize("kind", [".csv", ".xlsx", ".jsonl", ".parquet", "pandas", "polars"])
def test_columns_with_blank_names_get_names_and_a_note(tmp_path, kind):
    """A cell " " of a header raised an error of polars, and pandas' name "" became 'column_1' without a word."""
    rows = [[i % 7 + 0.5, i % 5, i % 3 + 0.25, i % 11] for i in range(30)]
    table = pl.DataFrame(rows, schema=["a", "b", "c", "y"], orient="row").rename({"b": "", "c": " "})
    data = str(tmp_path / f"t{kind}")
    match kind:
        case ".csv":
            table.write_csv(data)
        case ".xlsx":
            sheets(tmp_path / "t.xlsx", {"Data": [["a", " ", "  ", "y"], *rows]})
        case ".jsonl":
            table.write_ndjson(data)
        case ".parquet":
            table.write_parquet(data)
    frame = pd.DataFrame(rows, columns=["a", "", "", "y"]) if kind == "pandas" else table
    dataset = load_dataset(data if "." in kind else frame, "y", task="regression")
    assert dataset.raw_features == ("a", "column 2 (unnamed)", "column 3 (unnamed)")
    np.testing.assert_array_equal(dataset.inputs[:, 2], table[" "])
    said = "2 columns have no name and are called 'column 2 (unnamed)', 'column 3 (unnamed)'"
    assert said in dataset.given.table.notes


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("above", [1, 2])
def test_names_below_a_merged_heading_are_told(tmp_path, suffix, above):
    rows = [["Measure", "", "Outcome"], ["raw", "scaled", "kg"]][:above] + BODY
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    else:
        sheets(path, {"Data": rows})
    with pytest.raises(UnknownNameError) as refusal:
        load_dataset(str(path), "y")
    assert refusal.value.remedy == "delete the lines above 'x', 'z', 'y', which seem to be the names of the columns"


def test_a_value_is_not_a_name_below_the_header():
    with pytest.raises(UnknownNameError, match="name one of these columns"):
        load_dataset("iris", "setosa")


@pytest.mark.parametrize("target", ["x", "y"])
@pytest.mark.parametrize("value", ["<v/>", "<v></v>", ""])
def test_formulas_without_values_are_named(tmp_path, target, value, capfd):
    """The target was called missing, and another target was advised."""
    path = tmp_path / "t.xlsx"
    sheets(path, {"S": [["x", "y", "z"], *([i, "=A2*3", i % 7] for i in range(40))]})
    formulas(path, value)
    with pytest.raises(DataError, match="has formulas without values") as refused:
        load_dataset(path, target)
    assert "no value in 'y', for example for the formula =A2*3" in refused.value.found
    assert "open it in a spreadsheet program, and save it" in str(refused.value)
    assert capfd.readouterr().err == ""
    assert logging.getLogger("fastexcel.types.dtype").level == logging.NOTSET, "the user's own logging is as it was"


def test_a_formula_may_give_an_empty_text(tmp_path):
    path = tmp_path / "t.xlsx"
    sheets(path, {"S": [["x", "y", "z"], *([i, "=A2*3", i % 7] for i in range(40))]})
    formulas(path, "<v></v>", ' t="str"')
    assert load_dataset(path, "x").raw_features == ("z",)


def formulas(path, value, kind=""):
    """Turn the texts that begin with = into formulas with this value."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            cell = r'<c t="inlineStr"><is><t>=(.*?)</t></is></c>'
            book.writestr(name, re.sub(cell, rf"<c{kind}><f>\1</f>{value}</c>", text))
