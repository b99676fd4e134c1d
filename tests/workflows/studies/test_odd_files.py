"""Files that spreadsheets, Python and other programs write in their own way, and files with a wrong extension."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError, UnknownNameError
from lemmata.workflows.studies import Reading, load_dataset, read_table
from lemmata.workflows.studies._numbers import as_numbers
from tests.workflows.studies.test_wild_tables import ROWS, TABLE

PLAIN = TABLE.select("a", "b", "y")
TEXT = PLAIN.write_csv()


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_dataset(str(path), "y")


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
@pytest.mark.parametrize("line", ["sep={}", '"sep={}"', "SEP={}", "\n\nsep={}"])
def test_a_first_line_that_names_the_separator(tmp_path, mark, line):
    """Excel writes and reads it; every row had more fields than this header."""
    found = read(tmp_path / "t.csv", f"{line.format(mark)}\n{PLAIN.write_csv(separator=mark)}")
    assert found.raw_features == ("a", "b")
    np.testing.assert_array_equal(found.inputs, PLAIN["a", "b"].to_numpy())


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("layout", ["t.jsonl", "lines.json", "list.json"])
def test_json_with_the_constants_of_python(tmp_path, layout, name):
    """`json.dumps(float("nan"))` is NaN, which is not JSON."""
    rows = [f'{{"a": {name if i == 3 else a}, "b": {b}, "y": {y}}}' for i, (a, b, y) in enumerate(PLAIN.rows())]
    text = f"[{', '.join(rows)}]" if layout == "list.json" else "\n".join(rows) + "\n"
    found = read(tmp_path / layout, text)
    assert np.isnan(found.inputs[:, found.raw_features.index("a")]).tolist() == [i == 3 for i in range(ROWS)]


def test_json_that_is_broken_stays_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read as JSONL"):
        read(tmp_path / "t.jsonl", '{"a": NaN, "y": 1}\n{"a": NaN, "y": \n')
    with pytest.raises(DataError, match="cannot be read as JSONL"):
        read(tmp_path / "t.jsonl", '{"a": nil, "y": 1}\n' * 30)


def packed(tmp_path, kind):
    path = tmp_path / "inner"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", TEXT)
    elif kind in ("parquet", "arrow"):
        (PLAIN.write_parquet if kind == "parquet" else PLAIN.write_ipc)(path)
    else:
        path.write_bytes({"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress(TEXT.encode()))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("gz", "t.csv.gz"), ("bz2", "t.csv.bz2"), ("xz", "t.csv.xz"), ("parquet", "t.parquet"), ("arrow", "t.arrow"),
     ("zip", "t.xlsx")],
)  # fmt: skip
def test_a_wrong_extension_is_named_with_the_right_one(tmp_path, kind, name):
    with pytest.raises(DataError, match=f"wrong extension.*rename it to {name}$"):
        read(tmp_path / "t.csv", packed(tmp_path, kind))


@pytest.mark.parametrize("suffix", [".xlsx", ".xls", ".ods"])
def test_a_text_that_is_called_a_spreadsheet(tmp_path, suffix):
    with pytest.raises(DataError, match=r"wrong extension.*rename it to t\.csv"):
        read(tmp_path / f"t{suffix}", TEXT)


def test_a_column_with_the_name_of_a_magic_number(tmp_path):
    assert read(tmp_path / "t.csv", TEXT.replace("a,", "PAR1,", 1)).raw_features == ("PAR1", "b")


@pytest.mark.parametrize("blank", ["\n", ",,\n", "\n\n\n"])
def test_lines_without_any_cell_are_no_rows_without_target(tmp_path, blank):
    """61 of 121 rows "have no 'y'", and the study said nothing about rows like them."""
    found = read(tmp_path / "t.csv", TEXT.replace("\n", "\n" + blank))
    assert len(found.targets) == ROWS
    assert not found.findings
    lost = read(tmp_path / "t.csv", TEXT.replace("\n", "\n" + blank) + "1,2,\n" * 4)
    assert [finding.text.split(" and ")[0] for finding in lost.findings] == [f"4 of {ROWS + 4} rows have no 'y'"]


@pytest.mark.parametrize(
    ("cells", "decimal", "numbers"),
    [
        (["(1,250.50)", "3"], ".", [-1250.5, 3]), (["(1.250,5)", "3"], ",", [-1250.5, 3]),
        (["( 12 )", "3"], None, [-12, 3]),
        (["($12)", "$3"], None, [-12, 3]), (["(12 €)", "3 €"], None, [-12, 3]), (["(5%)", "3%"], None, [-5, 3]),
        (["12,34,567", "1,00,000.5"], ".", [1234567, 100000.5]), (["-12,34,567", "99"], ".", [-1234567, 99]),
    ],
)  # fmt: skip
def test_numbers_of_accountants_and_of_india(cells, decimal, numbers):
    found = as_numbers(pl.Series(cells), decimal)
    assert found is not None
    assert found.column.to_list() == numbers


@pytest.mark.parametrize(
    "cells", [["(a)", "(b)"], ["(12", "3"], ["12)", "3"], ["((12))", "3"], ["1,2,3", "4"], ["12,3,456", "4"]]
)
def test_other_brackets_and_commas_are_no_numbers(cells):
    assert as_numbers(pl.Series(cells * 30), ".") is None


CARS = [(f"car {i}", 0.5 * i, "lo hp" if i % 3 else '5"', i % 7) for i in range(40)]


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("quoted", [False, True])
def test_tables_written_by_r(tmp_path, separator, named, quoted):
    """`write.table` puts texts in quotes, and the names of rows in a column without a name."""
    quote = (lambda text: '"' + text.replace('"', '""' if separator in ",;" else '\\"') + '"') if quoted else str
    blank = lambda text: text if quoted else text.replace(" ", "_")
    lines = [separator.join(map(quote, ("wt", "class", "hp")))]
    for name, weight, kind, power in CARS:
        own = [
            quote(blank(name)),
            str(weight),
            quote(blank(kind.replace('"', "") if separator == "\t" else kind)),
            str(power),
        ]
        lines.append(separator.join(own[not named :]))
    path = tmp_path / "cars.txt"
    path.write_text("\n".join(lines) + "\n")
    table = read_table(str(path), Reading(10**9, 0)).frame
    assert table.columns == ["column 1 (unnamed)"] * named + ["wt", "class", "hp"]
    assert table["wt"].to_list() == [row[1] for row in CARS]
    assert table["hp"].to_list() == [row[3] for row in CARS]
    assert [own.strip('"') for own in table["class"]] == [blank(row[2]).strip('"') for row in CARS]


def test_names_of_rows_that_count_them_are_dropped(tmp_path):
    path = tmp_path / "cars.txt"
    path.write_text('"wt" "hp"\n' + "".join(f'"{i + 1}" {i / 4} {i % 7}\n' for i in range(40)))
    assert read_table(str(path), Reading(10**9, 0)).frame.columns == ["wt", "hp"]


@pytest.mark.parametrize("title", ["Station 12", "My station"])
def test_a_title_above_fields_that_blanks_separate_is_no_header_of_rows_with_names(tmp_path, title):
    path = tmp_path / "rain.txt"
    path.write_text(f"{title}\nday temp rain\n" + "1 2.5 3\n" * 30)
    with pytest.raises(UnknownNameError, match="'rain' is not a column"):
        load_dataset(str(path), "rain")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1,2,a,extra", "line 31 of .* has too many fields; found 4 fields in .*at most 3 fields"),
        ('1,"a"b,3', "line 31 of .* cannot be read.*a quote at the start of a field must be closed"),
        ('1,"a,3', "line 31 of .* cannot be read.*a quote at the start of a field must be closed"),
    ],
)
@pytest.mark.parametrize("above", ["", "Sales of 2024\n\n"])
def test_the_line_of_a_fault_is_named(tmp_path, line, words, above):
    path = tmp_path / "faulty.csv"
    path.write_text(above + "x,g,y\n" + "1,a,2\n" * 29 + line + "\n" + "1,a,2\n" * 30)
    words = words.replace("31", "33") if above else words
    with pytest.raises(DataError, match=words):
        read_table(str(path), Reading(10**9, 0))


def test_a_quote_inside_a_field_is_text(tmp_path):
    path = tmp_path / "inches.csv"
    path.write_text("x,g,y\n" + "".join(f"{i},5'{i % 12}\",{i % 7}\n" for i in range(40)))
    table = read_table(str(path), Reading(10**9, 0)).frame
    assert table["g"].to_list() == [f"5'{i % 12}\"" for i in range(40)]
    assert table["y"].to_list() == [i % 7 for i in range(40)]
