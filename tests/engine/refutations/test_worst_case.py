"""Gradient descent's worst case by search, by the formula, and by a semidefinite program."""

import time

import jax.numpy as jnp
import pytest

from lemmata.engine.refutations import Counterexample, Survived, refute
from tests.engine.refutations.battery.optimisation import DescentWorstCase, DescentWorstCaseTooGood, HuberDescent


def worst_case(steps):
    """The largest f(x_n) - f* over convex functions with 1-Lipschitz gradients and |x0 - x*| <= 1, of any dimension."""
    pepit = pytest.importorskip("PEPit", reason="the extra `worst-case` is not installed")
    functions = pytest.importorskip("PEPit.functions")
    program = pepit.PEP()
    f = program.declare_function(functions.SmoothConvexFunction, L=1.0)
    least, x = f.stationary_point(), program.set_initial_point()
    program.set_initial_condition((x - least) ** 2 <= 1)
    for _ in range(steps):
        x = x - f.gradient(x)
    program.set_performance_metric(f(x) - f(least))
    return program.solve(verbose=0)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_search_attains_what_the_semidefinite_program_allows(steps):
    exact = worst_case(steps)
    problem = HuberDescent(jnp.ones(1), jnp.asarray(1.0), jnp.asarray(1.0), steps)
    bound = float(DescentWorstCase().predict(problem))
    assert bound == pytest.approx(exact, rel=1e-4)
    found = refute(DescentWorstCase(), 6.0, setting={"n": steps, "d": 1}, clock=time.process_time)
    assert isinstance(found, Survived)
    assert 0.99 * exact <= found.tightness * bound <= exact * (1 + 1e-4)


def test_what_is_below_the_worst_case_falls():
    found = refute(DescentWorstCaseTooGood(), 20.0, setting={"n": 2}, clock=time.process_time)
    assert isinstance(found, Counterexample)
    assert 1 < found.ratio <= 12 / 10 * (1 + 1e-9)
