"""Many rows: a linear model by its columns and a kernel machine by centres, beside their naive twins."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.kernels import RBF, Linear
from lemmata.options import StudyOptions
from lemmata.solvers import subset_of_regressors
from lemmata.workflows.studies import _large_fit, load_dataset
from lemmata.workflows.studies._copies import first_equal
from lemmata.workflows.studies._gram import blocks_of, padded_gram
from lemmata.workflows.studies._kernel_fit import kernel_fit
from lemmata.workflows.studies._large_fit import CENTRES, centres_fit, column_fit
from lemmata.workflows.studies._models import models
from lemmata.workflows.studies._plan import planned
from lemmata.workflows.studies._run import question, run_study

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("block", [64, 2**15])
def test_columns_and_rows_give_the_same_ridge_regression(monkeypatch, block):
    monkeypatch.setattr(_large_fit, "BLOCK", block)
    x, y = RNG.normal(size=(260, 7)), RNG.normal(size=(200, 2))
    y = y + x[:200] @ RNG.normal(size=(7, 2))
    found, twin = column_fit(x[:200], x[200:], y), kernel_fit(x[:200] @ x[:200].T, x[200:] @ x[:200].T, y)
    np.testing.assert_allclose(found.outputs, twin.outputs, atol=1e-11)
    np.testing.assert_allclose(found.left_out, twin.left_out, atol=1e-11)
    assert found.ridge == pytest.approx(twin.ridge)


def test_an_exactly_linear_target_is_fitted_to_rounding():
    x = RNG.normal(size=(500, 5)) * 10.0 ** np.arange(5)
    y = (x @ np.ones(5))[:, None]
    assert ((column_fit(x[:400], x[400:], y[:400]).outputs - y[400:]) ** 2).mean() < 1e-12 * y.var()


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e9])
@pytest.mark.parametrize("groups", [None, np.arange(8) // 2])
@pytest.mark.filterwarnings("error")
def test_columns_that_do_not_vary_give_the_mean(value, groups):
    """Rare 0/1 columns are constant in a small training set."""
    x, y = np.full((10, 3), value), RNG.normal(size=(8, 2))
    x[8:] += 1 + RNG.normal(size=(2, 3))
    found = column_fit(x[:8], x[8:], y, groups)
    np.testing.assert_allclose(found.outputs, np.stack([y.mean(axis=0)] * 2), rtol=1e-12)
    assert np.isfinite(found.left_out).all()
    assert not found.learns


def test_a_machine_on_centres_is_that_of_the_librarys_solver():
    """At the ridge that was chosen, on the same centres; the solver has no intercept, so that the mean is taken off."""
    n, kernel = 1500, RBF(1.5)
    x = RNG.normal(size=(n + 50, 3))
    y = np.sin(x[:, :1]) + 0.1 * RNG.normal(size=(n + 50, 1))
    found, shown = centres_fit(kernel, x[:n], x[n:], y[:n])
    kept = n - len(shown)
    chosen = np.sort(np.random.default_rng(n).choice(kept, CENTRES, replace=False))
    parts = [jnp.asarray(part) for part in (x[:n], y - y[:n].mean(), x[chosen])]
    parts[1] = parts[1][:n]
    twin = subset_of_regressors(kernel, *parts, found.ridge)
    error = lambda outputs: float(np.sqrt(((outputs - np.sin(x[n:, :1])) ** 2).mean()))
    assert error(found.outputs) < 0.05
    assert error(np.asarray(twin(jnp.asarray(x[n:]))) + y[:n].mean()) == pytest.approx(error(found.outputs), abs=5e-3)


def test_the_rows_that_chose_the_ridge_are_fitted_too():
    """With all rows for centres it is kernel ridge regression of all rows, with an intercept."""
    n, kernel = 400, RBF(0.3)
    x, y = RNG.normal(size=(n + 50, 3)), RNG.normal(size=(n, 1))
    y = y + 3 * np.sin(x[:n, :1])
    found, shown = centres_fit(kernel, x[:n], x[n:], y, most=n)
    kept = n - len(shown)
    chosen = np.sort(np.random.default_rng(n).choice(kept, kept, replace=False))
    assert len(chosen) == kept, "the last rows are no centres"
    near, own = padded_gram(kernel, x)[:, :kept], padded_gram(kernel, x)[:kept, :kept]
    centred = near[:n] - near[:n].mean(axis=0)
    weight = np.linalg.lstsq(centred.T @ centred + found.ridge * own, centred.T @ (y - y.mean()), rcond=1e-14)[0]
    np.testing.assert_allclose(found.outputs, y.mean() + (near[n:] - near[:n].mean(axis=0)) @ weight, atol=2e-6)


def test_the_width_of_a_kernel_is_chosen_with_the_rows():
    """A roll in three dimensions: 500 rows preferred twice the width, whose error was a half larger."""
    from sklearn.datasets import make_swiss_roll

    for seed in (0, 1):
        x, y = make_swiss_roll(6000, noise=0.3, random_state=seed)
        x, y = x / x.std(axis=0), (y / y.std())[:, None]
        (model,) = models(["rbf"], x, "regression")
        assert ((model.fit(x, y[:4000], "regression").outputs - y[4000:]) ** 2).mean() < 4e-4


def test_blocks_are_the_gram_matrix():
    from lemmata.architectures import TangentKernel, relu_network

    x = RNG.normal(size=(70, 3))
    for kernel in (RBF(1.0), Linear(3.0), TangentKernel(relu_network(1))):
        found = np.concatenate([rows for _, rows in blocks_of(kernel, x, x[:9])])
        np.testing.assert_allclose(found, padded_gram(kernel, x)[:, :9], rtol=1e-10)


def test_equal_rows_are_found_by_hashes():
    table = RNG.integers(0, 2, size=(400, 5)).astype(float)
    table[RNG.random(table.shape) < 0.1] = np.nan
    _, first, inverse = np.unique(np.nan_to_num(table, nan=9.0), axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first_equal(table), first[inverse.reshape(-1)])


def large(rows=25_000, **options):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, 10))
    return load_dataset((x, x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * rng.normal(size=rows)), **options)


def test_every_model_is_measured_as_far_as_its_price_allows():
    """Of 25,000 rows 7,092 were used, boosting saw 1,000 of them, and kernels were to blame."""
    dataset = large()
    names = ["linear", "rbf", "relu-1", "boosting", "forest", "lasso"]
    for model in models(names, dataset.inputs[:500], "regression", dataset.targets):
        assert planned(model, dataset)[-1][0] == 20_000, model.name
        assert planned(model, dataset, quick=True)[-1][0] >= 5000, model.name
    svm, own = (models([name], dataset.inputs[:500], "regression")[0] for name in ("svm", "neighbours"))
    assert planned(svm, dataset)[-1][0] < 20_000, "its price grows as the square"
    assert planned(own, dataset)[-1][0] >= 4000


@pytest.mark.parametrize(("rows", "names", "said"), [(900, "rbf", 0), (3000, "rbf", 1), (3000, "linear", 0)])
def test_that_kernels_are_on_centres_is_said(rows, names, said):
    found = run_study(large(rows), StudyOptions(models=names, quick=True))
    assert sum("1,000 of them as centres" in note for note in found.notes) == said


def test_the_users_rows_are_counted_and_not_those_that_were_used():
    asked = question(large(max_rows=300), StudyOptions(max_rows=300))
    assert (asked.total, asked.used) == (25_000, 300)
    assert question(large(1000), StudyOptions()).used is None
