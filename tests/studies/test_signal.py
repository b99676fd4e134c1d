"""The test for signal: how often it sees what is not there, and what is."""

import numpy as np
import pytest
from scipy import stats

from lemmata.studies._signal import LEVEL, signal
from tests.studies import tables


@pytest.mark.rotating(4)
@pytest.mark.parametrize("kind", ["number", "class"])
def test_false_alarms_are_as_rare_as_the_level_says(kind):
    count = 60
    alarms = sum(signal(tables.noise(20 + seed, kind, seed), seed).found for seed in range(count))
    assert alarms <= stats.binom.ppf(1 - 1e-3, count, LEVEL), f"{alarms} of {count}"


def test_the_p_value_is_uniform_without_signal():
    values = [signal(tables.noise(24, seed=seed), seed).p_value for seed in range(80)]
    assert stats.kstest(values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "table", [tables.waves(60), tables.classes(60), tables.linear(30)], ids=["waves", "classes", "linear"]
)
def test_what_can_be_predicted_is_seen(table):
    found = signal(table)
    assert found.found
    assert found.p_value == pytest.approx(1 / 200)
    assert found.error < 0.8 < found.by_chance


def test_copies_of_a_person_are_no_evidence():
    """Four rows of one person share inputs and target: rows that are not independent look predictable."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(40), 4)
    x, y = rng.normal(size=(40, 3))[person], rng.normal(size=40)[person]
    import polars as pl

    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "person": person, "y": y})
    from lemmata.studies import load_dataset

    assert signal(load_dataset(frame, "y", drop_columns=["person"])).found
    assert not signal(load_dataset(frame, "y", group="person")).found


def test_copies_of_rows_are_counted_across_groups_and_not_where_equal_rows_are_to_be_expected():
    import polars as pl

    from lemmata.studies import load_dataset

    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    order = np.r_[np.arange(40), np.arange(15)]
    numbers = pl.DataFrame({"a": x[order, 0], "b": x[order, 1], "y": y[order]})
    found = signal(load_dataset(numbers, "y"))
    assert (found.copies, found.total) == (15, 55)
    together = numbers.with_columns(pl.Series("person", [f"p{i}" for i in order]))
    found = signal(load_dataset(together, "y", group="person"))
    assert (found.copies, found.grouped, found.rows) == (0, True, 40)
    apart = numbers.with_columns(pl.Series("person", [f"p{i % 10}" for i in range(55)]))
    assert signal(load_dataset(apart, "y", group="person")).copies == 15 - sum(
        i % 10 == (40 + i) % 10 for i in range(15)
    )
    few = pl.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.integers(0, 3, 90), "y": rng.integers(0, 2, 90)})
    assert signal(load_dataset(few, "y")).copies == 0
