"""What is compared stands on one scale: fits that end, guessing beside the models, the season of the calendar."""

import dataclasses
import datetime
import re

import numpy as np
import polars as pl
import pytest

from lemmata.options import StudyOptions
from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._drift import calmer
from lemmata.workflows.studies._estimators import Fit
from lemmata.workflows.studies._measure import baselines, in_season, measure
from lemmata.workflows.studies._models import Model, calendar_seasons, chosen_season, models
from lemmata.workflows.studies._outlook import Candidate
from lemmata.workflows.studies._plan import FIT_SECONDS, QUICK_FIT_SECONDS, affordable, planned
from lemmata.workflows.studies._run import question
from lemmata.workflows.studies._splits import MOST_HELD_OUT, before_stretches, split
from lemmata.workflows.studies._usual import usual_models
from tests.workflows.studies import tables


def large(task, rows, columns):
    """A table that is large by its shape alone."""
    dataset = tables.waves(100) if task == "regression" else tables.classes(90)
    part = {name: np.zeros((rows, getattr(dataset, name).shape[1])) for name in ("inputs", "targets", "y")}
    features = tuple(f"x{j}" for j in range(columns))
    pooled = np.zeros((rows, dataset.pooled.shape[1]))
    return dataclasses.replace(dataset, **part, index=np.arange(rows), features=features, pooled=pooled)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_fit_to_a_large_table_is_dearer_than_the_limit(task, quick):
    """A support vector machine was fitted to 41,403 of 327,346 rows: three sizes had to be, at whatever price."""
    dataset, limit = large(task, 327_346, 55), QUICK_FIT_SECONDS if quick else FIT_SECONDS
    for model in models([*usual_models(task), "linear", "rbf"], np.ones((20, 55)), task):
        sizes = [n for n, _ in planned(model, dataset, quick)]
        assert len(sizes) >= 3
        assert max(model.price(n, 55, dataset.targets.shape[1]) for n in sizes) <= limit, model.name


def test_sizes_that_can_be_afforded_are_kept_and_others_replaced():
    price = lambda n: 1e-6 * n**2
    assert affordable([100, 1000, 2000, 90_000], price, 8.0) == [100, 1000, 2000]
    fewer = affordable([2000, 20_000, 90_000], price, 8.0)
    assert len(fewer) == 3
    assert 2000 < fewer[-1] <= 2828
    assert affordable([8, 16, 32, 64], lambda n: 100.0, 8.0) == [8, 16, 32], "too dear at any size"


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_model_is_cheaper_with_more_rows_columns_or_outputs(task):
    """Prices order models and end curves. With more rows a forest has fewer trees, and a kernel has centres only."""
    for model in models([*usual_models(task), "linear", "rbf", "relu-3"], np.ones((20, 55)), task):
        for rows in ((50, 200, 1000), (3001, 10_000, 100_000)):
            prices = [model.price(n, 55, 3) for n in rows]
            assert min(prices) > 0, model.name
            assert model.name == "forest" or prices == sorted(prices), model.name
        for n in (500, 5000):
            assert model.price(n, 55, 3) <= model.price(n, 550, 3), model.name
            assert model.price(n, 55, 3) <= model.price(n, 55, 30), model.name


def test_the_price_of_a_support_vector_machine_counts_what_it_says_of_held_out_rows():
    """6,546 rows of 55 columns, 20,000 held out: 20 s, of which 4 s were predictions."""
    for name, entry in {**usual_models("regression"), **usual_models("classification")}.items():
        if name == "svm":
            fit, said = 9e-8 * 6546**2 * 3.75, 7.5e-9 * 6546 * MOST_HELD_OUT * 3.75
            assert entry[3](6546, 55, 1) >= fit + said


def heavy(rows=300):
    """A target of which few rows hold half of the variance."""
    rng = np.random.default_rng(2)
    return load_dataset((rng.normal(size=(rows, 2)), rng.lognormal(sigma=2.2, size=rows)), task="regression")


def test_who_predicts_the_mean_is_as_good_as_guessing():
    """ "Guessing has 2,000", and a lasso with 2,050 "surely beats guessing": half of the largest row stood in one."""
    dataset = heavy()

    def mean(x, y, task, groups):
        return Fit(np.repeat(y.mean(axis=0, keepdims=True), len(x) - len(y), axis=0))

    asked = question(dataset, StudyOptions())
    measured = measure(Model("mean", "mean", "", False, mean), dataset, 0)
    losses = measured.losses[asked.unit.name]
    assert losses.tail > 0.2
    known = {"baseline": asked.guessing, "shared": losses.shared}
    item = Candidate(measured, forecast(losses.sizes, losses.mean, losses.se, **known), asked.unit, 300)
    now = item.expected(300)
    assert now.value == pytest.approx(asked.guessing, rel=0.05)
    assert now.upper > (1 + losses.tail) * now.value, "the interval leaves room for rows that were not seen"


DAY = datetime.date(2012, 1, 1)


def daily(rows=1460, seed=0):
    """A yearly wave with noise, one row a day, and a column that says nothing."""
    rng, days = np.random.default_rng(seed), np.arange(rows)
    y = 10 * np.sin(2 * np.pi * days / 365.2425) + rng.normal(size=rows)
    dates = [DAY + datetime.timedelta(days=int(day)) for day in days]
    frame = pl.DataFrame({"date": dates, "x": rng.normal(size=rows), "y": y})
    return load_dataset(frame, "y", time="date")


def season_of(dataset):
    return next(model for model in models(["linear"], dataset.x, "regression", ordered=True) if model.least == 1
                and model.name == "season")  # fmt: skip


