"""With --time: a drift is named where it was measured, sizes are tested equally far ahead, dependence is not signal."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from lemmata.options import StudyOptions
from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies import load_dataset, run_study
from lemmata.workflows.studies._drift import drift, few_times
from lemmata.workflows.studies._losses import Losses
from lemmata.workflows.studies._measure import Measured, baselines, measure
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._outlook import Candidate
from lemmata.workflows.studies._question import Question
from lemmata.workflows.studies._standing import beats_guessing

SIZES = np.array([20.0, 40.0, 80.0, 160.0])
UNIT = metric("rmse", "regression")
QUICK = StudyOptions(models="linear", quick=True)


def stretches(means, noise=0.02, seed=0):
    """A candidate whose losses on eight stretches have these means, and a deviation that all sizes share."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=8) * 0.2
    paired = tuple(mean + common + noise * rng.normal(size=8) for mean in means)
    losses = Losses(SIZES, np.array(means), np.full(4, 0.05), (8,) * 4, paired=paired)
    (model,) = models(["linear"], np.ones((30, 2)), "regression")
    curve = forecast(SIZES, losses.mean, losses.se, baseline=1.0)
    return Candidate(Measured(model, {"rmse": losses}, True), curve, UNIT, 400)


def test_a_drift_is_named_only_where_older_rows_make_it_worse():
    question = Question(UNIT, None, 400, 1.0, 1.0)
    (said,) = drift(stretches([0.6, 0.4, 0.7, 0.9]), question)
    assert "The target drifts: on later rows, linear model has rmse 0." in said
    assert "if it is trained on the last 40 rows, but" in said
    assert said.endswith("Older rows no longer help.")
    assert drift(stretches([0.9, 0.7, 0.6, 0.5]), question) == []
    some = stretches([0.6, 0.4, 0.7, 0.9])
    losses = some.measured.losses["rmse"]
    cut = dataclasses.replace(losses, paired=(losses.paired[0][:3], *losses.paired[1:]))
    found = dataclasses.replace(some, measured=dataclasses.replace(some.measured, losses={"rmse": cut}))
    assert drift(found, question) == [said], "a size that failed before some stretches is left out"
    # Differences that are noise: at most one in twenty of 100, which has a deviation of 2.2.
    assert sum(bool(drift(stretches([0.6] * 4, 0.2, seed), question)) for seed in range(100)) <= 11


@pytest.mark.parametrize(("number", "named"), [(2, False), (3, True)])
def test_two_stretches_show_no_drift(number, named):
    """Of two stretches with the same difference any test would be sure."""
    question, some = Question(UNIT, None, 400, 1.0, 1.0), stretches([0.6, 0.4, 0.7, 0.9], noise=1e-4)
    losses = some.measured.losses["rmse"]
    few = dataclasses.replace(losses, paired=tuple(own[:number] for own in losses.paired))
    found = dataclasses.replace(some, measured=dataclasses.replace(some.measured, losses={"rmse": few}))
    assert bool(drift(found, question)) == named


def days(rows=600, seed=0, trend=0.0):
    """Columns of a table, one row a day."""
    rng = np.random.default_rng(seed)
    table = {f"x{j}": rng.normal(size=rows) for j in range(3)}
    table["day"] = np.datetime64("2020-01-01", "us") + np.arange(rows) * np.timedelta64(1, "D")
    table["y"] = table["x0"] + trend * np.arange(rows) + 0.5 * rng.normal(size=rows)
    return table


@pytest.mark.parametrize("trend", [0.0, 0.02])
def test_a_trend_does_not_make_few_rows_enough(trend):
    """ "A tenth less error takes about 40 rows; there are 2,000": small sets were tested a short way ahead."""
    options = StudyOptions(time="day", quick=True, models="linear,forest")
    found = run_study(load_dataset(pl.DataFrame(days(trend=trend)), "y", time="day"), options)
    asked = [sentence for sentence in found.answers.sentences if "10 %" in sentence and "error" in sentence]
    assert bool(asked) == (trend == 0.0), "of rows that drift no number is told"
    assert {model.name for model in found.models} == {"linear", "forest", "last"}
    assert any("none of the tried seasons predicts the target better" in note for note in found.notes)
    if trend:
        assert found.answers.best == "last"
        assert found.answers.sentences[1].startswith("The target drifts: on later rows, ")


def test_a_drift_that_makes_every_model_lose_is_named():
    """Coefficients that turn half way: no model beats guessing with all rows, and recent rows alone do."""
    table = days(1000)
    table["y"] = np.where(np.arange(1000) < 500, 2.0, -2.0) * table["x0"] + 0.5 * table["x1"]
    table["y"] += 0.5 * np.random.default_rng(1).normal(size=1000)
    options = StudyOptions(time="day", quick=True, models="linear")
    found = run_study(load_dataset(pl.DataFrame(table), "y", time="day"), options)
    assert any("The target drifts: on later rows," in sentence for sentence in found.answers.sentences)


