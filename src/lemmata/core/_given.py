"""Convert arrays from users and from their models to NumPy arrays; raise an error if this is not possible."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError

from ._arrays import check_numbers

_ADVICE = {
    "0 sample": "pass at least one row",
    "0 feature": "pass at least one column",
    "Found array with dim": "make each row a vector with X.reshape(len(X), -1)",
    "inconsistent numbers": "pass one target for each row",
    "1d array": "pass one target for each row, for example y.reshape(-1)",
    "inhomogeneous": "make all rows equally long",
    "features": "pass the same columns as in fit",
    "minimum of": "add rows",
    "Unknown label type": "turn the targets into classes, for example y > y.mean()",
    "infinity": "drop or replace these entries",
    "contains NaN": "drop or fill rows with missing entries",
}
"""The remedies for errors of scikit-learn. Each key is a part of an error's text."""
_HALF = ("float16", "bfloat16")


def array_of(name: str, values: Any) -> np.ndarray:
    """Turn a list, a data frame, or an array or tensor of another library into a NumPy array.

    Numbers get the byte order of this machine, and at most double precision.

    Args:
        name: the name of the array, for error messages.
        values: the list, data frame, array or tensor.

    Raises:
        DataError: for objects that are not arrays, such as a list of rows of different lengths, and for masked entries.
        PrecisionError: for a tensor that NumPy cannot read.
    """
    if np.ma.is_masked(values):
        raise DataError(
            name,
            found=f"{np.ma.count_masked(values)} masked entries",
            rule="an array without masked entries",
            remedy="drop or fill the masked entries, for example with .filled(value)",
        )
    try:
        # NumPy cannot convert a PyTorch tensor that requires a gradient.
        array = np.asarray(values.detach().cpu() if callable(getattr(values, "detach", None)) else values)
        if array.dtype.kind in "US" and isinstance(values, list | tuple):
            # NumPy turns numbers and missing entries into texts, for example "nan", if there are texts beside them.
            own = np.asarray(values, dtype=object)
            texts = all(isinstance(entry, str | bytes) for entry in own.ravel().tolist())
            return array if texts else own
        return _standard(array)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        kind = str(getattr(values, "dtype", ""))
        if kind.startswith("torch."):
            found = f"a tensor of type {kind[6:]} on {getattr(values, 'device', 'no device')}"
            remedy = "convert the tensor with .float(); a tensor on the device 'meta' has no values, so load them first"
            raise PrecisionError(name, found=found, rule="a tensor that NumPy reads", remedy=remedy) from error
        raise DataError(
            name,
            found=f"a {type(values).__name__} that is not an array",
            rule="an array, a data frame, or a list of equally long rows",
            remedy="convert the object to a NumPy array first",
        ) from error


def _standard(array: np.ndarray) -> np.ndarray:
    """Return the array in this machine's byte order and at most double precision, because JAX reads no other arrays."""
    if array.dtype.kind in "fc" and array.dtype.itemsize > (8 if array.dtype.kind == "f" else 16):
        return array.astype(float if array.dtype.kind == "f" else complex)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def single_of(what: str, values: Any) -> np.ndarray:
    """Convert values to a NumPy array. Half precision becomes single precision, also in PyTorch tensors and JAX arrays.

    Args:
        what: the name of the array, for error messages.
        values: the list, data frame, array or tensor.

    Raises:
        PrecisionError, DataError: in the same cases as `array_of`.
    """
    if str(getattr(values, "dtype", "")).removeprefix("torch.") in _HALF and callable(getattr(values, "float", None)):
        values = values.float()
    array = array_of(what, values)
    return array.astype(np.float32) if str(array.dtype) in _HALF else array


def missing_in(array: np.ndarray) -> int:
    """Count the missing entries: None, NaN, pandas' NA or NaT.

    Args:
        array: an array of any type.

    >>> missing_in(np.array(["a", None, float("nan")], dtype=object))
    2
    """
    if array.dtype.kind in "fcmM":
        return int(np.isnan(array).sum())
    return sum(map(_missing, array.ravel().tolist())) if array.dtype.kind == "O" else 0


def _missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # for example pandas' NA
        return True


def numbers_of(name: str, values: Any) -> np.ndarray:
    """Convert values to a NumPy array of finite real numbers.

    If a table has columns of booleans and columns of numbers, the booleans become 0 and 1.

    Args:
        name: the name of the array, for error messages.
        values: the list, data frame, array or tensor.

    Raises: ShapeError, PrecisionError, DataError: for any other values; the message names an entry that is not a
    number.
    """
    array = real_numbers(name, array_of(name, values))
    check_numbers(name, array)
    return array


