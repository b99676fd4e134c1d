"""Transformers on disk."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from lemmata.errors import DataError
from lemmata.functions import GaussianBumps
from lemmata.networks import construct_transformer, transformer, transformer_layers
from lemmata.storage import load_layers, load_transformer, save_transformer


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
    stored, fresh = transformer(load_layers(file), tokens), transformer(transformer_layers(model), tokens)
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
    with pytest.raises(DataError, match="can be written"):
        save_transformer(model, tmp_path / "nowhere" / "model.safetensors")


def earlier(opened):
    """The metadata as versions wrote them that had no digest."""
    own = opened.metadata()
    del own["digest"]
    return own | {"format": "lemmata in-context transformer 1"}


def damaged(tensors, metadata, what):
    settings = json.loads(metadata["settings"])
    changes = {
        "no settings": lambda: metadata.pop("settings"),
        "no JSON": lambda: metadata.update(settings="{"),
        "another setting": lambda: metadata.update(settings=json.dumps(settings | {"color": 1})),
        "text for a number": lambda: metadata.update(settings=json.dumps(settings | {"layers": "3"})),
        "an even depth": lambda: metadata.update(settings=json.dumps(settings | {"layers": 4})),
        "fewer thresholds": lambda: tensors.update(thresholds=tensors["thresholds"][:1]),
        "NaN": lambda: tensors.update(thresholds=np.nan * tensors["thresholds"]),
        "a missing tensor": lambda: tensors.pop("omega"),
        "whole numbers": lambda: tensors.update(omega=tensors["omega"].astype(np.int32)),
        "truth values": lambda: tensors.update(sharpness=np.asarray(True)),
        "settings in depth": lambda: metadata.update(settings="[" * 100_000),
    }
    changes[what]()


@pytest.mark.parametrize(
    "what",
    ["no settings", "no JSON", "another setting", "text for a number", "an even depth", "fewer thresholds", "NaN",
     "a missing tensor", "whole numbers", "truth values", "settings in depth"],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path, what):
    model = construct_transformer(GaussianBumps(1), 2, 3, examples=4, key=jax.random.key(1))
    file = save_transformer(model, tmp_path / "model.safetensors")
    with safe_open(file, framework="numpy") as opened:
        metadata, tensors = earlier(opened), {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    damaged(tensors, metadata, what)
    save_file(tensors, file, metadata)
    with pytest.raises(DataError, match="damaged"):
        load_transformer(file)


@pytest.mark.parametrize(("kind", "words"), [(np.int64, "int64"), (np.bool_, "bool")])
def test_layers_of_other_numbers_are_refused(tmp_path, kind, words):
    model = construct_transformer(GaussianBumps(1), 2, 3, examples=4, key=jax.random.key(1))
    file = save_transformer(model, tmp_path / "model.safetensors", explicit=True)
    with safe_open(file, framework="numpy") as opened:
        metadata, tensors = earlier(opened), {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    save_file(tensors | {"layers.0.inner": tensors["layers.0.inner"].astype(kind)}, file, metadata)
    with pytest.raises(DataError, match=rf"tensor layers\.0\.inner holds {words}"):
        load_layers(file)


@pytest.mark.parametrize("order", ["[]x", "[0, 9]", "[null]", "[" * 100_000, '{"a": 1}', "5"])
def test_damaged_layers_are_refused(tmp_path, order):
    model = construct_transformer(GaussianBumps(1), 2, 3, examples=4, key=jax.random.key(1))
    file = save_transformer(model, tmp_path / "model.safetensors", explicit=True)
    with safe_open(file, framework="numpy") as opened:
        metadata, tensors = earlier(opened), {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    save_file(tensors, file, metadata | {"order": order})
    with pytest.raises(DataError, match="damaged"):
        load_layers(file)