def test_a_last_value_is_named_only_where_no_model_of_any_size_is_better():
    walk = days(600)
    walk["y"] = np.cumsum(np.random.default_rng(3).normal(size=600))
    found = run_study(
        load_dataset(pl.DataFrame(walk), "y", time="day"), StudyOptions(time="day", quick=True, models="linear")
    )
    told = " ".join(found.answers.sentences)
    assert ("add --keep 'day'" in told) == (found.answers.best == "last")


def test_every_split_of_a_size_has_a_stretch_of_its_own():
    from lemmata.workflows.studies._measure import measure

    dataset = load_dataset(pl.DataFrame(days()), "y", time="day")
    (model,) = models(["linear"], dataset.x, "regression")
    losses = measure(model, dataset, 0, quick=True).losses["rmse"]
    assert len(losses.paired) == len(losses.sizes)
    assert all(len(own) == len(losses.paired[0]) for own in losses.paired)
    assert dataclasses.replace(losses, paired=()).se[-1] > losses.paired[-1].std(ddof=1) / np.sqrt(8), "Student's t"


def naive(name, dataset):
    known = models(["linear"], dataset.x, dataset.task, dataset.targets, True)
    return next(own for own in known if own.name == name)


def weather(seed, rows=300):
    """Every second day is like the one before, 15 days ahead: the last label is right in 43 %, the commonest in 45."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["sun", "rain", "fog"], rows, p=[0.45, 0.4, 0.15])
    for day in np.flatnonzero(rng.random(rows) < 0.5):
        labels[day] = labels[max(day - 1, 0)]
    day = np.datetime64("2020-01-01", "us") + np.arange(rows) * np.timedelta64(1, "D")
    return load_dataset(
        pl.DataFrame({"x": rng.normal(size=rows), "day": day, "label": labels}), target="label", time="day"
    )


@pytest.mark.seconds(15)
def test_the_last_label_does_not_surely_beat_guessing_by_chance():
    """Each stretch is foretold by one row, so that it counts once, whatever the number of its rows."""
    sure, before = 0, 0
    for seed in range(60):
        dataset = weather(seed)
        model = naive("last", dataset)
        found = measure(model, dataset, seed)
        losses, guessing = found.losses["accuracy"], baselines(dataset)["accuracy"]
        question = Question(metric("accuracy", "classification"), None, 300, 1.0, guessing, in_time=True)
        curve = forecast(losses.sizes, losses.mean, losses.se, baseline=guessing)
        sure += beats_guessing(Candidate(found, curve, question.unit, 300), question)
        before += bool(losses.mean[-1] < guessing)
    assert before > 12, "chance makes it look better in many tables"
    assert sure <= 6  # a twentieth of 60 is 3, with a deviation of 1.7


def test_a_season_surely_beats_guessing_stretch_by_stretch():
    """Its errors vary from stretch to stretch as those of guessing do: what both have in common decides nothing."""
    rng = np.random.default_rng(3)
    loud = np.repeat(rng.uniform(1, 3, size=20), 20)
    day = np.datetime64("2020-01-01", "us") + np.arange(400) * np.timedelta64(1, "D")
    y = loud * np.sin(np.arange(400) * 2 * np.pi / 7) + 0.01 * rng.normal(size=400)
    dataset = load_dataset(pl.DataFrame({"x": rng.normal(size=400), "day": day, "y": y}), target="y", time="day")
    model = naive("season", dataset)
    losses = measure(model, dataset, 0).losses["rmse"]
    assert losses.gain < 0


def test_how_far_errors_look_ahead_is_said():
    record = run_study(load_dataset(pl.DataFrame(days()), target="y", time="day"), QUICK)
    assert any("forecasts of the next 30 rows at once" in sentence for sentence in record.answers.sentences)
    table = {name: column for name, column in days().items() if name != "day"}
    record = run_study(load_dataset(pl.DataFrame(table), target="y"), QUICK)
    assert not any("rows at once" in sentence for sentence in record.answers.sentences)


@pytest.mark.parametrize(("waves", "tested"), [(5, 2), (2, 1), (100, 0)])
def test_few_tested_times_are_told(waves, tested):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=200), "t": np.arange(200) * waves // 200, "y": rng.normal(size=200)})
    told = " ".join(few_times(load_dataset(table, "y", time="t")))
    assert (f"have {waves} different times, and only" in told) == bool(tested)
    assert (f"only {tested if tested > 1 else 'one'} of them" in told) == bool(tested)
