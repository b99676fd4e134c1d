"""Laws of attention, positional embeddings and masks: finite twins, a naive average over logits, padding."""

import functools
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Attention,
    AveragePool,
    Conv,
    Dense,
    Dropout,
    Elementwise,
    Erf,
    Flatten,
    GlobalAveragePool,
    GlobalSumPool,
    LayerNorm,
    Masked,
    NNGPKernel,
    PositionalEmbedding,
    Relu,
    Serial,
    TangentKernel,
    padded,
    residual,
    with_standard_error,
)
from lemmata.architectures._attention_weights import Contracted, Logits, relu, softmax, softmax_averages
from lemmata.architectures._fields import field_state
from lemmata.kernels import gram

EPS = np.finfo(np.float64).eps
WIDTHS, KEYS = (6, 24), 96
# A two-sided normal quantile of 4 standard errors fails a true statement once in 16 000.
QUANTILE = 4.0
STDS = {"query_std": 1.2, "key_std": 0.9, "value_std": 0.8, "weight_std": 1.3, "bias_std": 0.3}
DECAY = lambda distance: np.exp(-distance)


def attention(n: int, mechanism: Any = "softmax", scaling: Any = "1/sqrt(d)", **options) -> Attention:
    return Attention(n, n, mechanism, scaling=scaling, **STDS, **options)


def network(n: int, *layers, hidden: bool = True) -> Serial:
    before = [Dense(n, 1.2, 0.2), Erf()] if hidden else []
    return Serial([*before, *layers, Flatten(), Dense(1, 1.1, 0.2)])


def embedding(n: int, kind: Any) -> PositionalEmbedding:
    return PositionalEmbedding(kind, 0.7, DECAY, n)


NETWORKS = {
    "softmax-positions": lambda n: network(n, attention(n, causal=True, positions=embedding(n, "sum"), draws=1024)),
    "softmax-fixed": lambda n: network(n, attention(n, scaling="1/d", positions=embedding(n, "concat"))),
    "relu": lambda n: network(n, embedding(n, "concat"), attention(n, "relu")),
    "identity": lambda n: network(n, embedding(n, "sum"), attention(n, "linear", causal=True)),
}


def fields(n=2, length=3, channels=2, seed=5):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, length, channels)))


def finite_kernels(net, x, keys, width):
    """For each key the kernel of the features before the readout, pushed through it, and the tangent kernel."""
    hidden, readout = Serial(net.layers[:-1]), net.layers[-1]

    @jax.jit
    def both(key):
        params, _ = net.init(key, x.shape[1:])
        features = jax.vmap(lambda a: hidden.apply(params[:-1], a))(x)
        nngp = readout.weight_std**2 * features @ features.T / features.shape[1] + readout.bias_std**2
        gradients = jax.vmap(lambda a: jax.grad(lambda p: net.apply(p, a)[0])(params))(x)
        rows = [leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(gradients)]
        return nngp, sum(row @ row.T for row in rows)

    return jax.lax.map(both, jax.random.split(jax.random.key(width), keys), batch_size=16)


@functools.cache
def limit(name, kernel):
    """The kernel, and its standard error where it is an estimate."""
    k, x = kernel(NETWORKS[name](WIDTHS[-1])), fields()
    if not any(isinstance(layer, Attention) and layer.stochastic for layer in k.network.layers):
        return np.asarray(gram(k, x)), 0.0
    mean, error = with_standard_error(k, x, key=jax.random.key(7), replicates=8)
    return np.asarray(mean), np.asarray(error)


@pytest.mark.parametrize("name", NETWORKS)
def test_finite_kernels_approach_the_limit_at_rate_one_half(name):
    x = fields()
    finite = [finite_kernels(NETWORKS[name](n), x, KEYS, n) for n in WIDTHS]
    for position, kernel in enumerate((NNGPKernel, TangentKernel)):
        exact, uncertainty = limit(name, kernel)
        deviations = [np.asarray(values[position] - exact) for values in finite]
        squares = [np.sum(deviation**2, axis=(1, 2)) for deviation in deviations]
        mean = np.array([s.mean() for s in squares])
        error = np.array([s.std(ddof=1) / np.sqrt(KEYS) for s in squares]) / (2 * mean)
        t = np.log(WIDTHS) - np.mean(np.log(WIDTHS))
        slope = t @ np.log(mean) / 2 / (t @ t)
        # mean squares c/n + c'/n² bend the slope; at these widths a ratio c'/c of 3 bends it by 0.1
        assert abs(slope + 0.5) <= QUANTILE * np.sqrt((t**2) @ error**2) / (t @ t) + 0.1, (kernel, slope)
        bias = deviations[-1].mean(axis=0)
        spread = np.sqrt(deviations[-1].var(axis=0, ddof=1) / KEYS + uncertainty**2)
        # bias O(1/width), relative to the scale of the kernel
        allowed = QUANTILE * spread + 2.0 / WIDTHS[-1] * np.abs(exact).max()
        assert (np.abs(bias) <= allowed).all(), (kernel, bias, spread)


