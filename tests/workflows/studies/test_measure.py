"""Measured curves: nothing is learned from held-out rows, and standard errors are those of new rows."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from lemmata.errors import SettingError, UnknownNameError
from lemmata.workflows.studies import _measure, load_dataset
from lemmata.workflows.studies._all_rows import with_all_rows
from lemmata.workflows.studies._gram import padded_gram
from lemmata.workflows.studies._measure import baselines, measure, spread_of
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._own import own_model
from lemmata.workflows.studies._residuals import residuals
from lemmata.workflows.studies._usual import usual_models
from tests.workflows.studies import tables


def one(name, dataset, **options):
    (model,) = models([name], dataset.x, dataset.task)
    return measure(model, dataset, 0, **options)


def test_scaling_is_learned_in_the_training_rows(monkeypatch):
    seen = []
    dataset = tables.linear(60, scale=1e3)
    assert dataset.x.shape == (60, 3), "all rows are encoded before the spy looks"
    encoder = dataset.encoder

    class Spy:
        def fit(self, rows):
            seen.append(len(rows))
            self.inner = encoder().fit(rows)
            return self.inner

    monkeypatch.setattr(type(dataset), "encoder", lambda self: Spy())
    found = one("linear", dataset, quick=True)
    assert set(seen) == set(found.losses["rmse"].sizes.astype(int))
    assert max(seen) < 60


def test_an_exactly_linear_target_takes_more_rows_than_columns():
    """With scales and mean taken from all rows, three rows were enough for three columns and an intercept."""
    dataset = tables.linear(300, columns=6)
    (model,) = models(["linear"], dataset.x, dataset.task)
    for n, exact in ((6, False), (8, True)):
        train, test = np.arange(n), np.arange(n, 60)
        fit = _measure.fitted(model, dataset, train, test)
        rows = metric("unexplained", "regression").rows(dataset.targets[test], fit.outputs, spread_of(dataset))
        assert (rows.mean() < 1e-6) == exact


def test_leave_one_out_on_all_rows_is_the_last_size_of_a_kernel():
    dataset = tables.waves(60)
    found = with_all_rows(one("rbf", dataset), dataset)
    assert found.losses["rmse"].sizes[-1] == 59
    assert found.losses["rmse"].splits[-1] == 0
    assert found.modes is not None
    assert found.modes.rank < 60, "the centred matrix has the ones for a null mode"
    assert found.losses["rmse"].mean[-1] < found.losses["rmse"].mean[0]
    grouped = tables.waves(60)
    object.__setattr__(grouped, "groups", np.repeat(np.arange(15), 4))
    assert with_all_rows(one("rbf", grouped), grouped).losses["rmse"].sizes[-1] < 59


@pytest.mark.parametrize("unit", ["auc", "accuracy"])
def test_all_rows_do_not_put_a_kernel_that_learned_nothing_below_guessing(unit):
    """Leave-one-out of such a kernel has an AUC far below one half; that of folds is one half."""
    found = []
    for seed in range(12):
        dataset = tables.noise(120, kind="class", seed=seed)
        losses = with_all_rows(one("linear", dataset, quick=True), dataset).losses[unit]
        assert losses.sizes[-1] == 108
        found.append(losses.mean[-1] - baselines(dataset)[unit])
    # twelve tables of 120 rows: a deviation of 0.013 for shares
    assert abs(np.mean(found)) < 0.04


def test_the_mean_over_sizes_does_not_hide_the_rows_that_they_share():
    """The standard error of an error on 300 rows is that of 300 rows, whatever the number of sizes."""
    dataset = tables.waves(300, noise=2.0)
    losses = with_all_rows(one("rbf", dataset, quick=True), dataset).losses["rmse"]
    assert losses.shared == pytest.approx(np.sqrt(2 / 300), rel=0.25), "squares of normal variables"
    assert losses.se[-1] == pytest.approx(losses.shared * losses.mean[-1])


def test_rows_of_a_group_are_not_counted_as_many():
    """Four copies of a row in a group say as much as one: the standard error is that of a quarter of the rows."""
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(100, 2)), rng.normal(size=100)
    plain = load_dataset((x, x[:, 0] + noise))
    copied = load_dataset((np.repeat(x, 4, axis=0), np.repeat(x[:, 0] + noise, 4)))
    copied = dataclasses.replace(copied, groups=np.repeat(np.arange(100), 4))
    errors = [one("linear", dataset, quick=True).losses["rmse"].se[-1] for dataset in (plain, copied)]
    assert errors[1] == pytest.approx(errors[0], rel=0.35)


def test_the_standard_error_is_that_of_a_new_table():
    """Over 40 tables of one law the mean loss scatters as its standard error says, although splits share rows."""
    found = []
    for seed in range(40):
        dataset = tables.waves(60, noise=0.5, seed=seed)
        losses = one("linear", dataset, quick=True).losses["unexplained"]
        found.append((losses.mean[-1] * spread_of(dataset), losses.se[-1] * spread_of(dataset)))
    means, errors = np.array(found).T
    assert 0.6 < np.sqrt((errors**2).mean()) / means.std(ddof=1) < 1.7


def test_baselines_are_those_of_guessing():
    regression, classification = baselines(tables.waves()), baselines(tables.classes(90))
    assert regression["rmse"] == pytest.approx(1.0)
    assert classification["accuracy"] == pytest.approx(2 / 3)
    assert classification["log-loss"] == pytest.approx(np.log(3))
    assert classification["auc"] == pytest.approx(0.5)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")  # a study ignores those of models
@pytest.mark.parametrize("name", [*usual_models("classification"), "relu-1"])
def test_every_kind_of_model_learns_classes(name):
    found = one(name, tables.classes(90), quick=True)
    assert found.losses["accuracy"].mean[-1] < 0.35
    assert found.losses["log-loss"].mean[-1] < 0.8
    assert found.losses["auc"].mean[-1] < 0.15


def test_all_models_see_the_same_splits_and_the_seed_draws_them():
    dataset = tables.waves()
    first, again = one("linear", dataset, quick=True), one("linear", dataset, quick=True)
    np.testing.assert_array_equal(first.losses["rmse"].mean, again.losses["rmse"].mean)


def test_a_kernel_for_padded_rows_is_the_kernel():
    (model,) = models(["relu-1"], np.ones((3, 4)), "regression")
    x = np.random.default_rng(0).normal(size=(70, 4))
    whole = padded_gram(model.kernels[0], x)
    assert whole.shape == (70, 70)
    np.testing.assert_allclose(whole[:5, :5], padded_gram(model.kernels[0], x[:5]), rtol=1e-12)


def test_a_deadline_leaves_one_split_at_three_sizes():
    found = one("linear", tables.waves(), deadline=0.0)
    assert found.losses["rmse"].splits == (1, 1, 1)


def test_a_tuned_lengthscale_does_not_lose_to_an_untuned_one():
    """A function that changes on a scale far from that of the columns."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    dataset = load_dataset((x, np.sin(9 * x[:, 0])))
    (tuned,) = models(["rbf"], dataset.x, dataset.task)
    assert len(tuned.kernels) > 1
    assert measure(tuned, dataset, 0, quick=True).losses["rmse"].mean[-1] < 0.1


