"""Rows that nearly repeat another are told, and rows that are near by chance are not."""

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset

WORDS = "nearly equal to another row"


def told(x, **more):
    """The findings about near copies of a table with these columns."""
    table = pl.DataFrame({f"x{j}": column for j, column in enumerate(x.T)} | more)
    table = table.with_columns(y=pl.Series(np.random.default_rng(1).normal(size=len(x))))
    options = {name: name for name in ("group", "time") if name in more}
    return [finding.text for finding in load_dataset(table, "y", **options).findings if WORDS in finding.text]


@pytest.mark.parametrize("jitter", [1e-6, 1e-3, 3e-2])
@pytest.mark.parametrize("d", [5, 30])
def test_jittered_rows_are_told(d, jitter):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(400, d))
    (text,) = told(np.r_[x, x[:20] + jitter * rng.normal(size=(20, d))])
    assert 26 <= int(text.split()[0]) <= 40  # a wide jitter in few columns moves some of them too far


@pytest.mark.parametrize("kind", ["normal", "lognormal", "two scales", "rounded", "uniform", "line", "counts"])
def test_rows_that_are_near_by_chance_are_not(kind):
    made = {
        "normal": lambda x: x, "lognormal": lambda x: np.exp(2 * x), "rounded": lambda x: np.round(x, 1),
        "two scales": lambda x: x * np.where(np.arange(len(x)) % 2, 1, 1e-2)[:, None],
        "uniform": lambda x: np.random.default_rng(5).uniform(size=x.shape),
        "line": lambda x: np.sort(x[:, :1], axis=0) * np.arange(1.0, x.shape[1] + 1) + 1e-3 * x,
        "counts": lambda x: np.round(np.exp(x)),
    }  # fmt: skip
    for seed in range(6):
        for n, d in ((60, 2), (300, 3), (1000, 8)):
            assert told(made[kind](np.random.default_rng([seed, n]).normal(size=(n, d)))) == []


def test_rows_that_differ_in_another_column_are_no_copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    x = np.r_[x, x[:30] + 1e-3 * rng.normal(size=(30, 6))]
    assert told(x, kind=["a"] * 330)
    assert told(x, kind=["a"] * 300 + ["b"] * 30) == []


def test_copies_within_a_group_are_what_groups_are_for():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    x = np.r_[x, x[:30] + 1e-3 * rng.normal(size=(30, 6))]
    same = [f"p{i}" for i in [*range(300), *range(30)]]
    assert told(x, group=same) == []
    (text,) = told(x, group=[f"p{i // 3}" for i in range(330)])
    assert "of another group" in text
    assert told(x, time=np.arange(330.0)) == []
