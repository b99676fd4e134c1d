"""Standard errors: no errors are not certainty, a fit that broke down is named, few groups have wide intervals."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._all_rows import with_all_rows
from lemmata.workflows.studies._losses import Split, bounded, curve_of
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._outlook import _tailed
from tests.workflows.studies import tables


def told(means, held=100, variance=1.0, trained=50, guessed=1.0):
    one = lambda value: np.array([value])
    given = one(variance), one(guessed), one(0.0), np.zeros((2, 1)), True
    return [Split(trained, held, one(mean), *given, one(4 * mean)) for mean in means]


def test_no_error_among_150_rows_is_not_perfection():
    """The rule of three: with no error among m rows the share is below 3/m, and not 0."""
    unit, dataset = metric("accuracy", "classification"), tables.classes(150)
    value, error, (least, greatest) = bounded(0.0, 0.0, 150.0, dataset, unit)
    assert value == pytest.approx(0.5 / 151)
    assert greatest == pytest.approx(1 - 0.05 ** (1 / 150))
    assert greatest == pytest.approx(3 / 150, rel=0.02)
    assert least == 0.0
    assert error > 0
    assert bounded(0.2, 0.03, 150.0, dataset, unit) == (0.2, 0.03, (0.0, math.inf)), "many errors are as they were"


def test_exact_bounds_cover_a_share_with_few_errors():
    """Over all numbers of errors among 80 rows at a true share of 1 %: at least 90 %."""
    unit, dataset = metric("accuracy", "classification"), tables.classes(90)
    covered = 0.0
    for wrongs in range(10):
        _, _, (least, greatest) = bounded(wrongs / 80, 0.01, 80.0, dataset, unit)
        covered += stats.binom.pmf(wrongs, 80, 0.01) * (least <= 0.01 <= greatest)
    assert covered >= 0.9


def test_of_auc_the_rarest_class_counts():
    rng = np.random.default_rng(0)
    dataset = load_dataset((rng.normal(size=(200, 2)), np.array(["a"] * 190 + ["b"] * 10)))
    assert bounded(0.0, 0.0, 200.0, dataset, metric("auc", "classification"))[2][1] == pytest.approx(
        1 - 0.05 ** (1 / 10)
    )


def test_a_fit_that_broke_down_is_left_out_and_named():
    """One of eight splits was 10,475 and decided the mean."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    means = [0.5, 0.6, 0.55, 0.5, 0.45, 0.6, 0.5, 10_475.0]
    losses, said = curve_of([told(means)], 0, 100, dataset, unit)
    assert losses.mean[0] == pytest.approx(np.mean(means[:-1]))
    assert "10,475 times the squared error of guessing in 1 of 8 splits with 50 rows" in str(said)


def test_a_clinic_of_three_is_no_broken_fit():
    """A third of all splits was left out, and the model's error with it."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    losses, said = curve_of([told([0.5, 0.6, 400.0])], 0, 100, dataset, unit)
    assert not said
    assert losses.mean[0] == pytest.approx(401.1 / 3)


def test_the_tail_of_a_target_is_not_left_out():
    """In a split with an extreme row guessing errs as much: that is the target and no broken fit."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    splits = told([0.5, 0.6, 0.5, 0.4]) + told([300.0], guessed=310.0)
    losses, said = curve_of([splits], 0, 100, dataset, unit)
    assert not said
    assert losses.mean[0] == pytest.approx(60.4)


@pytest.mark.parametrize("heavy", [False, True])
def test_a_mean_that_one_row_decides_has_a_wider_interval(heavy):
    """The largest row stands for those that were not seen: the upper end of a heavy tail is farther away."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    splits = [dataclasses.replace(own, largest=np.array([40.0 if heavy else 2.0])) for own in told([0.5, 0.6, 0.4])]
    losses, _ = curve_of([splits], 0, 100, dataset, unit)
    assert losses.tail == pytest.approx((40.0 if heavy else 2.0) / (100 * 0.5))
    curves = _tailed(np.array([[0.4, 0.5, 0.6]]), losses.tail)[0]
    assert curves[2] / curves[1] == pytest.approx(
        (1 + losses.tail / 2) * np.exp(np.hypot(np.log(1.2), np.log1p(3 * losses.tail)))
    )
    assert (curves[2] > 1.6) == heavy
    assert _tailed(np.array([[0.0, 0.5, 0.6]]), losses.tail)[0, 0] == 0.0, "and not the smallest number"


def test_a_split_where_guessing_was_lucky_is_not_a_broken_fit():
    """Guessing hit the mean of one group: 205 times "worse" with the error that the model always has."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    splits = told([0.5, 0.6, 0.5, 0.4]) + told([0.5], guessed=0.002)
    losses, said = curve_of([splits], 0, 100, dataset, unit)
    assert not said
    assert losses.mean[0] == pytest.approx(0.5)


