"""The softmax network's closed forms against loops and automatic differentiation, in blocks and at extreme logits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks import SoftmaxNetwork, _softmax, train

EPS = float(np.finfo(float).eps)


def moved(key, n=7, d=5, m=16, k=3, scale=0.3):
    keys = jax.random.split(key, 4)
    network = SoftmaxNetwork(m, k, 0.7)
    params, _ = network.init(keys[0], d)
    params = {**params, "weight": params["weight"] + scale * jax.random.normal(keys[1], params["weight"].shape)}
    return network, params, jax.random.normal(keys[2], (n, d)), jax.random.normal(keys[3], (n, k))


def looped_tangent(weight, sign, x):
    """Definition 3.6 with numpy loops over everything."""
    m, n, k = weight.shape[1], len(x), len(sign)
    shares = [np.exp(weight.T @ point) / np.exp(weight.T @ point).sum() for point in x]
    out = np.zeros((k, n, k, n))
    for a in range(k):
        for i in range(n):
            for b in range(k):
                for j in range(n):
                    terms = [
                        (sign[a, r] - sign[a]) @ shares[i] * m * shares[i][r]
                        * ((sign[b, r] - sign[b]) @ shares[j]) * m * shares[j][r]
                        for r in range(m)
                    ]  # fmt: skip
                    out[a, i, b, j] = x[i] @ x[j] * sum(terms) / m
    return out


def test_tangent_kernel_is_definition_3_6_spelled_out(key):
    network, params, x, _ = moved(key, n=3, k=2)
    expected = looped_tangent(*(np.asarray(params[name]) for name in ("weight", "sign")), np.asarray(x))
    assert np.abs(network.tangent(params, x) - expected).max() <= 256 * EPS * np.abs(expected).max()
    cross = network.tangent(params, x, x[:2])
    assert np.abs(cross - expected[:, :, :, :2]).max() <= 256 * EPS * np.abs(expected).max()


def test_product_with_h_is_the_matrix_times_the_vector(key):
    network, params, x, v = moved(key)
    expected = jnp.einsum("lirj,jr->il", network.tangent(params, x), v)
    assert jnp.abs(network.tangent_product(params, x, v) - expected).max() <= 256 * EPS * jnp.abs(expected).max()


@pytest.mark.parametrize("n", [1, 32, 33, 70])
def test_gradient_in_blocks_of_rows_is_the_gradient(key, n, monkeypatch):
    monkeypatch.setattr(_softmax, "_CACHED", 32 * 16)  # blocks of 32 rows at width 16
    _softmax._gradient.clear_cache()
    network, params, x, y = moved(key, n=n)
    loss = lambda weight: 0.5 * jnp.sum((network.predict({**params, "weight": weight}, x) - y) ** 2)
    expected = jax.grad(loss)(params["weight"])
    assert jnp.abs(network.gradient(params, x, y) - expected).max() <= 256 * EPS * n * jnp.abs(expected).max()
    _softmax._gradient.clear_cache()


def test_tangent_kernel_in_blocks_of_units_is_the_kernel(key, monkeypatch):
    network, params, x, _ = moved(key)
    whole = network.tangent(params, x)
    monkeypatch.setattr(_softmax, "_ENTRIES", 5 * 3 * 14)  # five units at a time, the last block shorter
    _softmax._tangent.clear_cache()
    assert jnp.abs(network.tangent(params, x) - whole).max() <= 256 * EPS * jnp.abs(whole).max()
    _softmax._tangent.clear_cache()


def test_training_by_the_closed_form_is_training_by_differentiation(key):
    network, params, x, y = moved(key)

    class Differentiated:
        """The same network without its closed form."""

        apply = network.apply

    options = {"learning_rate": 1e-4, "steps": 50, "record_at": [0, 10, 50], "centred": True}
    ours, other = (train(net, params, x, y, **options) for net in (network, Differentiated()))
    assert jnp.abs(ours.train - other.train).max() <= 1e-10 * jnp.abs(other.train).max()


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_logits_of_any_size_do_not_overflow(key, size):
    network, params, x, y = moved(key)
    far = size * x / jnp.abs(x @ params["weight"]).max()
    shares = network.shares(params, far)
    assert jnp.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=64 * EPS)
    for values in (network.predict(params, far), network.gradient(params, far, y), network.tangent(params, far)):
        assert jnp.isfinite(values).all()
    assert jnp.isfinite(network.tangent_product(params, far, y)).all()


def test_one_row_one_output_and_weights_without_spread():
    network = SoftmaxNetwork(2, 1, 0.0)
    params, _ = network.init(jax.random.key(0), 3)
    x = jnp.array([[0.6, 0.0, 0.8]])
    assert jnp.all(params["weight"] == 0)
    assert network.tangent(params, x)[0, 0, 0, 0] == pytest.approx(1.0, abs=4 * EPS)  # <x, x> exp(0)
    step = network.step(params, x, jnp.array([[1.0]]), jnp.asarray(0.25))
    assert network.predict(step, x)[0, 0] > 0
