"""Reports on training logs: times by hand, the committed log, tables in all forms, and bad input."""

import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError, UnknownNameError
from lemmata.subjects.grokking import grokking_report

LOG = pathlib.Path(__file__).parent / "modular_addition.csv"
TABLE = {"step": [1, 10, 100, 1000], "train_acc": [0.1, 0.6, 1.0, 1.0], "val_acc": [0.1, 0.1, 0.2, 0.95]}


def exponential(train: float, test: float, onset: float = 0.0) -> dict[str, np.ndarray]:
    step = np.unique(np.geomspace(1, 1e5, 4000).astype(int))
    late = np.maximum(step - onset, 0.0)
    return {"step": step, "train_acc": -np.expm1(-train * step), "val_acc": -np.expm1(-test * late)}


def test_times_by_hand():
    (run,) = grokking_report(TABLE, thresholds=[0.5, 0.9, 0.99]).runs
    half, most, all_ = run.crossings
    assert (half.train, half.train_interval, half.test, half.test_interval) == (10, (1, 10), 1000, (100, 1000))
    assert (half.delay, half.delay_interval) == (100, (10, 1000))
    assert (most.train, most.delay_interval) == (100, (1, 100))
    assert (all_.test, all_.delay, all_.delay_interval) == (None, None, None)
    assert "never reaches 0.99 up to step 1000" in str(grokking_report(TABLE))


def test_the_committed_log():
    report = grokking_report(LOG)
    table = pd.read_csv(LOG)
    assert [run.weight_decay for run in report.runs] == [0.5, 1.0, 2.0]
    for run in report.runs:
        own = table[table.weight_decay == run.weight_decay]
        assert run.crossings[1].test == own[own.validation_accuracy >= 0.9].step.min()
        assert run.crossings[1].train == own[own.train_accuracy >= 0.9].step.min()
        assert run.clocks == "two"
    times = [run.crossings[2].test for run in report.runs]
    assert report.slope is not None
    assert report.slope.test == pytest.approx(np.polyfit(np.log([0.5, 1, 2]), np.log(times), 1)[0])
    assert not report.slope.inverse


def test_one_clock_and_two():
    (run,) = grokking_report(exponential(0.1, 0.001)).runs
    assert run.clocks == "one"
    assert run.onset is None
    (run,) = grokking_report(exponential(0.1, 0.001, onset=2000)).runs
    assert run.clocks == "two"
    low, high = run.onset_interval
    assert low <= 2000 <= high
    assert high - low < 100
    slow = exponential(0.1, 0.001)
    slow["val_acc"] = 1 - 1 / (1 + 0.001 * slow["step"]) ** 2
    assert grokking_report(slow).runs[0].clocks == "slower"


def test_the_inverse_of_the_weight_decay():
    parts = [exponential(0.1, 0.01 * decay) | {"weight_decay": decay} for decay in (0.1, 0.2, 0.4)]
    table = pd.concat([pd.DataFrame(part) for part in parts])
    slope = grokking_report(table).slope
    assert slope is not None
    assert slope.inverse
    assert slope.test == pytest.approx(-1, abs=0.02)
    assert slope.train == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("every", [1, 7])
def test_times_of_a_trained_linear_model_are_those_of_its_eigenvalues(every):
    """Gradient descent with weight decay from a start off the rows: every step is a power in closed form.

    The part of the start that no row sees is the only error on new rows, and shrinks by 1 - rate decay in each step.
    """
    rng, rate, parts = np.random.default_rng(0), 0.5, []
    basis = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    seen, unseen = basis[:, :10], basis[:, 10]
    for decay in (1e-3, 2e-3, 4e-3):
        w, logs = 3.0 * unseen + seen @ np.ones(10), []
        for step in range(1, 3001):
            w = w - rate * (seen @ (seen.T @ w) + decay * w)  # the labels are 0: rows are columns of `seen`
            if step % every == 0 or step == 1:
                logs.append((step, np.mean((seen.T @ w) ** 2), (unseen @ w) ** 2, decay))
        parts.append(pd.DataFrame(logs, columns=["step", "train_loss", "val_loss", "weight_decay"]))
    report = grokking_report(pd.concat(parts), thresholds=[0.5, 0.9])
    for run in report.runs:
        for crossing in run.crossings:
            shrinks = {"train": 1 - rate * (1 + run.weight_decay), "test": 1 - rate * run.weight_decay}
            for curve, factor in shrinks.items():  # squares fall by factor^2 from the first logged step
                exact = 1 + np.log(1 - crossing.threshold) / (2 * np.log(factor))
                time, (low, high) = getattr(crossing, curve), getattr(crossing, f"{curve}_interval")
                assert low - 1e-9 <= exact <= high + 1e-9
                assert exact <= time < exact + every
    assert report.slope is not None
    assert report.slope.inverse
    assert report.slope.test == pytest.approx(-1, abs=0.02)


