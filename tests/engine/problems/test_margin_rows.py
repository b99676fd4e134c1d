"""Rows with margins: shadows of the sphere, the loss and its expectation, and points in orthogonal directions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.engine.problems.margin_rows import (
    LabelledPoints,
    LinearlySeparableSets,
    MarginRows,
    OrthogonalPoints,
    SeparableSets,
    SphericalMarginRows,
    sphere_shadows,
)


@pytest.mark.parametrize("d", [2, 3, 5, 50])
def test_shadows_are_two_coordinates_of_uniform_points(d):
    found = sphere_shadows(np.random.default_rng(0), d, 20_000)
    normal = np.random.default_rng(1).standard_normal((20_000, d))
    wanted = (normal / np.linalg.norm(normal, axis=1, keepdims=True))[:, :2].T
    assert found.shape == (2, 20_000)
    for own, other in ((found[0], wanted[0]), (found[1], wanted[1]), (found.sum(axis=0), wanted.sum(axis=0))):
        _, p_value = stats.ks_2samp(own, other)
        assert float(p_value) > 1e-3  # pyright: ignore[reportArgumentType]
    if d == 2:
        np.testing.assert_allclose((found**2).sum(axis=0), np.ones(20_000), rtol=1e-12)


def rows(margin=0.5, flips=0.1, d=3):
    x, teacher = jnp.eye(d)[:2], jnp.eye(d)[0]
    return MarginRows(x, jnp.array([1.0, -1.0]), teacher, jnp.asarray(flips), jnp.asarray(margin))


def test_weights_point_along_the_labelled_sum():
    np.testing.assert_allclose(rows().weights, [0.5**0.5, -(0.5**0.5), 0.0], rtol=1e-15)


def test_the_loss_is_linear_between_zero_and_the_margin():
    for margin, wanted in ((-1.0, 1.0), (0.0, 1.0), (0.125, 0.75), (0.375, 0.25), (0.5, 0.0), (2.0, 0.0)):
        assert rows().loss(np.array([margin])) == wanted
    assert rows().loss(np.array([0.125, 0.375])) == 0.5
    assert rows(margin=0.25).loss(np.array([0.125])) == 0.5


@pytest.mark.parametrize("flips", [0.0, 0.2, 0.5])
def test_the_true_loss_is_that_of_new_rows(flips, key):
    problem = rows(flips=flips, d=4)
    generator, count = np.random.default_rng(5), 200_000
    x = generator.standard_normal((count, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.sign(x[:, 0]) * np.where(generator.uniform(size=count) < flips, -1, 1)
    assert problem.true_loss(key) == pytest.approx(problem.loss(y * (x @ problem.weights)), abs=0.01)


def test_half_of_the_problems_have_random_labels_and_margins_are_in_their_range(key):
    population, random = SphericalMarginRows(), 0
    for own in jax.random.split(key, 30):
        problem = population.sample({"n": 50, "ratio": 2}, own)
        assert problem.x.shape == (50, 100)
        np.testing.assert_allclose(np.linalg.norm(problem.x, axis=1), np.ones(50), rtol=1e-12)
        assert float(jnp.linalg.norm(problem.teacher)) == pytest.approx(1.0, rel=1e-12)
        assert 2.4 <= float(problem.margin) * 50**0.5 <= 3.2
        flipped = np.mean(np.asarray(problem.y) != np.sign(np.asarray(problem.x @ problem.teacher)))
        assert abs(flipped - float(problem.flips)) < 5 * np.sqrt(0.25 / 50)
        assert float(problem.flips) in (0.5, 0.1)
        random += float(problem.flips) == 0.5
    assert 5 < random < 25


def test_hypotheses_of_rows_hold_up_to_their_edges():
    told = lambda problem: [bool(own.holds) for own in SphericalMarginRows().hypotheses(problem)[:2]]
    scaled = lambda factor: MarginRows(factor * rows().x, rows().y, rows().teacher, rows().flips, rows().margin)
    assert told(rows()) == [True, True]
    assert told(rows(margin=0.0)) == [False, True]
    assert told(scaled(1 + 1e-13)) == [True, True], "to rounding"
    assert told(scaled(1 + 1e-11)) == [True, False]


def test_points_are_orthogonal_and_of_equal_length(key):
    lengths = set()
    for own in jax.random.split(key, 20):
        unit = OrthogonalPoints().sample({"n": 3, "spare": 2}, own)
        assert unit.x.shape == (3, 5)
        np.testing.assert_allclose(unit.x @ unit.x.T, np.eye(3), atol=1e-12)
        longer = OrthogonalPoints(unit=False).sample({"n": 3, "spare": 0}, own).x
        length = float(jnp.linalg.norm(longer[0]))
        np.testing.assert_allclose(longer @ longer.T, length**2 * np.eye(3), atol=1e-12)
        lengths.add(length)
    assert 0.5 <= min(lengths) < 0.9 < 1.6 < max(lengths) <= 2.0


def test_some_points_are_generic(key):
    generic = 0
    for own in jax.random.split(key, 60):
        x = OrthogonalPoints(generic=0.3).sample({"n": 2, "spare": 1}, own).x
        generic += not np.allclose(x @ x.T, np.eye(2), atol=1e-9)
    assert 6 < generic < 32


def test_dependent_points_are_told_by_their_singular_values():
    told = lambda last: OrthogonalPoints().hypotheses(LabelledPoints(jnp.array([[2.0, 0.0, 0.0], [0.0, last, 0.0]])))[0]
    assert float(told(0.5).value) == 0.25
    assert [bool(told(last).holds) for last in (0.5, 2.1e-6, 1.9e-6, 0.0)] == [True, True, False, False]


def test_separable_sets_are_labelled_by_a_unit_vector(key):
    problem = LinearlySeparableSets(sets=3).sample({"n": 6, "d": 4}, key)
    assert problem.x.shape == (3, 6, 4)
    assert float(jnp.linalg.norm(problem.teacher)) == pytest.approx(1.0, rel=1e-14)
    y = problem.y
    assert y.shape == (3, 6)
    assert np.all(y * (np.asarray(problem.x) @ np.asarray(problem.teacher)) > 0)
    assert set(y.ravel()) == {-1.0, 1.0}
    for x, wanted in (([[1.0, 0.0]], True), ([[1.0, 0.0], [0.0, 1.0]], False), ([[-2.0, 1.0]], True)):
        (own,) = LinearlySeparableSets().hypotheses(SeparableSets(jnp.array([x]), jnp.array([1.0, 0.0])))
        assert bool(own.holds) is wanted
