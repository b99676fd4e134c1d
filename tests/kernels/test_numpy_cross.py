"""Kernels by NumPy against their compiled forms and against differences, on easy points and on hard ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.kernels import RBF, Laplace, Linear, Matern, gram, writable_gram

RNG = np.random.default_rng(0)
EPS = np.finfo(float).eps
KERNELS = [
    RBF(1.5),
    RBF(np.array([0.5, 2.0, 30.0, 1.0, 1.0])),
    Laplace(2.0),
    Matern(0.5, 1.0),
    Matern(1.5, np.array([0.5, 2.0, 30.0, 1.0, 1.0])),
    Matern(2.5, 0.7),
    2.0 * RBF(1.0) + Laplace(3.0) ** 2 * Matern(2.5, 1.0),
]


def points(n, place=0.0, size=1.0):
    return place + size * RNG.normal(size=(n, 5))


def exact(kernel, x, y):
    """The matrix, entry by entry from differences."""
    return np.asarray(jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(y))(x))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_the_kernel_also_of_near_points_far_from_the_origin(kernel):
    near = points(20)
    for x in (points(30), points(30, 1e6), np.concatenate([near, near + 1e-7 * points(20), near])):
        y = np.concatenate([x[::2], points(9, x.mean())])
        with jax.enable_x64(True):
            found, expected = kernel.numpy_cross(x, y), exact(kernel, jnp.asarray(x), jnp.asarray(y))
        # A product form keeps 1e-2 of a square: two digits of 16; 16 operations around it, in squares of up to 700.
        assert np.abs(found - expected).max() <= 16 * 100 * EPS * np.abs(expected).max()
        same = (x[:, None] == y).all(axis=2)
        np.testing.assert_array_equal(found[same], expected[same])


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e300])
def test_squares_beyond_the_range_are_found_from_differences(size):
    x = size * np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0], [-1.0, 0.5]])
    found = RBF(size).numpy_cross(x, x)
    np.testing.assert_allclose(found, RBF(1.0).numpy_cross(x / size, x / size), rtol=1e-13)
    np.testing.assert_allclose(RBF(1.0).numpy_cross(x, x), np.ones((4, 4)) if size < 1 else x[:, None, 1] == x[:, 1])


def test_what_has_no_form_in_numpy_says_so():
    x = points(3)
    assert Matern(0.8, 1.0).numpy_cross(x, x) is None
    assert (RBF(1.0) + Linear()).numpy_cross(x, x) is None
    assert RBF(1.0).numpy_cross(x.astype(np.float32), x.astype(np.float32)) is None
    seen = []
    jax.jit(lambda length: seen.append(RBF(length).numpy_cross(x, x)))(1.0)
    assert seen == [None]


@pytest.mark.parametrize("rows", [1, 3, 512, 700])
def test_a_gram_matrix_is_symmetric_and_has_ones_on_its_diagonal(rows):
    x = points(rows)
    with jax.enable_x64(True):
        found = writable_gram(RBF(2.0), jnp.asarray(x))
        np.testing.assert_allclose(found, gram(RBF(2.0), jnp.asarray(x)), rtol=0, atol=100 * EPS)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diagonal(found), 1.0)
