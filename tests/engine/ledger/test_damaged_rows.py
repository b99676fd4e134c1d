"""A ledger whose rows another program changed: each command reads them as they are, or says so in one line."""

import random
import shutil
import sqlite3

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import find, verify
from lemmata.engine.ledger import compare_runs, open_ledger, recorded_trials
from lemmata.errors import LemmataError
from lemmata.interfaces.cli import app

CLAIM = "hoeffding_held_out"
VALUES = {
    "NULL": "NULL",
    "text": "'x'",
    "empty": "''",
    "bytes": "x'ff00'",
    "no UTF-8": "CAST(x'ff41' AS TEXT)",
    "nested": "'" + "[" * 5000 + "'",
    "a list": "'[1]'",
    "an object": "'{\"a\": null}'",
    "a huge number": "9e999",
    "a negative number": "-5",
    "ESC": "char(27) || '[31m'",
}
COMMANDS = (
    ["list"], ["list", CLAIM], ["compare", "1", "2"], ["replay", CLAIM, "3"], ["export", "out.parquet"], ["check"],
)  # fmt: skip
PER_CASE = 3  # of the columns, in turn


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    for seed in (0, 1):
        arguments = ["verify", CLAIM, "--budget", "48", "--ledger", str(path), "--seed", str(seed)]
        assert CliRunner().invoke(app, arguments).exit_code in (0, 3)
    return path


def columns(path):
    with sqlite3.connect(path) as own:
        tables = [name for (name,) in own.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return [(table, row[1]) for table in tables for row in own.execute(f"PRAGMA table_info({table})")]


def damaged(whole, folder, table, column, value):
    path = folder / f"{table}_{column}.sqlite"
    shutil.copy(whole, path)
    own = sqlite3.connect(path)
    try:
        with own:
            own.execute(f"UPDATE {table} SET {column} = {value}")
    except sqlite3.Error:
        return None  # the schema of the file forbids it
    finally:
        own.close()
    return path


@pytest.mark.parametrize("name", VALUES)
def test_changed_cells_are_read_or_told(whole, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    chosen = random.Random(name).sample(columns(whole), len(columns(whole)))
    tried = 0
    for table, column in chosen:
        path = damaged(whole, tmp_path, table, column, VALUES[name])
        if path is None:
            continue
        tried += 1
        for words in COMMANDS if tried <= PER_CASE else random.Random(f"{name}{column}").sample(COMMANDS, 1):
            told = CliRunner().invoke(app, ["ledger", *words, "--ledger", str(path)])
            assert isinstance(told.exception, SystemExit | None), (table, column, words, told.exception)
            assert told.exit_code in (0, 1, 2, 3), (table, column, words, told.stderr)
            assert "\x1b" not in told.output
            assert "Traceback" not in told.output
    assert tried >= 8


@pytest.mark.parametrize("name", ["NULL", "text", "nested", "a list", "an object"])
def test_what_verify_reads_of_a_changed_ledger(whole, tmp_path, name):
    for column in ("hypotheses", "shapes", "arrays"):
        path = damaged(whole, tmp_path, "trials", column, VALUES[name])
        if path is None:
            continue
        run = lambda *given, path=path, **rest: recorded_trials(path, 1, *given, **rest)
        with pytest.raises(LemmataError, match="ledger"):
            verify(find(CLAIM)[0], budget=48, progress=False, run=run)


def test_what_compare_reads_of_a_changed_ledger(whole, tmp_path):
    for table, column in (("runs", "versions"), ("verdicts", "record")):
        path = damaged(whole, tmp_path, table, column, "'['")
        assert path is not None
        own = sqlite3.connect(path)
        with own:
            own.execute("UPDATE verdicts SET status = 'refuted' WHERE run = 1")
        own.close()
        with open_ledger(path) as ledger, pytest.raises(LemmataError, match="a row of the ledger"):
            compare_runs(ledger, 1, 2)


def test_a_damaged_file_is_not_written_to(whole, tmp_path):
    """Pages whose bytes were changed leave a readable file, whose rows another run would silently add to."""
    path = tmp_path / "flipped.sqlite"
    content = bytearray(whole.read_bytes())
    places = random.Random(1)
    for _ in range(60):
        content[places.randrange(4096, len(content))] ^= 255
    path.write_bytes(content)
    assert CliRunner().invoke(app, ["ledger", "check", "--ledger", str(path)]).exit_code != 0
    before = path.read_bytes()
    done = CliRunner().invoke(app, ["verify", CLAIM, "--budget", "8", "--ledger", str(path)])
    assert done.exit_code in (2, 4)
    assert "undamaged SQLite file" in " ".join(done.stderr.split())
    assert path.read_bytes() == before
    with pytest.raises(LemmataError, match="undamaged"), open_ledger(path):
        pass
