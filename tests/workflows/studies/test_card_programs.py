"""The program of a card, executed for every kind of file: it makes the model that is saved."""

import gzip
import json
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest

from lemmata.interfaces.python import load
from lemmata.options import StudyOptions
from lemmata.workflows.studies import final_model

pd = pytest.importorskip("pandas")

ROWS = 60


def table():
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=ROWS).round(4), rng.choice(["é", "v"], ROWS)
    return pd.DataFrame({"x": x, "kind": kind, "y": (3 * x + (kind == "v") + 0.1 * rng.normal(size=ROWS)).round(4)})


def stamps():
    return pd.date_range("2024-01-01", periods=ROWS, freq="7h")


def with_offsets():
    ends = ["+01:00", "+02:00"]
    return table().assign(w=[f"{own:%Y-%m-%dT%H:%M:%S}{ends[j % 2]}" for j, own in enumerate(stamps())])


def sheets(path, first=None, **how):
    with pd.ExcelWriter(path) as book:
        if first is not None:
            first.to_excel(book, sheet_name="Readme", index=False)
        table().to_excel(book, sheet_name="Data", index=False, **how)


def title(path):
    head = pd.DataFrame([["Sales", None, None], [None] * 3, list(table().columns)])
    rows = pd.concat([head, table().set_axis(range(3), axis=1)])
    rows.to_excel(path, index=False, header=False)


def zipped(path, *others, name="t.csv", content=None):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, table().to_csv(index=False) if content is None else content)
        for other in others:
            file.writestr(other, "x")


def lines():
    return "\n".join(map(json.dumps, table().to_dict("records")))


def blank():
    """A table in which two columns have blank names."""
    return table().assign(w=np.arange(ROWS) % 7.0).rename(columns={"x": "", "w": " "})


def packed(path, write):
    write(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


FILES = {
    "comma.csv": lambda path: table().to_csv(path, index=False),
    "semicolon.csv": lambda path: table().to_csv(path, index=False, sep=";", decimal=","),
    "tab.tsv": lambda path: table().to_csv(path, index=False, sep="\t"),
    "spaces.txt": lambda path: table().to_csv(path, index=False, sep=" "),
    "title.csv": lambda path: path.write_text("Sales of 2024\n\n" + table().to_csv(index=False)),
    "windows.csv": lambda path: table().to_csv(path, index=False, encoding="cp1252"),
    "marked.csv": lambda path: table().to_csv(path, index=False, encoding="utf-16"),
    "unmarked.csv": lambda path: path.write_bytes(table().to_csv(index=False).encode("utf-16-le")),
    "large-end.csv": lambda path: path.write_bytes(table().to_csv(index=False).encode("utf-16-be")),
    "packed.csv.gz": lambda path: table().to_csv(path, index=False),
    "packed.csv.xz": lambda path: table().to_csv(path, index=False),
    "one.zip": zipped,
    "mac.zip": lambda path: zipped(path, "__MACOSX/._t.csv"),
    "lines.zip": lambda path: zipped(path, name="t.jsonl", content=lines()),
    "zulu.csv": lambda path: table().assign(w=stamps().strftime("%Y-%m-%dT%H:%M:%SZ")).to_csv(path, index=False),
    "offsets.csv": lambda path: with_offsets().to_csv(path, index=False),
    "index.csv": lambda path: table().set_index(stamps()).to_csv(path),
    "quoted.csv": lambda path: table().rename(columns={"x": "x\n(cm)", "kind": " kind "}).to_csv(path, index=False),
    "blank.csv": lambda path: blank().to_csv(path, index=False),
    "blank.xlsx": lambda path: blank().to_excel(path, index=False),
    "blank.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, blank().to_dict("records")))),
    "blank.parquet": lambda path: pl.DataFrame(blank().to_dict("list")).write_parquet(path),
    "plain.xlsx": sheets,
    "below.xlsx": lambda path: sheets(path, startrow=2),
    "second.xlsx": lambda path: sheets(path, pd.DataFrame({"Note": ["see data"]})),
    "third.xlsx": lambda path: sheets(path, pd.DataFrame({"Note": ["see data"]}), startrow=2, startcol=1),
    "title.xlsx": title,
    "book.xlsx.gz": lambda path: packed(path, sheets),
    "table.parquet": lambda path: pl.DataFrame(table().to_dict('list')).write_parquet(path),
    "table.parquet.gz": lambda path: packed(path, lambda own: pl.DataFrame(table().to_dict("list")).write_parquet(own)),
    "table.feather": lambda path: pl.DataFrame(table().to_dict('list')).write_ipc(path),
    "stream.arrow": lambda path: pl.DataFrame(table().to_dict('list')).write_ipc_stream(path),
    "rows.jsonl": lambda path: path.write_text(lines()),
    "rows.jsonl.gz": lambda path: path.write_bytes(gzip.compress(lines().encode())),
    "rows.json": lambda path: table().to_json(path, orient="records"),
    "columns.json": lambda path: table().to_json(path),
    "key.json": lambda path: path.write_text(json.dumps({"about": 1, "rows": table().to_dict("records")})),
    "nan.jsonl": lambda path: path.write_text(lines() + '\n{"x": NaN, "kind": "v", "y": 1.0}'),
    "arrays.npz": lambda path: np.savez(path, x=np.stack([table().x, table().x**2], axis=1), y=table().y, one=1),
    "words.npz": lambda path: np.savez(path, x=table().x, kind=table().kind.to_numpy(str), y=table().y),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_program_of_a_card_makes_the_saved_model(name, tmp_path):
    if ".xlsx" in name:
        pytest.importorskip("openpyxl", reason="pandas writes and reads sheets with openpyxl")
    path = tmp_path / name
    FILES[name](path)
    told = StudyOptions(target="y")
    dataset = load(str(path), told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        final = final_model(str(path), dataset, told, "linear")
        again: dict = {}
        exec(final.code, again)
    said = final.model.predict(dataset.given.table.as_given(dataset.given.names, dataset.given.rows))
    y = dataset.targets[:, 0]
    assert np.sqrt(((said - y) ** 2).mean()) < 0.2 * y.std()
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-6, atol=1e-6 * y.std())


@pytest.mark.parametrize("name", ["index.csv", "quoted.csv"])
def test_a_table_is_predicted_as_every_reader_names_its_columns(name, tmp_path):
    path = tmp_path / name
    FILES[name](path)
    told = StudyOptions(target="y")
    model = final_model(str(path), load(str(path), told), told, "linear").model
    said = model.predict(pd.read_csv(path))
    np.testing.assert_allclose(model.predict(pl.read_csv(path)), said)
    assert np.sqrt(((said - table().y) ** 2).mean()) < 0.2 * table().y.std()
