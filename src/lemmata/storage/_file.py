"""Objects as safetensors files: arrays as tensors, everything else as JSON in the header, nothing that runs."""

import json
import pathlib
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lemmata.errors import DataError, FileError, LemmataError, file_error
from lemmata.files import check_file

from ._decode import decoded
from ._encode import encoded

_FORMAT, _VERSION = "lemmata", 1


def save(value: Any, path: str | pathlib.Path) -> pathlib.Path:
    """Write a kernel, a network, a fitted estimator, or a tuple, list or dictionary of such, to one safetensors file.

    Arrays are stored to the bit. The rest is JSON: classes by their public names, fields and settings as they are.
    A function can be stored where it is one of JAX's named activations (those of `tanh()`, `silu()` and so on).

    Args:
        value: an object of the library's public classes, or of a class given to `storable`.
        path: the file.

    Returns:
        The path.

    Raises:
        SettingError: for an object that cannot be stored, such as a function or class of your own; the message states
            its place.
        FileError: if the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from lemmata.architectures import TangentKernel, relu_network
        >>> from lemmata.kernels import RBF
        >>> from lemmata.storage import load, save
        >>> kernel = TangentKernel(relu_network(depth=2)) + 0.5 * RBF(2.0)
        >>> load(save(kernel, pathlib.Path(tempfile.mkdtemp()) / "kernel.safetensors")).right.factor.item()
        0.5
    """
    tensors: dict[str, np.ndarray] = {}
    body = encoded(value, "", tensors)
    metadata = {"format": _FORMAT, "version": str(_VERSION), "value": json.dumps(body, allow_nan=True)}
    try:
        save_file(tensors, path, metadata)
    except (OSError, SafetensorError) as error:
        raise FileError(f"file {path}", found=str(error), rule="a file that can be written") from error
    return pathlib.Path(path)


def load(path: str | pathlib.Path) -> Any:
    """Read what `save` wrote. Classes and functions come from the library's own list, never from the file.

    Arrays of kernels and networks come back as JAX arrays, those of fitted estimators as NumPy's; float64 needs JAX's
    x64 switched on for the former.

    Args:
        path: the file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file is damaged, has another format or a newer version, or names a class that is not known
            here.
        PrecisionError: if the file has JAX arrays in float64 and JAX's x64 is off.
    """
    try:
        check_file(path)
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise file_error(error)(
            f"file {path}", found=str(error), rule="a safetensors file that exists and can be read"
        ) from error
    if metadata.get("format") != _FORMAT:
        _damaged(path, f"format {metadata.get('format')!r}", f"format {_FORMAT!r}, as `save` writes it")
    if metadata.get("version") != str(_VERSION):
        _damaged(path, f"version {metadata.get('version')!r}", f"version {_VERSION}", "install a newer lemmata")
    try:
        return decoded(json.loads(metadata["value"]), tensors)
    except LemmataError as error:
        error.add_note(f"in file {path}")
        raise
    except Exception as error:  # whatever a class makes of fields that it did not write
        found = f"damaged contents ({type(error).__name__}: {' '.join(str(error).split())[:160]})"
        _damaged(path, found, "contents as `save` wrote them", cause=error)


def _damaged(
    path: Any, found: str, rule: str, remedy: str | None = None, cause: BaseException | None = None
) -> NoReturn:
    raise DataError(f"file {path}", found=found, rule=rule, remedy=remedy) from cause
