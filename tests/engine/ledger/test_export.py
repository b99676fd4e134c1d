"""An export replaces no other file, and a ledger is read and exported although its disk is full."""

import contextlib
import os
import resource

import numpy as np
import polars as pl
import pytest

from lemmata.engine.ledger import numbers_of, open_ledger, read_ledger, recorded_trials
from lemmata.engine.ledger._file import TRIAL
from lemmata.engine.ledger._rows import ARRAYS
from lemmata.errors import FileError, SettingError

from . import slow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "l.parquet"  # whose own ending is that of an export
    claim = slow.SquareIsSmaller()
    with open_ledger(path) as ledger:
        ledger.begin("a run", 0)
    recorded_trials(path, 1, claim, claim.population.settings().default, 3, 0)
    return path


@contextlib.contextmanager
def full_disk():
    """A context in which no file can grow beyond 2 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["l.parquet", "linked.parquet", "hard.parquet", "l.parquet-wal", "table.csv", "table"])
def test_an_export_over_the_ledger_or_with_another_ending_is_refused(recorded, name):
    folder = recorded.parent
    for made, make in (("linked.parquet", os.symlink), ("hard.parquet", os.link)):
        if not (folder / made).exists():
            make(recorded, folder / made)
    before = recorded.read_bytes()
    with read_ledger(recorded) as ledger, pytest.raises(SettingError, match="name a new file that ends in"):
        ledger.export(folder / name)
    assert recorded.read_bytes() == before


def test_an_export_replaces_only_an_earlier_export(recorded, tmp_path):
    path = tmp_path / "trials.parquet"
    with read_ledger(recorded) as ledger:
        assert ledger.export(path) == ledger.export(path) == 3
        for content in (b"my notes", None):
            if content is None:
                pl.DataFrame({"mine": [1]}).write_parquet(path)
            else:
                path.write_bytes(content)
            before = path.read_bytes()
            with pytest.raises(SettingError, match="may replace only an earlier export"):
                ledger.export(path)
            assert path.read_bytes() == before


def test_an_export_has_every_trial_with_its_numbers(recorded, tmp_path):
    with read_ledger(recorded) as ledger:
        ledger.export(tmp_path / "trials.parquet")
        rows = [dict(row) for row in ledger.query("SELECT * FROM trials")]
    table = pl.read_parquet(tmp_path / "trials.parquet")
    assert table.columns == [name for name in TRIAL if name not in ("arrays", "shapes")] + list(ARRAYS)
    assert table.select("claim", "number", "size", "holds").rows() == [
        tuple(row[name] for name in ("claim", "number", "size", "holds")) for row in rows
    ]
    for name in ARRAYS:
        np.testing.assert_array_equal(np.stack(table[name].to_list()), [numbers_of(row)[name] for row in rows])
    np.testing.assert_allclose(table["measured"].explode(), table["predicted"].explode() ** 2)


def test_a_ledger_on_a_full_disk_is_read_and_gets_no_file_beside_it(recorded):
    names = sorted(os.listdir(recorded.parent))
    with full_disk(), read_ledger(recorded) as ledger:
        assert [row["command"] for row in ledger.query("SELECT command FROM runs")] == ["a run"]
    assert sorted(os.listdir(recorded.parent)) == names


def test_an_export_to_a_full_disk_names_the_export(recorded, tmp_path):
    path = tmp_path / "trials.parquet"
    with full_disk(), read_ledger(recorded) as ledger, pytest.raises(FileError, match="parquet cannot be written"):
        ledger.export(path)
    assert not os.listdir(tmp_path)


def test_reading_a_ledger_leaves_no_file_beside_it(tmp_path):
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        ledger.begin("a run", 0)
    with read_ledger(path) as ledger:
        assert ledger.check() == []
    assert os.listdir(tmp_path) == ["l.sqlite"]
