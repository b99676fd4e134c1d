"""The models that people would try first: each learns, each suits its target, none decides by its failures."""

import warnings

import numpy as np
import pytest

from lemmata.errors import SettingError, UnknownNameError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._suited import suited
from lemmata.workflows.studies._usual import NAIVE, neighbours, season, usual_models
from tests.workflows.studies import tables

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", sorted(usual_models("regression")))
def test_each_learns_numbers(name):
    x = RNG.normal(size=(300, 3))
    y = RNG.poisson(np.exp(1 + x[:, 0])) + (name == "gamma")
    dataset = load_dataset((x, y.astype(float)), task="regression")
    (model,) = models([name], dataset.x, "regression", dataset.targets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = measure(model, dataset, 0, quick=True).losses["r2"]
    assert losses.mean[-1] < 0.85
    assert losses.mean[-1] < losses.mean[0]


def test_counts_are_predicted_as_well_as_by_scikit_learn():
    """Counts with mean exp(1 + x): every model here was told to stay above an error that Poisson regression has."""
    from sklearn.linear_model import PoissonRegressor

    x = np.random.default_rng(3).normal(size=(1500, 3))
    y = np.random.default_rng(4).poisson(np.exp(1 + x[:, 0])).astype(float)[:, None]
    dataset = load_dataset((x, y[:, 0]), task="regression")
    assert "poisson" in suited(dataset.x, "regression", dataset.targets)
    (model,) = models(["poisson"], dataset.x, "regression", dataset.targets)
    said = model.fit(x, y[:1200], "regression").outputs
    peer = PoissonRegressor().fit(x[:1200], y[:1200, 0]).predict(x[1200:])
    assert ((said - y[1200:]) ** 2).mean() < 1.05 * ((peer[:, None] - y[1200:]) ** 2).mean()


def test_amounts_are_none_of_negative_numbers():
    x = RNG.normal(size=(50, 2))
    for name, least in (("poisson", -1.0), ("gamma", 0.0)):
        targets = np.linspace(least, 3.0, 50)[:, None]
        with pytest.raises(SettingError, match=f"--models {name} does not suit this target"):
            models([name], x, "regression", targets)
    with pytest.raises(UnknownNameError, match=r"model 'poisson' is for numbers.*--task regression"):
        models(["poisson"], x, "classification")


def test_few_columns_among_many_are_found_by_a_lasso():
    """120 rows of 3,000 columns, of which two matter: kernels see nothing."""
    x = RNG.normal(size=(120, 3000))
    y = x[:, 5] - x[:, 7] + 0.3 * RNG.normal(size=120)
    (lasso,) = models(["lasso"], x, "regression")
    said = lasso.fit(x, y[:96, None], "regression").outputs[:, 0]
    assert ((said - y[96:]) ** 2).mean() < 0.3 * y.var()


def test_a_size_that_cannot_be_fitted_is_left_out_and_said():
    """Logistic regression vanished from every table of 6 to 20 classes, because 8 rows cannot be fitted."""
    rng = np.random.default_rng(0)
    label = np.arange(300) % 12
    dataset = load_dataset((rng.normal(size=(300, 4)) + 3 * rng.normal(size=(12, 4))[label], label.astype(str)))
    (logistic,) = models(["logistic"], dataset.x, dataset.task)
    found = measure(logistic, dataset, 0, quick=True)
    assert found.losses["accuracy"].mean[-1] < 0.5

    def picky(x, y, task, groups):
        if len(y) < 20:
            raise ValueError("fewer rows than classes")
        return logistic.fit(x, y, task)

    import dataclasses

    found = measure(dataclasses.replace(logistic, fit=picky), dataset, 0, quick=True)
    assert found.losses["accuracy"].sizes[0] >= 20
    assert any("could not be fitted to 8 rows in any split (ValueError: fewer rows" in note for note in found.notes)


def test_a_last_value_and_a_season_stand_beside_models_of_time():
    dataset = tables.waves()
    plain = models(["linear"], dataset.x, "regression")
    beside = models(["linear"], dataset.x, "regression", ordered=True)
    assert [model.name for model in beside] == [*(model.name for model in plain), *NAIVE]
    when = np.arange(120)
    y = (np.sin(2 * np.pi * when / 12) + 0.01 * when)[:, None]
    assert season(y[:96]) == 12
    x = np.zeros((120, 1))
    last, again = (model.fit(x, y[:96], "regression").outputs for model in beside[1:])
    np.testing.assert_array_equal(last, np.repeat(y[95:96], 24, axis=0))
    np.testing.assert_allclose(again[:12], y[84:96])
    assert ((again - y[96:]) ** 2).mean() < 0.2 * ((last - y[96:]) ** 2).mean()


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_has_no_season(seed):
    walk = np.cumsum(np.random.default_rng(seed).normal(size=(300, 1)), axis=0)
    noise = np.random.default_rng(seed).normal(size=(300, 1))
    assert season(walk) <= 100
    assert season(noise) <= 100
    assert season(np.zeros((50, 1))) == 1


def test_boosting_of_many_rows_goes_on_while_it_gains():
    """A fixed number of rounds is a floor of the tool's making."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    x = np.random.default_rng(5).normal(size=(8000, 6))
    y = (x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]))[:, None]
    (model,) = models(["boosting"], x, "regression")
    peer = HistGradientBoostingRegressor(random_state=0, early_stopping=False).fit(x[:4000], y[:4000, 0])
    errors = [((said.reshape(-1, 1) - y[4000:]) ** 2).mean()
              for said in (model.fit(x, y[:4000], "regression").outputs, peer.predict(x[4000:]))]  # fmt: skip
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_width_and_the_margin_of_a_support_vector_machine_are_chosen(task):
    """With scikit-learn's width, and its margin of a tenth, both laws stop at a floor that is none."""
    from sklearn.datasets import make_hastie_10_2, make_swiss_roll
    from sklearn.svm import SVC, SVR

    if task == "classification":
        x, labels = make_hastie_10_2(3000, random_state=7)
        y = (labels[:, None] == np.array([-1.0, 1.0])).astype(float)
        peer = (SVC(C=10).fit(x[:1500], labels[:1500]).predict(x[1500:]) != labels[1500:]).mean()
    else:
        x, y = make_swiss_roll(3000, noise=0.3, random_state=7)
        x, y = x / x.std(axis=0), (y / y.std())[:, None]
        peer = ((SVR(C=10).fit(x[:1500], y[:1500, 0]).predict(x[1500:]) - y[1500:, 0]) ** 2).mean()
    (model,) = models(["svm"], x, task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its steps, which are limited
        said = model.fit(x, y[:1500], task).outputs
    own = (said.argmax(1) != y[1500:].argmax(1)).mean() if task == "classification" else ((said - y[1500:]) ** 2).mean()
    assert own < 0.9 * peer


@pytest.mark.parametrize(("rows", "wanted"), [(400, [1, 3, 5, 10, 20, 40]), (20, [1, 3, 5, 10]), (2, [1])])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_more_neighbours_are_asked_than_other_rows_are_trained_on(rows, wanted, task):
    x, y = np.zeros((rows, 2)), np.zeros((rows, 1))
    found = [make() for make in neighbours(x, y, task)]
    assert [own.n_neighbors for own in found] == wanted
    assert {type(own).__name__ for own in found} == {
        f"KNeighbors{'Regressor' if task == 'regression' else 'Classifier'}"
    }
