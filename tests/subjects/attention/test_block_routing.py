"""The router's ratio and hit rate against simulations with whole keys, SciPy, closed forms; convolutions of keys."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.signal import lfilter
from scipy.stats import binom, norm

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.attention import block_scores, hit_rate, key_convolution, router_signal_to_noise


def keys_on_the_sphere(generator, *shape):
    keys = generator.normal(size=shape)
    return keys / np.linalg.norm(keys, axis=-1, keepdims=True)


def test_the_ratio_of_whole_keys():
    """4000 contexts of two blocks of 8 keys in 16 dimensions; the standard error of the ratio is 0.02."""
    generator, draws, d, block = np.random.default_rng(0), 4000, 16, 8
    q, keys = keys_on_the_sphere(generator, draws, d), keys_on_the_sphere(generator, draws, 2 * block, d)
    keys[:, 0] += 0.9 * q
    keys[:, 1] += 0.2 * q
    means = keys.reshape(draws, 2, block, d).mean(axis=2)
    apart = np.einsum("tbd,td->tb", means, q) @ [1.0, -1.0]
    expected = router_signal_to_noise(0.9, d, block, relevant=2, others=0.2)
    assert float(expected) == pytest.approx(1.1)
    assert apart.mean() / apart.std() == pytest.approx(float(expected), abs=0.08)
    assert np.mean(apart > 0) == pytest.approx(norm.cdf(float(expected)), abs=0.03)


def test_the_variance_of_correlated_keys():
    block, r, d = 6, 0.3, 10
    covariance = ((1 - r) * np.eye(block) + r) / d
    noise = 2 * covariance.mean()
    assert float(router_signal_to_noise(0.7, d, block, correlation=r)) == pytest.approx(0.7 / block / noise**0.5)


@pytest.mark.parametrize(("blocks", "count"), [(8, 1), (30, 4), (500, 20)])
@pytest.mark.parametrize("snr", [0.0, 0.7, 2.0])
def test_the_hit_rate_by_adaptive_quadrature(blocks, count, snr):
    inside = lambda z: norm.pdf(z) * binom.cdf(count - 1, blocks - 1, norm.sf(z + np.sqrt(2) * snr))
    wanted = quad(inside, -9, 9, epsabs=1e-11, limit=200)[0]
    assert float(hit_rate(snr, blocks, count)) == pytest.approx(wanted, abs=1e-9)


def test_hit_rates_that_are_known():
    assert float(hit_rate(0.8, 2, 1)) == pytest.approx(norm.cdf(0.8), abs=1e-12)
    assert np.asarray(hit_rate(np.zeros(2), 12, 5)) == pytest.approx([5 / 12, 5 / 12], abs=1e-12)
    assert hit_rate(-3.0, 4, 4) == 1.0


def test_an_even_filter_of_keys_is_a_filter_of_their_products():
    generator = np.random.default_rng(0)
    keys, q, weights = generator.normal(size=(20, 3)), generator.normal(size=3), np.array([0.5, 0.3, 0.2])
    filters = np.repeat(weights[:, None], 3, axis=1)
    found = block_scores(jnp.asarray(q[None]), key_convolution(jnp.asarray(keys), jnp.asarray(filters)), 5)[0]
    wanted = lfilter(weights, [1.0], keys @ q).reshape(4, 5).mean(axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_each_coordinate_has_its_own_filter_and_an_activation():
    generator = np.random.default_rng(0)
    keys, filters = generator.normal(size=(2, 3)), generator.normal(size=(5, 3))
    wanted = np.stack([lfilter(filters[:, c], [1.0], keys[:, c]) for c in range(3)], axis=1)
    np.testing.assert_allclose(key_convolution(jnp.asarray(keys), jnp.asarray(filters)), wanted, rtol=1e-12)
    activated = key_convolution(jnp.asarray(keys), jnp.asarray(filters), activated=True)
    np.testing.assert_allclose(activated, keys + wanted / (1 + np.exp(-wanted)), rtol=1e-12)


def test_what_is_refused():
    with pytest.raises(SettingError, match="block; found 0"):
        router_signal_to_noise(1.0, 4, 0)
    with pytest.raises(SettingError, match="relevant; found 5"):
        router_signal_to_noise(1.0, 4, 4, relevant=5)
    with pytest.raises(SettingError, match="correlation; found 2"):
        router_signal_to_noise(1.0, 4, 4, correlation=2.0)
    with pytest.raises(SettingError, match="count; found 0"):
        hit_rate(1.0, 4, 0)
    with pytest.raises(SettingError, match="blocks; found 0"):
        hit_rate(1.0, 0, 1)
    with pytest.raises(ShapeError, match="filters"):
        key_convolution(jnp.ones((4, 2)), jnp.ones((3, 1)))
    with pytest.raises(DataError, match="filters"):
        key_convolution(jnp.ones((4, 2)), jnp.full((3, 2), jnp.nan))


@pytest.mark.parametrize("wrong", [np.nan, [0.5, np.nan], "a"])
def test_ratios_that_are_no_numbers_are_refused(types_unchecked, wrong):
    calls = {
        "snr": lambda: hit_rate(wrong, 4, 1),
        "excess": lambda: router_signal_to_noise(wrong, 4, 4),
        "others": lambda: router_signal_to_noise(1.0, 4, 4, relevant=2, others=wrong),
        "correlation": lambda: router_signal_to_noise(1.0, 4, 4, correlation=wrong),
    }
    for name, call in calls.items():
        with pytest.raises(SettingError, match=f"^{name}; found"):
            call()
    assert hit_rate([-np.inf, np.inf], 4, 1) == pytest.approx([0.0, 1.0])
