"""Block attention against loops over queries, masks and dense attention; derivatives, causality, costs, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.attention import (
    attended_mask,
    attended_pairs,
    block_attention,
    block_attention_kernel,
    block_means,
    block_scores,
    chosen_blocks,
    flash_sigmoid,
    key_convolution,
    masked_block_attention,
)


def rows(n: int, d: int = 4, e: int = 3, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(n, width)) for width in (d, d, e)]


def chosen_by_hand(q, k, block, count, causal):
    """Own block first, then the best of the others; -1 where there are none left."""
    starts = range(0, len(k), block)
    means = [k[s : s + block].mean(axis=0) for s in starts]
    found = np.full((len(q), min(count, len(means))), -1)
    for i, row in enumerate(q):
        own = i // block
        others = [b for b in range(len(means)) if b != own and (b < own or not causal)]
        order = [own, *sorted(others, key=lambda b: (-float(row @ means[b]), b))][: found.shape[1]]
        found[i, : len(order)] = order
    return found


def attention_by_hand(q, k, v, block, count, causal):
    chosen, out = chosen_by_hand(q, k, block, count, causal), []
    for i, row in enumerate(q):
        keys = [j for j in range(len(k)) if j // block in chosen[i] and (j <= i or not causal)]
        weights = np.exp(k[keys] @ row / np.sqrt(len(row)))
        out.append(weights @ v[keys] / weights.sum())
    return np.array(out)


CASES = [(13, 4, 2, True), (13, 4, 3, False), (9, 2, 9, True), (3, 8, 1, True)]


@pytest.mark.parametrize(("n", "block", "count", "causal"), CASES)
def test_rows_are_those_of_a_loop_over_queries(n, block, count, causal):
    q, k, v = rows(n)
    wanted = attention_by_hand(q, k, v, block, count, causal)
    setting = {"block": block, "count": count, "causal": causal}
    assert np.array_equal(
        chosen_blocks(jnp.asarray(q), jnp.asarray(k), block, count, causal=causal),
        chosen_by_hand(q, k, block, count, causal),
    )
    for attend in (masked_block_attention, block_attention):
        found = attend(jnp.asarray(q), jnp.asarray(k), jnp.asarray(v), **setting)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_tiles_change_neither_rows_nor_choices():
    q, k, v = map(jnp.asarray, rows(14))
    wanted = masked_block_attention(q, k, v, block=3, count=3)
    np.testing.assert_allclose(block_attention(q, k, v, block=3, count=3, tile=5), wanted, rtol=1e-12, atol=1e-13)
    assert np.array_equal(chosen_blocks(q, k, 3, 3, tile=2), chosen_blocks(q, k, 3, 3))


@pytest.mark.parametrize("causal", [True, False])
def test_the_kernel_takes_tiles_of_any_size_and_lengths(causal):
    q, k, v = rows(14)
    wanted = attention_by_hand(q, k, v, 3, 2, causal)
    found = block_attention_kernel(*map(jnp.asarray, (q, k, v)), block=3, count=2, causal=causal, tile=2)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_derivatives_go_through_attention_and_not_through_the_choice():
    q, k, v = map(jnp.asarray, rows(13))
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(13, 3)))
    total = lambda attend: lambda *a: jnp.sum(weights * attend(*a, block=4, count=2))
    found = jax.grad(total(block_attention), argnums=(0, 1, 2))(q, k, v)
    wanted = jax.grad(total(masked_block_attention), argnums=(0, 1, 2))(q, k, v)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    step = 1e-6 * jnp.asarray(np.random.default_rng(2).normal(size=k.shape))
    near = [chosen_by_hand(np.asarray(q), np.asarray(k + s * step), 4, 2, True) for s in (-1, 0, 1)]
    assert all(np.array_equal(near[1], other) for other in near)  # so that the function is smooth here
    slope = (total(block_attention)(q, k + step, v) - total(block_attention)(q, k - step, v)) / 2
    assert float(slope) == pytest.approx(float(jnp.sum(found[1] * step)), rel=1e-6)


@pytest.mark.parametrize("block", [4, 20])
@pytest.mark.parametrize("causal", [True, False])
def test_all_blocks_are_dense_attention(causal, block):
    q, k, v = rows(13)
    scores = np.where(np.tri(13, dtype=bool) | (not causal), q @ k.T / 2, -np.inf)
    found = block_attention(*map(jnp.asarray, (q, k, v)), block=block, count=99, causal=causal)
    np.testing.assert_allclose(found, softmax(scores, axis=1) @ v, rtol=1e-12, atol=1e-13)


def test_later_rows_change_nothing_before_them():
    q, k, v = map(jnp.asarray, rows(13))
    attend = lambda *a: block_attention(*a, block=4, count=2)
    before = attend(q, k, v)
    after = attend(q.at[9:].add(3.0), k.at[9:].add(-5.0), v.at[9:].add(7.0))
    assert np.array_equal(before[:9], after[:9])
    assert not np.allclose(before[9:], after[9:])


def test_of_equal_scores_the_earlier_block_is_chosen():
    keys = jnp.ones((8, 1))
    chosen = chosen_blocks(jnp.ones((8, 1)), keys, 2, 3, tile=1)
    assert chosen[6].tolist() == [3, 0, 1]
    assert chosen[0].tolist() == [0, -1, -1]
    assert chosen_blocks(jnp.ones((8, 1)), keys, 2, 3, causal=False)[0].tolist() == [0, 1, 2]


def test_scores_are_mean_products_of_a_block():
    q, k, _ = rows(10)
    products = q @ k.T
    wanted = np.stack([products[:, :4].mean(axis=1), products[:, 4:8].mean(axis=1), products[:, 8:].mean(axis=1)], 1)
    np.testing.assert_allclose(block_scores(jnp.asarray(q), jnp.asarray(k), 4), wanted, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(block_means(jnp.asarray(k), 4)[2], k[8:].mean(axis=0))


@pytest.mark.parametrize(("n", "block", "count", "causal"), [(13, 4, 2, True), (12, 4, 2, False), (13, 4, 9, False)])
def test_pairs_are_those_of_the_mask(n, block, count, causal):
    q, k, _ = map(jnp.asarray, rows(n))
    mask = attended_mask(chosen_blocks(q, k, block, count, causal=causal), block, causal=causal)
    assert attended_pairs(n, block, count, causal=causal) == int(mask.sum()) <= count * block * n


def test_no_array_has_all_pairs():
    q, k, v = map(jnp.asarray, rows(400))
    sizes = []

    def look(jaxpr):
        for equation in jaxpr.eqns:
            sizes.extend(variable.aval.size for variable in equation.outvars if hasattr(variable.aval, "size"))
            for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    look(getattr(inner, "jaxpr", inner))

    look(jax.make_jaxpr(lambda *a: block_attention(*a, block=4, count=2, tile=8))(q, k, v).jaxpr)
    assert len(sizes) > 50
    assert max(sizes) < 400 * 400 // 4


def test_what_is_refused():
    q, k, v = map(jnp.asarray, rows(6))
    for attend in (block_attention, masked_block_attention, block_attention_kernel):
        with pytest.raises(SettingError, match="block; found 0"):
            attend(q, k, v, block=0, count=1)
        with pytest.raises(SettingError, match="count; found 0"):
            attend(q, k, v, block=2, count=0)
        with pytest.raises(ShapeError, match="queries; found 5 queries for 6 keys"):
            attend(q[:5], k, v, block=2, count=1)
    with pytest.raises(ShapeError, match="values; found 5 values for 6 keys"):
        block_attention(q, k, v[:5], block=2, count=1)
    with pytest.raises(ShapeError, match="the same dimension"):
        block_scores(q[:, :2], k, 2)
    with pytest.raises(ShapeError, match="keys; found shape \\(0, 4\\)"):
        block_means(k[:0], 2)
    with pytest.raises(SettingError, match="tile; found 0"):
        chosen_blocks(q, k, 2, 1, tile=0)
    with pytest.raises(SettingError, match="tile; found 0"):
        block_attention(q, k, v, block=2, count=1, tile=0)
    with pytest.raises(DataError, match="queries"):
        chosen_blocks(q.at[0, 0].set(jnp.nan), k, 2, 1)
    with pytest.raises(SettingError, match="a multiple of the block size 2"):
        attended_pairs(7, 2, 1, causal=False)
    with pytest.raises(SettingError, match="block"):
        attended_mask(jnp.zeros((2, 1), int), 0)


@pytest.mark.parametrize("attend", [block_attention, masked_block_attention, block_attention_kernel])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_mistaken_rows_are_named(types_unchecked, attend, place):
    name = ("queries", "keys", "values")[place]
    for wrong, error in ((jnp.ones((6, 4), int), DataError), (jnp.ones(6), ShapeError)):
        given = [jnp.ones((6, 4))] * 3
        given[place] = wrong
        with pytest.raises(error, match=f"^{name}; found"):
            attend(*given, block=2, count=2)


def test_mistakes_in_choices_masks_and_filters_are_named(types_unchecked):
    q = jnp.ones((6, 4))
    with pytest.raises(DataError, match="keys; found type int"):
        chosen_blocks(q, q.astype(int), 2, 1)
    with pytest.raises(ShapeError, match=r"chosen; found shape \(6,\)"):
        attended_mask(jnp.zeros(6, int), 2)
    with pytest.raises(DataError, match="chosen; found the entry 'a'"):
        attended_mask([["a"], ["b"]], 2)
    with pytest.raises(DataError, match="filters; found the entry 'a'"):
        key_convolution(q, [["a"] * 4])


@pytest.mark.parametrize("single", [0, 1, 2])
def test_rows_of_two_precisions_are_those_of_the_better_one(single):
    given = list(map(jnp.asarray, rows(7)))
    given[single] = given[single].astype(jnp.float32)
    wanted = masked_block_attention(*(a.astype(float) for a in given), block=3, count=2)
    for attend in (block_attention, masked_block_attention, block_attention_kernel):
        np.testing.assert_allclose(attend(*given, block=3, count=2), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="kernels are compiled for an accelerator")
def test_a_kernel_is_not_compiled_for_a_processor():
    q = jnp.ones((6, 4))
    with pytest.raises(SettingError, match="interpret; found False"):
        block_attention_kernel(q, q, q, block=2, count=1, interpret=False)
    with pytest.raises(SettingError, match="interpret; found False"):
        flash_sigmoid(q, q, q, interpret=False)
