"""The PAC-Bayes bound of models: not vacuous on digits, right on simulated truth, refusals."""

import math
import re

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from lemmata.engine.claims import registry
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.kernels import RBF
from lemmata.subjects.bounds import gaussian_error, kl_upper, pac_bayes_bound, pac_bayes_budget
from lemmata.subjects.bounds._gaussian_rules import module_rules


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return train_test_split(x / 16, y, train_size=800, test_size=600, random_state=0, stratify=y)


MODELS = {
    "linear": lambda: LogisticRegression(max_iter=300),
    "pipeline": lambda: make_pipeline(StandardScaler(), RidgeClassifier()),
    "kernel": lambda: RBF(1.0),
    "MLP": lambda: MLPClassifier((32,), max_iter=600, random_state=0),
    "module": lambda: eqx.nn.MLP(64, 10, 32, 1, key=jax.random.key(0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_on_digits_it_is_far_from_vacuous_and_holds(digits, name):
    x, x_test, y, y_test = digits
    found = pac_bayes_bound(MODELS[name](), x, y, held=(x_test, y_test), draws=300)
    assert not found.vacuous
    assert found.bound < 0.25
    assert float(found.test_error or 1.0) < found.bound
    assert found.gibbs <= found.gibbs_upper < found.bound
    assert (found.rows, found.prior_rows) == (400, 400)
    assert found.trivial == pytest.approx(0.9)
    assert all(condition.holds is not False for condition in found.conditions)
    assert "vacuous" not in str(found)


def test_a_prior_around_nought_pays_for_the_whole_fit_and_says_so(digits):
    x, _, y, _ = digits
    found = pac_bayes_bound(LogisticRegression(max_iter=300), x[:150], y[:150], prior="free")
    assert found.bound >= found.trivial
    assert found.vacuous
    assert str(found).startswith("vacuous: ")
    assert (found.prior_rows, found.hold_out, found.rows) == (0, None, 150)


def test_the_three_reasons_of_a_vacuous_bound():
    generator = np.random.default_rng(0)
    x, noise = generator.normal(size=(400, 3)), generator.integers(2, size=400)
    model = LogisticRegression()
    assert "rows are too few" in pac_bayes_bound(model, x[:16], x[:16, 0] > 0).vacuous
    assert "the rule errs on" in pac_bayes_bound(model, x, noise).vacuous
    wide = generator.normal(size=(60, 100))
    assert "nats" in pac_bayes_bound(LogisticRegression(C=100.0), wide, wide[:, 0] > 0, prior="free").vacuous


def test_the_number_is_the_formula_for_a_given_step():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(300, 4))
    y = np.where(x[:, 0] + 0.3 * generator.normal(size=300) > 0, "yes", "no")
    found = pac_bayes_bound(LogisticRegression(), x, y, step=1.0, seed=3, delta=0.1)
    seen = np.sort(np.random.default_rng(3).permutation(300)[:150])
    unseen = np.setdiff1d(np.arange(300), seen)
    weights = [
        np.append(f.coef_[0], f.intercept_)
        for f in (LogisticRegression().fit(x[seen], y[seen]), LogisticRegression().fit(x, y))
    ]
    unit = np.sqrt(np.mean(weights[0] ** 2))
    kl = np.sum((weights[1] - weights[0]) ** 2) / (2 * (unit * found.sigma) ** 2)
    rows = np.column_stack([x[unseen], np.ones(150)])
    margins = np.where(y[unseen] == "yes", 1, -1) * (rows @ weights[1]) / np.linalg.norm(rows, axis=1)
    gibbs = stats.norm.cdf(-margins / (unit * found.sigma)).mean()
    assert (found.kl, found.gibbs) == (pytest.approx(kl, rel=1e-9), pytest.approx(gibbs, rel=1e-9))
    assert found.bound == pytest.approx(float(kl_upper(gibbs, pac_bayes_budget(kl, 150, 0.1, 11))), rel=1e-9)
    wrong = np.sum(LogisticRegression().fit(x[seen], y[seen]).predict(x[unseen]) != y[unseen])
    assert stats.binom.cdf(wrong, 150, found.hold_out) == pytest.approx(0.1, rel=1e-6)


class Affine(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return self.weight @ x + self.bias


def test_draws_of_a_linear_module_agree_with_the_integral(digits):
    x, _, y, _ = digits
    fits = [LogisticRegression(max_iter=300).fit(x[:rows], y[:rows]) for rows in (200, 800)]
    first, last = (Affine(jax.numpy.asarray(fit.coef_), jax.numpy.asarray(fit.intercept_)) for fit in fits)
    rules, units = module_rules(first, last), [np.sqrt(np.mean(a**2)) for a in (first.weight, first.bias)]
    moved = [np.sum((b - a) ** 2) for a, b in ((first.weight, last.weight), (first.bias, last.bias))]
    assert rules.distance == pytest.approx(moved[0] / units[0] ** 2 + moved[1] / units[1] ** 2)
    drawn = rules.errors_on(x, y)(0.25, 1.0, 2000, 0)
    outputs = x @ (0.75 * first.weight + 0.25 * last.weight).T + 0.75 * first.bias + 0.25 * last.bias
    spread = np.sqrt(units[0] ** 2 * np.sum(x**2, axis=1) + units[1] ** 2)
    exact = gaussian_error(np.asarray(outputs), spread, y).mean()
    assert 0.1 < exact < 0.8
    assert drawn.mean() == pytest.approx(exact, abs=5 * drawn.std() / np.sqrt(2000))


def test_the_error_of_draws_has_its_own_limit(digits):
    x, _, y, _ = digits
    module = eqx.nn.MLP(64, 10, 8, 1, key=jax.random.key(0))
    found = pac_bayes_bound(module, x[:100], y[:100], train=lambda model, x, y: model, draws=50)
    assert found.kl == 0.0
    assert found.gibbs_upper == pytest.approx(float(kl_upper(found.gibbs, math.log(1 / 0.005) / 50)), rel=1e-9)
    budget = pac_bayes_budget(0.0, 50, 0.045, 11)
    assert found.bound == pytest.approx(float(kl_upper(found.gibbs_upper, budget)), rel=1e-9)


@pytest.mark.parametrize("prior", ["half", "free"])
def test_coverage_on_simulated_truth(prior, record_property):
    """At delta = 0.2, of small samples, on which the bound is as tight as it gets."""
    generator, held, repeats = np.random.default_rng(5), None, 60
    teacher = np.array([1.0, -1.0, 0.5])
    draw = lambda n: (
        x := generator.normal(size=(n, 3)),
        (x @ teacher + 0.5 * generator.normal(size=n) > 0).astype(int),
    )
    held, covered, bounds = draw(4000), 0, []
    for seed in range(repeats):
        found = pac_bayes_bound(RidgeClassifier(), *draw(80), prior, held=held, delta=0.2, seed=seed)
        covered += found.test_error <= found.bound
        bounds.append(found.bound)
    record_property("coverage", float(covered / repeats))
    print(f"coverage, {prior} prior, nominal 80 %: {covered / repeats:.1%}, median bound {np.median(bounds):.3f}")
    assert stats.binom.cdf(covered, repeats, 0.8) > 1e-3
    assert np.median(bounds) < 0.5


@pytest.mark.parametrize("prior", ["half", "free"])
def test_of_coin_flips_no_bound_is_below_one_half(prior, record_property):
    """Every rule errs on half of new rows, while the fit to more dimensions than rows knows all of its own."""
    generator, bounds = np.random.default_rng(7), []
    for seed in range(40):
        x, y = generator.normal(size=(60, 80)), generator.integers(2, size=60)
        bounds.append(pac_bayes_bound(RidgeClassifier(), x, y, prior, delta=0.2, step=1.0, seed=seed).bound)
    record_property("coverage", float(np.mean(np.array(bounds) >= 0.5)))
    assert stats.binom.cdf(np.sum(np.array(bounds) >= 0.5), 40, 0.8) > 1e-3


def test_held_rows_of_another_law_are_noticed():
    x = np.random.default_rng(0).normal(size=(400, 2))
    found = pac_bayes_bound(LogisticRegression(), x, x[:, 0] > 0, held=(x, x[:, 0] < 0))
    assert found.conditions[-1].holds is False
    assert "another distribution" in str(found)


def test_a_seed_gives_the_same_record(digits):
    x, _, y, _ = digits
    model = MODELS["linear"]()
    assert pac_bayes_bound(model, x, y, seed=4) == pac_bayes_bound(model, x, y, seed=4)


def test_the_claims_exist():
    assert set(pac_bayes_bound(LogisticRegression(), *_separable()).claims) <= set(registry("generalisation"))


def _separable(n=60):
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, x[:, 0] > 0


X, Y = _separable()
BAD = {
    "delta": ({"delta": 0.0}, SettingError, "delta"),
    "delta above 1": ({"delta": 1.5}, SettingError, "delta"),
    "prior": ({"prior": "whole"}, SettingError, "prior"),
    "empty prior": ({"prior": 0.001}, SettingError, "at least one row"),
    "whole prior": ({"prior": 0.999}, SettingError, "at least one row"),
    "prior 0": ({"prior": 0.0}, SettingError, "prior"),
    "ridge": ({"ridge": -1.0}, SettingError, "ridge"),
    "draws": ({"draws": 0}, SettingError, "draws"),
    "step": ({"step": 1.5}, SettingError, "step"),
    "tree": ({"model": DecisionTreeClassifier()}, SettingError, "without coef_"),
    "rbf": ({"model": SVC()}, SettingError, "model"),
    "regression": ({"model": LinearRegression()}, SettingError, "a classifier"),
    "nothing": ({"model": None}, SettingError, "NoneType"),
    "class": ({"model": LogisticRegression}, SettingError, "model"),
    "free MLP": ({"model": MLPClassifier(), "prior": "free"}, SettingError, "before training"),
    "free steps": (
        {"model": make_pipeline(StandardScaler(), RidgeClassifier()), "prior": "free"},
        SettingError,
        "steps",
    ),
    "outputs": ({"model": eqx.nn.MLP(2, 3, 4, 1, key=jax.random.key(0))}, ShapeError, "(2,)"),
    "no weights": ({"model": eqx.nn.Identity()}, SettingError, "without weights"),
    "rows": ({"x": X[:, 0]}, ShapeError, "one point in each row"),
    "lengths": ({"y": Y[:-1]}, ShapeError, "60 rows"),
    "missing": ({"x": np.where(X > 2, np.nan, X)}, DataError, "finite"),
    "one class": ({"y": np.ones(60)}, DataError, "two classes"),
    "numbers": ({"y": X[:, 0]}, DataError, "classes"),
    "held": ({"held": (X, Y, Y)}, ShapeError, "held"),
    "held shape": ({"held": (X[:, :1], Y)}, ShapeError, "held rows"),
    "held classes": ({"held": (X, np.full(60, 2))}, DataError, "held classes"),
    "rare class": ({"y": np.append(np.ones(59), 0), "prior": 0.05}, DataError, "missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name):
    changed, error, words = BAD[name]
    given = {"model": LogisticRegression(), "x": X, "y": Y, **changed}
    with pytest.raises(error, match=re.escape(words)) as caught:
        pac_bayes_bound(**given)
    assert isinstance(caught.value, LemmataError)
    assert "\n" not in str(caught.value)
