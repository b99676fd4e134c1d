"""Parameterisations by width: against networks written as their definition says, and by their powers of the width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    MAXIMAL_UPDATE,
    MEAN_FIELD,
    Dense,
    Erf,
    LayerExponents,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    WidthExponents,
    fully_connected,
    is_homogeneous,
)
from lemmata.errors import SettingError
from lemmata.kernels import gram
from lemmata.networks import train

EPS = np.finfo(np.float64).eps
W, B, D = 1.3, 0.4, 3
# Exponents with nothing special about them, and rates that differ between the layers and their biases.
ODD = LayerExponents(
    first=WidthExponents(-0.2, 0.3, c=-0.4, bias_c=-0.3, of="fan_out"),
    hidden=WidthExponents(0.1, 0.4, c=0.2, bias_c=-0.6),
    readout=WidthExponents(0.7, 0.1, c=-0.5, bias_c=0.4),
)
named = pytest.mark.parametrize(
    "exponents", [MAXIMAL_UPDATE, MEAN_FIELD, ODD], ids=["maximal-update", "mean-field", "odd"]
)


def points(n=5, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, D)))


def network(parameterization, width, depth=2, bias_std=B, activation=None):
    return fully_connected(
        activation or Erf(),
        depth,
        width,
        weight_std=W,
        bias_std=bias_std,
        readout_std=W,
        parameterization=parameterization,
    )


def as_printed(exponents, width, weights, biases, x):
    """The network of the definition: h = d^-a w x + b, with the factor fan_in^(-1/2) in the first layer."""
    h = x
    for layer, (power, w, b) in enumerate(zip(exponents, weights, biases, strict=True)):
        factor = width**-power.a * (D**-0.5 if layer == 0 else 1.0)
        h = factor * (w @ h) + b
        h = h if layer == len(weights) - 1 else jax.scipy.special.erf(h)
    return h


@named
def test_one_rate_trains_as_the_rates_of_the_definition(exponents):
    # W = d^-a w trained at rate d^-c is the layer's own parameter w d^(c/2) trained at rate 1, at every step
    width, x = 8, points()
    y = jnp.sin(x[:, :1])
    layers, rate, steps = network(exponents, width), 0.02, 4
    own, _ = layers.init(jax.random.key(0), D)
    dense = own[::2]
    weights = [p["weight"] * width ** (-e.c / 2) for p, e in zip(dense, exponents, strict=True)]
    biases = [p["bias"] * width ** (-e.bias_c / 2) for p, e in zip(dense, exponents, strict=True)]

    @jax.jit
    def step(both):
        loss = lambda p: 0.5 * jnp.sum((jax.vmap(lambda a: as_printed(exponents, width, *p, a))(x) - y) ** 2)
        slope = jax.grad(loss)(both)
        rates = [[width**-e.c for e in exponents], [width**-e.bias_c for e in exponents]]
        return jax.tree.map(lambda p, r, g: p - rate * r * g, both, tuple(rates), slope)

    printed = (weights, biases)
    outputs = lambda p: jax.vmap(lambda a: as_printed(exponents, width, *p, a))(x)
    start = outputs(printed)
    for _ in range(steps):
        printed = step(printed)
    run = train(layers, own, x, y, learning_rate=rate, steps=steps, record_at=[0, steps])
    np.testing.assert_allclose(run.train[0], start, rtol=100 * EPS, atol=100 * EPS)
    np.testing.assert_allclose(run.train[1], outputs(printed), rtol=1e4 * EPS, atol=1e4 * EPS)
    assert jnp.max(jnp.abs(run.train[1] - start)) > 1e-3


@named
def test_parameters_have_the_stated_standard_deviations(exponents):
    width, keys = 32, jax.random.split(jax.random.key(3), 256)
    drawn = jax.vmap(lambda key: network(exponents, width).init(key, D)[0])(keys)[::2]
    for params, power in zip(drawn, exponents, strict=True):
        for name, std in (("weight", W * width**-power.b), ("bias", B)):
            c = power.c if name == "weight" else power.bias_c
            entries = params[name] * width ** (-c / 2) / std
            # the mean square of N standard normal numbers has standard deviation sqrt(2/N); 4.5 of them, 6 entries
            assert abs(jnp.mean(entries**2) - 1) < 4.5 * (2 / entries.size) ** 0.5


def test_finite_kernels_average_to_the_pushed_ones():
    # Relative to the limit, the mean over networks is off by O(1/width); widths 64 and 128 extrapolate it away.
    x, means, errors = points(3), {}, {}
    for width in (64, 128):
        layers = network(ODD, width)
        keys = jax.random.split(jax.random.key(width), 256)

        def kernels(key, layers=layers):
            params, _ = layers.init(key, D)
            outputs = jax.vmap(lambda a: layers.apply(params, a)[0])(x)
            slopes = jax.vmap(lambda a: jax.grad(lambda own: layers.apply(own, a)[0])(params))(x)
            flat = jnp.concatenate([leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(slopes)], axis=1)
            return jnp.stack([jnp.outer(outputs, outputs), flat @ flat.T])

        found = jax.jit(lambda keys: jax.lax.map(kernels, keys, batch_size=64))(keys)
        limit = jnp.stack([gram(NNGPKernel(layers), x), gram(TangentKernel(layers), x)])
        ratio = found / jnp.linalg.norm(limit, axis=(1, 2), keepdims=True)
        expected = limit / jnp.linalg.norm(limit, axis=(1, 2), keepdims=True)
        means[width] = jnp.mean(ratio, axis=0) - expected
        errors[width] = jnp.std(ratio, axis=0) / 256**0.5
    extrapolated = 2 * means[128] - means[64]
    error = jnp.sqrt(4 * errors[128] ** 2 + errors[64] ** 2)
    # 12 different entries; what is left is O(1/width²), 1/4096
    assert (jnp.abs(extrapolated) < 4.5 * error + 1e-3).all()
    assert float(error[1].max()) < 0.03


def test_exponents_of_the_ntk_form_are_the_ntk_parameterisation():
    half = WidthExponents(0.5, 0.0)
    ntk = LayerExponents(WidthExponents(0.0, 0.0, of="fan_out"), half, half)
    x = points()
    one, other = (fully_connected(Relu(), 2, 16, weight_std=1.0, parameterization=p) for p in ("ntk", ntk))
    for kernel in (NNGPKernel, TangentKernel):
        np.testing.assert_allclose(gram(kernel(one), x), gram(kernel(other), x), rtol=100 * EPS)
    standard = WidthExponents(0.0, 0.5)
    one, other = (
        fully_connected(Relu(), 2, 16, bias_std=B, parameterization=p)
        for p in ("standard", LayerExponents(standard, standard, standard))
    )
    for kernel in (NNGPKernel, TangentKernel):
        np.testing.assert_allclose(gram(kernel(one), x), gram(kernel(other), x), rtol=100 * EPS)


def test_mean_field_is_maximal_update_with_one_hidden_layer():
    x, (one, other) = points(), (network(p, 16, depth=1) for p in ("mean-field", "maximal-update"))
    params, _ = one.init(jax.random.key(2), D)
    other_params, _ = other.init(jax.random.key(2), D)
    for left, right in zip(jax.tree.leaves(params), jax.tree.leaves(other_params), strict=True):
        np.testing.assert_allclose(left, right, rtol=10 * EPS)
    np.testing.assert_allclose(gram(TangentKernel(one), x), gram(TangentKernel(other), x), rtol=100 * EPS)
    # a further hidden layer averages its inputs out: it is the other one with weights smaller by 16^(-1/2)
    smaller = Dense(16, W / 4, B, MAXIMAL_UPDATE.hidden)
    deep = network("maximal-update", 16).layers
    expected = NNGPKernel(Serial([*deep[:2], smaller, *deep[3:]]))
    np.testing.assert_allclose(gram(NNGPKernel(network("mean-field", 16)), x), gram(expected, x), rtol=100 * EPS)


@pytest.mark.parametrize("name", ["maximal-update", "mean-field"])
def test_homogeneous_networks_keep_their_series(name):
    layers = fully_connected(Relu(), 9, 8, weight_std=2.0**0.5, parameterization=name)
    assert is_homogeneous(layers)
    x = points(6)
    unlike = gram(TangentKernel(layers), x)
    pairs = jax.vmap(lambda a: jax.vmap(lambda b: TangentKernel(layers)(a, b))(x))(x)
    np.testing.assert_allclose(unlike, pairs, rtol=1e-9, atol=1e-10 * float(jnp.max(pairs)))


def test_bad_exponents():
    with pytest.raises(SettingError, match="finite"):
        WidthExponents(float("nan"), 0.0)
    with pytest.raises(SettingError, match="hidden layer"):
        fully_connected(Erf(), 0, parameterization="maximal-update")
    assert Dense(2, parameterization=MAXIMAL_UPDATE.readout).scales(4).variance == 0.25
