"""Every kind of bad input ends with a clear message on stderr, exit code 2 and no traceback."""

import datetime
import pathlib

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.cli import app

N = 40
RNG = np.random.default_rng(0)
GOOD = {"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.normal(size=N)}


def csv(**columns):
    return lambda path: pl.DataFrame({**GOOD, **columns}).write_csv(path)


def parquet(**columns):
    return lambda path: pl.DataFrame({**GOOD, **columns}).write_parquet(path)


def text(content):
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def npz(**arrays):
    return lambda path: np.savez(path, **arrays)


def rows(*lines, header="a,b,y"):
    return text("\n".join([header, *(f"{i},{i * i % 7},{i}" for i in range(N)), *lines]) + "\n")


def with_nan(count):
    return np.where(np.arange(N) < count, np.nan, GOOD["a"])


TOO_MANY = [f"text {i}" for i in range(N)]
# name of the case: how the file is made, its name, the options, and what the message must contain
CASES = {
    "missing file": (None, "absent.csv", ["--target", "y"], ["there is no file", "absent.csv"]),
    "unknown extension": (text("x"), "t.xlsx", ["--target", "y"], ["unknown kind", ".xlsx", ".csv, .tsv, .parquet"]),
    "no extension": (text("x"), "table", ["--target", "y"], ["unknown kind"]),
    "no target": (csv(), "t.csv", [], ["no target was given", "a, b, y", "--target"]),
    "unknown target": (csv(), "t.csv", ["--target", "yy"], ["'yy' is not a column", "a, b, y", "did you mean 'y'?"]),
    "NaN": (
        parquet(a=with_nan(3)),
        "t.parquet",
        ["--target", "y"],
        ["missing, NaN or infinite", "'a': 3", "--drop-missing drops the 3 rows"],
    ),
    "infinity": (parquet(a=np.where(np.arange(N) < 2, np.inf, 1.0)), "t.parquet", ["--target", "y"], ["'a': 2"]),
    "empty cells": (rows("1,,2", "NA,3,4"), "t.csv", ["--target", "y"], ["'a': 1, 'b': 1", "--drop-missing"]),
    "missing target": (parquet(y=with_nan(4)), "t.parquet", ["--target", "y"], ["'y': 4"]),
    "a column of nulls": (parquet(c=[None] * N), "t.parquet", ["--target", "y"], ["'c': 40", "--drop-column"]),
    "too few rows after dropping": (
        parquet(a=with_nan(30)),
        "t.parquet",
        ["--target", "y", "--drop-missing"],
        ["too few rows after 30 rows with missing cells were dropped", "found: 10 rows"],
    ),
    "many texts": (
        csv(name=TOO_MANY),
        "t.csv",
        ["--target", "y"],
        ["'name' has too many categories", "40 distinct", "--drop-column 'name'"],
    ),
    "a stray text": (csv(a=[*map(str, range(N - 1)), "oops"]), "t.csv", ["--target", "y"], ["such as 'oops'"]),
    "constant target": (csv(y=[1.5] * N), "t.csv", ["--target", "y"], ["target 'y' is constant"]),
    "one class": (csv(y=["u"] * N), "t.csv", ["--target", "y"], ["target 'y' is constant", "one value or class, 'u'"]),
    "as many classes as rows": (
        csv(y=TOO_MANY),
        "t.csv",
        ["--target", "y"],
        ["too many classes", "40 classes in 40 rows"],
    ),
    "regression on text": (
        csv(y=["u", "v"] * (N // 2)),
        "t.csv",
        ["--target", "y", "--task", "regression"],
        ["is text"],
    ),
    "unknown task": (csv(), "t.csv", ["--target", "y", "--task", "cluster"], ["--task", "'cluster'"]),
    "too few rows": (
        text("a,y\n" + "1,2\n" * 19),
        "t.csv",
        ["--target", "y"],
        ["too few rows", "19 rows", "at least 20"],
    ),
    "only a header": (text("a,b,y\n"), "t.csv", ["--target", "y"], ["too few rows", "0 rows"]),
    "all columns constant": (
        csv(a=[1] * N, b=[2] * N),
        "t.csv",
        ["--target", "y"],
        ["no input column is left that varies"],
    ),
    "only the target": (
        text("y\n" + "1\n2\n" * N),
        "t.csv",
        ["--target", "y"],
        ["no input columns besides the target"],
    ),
    "empty file": (text(""), "t.csv", ["--target", "y"], ["is empty", "0 bytes"]),
    "blank lines": (text("\n\n  \n"), "t.csv", ["--target", "y"], ["is empty"]),
    "ragged rows": (rows("1,2,3,4"), "t.csv", ["--target", "y"], ["cannot be understood as CSV", "more fields"]),
    "binary": (text(bytes(range(256)) * 9), "t.csv", ["--target", "y"], ["is not text"]),
    "not UTF-8": (
        text(b"a,y\n\xff\xfe\xfa,2\n" * N),
        "t.csv",
        ["--target", "y"],
        ["cannot be understood as CSV", "UTF-8"],
    ),
    "open quote": (rows('1,"2,3'), "t.csv", ["--target", "y"], ["t.csv", "cannot be understood as CSV"]),
    "columns of one name": (rows(header="a,a,y"), "t.csv", ["--target", "y"], ["columns of the same name", "'a'"]),
    "no header": (rows(header="5.1,3.5,0.2"), "t.csv", ["--target", "y"], ["no header", "5.1, 3.5, 0.2"]),
    "date target": (parquet(y=[datetime.date(2020, 1, 1)] * N), "t.parquet", ["--target", "y"], ["date or time"]),
    "nested": (
        parquet(c=[[1, 2]] * N),
        "t.parquet",
        ["--target", "y"],
        ["'c' is nested or binary", "--drop-column 'c'"],
    ),
    "not a Parquet file": (text("hello" * 9), "t.parquet", ["--target", "y"], ["cannot be understood as PARQUET"]),
    "not an NPZ file": (text("hello" * 9), "t.npz", [], ["cannot be read as NPZ"]),
    "pickled objects": (npz(X=np.array([{}] * N, dtype=object), y=np.arange(N)), "t.npz", [], ["never unpickled"]),
    "arrays of unequal length": (npz(X=np.ones((N, 2)), y=np.ones(N + 1)), "t.npz", [], ["X (40, 2), y (41,)"]),
    "an empty archive": (npz(), "t.npz", [], ["no arrays"]),
    "complex array": (npz(X=np.ones((N, 2)) * 1j, y=np.arange(N)), "t.npz", [], ["'X'", "complex"]),
    "unknown column to drop": (
        csv(),
        "t.csv",
        ["--target", "y", "--drop-column", "q"],
        ["'q' is not a column", "a, b, y"],
    ),
    "the target dropped": (csv(), "t.csv", ["--target", "y", "--drop-column", "y"], ["is the target"]),
    "error": (csv(), "t.csv", ["--target", "y", "--error", "-1"], ["--error", "positive"]),
    "error nan": (csv(), "t.csv", ["--target", "y", "--error", "nan"], ["--error", "positive"]),
    "time limit": (csv(), "t.csv", ["--target", "y", "--time-limit", "0"], ["--time-limit", "positive"]),
    "seed": (csv(), "t.csv", ["--target", "y", "--seed", "-1"], ["--seed"]),
    "max rows": (csv(), "t.csv", ["--target", "y", "--max-rows", "3"], ["--max-rows", "at least 20"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_clear_message_and_no_traceback(case, tmp_path):
    make, name, options, parts = CASES[case]
    if make:
        make(tmp_path / name)
    result = CliRunner().invoke(app, ["study", str(tmp_path / name), *options, "--out", str(tmp_path / "out")])
    refused(result, parts)
    assert not (tmp_path / "out").exists()


def refused(result, parts):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize(
    ("name", "nearest"), [("digit", "digits"), ("breast-cancer", "breast_cancer"), ("Iris", "iris")]
)
def test_an_unknown_bundled_name_suggests_the_nearest(name, nearest):
    refused(
        CliRunner().invoke(app, ["study", name]), [f"{name!r}", f"did you mean {nearest}?", "digits, breast_cancer"]
    )


def test_a_directory(tmp_path):
    refused(CliRunner().invoke(app, ["study", str(tmp_path), "--target", "y"]), ["is a directory"])


def test_a_file_without_permission(tmp_path, monkeypatch):
    csv()(tmp_path / "t.csv")

    def denied(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "open", denied)
    refused(
        CliRunner().invoke(app, ["study", str(tmp_path / "t.csv"), "--target", "y"]),
        ["cannot be read", "Permission denied"],
    )


def test_a_path_that_no_file_can_have():
    refused(CliRunner().invoke(app, ["study", "a\0b.csv", "--target", "y"]), [])


@pytest.mark.parametrize("place", ["file/out", "taken"])
def test_a_directory_that_cannot_be_written_is_refused_before_the_computation(tmp_path, monkeypatch, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "report").write_text("")
    monkeypatch.setattr("lemmata.study.run_study", lambda *_a, **_k: pytest.fail("it computed"), raising=False)
    refused(
        CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path / place)]), ["--out", "cannot be written to"]
    )


def test_control_characters_of_a_column_do_not_reach_the_terminal(tmp_path):
    parquet(**{"\x1b]0;title\x07[red]": TOO_MANY})(tmp_path / "t.parquet")
    result = CliRunner().invoke(app, ["study", str(tmp_path / "t.parquet"), "--target", "y"])
    refused(result, ["[red]"])
    assert "\x07" not in result.stderr
    assert "\x1b]" not in result.stderr


def test_control_characters_of_a_path_do_not_reach_the_terminal():
    result = CliRunner().invoke(app, ["study", "\x1b[31mred\x1b]0;title\x07.csv"])
    refused(result, ["there is no file ␛[31mred␛]0;title␇.csv"])
    assert "\x1b[31mred" not in result.stderr
