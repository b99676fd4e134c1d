"""Concatenations, products and contractions against second routes, and what a user may get wrong with them."""

import itertools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from lemmata.architectures import (
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    Dense,
    Dropout,
    Embedding,
    Erf,
    Flatten,
    Gelu,
    GlobalAveragePool,
    Identity,
    LayerNorm,
    Masked,
    Multiply,
    NNGPKernel,
    Parallel,
    Patches,
    Relu,
    Serial,
    State,
    SumPool,
    TangentKernel,
    Window,
    padded,
    residual,
    tangent_gram,
)
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import gram

EPS = np.finfo(np.float64).eps
D, SKIP = Dense(3), Identity()


def tangent(network, x):
    """The tangent kernel, which is made of every other moment."""
    return np.asarray(gram(TangentKernel(network), x))


def fields(*shape, seed=3):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


# Branches, and the same function without them.
SAME = {
    "activation-in-branches": (
        [Concatenate([Dense(6, 1.1, 0.3), Dense(6, 1.1, 0.3)]), D],
        [Dense(12, 1.1, 0.3), D],
    ),
    "flat-and-nested": (
        [D, Concatenate([SKIP, Concatenate([Relu(), Dense(5)])]), LayerNorm(0.1), D],
        [D, Concatenate([SKIP, Relu(), Dense(5)]), LayerNorm(0.1), D],
    ),
    "nested-products": (
        [D, Multiply([Multiply([SKIP, Serial([D, Erf()])]), D]), D],
        [D, Multiply([SKIP, Serial([D, Erf()]), D]), D],
    ),
    "single": (
        [D, Concatenate([SKIP]), Multiply([SKIP]), Contract(1.0, ",...->..."), Relu(), D],
        [D, Relu(), D],
    ),
    "number": ([Contract(-2.0, ",...->..."), LayerNorm(0.4), D, Relu(), D], [LayerNorm(0.1), D, Relu(), D]),
}


@pytest.mark.parametrize("name", SAME)
def test_two_forms_of_one_network(name):
    one, other = (Serial(layers) for layers in SAME[name])
    np.testing.assert_allclose(tangent(one, fields(4, 3)), tangent(other, fields(4, 3)), rtol=1000 * EPS, atol=1e-14)


def window_matrix(length, size):
    return np.array([[float(p <= q < p + size) for q in range(length)] for p in range(length - size + 1)])


# Pools and flattened columns as contractions.
POOLS = {
    "average": (GlobalAveragePool(), Contract(1 / 12, ",hw->")),
    "windows": (
        Serial([SumPool((2, 3), 1), Flatten()]),
        Serial(
            [Contract(np.einsum("ph,qw->pqhw", window_matrix(4, 2), window_matrix(3, 3)), "pqhw,hw->pq"), Flatten()]
        ),
    ),
    "turned": (Flatten(), Serial([Contract(1.0, ",hw->wh"), Flatten()])),
}


@pytest.mark.parametrize("name", POOLS)
def test_pools_are_contractions(name):
    x = fields(3, 4, 3, 2)
    body = lambda end: Serial([Conv(5, (2, 2), 1.2, 0.3), Gelu(), end, LayerNorm(0.1), D])
    pool, contraction = map(body, POOLS[name])
    np.testing.assert_allclose(tangent(contraction, x), tangent(pool, x), rtol=1e4 * EPS)
    params, _ = contraction.init(jax.random.key(0), (4, 3, 2))
    if name != "turned":
        np.testing.assert_allclose(contraction.apply(params, x[0]), pool.apply(params, x[0]), atol=1e-13)


def test_new_axes_and_weights_of_a_contraction():
    x, a = fields(2, 4, 3), fields(5, 4, seed=1)
    layer = Contract(a, "kh,h->hk")
    params, shape = layer.init(jax.random.key(0), (4, 3))
    assert shape == (4, 5, 3)
    np.testing.assert_allclose(layer.apply(params, x[0]), jnp.einsum("kh,hc->hkc", a, x[0]), rtol=10 * EPS)
    # equal positions alone, and all pairs of them, whose mean is one contraction
    network = Serial([layer, Contract(1.0, ",hk->"), Dense(1)])
    sums = jnp.einsum("kh,nhc->nc", a, x)
    np.testing.assert_allclose(gram(NNGPKernel(network), x), sums @ sums.T / 3, rtol=1000 * EPS)
    flat = jnp.einsum("kh,nhc->nhkc", a, x).reshape(2, -1)
    np.testing.assert_allclose(
        gram(NNGPKernel(Serial([layer, Flatten(), Dense(1)])), x), flat @ flat.T / 60, rtol=1000 * EPS
    )


