"""Discrepancies in coordinates and by an optimal transport, alignment by a shift that it must undo, and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import RBF
from lemmata.subjects.embeddings import (
    ConditionalDiscrepancy,
    aligned_regression,
    conditional_covariance_distance,
    conditional_discrepancy,
    conditional_mean_distance,
)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    y_s, y_t = rng.normal(size=(30, 2)), rng.normal(size=(24, 2))
    z_s = y_s @ rng.normal(size=(2, 3)) + rng.normal(size=(30, 3))
    z_t = y_t @ rng.normal(size=(2, 3)) + 2 * rng.normal(size=(24, 3))
    return (z_s, y_s), (z_t, y_t)


def grams(first, second):
    return jnp.asarray(first @ second.T)


def operators(z, y, ridge):
    """The conditional mean operator about 0 and the residual covariance about the mean, by regression."""
    mean = np.linalg.lstsq(
        np.vstack([y, np.sqrt(len(y) * ridge) * np.eye(y.shape[1])]), np.vstack([z, np.zeros((y.shape[1], z.shape[1]))])
    )[0].T
    z, y = z - z.mean(axis=0), y - y.mean(axis=0)
    slope = np.linalg.solve(y.T @ y + len(y) * ridge * np.eye(y.shape[1]), y.T @ z)
    return mean, z.T @ (z - y @ slope) / len(z)


def test_the_mean_term_is_the_distance_of_ridge_regressions(samples):
    (z_s, y_s), (z_t, y_t) = samples
    apart = operators(z_s, y_s, 0.2)[0] - operators(z_t, y_t, 0.2)[0]
    found = conditional_mean_distance(
        (grams(z_s, z_s), grams(y_s, y_s)), (grams(z_t, z_t), grams(y_t, y_t)), (grams(z_s, z_t), grams(y_s, y_t)), 0.2
    )
    assert float(found) == pytest.approx(np.sum(apart**2), rel=1e-9)


def test_the_covariance_term_is_a_transport_between_normal_laws(samples):
    (z_s, y_s), (z_t, y_t) = samples
    first, second = operators(z_s, y_s, 0.2)[1], operators(z_t, y_t, 0.2)[1]
    # the best linear transport of N(0, first) to N(0, second), and its mean squared length
    root = scipy.linalg.sqrtm(first).real
    moves = np.linalg.inv(root) @ scipy.linalg.sqrtm(root @ second @ root).real @ np.linalg.inv(root)
    cost = np.trace((moves - np.eye(3)) @ first @ (moves - np.eye(3)).T)
    found = conditional_covariance_distance(
        (grams(z_s, z_s), grams(y_s, y_s)), (grams(z_t, z_t), grams(y_t, y_t)), grams(z_s, z_t), 0.2
    )
    assert float(found) == pytest.approx(cost, rel=1e-7)


def test_the_discrepancy_is_zero_of_a_sample_from_itself_and_has_a_slope(samples):
    z, y = map(jnp.asarray, samples[0])
    same = conditional_discrepancy((z, y), (z, y), RBF(1.0), RBF(1.0))
    assert abs(float(same.mean)) < 1e-9
    assert abs(float(same.covariance)) < 1e-9
    value = lambda scale: conditional_discrepancy((scale * z, y), (z, y), RBF(1.0), RBF(1.0)).value
    step = 1e-5
    assert float(jax.grad(value)(1.5)) == pytest.approx(
        float(value(1.5 + step) - value(1.5 - step)) / (2 * step), rel=1e-5
    )


def test_the_slope_at_equal_laws_is_a_number(samples):
    z, y = map(jnp.asarray, samples[0])
    value = lambda mean: ConditionalDiscrepancy(mean, jnp.zeros(())).value
    assert float(jax.grad(value)(0.0)) == 0.0
    assert float(jax.grad(value)(4.0)) == 0.25
    assert np.isnan(value(jnp.asarray(jnp.nan)))
    law = lambda scale: conditional_discrepancy((scale * z, y), (z, y), RBF(1.0), RBF(1.0)).value
    assert np.isfinite(jax.grad(law)(1.0))


EYE, ONES = jnp.eye(3), jnp.ones((3, 3))


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"ridge": 0.0}, SettingError, "ridge; found 0"),
        ({"ridge": -1.0}, SettingError, "ridge; found -1"),
        ({"ridge": np.inf}, SettingError, "ridge; found inf"),
        ({"source": (jnp.full((3, 3), jnp.nan), EYE)}, DataError, "K of the source; found 9"),
        ({"target": (EYE, jnp.triu(ONES))}, ShapeError, "L of the target"),
        ({"target": (EYE, jnp.eye(4))}, (ShapeError, TypeError), None),
        ({"between": jnp.ones((3, 4))}, (ShapeError, TypeError), None),
        ({"between": jnp.full((3, 3), jnp.nan)}, DataError, "K between the two; found 9"),
    ],
)
def test_what_both_distances_refuse(change, error, told):
    given = {"source": (EYE, EYE), "target": (EYE, EYE), "between": ONES, "ridge": 0.1} | change
    with pytest.raises(error, match=told):
        conditional_covariance_distance(**given)
    with pytest.raises(error, match=told):
        conditional_mean_distance(**given | {"between": (given["between"], ONES)})


def test_distances_pass_traced_matrices_and_ridges():
    distance = lambda k, ridge: conditional_covariance_distance((k, EYE), (EYE, EYE), ONES, ridge)
    assert float(jax.jit(distance)(2 * EYE, 0.1)) == pytest.approx(float(distance(2 * EYE, 0.1)), abs=1e-12)
    assert np.isfinite(jax.grad(distance, argnums=1)(2 * EYE, 0.1))


@pytest.mark.parametrize("term", ["marginal", "conditional"])
def test_alignment_leaves_out_a_coordinate_that_moves(term):
    rng = np.random.default_rng(1)
    y = rng.normal(size=80)
    of = lambda y, level: np.stack([y + 0.5 * rng.normal(size=80), y + level + 0.3 * rng.normal(size=80)], axis=1)
    x, target = jnp.asarray(of(y, 0.0)), jnp.asarray(of(y, 3.0))
    error = lambda fit: float(jnp.mean((fit.predict(target) - y) ** 2))
    plain = aligned_regression(x, jnp.asarray(y), target, term="none", columns=1, steps=60)
    aligned = aligned_regression(x, jnp.asarray(y), target, term=term, weight=3.0, columns=1, steps=60)
    assert aligned.end[1] < 0.5 * aligned.start[1]
    assert error(aligned) < 0.3 * error(plain)


# Shapes are refused by the checker of types, too, where it is on.
@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"ridge": 0.0}, SettingError, "ridge; found 0"),
        ({"ridge": np.inf}, SettingError, "ridge; found inf"),
        ({"target": (np.ones((3, 2)), np.ones((3, 1)))}, (ShapeError, TypeError), None),
        ({"source": (np.ones((3, 1)), np.ones((2, 1)))}, (ShapeError, TypeError), None),
        ({"source": (np.ones((0, 1)), np.ones((0, 1)))}, ShapeError, "0 representations"),
        ({"source": (np.full((3, 1), np.nan), np.ones((3, 1)))}, DataError, "nan"),
    ],
)
def test_what_a_discrepancy_refuses(change, error, told):
    given = {"source": (np.ones((3, 1)), np.ones((3, 1))), "target": (np.ones((4, 1)), np.ones((4, 1)))} | change
    ridge = given.pop("ridge", 0.1)
    pairs = [tuple(map(jnp.asarray, given[name])) for name in ("source", "target")]
    with pytest.raises(error, match=told):
        conditional_discrepancy(*pairs, RBF(1.0), RBF(1.0), ridge)


CONSTANT = jnp.stack([jnp.arange(4.0), jnp.full(4, 1e3 + 0.1)], axis=1)
LINE = jnp.outer(jnp.arange(4.0), jnp.array([1.0, 0.3]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"term": "all"}, None),
        ({"weight": -1.0}, "weight"),
        ({"weight": np.inf}, "weight"),
        ({"columns": 3}, "columns; found 3"),
        ({"columns": 1.5}, "columns"),
        ({"steps": -1}, "steps; found -1"),
        ({"steps": 1.5}, "steps"),
        ({"rate": -0.1}, "rate; found -0.1"),
        ({"rate": np.nan}, "rate; found nan"),
        ({"x": jnp.full((4, 2), jnp.nan)}, "x; found 8"),
        ({"y": jnp.array([0.0, 1.0, jnp.nan, 1.0])}, "y; found 1"),
        ({"y": jnp.ones(4)}, "y; found 1 in every row"),
        ({"target": jnp.full((4, 2), jnp.inf)}, "target; found 8"),
        ({"x": jnp.ones(4)}, "x"),
        ({"x": jnp.ones((1, 2)), "y": jnp.ones(1), "target": jnp.ones((1, 2)), "columns": 2}, "rows; found 1 of the"),
        ({}, "x and target; found rows that vary in 0 directions"),
        ({"x": CONSTANT, "target": CONSTANT, "columns": 2}, "found rows that vary in 1 directions; .* fewer columns"),
        ({"x": LINE, "target": 3 * LINE, "columns": 2, "steps": 2}, "found rows that vary in 1 directions"),
        (
            {"x": jnp.eye(4)[:, :2], "y": jnp.array([0.0, 1e200, 1.0, 0.0])},
            "a fit with . numbers that are not finite; .* or y",
        ),
    ],
)
def test_what_an_alignment_refuses(change, told):
    x = jnp.ones((4, 2))
    given = {"x": x, "y": jnp.arange(4.0), "target": x, "term": "none", "columns": 1} | change
    with pytest.raises((SettingError, ShapeError, DataError, TypeError), match=told):
        aligned_regression(**given)