def test_a_model_of_the_users_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from sklearn.neighbors import KNeighborsRegressor\ndef make(): return KNeighborsRegressor(3)\n")
    dataset = tables.waves()
    own, said = own_model(f"{path}:make", dataset)
    assert (own.name, own.raw, said) == ("make", True, [])
    assert measure(own, dataset, 0, quick=True).losses["rmse"].mean[-1] < 1
    for text, words in (("mine.py", "FILE.py:function"), (f"{path}:gone", "AttributeError")):
        with pytest.raises(SettingError, match=words):
            own_model(text, dataset)
    with pytest.raises(UnknownNameError, match="did you mean 'forest'"):
        models(["forrest"], dataset.x, dataset.task)


def test_residuals_are_of_rows_that_did_not_train():
    dataset = tables.waves()
    (model,) = models(["linear"], dataset.x, dataset.task)
    found = residuals(model, dataset, metric("rmse", "regression"), 0)
    assert len(found) == 16
    assert [item.loss for item in found] == sorted((item.loss for item in found), reverse=True)


def test_splits_without_a_metric_are_left_out_of_it():
    """Three rows of a rare class: most small splits hold out one class alone, which has no AUC."""
    rng = np.random.default_rng(0)
    dataset = load_dataset((rng.normal(size=(40, 2)), np.array(["a"] * 37 + ["b"] * 3)))
    found = one("linear", dataset)
    auc, accuracy = found.losses["auc"], found.losses["accuracy"]
    assert np.isfinite(auc.mean).all()
    assert sum(auc.splits) < sum(accuracy.splits)


def test_splits_that_workers_finish_in_another_order_are_those_of_one_stretch_again():
    """Sizes are compared stretch by stretch to see a drift."""
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=120), "day": np.arange(120.0), "y": rng.normal(size=120).cumsum()}
    dataset = load_dataset(pl.DataFrame(rows), "y", time="day")
    (model,) = models(["linear"], dataset.x, dataset.task)
    sizes = [10, 20, 40]
    told = {(i, r): _measure._one_split(model, dataset, 0, n, r) for i, n in enumerate(sizes) for r in range(4)}
    later = dict(reversed(told.items()))
    found = [_measure._measured(model, dataset, sizes, own, 40).losses["rmse"] for own in (told, later)]
    np.testing.assert_array_equal(found[0].paired, found[1].paired)
    assert len(set(found[0].paired[0])) == 4


@pytest.mark.parametrize(
    ("wrong", "words"), [(1.0, "in every split the score of the model"), (0.3, "splits would look too small")]
)
def test_a_score_that_is_not_a_number_is_no_single_class(wrong, words):
    """Leaving out the splits with a negative prediction would make the model look too good."""
    dataset = tables.waves()
    dataset = dataclasses.replace(dataset, unit=dataclasses.replace(metric("mae", "regression"), name="score"))
    (model,) = models(["linear"], dataset.x, dataset.task)
    sizes = [10, 20, 40]
    told = {(i, r): _measure._one_split(model, dataset, 0, n, r) for i, n in enumerate(sizes) for r in range(4)}
    place = _measure.units_of(dataset).index(dataset.unit)
    for (_, r), own in told.items():
        if r < 4 * wrong:
            own.means[place] = np.nan
    with pytest.raises(_measure.UnmeasuredError, match=words) as raised:
        _measure._about_unit(model, dataset, list(told.values()))
    assert "class" not in str(raised.value)
    few = [dataclasses.replace(own, trained=10 if np.isnan(own.means[place]) else own.trained) for own in told.values()]
    if wrong < 1:
        (note,) = _measure._about_unit(model, dataset, few)
        assert "not a finite number" in note
        assert "class" not in note
