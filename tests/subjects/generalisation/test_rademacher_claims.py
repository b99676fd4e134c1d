"""Rademacher complexity against all signs of a few points; the radius of the ball is kept."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.generalisation.rademacher import (
    BallLearning,
    KernelBall,
    KernelBallRademacher,
    NoisySigns,
    PrintedGeneralisationInequality,
    RademacherGeneralisation,
    ball_coefficients,
    rademacher_bound,
    signed_suprema,
)

ALL_SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
def test_the_exact_complexity_lies_between_khintchine_and_jensen(key, kernel):
    matrix = sampled_regression(key, n=10, t=1, d=3, kernel=kernel).gram
    exact = float(signed_suprema(KernelBall(matrix, jnp.asarray(2.0)), jnp.asarray(ALL_SIGNS)).mean())
    bound = float(rademacher_bound(jnp.trace(matrix), 2.0, 10))
    assert bound / np.sqrt(2) <= exact <= bound


def test_uncorrelated_points_have_equality():
    ball = KernelBall(jnp.eye(10), jnp.asarray(3.0))
    np.testing.assert_allclose(signed_suprema(ball, jnp.asarray(ALL_SIGNS)), 3 * np.sqrt(10) / 10, rtol=1e-15)


def test_the_supremum_is_not_exceeded_by_functions_of_the_ball(key):
    problem = sampled_regression(key, n=10, t=1, d=3)
    signs = ALL_SIGNS[371]
    best = float(signed_suprema(KernelBall(problem.gram, jnp.asarray(1.0)), jnp.asarray(signs[None]))[0])
    matrix = np.asarray(problem.gram)
    for row in np.random.default_rng(0).normal(size=(50, 10)):
        coefficients = row / np.sqrt(row @ matrix @ row)
        assert signs @ matrix @ coefficients / 10 <= best
    optimal = signs / np.sqrt(signs @ matrix @ signs)
    np.testing.assert_allclose(signs @ matrix @ optimal / 10, best, rtol=1e-13)


def test_fits_stay_in_the_ball(key):
    problem = sampled_regression(key, n=12, t=1, d=3)
    matrix, y = problem.gram, problem.y[:, 0]
    inside = ball_coefficients(matrix, y, jnp.asarray(0.1), jnp.asarray(1e6))
    np.testing.assert_allclose((matrix + 0.1 * jnp.eye(12)) @ inside, y, atol=1e-12 * float(jnp.abs(y).max()))
    norm = float(jnp.sqrt(inside @ matrix @ inside))
    scaled = ball_coefficients(matrix, y, jnp.asarray(0.1), jnp.asarray(norm / 3))
    np.testing.assert_allclose(scaled, inside / 3, rtol=1e-13)


def test_user_problems(key):
    problem = sampled_regression(key, n=40, t=30, d=3)
    for claim in (KernelBallRademacher(), RademacherGeneralisation(), PrintedGeneralisationInequality()):
        assert examine(claim, problem, key).applies
    assert examine(KernelBallRademacher(), problem, key).agrees is True
    posed = NoisySigns().pose(problem)
    assert isinstance(posed, BallLearning)
    assert (posed.x.shape, posed.size) == ((70, 3), 40)
    assert NoisySigns().pose("nothing") is None


def test_hypotheses_fail_where_they_must(key):
    indefinite = KernelBall(jnp.array([[1.0, 2.0], [2.0, 1.0]]), jnp.asarray(1.0))
    assert not bool(KernelBallRademacher.population.hypotheses(indefinite)[0].holds)
    problem = NoisySigns().pose(sampled_regression(key, n=5, t=1, d=2))
    silent = BallLearning(
        problem.x[:5], problem.y[:5], problem.kernel, problem.ridge, jnp.asarray(0.0), jnp.asarray(0.0), 5
    )
    holds = [bool(hypothesis.holds) for hypothesis in RademacherGeneralisation.population.hypotheses(silent)]
    assert holds == [False, False, False, True]
    assert jax.tree.leaves(silent)
