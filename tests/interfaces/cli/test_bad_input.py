"""Every kind of bad input ends with a clear message on stderr, exit code 2 and no traceback."""

import datetime
import io
import os
import zipfile

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app

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


def members(arrays, **others):
    """An NPZ file of arrays, with further members of the archive as they stand."""

    def make(path):
        np.savez(path, **arrays)
        with zipfile.ZipFile(path, "a") as archive:
            for name, content in others.items():
                archive.writestr(name.replace("__", "."), content)

    return make


def header(entries):
    """A .npy file whose header declares this many numbers, and holds none."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (entries,)})
    return file.getvalue()


def with_nan(count):
    return np.where(np.arange(N) < count, np.nan, GOOD["a"])


TOO_MANY = [f"text {i}" for i in range(N)]
# name of the case: how the file is made, its name, the options, and what the message must contain
CASES = {
    "too few rows after dropping": (
        parquet(a=with_nan(30)),
        "t.parquet",
        ["--target", "y", "--drop-missing"],
        ["too few rows after 30 rows with missing cells were dropped", "found: 10 rows"],
    ),
    "dates of another kind": (
        csv(c=[f"1/{i % 12 + 1}/{1980 + i}" for i in range(N)]),
        "t.csv",
        ["--target", "y"],
        ["'c'", "'1/2/1981' may be 1981-02-01 or 1981-01-02; write dates as YYYY-MM-DD"],
    ),
    "a column of missing targets": (
        parquet(y=with_nan(30)),
        "t.parquet",
        ["--target", "y"],
        ["too few rows after 30 rows without a target were dropped", "found: 10 rows"],
    ),
    "binary": (text(bytes(range(256)) * 9), "t.csv", ["--target", "y"], ["is not text"]),
    "date target": (parquet(y=[datetime.date(2020, 1, 1)] * N), "t.parquet", ["--target", "y"], ["date or time"]),
    "nested": (
        parquet(c=[[1, 2]] * N),
        "t.parquet",
        ["--target", "y"],
        ["'c' is nested or binary", "--drop-column 'c'"],
    ),
    "pickled objects": (npz(X=np.array([{}] * N, dtype=object), y=np.arange(N)), "t.npz", [], ["never unpickles"]),
    "arrays of unequal length": (npz(X=np.ones((N, 2)), y=np.ones(N + 1)), "t.npz", [], ["X (40, 2), y (41,)"]),
    "an empty archive": (npz(), "t.npz", [], ["no arrays"]),
    "complex array": (npz(X=np.ones((N, 2)) * 1j, y=np.arange(N)), "t.npz", [], ["'X'", "complex"]),
    "a declared size beyond memory": (
        members({"X": GOOD["a"]}, y__npy=header(10**13)),
        "t.npz",
        [],
        ["too large to read", f"{8 * 10**13 + 8 * N + 128} bytes needed"],
    ),
    "an array that ends early": (members({"X": GOOD["a"]}, y__npy=header(N)), "t.npz", [], ["cannot be read as NPZ"]),
    "a header of a shape below zero": (members({}, y__npy=header(-1)), "t.npz", [], ["cannot be read as NPZ"]),
    "no array": (members({"X": GOOD["a"]}, y__npy=b"hello"), "t.npz", [], ["cannot be read as NPZ"]),
    "arrays without rows": (npz(X=np.ones((0, 2)), y=np.ones(0)), "t.npz", [], ["too few rows", "0 rows"]),
    "structured array": (
        npz(X=np.zeros(N, dtype=[("a", "f8"), ("b", "i4")]), y=np.arange(N)),
        "t.npz",
        [],
        ["'X'", "structured", "store each field"],
    ),
    "bytes that are no text": (
        npz(X=GOOD["a"], y=np.array([b"\xff", b"a"] * (N // 2))),
        "t.npz",
        [],
        ["'y'", "bytes that are not text", "UTF-8"],
    ),
    "arrays of colliding names": (
        npz(**{"X": np.ones((N, 2)), "X[0]": np.arange(N), "y": np.arange(N)}),
        "t.npz",
        [],
        ["columns of the same name", "'X[0]'", "rename one"],
    ),
    "a target without any value": (
        parquet(y=[None] * N, a=with_nan(2)),
        "t.parquet",
        ["--target", "y"],
        ["target 'y' is missing, NaN or infinite in every row", "choose another --target"],
    ),
    "a group that is missing": (
        parquet(c=[None, *["u", "v"] * (N // 2 - 1), "u"]),
        "t.parquet",
        ["--target", "y", "--group", "c"],
        ["'c', which decides the splits, has missing cells", "1 of 40 rows", "--drop-missing"],
    ),
    "decimal commas": (
        csv(a=[f"{1 + i % 8},{100 + i}" for i in range(N)]),
        "t.csv",
        ["--target", "y"],
        ["'a' has too many categories", "--decimal , if a comma marks decimals, or --decimal . if", "'1,100'"],
    ),
    "decimal commas in the target": (
        csv(y=[f"{1 + i % 8},{100 + i}" for i in range(N)]),
        "t.csv",
        ["--target", "y", "--task", "regression"],
        ["--decimal , if a comma marks decimals"],
    ),
    "two units": (
        csv(a=[f"{i} {'kg' if i % 2 else 'g'}" for i in range(N)]),
        "t.csv",
        ["--target", "y"],
        ["write the number without its unit (such as '0 g')"],
    ),
}


@pytest.fixture(autouse=True)
def _no_study(monkeypatch):
    monkeypatch.setattr("lemmata.workflows.studies.run_study", lambda *_a, **_k: pytest.fail("it computed"))


@pytest.mark.parametrize("case", CASES)
def test_a_clear_message_and_no_traceback(case, tmp_path):
    make, name, options, parts = CASES[case]
    if make:
        make(tmp_path / name)
    result = CliRunner().invoke(app, ["study", str(tmp_path / name), *options, "--out", str(tmp_path / "out")])
    refused(result, parts)
    assert not (tmp_path / "out").exists()


def test_a_target_without_any_value_is_not_to_be_dropped(tmp_path):
    parquet(y=[None] * N)(tmp_path / "t.parquet")
    result = CliRunner().invoke(app, ["study", str(tmp_path / "t.parquet"), "--target", "y"])
    refused(result, ["'y'"])
    assert "--drop" not in result.stderr


def wide_csv(path):
    path.write_text(",".join(f"c{j}" for j in range(10**6)) + "\n" + "\n".join(["1" + ",1" * 999_999] * 2))


def wide_npz(path):
    np.savez(path, X=np.zeros((2, 10**6), np.int8), y=np.zeros(2))


@pytest.mark.parametrize(
    ("make", "name", "found"),
    [(wide_csv, "t.csv", "1000000 columns"), (wide_npz, "t.npz", "1000001 columns")],
)
def test_a_million_columns_are_refused_in_one_line(tmp_path, make, name, found):
    make(tmp_path / name)
    result = CliRunner().invoke(app, ["study", str(tmp_path / name), "--target", "c1"])
    refused(result, ["has too many columns", f"found: {found}", "at most 50000 columns"])
    assert len(result.stderr) < 1000


def test_a_first_line_without_an_end_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x" * 3_000_000)
    result = CliRunner().invoke(app, ["study", str(tmp_path / "t.csv"), "--target", "x"])
    refused(result, ["not a header", "3000000 bytes"])
    assert len(result.stderr) < 1000


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + ".csv", "x/" * 2500])
def test_a_name_too_long_to_repeat(name, tmp_path):
    csv()(tmp_path / "t.csv")
    for words in ([name], [str(tmp_path / "t.csv"), "--target", name], ["iris", "--models", name]):
        result = CliRunner().invoke(app, ["study", *words])
        refused(result, ["characters)"])
        assert len(result.stderr) < 1000


def test_models_are_checked_before_the_data_is_read(monkeypatch):
    monkeypatch.setattr("lemmata.interfaces.python.load", lambda *_a, **_k: pytest.fail("it read the data"))
    refused(CliRunner().invoke(app, ["study", "iris", "--models", "nope"]), ["'nope'"])


@pytest.mark.parametrize("seed", ["-1", "4294967296"])
def test_seeds_of_verify(seed):
    refused(CliRunner().invoke(app, ["verify", "any", "--seed", seed]), ["--seed is out of bounds", "4294967295"])


def refused(result, parts):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


def test_a_file_without_permission(tmp_path, monkeypatch):
    csv()(tmp_path / "t.csv")

    opened = os.open

    def denied(path, *given, **more):
        if str(path).endswith("t.csv"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *given, **more)

    monkeypatch.setattr(os, "open", denied)
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
    monkeypatch.setattr(
        "lemmata.workflows.studies.run_study", lambda *_a, **_k: pytest.fail("it computed"), raising=False
    )
    refused(
        CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path / place)]), ["--out", "cannot be written to"]
    )


def test_control_characters_of_a_column_do_not_reach_the_terminal(tmp_path):
    parquet(**{"\x1b]0;title\x07[red]": [f"text {i % 35}" for i in range(N)]})(tmp_path / "t.parquet")
    result = CliRunner().invoke(app, ["study", str(tmp_path / "t.parquet"), "--target", "y"])
    refused(result, ["[red]"])
    assert "\x07" not in result.stderr
    assert "\x1b]" not in result.stderr


def test_control_characters_of_a_path_do_not_reach_the_terminal():
    result = CliRunner().invoke(app, ["study", "\x1b[31mred\x1b]0;title\x07.csv"])
    refused(result, ["there is no file ␛[31mred␛]0;title␇.csv"])
    assert "\x1b[31mred" not in result.stderr
