"""Kernels, last layers and uniform stability of trained models: numbers by hand, and when nothing is said."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from lemmata.subjects.trained_models import end_kernel, read_trained, rows_left_out, start_kernel
from lemmata.subjects.trained_models._memorising_networks import MemorisingNetworks
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks
from lemmata.subjects.trained_models.kernel_machines import (
    EndKernelKnowsItsRows,
    ErrorOfTheEndKernel,
    ErrorOfTheStartKernel,
    from_left_out,
)
from lemmata.subjects.trained_models.last_layer import LastLayerKnowsItsRows, LeavingOutOfAllLayers, from_the_last_layer
from lemmata.subjects.trained_models.uniform_stability import ConvexModelsAreStable, largest_gradient, removed_rows
from lemmata.workflows.examinations._gauges import gauge, memory, price

RNG = np.random.default_rng(31)


def sampled(population, number, **settings):
    return population.sample(population.settings().resolve(settings or None), jax.random.key(number))


@pytest.fixture(scope="module")
def net():
    return sampled(TrainedNetworks(decay=0.05), 5)


@pytest.fixture(scope="module")
def noise():
    return sampled(MemorisingNetworks(), 6)


def ridge(n=40, decay=0.3, held=12):
    x, w = RNG.normal(size=(n + held, 3)), RNG.normal(size=(3, 2))
    y = x @ w + RNG.normal(size=(n + held, 2))
    weights = np.asarray(Ridge(n * decay, fit_intercept=False).fit(x[:n], y[:n]).coef_).T
    f = lambda w, rows: rows @ w
    return read_trained((f, jnp.asarray(weights)), x[:n], y[:n], decay=decay, held=(x[n:], y[n:]))


def test_half_of_the_rows_are_counted(net):
    y = net.y
    outputs = np.where(np.arange(60)[:, None] < 18, np.roll(y, 1, axis=1), y)  # 18 of 60 wrong
    low, value, high = from_left_out(net, outputs)
    assert value == pytest.approx(0.3)
    law = stats.betabinom(200, 9.5, 21.5)
    assert law.cdf(200 * low - 1) < 0.015 <= law.cdf(200 * low)
    assert law.cdf(200 * high - 1) < 0.985 <= law.cdf(200 * high)


def test_values_have_normal_limits():
    problem = ridge()
    outputs = problem.y + RNG.normal(size=problem.y.shape)
    squares = ((outputs - problem.y) ** 2).sum(1)
    low, value, high = from_left_out(problem, outputs)
    assert value == pytest.approx(squares.mean())
    reach = 1.96 * squares.std(ddof=1) * np.sqrt(1 / 20 + 1 / 12)
    assert (low, high) == pytest.approx((max(value - reach, 0), value + reach), rel=1e-3)


@pytest.mark.parametrize(
    ("claim", "machine"), [(ErrorOfTheStartKernel(), start_kernel), (ErrorOfTheEndKernel(), end_kernel)]
)
def test_a_gauge_measures_its_own_machine(claim, machine, net):
    found = gauge(claim, net, 0)
    assert found.status == "agrees"
    wrong = machine(net).outputs.argmax(1) != net.held[1].argmax(1)
    assert found.measured.value == pytest.approx(wrong.mean())
    outputs = rows_left_out(net).outputs if machine is end_kernel else start_kernel(net).left_out
    assert found.predicted.value == pytest.approx(np.mean(outputs.argmax(1) != net.y.argmax(1)))
    alone = gauge(claim, dataclasses.replace(net, held=None), 0)
    assert alone.status == "unscored"
    assert alone.predicted.value == pytest.approx(found.predicted.value)
    assert price(claim, net, 1.0) == 0.0  # both are known by now
    assert price(claim, dataclasses.replace(net), 1.0) > 3
    assert memory(claim, net) > 8 * 60 * 60


def test_when_kernels_say_nothing(net):
    found = gauge(ErrorOfTheStartKernel(), dataclasses.replace(net, start=None), 0)
    assert found.status == "inapplicable"
    assert "the initial parameters" in found.reason
    assert gauge(ErrorOfTheEndKernel(), dataclasses.replace(net, start=None), 0).status == "agrees"
    assert "decay" in gauge(ErrorOfTheEndKernel(), dataclasses.replace(net, decay=0.0), 0).reason
    x = RNG.normal(size=(2001, 4))
    many = dataclasses.replace(net, x=x, y=np.eye(3)[RNG.integers(0, 3, 2001)])
    for claim in (ErrorOfTheStartKernel(), ErrorOfTheEndKernel()):
        assert "training rows = 2e+03, required <= 2e+03" in gauge(claim, many, 0).reason
    copied = dataclasses.replace(net, x=np.concatenate([net.x[:30]] * 2))
    assert "duplicate" in gauge(ErrorOfTheStartKernel(), copied, 0).reason


def test_kernels_of_values():
    values = RNG.normal(size=(40, 2))  # ones would be several classes of a row
    start = read_trained((lambda w, rows: rows @ w, jnp.ones((3, 2))), RNG.normal(size=(40, 3)), values).model
    problem = dataclasses.replace(ridge(held=150), start=start)
    for claim in (ErrorOfTheStartKernel(), ErrorOfTheEndKernel()):
        assert gauge(claim, problem, 0).status == "agrees"


def test_what_the_features_have_seen(noise, key):
    """The last layer and the trained kernel believe that classes at random were learned; all layers do not."""
    measured = float(LeavingOutOfAllLayers().measure(noise, key)[1])
    last, kernel = LastLayerKnowsItsRows().measure(noise, key), EndKernelKnowsItsRows().measure(noise, key)
    assert float(from_the_last_layer(noise)[2]) < 0.3 < 0.5 < measured
    assert 4 * float(last) < float(kernel) < 0.5
    low, _, high = np.asarray(LeavingOutOfAllLayers().predict(noise))
    assert low <= measured <= high


def test_a_linear_model_has_no_last_layer():
    problem = sampled(TrainedNetworks(hidden=0), 7)
    below = [own for own in LastLayerKnowsItsRows().hypotheses(problem) if not own.holds]
    assert [own.name for own in below] == ["share of parameters in the readout"]


def test_the_bound_by_hand_and_silence_about_networks(net):
    problem = sampled(TrainedNetworks(rows=30, decay=1.0, hidden=0, widths=(0, 0)), 8)
    x = np.concatenate([problem.x, problem.held[0]])
    kappa2 = (x**2).sum(1).max() + 1  # the bias is a parameter
    assert largest_gradient(problem) ** 2 == pytest.approx(kappa2)
    claim = ConvexModelsAreStable()
    assert float(claim.predict(problem)) == pytest.approx(2 * kappa2 / (30 * 1.0))
    found = gauge(claim, net, 0)
    assert found.status == "inapplicable"
    assert "share of parameters in which the outputs are linear" in found.reason
    fixed = dataclasses.replace(problem.model, decayed=np.arange(len(problem.model.theta)) > 2)
    assert "share of parameters that decay" in gauge(claim, dataclasses.replace(problem, model=fixed), 0).reason


def test_every_removal_of_ridge_regression_is_below_the_bound(key):
    problem = ridge()
    n, decay = 40, 0.3
    x, y = np.concatenate([problem.x, problem.held[0]]), np.concatenate([problem.y, problem.held[1]])
    loss = lambda model: ((model.predict(x) - y) ** 2).sum(1) / 2
    fit = lambda rows: Ridge(n * decay, fit_intercept=False).fit(problem.x[rows], problem.y[rows])
    before = loss(fit(np.arange(n)))
    changes = [np.abs(loss(fit(np.delete(np.arange(n), i))) - before).max() for i in range(n)]
    bound = float(ConvexModelsAreStable().predict(problem))
    assert max(changes) <= bound
    k = (x**2).sum(1).max() / (n * decay)
    assert bound == pytest.approx(2 * before.max() * (1 + k) * k)
    measured = float(ConvexModelsAreStable().measure(problem, key))
    assert measured == pytest.approx(max(changes[i] for i in removed_rows(problem)), rel=0.02)
    assert measured > np.sort(changes)[n // 2]


def test_the_rows_that_pull_most_are_removed():
    problem = ridge()
    residual = problem.model.outputs(problem.x) - problem.y
    pulls = np.linalg.norm(residual, axis=1) * np.linalg.norm(problem.x, axis=1)
    rows = removed_rows(problem)
    assert len(set(rows.tolist())) == 8
    assert set(rows[:4].tolist()) == set(np.argsort(-pulls)[:4].tolist())