def real_numbers(name: str, array: np.ndarray) -> np.ndarray:
    """Turn an array of objects into an array of floats if all objects are real numbers.

    Arrays that hold neither objects nor texts are returned unchanged.

    Args:
        name: the name of the array, for error messages.
        array: an array of any type.

    Raises:
        DataError: for a text or another entry that is not a number (the message names this entry), and for a whole
            number above 1e308.
    """
    if array.dtype.kind not in "OUS":
        return array
    kinds = (bool, int, float, np.bool_, np.integer, np.floating)
    wrong = [value for value in array.ravel().tolist() if not isinstance(value, kinds)][:1]
    if wrong:
        shown = " ".join(repr(wrong[0]).split())[:40]
        raise DataError(
            name,
            found=f"the entry {shown}",
            rule="real numbers",
            remedy="encode texts and categories as numbers, and drop or fill rows with missing entries",
        )
    try:
        return array.astype(float)
    except OverflowError as error:
        raise DataError(name, found="a whole number above 1e308", rule="numbers of double precision") from error


def array_argument(name: str, values: Any, *, axes: int | tuple[int, ...] = ()) -> jax.Array:
    """Turn values that `numbers_of` reads into a JAX array of finite real floats. JAX arrays of floats are unchanged.

    Args:
        name: the name of the argument, for error messages.
        values: the argument. If JAX traces it, only its shape and type are checked.
        axes: the allowed numbers of axes. If it is empty, all numbers of axes are allowed.

    Raises:
        ShapeError: for another number of axes, or an axis of length 0.
        PrecisionError, DataError: in the same cases as `numbers_of`.

    >>> array_argument("y", [1, 2], axes=1).dtype.kind
    'f'
    """
    allowed = (axes,) if isinstance(axes, int) else axes
    if isinstance(values, jax.Array):
        check_numbers(name, values)
        array = values if jnp.issubdtype(values.dtype, jnp.floating) else values.astype(float)
    else:
        given = numbers_of(name, values)
        array = jnp.asarray(given if given.dtype.kind == "f" else given.astype(float))
    if allowed and array.ndim not in allowed:
        rule = " or ".join(str(count) for count in allowed)
        raise ShapeError(
            name,
            found=f"shape {array.shape}",
            rule=f"an array with {rule} {'axis' if allowed == (1,) else 'axes'}",
            remedy="add an axis of length 1 if one is missing, for example with values[:, None]",
        )
    return array


def refuse_text(X: Any) -> None:
    """Refuse inputs that hold strings, because NumPy would convert strings such as "1" to numbers.

    Args:
        X: the inputs.

    Raises:
        DataError: for an input that is a string; the message names its row.
    """
    values = X if isinstance(X, np.ndarray) else np.asarray(X) if isinstance(X, list | tuple) or _is_frame(X) else None
    if values is None or values.dtype.kind not in "USO":
        return
    text = [isinstance(value, str | bytes) for value in values.reshape(-1)]
    if any(text):
        row = text.index(True) // max(1, math.prod(values.shape[1:]))
        raise DataError(
            "inputs X",
            found=f"a string, {str(values.reshape(-1)[text.index(True)])!r}, in row {row} (counted from 0)",
            rule="numbers only",
            remedy="if the strings are numbers, use X.astype(float); otherwise use an encoder such as OneHotEncoder",
        )


def plain_labels(y: Any) -> Any:
    """Return the targets in a form that scikit-learn accepts as labels.

    An array of objects becomes an array of numbers if all objects are numbers. scikit-learn would not accept the
    objects as labels.

    Args:
        y: the targets.
    """
    objects = isinstance(y, np.ndarray) and y.dtype.kind == "O"
    return y.astype(float) if objects and all(isinstance(each, int | float) for each in y.ravel().tolist()) else y


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


@contextlib.contextmanager
def refusing_in_one_line() -> Iterator[None]:
    """Return a context that turns errors of scikit-learn's validation into errors of lemmata.

    The errors of lemmata have one line. These errors keep scikit-learn's words, because users may search for these
    words.

    Raises:
        DataError: in place of a ValueError.
        SettingError: in place of a TypeError.
    """
    try:
        yield
    except LemmataError:
        raise
    except TypeError as error:
        raise SettingError(_first_line(error)) from error
    except ValueError as error:
        first, *more = str(error).split("\n")
        if "convert string to float" in first:
            text = first.split(":", 1)[-1].strip()
            remedy = "encode texts and categories as numbers, for example with OneHotEncoder"
            raise DataError("columns", found=f"the text {text}", rule="numbers", remedy=remedy) from error
        if more and "NaN" in first:
            remedy = "drop or fill rows with missing entries"
            raise DataError(first.rstrip("."), rule="finite numbers", remedy=remedy) from error
        # The last line of scikit-learn's error may contain a remedy.
        remedy = next((line for line in more if line.startswith("Reshape your data")), None)
        raise DataError(_first_line(error), remedy=remedy or _advice(first)) from error


def _advice(words: str) -> str | None:
    """Return the remedy for an error of scikit-learn, which words in the error's text decide; None if unknown."""
    return next((remedy for start, remedy in _ADVICE.items() if start in words), None)


def _first_line(error: Exception) -> str:
    line = str(error).split("\n")[0].rstrip(".:")
    if "inhomogeneous" in line:
        line = "X and y; found lists of different lengths; rule: an array, a data frame, or rows of equal length"
    return line if len(line) <= 300 else f"{line[:300]}…"
