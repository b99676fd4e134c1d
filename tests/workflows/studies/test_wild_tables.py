"""Tables as people have them are read at the first try, and what could be meant in two ways is asked."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._numbers import as_numbers, check_decimal, decimal_mark

ROWS = 40


def table():
    rng = np.random.default_rng(0)
    a, b = 1000 * rng.normal(size=ROWS), rng.uniform(0.1, 5, ROWS)
    towns = rng.choice(["Zürich", "Genève", "Bâle"], ROWS)
    return pl.DataFrame({"a": a.round(2), "b": b.round(3), "ort": towns, "y": (a / 1000 + b).round(4)})


TABLE = table()


def german(frame):
    """Decimal commas, and points between thousands."""

    def text(value):
        return f"{value:,}".translate(str.maketrans(",.", ".,"))

    reals = [name for name in frame.columns if frame[name].dtype == pl.Float64]
    return frame.with_columns(pl.col(name).map_elements(text, return_dtype=pl.String) for name in reals)


def written(frame, separator=","):
    return frame.write_csv(separator=separator)


def with_blanks(frame):
    return "\n".join("   ".join(map(str, row)) for row in (frame.columns, *frame.iter_rows())) + "\n"


def sheets(path, tables):
    """A spreadsheet by hand: one sheet a table, texts in the cells themselves; None is an empty cell."""

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    kind = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    names = list(tables)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", (
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>'
        ))  # fmt: skip
        relation = f'<Relationship Id="r{{}}" Type="{office}/{{}}" Target="{{}}"/>'
        relations = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
        archive.writestr("_rels/.rels", relations.format(relation.format(0, "officeDocument", "xl/workbook.xml")))
        listed = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>' for k, name in enumerate(names, 1))
        archive.writestr("xl/workbook.xml", f'<workbook {kind} xmlns:r="{office}"><sheets>{listed}</sheets></workbook>')
        targets = [relation.format(k, "worksheet", f"worksheets/sheet{k}.xml") for k in range(1, len(names) + 1)]
        archive.writestr("xl/_rels/workbook.xml.rels", relations.format("".join(targets)))
        for k, rows in enumerate(tables.values(), 1):
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/sheet{k}.xml", f"<worksheet {kind}><sheetData>{body}</sheetData></worksheet>"
            )


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


ROWS_OF = [TABLE.columns, *TABLE.rows()]
PLAIN = written(TABLE).encode()
FILES = {
    "plain.csv": lambda path: path.write_bytes(PLAIN),
    "german.csv": lambda path: path.write_bytes(written(german(TABLE), ";").encode("cp1252")),
    "late.csv": lambda path: path.write_bytes(written(german(TABLE), ";").encode("latin-1")),
    "utf16.csv": lambda path: path.write_bytes(written(TABLE).encode("utf-16")),
    "utf16_without_mark.csv": lambda path: path.write_bytes(written(TABLE).encode("utf-16-be")),
    "thousands.csv": lambda path: path.write_text(written(
        TABLE.with_columns(pl.col("a").map_elements(lambda value: f"{value:,.2f}", return_dtype=pl.String)))),
    "tabs.txt": lambda path: path.write_text(written(TABLE, "\t"), encoding="utf-8"),
    "blanks.txt": lambda path: path.write_text(with_blanks(TABLE), encoding="utf-8"),
    "bars.dat": lambda path: path.write_text(written(TABLE, "|"), encoding="utf-8"),
    "packed.csv.gz": lambda path: path.write_bytes(gzip.compress(PLAIN)),
    "packed.csv.bz2": lambda path: path.write_bytes(bz2.compress(PLAIN)),
    "packed.xz": lambda path: path.write_bytes(lzma.compress(PLAIN)),
    "packed.zip": lambda path: zipped(path, {"data/plain.csv": PLAIN, "__MACOSX/data/._plain.csv": b"\0"}),
    "packed.jsonl.gz": lambda path: path.write_bytes(gzip.compress(TABLE.write_ndjson().encode())),
    "lines.jsonl": lambda path: path.write_text(TABLE.write_ndjson(), encoding="utf-8"),
    "list.json": lambda path: path.write_text(TABLE.write_json(), encoding="utf-8"),
    "lines.json": lambda path: path.write_text(TABLE.write_ndjson(), encoding="utf-8"),
    "table.feather": lambda path: TABLE.write_ipc(path),
    "table.arrow": lambda path: TABLE.write_ipc_stream(path),
    "table.parquet": lambda path: TABLE.write_parquet(path),
    "table.xlsx": lambda path: sheets(path, {"Notes": [["made in May"]], "Data": ROWS_OF, "More": ROWS_OF}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_table_that_was_written(name, tmp_path):
    path = tmp_path / name
    FILES[name](path)
    found = load_dataset(str(path), "y")
    assert found.raw_features == ("a", "b", "ort")
    assert found.inputs[:, 0] == pytest.approx(TABLE["a"].to_numpy())
    assert found.inputs[:, 1] == pytest.approx(TABLE["b"].to_numpy())
    assert found.targets[:, 0] == pytest.approx(TABLE["y"].to_numpy())
    assert found.categories[2] == ("Bâle", "Genève", "Zürich")
    assert found.findings == ()


def test_what_was_done_to_read_a_file_is_told(tmp_path):
    said = {"german.csv": "its text is Windows-1252", "utf16.csv": "its text is UTF-16",
            "blanks.txt": "fields are separated by spaces", "packed.zip": "unpacked 'data/plain.csv'",
            "table.xlsx": "sheet 'Data' was read, and not 'More'"}  # fmt: skip
    for name, words in said.items():
        FILES[name](tmp_path / name)
        assert words in load_dataset(str(tmp_path / name), "y").notes, name
    assert "numbers have a decimal comma in 'a', 'b', 'y'" in load_dataset(str(tmp_path / "german.csv"), "y").notes


def test_a_byte_that_is_no_utf_8_may_come_late(tmp_path):
    rows = 60_000
    long = pl.DataFrame({"a": np.arange(rows) / 7, "text": ["b"] * (rows - 1) + ["ü"], "y": np.arange(rows) % 9 / 7})
    path = tmp_path / "long.csv"
    path.write_bytes(written(long).encode("cp1252"))
    assert path.stat().st_size > 2**20
    assert "its text is Windows-1252" in load_dataset(str(path), "y").notes


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1.234,5", "7"], ","), (["12,5", "1,250"], ","), (["1.234.567", "2"], ","), (["1 234,5", "2"], ","),
        (["1,5e3", "2"], ","), (["0,125", "3"], ","), (["1,234,567", "8"], "."), (["1,234.5", "8"], "."),
        (["1'234.5", "3"], "."), (["999", "1,001"], "."), (["1,001", "2,500"], None), (["1500", "1,001"], None),
        (["1.234,5", "1,234.5"], None), (["red", "1,5", "blue"], None),
    ],
)  # fmt: skip
def test_the_mark_before_decimals_is_what_the_cells_show(cells, mark):
    assert decimal_mark([pl.Series(cells)]) == mark


def test_a_cell_that_two_people_read_differently_is_asked_about(tmp_path):
    unsure = TABLE.with_columns(a=pl.Series([f"{1 + i % 8},{100 + 7 * i}" for i in range(ROWS)]))
    with pytest.raises(
        DataError, match=r"--decimal , if a comma marks decimals, or --decimal \. if it separates thousands"
    ):
        load_dataset(unsure, "y")
    assert load_dataset(unsure, "y", decimal=",").inputs[0, 0] == pytest.approx(1.1)
    assert load_dataset(unsure, "y", decimal=".").inputs[0, 0] == pytest.approx(1100)
    with pytest.raises(SettingError, match=r"decimal mark must be \. or ,"):
        load_dataset(unsure, "y", decimal="x")


def test_whole_numbers_of_a_table_with_decimal_commas_keep_their_thousands(tmp_path):
    """1.234 alone reads as a number, and in a column beside decimal commas it is a thousand and more."""
    path = tmp_path / "table.csv"
    lines = [f"1.{100 + 37 * i % 800};{i},5;{i % 7},25" for i in range(ROWS)]
    path.write_text("\n".join(["salary;x;y", *lines]))
    assert load_dataset(str(path), "y").inputs[:2, 0].tolist() == [1100.0, 1137.0]


def test_a_word_among_numbers_is_missing_and_told():
    frame = TABLE.with_columns(pl.col("a", "b", "y").cast(pl.String))
    texts = {"a": {3: "-", 9: "#N/A"}, "b": {5: "n.d."}, "y": {7: "."}}
    for name, cells in texts.items():
        column = frame[name].to_list()
        for row, word in cells.items():
            column[row] = word
        frame = frame.with_columns(pl.Series(name, column))
    found = load_dataset(frame, "y")
    assert found.task == "regression"
    assert (len(found.targets), int(np.isnan(found.inputs).sum())) == (ROWS - 1, 3)
    told = [finding.text for finding in found.findings if finding.kind == "missing"]
    assert told[1] == "'n.d.' (1 cell) in 'b' is read as missing, because the other cells are numbers."
    assert {finding.columns for finding in found.findings} == {("a",), ("b",), ("y",)}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1", "2", "3", "4"] * 10 + ["A"], None),  # a grade among codes
        (["1", "2", "3", "4"] * 10 + ["unknown"], {"unknown": 1}),
        ([f"{i}.5" for i in range(40)] + ["<5"], None),
        ([f"{i}.5" for i in range(40)] + ["#DIV/0!", "tba"], {"#DIV/0!": 1, "tba": 1}),
        ([f"{i}.5" for i in range(40)] + ["12 kg"], None),
        ([f"{i}.5" for i in range(40)] + ["not measured"], {"not measured": 1}),
        ([f"{i}.5" for i in range(40)] + ["a", "b", "c", "d"], None),
        (["red", "blue"] * 10, None),
    ],
)
def test_which_words_stand_where_there_is_no_number(cells, words):
    found = as_numbers(pl.Series(cells), None)
    assert (None if found is None else found.words) == words


@pytest.mark.parametrize(
    ("cells", "unit", "first"),
    [
        (["66,00 €", "1.200,50 €"], "€", 66.0), (["$1,234.50", "-$5.00"], "$", 1234.5), (["12 kg", "8kg"], "kg", 12.0),
        (["5 %", "7.5 %"], "%", 5.0), (["-3 °C", "4.5 °C"], "°C", -3.0), (["R$ 5,50", "R$ 6,10"], "R$", 5.5),
        (["1 234,5 km/h", "12,0 km/h"], "km/h", 1234.5), (["1.5e3 m", "2 m"], "m", 1500.0),
        (["EUR 1.5", "EUR 2"], "EUR", 1.5),
        (["12 kg", "800 g"], "", None), (["$5", "5"], "", None), (["3D", "2D"], "", None), (["Q1", "Q2"], "", None),
        (["A4", "A5"], "", None), (["kg", "kg"], "", None),
    ],
)  # fmt: skip
def test_a_unit_that_all_numbers_have_is_none_of_their_digits(cells, unit, first):
    column = pl.Series("a", cells * 10)
    found = as_numbers(column, decimal_mark([column]))
    assert (found is not None) == bool(unit)
    if found is not None:
        assert (found.unit, found.column[0]) == (unit, first)


def test_a_unit_is_told(tmp_path):
    path = tmp_path / "prices.csv"
    lines = [f"{100 + i},50 €;{i};{i % 7}" for i in range(ROWS)]
    path.write_text("\n".join(["price;x;y", *lines]), encoding="cp1252")
    found = load_dataset(str(path), "y")
    assert found.inputs[:2, 0].tolist() == [100.5, 101.5]
    assert any("'€' in 'price' is a unit" in note for note in found.notes)
    target = load_dataset(str(path), "price")
    assert (target.task, target.targets[0, 0]) == ("regression", 100.5)


@pytest.mark.parametrize(
    "orient", ["records", "columns", "index", "split", "table", "lines", "lists", "nested", "pretty"]
)
def test_every_json_of_pandas_is_the_table_that_was_written(orient, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "table.json"
    frame = pandas.DataFrame(TABLE.to_dict(as_series=False))
    rows = TABLE.to_dicts()
    if orient in ("lists", "nested", "pretty"):
        one = {"lists": TABLE.to_dict(as_series=False), "nested": {"made": "in May", "data": rows},
               "pretty": {"rows": rows, "count": len(rows)}}[orient]  # fmt: skip
        path.write_text(json.dumps(one, indent=2 if orient == "pretty" else None))
    elif orient == "lines":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_json(path, orient=orient)
    found, plain = load_dataset(str(path), "y"), load_dataset(TABLE, "y")
    kept = [found.raw_features.index(name) for name in plain.raw_features]
    np.testing.assert_allclose(found.inputs[:, kept], plain.inputs)
    np.testing.assert_allclose(found.targets, plain.targets)


@pytest.mark.parametrize(
    "content", ['{"a": 1, "b": [1, 2]}', '{"a": [1], "b": [1, 2]}', "{", '{"a": {}, "b": 1}', "[" * 100000]
)
def test_json_without_a_table_is_refused(content, tmp_path):
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"table\.json"):
        load_dataset(str(path), "a")


def test_a_value_that_looks_missing_may_be_kept(tmp_path):
    path = tmp_path / "countries.csv"
    countries = pl.Series("land", ["NA", "ZA", "BW", "AO"] * 10)
    path.write_text(written(TABLE.with_columns(countries)), encoding="utf-8")
    found = load_dataset(str(path), "land")
    assert len(found.targets) == 30
    first, second = [finding.text for finding in found.findings if finding.kind == "missing"]
    assert first == "'NA' in 'land' (10 cells) was read as missing. If such a text is a value, add --na ''."
    assert second.startswith("10 of 40 rows have no 'land' and are left out.")
    kept = load_dataset(str(path), "land", na=("",))
    assert (len(kept.targets), kept.classes, kept.findings) == (40, ("AO", "BW", "NA", "ZA"), ())
    other = load_dataset(str(path), "land", na=("BW",))
    assert other.classes == ("AO", "NA", "ZA")


def test_what_is_no_single_table_is_refused(tmp_path):
    for name, files in {"two.zip": {"a.csv": PLAIN, "b.csv": PLAIN}, "none.zip": {}}.items():
        zipped(tmp_path / name, files)
        with pytest.raises(DataError, match="does not hold one table"):
            load_dataset(str(tmp_path / name), "y")
    for name, content in {"cut.csv.gz": gzip.compress(PLAIN)[:-20], "cut.zip": b"PK\3\4", "no.xz": b"nothing",
                          "no.xlsx": b"nothing", "no.feather": b"nothing at all", "one.feather": b"FEA1" + bytes(40),
                          "no.json": b"[1, 2", "zeros.csv": bytes(100)}.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError) as refusal:
            load_dataset(str(tmp_path / name), "y")
        assert name in str(refusal.value), name
    (tmp_path / "large.csv.gz").write_bytes(gzip.compress(PLAIN))
    with pytest.raises(MemoryPlanError, match="too large when it is unpacked"):
        load_dataset(str(tmp_path / "large.csv.gz"), "y", limit_bytes=100)
    sheets(tmp_path / "empty.xlsx", {"Notes": [["made in May"]]})
    with pytest.raises(DataError, match="no sheet with a table"):
        load_dataset(str(tmp_path / "empty.xlsx"), "y")


def test_a_sparse_matrix_is_filled_where_it_fits(monkeypatch):
    x = scipy.sparse.random(ROWS, 6, density=0.4, format="csr", random_state=0)
    y = TABLE["y"].to_numpy()
    assert np.array_equal(load_dataset((x, y)).inputs, x.toarray())
    monkeypatch.setattr("lemmata.workflows.studies._memory.MOST_DENSE", 200)
    with pytest.raises(DataError, match=r"the sparse matrix is too large to be stored densely; found 40 x 6 cells"):
        load_dataset((x, y))


@pytest.mark.parametrize("mark", [None, ".", ","])
def test_a_mark_before_decimals_is_taken(mark):
    check_decimal(mark)


@pytest.mark.parametrize("mark", ["", ";", " ", ".,", ", ", "point"])
def test_another_mark_is_refused(mark):
    with pytest.raises(SettingError, match=r"the decimal mark must be \. or ,") as refused:
        check_decimal(mark)
    assert refused.value.found == repr(mark)


@pytest.mark.parametrize("gap", [" ", "'", "’", "\u00a0", "\u202f"])
def test_whole_numbers_whose_thousands_are_set_apart(tmp_path, gap):
    numbers = [f"{value:,}".replace(",", gap) for value in range(500, 2_000_500, 50_000)]
    frame = pl.DataFrame({"a": TABLE["a"], "b": TABLE["b"], "y": numbers})
    (tmp_path / "t.csv").write_text(written(frame, ";"), encoding="utf-8")
    found = load_dataset(tmp_path / "t.csv", "y")
    assert found.task == "regression"
    np.testing.assert_array_equal(found.targets[:, 0], np.arange(500, 2_000_500, 50_000))


@pytest.mark.parametrize("cells", [["001 234", "002 345"], ["12 34", "1 2345"], ["1 234 b", "2 345 c"]])
def test_codes_with_blanks_are_no_numbers(cells):
    assert as_numbers(pl.Series(cells * 20), None) is None


@pytest.mark.parametrize("kind", ["numbers", "texts", "a frame"])
@pytest.mark.parametrize("cells", [["inf"], ["-inf", "inf", "inf"]])
def test_infinite_cells_are_told(tmp_path, kind, cells):
    column = [*cells, *(["n.d."] if kind == "texts" else []), *map(str, range(ROWS))][:ROWS]
    if kind == "a frame":
        data = TABLE.with_columns(a=pl.Series(list(map(float, column))))
    else:
        data = tmp_path / "t.csv"
        data.write_text(written(TABLE.with_columns(a=pl.Series(column))))
    told = [finding.text for finding in load_dataset(data, "y").findings if "infinite" in finding.text]
    assert len(told) == 1
    assert told[0].startswith(f"{len(cells)} infinite cell")


def test_no_infinite_cells_are_told_where_there_are_none():
    assert not [finding for finding in load_dataset(TABLE, "y").findings if "infinite" in finding.text]