def test_losses_fall_to_a_share_of_the_first():
    step = np.arange(200)
    table = {"epoch": step, "loss": 3 * np.exp(-0.5 * step), "val_loss": 3 * np.exp(-0.05 * step)}
    report = grokking_report(table)
    assert report.metric == "loss"
    assert report.runs[0].crossings[1].train == np.ceil(np.log(10) / 0.5)
    assert report.runs[0].crossings[1].test == np.ceil(np.log(10) / 0.05)


@pytest.mark.parametrize(
    "form",
    [
        lambda table: pd.DataFrame(table, index=[7, 7, 3, 1]),
        pl.DataFrame,
        lambda table: pl.LazyFrame(table),
        lambda table: {name: tuple(column) for name, column in table.items()},
        lambda table: {name: pd.Series(column, dtype=object) for name, column in table.items()},
        lambda table: pd.DataFrame(table).iloc[::-1],
        lambda table: pd.concat([pd.DataFrame(table)] * 2),
        lambda table: {name: np.array(column)[::-1] for name, column in table.items()},
    ],
)
def test_every_form_of_a_table_is_the_same(form):
    assert str(grokking_report(form(TABLE))) == str(grokking_report(TABLE))


def test_values_that_are_not_logged_are_left_out():
    rows = {name: [*column, column[0]] for name, column in TABLE.items()}
    rows["step"][-1], rows["train_acc"][-1], rows["val_acc"][-1] = 500, None, 0.96
    assert grokking_report(rows).runs[0].crossings[1].test == 500
    rows["train_acc"][-1] = float("nan")
    assert grokking_report(rows).runs[0].crossings[1].test == 500
    masked = {name: np.ma.array(column) for name, column in TABLE.items()}
    masked["val_acc"] = np.ma.array(TABLE["val_acc"], mask=[0, 0, 1, 0])
    assert grokking_report(masked).runs[0].crossings[1].test_interval == (10, 1000)


def test_a_curve_that_falls_back_is_told():
    table = {"step": range(6), "train_acc": [0, 1, 1, 1, 1, 1], "test_acc": [0, 0, 0, 1, 0.2, 1]}
    assert "the validation accuracy is below 0.9 again at 1 of 2 later steps" in str(grokking_report(table))
    table["train_acc"] = [1] * 6
    assert "at the first logged step" in str(grokking_report(table))
    assert grokking_report(table).runs[0].crossings[0].delay is None


BAD = [
    ({"step": [1, 2], "train_acc": [0, 1]}, {}, DataError, "a column for the validation"),
    ({"step": [1, 2], "val_acc": [0, 1]}, {}, DataError, "a column for the training"),
    ({}, {}, DataError, "no columns"),
    ([1, 2], {}, DataError, "a CSV file, a data frame, or a dictionary"),
    ("nowhere.csv", {}, DataError, "nowhere.csv"),
    (TABLE | {"val_acc": [1, 2, 95, 99]}, {}, DataError, "divide percentages by 100"),
    (TABLE | {"val_acc": [0, 0, -0.1, 1]}, {}, DataError, "row 2"),
    (TABLE | {"val_acc": ["a", 0, 0, 1]}, {}, DataError, "row 0"),
    (TABLE | {"val_acc": [0, 0, 1]}, {}, ShapeError, "length"),
    (TABLE | {"val_acc": [[0], [0], [1], [1]]}, {}, ShapeError, "shape"),
    (TABLE | {"val_acc": [None] * 4}, {}, DataError, "at least two"),
    (TABLE | {"step": [1, 2, 2, 3]}, {}, DataError, "different values at the step 2"),
    (TABLE | {"step": [1, 2, float("nan"), 3]}, {}, DataError, "row 2"),
    (TABLE | {"step": [-1, 2, 3, 4]}, {}, DataError, "row 0"),
    (TABLE | {"weight_decay": [-1, 1, 1, 1]}, {}, DataError, "row 0"),
    (TABLE | {"Step": [1, 2, 3, 4], "step": [1, 2, 3, 4]}, {}, DataError, "step and Step"),
    ({name: [] for name in TABLE}, {}, DataError, "no rows"),
    ({name: column[:1] for name, column in TABLE.items()}, {}, DataError, "at least two"),
    (TABLE, {"thresholds": [1.0]}, SettingError, "strictly between"),
    (TABLE, {"thresholds": []}, SettingError, "at least one"),
    (TABLE, {"thresholds": "0.5"}, SettingError, "a number"),
    (TABLE, {"test": "nothing"}, UnknownNameError, "'nothing'"),
    (TABLE, {"test": "train_acc"}, SettingError, "a different column"),
    (TABLE, {"metric": "error"}, SettingError, "accuracy"),
    ({"step": [1, 2], "a": [0, 1], "b": [0, 1]}, {"train": "a", "test": "b"}, SettingError, "metric="),
]


