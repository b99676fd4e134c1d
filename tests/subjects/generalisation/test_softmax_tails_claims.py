"""Tail bounds of the softmax chapter against exact enumeration of all signs."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.generalisation import tail_bounds as tails
from lemmata.subjects.generalisation.concentration import hoeffding_radius

SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=12)))


def matrices():
    rng = np.random.default_rng(7)
    normal = rng.standard_normal((12, 12))
    return {
        "normal": normal,
        "symmetric": normal + normal.T,
        "rank one": np.ones((12, 12)),
        "one pair": np.eye(12, k=11),
    }


def test_distance_for_equal_ranges_is_that_of_the_mean():
    np.testing.assert_allclose(
        tails.hoeffding_distance(jnp.full(50, 3.0), 0.1), 50 * hoeffding_radius(50, 3.0, 0.1), rtol=1e-14
    )


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_hoeffding_holds_exactly_for_signs(delta):
    weights = np.linspace(0.1, 2.0, 12)
    distance = float(tails.hoeffding_distance(jnp.asarray(2 * weights), delta))
    assert np.mean(np.abs(SIGNS @ weights) >= distance) <= delta


@pytest.mark.parametrize("name", matrices())
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_hanson_wright_holds_exactly_for_signs(name, delta):
    matrix = matrices()[name]
    forms = np.einsum("si,ij,sj->s", SIGNS, matrix, SIGNS) - np.trace(matrix)
    radius = tails.hanson_wright_radius(np.linalg.norm(matrix), np.linalg.norm(matrix, ord=2), 1.0, delta)
    assert np.mean(np.abs(forms) > radius) <= delta


def test_steps_of_the_constant():
    k = 5 * math.log(5 / 4)
    proxy, reach = 65 / 8 * k, 65 / 8 * math.sqrt(5)
    assert max(4 * proxy, 2 * reach) <= 1 / tails.HANSON_WRIGHT
    u = np.linspace(1e-6, 0.2, 1000)
    assert (-np.log1p(-u) <= k * u * (1 + 1e-12)).all()
    assert math.isclose(1 / 65 + 64 / 65, 1.0), "Hölder's exponents"


@pytest.mark.parametrize("name", matrices())
def test_moment_generating_function_behind_the_constant(name):
    matrix = matrices()[name]
    forms = np.einsum("si,ij,sj->s", SIGNS, matrix, SIGNS) - np.trace(matrix)
    reach = 1 / (65 / 8 * math.sqrt(5) * np.linalg.norm(matrix, ord=2))
    for scale in np.linspace(-reach, reach, 9):
        bound = 65 / 8 * 5 * math.log(5 / 4) * scale**2 * np.linalg.norm(matrix) ** 2
        assert np.log(np.mean(np.exp(scale * forms))) <= bound + 1e-12


def test_radius_inverts_the_tail():
    radius = tails.hanson_wright_radius(4.0, 1.0, 2.0, 0.05)
    exponent = tails.HANSON_WRIGHT * min(radius**2 / (16 * 16), radius / 4)
    assert math.isclose(2 * math.exp(-exponent), 0.05, rel_tol=1e-12)


@pytest.mark.parametrize("name", matrices())
def test_operator_norm_is_the_largest_singular_value(name):
    matrix = matrices()[name]
    np.testing.assert_allclose(tails.operator_norm(jnp.asarray(matrix)), np.linalg.norm(matrix, ord=2), rtol=1e-13)
    assert tails.operator_norm(jnp.zeros((3, 3))) == 0.0
