"""Transformers on disk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.chapters.in_context.classes import GaussianBumps
from lemmata.chapters.in_context.construction import construct_transformer, weights
from lemmata.chapters.in_context.storage import load_layers, load_transformer, save_transformer
from lemmata.errors import DataError
from lemmata.networks import transformer


@pytest.mark.parametrize("accelerated", [False, True])
def test_round_trip(tmp_path, accelerated):
    model = construct_transformer(
        GaussianBumps(2), 6, 9, examples=12, key=jax.random.key(1), accelerated=accelerated, penalty=0.02
    )
    file = save_transformer(model, tmp_path / "model.safetensors", explicit=True)
    again = load_transformer(file)
    assert jax.tree.structure(again) == jax.tree.structure(model)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(model), strict=True))
    x, y = jnp.linspace(-0.5, 0.5, 24).reshape(12, 2), jnp.linspace(0, 1, 12)
    tokens = model.tokens(x, y, x[3])
    stored, fresh = transformer(load_layers(file), tokens), transformer(weights(model), tokens)
    assert len(stored) == 10
    assert np.array_equal(stored[-1], fresh[-1])
    assert float(jnp.abs(stored[-1][-1, -1])) > 0


def test_what_is_not_there_is_named(tmp_path):
    model = construct_transformer(GaussianBumps(1), 2, 3, examples=4, key=jax.random.key(1))
    file = save_transformer(model, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="explicit=True"):
        load_layers(file)
    with pytest.raises(DataError, match="exists"):
        load_transformer(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(DataError, match="safetensors file"):
        load_transformer(tmp_path / "text.safetensors")