@pytest.mark.parametrize(("table", "options", "error", "message"), BAD)
def test_bad_logs_are_refused_in_one_line(table, options, error, message):
    with pytest.raises(error, match=message) as found:
        grokking_report(table, **options)
    assert isinstance(found.value, LemmataError)
    assert "\n" not in str(found.value)


def test_it_draws_and_shows_itself():
    report = grokking_report(LOG)
    assert len(report.plot().to_dict()["hconcat"]) == 3
    assert report._repr_html_().startswith("<pre")


def test_numbers_that_rounding_moves_still_reach_their_threshold():
    table = {"step": [1, 10, 100], "train_loss": [3, 0.3, 0.03], "val_loss": [3, 2, 0.3]}
    (run,) = grokking_report(table, thresholds=[0.9]).runs
    assert (run.crossings[0].train, run.crossings[0].test) == (10, 100)
    single = {"step": [1, 10, 100], "train_acc": np.float32([0, 0.9, 1]), "val_acc": np.float32([0, 0.1, 0.9])}
    (run,) = grokking_report(single, thresholds=[0.9]).runs
    assert (run.crossings[0].train, run.crossings[0].test) == (10, 100)


def test_several_runs_in_one_table_are_not_mixed():
    table = TABLE | {"step": [1, 2, 3, 4], "Seed": [0, 1, 0, 1]}
    with pytest.raises(DataError, match=r"column 'Seed'; found 0 and 1.*each seed separately"):
        grokking_report(table)
    assert grokking_report(table | {"Seed": [3, None, 3, 3]}).runs[0].crossings
    decays = {"step": [1, 2, 1, 2], "train_acc": [0, 1, 0, 1], "val_acc": [0, 1, 0, 1], "wd": [1, 1, 2, 2]}
    assert len(grokking_report(decays | {"run": ["a", "a", "b", "b"]}).runs) == 2
    with pytest.raises(DataError, match="with the weight decay 2"):
        grokking_report(decays | {"step": [1, 2, 3, 4], "run": ["a", "a", "b", "c"]})


def test_texts_that_are_numbers_are_numbers_and_others_are_named():
    texts = {name: [f" {entry}" for entry in column] for name, column in TABLE.items()}
    assert str(grokking_report(texts)) == str(grokking_report(TABLE))
    with pytest.raises(DataError, match=r"row 3.*'95%'.*0\.22"):
        grokking_report(texts | {"val_acc": ["0", "0", "0.1", "95%"]})


def test_a_run_that_never_fits_is_told():
    table = {"step": [1, 2, 3], "train_acc": [0, 0.1, 0.6], "val_acc": [0, 0, 0]}
    found = str(grokking_report(table))
    assert "the training accuracy never reaches 0.9 and 0.99 up to step 3" in found
    assert "the validation accuracy never reaches 0.5, 0.9 and 0.99 up to step 3" in found


@pytest.mark.parametrize("run", ["sweep-3", "a - b", "run 1"])
def test_names_of_runs_before_the_names_of_columns_are_left_out(run):
    named = {name if name == "step" else f"{run} - {name}": column for name, column in TABLE.items()}
    assert str(grokking_report(named)).splitlines()[1:] == str(grokking_report(TABLE)).splitlines()[1:]
    with pytest.raises(DataError, match="one column for the training accuracy"):
        grokking_report(named | {f"other - {name}": column for name, column in TABLE.items() if name != "step"})
