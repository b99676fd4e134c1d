"""Elementary facts of the softmax chapter: ends of ranges, extreme arguments, degenerate vectors."""

import math
from decimal import Decimal

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.subjects.softmax_training import softmax_inequalities as facts
from lemmata.subjects.softmax_training.softmax_inequalities import Argument, Pair

EPS = float(np.finfo(float).eps)


def argument(value, largest):
    return Argument(jnp.asarray(value), largest)


def test_range_of_the_second_order_is_exact_and_printed_rightly():
    predicted = facts.ExponentialSecondOrder().predict(argument(0.005, 0.01))
    h = Decimal("0.01")
    ends = [float((x.exp() - 1 - x) / (x * x)) for x in (h, -h)]
    np.testing.assert_allclose(predicted, [ends[0], -ends[1]], rtol=4 * EPS)
    assert [round(end, 5) for end in ends] == [0.50167, 0.49834]


@pytest.mark.parametrize("x", [0.01, -0.01, 1e-5, -3e-6])
def test_second_order_within_its_rounding(key, x):
    claim, problem = facts.ExponentialSecondOrder(), argument(x, 0.01)
    exact = sum(x**k / math.factorial(k + 2) for k in range(8))
    theta = claim.measure(problem, key)[0]
    assert abs(float(theta) - exact) <= 32 * EPS * float(claim.condition(problem))
    assert examine(claim, problem, key).agrees


def test_least_constant_of_the_exponential_is_attained_at_the_end(key):
    least = math.expm1(0.1) / 0.1
    assert round(least, 3) == 1.052
    measured = facts.ExponentialNearOne().measure(argument(0.1, 0.1), key)
    np.testing.assert_allclose(measured, least * 0.1, rtol=4 * EPS)
    assert least > 1, "the control is refuted"


@pytest.mark.parametrize("x", [0.05, 0.7, 0.999, -0.9])
def test_geometric_series_by_adding_terms(key, x):
    claim, problem = facts.GeometricSeries(), argument(x, 0.999)
    added = math.fsum(x**i for i in range(2**16))
    tolerance = 32 * EPS * float(claim.condition(problem)) * abs(added)
    assert abs(float(claim.measure(problem, key)) - added) <= tolerance
    assert abs(float(claim.predict(problem)) - added) <= tolerance
    assert not claim.population.hypotheses(argument(0.9999, 0.999))[0].holds


@pytest.mark.parametrize(("u", "v"), [([1.0, 2.0], [1.0, 2.0]), ([0.0], [0.0]), ([1.0, 1.0], [1.0, 1.0 + 1e-9])])
def test_squared_distance_of_close_vectors(key, u, v):
    found = examine(facts.SquaredDistance(), Pair(jnp.asarray(u), jnp.asarray(v)), key)
    assert found.agrees