def naive_moments(layer: Attention, q, theta, seed, draws):
    """nngp and ntk between two inputs, from sampled logits and Jacobians by automatic differentiation, per draw.

    `q` and `theta` of shape (2, 2, s, s) are the moments of the layer's input.
    """
    size, scale = q.shape[-1], layer.query_std * layer.key_std
    rule = {"softmax": jax.nn.softmax, "relu": jax.nn.relu, "linear": lambda g: g}[layer.mechanism]
    whole = q.transpose(0, 2, 1, 3).reshape(2 * size, 2 * size)
    # Cov(G_ac(x), G_bd(y)) for all pairs of positions of both inputs, as one matrix
    pairs = [(i, a, c) for i in range(2) for a in range(size) for c in range(size)]
    at = lambda i, a: i * size + a
    covariance = np.array(
        [[scale**2 * whole[at(i, a), at(j, b)] * whole[at(i, c), at(j, d)] for j, b, d in pairs] for i, a, c in pairs]
    )
    logits = np.random.default_rng(seed).multivariate_normal(np.zeros(len(pairs)), covariance, draws, method="eigh")

    def moments(g):
        x, y = g.reshape(2, size, size)
        z, u, jz, ju = rule(x), rule(y), jax.jacfwd(rule)(x), jax.jacfwd(rule)(y)
        k, t = q[0, 1], theta[0, 1]
        values = layer.value_std**2 * layer.weight_std**2
        # the output is sum_c z_ac V_c, so a logit G_ae moves it by sum_c jz[a, c, a, e] V_c
        slopes = jnp.einsum("acae,bdbf,cd->abef", jz, ju, k)
        outer = functools.partial(jnp.einsum, "ab,ef->abef")
        gradient = 2 * outer(k, k) + outer(t, k) + outer(k, t)
        own = jnp.einsum("ac,bd,cd->ab", z, u, 2 * k + t) + scale**2 * jnp.einsum("abef,abef->ab", slopes, gradient)
        return values * jnp.einsum("ac,bd,cd->ab", z, u, k), values * own

    return jax.jit(jax.vmap(moments))(jnp.asarray(logits))


@pytest.mark.parametrize("mechanism", ["softmax", "relu", "linear"])
def test_moments_are_those_of_sampled_logits(mechanism):
    # Two inputs after Dense and Erf: both moments of one attention layer, before anything averages over positions.
    x = fields()
    layer = attention(4, mechanism, draws=512)
    state = jax.jit(lambda a: field_pushed(Serial([Dense(4, 1.2, 0.2), Erf()]), a))(x)
    q, theta = (np.asarray(jnp.moveaxis(part, (2, 3), (0, 1))) for part in (state.nngp, state.ntk))
    naive = naive_moments(layer, q, theta, 3, 4000)
    keys = jax.random.split(jax.random.key(5), 8 if mechanism == "softmax" else 1)
    pushed = jax.jit(lambda s: jax.lax.map(lambda key: with_key(layer, key).push(s), keys))(state)
    bias = layer.bias_std**2
    for face, sampled in zip(("nngp", "ntk"), naive, strict=True):
        ours = np.asarray(getattr(pushed, face))[..., 0, 1]
        own = ours.var(axis=0, ddof=1) / len(ours) if len(ours) > 1 else 0.0
        error = np.sqrt(np.var(np.asarray(sampled), axis=0) / len(sampled) + own)
        assert (np.abs(ours.mean(axis=0) - bias - np.mean(np.asarray(sampled), axis=0)) <= 5 * error).all(), face


def moments(seed, size=3):
    """Moments within and between two inputs, as `Logits` that all see each other but one, and what is averaged."""
    root = np.random.default_rng(seed).normal(size=(4, 2 * size, 2 * size))
    whole = [jnp.asarray(r @ r.T / size) for r in root]
    blocks = [(m[:size, size:], m[:size, :size], m[size:, size:]) for m in whole]
    sees = jnp.ones((size, size), bool).at[0, 2].set(False), jnp.ones((size, size), bool)
    return Logits(*blocks[0], *sees), Contracted(*(block[0] for block in blocks))


