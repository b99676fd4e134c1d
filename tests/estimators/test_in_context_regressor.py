"""The in-context transformer as a scikit-learn estimator."""

import io

import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.errors import DataError, LemmataError, SettingError
from lemmata.estimators import InContextRegressor
from lemmata.functions import Cosines, GaussianBumps
from lemmata.solvers import lasso_objective, proximal_gradient


@parametrize_with_checks([
    InContextRegressor(features=160, layers=201, random_state=0, normalise=True),
    InContextRegressor(features=160, layers=2001, accelerated=False, stable=False, random_state=0, normalise=True),
])  # fmt: skip
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(rows=60, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, columns)) / columns**0.5
    return x, np.sin(3 * x[:, 0]) + x[:, -1] ** 2


def test_prediction_is_the_lasso_on_its_features():
    x, y = data()
    model = InContextRegressor(features=32, layers=201, accelerated=False, normalise=False, random_state=0).fit(x, y)
    transformer = model.transformer_
    with jax.enable_x64(True):
        stored = jax.tree.map(jnp.asarray, transformer)
        features, target = stored.features(jnp.asarray(x)), jnp.asarray((y - y.mean()) / y.std())
        rho = proximal_gradient(features, target, stored.penalty, stored.step, 100)[-1]
        assert np.allclose(model.predict(x), y.mean() + y.std() * np.asarray(features @ rho), atol=1e-7)
        assert lasso_objective(features, target, 3e-3, rho) < 0.5 * lasso_objective(features, target, 3e-3, 0 * rho)


def test_each_row_is_a_forward_pass_of_its_own():
    x, y = data()
    model = InContextRegressor(features=24, layers=41, random_state=0).fit(x, y)
    together, apart = model.predict(x[:5]), [model.predict(x[i : i + 1])[0] for i in range(5)]
    assert np.allclose(together, apart, atol=1e-12)


def test_a_stored_estimator_predicts_the_same():
    x, y = data()
    model = InContextRegressor(features=24, layers=41, random_state=0).fit(x, y)
    stored = io.BytesIO()
    joblib.dump(model, stored)
    stored.seek(0)
    assert np.array_equal(joblib.load(stored).predict(x), model.predict(x))


@pytest.mark.parametrize("factor", [2.0**600, 2.0**-600, 2.0**1000, 2.0**-1000])
def test_units_of_the_targets_do_not_matter(factor):
    x, y = data()
    model = InContextRegressor(features=24, layers=41, random_state=0)
    assert np.array_equal(model.fit(x, factor * y).predict(x), factor * model.fit(x, y).predict(x))


def test_constant_targets_are_predicted():
    x, _ = data()
    assert np.allclose(InContextRegressor(features=8, layers=5).fit(x, np.full(60, 3.0)).predict(x), 3.0)


def test_another_class_of_functions():
    x, y = data()
    functions = Cosines(jnp.array([[3.0, 0.0], [0.0, 3.0]]), jnp.ones(2))
    assert InContextRegressor(functions, features=64, layers=401, random_state=0).fit(x, y).score(x, y) > 0.7


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"layers": 40}, "odd"),
        ({"layers": 4.0}, "whole"),
        ({"features": 0}, "at least 1"),
        ({"features": "many"}, "whole"),
        ({"penalty": -1.0}, "at least 0"),
        ({"temperature": 0.0}, "positive"),
        ({"sharpness": float("nan")}, "positive"),
        ({"normalise": 0}, "True, False or None"),
        ({"functions": GaussianBumps(2, float("inf"))}, "finite Barron parameter"),
        ({"functions": GaussianBumps(3)}, "columns"),
        ({"functions": "bumps"}, "a class of functions"),
        ({"functions": GaussianBumps}, "a class of functions"),
        ({"penalty": "a"}, "penalty.*a number"),
        ({"penalty": float("inf")}, "penalty.*finite"),
        ({"temperature": "hot"}, "temperature.*a number"),
        ({"accelerated": "no"}, "True or False"),
        ({"layers": True}, "whole"),
    ],
)
def test_bad_settings_are_named(settings, word):
    x, y = data()
    with pytest.raises(LemmataError, match=word):
        InContextRegressor(**settings).fit(x, y)


def test_rows_outside_the_ball():
    x, y = data()
    x[7] = 3.0
    with pytest.raises(DataError, match="training row 7"):
        InContextRegressor(normalise=False).fit(x, y)
    with pytest.warns(UserWarning, match="training row 7"):
        InContextRegressor(features=8, layers=5).fit(x, y)


def test_a_prompt_from_a_user_is_checked():
    x, y = data()
    transformer = InContextRegressor(features=8, layers=5, random_state=0).fit(x, y).transformer_
    for wrong, match in (
        ((np.vstack([x[:-1], [[2.0, 2.0]]]), y, x), "example 59"),
        ((x, y, np.full((60, 2), 5.0)), "query 0"),
        ((x, np.where(np.arange(60) == 3, np.nan, y), x), "target of example 3"),
        ((x[:1], y[:1], x), "at least 2"),
        ((x[:, :1], y, x), "columns"),
        ((x, y[:-1], x), "one target"),
    ):
        with pytest.raises(LemmataError, match=match), jax.enable_x64(True):
            transformer.predict(*wrong)


def test_penalty_of_a_class_with_no_setting_is_refused_early():
    x, y = data()
    with pytest.raises(SettingError, match="layers"):
        InContextRegressor(layers=0).fit(x, y)
