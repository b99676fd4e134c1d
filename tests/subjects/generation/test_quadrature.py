"""The solvers behind the energy of a flow have the orders that they are said to have, with few steps and with many."""

import math

import numpy as np
import pytest

from lemmata.subjects.generation import straightness
from lemmata.subjects.generation._straightness import _followed, _solved

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize("steps", [1, 2, 16])
@pytest.mark.parametrize("cubic", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (2.0, -1.0, 0.5, 3.0)])
def test_the_energy_is_exact_where_the_squared_speed_is_a_cubic(cubic, steps):
    """Exactness for cubics leaves Simpson's weights alone: with any others one of them is missed."""
    squared = np.polynomial.Polynomial(cubic)
    speed = lambda x, t: np.stack([np.full(len(x), math.sqrt(squared(t))), np.zeros(len(x))], axis=1)
    _, energy = _followed(speed, X, steps)
    np.testing.assert_allclose(energy, squared.integ()(1.0), rtol=1e-12)


def test_slopes_in_the_middle_of_a_step_are_averaged_before_they_are_squared():
    """Of x' = x one step of order 4 has the slopes 1, 3/2, 7/4, 11/4 at x = 1."""
    _, energy = _followed(lambda x, t: x, np.ones((1, 1)), 1)
    assert energy[0] == pytest.approx((1 + 4 * (13 / 8) ** 2 + (11 / 4) ** 2) / 6, rel=1e-14)


@pytest.mark.parametrize("steps", [1, 3, 16])
def test_one_step_is_the_expansion_of_the_solution_up_to_its_order(steps):
    """Of x' = x a method of order p multiplies by the first p + 1 terms of exp(h)."""
    h = 1 / steps
    of_order = lambda p: sum(h**k / math.factorial(k) for k in range(p + 1)) ** steps
    field = lambda x, t: x
    np.testing.assert_allclose(_followed(field, X, steps)[0], of_order(4) * X, rtol=1e-13)
    for method, order in (("euler", 1), ("heun", 2)):
        np.testing.assert_allclose(_solved(field, X, steps, method), of_order(order) * X, rtol=1e-13)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("heun", 2), ("exact", 4)])
def test_times_of_the_slopes_are_those_of_the_order(method, order):
    """Of x' = t^(p-1) a method of order p is exact, and none knows t^p."""
    for power in range(order + 1):
        field = lambda x, t, power=power: np.full_like(x, t**power)
        solved = _followed(field, X, 3)[0] if method == "exact" else _solved(field, X, 3, method)
        right = np.allclose(solved - X, 1 / (power + 1), rtol=0, atol=1e-13)
        assert right == (power < order), power


@pytest.mark.parametrize("steps", [16, 49, 100, 237])
def test_a_velocity_is_asked_for_at_times_within_the_unit_interval(steps):
    """Sums of steps pass 1 by rounding: of 49 steps they do."""
    times = []

    def velocity(x, t):
        times.append(t)
        return np.ones_like(x)

    straightness(velocity, X, steps=steps, method="heun")
    assert min(times) == 0.0
    assert max(times) == 1.0
