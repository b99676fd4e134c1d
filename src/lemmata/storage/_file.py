"""Store objects as safetensors files: arrays as tensors, the rest as JSON in the header, and no executable code."""

import json
import pathlib
from typing import Any, NoReturn

import numpy as np

from lemmata.errors import DataError, LemmataError

from ._decode import decoded
from ._digest import read_file, write_file
from ._encode import encoded

_FORMAT, _VERSION = "lemmata", 2


def save(value: Any, path: str | pathlib.Path) -> pathlib.Path:
    """Write a kernel, a network, a fitted estimator, or a tuple, list or dictionary of these, to one safetensors file.

    Arrays are stored bit for bit, and everything else as JSON. A class is stored by its public name, with its fields or
    settings. A function can be stored if it is one of JAX's named activations, for example that of `tanh()` or
    `silu()`. The file contains a SHA-256 digest of all its bytes, which `load` checks.

    Args:
        value: an object of the library's public classes, or of a class given to `storable`.
        path: the file.

    Returns:
        The path.

    Raises:
        SettingError: if an object cannot be stored, such as a function or class of your own. The message states the
            place of this object. The error is also raised if `path` is neither a text nor a path.
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
    return write_file(tensors, metadata, path)


def load(path: str | pathlib.Path) -> Any:
    """Read an object that `save` wrote. Classes and functions come from the list of registered ones, not from the file.

    Files in version 1 of the format have no digest, so their bytes are not checked. Arrays of kernels and networks are
    returned as JAX arrays. Arrays of fitted estimators are returned as NumPy arrays. JAX arrays in float64 can only be
    read if JAX's x64 is on.

    Args:
        path: the file.

    Raises:
        MissingFileError: if the file does not exist.
        SettingError: if the path is not a text or a path.
        DataError: if a byte of the file changed; if the file has another format or a newer version; if the file names
            a class that is not registered.
        PrecisionError: if the file has JAX arrays in float64 and JAX's x64 is off.
    """
    tensors, metadata = read_file(path, lambda metadata: _has_digest(path, metadata))
    try:
        return decoded(json.loads(metadata["value"]), tensors)
    except LemmataError as error:
        error.add_note(f"in file {path}")
        raise
    except Exception as error:  # a class may raise any error about damaged fields
        found = f"damaged contents ({type(error).__name__}: {' '.join(str(error).split())[:160]})"
        _damaged(path, found, "contents as `save` wrote them", cause=error)


def _has_digest(path: str | pathlib.Path, metadata: dict[str, str]) -> bool:
    if metadata.get("format") != _FORMAT:
        _damaged(path, f"format {metadata.get('format')!r}", f"format {_FORMAT!r}, as `save` writes it")
    if metadata.get("version") not in ("1", str(_VERSION)):
        _damaged(path, f"version {metadata.get('version')!r}", f"version 1 or {_VERSION}", "install a newer lemmata")
    return metadata["version"] != "1"


def _damaged(
    path: Any, found: str, rule: str, remedy: str | None = None, cause: BaseException | None = None
) -> NoReturn:
    raise DataError(f"file {path}", found=found, rule=rule, remedy=remedy) from cause
