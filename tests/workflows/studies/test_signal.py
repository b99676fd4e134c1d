"""The test for signal: how often it sees what is not there, and what is."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lemmata.workflows.studies import Dataset, load_dataset
from lemmata.workflows.studies._signal import LEVEL, Signal, signal
from lemmata.workflows.studies._signal_statistics import _RIDGES, _left_out
from tests.workflows.studies import tables


def as_rare_as_the_level(alarms, count):
    return alarms <= stats.binom.ppf(1 - 1e-3, count, LEVEL)


@pytest.mark.parametrize("kind", ["number", "class"])
def test_false_alarms_are_as_rare_as_the_level_says(kind):
    count = 60
    alarms = sum(signal(tables.noise(20 + seed, kind, seed), seed).found for seed in range(count))
    assert as_rare_as_the_level(alarms, count), f"{alarms} of {count}"


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
    assert (found.kind, found.shuffles, found.groups) == ("rows", 199, 0)
    assert found.p_value <= found.least * (1 + 1e-9)


def test_copies_of_a_person_are_no_evidence():
    """Four rows of one person share inputs and target: rows that are not independent look predictable."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(40), 4)
    x, y = rng.normal(size=(40, 3))[person], rng.normal(size=40)[person]
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "person": person, "y": y})
    assert signal(load_dataset(frame, "y", drop_columns=["person"])).found
    assert not signal(load_dataset(frame, "y", group="person")).found


def test_copies_of_rows_are_counted_across_groups_and_not_where_equal_rows_are_to_be_expected():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    order = np.r_[np.arange(40), np.arange(15)]
    numbers = pl.DataFrame({"a": x[order, 0], "b": x[order, 1], "y": y[order]})
    found = signal(load_dataset(numbers, "y"))
    assert (found.copies, found.total) == (15, 55)
    together = numbers.with_columns(pl.Series("person", [f"p{i}" for i in order]))
    found = signal(load_dataset(together, "y", group="person"))
    assert (found.copies, found.grouped, found.groups, found.kind) == (0, True, 40, "whole groups")
    apart = numbers.with_columns(pl.Series("person", [f"p{i % 10}" for i in range(55)]))
    assert signal(load_dataset(apart, "y", group="person")).copies == 15 - sum(
        i % 10 == (40 + i) % 10 for i in range(15)
    )
    few = pl.DataFrame({"a": rng.integers(0, 3, 90), "b": rng.integers(0, 3, 90), "y": rng.integers(0, 2, 90)})
    found = signal(load_dataset(few, "y"))
    assert (found.copies > 50, found.alike) == (True, True)
    gaps = numbers.with_columns(a=pl.when(pl.col("a") > 1).then(None).otherwise("a"))
    assert signal(load_dataset(gaps, "y")).copies == 15


def test_two_of_three_thousand_columns_are_seen():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3000))
    found = signal(load_dataset((x, x[:, 0] - x[:, 1] + rng.normal(size=120))))
    assert found.found
    assert found.error > 0.9  # to all columns together nothing is visible


def test_a_column_that_is_not_monotone_is_seen_among_many():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 600))
    assert signal(load_dataset((x, 2 * np.abs(x[:, 3]) + 0.7 * rng.normal(size=150)))).found


def test_many_columns_of_noise_are_no_signal():
    count = 20
    alarms = 0
    for seed in range(count):
        rng = np.random.default_rng([seed, 5])
        alarms += signal(load_dataset((rng.normal(size=(60, 150)), rng.normal(size=60))), seed).found
    assert as_rare_as_the_level(alarms, count)


def test_a_large_table_is_sampled_and_never_encoded_as_a_whole():
    rng = np.random.default_rng(2)
    data = load_dataset((rng.normal(size=(25000, 3)), rng.normal(size=25000)))

    class Watched(Dataset):
        """A dataset without `x`, whose encoder sees few rows."""

        def __init__(self):
            self.__dict__.update(data.__dict__)

        def __getattribute__(self, name):
            assert name != "x"
            return object.__getattribute__(self, name)

        def encoder(self):
            own = data.encoder()
            fit = own.fit_transform

            def few(rows, y=None):
                assert len(rows) <= 10000
                return fit(rows)

            own.fit_transform = few
            return own

    found = signal(Watched())
    assert (found.rows, found.held, found.total) == (800, 10000, 25000)


def test_what_is_visible_shrinks_with_the_rows():
    few, many = signal(tables.noise(40)), signal(tables.noise(600))
    assert 0 < many.visible < few.visible / 3 < 1 / 3


def test_a_signal_can_be_made_of_five_numbers():
    made = Signal(True, 0.005, 0.3, 1.0, 100)
    assert (made.kind, made.least, made.shuffles, made.groups) == ("rows", 0.005, 199, 0)
    assert np.isnan(made.visible)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_statistic_of_kernels_is_the_least_error_of_leaving_each_row_out(outputs):
    rng = np.random.default_rng(8)
    n, arrangements = 12, 3
    x = rng.normal(size=(n, 2))
    centre = np.eye(n) - 1 / n
    gram = centre @ np.exp(-((x[:, None] - x) ** 2).sum(axis=2)) @ centre
    values, vectors = np.linalg.eigh(gram)
    targets = rng.normal(size=(n, arrangements, outputs))
    targets[:, 2] = 1.5  # a target that is the same in all rows
    found = _left_out(np.maximum(values, 0.0), vectors, targets)
    for place in range(2):
        y = targets[:, place] - targets[:, place].mean(axis=0)
        errors = []
        for ridge in _RIDGES * gram.trace() / n:
            smoother = gram @ np.linalg.inv(gram + ridge * np.eye(n)) + 1 / n
            errors.append((((y - smoother @ y) / (1 - np.diag(smoother))[:, None]) ** 2).sum())
        mean = ((y * n / (n - 1)) ** 2).sum()
        assert found[place] == pytest.approx(min(errors) / mean, rel=1e-9)
    assert found[2] == 1.0
