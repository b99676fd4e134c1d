"""Transformers on disk: what they are made of, or every weight, in safetensors files."""

import json
import pathlib

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lemmata.core import MemoryPlan, available_bytes
from lemmata.errors import DataError, MemoryPlanError
from lemmata.networks import Head, TransformerLayer

from .construction import InContextTransformer, weights
from .features import UniversalFeatures

_FORMAT = "lemmata in-context transformer 1"
_PARTS = ("omega", "thresholds", "sharpness", "penalty", "step", "temperature")


def save_transformer(model: InContextTransformer, path: str | pathlib.Path, *, explicit: bool = False) -> pathlib.Path:
    """Write a transformer to a safetensors file.

    Args:
        model: the transformer.
        path: the file.
        explicit: also the D x D matrices of every layer that differs from the ones before it, under
            `layers.<number>.inner`, `.outer` and `.heads.<number>.query`, `.key`, `.value`; the metadata's `order`
            lists which of them each of the L layers is.

    Raises:
        MemoryPlanError: where the matrices do not fit into memory.

    Example:
        >>> import jax, pathlib, tempfile
        >>> from lemmata.chapters.in_context.classes import GaussianBumps
        >>> from lemmata.chapters.in_context.construction import construct_transformer
        >>> from lemmata.chapters.in_context.storage import load_transformer, save_transformer
        >>> model = construct_transformer(GaussianBumps(2), 5, 7, examples=20, key=jax.random.key(0))
        >>> file = save_transformer(model, pathlib.Path(tempfile.mkdtemp()) / "model.safetensors")
        >>> load_transformer(file).width
        19
    """
    values = (model.features.omega, model.features.thresholds, model.features.sharpness, model.penalty, model.step)
    tensors = {name: np.asarray(value) for name, value in zip(_PARTS, (*values, model.temperature), strict=True)}
    kept = {"layers": model.layers, "examples": model.examples, "accelerated": model.accelerated,
            "as_printed": model.as_printed}  # fmt: skip
    metadata = {"format": _FORMAT, "settings": json.dumps(kept)}
    if explicit:
        different = 2 + (len(set(model.momenta().tolist())) if model.iterations else 0)
        plan = MemoryPlan(model.width, 2 * (2 + 14 + 8 * (different - 2)))  # once on disk's way, once for the layers
        if plan.bytes > (free := available_bytes()):
            raise MemoryPlanError("explicit weights", found=str(plan), rule=f"{free / 2**30:.2f} GiB are free",
                                  remedy="fewer features, or explicit=False")  # fmt: skip
        found, order = _unique(weights(model))
        metadata["order"] = json.dumps(order)
        tensors |= found
    save_file(tensors, path, metadata)
    return pathlib.Path(path)


def _unique(layers: list[TransformerLayer]) -> tuple[dict[str, np.ndarray], list[int]]:
    numbers: dict[int, int] = {}
    tensors: dict[str, np.ndarray] = {}
    for layer in layers:
        if id(layer) in numbers:
            continue
        number = numbers[id(layer)] = len(numbers)
        tensors |= {f"layers.{number}.{name}": np.asarray(getattr(layer, name)) for name in ("inner", "outer")}
        for index, head in enumerate(layer.heads):
            for name in ("query", "key", "value"):
                tensors[f"layers.{number}.heads.{index}.{name}"] = np.asarray(getattr(head, name))
    return tensors, [numbers[id(layer)] for layer in layers]


def load_transformer(path: str | pathlib.Path) -> InContextTransformer:
    """Read a transformer from a safetensors file.

    Args:
        path: the file.

    Raises:
        DataError: where the file is missing, is no safetensors file, or holds something else.
    """
    tensors, metadata = _read(path, _PARTS)
    omega, thresholds, sharpness, penalty, step, temperature = (jnp.asarray(tensors[name]) for name in _PARTS)
    features = UniversalFeatures(omega, thresholds, sharpness)
    return InContextTransformer(features, penalty, step, temperature, **json.loads(metadata["settings"]))


def load_layers(path: str | pathlib.Path) -> list[TransformerLayer]:
    """Read the explicit layers from a safetensors file, for `lemmata.networks.transformer`.

    Args:
        path: the file.

    Raises:
        DataError: where the file is missing, is no safetensors file, or holds no explicit weights.
    """
    tensors, metadata = _read(path, None)
    if "order" not in metadata:
        raise DataError(f"file {path}", found="no explicit weights", rule="layers.<number>.inner and so on",
                        remedy="save_transformer(model, path, explicit=True)")  # fmt: skip
    order = json.loads(metadata["order"])
    layers = []
    for number in range(max(order) + 1):
        stem = f"layers.{number}"
        heads = sum(name.startswith(f"{stem}.heads.") and name.endswith(".query") for name in tensors)
        parts = [[jnp.asarray(tensors[f"{stem}.heads.{index}.{part}"]) for part in ("query", "key", "value")]
                 for index in range(heads)]  # fmt: skip
        inner, outer = (jnp.asarray(tensors[f"{stem}.{name}"]) for name in ("inner", "outer"))
        layers.append(TransformerLayer(tuple(Head(*part) for part in parts), inner, outer))
    return [layers[number] for number in order]


def _read(path: str | pathlib.Path, names: tuple[str, ...] | None) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise DataError(f"file {path}", found=f"format {metadata.get('format')!r}", rule=_FORMAT)
            return {name: file.get_tensor(name) for name in names or file.keys()}, metadata
    except (OSError, SafetensorError) as error:
        raise DataError(f"file {path}", found=str(error), rule="a safetensors file that exists") from error
