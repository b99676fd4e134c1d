"""The softmax network against its source's formulas (Gu et al., 2024), written with loops."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from lemmata.architectures import tangent_gram
from lemmata.errors import SettingError
from lemmata.networks import SoftmaxNetwork

EPS = np.finfo(np.float64).eps


def softmaxes(weight, x):
    """S_i, one row a point."""
    e = np.exp(x @ weight)
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(("width", "dim", "n"), [(34, 1, 5), (1022, 61, 33)])
def test_starts_at_zero_exactly(dtype, width, dim, n):
    network = SoftmaxNetwork(width, 3)
    params, outputs = network.init(jax.random.key(width), dim, dtype=dtype)
    x = jax.random.normal(jax.random.key(n), (n, dim), dtype)
    values = jax.jit(jax.vmap(lambda p: network.apply(params, p)))(x)
    assert values.shape == (n, outputs)
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, 0.0)


def test_apply_is_equation_one_and_does_not_overflow():
    network = SoftmaxNetwork(6, 2)
    rng = np.random.default_rng(1)
    weight, sign = rng.normal(size=(3, 6)), rng.choice([-1.0, 1.0], size=(2, 6))
    x = rng.normal(size=3)
    params = {"weight": jnp.asarray(weight), "sign": jnp.asarray(sign)}
    e = np.exp(weight.T @ x)
    np.testing.assert_allclose(network.apply(params, jnp.asarray(x)), 6 * (sign @ e) / e.sum(), rtol=100 * EPS)
    assert np.isfinite(network.apply(params, jnp.asarray(1e4 * x))).all()


def test_gradient_is_claim_3_4():
    network, rng = SoftmaxNetwork(8, 2), np.random.default_rng(2)
    params, _ = network.init(jax.random.key(0), 3)
    params["weight"] = params["weight"] + 0.1 * jax.random.normal(jax.random.key(1), (3, 8))
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))

    def loss(p):
        return 0.5 * jnp.sum((jax.vmap(lambda point: network.apply(p, point))(jnp.asarray(x)) - y) ** 2)

    gradient = jax.grad(loss)(params)
    weight, a, m = np.asarray(params["weight"]), np.asarray(params["sign"]), 8
    s = softmaxes(weight, x)
    f = m * s @ a.T
    expected = np.zeros_like(weight)
    for r in range(m):
        for i in range(4):
            for l in range(2):  # noqa: E741
                expected[:, r] += m * (f[i, l] - y[i, l]) * np.dot(a[l, r] - a[l], s[i]) * s[i, r] * x[i]
    np.testing.assert_allclose(gradient["weight"], expected, atol=100 * EPS * np.abs(expected).max())
    np.testing.assert_array_equal(gradient["sign"], 0.0)


def definition_3_6(weight, a, x):
    """H_{l1 l2} [i, j], every sum written out over units."""
    s, (k, m), n = softmaxes(weight, x), a.shape, len(x)
    h = np.zeros((n, n, k, k))
    for i in range(n):
        for j in range(n):
            for one in range(k):
                for two in range(k):
                    total = 0.0
                    for r in range(m):
                        left = np.dot(a[one, r] * np.ones(m) - a[one], s[i]) * m * s[i, r]
                        right = np.dot(a[two, r] * np.ones(m) - a[two], s[j]) * m * s[j, r]
                        total += left * right
                    h[i, j, one, two] = (x[i] @ x[j]) * total / m
    return h


def test_tangent_kernel_is_width_times_definition_3_6():
    network = SoftmaxNetwork(10, 2, sigma=0.7)
    params, _ = network.init(jax.random.key(4), 3)
    params["weight"] = params["weight"] + 0.1 * jax.random.normal(jax.random.key(1), (3, 10))
    x = np.random.default_rng(3).normal(size=(3, 3))
    expected = definition_3_6(np.asarray(params["weight"]), np.asarray(params["sign"]), x)
    theta = tangent_gram(network, params, jnp.asarray(x)) / 10
    np.testing.assert_allclose(theta, expected, atol=1000 * EPS * np.abs(expected).max())


def test_tangent_kernel_approaches_the_exponential_kernel():
    sigma, keys = 0.6, 256
    x = jax.random.normal(jax.random.key(5), (3, 2))
    limit = (x @ x.T) * jnp.exp(sigma**2 * (x @ x.T))
    means, errors = [], []
    for width in (1024, 4096):
        network = SoftmaxNetwork(width, sigma=sigma)
        drawn = jax.random.split(jax.random.key(width), keys)
        params = jax.vmap(lambda key, network=network: network.init(key, 2)[0])(drawn)
        draw = lambda p, network=network: tangent_gram(network, p, x, output=0) / network.width
        finite = np.asarray(jax.lax.map(draw, params))
        means.append(finite.mean(axis=0))
        errors.append(finite.std(axis=0, ddof=1) / np.sqrt(keys))
    # A ratio of means is biased by c / width: a third of what a quarter of the width adds to it.
    bias = (np.abs(means[0] - means[1]) + 4 * np.hypot(*errors)) / 3
    assert (np.abs(means[1] - limit) <= 4 * errors[1] + bias).all()
    resolution = 0.05
    assert (4 * errors[1] + bias <= resolution * float(jnp.linalg.norm(limit))).all()


@pytest.fixture
def types_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 7},
        {"width": 0},
        {"width": 4.0},
        {"width": "4"},
        {"width": 4, "outputs": 0},
        {"width": 4, "outputs": 1.5},
        {"width": 4, "outputs": True},
        {"width": 4, "sigma": -1.0},
        {"width": 4, "sigma": np.inf},
        {"width": 4, "sigma": np.nan},
        {"width": 4, "sigma": "a"},
        {"width": 4, "sigma": None},
    ],
    ids=str,
)
@pytest.mark.usefixtures("types_unchecked")
def test_settings_out_of_bounds(settings):
    with pytest.raises(SettingError, match=next(name for name in reversed(settings))):
        SoftmaxNetwork(**settings)


@pytest.mark.usefixtures("types_unchecked")
def test_numbers_of_numpy_are_numbers():
    network = SoftmaxNetwork(np.int64(4), np.int32(2), np.float32(0.5))
    params, outputs = network.init(jax.random.key(0), 3)
    assert outputs == 2
    np.testing.assert_array_equal(params["weight"], SoftmaxNetwork(4, 2, 0.5).init(jax.random.key(0), 3)[0]["weight"])
