"""Gauges of trained descent: bounds by hand, what breaks them, when they are silent, and their nulls."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import (
    by_chance,
    gauss_newton_eigenvalues,
    leave_one_out,
    margin_direction,
    objective_of,
    polished_copy,
    read_trained,
    rows_left_out,
    rows_left_out_at_evidence,
    training_outputs,
)
from lemmata.subjects.trained_models._descended_networks import DescendedNetworks
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks
from lemmata.subjects.trained_models.balance import (
    LargestSingularValueFromTheChange,
    UnitsStayBalanced,
    largest_matrix,
    outlier,
)
from lemmata.subjects.trained_models.bracket import HeldOutErrorBracket, bracket, distance
from lemmata.subjects.trained_models.distances_to_boundaries import (
    MarginAboveChance,
    WeightsAlongMaximalMargin,
    degree,
    normalised_margin,
)
from lemmata.subjects.trained_models.edge import SharpnessBelowTheEdge, sharpness_along
from lemmata.subjects.trained_models.effective_dimension import (
    DimensionFromProducts,
    FewerDimensionsThanByChance,
)
from lemmata.workflows.examinations._gauges import gauge


def sampled(claim, key=1, **setting):
    population = claim.population
    return population.sample(population.settings().resolve(setting or None), jax.random.key(key))


@pytest.fixture(scope="module")
def balanced():
    return sampled(UnitsStayBalanced())


@pytest.fixture(scope="module")
def separable():
    return sampled(WeightsAlongMaximalMargin())


@pytest.fixture(scope="module")
def apart():
    return sampled(MarginAboveChance())


def test_the_edge_of_a_quadratic():
    x = np.diag([2.0, 1.0])
    model = lambda theta: (lambda own, rows: rows @ own, jnp.asarray(theta))
    problem = read_trained(model([[1.0], [1.0]]), x, np.array([0.5, 0.25]), decay=0.0, rate=0.9)
    # the Hessian of the mean of |f - y|²/2 is diag(4, 1)/2 wherever the weights are
    assert sharpness_along(problem) == pytest.approx(2.0)
    assert float(SharpnessBelowTheEdge().predict(problem)) == pytest.approx(2.6 / 0.9)
    assert gauge(SharpnessBelowTheEdge(), problem, 0).status == "agrees"
    wrong = gauge(SharpnessBelowTheEdge(), dataclasses.replace(problem, rate=1.4), 0)
    assert wrong.status == "disagrees"  # nothing descends at 1.4 where the edge is at 1
    missing = gauge(SharpnessBelowTheEdge(), dataclasses.replace(problem, rate=None), 0)
    assert missing.status == "inapplicable"
    assert "the learning rate of full-batch descent is given" in missing.reason


def test_sharpness_is_followed_along_descent():
    claim = SharpnessBelowTheEdge()
    early, late = (sampled(claim, steps=steps) for steps in (100, 103))
    found = sharpness_along(early, (0, 3))
    assert found == pytest.approx([sharpness_along(own, (0,))[0] for own in (early, late)], rel=1e-2)
    assert abs(found[1] / found[0] - 1) > 0.015  # three steps are seen


def test_the_balance_bound_by_hand(balanced, key):
    claim = UnitsStayBalanced()
    now, start = (own.split(own.theta) for own in (balanced.model, balanced.start))
    charge = lambda own: (own["w1"] ** 2).sum(0) - (own["w2"] ** 2).sum(1)
    drift = np.abs(charge(now) - charge(start)).sum()
    assert float(claim.measure(balanced, key)) == pytest.approx(drift)
    loss = lambda model: balanced.task.losses(model.outputs(balanced.x), balanced.y).mean()
    assert float(claim.predict(balanced)) == pytest.approx(2 * 0.02 * (loss(balanced.start) - loss(balanced.model)))
    assert drift < float(claim.predict(balanced)) < 0.02 * float(claim.trivial(balanced))


def test_what_breaks_the_balance_is_seen(balanced):
    claim, units = UnitsStayBalanced(), balanced.model.split(balanced.model.theta)
    scaled = np.concatenate([1.2 * units["w1"].ravel(), units["w2"].ravel() / 1.2])
    moved = dataclasses.replace(balanced, model=balanced.model.at(scaled))
    assert training_outputs(moved) == pytest.approx(
        training_outputs(balanced)
    )  # the same function, which descent from this start does not reach
    assert gauge(claim, moved, 0).status == "disagrees"
    for change, words in (
        ({"rate": None}, "full-batch descent"), ({"decay": None}, "stated as 0"), ({"decay": 0.01}, "stated as 0"),
        ({"start": None}, "the initial parameters"), ({"rate": 10.0}, "largest curvature"),
    ):  # fmt: skip
        found = gauge(claim, dataclasses.replace(balanced, **change), 0)
        assert found.status == "inapplicable"
        assert words in found.reason
    bent = sampled(SharpnessBelowTheEdge())
    assert "units that can be rescaled" in gauge(claim, bent, 0).reason


def test_an_outlier_of_a_large_matrix_and_none_below_the_threshold():
    rng = np.random.default_rng(0)
    noise, u, v = 0.5 * rng.normal(size=(400, 250)), *(rng.normal(size=size) for size in (400, 250))
    one = np.outer(u / np.linalg.norm(u), v / np.linalg.norm(v))
    for change in (4.0, 15.0, 30.0):
        assert np.linalg.norm(noise + change * one, 2) == pytest.approx(outlier(change, 0.5, (400, 250)), rel=0.03)
    assert outlier(4.0, 0.5, (400, 250)) == pytest.approx(0.5 * (20 + np.sqrt(250)))


def test_the_largest_layer_and_what_a_start_shows():
    claim = LargestSingularValueFromTheChange()
    problem = sampled(claim)
    now, start = largest_matrix(problem)
    assert start == pytest.approx(problem.start.split(problem.start.theta)["w1"])
    low, value, high = np.asarray(claim.predict(problem))
    assert (low, high) == pytest.approx((value / 1.25, 1.25 * value))
    assert value > 1.3 * float(claim.trivial(problem))
    rotated = problem.model.split(problem.model.theta)
    flat = np.concatenate([np.full(now.size, now.mean()), rotated["w2"].ravel()])
    constant = dataclasses.replace(problem, start=problem.start.at(flat))
    assert "largest singular value at the start and the edge" in gauge(claim, constant, 0).reason
    assert gauge(claim, dataclasses.replace(problem, start=None), 0).status == "inapplicable"
    assert gauge(claim, dataclasses.replace(problem, model=problem.start), 0).status == "inapplicable"


def test_the_direction_of_the_largest_margin(separable):
    claim = WeightsAlongMaximalMargin()
    assert degree(separable) == pytest.approx((2.0, 0.0), abs=1e-6)
    assert gauge(claim, separable, 0).status == "agrees"
    start = dataclasses.replace(separable, model=separable.start)
    assert "log loss times" in gauge(claim, start, 0).reason
    assert margin_direction(start).cosine < 0.7
    bent = sampled(SharpnessBelowTheEdge())
    assert "J theta" in gauge(claim, bent, 0).reason
    assert "stated as 0" in gauge(claim, dataclasses.replace(separable, decay=None), 0).reason
    noise = np.random.default_rng(0).normal(size=separable.model.theta.shape)
    moved = separable.model.theta + 1.2 * np.linalg.norm(separable.model.theta) / np.linalg.norm(noise) * noise
    found = gauge(claim, dataclasses.replace(separable, model=separable.model.at(3 * moved)), 0)
    assert found.status in ("disagrees", "inapplicable")


def test_margins_and_dimensions_beside_their_null(apart):
    null = by_chance(apart)
    assert normalised_margin(apart) > 1.5 * normalised_margin(null)
    assert rows_left_out(apart).dimension < 0.9 * rows_left_out(null).dimension
    for claim in (MarginAboveChance(), FewerDimensionsThanByChance()):
        assert gauge(claim, apart, 0).status == "agrees"
        # a model of classes by chance looks like its own null
        fitted = dataclasses.replace(null, fit=apart.fit, seed=7)
        assert gauge(claim, fitted, 0).status == "disagrees"
        assert "a function that trains the model again" in gauge(claim, dataclasses.replace(apart, fit=None), 0).reason


def test_a_null_that_is_not_fitted_says_nothing(apart):
    def weak(x, y, seed):
        return begin_flat(apart)

    def begin_flat(problem):
        return problem.model.f, problem.model.split(np.zeros(len(problem.model.theta)))

    assert gauge(MarginAboveChance(), dataclasses.replace(apart, fit=weak), 0).status in ("vacuous", "failed")


def test_the_dimension_by_two_routes():
    claim = DimensionFromProducts()
    problem = sampled(claim)
    values, ridge = gauss_newton_eigenvalues(polished_copy(problem).model, problem.x, problem.task), 40 * problem.decay
    assert (values / (values + ridge)).sum() == pytest.approx(rows_left_out(problem).dimension)
    found = gauge(claim, problem, 0)
    assert found.status == "agrees"
    assert found.predicted.lower < found.predicted.value < found.predicted.upper
    free = dataclasses.replace(problem, decay=0.0)
    assert gauge(claim, free, 0).status == "inapplicable"


def test_the_bracket_is_for_models_that_stopped_early():
    claim = HeldOutErrorBracket()
    problem = sampled(claim)
    assert distance(problem) > 1
    low, value, high = bracket(problem)
    errors = [
        problem.task.errors(f, problem.y).mean()
        for f in (training_outputs(problem), rows_left_out_at_evidence(problem).outputs)
    ]
    at_delta = leave_one_out(problem.model, problem.x, problem.y, problem.task, problem.decay).outputs
    assert errors[0] < errors[1] <= problem.task.errors(at_delta, problem.y).mean()
    assert value == pytest.approx(np.mean(errors), abs=1e-12)
    assert low < errors[0] < errors[1] < high
    settled = sampled(AtRest())
    found = gauge(claim, settled, 0)
    assert found.status == "inapplicable"
    assert "far the model is from a stationary point" in found.reason
    unknown = dataclasses.replace(problem, decay=0.0)
    assert "decay of the weights" in gauge(claim, unknown, 0).reason
    twice = dataclasses.replace(problem, x=np.concatenate([problem.x[:25]] * 2))
    assert "duplicate" in gauge(claim, twice, 0).reason


class AtRest:
    """Only a population: the same network at a stationary point."""

    population = TrainedNetworks()


def test_descended_networks_are_what_descent_makes_of_the_start():
    population = DescendedNetworks(activation="tanh", steps=3)
    problem = population.sample(population.settings().resolve(None), jax.random.key(4))
    theta = problem.start.theta
    for _ in range(3):
        theta = theta - problem.rate * objective_of(problem).value(theta)[1]
    assert problem.model.theta == pytest.approx(theta)


def test_a_few_directions_are_not_left_to_random_vectors():
    x = np.random.default_rng(0).normal(size=(200, 4))
    small, whole = (
        read_trained((lambda own, rows: rows @ own, jnp.ones((d, 1))), np.tile(x, (1, d // 4)), x.sum(1), decay=1e-3)
        for d in (4, 40)
    )
    found = gauge(DimensionFromProducts(), small, 0)
    assert (found.status, found.predicted) == ("inapplicable", None)
    assert "parameters if there are fewer = 4, required >= 20" in found.reason
    assert float(DimensionFromProducts().predict(whole)[2]) <= 40