PREFIX = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]  # means over all positions so far
MASKED = {
    "positions": lambda length: [Concatenate([Conv(6, 2), Serial([Conv(6, 3), Relu()])], axis=0)],
    "mixed": lambda length: [
        Conv(6, 2), LayerNorm(0.1),
        Concatenate([residual(Multiply([SKIP, Conv(6, 3, 1.2, 0.3)])), Serial([Conv(4, 2), Gelu()])]),
        Contract(PREFIX[:length, :length], "pq,q->p"), AveragePool(2, 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", MASKED)
def test_a_padded_sequence_is_the_sequence_alone(name):
    short, long = fields(3, 2), fields(5, 2, seed=4)
    build = lambda length: Serial([*MASKED[name](length), GlobalAveragePool(), Dense(1)])
    x = padded([short, long]).at[0, 3:, :2].set(7.0)  # what stands at empty positions is not looked at
    masked = tangent(Masked(build(5)), x)
    for index, point in enumerate((short, long)):
        alone = tangent(build(len(point)), point[None])[0, 0]
        np.testing.assert_allclose(masked[index, index], alone, rtol=1000 * EPS)
    params, _ = Masked(build(5)).init(jax.random.key(0), (5, 3))
    found = Masked(build(5)).apply(params, x[0])
    np.testing.assert_allclose(found, build(3).apply(params, short), rtol=1000 * EPS)


@pytest.mark.parametrize("axis", [1, -1])
def test_gradients_of_branches_are_factors(axis):
    part = Serial([Multiply([Conv(4, (2, 2), 1.1, 0.3), Serial([Conv(4, (2, 2)), Erf()]), Conv(4, (1, 1))])])
    network = Serial([Concatenate([part, Conv(4, (2, 2))], axis=axis), Flatten(), Dense(2)])
    params, _ = network.init(jax.random.key(1), (3, 2, 2))
    x = fields(3, 3, 2, 2)
    rows = jax.vmap(lambda a: jax.jacrev(lambda p: network.apply(p, a))(params))(x)
    flat = jnp.concatenate([leaf.reshape(3, 2, -1) for leaf in jax.tree.leaves(rows)], axis=2)
    np.testing.assert_allclose(
        tangent_gram(network, params, x), jnp.einsum("iap,jbp->ijab", flat, flat), rtol=1e-11, atol=1e-13
    )


class Given(Identity):
    """A drawn layer of given moments."""

    moments: State

    def push(self, state):
        return self.moments.replace(law=state.law.drawn())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_within_the_range_of_the_type_and_their_versines(dtype):
    largest, eps = (1e30, 1e-25), np.finfo(dtype).eps
    if dtype == "float64":
        largest = (1e250, 1e-220)
    rng = np.random.default_rng(0)
    for order in itertools.permutations((largest[0], largest[1], largest[1])):
        factors = []
        for scale in order:
            c, t = rng.uniform(-1, 1), rng.normal()
            versine = 1e-12 * rng.uniform()
            values = (scale * (c if scale == order[0] else 1 - versine), scale * t, scale, scale)
            nngp, ntk, xx, yy = (jnp.asarray([value], dtype) for value in values)
            known = jnp.asarray([1 - abs(c) if scale == order[0] else versine], dtype)
            factors.append(State(nngp, ntk, xx, yy, 3, versine=known))
        product = Multiply([Given(factor) for factor in factors]).push(factors[0])
        exact = [[mp.mpf(float(getattr(part, name)[0])) for part in factors] for name in ("nngp", "ntk", "versine")]
        nngp, ntk, versine = exact
        truth = {
            "nngp": mp.fprod(nngp),
            "ntk": mp.fsum(t * mp.fprod(k for c, k in enumerate(nngp) if c != b) for b, t in enumerate(ntk)),
            "versine": 1 - mp.fprod(1 - v for v in versine),
        }
        for name, value in truth.items():
            found = getattr(product, name)
            assert found.dtype == dtype
            allowed = (
                16
                * eps
                * (
                    abs(value)
                    if name != "ntk"
                    else mp.fsum(abs(mp.fprod(nngp) * t / k) for t, k in zip(ntk, nngp, strict=True))
                )
            )
            assert abs(mp.mpf(float(found[0])) - value) <= allowed, (name, order)


X, F = jnp.eye(3), jnp.ones((2, 4, 3))
POOL = [GlobalAveragePool(), D]
# Networks whose infinite width the second moments do not give, their points, and what the refusal says.
REFUSED = {
    "activation-of-a-concatenation": ([Concatenate([D, D]), Relu(), D], X, "each concatenated branch"),
    "activation-of-a-product": ([Multiply([D, D]), Relu(), D], X, "of a product"),
    "product-of-skips": ([D, Multiply([SKIP, SKIP]), D], X, r"branches \[0, 1\]"),
    "product-of-activations": ([D, Multiply([D, Relu(), Gelu()]), D], X, r"branches \[1, 2\]"),
    "product-with-nested-skip": ([D, Multiply([residual(D), SKIP]), D], X, r"branches \[0, 1\]"),
    "product-of-concatenations": (
        [D, Multiply([Concatenate([D, D]), Concatenate([Dense(4), Dense(2)])]), D], X, r"branches \[0, 1\]",
    ),
    "product-of-flattened": ([Multiply([Serial([D, Flatten()])] * 2), D], F, r"branches \[0, 1\]"),
    "product-of-patches": ([Multiply([Serial([D, Patches(Window(2))])] * 2), Flatten(), D], F, r"branches \[0, 1\]"),
    "product-in-a-sum-of-skips": (
        [D, Multiply([Parallel([Multiply([SKIP, D]), D]), SKIP]), D], X, r"Multiply.*branches \[0, 1\]",
    ),
    "product-of-inputs": ([Multiply([SKIP, D]), D], X, "inputs of the network"),
    "sum-of-products-with-means": (
        [D, Parallel([Multiply([Relu(), Serial([D, Relu()])]), SKIP]), D], X, r"Parallel.*\[0, 1\]",
    ),
    "dropout-of-concatenated-inputs": ([Concatenate([SKIP, D]), Dropout(0.5), D], X, "the network.s own inputs"),
    "positions-of-skips": ([D, Concatenate([SKIP, SKIP], axis=0), *POOL], F, r"Concatenate.*\[0, 1\]"),
    "positions-of-inputs": ([Concatenate([SKIP, D], axis=0), *POOL], F, "inputs of the network"),
    "widths-of-a-product": ([Multiply([D, Dense(4)]), D], X, r"\[3, 4\]"),
    "grids": ([Concatenate([D, Serial([D, AveragePool(2)])]), *POOL], F, r"except along the coordinates"),
    "coordinates-of-positions": ([Concatenate([D, Dense(4)], axis=0), *POOL], F, r"except along the axis 0"),
    "tokens": ([Concatenate([Embedding(4, 3), D]), D], X, "all branches read tokens"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_limit_that_the_moments_do_not_give_is_refused(name):
    layers, x, words = REFUSED[name]
    for kind in (NNGPKernel, TangentKernel):
        with pytest.raises(SettingError, match=words):
            gram(kind(Serial(layers)), x)


ALLOWED = {
    "activations-side-by-side": [D, Concatenate([Relu(), Gelu(), SKIP]), LayerNorm(), D],
    "inputs-beside-dense": [Concatenate([SKIP, D]), LayerNorm(), D],
    "gate-beside-skip": [D, residual(Multiply([Serial([D, Relu()]), D])), LayerNorm(), D],
    "two-products-of-a-skip": [D, Parallel([Multiply([SKIP, D]), Multiply([SKIP, D]), SKIP]), D],
    "product-of-dropouts": [D, Multiply([Serial([D, Dropout(0.5)]), Serial([D, Relu(), Dropout(0.5)])]), D],
    "concatenation-times-dense": [D, Multiply([Concatenate([SKIP, D]), Dense(6)]), LayerNorm(), D],
    "single-branches": [Multiply([SKIP]), Concatenate([D]), Relu(), Contract(2.0, ",...->..."), Dropout(0.5), D],
}


@pytest.mark.parametrize("layers", ALLOWED.values(), ids=ALLOWED)
def test_a_limit_that_the_moments_give(layers):
    assert jnp.isfinite(TangentKernel(Serial(layers)).cross(X, X + 1.0)).all()


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Concatenate([]), "branches of Concatenate; found none"),
        (lambda: Multiply([]), "branches of Multiply; found none"),
        (lambda: Multiply([D, jnp.tanh]), "branch 1 of Multiply"),
        (lambda: Concatenate([D], axis=0.5), "axis of Concatenate"),
        (lambda: Contract([1.0, float("nan")], "h,h->"), "array of Contract.*finite"),
        (lambda: Contract(1.0, "h->h"), "array,positions->new positions"),
        (lambda: Contract([1.0], "hw,hw->"), r"1 letters for the array, because its shape is \(1,\)"),
        (lambda: Contract(1.0, ",hh->h"), "different letters within each part"),
        (lambda: Contract(1.0, ",h->k"), "new positions whose letters"),
        (lambda: Contract([1.0], "k,h->h"), "axes of the array whose letters"),
        (lambda: Contract(1.0, ",...->"), r"or in neither"),
    ],
)
def test_settings_out_of_bounds(build, words):
    with pytest.raises(SettingError, match=words):
        build()


def test_complex_numbers_are_refused():
    with pytest.raises(DataError, match=r"array.*complex128.*real"):
        Contract(1j, ",h->h")


def test_shapes_that_do_not_fit():
    matrix = Contract(np.eye(4), "gh,hw->gw")
    for layer, x, words in (
        (matrix, jnp.ones((2, 3, 2, 1)), r"found a grid of shape \(3, 2\).*the array of shape \(4, 4\)"),
        (matrix, F, r"found a grid of shape \(4,\)"),
        (Contract(np.ones(2), "k,...->...k"), X, r"vectors.*a grid of positions of shape \(2,\)"),
        (Concatenate([D, D], axis=2), F, "outputs of the branches.*2 axes.*axis=2.*axis=-1"),
    ):
        with pytest.raises(ShapeError, match=words):
            gram(NNGPKernel(Serial([D, layer, Flatten(), D])), x)
    with pytest.raises(SettingError, match=r"\[\(4, 3\), \(4, 5\)\]"):
        Concatenate([D, Dense(5)], axis=0).init(jax.random.key(0), (4, 3))
    assert Concatenate([D, Dense(5)]).init(jax.random.key(0), (4, 3))[1] == (4, 8)
    assert Concatenate([D, Dense(5)]).init(jax.random.key(0), 4)[1] == 8