def test_relu_averages_are_those_of_loops():
    logits, parts = moments(0)
    found = relu(logits, parts)
    q, xx, yy, sees, _ = map(np.asarray, logits)
    expected, size = np.zeros((4, 3, 3)), range(3)
    for a, b, c, d in itertools.product(size, repeat=4):
        if sees[a, c]:
            u, v = xx[a, a] * xx[c, c], yy[b, b] * yy[d, d]
            rho = q[a, b] * q[c, d] / np.sqrt(u * v)
            orthant = 0.25 + np.arcsin(rho) / (2 * np.pi)
            value = np.sqrt(u * v) * (np.sqrt(1 - rho**2) / (2 * np.pi) + rho * orthant)
            nngp, ntk, key_nngp, key_ntk = (float(part[c, d]) for part in parts)
            expected[:, a, b] += value * nngp, value * ntk, orthant * nngp * key_nngp, orthant * nngp * key_ntk
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


def test_softmax_averages_are_those_of_the_jacobian():
    logits, parts = moments(1)
    z, u = softmax(logits.xx, logits.sees_x), softmax(logits.yy, logits.sees_y)
    jz, ju = jax.jacfwd(softmax)(logits.xx, logits.sees_x), jax.jacfwd(softmax)(logits.yy, logits.sees_y)
    np.testing.assert_allclose(u, jax.nn.softmax(logits.yy, axis=-1), rtol=1e-13)
    assert z[0, 2] == 0
    moved = jnp.einsum("acae,bdbf,cd->abef", jz, ju, parts.nngp)
    expected = [z @ part @ u.T for part in (parts.nngp, parts.ntk)]
    expected += [jnp.einsum("abef,ef->ab", moved, part) for part in (parts.key_nngp, parts.key_ntk)]
    for ours, theirs in zip(softmax_averages(z, u, parts), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def with_key(layer, key):
    return eqx.tree_at(lambda a: a.key, layer, key, is_leaf=lambda leaf: leaf is None)


def field_pushed(net, x):
    return net.push(field_state(x, x, pairs=True))


def test_drawn_kernel_is_one_function_and_joint_draws_are_semidefinite():
    x = jnp.concatenate([fields(4), fields(2)])
    k = TangentKernel(network(4, attention(4, draws=16, causal=True), hidden=False))
    matrix = gram(k, x)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(k.cross(x[:2], x + 0.0), matrix[:2], rtol=1e-11)
    np.testing.assert_allclose(k.diagonal(x), jnp.diag(matrix), rtol=1e-11)
    np.testing.assert_allclose(k(x[1], x[0]), matrix[0, 1], rtol=1e-11)
    few = eqx.tree_at(lambda n: n.network.layers[0], k, attention(4, draws=2))
    mean, error = with_standard_error(few, x, key=jax.random.key(0), replicates=2)
    eigenvalues = jnp.linalg.eigvalsh(mean)
    assert eigenvalues[0] >= -100 * EPS * eigenvalues[-1]
    assert error[0, 0] > 0


def test_standard_error_covers_and_joint_draws_have_the_law_of_pairs():
    x, y = fields(3), fields(2, seed=8)
    layers = network(4, attention(4, draws=64), hidden=False)
    k = TangentKernel(layers)
    mean, error = with_standard_error(k, x, y, key=jax.random.key(0), replicates=16)
    # the kernel itself draws otherwise, for every pair alone; linear layers follow, so both are unbiased
    keyed = lambda key: eqx.tree_at(lambda n: n.network.layers[0], k, with_key(layers.layers[0], key))
    pairs = jnp.stack([keyed(key).cross(x, y) for key in jax.random.split(jax.random.key(1), 16)])
    both = jnp.sqrt(error**2 + jnp.var(pairs, axis=0, ddof=1) / 16)
    assert (jnp.abs(mean - jnp.mean(pairs, axis=0)) <= QUANTILE * both).all()
    assert (error > 0).all()
    assert (error < 0.02 * jnp.abs(mean).max()).all()


PIECES = {
    "convolution": lambda: [Conv(8, 3, 1.2, 0.3), Relu(), Conv(8, 2), LayerNorm(), Erf(), GlobalAveragePool()],
    "valid": lambda: [Conv(8, 2, 1.2, 0.3, padding="VALID"), Relu(), AveragePool(2, 1), GlobalSumPool()],
    "attention": lambda: [
        Dense(8, 1.2, 0.3),
        attention(8, causal=True, positions=embedding(8, "sum"), draws=32),
        GlobalAveragePool(),
    ],
    "relu": lambda: [Dense(8, 1.2, 0.3), attention(8, "relu"), Relu(), GlobalAveragePool()],
    "fixed": lambda: [Conv(8, 3), Dropout(0.8), attention(8, "softmax", "1/d"), GlobalSumPool()],
    "residual": lambda: [
        Dense(8),
        residual(Serial([Erf(), Conv(8, 3)])),
        Relu(),
        AveragePool(3, 1, "SAME"),
        GlobalAveragePool(),
    ],
}


@pytest.mark.parametrize("name", PIECES)
def test_padded_fields_are_the_fields_alone(name):
    net = Serial([*PIECES[name](), Dense(1, 1.1, 0.2)])
    one, other = fields(1, length=3, seed=1)[0], fields(1, length=5, seed=2)[0]
    x = padded([one, other]).at[0, 3:, :-1].set(7.0)  # what stands at empty positions is not looked at
    # positional parameters are those of the longest sequence
    params, _ = Masked(net).init(jax.random.key(0), x.shape[1:])
    short = jax.tree.map(lambda leaf: leaf[:3] if leaf.ndim == 2 and len(leaf) == 5 else leaf, params)
    exact = name != "attention"  # an embedding with a decay mixes its parameters over the whole grid
    if exact:
        np.testing.assert_allclose(Masked(net).apply(params, x[0]), net.apply(short, one), rtol=1e-12)
    np.testing.assert_allclose(Masked(net).apply(params, x[1]), net.apply(params, other), rtol=1e-12)
    for kernel in (NNGPKernel, TangentKernel) if exact else (TangentKernel,):
        masked, alone = gram(kernel(Masked(net)), x), kernel(net)
        np.testing.assert_allclose(masked[1, 1], alone.diagonal(other[None])[0], rtol=1e-11)
        if exact:  # draws for another number of positions are other draws
            np.testing.assert_allclose(masked[0, 0], alone.diagonal(one[None])[0], rtol=1e-11)
    if not exact:
        estimates = [
            with_standard_error(TangentKernel(n), a, key=jax.random.key(2), replicates=16)
            for n, a in ((Masked(net), x[:1]), (net, one[None]))
        ]
        difference = abs(float(estimates[0].mean[0, 0] - estimates[1].mean[0, 0]))
        assert difference <= QUANTILE * float(jnp.hypot(*(e.standard_error[0, 0] for e in estimates)))


@pytest.mark.parametrize("readout", [Flatten(), GlobalAveragePool()], ids=["flatten", "mean"])
def test_kernels_between_different_lengths_are_those_of_finite_networks(readout):
    x = padded([fields(1, length=2, seed=1)[0], fields(1, length=4, seed=2)[0]])
    build = lambda n: Masked(Serial([Conv(n, 3, 1.2, 0.3), Relu(), readout, Dense(1, 1.1, 0.2)]))
    inner = build(256).network
    assert isinstance(inner, Serial)
    hidden = Serial(inner.layers[:-1])

    @jax.jit
    def features(key):
        params, _ = inner.init(key, (4, 2))
        return jax.vmap(lambda a: Masked(hidden).apply(params[:-1], a))(x)

    found = jax.lax.map(features, jax.random.split(jax.random.key(3), 64))
    values = np.asarray(1.1**2 * jnp.einsum("knc,kmc->knm", found, found) / found.shape[-1] + 0.2**2)
    error = values.std(axis=0, ddof=1) / 8
    assert (np.abs(values.mean(axis=0) - gram(NNGPKernel(build(8)), x)) <= QUANTILE * error).all()


def test_masks_agree_with_and_without_pairs_of_positions():
    # Flatten needs equal positions alone; a mean over windows of one position needs all pairs and changes nothing.
    x = padded([fields(1, length=2, seed=1)[0], fields(1, length=4, seed=2)[0]])
    bare, pairs = (
        Masked(Serial([Conv(4, 3, 1.2, 0.3), Elementwise(jnp.tanh, 16), *more, Flatten(), Dense(1)]))
        for more in ([], [AveragePool(1)])
    )
    for kernel in (NNGPKernel, TangentKernel):
        np.testing.assert_allclose(gram(kernel(bare), x), gram(kernel(pairs), x), rtol=1e-12)