def test_the_season_of_daily_rows_is_the_year():
    """The same day last year had rmse 5.0 where the season that was taken had 8.9, and was recommended against."""
    dataset = daily()
    found = measure(season_of(dataset), dataset, 0, quick=True)
    assert found.model.title == "last season (365 rows)"
    losses = found.losses["rmse"]
    assert losses.sizes.min() >= 365
    assert np.sqrt(losses.mean[-1] * dataset.targets.var()) < 2.0
    np.testing.assert_allclose(losses.mean, losses.mean[0])


def test_the_season_is_chosen_before_the_first_row_that_is_predicted():
    dataset = daily()
    first, _ = before_stretches(dataset.order)
    later = dataset.targets.copy()
    later[first:] = np.sin(2 * np.pi * np.arange(len(later) - first) / 11)[:, None]
    other = dataclasses.replace(dataset, targets=later)
    assert in_season(season_of(other), other).title == in_season(season_of(dataset), dataset).title


def business(rows):
    days = np.arange(2 * rows)
    return days[days % 7 < 5][:rows]


@pytest.mark.parametrize(("order", "seasons"), [
    (np.arange(1000.0), [7, 365]),
    (np.arange(20_000) / 24, [24, 168, 8766]),
    (7.0 * np.arange(200), [52]),
    (np.cumsum(np.tile([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], 8)), [12]),
    (91.3 * np.arange(40), [4]),
    (business(1000), [5, 261]),
    (np.repeat(np.arange(800.0), 3), [21, 1095]),
    (np.array([0.0, 0.0, 1.0, 2.0]), []),
])  # fmt: skip
def test_what_seasons_the_calendar_has(order, seasons):
    """Of days, hours, weeks, months, quarters, business days, three shops a day, and no regular rows."""
    assert calendar_seasons(np.asarray(order, float)) == seasons


def test_a_week_is_chosen_where_the_year_says_less_and_none_for_a_walk():
    rng, days = np.random.default_rng(0), np.arange(900.0)
    week = (rng.normal(size=7)[days.astype(int) % 7] + 0.2 * rng.normal(size=900))[:, None]
    assert chosen_season(week, days, 70) % 7 == 0
    walk = np.cumsum(np.random.default_rng(1).normal(size=(900, 1)), axis=0)
    assert chosen_season(walk, days, 20) == 1
    dataset = daily(200)
    assert in_season(season_of(dataset), dataset).least < 100, "of less than a year there is no last year"


def test_the_signs_that_stand_for_a_number_of_rows_are_explained():
    """ "–" and "open" stood in a column without a word about them."""
    from lemmata.interfaces.report import page_text, told_marks
    from lemmata.intervals import Interval
    from tests.interfaces.report.example import measured

    study = measured()
    assert study.answers.needed is not None
    numbers = dataclasses.replace(study.models[0], needed=Interval(150.0, 100.0, 200.0), learns=True)
    assert told_marks(dataclasses.replace(study, models=[numbers])) == ""
    wide = dataclasses.replace(numbers, name="wide", needed=Interval(np.inf, 1.0, np.inf))
    idle = dataclasses.replace(numbers, name="idle", learns=False)
    told = told_marks(dataclasses.replace(study, models=[numbers, wide, idle]))
    assert re.search("more rows may or may not reach .*; “–” means", told)
    assert told in page_text(dataclasses.replace(study, models=[numbers, wide, idle]))


def hourly(rows=800, outages=True, seed=0):
    """A daily wave, one row an hour; in the first 60 % the flow stops twice."""
    rng, hours = np.random.default_rng(seed), np.arange(rows)
    y = 20 + 2 * np.sin(2 * np.pi * hours / 24) + 0.3 * rng.normal(size=rows)
    if outages:
        y[150:160], y[300:320] = 0.0, 0.0
    start = datetime.datetime(2024, 1, 1)
    times = [start + datetime.timedelta(hours=int(hour)) for hour in hours]
    return load_dataset(pl.DataFrame({"time": times, "x": rng.normal(size=rows), "y": y}), "y", time="time")


def test_outages_hide_no_season():
    dataset = hourly()
    day, week = "last season (24 rows)", "last season (168 rows)"  # both repeat the day
    assert in_season(season_of(dataset), dataset).title in (day, week)


def test_guessing_is_measured_on_the_rows_that_test_the_models():
    """With outages before the tested rows, guessing had 12.6 where the mean of all earlier rows has 3.4 there."""
    dataset = hourly()
    total, y = len(dataset.targets), dataset.targets
    losses = []
    for number in range(8):
        train, test = split(total, total, number, 0, None, dataset.order)
        assert train.max() < test.min()
        losses.append(((y[test] - y[train].mean()) ** 2).mean() / y.var())
    assert baselines(dataset)["rmse"] == pytest.approx(np.mean(losses), rel=1e-12)
    assert question(dataset, StudyOptions()).guessing == pytest.approx(np.mean(losses), rel=1e-12)


def test_wilder_times_before_the_tested_rows_are_told():
    asked = question(hourly(), StudyOptions())
    (told,) = calmer(hourly(), asked)
    assert "the target changes less than in the rows before" in told
    before, ahead = before_stretches(hourly().order)
    y = hourly().targets[:, 0]
    later = [((y[at : at + ahead] - y[at - 1]) ** 2).mean() for at in range(before, 801 - ahead, ahead)]
    assert f"rmse {np.sqrt(np.mean(later)):.2f} on the tested rows" in told
    assert calmer(hourly(outages=False), asked) == []
    assert calmer(tables.waves(100), asked) == []
