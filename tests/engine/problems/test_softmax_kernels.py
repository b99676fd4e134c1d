"""Points for the softmax kernel: what is drawn, what becomes of a regression, and what is said of singular ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.softmax_kernels import (
    DistinctPoints,
    KernelPoints,
    PlanarTriples,
    SingularPoints,
    SpherePoints,
    posed,
    singular_rows,
    smallest_separation,
    zero_rows,
)
from lemmata.kernels import RBF, SoftmaxTangent


def points(x, sigma=0.5):
    return KernelPoints(jnp.asarray(x, float), jnp.asarray(sigma))


def regression(x, kernel):
    x = jnp.asarray(x, float)
    return Regression(x, x[:, :1], x[:1], x[:1, :1], kernel, jnp.asarray(0.1), jnp.asarray(0.0))


def holds(population, problem):
    return [bool(own.holds) for own in population.hypotheses(problem)]


def test_the_limit_is_the_product_times_its_exponential(key):
    x = jax.random.normal(key, (4, 3))
    inner = np.asarray(x) @ np.asarray(x).T
    np.testing.assert_allclose(points(x, 0.7).limit, inner * np.exp(0.49 * inner), rtol=1e-12)


def test_a_regression_gives_its_first_rows_scaled_to_the_unit_ball():
    problem = regression([[3.0, 4.0], [0.0, 1.0], [10.0, 0.0]], RBF(1.0))
    own = posed(problem, 2)
    assert own is not None
    np.testing.assert_allclose(own.x, [[0.6, 0.8], [0.0, 0.2]], rtol=1e-15)
    assert float(own.sigma) == 0.5
    zeros = posed(regression(np.zeros((2, 2)), RBF(1.0)), 5)
    assert zeros is not None
    assert zeros.x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_regression_with_the_softmax_kernel_keeps_its_rows_and_its_sigma():
    problem = regression([[3.0, 4.0], [0.0, 1.0], [10.0, 0.0]], SoftmaxTangent(sigma=0.3))
    own = posed(problem, 2)
    assert own is not None
    assert own.x.tolist() == [[3.0, 4.0], [0.0, 1.0]]
    assert float(own.sigma) == 0.3
    assert posed(own, 1) is own
    assert posed("something else", 3) is None


def test_each_population_poses_as_many_rows_as_it_says():
    many = regression(np.ones((50, 2)), RBF(1.0))
    for population, rows in ((SpherePoints(), 16), (SpherePoints(rows=3), 3), (DistinctPoints(), 32)):
        own = population.pose(many)
        assert own is not None
        assert len(own.x) == rows


def test_points_on_the_sphere_and_their_hypotheses_at_the_edges(key):
    population = SpherePoints()
    drawn = population.sample({"n": 7, "d": 3, "sigma": 0.4}, key)
    np.testing.assert_allclose(np.linalg.norm(drawn.x, axis=1), np.ones(7), rtol=1e-14)
    assert float(drawn.sigma) == 0.4
    edge = np.sqrt(np.log(4.0) / 4)  # exp(4 sigma^2) = 256/64
    for x, sigma, wanted in (
        (np.eye(2), edge * (1 - 1e-9), [True, True, True]),
        (np.eye(2), edge * (1 + 1e-9), [True, True, False]),
        (np.eye(2) / 2, 2 * edge * (1 - 1e-9), [True, True, True]),
        (np.eye(2) / 2, 2 * edge * (1 + 1e-9), [True, True, False]),
        ([[1.0, 0.0], [0.0, 1 + 1e-9]], 0.1, [True, False, True]),
        (np.zeros((2, 2)), 0.5, [False, True, True]),
        ([[0.0, 0.0], [0.0, 1e-200]], 0.5, [False, True, True]),
        ([[0.0, 0.0], [0.0, 1e-9]], 0.5, [True, True, True]),
    ):
        assert holds(population, points(x, sigma)) == wanted, (x, sigma)


def test_three_points_of_a_plane_are_sixty_degrees_apart(key):
    for d in (2, 5):
        drawn = PlanarTriples().sample({"d": d, "sigma": 0.45}, key)
        assert drawn.x.shape == (3, d)
        np.testing.assert_allclose(drawn.x @ drawn.x.T, [[1, 0.5, -0.5], [0.5, 1, 0.5], [-0.5, 0.5, 1]], atol=1e-12)
        assert float(drawn.sigma) == 0.45
    (own,) = PlanarTriples(width=16).hypotheses(points([[0.0, 2.0], [1.0, 1.0]], 0.4))
    assert float(own.value) == pytest.approx((np.exp(4 * 0.16 * 4) - 1) ** 2 / 256, rel=1e-12)
    for width, wanted in ((32, True), (16, False)):
        assert holds(PlanarTriples(width=width), drawn) == [wanted]


def test_distinct_points_are_neither_zero_nor_equal(key):
    population = DistinctPoints()
    drawn = jax.jit(lambda own: population.sample({"n": 6, "d": 2, "sigma": 1.5}, own))(key)
    assert drawn.x.shape == (6, 2)
    assert float(jnp.linalg.norm(drawn.x, axis=1).max()) <= 1
    assert holds(population, drawn) == [True, True]
    assert holds(population, points([[0.0, 0.0], [1.0, 0.0]])) == [False, True]
    assert holds(population, points([[1.0, 0.0], [1.0, 0.0]])) == [True, False]


def test_singular_points_have_a_zero_or_a_repeated_row_each_half_of_the_time(key):
    population, zeros = SingularPoints(), 0
    sample = jax.jit(lambda own: population.sample({"n": 4, "d": 2, "sigma": 1.0}, own))
    told = jax.jit(lambda problem: [own.holds for own in population.hypotheses(problem)])
    for own in jax.random.split(key, 40):
        drawn = sample(own)
        assert all(told(drawn))
        x = np.asarray(drawn.x)
        assert x[:-1].any(axis=1).all()
        zero, repeated = not x[-1].any(), bool((x[-1] == x[0]).all())
        assert zero != repeated
        zeros += zero
    assert 8 < zeros < 32
    assert holds(population, points(np.zeros((2, 1)))) == [True, False]
    assert holds(population, points([[1.0, 0.0], [0.0, 1.0]])) == [False, True]
    assert holds(population, points([[1.0, 0.0], [1.0, 0.0]])) == [True, True]


def test_the_smallest_separation_is_that_of_two_different_points():
    assert float(smallest_separation(jnp.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.5]]))) == 0.5
    assert float(smallest_separation(jnp.array([[1.0], [1.0]]))) == 0.0
    assert float(smallest_separation(jnp.array([[1.0]]))) == np.inf


def test_rows_of_zeros_are_named():
    assert zero_rows(jnp.array([[0.0, 1.0], [2.0, 0.0]])) is None
    wanted = "0, 2 (counted from 0) are zero, and the kernel is zero at these points"
    assert zero_rows(jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]])) == f"rows {wanted}"
    assert zero_rows(jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), "queries") == f"queries {wanted}"


def test_what_makes_rows_singular_is_told_up_to_five_of_each():
    assert singular_rows(jnp.array([[0.0, 1.0], [2.0, 0.0]])) is None
    assert singular_rows(jnp.array([[0.0], [2.0]])) == "zero inputs: rows [0]"
    assert singular_rows(jnp.array([[1.0], [2.0], [1.0]])) == "repeated inputs: pairs of rows [(0, 2)]"
    assert singular_rows(jnp.array([[0.0], [2.0], [2.0], [0.0]])) == (
        "zero inputs: rows [0, 3]; repeated inputs: pairs of rows [(1, 2), (0, 3)]"
    )
    assert singular_rows(jnp.zeros((5, 1))) == (
        "zero inputs: rows [0, 1, 2, 3, 4]; repeated inputs: pairs of rows [(0, 1), (0, 2), (0, 3), (0, 4)]"
    )
    assert singular_rows(jnp.zeros((7, 1))) == (
        "zero inputs: rows [0, 1, 2, 3, 4] and 2 more; "
        "repeated inputs: pairs of rows [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)] and 1 more"
    )


def test_the_likely_cause_of_a_singular_matrix():
    twice = points([[1.0, 0.0], [1.0, 0.0]])
    zero = points([[1.0, 0.0], [0.0, 0.0]])
    assert SpherePoints().culprit(points(np.eye(2))) is None
    assert (SpherePoints().culprit(zero) or "").startswith("rows 1 (counted from 0) are zero")
    assert (SpherePoints().culprit(twice) or "").startswith("1 pair of equal rows (training rows 0 and 1")
    assert DistinctPoints().culprit(twice) == "repeated inputs: pairs of rows [(0, 1)]"
    assert DistinctPoints().culprit(zero) == "zero inputs: rows [1]"
