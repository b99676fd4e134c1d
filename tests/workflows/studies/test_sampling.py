"""Of a table that is too large whole groups are drawn, each equally often, and single rows where they are too large."""

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._sampling import drawn, how_drawn

RNG = np.random.default_rng(0)


def people(rows=300, each=3, name="person"):
    """Rows of a person far apart."""
    return pl.DataFrame(
        {
            "a": RNG.normal(size=rows),
            name: np.arange(rows) % (rows // each),
            "y": RNG.normal(size=rows),
        }
    )


def test_whole_groups_are_used():
    data = load_dataset(people(), "y", group="person", max_rows=100)
    assert data.groups is not None
    assert np.bincount(data.groups).tolist() == [3] * 33
    assert len(np.unique(data.index % 100)) == 33
    assert any(
        note.startswith("used 99 of 300 rows, 33 whole groups drawn at random, as --max-rows") for note in data.notes
    )
    again = load_dataset(people(), "y", group="person", max_rows=100)
    assert again.index.tolist() == data.index.tolist()
    other = load_dataset(people(), "y", group="person", max_rows=100, seed=1)
    assert other.index.tolist() != data.index.tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_whole_groups_are_read_of_a_file_that_is_too_large(tmp_path, suffix):
    """The name of a group's column may stand between blanks in the header."""
    path, table = tmp_path / f"t.{suffix}", people(20_000, 4, " person " if suffix == "csv" else "person")
    table.write_csv(path) if suffix == "csv" else table.write_parquet(path)
    data = load_dataset(path, "y", group="person", limit_bytes=200_000)
    assert data.groups is not None
    assert 20 <= len(data.groups) < 20_000
    assert set(np.bincount(data.groups)) == {4}
    assert any("whole groups drawn at random, were read" in note for note in data.notes)


def test_names_of_groups_are_as_good_as_numbers():
    table = people().with_columns(("p" + pl.col("person").cast(pl.String)).alias("person"))
    data = load_dataset(table, "y", group="person", max_rows=50)
    assert data.groups is not None
    assert np.bincount(data.groups).tolist() == [3] * 16


def test_groups_that_are_too_large_are_cut():
    table = people(300, 150)
    data = load_dataset(table, "y", group="person", max_rows=100)
    assert data.groups is not None
    assert np.bincount(data.groups).sum() == 100
    assert len(np.unique(data.groups)) == 2
    assert any("drawn at random and not by groups, because the groups are too large" in note for note in data.notes)


def test_each_group_is_drawn_equally_often():
    """Of 60 groups of two rows 20 at a time: 1,500 draws, each group within five standard errors of a third."""
    groups = np.repeat(np.arange(60), 2)
    counts = np.zeros(60)
    for seed in range(1500):
        chosen = drawn(120, 40, seed, groups)
        assert len(chosen) == 40
        counts += np.bincount(groups[chosen], minlength=60) / 2
    assert np.abs(counts / 1500 - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 1500)


def test_rows_without_groups_are_drawn_singly():
    chosen = drawn(100, 30, 0)
    assert len(np.unique(chosen)) == 30
    assert (np.diff(chosen) > 0).all()
    assert how_drawn(None, chosen) == "drawn at random"
    assert drawn(10, 30, 0).tolist() == list(range(10))


@pytest.mark.parametrize("seed", range(8))
def test_a_small_group_among_large_ones_is_not_all_that_is_used(seed):
    groups = np.repeat([0, 1, 2], [4, 500, 500])
    assert len(drawn(1004, 100, seed, groups)) == 100
