"""The transform on the cube against sums over all points."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.functions import cube, degrees, influences, walsh_hadamard, weights_by_degree


def test_transform_is_the_mean_against_every_product(key):
    d = 5
    x = np.asarray(cube(d))
    assert sorted(map(tuple, x)) == sorted(itertools.product((-1.0, 1.0), repeat=d))
    values = jax.random.normal(key, (3, 2**d))
    found = walsh_hadamard(values)
    for number in range(2**d):
        members = [i for i in range(d) if number >> i & 1]
        product = x[:, members].prod(axis=1)
        np.testing.assert_allclose(found[:, number], values @ product / 2**d, atol=1e-12)
        assert degrees(d)[number] == len(members)
    np.testing.assert_allclose(2**d * walsh_hadamard(found), values, atol=1e-12)


def test_influences_are_counts_of_flips(key):
    d = 6
    signs = jax.random.rademacher(key, (2**d,), float)
    points = np.arange(2**d)
    flips = [np.mean(np.asarray(signs)[points] != np.asarray(signs)[points ^ (1 << i)]) for i in range(d)]
    coefficients = walsh_hadamard(signs)
    np.testing.assert_allclose(influences(coefficients), flips, atol=1e-12)
    np.testing.assert_allclose(influences(coefficients).sum(), jnp.arange(d + 1) @ weights_by_degree(coefficients))


def test_sizes_that_are_no_power_of_two_are_refused():
    with pytest.raises(SettingError, match="3 values"):
        walsh_hadamard(jnp.ones(3))
    with pytest.raises(SettingError, match="d is 21"):
        cube(21)
