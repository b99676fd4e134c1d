"""Subspaces and low-rank additions: kernels written out, and how many dimensions are asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.subjects.dynamics import fine_tuning_kernels, in_subspace, low_rank_adapters, rank_needed


def network(params, x):
    return (jnp.tanh(x @ params["w"]) + params["b"]) @ params["a"]


@pytest.fixture
def params(key):
    keys = jax.random.split(key, 3)
    shapes = {"w": (4, 6), "a": (6, 2), "b": (6,)}
    return {name: jax.random.normal(own, shape) for own, (name, shape) in zip(keys, shapes.items(), strict=True)}


def test_the_subspace_starts_where_it_should_and_its_kernel_is_projected(key, params):
    f = lambda w, x: jnp.tanh(w @ x)
    w, x = jnp.arange(4.0) / 4, jnp.eye(4)[:2]
    moved, start = in_subspace(f, w, key, 3)
    np.testing.assert_allclose(moved(start, x[0]), f(w, x[0]))
    directions = jax.random.normal(key, (4, 3)) / 3**0.5
    slopes = (1 - jnp.tanh(x @ w) ** 2)[:, None] * x @ directions
    np.testing.assert_allclose(fine_tuning_kernels(moved, start, x).sgd, slopes @ slopes.T, rtol=1e-10)
    assert in_subspace(network, params, key, 5)[1].shape == (5,)


def test_additions_start_at_zero_and_their_kernel_is_that_of_projected_gradients(key, params):
    x = jax.random.normal(key, (3, 4))
    moved, start = low_rank_adapters(network, params, key, 2)
    np.testing.assert_allclose(moved(start, x[0]), network(params, x[0]), rtol=1e-12)
    slopes = [jax.vmap(lambda p, n=n: jax.jacrev(lambda w: network({**params, n: w}, p))(params[n]))(x) for n in "aw"]
    known = 0.0
    for slope, pair in zip(slopes, start, strict=True):
        seen = jnp.einsum("ncij,ik->nckj", slope, pair["down"]).reshape(6, -1)
        known = known + seen @ seen.T
    np.testing.assert_allclose(fine_tuning_kernels(moved, start, x).sgd, known, rtol=1e-10)


def test_the_dimension_is_the_least_at_which_the_probability_is_reached():
    for rows, error, delta in ((32, 0.5, 0.1), (5, 0.2, 0.01)):
        k = rank_needed(rows, error, delta)
        chance = lambda k, e=error, n=rows: 4 * n**2 * np.exp(-(e**2 - e**3) * k / 4)
        assert chance(k) <= delta < chance(k - 1)


def test_bad_input_is_named(key):
    with pytest.raises(SettingError, match="dimension"):
        in_subspace(network, {"w": jnp.ones(2)}, key, 0)
    with pytest.raises(SettingError, match="rank"):
        low_rank_adapters(network, {"w": jnp.ones((2, 2))}, key, 0)
    with pytest.raises(SettingError, match="no matrix"):
        low_rank_adapters(network, {"w": jnp.ones(2)}, key, 1)
    with pytest.raises(SettingError, match="between 0 and 1"):
        rank_needed(3, 1.0)