def test_models_on_other_splits_are_compared_on_the_whole_table():
    """Of a heavy tail three splits miss the largest rows, which six see: the mean is that of the table for both."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    guessed = np.array([1.0, 0.7, 0.6, 4.0, 0.8, 0.9])
    own = [dataclasses.replace(told([0.1 + 0.5 * g], guessed=g)[0], slope=np.array([0.5])) for g in guessed]
    means = [curve_of([part], 0, 100, dataset, unit, float(guessed.mean()))[0].mean[0] for part in (own, own[:3])]
    assert means[0] == pytest.approx(0.1 + 0.5 * guessed.mean())
    assert means[1] == pytest.approx(means[0])


@pytest.mark.parametrize("held", [4, 20, 60])
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_that_are_held_out_count_once(held, ordered):
    """Three splits hold out 3 m rows, or all 100: the rows of a mean, its standard error, and its largest row."""
    unit, dataset, means = metric("rmse", "regression"), tables.waves(100), [0.5, 0.9, 0.4]
    dataset = dataclasses.replace(dataset, order=np.arange(100.0)) if ordered else dataset
    losses, _ = curve_of([told(means, held=held, variance=0.3)], 0, 100, dataset, unit)
    assert losses.rows == min(3 * held, 100)
    assert losses.mean[0] == losses.measured[0] == pytest.approx(0.6)
    if ordered:
        assert losses.se[0] == pytest.approx(np.std(means, ddof=1) * (2 / 3) ** 0.5 * stats.t.ppf(0.95, 2) / 1.645)
        assert losses.tail == pytest.approx(0.9 / 1.8)
        assert losses.shared == pytest.approx(losses.se[0] / 0.6)
        return
    trained = max(np.var(means, ddof=1) - 0.3 / held, 0.0)
    assert losses.se[0] == pytest.approx(math.sqrt(trained / 3 + 0.3 / losses.rows))
    assert losses.tail == pytest.approx(3.6 / (losses.rows * 0.6))
    assert losses.shared == pytest.approx(math.sqrt(0.3 / losses.rows) / 0.6)


def test_stretches_are_taken_in_pairs_from_the_sixth_on():
    unit = metric("rmse", "regression")
    dataset = dataclasses.replace(tables.waves(100), order=np.arange(100.0))
    means = np.array([0.5, 0.9, 0.4, 0.7, 0.8, 0.3, 0.6])
    for number, pairs in ((5, means[:5]), (6, [0.7, 0.55, 0.55]), (7, [0.6, 0.75, 0.45])):
        losses, _ = curve_of([told(means[:number], held=4)], 0, 100, dataset, unit)
        wide = stats.t.ppf(0.95, len(pairs) - 1) / 1.645
        assert losses.se[0] == pytest.approx(np.std(pairs, ddof=1) * math.sqrt(2 / len(pairs)) * wide)


def grouped(groups, rng):
    """A mean over groups with effects of their own, and the losses of one split that holds all of them out."""
    effects, rows = rng.exponential(size=groups), 10
    sums, one = (rows * effects)[None], np.ones(1)
    members, counts = np.arange(groups), np.full(groups, rows)
    means = sums.sum(axis=1) / (rows * groups)
    return effects.mean(), [
        Split(50, rows * groups, means, one, one, 0 * one, np.zeros((2, 1)), True, one, members, counts, sums)
    ]


@pytest.mark.parametrize("groups", [5, 20])
def test_few_groups_have_students_interval(groups):
    """Normal intervals of five groups hold in three quarters of all cases; Student's in nine of ten, or nearly."""
    dataset = tables.waves(10 * groups)
    dataset = dataclasses.replace(dataset, groups=np.repeat(np.arange(groups), 10))
    unit, rng = metric("rmse", "regression"), np.random.default_rng(0)
    held = 0
    for _ in range(400):
        _, splits = grouped(groups, rng)
        losses, _ = curve_of([splits], 0, 10 * groups, dataset, unit)
        held += abs(losses.mean[0] - 1.0) <= 1.645 * losses.se[0]
    # Exponential effects are skew, which costs some per cent: 400 tables have a deviation of 1.5 %.
    assert held / 400 >= 0.80


