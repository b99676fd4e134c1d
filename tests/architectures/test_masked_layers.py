"""A finite layer on a padded sequence: it ignores the padding, and is the layer on the sequence alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Aggregate,
    Attention,
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    Dense,
    Flatten,
    GlobalAveragePool,
    GlobalSumPool,
    Identity,
    Index,
    Relu,
    Serial,
    StateSpace,
    SumPool,
    residual,
)

LAYERS = {
    "position by position": Serial([Dense(4, 1.0, 0.5), Relu()]),
    "convolution": Conv(4, 3, bias_std=0.5),
    "convolution within": Conv(4, 2, padding="VALID"),
    "mean of windows": AveragePool(2),
    "sum of windows": SumPool(2),
    "mean": GlobalAveragePool(),
    "sum": GlobalSumPool(),
    "state space": StateSpace(),
    "attention": Attention(4, 2),
    "a position": Index(1),
    "positions": Index(slice(1, None)),
    "number": Contract(2.0, ",h->h"),
    "two branches": Concatenate([Identity(), Conv(4, 3)]),
    "residual": residual(Conv(3, 3)),
    "several": Serial([Conv(4, 3, bias_std=0.5), Relu(), Conv(4, 3), GlobalAveragePool(), Dense(2, 1.0, 0.5)]),
}
OF_FIXED_LENGTH = {
    "aggregate": Aggregate(adjacency=jnp.arange(25.0).reshape(5, 5)),
    "flatten": Flatten(),
    "contraction": Contract(np.arange(1.0, 6.0), "h,h->"),
    "matrix": Contract(np.tril(np.arange(1.0, 26.0).reshape(5, 5)), "gh,h->g"),
}
LENGTH, FILLED = 5, 3


def applied(layer, x, mask, garbage):
    """The outputs of a layer on a field whose empty positions hold some garbage, and their mask."""
    params = layer.init(jax.random.key(1), x.shape)[0]
    return layer.apply_masked(params, jnp.where(mask[:, None], x, garbage), mask)


@pytest.mark.parametrize("holes", [[3, 4], [0, 2]])
@pytest.mark.parametrize("name", [*LAYERS, *OF_FIXED_LENGTH])
def test_what_stands_at_empty_positions_does_not_count(name, holes):
    layer, x = (LAYERS | OF_FIXED_LENGTH)[name], jax.random.normal(jax.random.key(0), (LENGTH, 3))
    mask = jnp.ones(LENGTH, bool).at[jnp.array(holes)].set(False)
    (zeros, visible), (others, same) = (applied(layer, x, mask, garbage) for garbage in (0.0, 1e3))
    rows = slice(None) if visible is None else np.asarray(visible)
    assert (visible is None) == (zeros.ndim == 1) == (same is None)
    assert visible is None or np.array_equal(visible, same)
    np.testing.assert_array_equal(np.asarray(zeros)[rows], np.asarray(others)[rows])


@pytest.mark.parametrize("name", LAYERS)
def test_a_padded_sequence_is_the_sequence(name):
    layer, x = LAYERS[name], jax.random.normal(jax.random.key(0), (LENGTH, 3))
    outputs, visible = applied(layer, x, jnp.arange(LENGTH) < FILLED, 1e3)
    alone = layer.apply(layer.init(jax.random.key(1), (FILLED, 3))[0], x[:FILLED])
    outputs = outputs if visible is None else outputs[np.asarray(visible)]
    assert outputs.shape == alone.shape
    np.testing.assert_allclose(np.asarray(outputs), np.asarray(alone), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", OF_FIXED_LENGTH)
def test_empty_positions_are_zeros_to_layers_of_fixed_length(name):
    layer, x = OF_FIXED_LENGTH[name], jax.random.normal(jax.random.key(0), (LENGTH, 3))
    mask = jnp.arange(LENGTH) < FILLED
    outputs, _ = applied(layer, x, mask, 1e3)
    zeros = layer.apply(layer.init(jax.random.key(1), x.shape)[0], jnp.where(mask[:, None], x, 0.0))
    np.testing.assert_array_equal(np.asarray(outputs), np.asarray(zeros))


def test_a_sum_is_filled_where_all_that_it_needs_is_filled():
    mask = jnp.arange(LENGTH) < FILLED
    matrix = OF_FIXED_LENGTH["matrix"]
    assert applied(matrix, jnp.ones((LENGTH, 3)), mask, 0.0)[1].tolist() == mask.tolist()
    upper = Contract(np.triu(np.ones((LENGTH, LENGTH))), "gh,h->g")
    assert not applied(upper, jnp.ones((LENGTH, 3)), mask, 0.0)[1].any()
