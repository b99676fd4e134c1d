"""Store in-context transformers in safetensors files: the numbers they are constructed from, or also every weight."""

import contextlib
import json
import pathlib
from collections.abc import Iterable, Iterator

import jax.numpy as jnp
import numpy as np

from lemmata.core import MemoryPlan, available_bytes
from lemmata.errors import DataError, LemmataError, MemoryPlanError, SettingError
from lemmata.functions import UniversalFeatures
from lemmata.networks import Head, InContextTransformer, TransformerLayer, transformer_layers

from ._digest import read_file, write_file

_FORMAT, _WITHOUT_DIGEST = "lemmata in-context transformer 2", "lemmata in-context transformer 1"
_SETTINGS = {"layers": int, "examples": int, "accelerated": bool, "as_printed": bool}
_PARTS = ("omega", "thresholds", "sharpness", "penalty", "step", "temperature")


def save_transformer(model: InContextTransformer, path: str | pathlib.Path, *, explicit: bool = False) -> pathlib.Path:
    """Write an in-context transformer to a safetensors file.

    Args:
        model: the in-context transformer.
        path: the file.
        explicit: whether to also write the D x D weight matrices (D is the width) of every layer that differs from
            earlier layers. Their names are `layers.<number>.inner`, `.outer` and `.heads.<number>.query`, `.key`,
            `.value`. In the metadata, `order` gives, for each layer, the number under which its matrices are stored.

    Raises:
        MemoryPlanError: if the matrices do not fit into memory.
        FileError: if the file cannot be written.

    Example:
        >>> import jax, pathlib, tempfile
        >>> from lemmata.functions import GaussianBumps
        >>> from lemmata.networks import construct_transformer
        >>> from lemmata.storage import load_transformer, save_transformer
        >>> model = construct_transformer(GaussianBumps(2), 5, 7, examples=20, key=jax.random.key(0))
        >>> file = save_transformer(model, pathlib.Path(tempfile.mkdtemp()) / "model.safetensors")
        >>> load_transformer(file).width
        19
    """
    values = (model.features.omega, model.features.thresholds, model.features.sharpness, model.penalty, model.step)
    tensors = {name: np.asarray(value) for name, value in zip(_PARTS, (*values, model.temperature), strict=True)}
    kept = {name: getattr(model, name) for name in _SETTINGS}
    metadata = {"format": _FORMAT, "settings": json.dumps(kept)}
    if explicit:
        different = 2 + (len(set(model.momenta().tolist())) if model.iterations else 0)
        plan = MemoryPlan(model.width, 2 * (2 + 14 + 8 * (different - 2)))  # factor 2: the layers, and their bytes
        if plan.bytes > (free := available_bytes()):
            raise MemoryPlanError(
                "explicit weights",
                found=str(plan),
                rule=f"at most the {free / 2**30:.2f} GiB that are free",
                remedy="use fewer features, or explicit=False",
            )
        found, order = _unique(transformer_layers(model))
        metadata["order"] = json.dumps(order)
        tensors |= found
    return write_file(tensors, metadata, path)


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
    """Read an in-context transformer from a safetensors file that `save_transformer` wrote.

    Args:
        path: the file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file is not a safetensors file, is damaged, or has other contents.
    """
    tensors, metadata = _read(path)
    with _refusing(path):
        omega, thresholds, sharpness, penalty, step, temperature = (jnp.asarray(tensors[name]) for name in _PARTS)
        settings = json.loads(metadata["settings"])
        kinds = {name: type(settings[name]) for name in _SETTINGS}
        if kinds != _SETTINGS or len(settings) != len(_SETTINGS):
            raise ValueError(f"settings {settings}")
        shapes = [np.shape(value) for value in (sharpness, penalty, step, temperature)]
        if omega.ndim != 2 or thresholds.shape != omega.shape[:1] or any(shapes):
            raise ValueError(f"frequencies of shape {omega.shape} do not match thresholds of shape {thresholds.shape}")
        _check_numbers(tensors, _PARTS)
        features = UniversalFeatures(omega, thresholds, sharpness)
        return InContextTransformer(features, penalty, step, temperature, **settings)


def load_layers(path: str | pathlib.Path) -> list[TransformerLayer]:
    """Read the explicit layers from a safetensors file, for `lemmata.networks.transformer`.

    Args:
        path: the file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file is not a safetensors file, or has no explicit weights.
    """
    tensors, metadata = _read(path)
    if "order" not in metadata:
        raise DataError(
            f"file {path}",
            found="no explicit weights",
            rule="weights with names such as layers.0.inner",
            remedy="save the model with save_transformer(model, path, explicit=True)",
        )
    with _refusing(path):
        order = [int(number) for number in json.loads(metadata["order"])]
        _check_numbers(tensors, [name for name in tensors if name.startswith("layers.")])
        found = {number: _layer(tensors, f"layers.{number}") for number in set(order)}
        return [found[number] for number in order]


def _check_numbers(tensors: dict[str, np.ndarray], names: Iterable[str]) -> None:
    for name in names:
        if tensors[name].dtype.kind != "f":
            raise ValueError(f"tensor {name} holds {tensors[name].dtype}, not floating-point numbers")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"tensor {name} holds numbers that are not finite")


def _layer(tensors: dict[str, np.ndarray], stem: str) -> TransformerLayer:
    heads = sum(name.startswith(f"{stem}.heads.") and name.endswith(".query") for name in tensors)
    parts = [
        [jnp.asarray(tensors[f"{stem}.heads.{index}.{part}"]) for part in ("query", "key", "value")]
        for index in range(heads)
    ]
    inner, outer = (jnp.asarray(tensors[f"{stem}.{name}"]) for name in ("inner", "outer"))
    return TransformerLayer(tuple(Head(*part) for part in parts), inner, outer)


@contextlib.contextmanager
def _refusing(path: str | pathlib.Path) -> Iterator[None]:
    """Within this context, an error that damaged contents cause becomes a DataError that names the file."""
    try:
        yield
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError) as error:
        if isinstance(error, LemmataError) and not isinstance(error, SettingError):
            raise
        rule = "contents as save_transformer wrote them"
        raise DataError(f"file {path}", found=f"damaged contents: {error}", rule=rule) from error


def _read(path: str | pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    def has_digest(metadata: dict[str, str]) -> bool:
        if (found := metadata.get("format")) not in (_FORMAT, _WITHOUT_DIGEST):
            raise DataError(f"file {path}", found=f"format {found!r}", rule=f"format {_FORMAT!r}")
        return found == _FORMAT

    return read_file(path, has_digest)
