"""The tangent at the start: residuals by hand, when it is silent, and the kernel's errors left out one by one."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.engine.claims import examine
from lemmata.subjects.trained_models import objective_of, read_trained, tangent_kernel
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, begin
from lemmata.subjects.trained_models.start import (
    LinearFromTheStart,
    at_start,
    begun,
    kernel_errors,
    pushed_by_differences,
    pushed_forward,
    root_ratio,
)
from lemmata.workflows.examinations._gauges import gauge

RNG = np.random.default_rng(8)
X, HELD = RNG.normal(size=(40, 3)), RNG.normal(size=(120, 3))


def bent(theta, x):
    """Quadratic in each parameter."""
    return x @ (theta + 0.1 * theta**2)


def posed(f=bent, start=(1.0, -1.0), end=(1.3, -0.7), **rest):
    at = lambda value: (f, jnp.tile(jnp.asarray(value), (3, 1)))
    return read_trained(
        at(end), X, X[:, :2], held=(HELD, HELD[:, :2]), start=None if start is None else at(start), **rest
    )


def test_the_residual_of_a_quadratic_by_hand(key):
    problem = posed(start=(1.0, 1.0), end=(1.3, 1.3))
    # f - f0 = s (0.3 (1 + 0.2) + 0.1 0.09), of which the tangent has all but the last term
    expected = 0.009 / 0.369
    claim = LinearFromTheStart()
    low, value, high = np.asarray(claim.predict(problem))
    assert value == pytest.approx(expected, rel=1e-9)
    assert (low, high) == pytest.approx((expected / 1.3, expected * 1.3))
    measured = np.asarray(claim.measure(problem, key))
    assert measured[1] == pytest.approx(expected, rel=1e-6)
    assert examine(claim, problem, key).agrees


def test_the_two_derivatives_are_two_routes_to_one(key):
    problem = LinearFromTheStart.population.sample(LinearFromTheStart.population.settings().resolve(None), key)
    forward, differences = (push(problem, problem.x) for push in (pushed_forward, pushed_by_differences))
    assert np.abs(forward - differences).max() < 1e-6 * np.abs(forward).max()
    assert np.abs(forward).max() > 1e-3


def test_a_model_that_is_linear_in_its_parameters_has_no_residual(key):
    problem = posed(lambda theta, x: x @ theta)
    claim = LinearFromTheStart()
    low, value, high = np.asarray(claim.predict(problem))
    assert low == 0
    assert value < 1e-12
    assert high == 1e-6
    assert examine(claim, problem, key).agrees


def test_training_that_left_the_tangent_is_outside(key):
    problem = TrainedNetworks().sample(TrainedNetworks().settings().resolve({"decay": 0.002}), key)
    found = gauge(LinearFromTheStart(), problem, 0)
    assert found.status == "inapplicable"
    assert "residual of the linear model at the start" in found.reason


def test_it_is_silent_without_a_start_and_unscored_without_held_rows():
    claim = LinearFromTheStart()
    missing = gauge(claim, posed(start=None), 0)
    assert missing.status == "inapplicable"
    assert "initial parameters are given" in missing.reason
    alone = gauge(claim, dataclasses.replace(posed(), held=None), 0)
    assert alone.status == "unscored"
    assert alone.predicted.value == pytest.approx(gauge(claim, posed(), 0).predicted.value)
    assert gauge(claim, posed(), 0).status == "agrees"


@pytest.mark.parametrize(("start", "which"), [((1.3, -0.7), 0), ((1.0, -1.0), 1)])
def test_a_start_that_is_the_end_or_another_function_is_refused(start, which):
    problem = posed(start=start)
    if which == 1:
        other = read_trained(
            (lambda theta, x: bent(theta, x) + 1, problem.start.split(problem.start.theta)[""]), X, X[:, :2]
        )
        problem = dataclasses.replace(problem, start=other.model)
    assert [bool(own.holds) for own in begun(problem)] == [place != which for place in range(2)]
    assert gauge(LinearFromTheStart(), problem, 0).status == "inapplicable"


def test_the_spread_of_a_ratio_of_means():
    a = RNG.gamma(2.0, size=(3000, 150))
    b = a + RNG.gamma(1.0, size=a.shape)
    logs = np.log(np.sqrt(a.mean(1) / b.mean(1)))
    # its standard deviation over new samples of 150 rows, beside that of the difference of two such samples
    spread = np.median([root_ratio(a[k], b[k], 150)[1] for k in range(200)])
    assert spread == pytest.approx(np.sqrt(2) * logs.std(), rel=0.05)


def test_errors_of_the_kernel_are_those_of_leaving_each_row_out():
    x = RNG.normal(size=(14, 3))
    y = np.eye(2)[(x[:, 0] + RNG.normal(size=14) > 0).astype(int)]
    kernel, centred = x @ x.T + 1, y - y.mean(0)
    found = []
    for ridge in np.linalg.eigvalsh(kernel).mean() * np.geomspace(1e-4, 1e3, 29):
        out = np.empty_like(y)
        for i in range(14):
            rest = np.arange(14) != i
            machine = KernelRidge(alpha=ridge, kernel="precomputed").fit(kernel[np.ix_(rest, rest)], centred[rest])
            out[i] = machine.predict(kernel[i : i + 1, rest])[0] + y.mean(0)
        found.append((((out - y) ** 2).sum(1).mean(), (out.argmax(1) != y.argmax(1)).mean()))
    assert kernel_errors(kernel, y) == pytest.approx(min(found), rel=1e-8)


def test_the_kernel_of_a_linear_model(key):
    population = TrainedNetworks(hidden=0)
    problem = population.sample(population.settings().resolve(None), key)
    assert tangent_kernel(at_start(problem), problem.x) == pytest.approx(problem.x @ problem.x.T + 1)


def test_the_population_knows_where_training_began(key):
    population = TrainedNetworks(steps=1)
    problem = population.sample(population.settings().resolve(None), key)
    _, slope = dataclasses.replace(objective_of(problem), decay=0.0).value(problem.start.theta)
    assert problem.model.theta == pytest.approx(problem.start.theta - 0.2 * slope)
    assert begin(3, 4, 6).theta == pytest.approx(begin(3, 4, 6).theta)