@pytest.mark.parametrize(("alike", "least"), [(0.0, 0.88), (0.3, 0.83)])
def test_the_error_of_a_series_is_about_as_many_stretches_to_come(alike, least):
    """Of sixteen stretches, with the autocorrelation 0 or 0.3, eight are seen, and the mean of the others is told.

    It lies in the interval in 90 % and in 86 % (20,000 draws), but in 78 % and in 64 % in the interval of the first
    eight alone. Of 2,000 draws the deviation is 0.8 %.
    """
    dataset, unit = dataclasses.replace(tables.waves(100), order=np.arange(100.0)), metric("rmse", "regression")
    rng, held = np.random.default_rng(1), 0
    for _ in range(2000):
        noise = [rng.normal()]
        for _ in range(15):
            noise.append(alike * noise[-1] + math.sqrt(1 - alike**2) * rng.normal())
        losses, _ = curve_of([told([10 + value for value in noise[:8]])], 0, 100, dataset, unit)
        held += abs(losses.mean[0] - 10.0 - np.mean(noise[8:])) <= 1.645 * losses.se[0]
    assert held / 2000 >= least


def test_classifiers_on_few_splits_are_compared_with_guessing_on_the_whole_table():
    """Two splits that held few of a rare class: logistic regression had 95.3 %, guessing 93.9, and it has 93.9."""
    rng, unit, dataset = np.random.default_rng(0), metric("accuracy", "classification"), tables.classes(90)
    rare = rng.random(2000) < 0.06
    wrong = np.where(rng.random(2000) < 0.02, ~rare, rare)  # nearly the largest class for all
    adjusted, plain = [], []
    for _ in range(40):
        part = rng.permutation(2000)[:400]
        guessed, own = rare[part].astype(float), wrong[part].astype(float)
        slope = np.cov(own, guessed, bias=True)[0, 1] / guessed.var()
        one = dataclasses.replace(told([own.mean()], held=400, guessed=guessed.mean())[0], slope=np.array([slope]))
        for found, baseline in ((adjusted, rare.mean()), (plain, None)):
            found.append(curve_of([[one]], 0, 2000, dataset, unit, baseline)[0].mean[0] - wrong.mean())
    assert np.std(adjusted) < 0.7 * np.std(plain)
    assert abs(np.mean(adjusted)) < 3 * np.std(adjusted) / np.sqrt(40)


def heavy_wages(rows=600, seed=0):
    """A linear target with lognormal noise: six rows hold a third of the variance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    return load_dataset((x, x @ [0.8, 0.6, 0.0, 0.0] + np.exp(1.2 * rng.normal(size=rows))))


@pytest.mark.parametrize("name", ["linear", "lasso"])
def test_all_rows_are_compared_with_guessing_row_by_row(name):
    """A linear model that beats guessing by four standard errors had a star, and the lasso beside it had none."""
    dataset = heavy_wages()
    (model,) = models([name], dataset.x, "regression")
    found = with_all_rows(measure(model, dataset, 0, quick=True), dataset)
    gain = found.losses["rmse"].gain
    assert gain < 0
    fits = [LinearRegression().fit(np.delete(dataset.x, k, 0), np.delete(dataset.y, k)) for k in range(0, 600, 5)]
    rows = np.arange(0, 600, 5)
    own = np.array([fit.predict(dataset.x[[k]]).item() for fit, k in zip(fits, rows, strict=True)])
    apart = (dataset.y[rows, 0] - own) ** 2 - (dataset.y[rows, 0] - dataset.y.mean()) ** 2
    assert gain == pytest.approx((apart.mean() + 1.645 * apart.std() / np.sqrt(600)) / dataset.y.var(), abs=0.15)


def test_a_gain_of_one_standard_error_is_not_sure():
    """Boosting "surely" beat guessing with t = 1.4, and was worse than it on every second draw of other rows."""
    unit, dataset = metric("rmse", "regression"), tables.waves(100)
    for mean, sure in ((-0.14, False), (-0.18, True)):  # a standard error is 0.1
        one = dataclasses.replace(told([0.9], held=100)[0], gain=np.array([[mean], [1.0]]))
        assert (curve_of([[one]], 0, 100, dataset, unit)[0].gain < 0) == sure


def test_in_time_a_few_lucky_stretches_are_not_sure():
    """Both are better than guessing in the mean, by as much; one of them in every stretch."""
    dataset, unit = dataclasses.replace(tables.waves(100), order=np.arange(100.0)), metric("rmse", "regression")
    lucky, steady = [0.1, 0.1, 1.2, 1.3, 0.1, 0.2, 1.1, 1.0], [0.6, 0.7, 0.6, 0.7, 0.6, 0.7, 0.6, 0.6]
    gains = [curve_of([told(means)], 0, 100, dataset, unit)[0].gain for means in (lucky, steady)]
    assert sum(lucky) == pytest.approx(sum(steady))
    assert gains[1] < 0 < gains[0]
