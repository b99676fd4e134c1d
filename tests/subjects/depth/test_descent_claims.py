"""Certificates of worst cases against closed forms, PEPit and runs of descent; smoothness by random pairs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.depth._performance import certificate, inequalities
from lemmata.subjects.depth.smooth_descent import IndefiniteQuadratic, SmoothLosses, SmoothnessIsTwoSided
from lemmata.subjects.depth.worst_cases import SILVER, least_of_equal_steps


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_the_worst_case_of_unit_steps(n):
    found = certificate(np.ones(n))
    assert found.bound == pytest.approx(1 / (4 * n + 2), rel=1e-8)
    assert found.attained == pytest.approx(found.bound, rel=1e-8)


def test_a_certificate_is_a_proof():
    found = certificate(np.asarray([1.5, 0.7]), convexity=0.2)
    matrices, factors = inequalities(np.asarray([1.5, 0.7]), 0.2)
    assert found.multipliers.min() >= 0
    np.testing.assert_allclose(found.multipliers @ factors, [0.0, 0.0, -1.0], atol=1e-12)
    proof = np.tensordot(found.multipliers, matrices, 1)
    proof[0, 0] += found.bound
    assert np.linalg.eigvalsh(proof)[0] >= -1e-12


@pytest.mark.parametrize("convexity", [0.0, 0.1])
def test_no_quadratic_exceeds_the_bound(convexity):
    steps = np.asarray([1.2, 1.9, 0.8])
    curvature = np.linspace(convexity, 1.0, 200)
    remaining = curvature / 2 * np.prod(1 - np.outer(curvature, steps), axis=1) ** 2
    assert remaining.max() <= certificate(steps, convexity).bound


@pytest.mark.parametrize(("steps", "convexity"), [((1.0, 1.0), 0.0), (SILVER[7], 0.0), ((1.3, 1.6, 0.5), 0.1)])
def test_certificates_against_pepit(steps, convexity):
    pepit = pytest.importorskip("PEPit")
    from PEPit.functions import SmoothStronglyConvexFunction

    problem = pepit.PEP()
    function = problem.declare_function(SmoothStronglyConvexFunction, mu=convexity, L=1.0)
    least, x = function.stationary_point(), problem.set_initial_point()
    problem.set_initial_condition((x - least) ** 2 <= 1)
    for step in steps:
        x = x - step * function.gradient(x)
    problem.set_performance_metric(function(x) - function(least))
    assert certificate(np.asarray(steps), convexity).bound == pytest.approx(problem.solve(verbose=0), rel=1e-5)


@pytest.mark.parametrize("n", [3, 7])
def test_no_other_equal_step_is_better(n):
    best, value = least_of_equal_steps(n)
    lengths = np.linspace(0.01, 1.99, 400)
    worst = np.maximum(1 / (4 * n * lengths + 2), (1 - lengths) ** (2 * n) / 2)
    assert worst.min() >= value - 1e-12
    assert worst[np.abs(lengths - best).argmin()] == pytest.approx(value, rel=0.1)


def test_smoothness_by_random_pairs(key):
    problem = IndefiniteQuadratic(
        jax.random.normal(key, (3, 3)), jnp.asarray([0.0, 0.0, 0.5]), jnp.asarray(2.0), jnp.asarray(0.5)
    )
    least = SmoothnessIsTwoSided().predict(problem)
    assert least == pytest.approx(2.0)
    pairs = jax.random.normal(key, (2, 500, 3))
    gradients = jax.vmap(jax.vmap(jax.grad(problem.value)))(pairs)
    ratios = jnp.linalg.norm(gradients[0] - gradients[1], axis=1) / jnp.linalg.norm(pairs[0] - pairs[1], axis=1)
    assert 0.95 * least < ratios.max() <= least * (1 + 1e-9)


def test_the_smoothness_of_both_losses_bounds_the_hessian(key):
    for number in range(4):
        problem = SmoothLosses().sample({"n": 12, "d": 3}, jax.random.fold_in(key, number))
        curvature = jnp.linalg.eigvalsh(jax.hessian(problem.loss)(problem.w))
        assert curvature.max() <= problem.smoothness * (1 + 1e-9)
        assert curvature.min() >= 0
