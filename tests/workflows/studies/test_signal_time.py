"""The test for signal in series: what follows itself is not thereby predicted by others."""

import jax
import numpy as np
import polars as pl
import pytest
from scipy import signal as filters

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._signal import signal
from lemmata.workflows.studies._signal_blocks import block_edges
from lemmata.workflows.studies._signal_time import _plan, of_shifts
from lemmata.workflows.studies._unfound import predicted
from tests.workflows.studies.test_signal import as_rare_as_the_level


def series(x, y):
    x = np.asarray(x, float).reshape(len(y), -1)
    columns = {f"x{j}": x[:, j] for j in range(x.shape[1])} | {"t": np.arange(len(y)), "y": y}
    shuffled = np.random.default_rng(0).permutation(len(y))
    return load_dataset(pl.DataFrame(columns)[shuffled], "y", time="t")


def follows(rng, rows, columns=1, rho=1.0):
    """Random walks, or autoregressions."""
    return filters.lfilter([1], [1, -rho], rng.normal(size=(rows + 100 * (rho < 1), columns)), axis=0)[-rows:]


def seasons(rng, rows, columns=1):
    angle = np.arange(rows)[:, None] / rng.uniform(5, 60, columns) + rng.random(columns)
    return np.sin(2 * np.pi * angle) * np.sqrt(2)


def noisy_seasons(rng, rows, rho=0.0):
    return seasons(rng, rows) + follows(rng, rows, 1, rho) / 2


NOTHING = {
    "walks": lambda rng, n: (follows(rng, n, 3), follows(rng, n)),
    "rho 0.8": lambda rng, n: (follows(rng, n, 3, 0.8), follows(rng, n, 1, 0.8)),
    "rho 0.95": lambda rng, n: (follows(rng, n, 3, 0.95), follows(rng, n, 1, 0.95)),
    "seasons": lambda rng, n: (noisy_seasons(rng, n), noisy_seasons(rng, n)),
    "seasons that follow": lambda rng, n: (noisy_seasons(rng, n, 0.8), noisy_seasons(rng, n, 0.8)),
}


@pytest.mark.parametrize("kind", NOTHING)
@pytest.mark.parametrize(("rows", "classes"), [(100, False), (300, False), (300, True)])
def test_independent_series_predict_nothing(kind, rows, classes):
    count, alarms = 30, 0
    for seed in range(count):
        x, y = NOTHING[kind](np.random.default_rng([seed, 9]), rows)
        y = np.where(y[:, 0] > np.median(y), "up", "down") if classes else y[:, 0]
        alarms += signal(series(x, y), seed).found
    assert as_rare_as_the_level(alarms, count), f"{alarms} of {count}"


def depends(rng, rows):
    x = follows(rng, rows, 3, 0.7)
    return x, 2 * np.sin(x[:, 0]) + follows(rng, rows, 1, 0.9)[:, 0]


def by_the_hour(rng, rows):
    angle = 2 * np.pi * np.arange(rows) / 24
    return np.stack([np.sin(angle), np.cos(angle), rng.normal(size=rows)], 1), 2 * np.cos(angle) + rng.normal(size=rows)


def by_the_weekday(rng, rows):
    day = np.arange(rows) % 7
    return np.eye(7)[day], np.array([0, 0, 0, 0, 0, 2, 3])[day] + rng.normal(size=rows)


def trend(rng, rows):
    return np.arange(rows) + 0.5, 6 * np.arange(rows) / rows + rng.normal(size=rows)


def lagged(rng, rows):
    y = follows(rng, rows + 1, 1, 0.9)[:, 0]
    return y[:-1], y[1:]


@pytest.mark.parametrize("kind", [depends, by_the_hour, by_the_weekday, trend, lagged])
def test_what_depends_on_columns_is_seen(kind):
    found = signal(series(*kind(np.random.default_rng(3), 400)))
    assert (found.found, found.kind, found.rows) == (True, "time", 400)


def test_shifts_are_many_enough_and_stay_within_the_series():
    for total in (100, 150, 260, 400, 1500):
        plan = _plan(total, 200)
        assert plan.starts[0] == plan.start
        assert len(set(plan.starts)) == len(plan.starts)
        assert plan.starts.min() >= 0
        assert plan.starts.max() + plan.length <= total
        assert plan.count > 100
    assert _plan(400, 200).count == _plan(1500, 200).count == 201


def test_a_level_that_moves_slowly_is_seen_in_the_levels():
    """A slow column explains a fifth of the target; of its differences, a hundredth, which no test sees."""
    values = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = follows(rng, 900, 2, 0.97)
        x = (x - x.mean(axis=0)) / x.std(axis=0)
        with jax.enable_x64(True):
            values.append(of_shifts(x, x[:, :1] + 2.0 * rng.normal(size=(900, 1)), False, 200).p_value)
    assert np.median(values) < 0.05, "the differences alone have 0.4"


def waves(rng, effect):
    """Five waves of 60 rows. Each wave has its own level and, in a column, its own share."""
    wave = np.repeat(np.arange(5), 60)
    x = rng.normal(size=300) + rng.normal(size=5)[wave]
    y = effect * x + 3 * rng.normal(size=5)[wave] + rng.normal(size=300)
    return load_dataset(pl.DataFrame({"x": x, "wave": wave, "y": y}), "y", time="wave")


def test_a_level_that_few_waves_share_is_no_signal():
    count = 20
    alarms = sum(signal(waves(np.random.default_rng([seed, 5]), 0.0), seed).found for seed in range(count))
    assert as_rare_as_the_level(alarms, count), f"{alarms} of {count}"


def test_differences_between_rows_of_one_wave_are_found():
    found = signal(waves(np.random.default_rng(1), 1.0))
    assert (found.found, found.kind, found.groups) == (True, "within times", 5)
    assert "At each time, the columns predict differences between rows" in predicted(found)


def test_blocks_begin_at_the_start_of_a_time():
    assert block_edges(np.repeat(np.arange(5.0), 96)) == [192, 288, 384, 480]
    assert len(block_edges(np.arange(100.0))) == 13
