"""Tiles and kernels against loops over tokens and automatic differentiation; what is refused; memory."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.attention import flash_sigmoid, sigmoid_attention, softmax_attention, tiled_attention
from lemmata.subjects.attention._dense import check_causal, check_head


def head(n, d=5, p=3, dtype=np.float64):
    rng = np.random.default_rng(n)
    return tuple(jnp.asarray(rng.normal(size=(n, w)), dtype) for w in (d, d, p))


def by_hand(q, k, v, kind, bias, causal, slope):
    """Token by token."""
    q, k, v = (np.asarray(a, float) for a in (q, k, v))
    out = np.zeros_like(v)
    for i in range(len(q)):
        seen = range(i + 1) if causal else range(len(q))
        logits = np.array([q[i] @ k[j] / math.sqrt(q.shape[1]) - slope * abs(i - j) for j in seen])
        weights = 1 / (1 + np.exp(-logits - bias)) if kind == "sigmoid" else np.exp(logits)
        if kind == "softmax":
            weights = weights / weights.sum()
        out[i] = sum(w * v[j] for w, j in zip(weights, seen, strict=True))
    return out


@pytest.mark.parametrize(("causal", "slope"), [(False, 0.0), (True, 0.0), (False, 0.3), (True, 0.3)])
def test_whole_matrices_and_tiles_against_loops(causal, slope):
    q, k, v = head(7)
    sigmoid = by_hand(q, k, v, "sigmoid", -math.log(7), causal, slope)
    softmax = by_hand(q, k, v, "softmax", 0.0, causal, slope)
    how = {"causal": causal, "slope": slope}
    assert np.allclose(sigmoid_attention(q, k, v, **how), sigmoid, rtol=1e-13)
    assert np.allclose(softmax_attention(q, k, v, **how), softmax, rtol=1e-13)
    for block in (3, 7, 100):
        assert np.allclose(tiled_attention(q, k, v, block=block, **how), sigmoid, rtol=1e-13)
        assert np.allclose(tiled_attention(q, k, v, kind="softmax", block=block, **how), softmax, rtol=1e-13)


def derivatives(attention, heads):
    weight = jnp.cos(jnp.arange(heads[2].size, dtype=heads[2].dtype)).reshape(heads[2].shape)
    return jax.grad(lambda *a: jnp.sum(weight * attention(*a)), argnums=(0, 1, 2))(*heads)


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
@pytest.mark.parametrize(("n", "causal", "slope"), [(8, False, 0.0), (7, True, 0.2)])
def test_derivatives_of_tiles_are_those_of_the_whole_matrix(kind, n, causal, slope):
    dense = sigmoid_attention if kind == "sigmoid" else softmax_attention
    heads, how = head(n), {"causal": causal, "slope": slope}
    whole = derivatives(lambda *a: dense(*a, **how), heads)
    tiles = derivatives(lambda *a: tiled_attention(*a, kind=kind, block=4, **how), heads)
    for one, other in zip(whole, tiles, strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
@pytest.mark.parametrize(("n", "causal", "slope"), [(8, False, 0.0), (7, True, 0.2)])
def test_derivatives_in_forward_mode_are_those_of_the_whole_matrix(kind, n, causal, slope):
    dense = sigmoid_attention if kind == "sigmoid" else softmax_attention
    heads, how = head(n), {"causal": causal, "slope": slope}
    along = tuple(jnp.cos(3 * part) for part in heads)
    whole = lambda *a: dense(*a, **how)
    tiles = lambda *a: tiled_attention(*a, kind=kind, block=4, **how)
    for one, other in zip(jax.jvp(whole, heads, along), jax.jvp(tiles, heads, along), strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-13)
    curved = lambda attention: jax.jvp(lambda *a: derivatives(attention, a), heads, along)[1]
    for one, other in zip(curved(whole), curved(tiles), strict=True):
        assert np.allclose(one, other, rtol=1e-11, atol=1e-12)
    columns = jax.jit(jax.jacfwd(lambda v: tiles(heads[0], heads[1], v)))(heads[2])
    assert np.allclose(columns, jax.jacrev(lambda v: whole(heads[0], heads[1], v))(heads[2]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("n", "bias", "causal", "slope"), [(7, None, False, 0.0), (8, None, True, 0.0), (9, 0.0, True, 0.3)]
)
def test_kernels_in_single_precision_against_automatic_differentiation(n, bias, causal, slope):
    heads, how = head(n, dtype=np.float32), {"bias": bias, "causal": causal, "slope": slope}
    kernel = lambda *a: flash_sigmoid(*a, block=4, interpret=True, **how)
    assert kernel(*heads).dtype == jnp.float32
    assert np.allclose(kernel(*heads), sigmoid_attention(*heads, **how), atol=1e-5)
    whole = derivatives(lambda *a: sigmoid_attention(*a, **how), heads)
    for one, other in zip(whole, derivatives(kernel, heads), strict=True):
        assert np.allclose(one, other, atol=1e-5)


def test_kernels_keep_small_weights_in_single_precision():
    """Logits of -20: in the form by tanh the weight 2.06e-9 is 0 in float32."""
    zero, ones = jnp.zeros((8, 2), jnp.float32), jnp.ones((8, 1), jnp.float32)
    found = np.asarray(flash_sigmoid(zero, zero, ones, bias=-20.0, block=4, interpret=True), float)
    assert np.allclose(found, 8 / (1 + math.exp(20)), rtol=64 * np.finfo(np.float32).eps, atol=0)


def test_heads_are_mapped():
    q, k, v = (jnp.stack([a, 2 * a]) for a in head(6))
    found = jax.vmap(lambda *a: tiled_attention(*a, block=4))(q, k, v)
    assert np.allclose(found[1], sigmoid_attention(q[1], k[1], v[1]))
    assert np.allclose(jax.vmap(lambda *a: flash_sigmoid(*a, block=4))(q, k, v), found)


def test_a_mask_is_what_is_seen():
    q, k, v = head(6)
    lower = jnp.tril(jnp.ones((6, 6), bool))
    assert np.array_equal(sigmoid_attention(q, k, v, mask=lower), sigmoid_attention(q, k, v, causal=True))
    assert np.array_equal(softmax_attention(q, k, v, mask=lower), softmax_attention(q, k, v, causal=True))
    assert not sigmoid_attention(q, k, v, mask=~lower)[-1].any()
    with pytest.raises(DataError, match="every token from token 5"):
        softmax_attention(q, k, v, mask=~lower)
    with pytest.raises(ShapeError, match="mask"):
        sigmoid_attention(q, k, v, mask=lower[:3])


@pytest.mark.parametrize("attention", [sigmoid_attention, softmax_attention, tiled_attention, flash_sigmoid])
def test_what_is_no_head_is_refused(attention):
    q, k, v = head(6)
    for wrong in ((q[:0], k[:0], v[:0]), (q, k[:5], v), (q, k[:, :4], v), (q, k, v[:5])):
        with pytest.raises(ShapeError):
            attention(*wrong)
    with pytest.raises(DataError, match="values"):
        attention(q, k, v.at[0, 0].set(jnp.nan))
    with pytest.raises(PrecisionError):
        attention(q.astype(jnp.float16), k, v)
    with pytest.raises(SettingError, match="slope"):
        attention(q, k, v, slope=-1.0)


def test_settings_that_mean_nothing_are_refused():
    heads = head(6)
    for attention in (tiled_attention, flash_sigmoid):
        for block in (0, -3, True):
            with pytest.raises(SettingError, match="block"):
                attention(*heads, block=block)
    for attention in (sigmoid_attention, tiled_attention, flash_sigmoid):
        with pytest.raises(SettingError, match="bias"):
            attention(*heads, bias=math.nan)
    with pytest.raises(SettingError, match="softmax"):
        tiled_attention(*heads, kind="softmax", bias=0.0)


def test_batches_and_whole_numbers_are_no_head():
    q, k, v = head(6)
    with pytest.raises(ShapeError, match="map over heads"):
        check_head(q[None], k[None], v[None])
    with pytest.raises(DataError, match="queries"):
        check_head(jnp.ones((6, 5), int), k, v)


@pytest.mark.parametrize("derived", [False, True])
def test_tiles_take_a_tenth_of_the_memory(derived):
    """At 1024 tokens a block of 64 queries is a sixteenth of the logits."""
    heads = head(1024, 16, 16, np.float32)

    def held(attention):
        program = (lambda *a: derivatives(attention, a)) if derived else attention
        found = jax.jit(program).lower(*heads).compile().memory_analysis()
        return found.temp_size_in_bytes + found.output_size_in_bytes

    assert held(lambda *a: tiled_attention(*a, block=64)) < held(sigmoid_attention) / (6 if derived else 10)


@pytest.mark.parametrize("attention", [sigmoid_attention, softmax_attention])
@pytest.mark.parametrize("wrong", [2 * np.ones((6, 6), int), np.zeros((6, 6)), [["yes"] * 6] * 6])
def test_a_mask_that_is_not_of_booleans_is_refused(types_unchecked, attention, wrong):
    with pytest.raises(DataError, match="mask; found"):
        attention(*head(6), mask=wrong)


@pytest.mark.parametrize("attention", [sigmoid_attention, tiled_attention, flash_sigmoid])
@pytest.mark.parametrize("name", ["bias", "slope"])
@pytest.mark.parametrize("wrong", ["a", math.inf, True, [0.1, 0.2]])
def test_numbers_that_are_none_are_named(types_unchecked, attention, name, wrong):
    with pytest.raises(SettingError, match=f"^{name}; found"):
        attention(*head(6), **{name: wrong})
    q, k, v = head(6)
    assert np.allclose(attention(q, k.tolist(), v), attention(q, k, v))


def test_a_traced_bias_is_taken_by_the_whole_matrix_and_refused_by_tiles(types_unchecked):
    heads, total = head(6), lambda attention: lambda bias: jnp.sum(attention(*heads, bias=bias))
    slope = jax.grad(total(sigmoid_attention))(0.3)
    apart = total(sigmoid_attention)(0.3 + 1e-5) - total(sigmoid_attention)(0.3 - 1e-5)
    assert float(slope) == pytest.approx(float(apart) / 2e-5, rel=1e-7)
    assert jax.jit(total(sigmoid_attention))(0.3) == pytest.approx(float(total(sigmoid_attention)(0.3)))
    for attention in (tiled_attention, flash_sigmoid):
        for transformed in (jax.grad, jax.jit):
            with pytest.raises(SettingError, match="bias; found a traced number"):
                transformed(total(attention))(0.3)
    for attention in (sigmoid_attention, softmax_attention, tiled_attention, flash_sigmoid):
        with pytest.raises(SettingError, match="slope; found a traced number"):
            jax.jit(lambda slope, attention=attention: attention(*heads, slope=slope))(0.3)


@pytest.mark.parametrize("attention", [tiled_attention, flash_sigmoid])
def test_heads_of_two_precisions(attention):
    q, k, v = head(7)
    k = k.astype(jnp.float32)
    tiles = derivatives(lambda *a: attention(*a, block=4), (q, k, v))
    for one, other in zip(derivatives(sigmoid_attention, (q, k, v)), tiles, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("attention", [softmax_attention, functools.partial(tiled_attention, kind="softmax")])
def test_logits_that_overflow_and_causal_texts_are_refused(attention):
    huge, values = jnp.full((3, 2), 1e200), jnp.ones((3, 1))
    with pytest.raises(DataError, match="outputs of attention; found 3 tokens"):
        attention(huge, huge, values)
    with pytest.raises((SettingError, TypeCheckError), match="causal"):
        attention(values, values, values, causal="no")
    with pytest.raises(SettingError, match="causal; found 'no'"):
        check_causal("no")
