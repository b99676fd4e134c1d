"""Which values an argument that is annotated as an array may have, and how these values are converted."""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError

from ._arrays import known
from ._given import array_of, real_numbers

KINDS = {
    "Float": "f", "Inexact": "fc", "Complex": "c", "Int": "iu", "Integer": "iu", "UInt": "u", "Bool": "b",
    "Real": "fiub", "Num": "fciu", "Shaped": "fciub",
}  # fmt: skip
_WORDS = {"f": "real numbers", "c": "complex numbers", "i": "whole numbers", "u": "whole numbers", "b": "booleans"}
_NONE = "pass an array or a list"
_ONE = "pass one number, not a list or an array"
_NUMBERS = (bool, int, float, np.bool_, np.number)


class Place(NamedTuple):
    """The accepted values of one argument that is annotated as an array.

    Args:
        name: the name of the argument.
        kinds: the accepted kinds of entries, as letters of NumPy's `dtype.kind`. Entries of other kinds are converted
            to the first kind, or refused. If `kinds` is empty, all entries except complex numbers are accepted.
        axes: pairs (n, more). Each pair allows n axes, and also more than n axes if `more` is true. None allows any
            number of axes.
        of_jax: whether arrays of JAX are accepted.
        of_numpy: whether arrays of NumPy are accepted.
        others: other types that are accepted and passed on unchanged.
        callables: whether functions are accepted.
        optional: whether None is accepted.
    """

    name: str
    kinds: str
    axes: tuple[tuple[int, bool], ...] | None
    of_jax: bool
    of_numpy: bool
    others: tuple[type, ...]
    callables: bool
    optional: bool

    def read(self, value: Any) -> Any:
        """Return the argument, converted to the form that the function takes.

        Args:
            value: the value that the caller passed.

        Raises:
            ShapeError, DataError, PrecisionError: if the argument is not an accepted array.
        """
        if isinstance(value, jax.Array) and self.of_jax:
            if self.kinds and "c" not in self.kinds and value.dtype.kind == "c":
                raise self._of_another_kind(value)
            return value
        if value is None:
            if self.optional:
                return None
            raise DataError(self.name, found="None", rule=f"an array of {self._words}", remedy=_NONE)
        if not isinstance(value, jax.Array) and self._is_other(value):
            return value
        return self._converted(value)

    def explained(self, value: Any) -> LemmataError | None:
        """Return an error of lemmata if this argument explains why a call of another library failed; None otherwise.

        Args:
            value: the argument as `read` returned it.
        """
        shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
        if isinstance(shape, tuple) and 0 in shape:
            return ShapeError(self.name, found=f"shape {shape}", rule="no axis of length 0")
        if str(kind) in ("float16", "bfloat16"):
            remedy = "convert it with astype(float)"
            return PrecisionError(self.name, found=f"entries of type {kind}", rule="float32 or float64", remedy=remedy)
        if getattr(kind, "kind", None) == "c" and "i" in self.kinds:
            return self._of_another_kind(value)
        if not self.kinds and isinstance(value, np.ndarray) and value.dtype.kind in "USO":
            try:
                real_numbers(self.name, value)
            except DataError as error:
                return error
        if isinstance(shape, tuple) and not self._takes(len(shape)):
            return self._of_other_axes(shape)
        if isinstance(value, jax.Array | np.ndarray) and self.kinds and _kind(value.dtype) not in self.kinds:
            return self._of_another_kind(value)
        bare = self.axes is None and shape == ()
        if (bare or isinstance(value, _NUMBERS)) and not self.others and not self._is_setting:
            return ShapeError(self.name, found="one number", rule="an array of at least one axis")
        return None

    def _is_other(self, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return False
        if isinstance(value, str | bytes):
            if float in self.others and str not in self.others:
                raise SettingError(
                    self.name, found=repr(value)[:40], rule="numbers", remedy="pass a number or a list of them"
                )
            return str in self.others
        if isinstance(value, list | tuple) and Sequence in self.others:
            real_numbers(self.name, array_of(self.name, value))
            return True
        if isinstance(value, self.others) or (self.callables and callable(value)):
            return True
        # A number stays a number, so that its type adapts to the types of the other arrays.
        scalar = isinstance(value, _NUMBERS) and not isinstance(value, np.complexfloating)
        return scalar and self._takes(0)

    def _converted(self, value: Any) -> Any:
        if self._is_setting and not isinstance(value, jax.Array | np.ndarray | np.generic):
            found = " ".join(repr(value).split())[:40]
            raise SettingError(self.name, found=found, rule="one number", remedy=_ONE)
        array: Any = value if isinstance(value, jax.Array) else array_of(self.name, value)
        if array.dtype.kind in "OUS" and self.kinds:
            numbers = real_numbers(self.name, array)
            plain = np.array(array.tolist()) if array.dtype.kind == "O" else numbers  # whole numbers and booleans stay
            array = plain if plain.dtype.kind in "biuf" else numbers
        if not self._takes(array.ndim):
            if self._is_setting:
                found = f"an array of shape {array.shape}"
                raise SettingError(self.name, found=found, rule="one number", remedy=_ONE)
            raise self._of_other_axes(array.shape)
        kind = _kind(array.dtype)
        if not self.kinds and kind == "c":
            raise self._of_another_kind(array)
        if not self.kinds and kind == "O" and all(isinstance(each, _NUMBERS) for each in array.ravel().tolist()):
            array = np.array(array.tolist())
        if self.kinds and kind not in self.kinds:
            array = self._of_kind(array, kind)
        if known(array) is None or (isinstance(array, jax.Array) and self.of_jax):  # a traced array has no values
            return array
        if self.of_numpy and not (self.of_jax and isinstance(value, list | tuple)):
            return np.asarray(array)
        return jnp.asarray(array) if self.of_jax and array.dtype.kind in "fciubV" else array

    def _of_kind(self, array: Any, kind: str) -> Any:
        goal = self.kinds[0]
        if goal in "fc" and kind in "fiub":
            return array.astype(float if goal == "f" else complex)
        if goal in "iu" and kind in "iub":
            return array.astype(int)
        if goal in "iu" and kind == "f" and isinstance(array, np.ndarray) and bool((np.floor(array) == array).all()):
            return array.astype(int)
        if goal == "b" and kind in "iu" and known(array) is not None and bool(((array == 0) | (array == 1)).all()):
            return array.astype(bool)
        raise self._of_another_kind(array)

    def _of_another_kind(self, array: Any) -> DataError:
        remedy = "use its real part, or its modulus" if array.dtype.kind == "c" else None
        rule = "real numbers" if array.dtype.kind == "c" else self._words
        return DataError(self.name, found=f"entries of type {array.dtype}", rule=rule, remedy=remedy)

    def _of_other_axes(self, shape: tuple[int, ...]) -> ShapeError:
        most, more = max(self.axes or ((0, True),))
        rows, remedy = f"{self.name}.reshape(len({self.name}), -1)", None
        if len(shape) > 2 and not more and most in (1, 2):
            own = "" if most == 2 else f"{self.name}.reshape(-1) or, for many points, with "
            remedy = f"make each point a vector with {own}{rows}"
        return ShapeError(self.name, found=f"shape {shape}", rule=f"an array with {self._axes}", remedy=remedy)

    @property
    def _is_setting(self) -> bool:
        return self.axes == ((0, False),)

    def _takes(self, axes: int) -> bool:
        return self.axes is None or any(axes == least or (more and axes > least) for least, more in self.axes)

    @property
    def _words(self) -> str:
        return _WORDS.get(self.kinds[:1], "numbers") if self.kinds != "fciub" else "numbers"

    @property
    def _axes(self) -> str:
        allowed = sorted(set(self.axes or ()))
        told = [f"{'at least ' if more else ''}{least}" for least, more in allowed]
        return f"{' or '.join(told)} {'axis' if allowed == [(1, False)] else 'axes'}"


class LikePlace(NamedTuple):
    """The accepted values of an argument that is annotated with NumPy's `ArrayLike`: numbers or labels.

    Complex numbers are refused. The function with this argument converts all other values itself.
    """

    name: str
    optional: bool

    def read(self, value: Any) -> Any:
        """Return the argument. Refuse complex numbers, and refuse None unless the argument is optional.

        An array of objects that are all numbers becomes an array of numbers.
        """
        if value is None and not self.optional:
            raise DataError(self.name, found="None", rule="an array", remedy=_NONE)
        if value is None or callable(value) or isinstance(value, str | bytes | Mapping):
            return value
        array = array_of(self.name, value)
        if array.dtype.kind == "c":
            raise DataError(
                self.name, found=f"entries of type {array.dtype}", rule="real numbers", remedy="use its real part"
            )
        if array.dtype.kind == "O" and all(isinstance(each, _NUMBERS) for each in array.ravel().tolist()):
            return np.array(array.tolist())
        return value

    def explained(self, value: Any) -> LemmataError | None:
        """Return an error that explains a failure, or None, as `Place.explained` does."""
        if isinstance(value, _NUMBERS):
            return ShapeError(self.name, found="one number", rule="an array of at least one axis")
        kind = getattr(getattr(value, "dtype", None), "kind", "O" if isinstance(value, str | list | tuple) else "f")
        if kind not in "USOb":
            return None
        try:
            real_numbers(self.name, array_of(self.name, value))
        except LemmataError as error:
            return error
        return _booleans(self.name) if kind == "b" else None


def _booleans(name: str) -> DataError:
    return DataError(name, found="booleans", rule="real numbers", remedy="convert it with astype(float)")


class KeyPlace(NamedTuple):
    """The accepted values of an argument for a random key of JAX."""

    name: str
    optional: bool

    def read(self, value: Any) -> Any:
        """Return the key. If the argument is optional, it may be None."""
        if isinstance(value, jax.Array | np.ndarray) or (value is None and self.optional):
            return value
        remedy = (
            f"pass jax.random.key({value})" if isinstance(value, int) else "pass a key made by jax.random.key(seed)"
        )
        raise SettingError(self.name, found=repr(value)[:40], rule="a key of JAX", remedy=remedy)

    def explained(self, value: Any) -> None:
        """Return None, because a key never explains a failure."""
        return None


_SHAPES = re.compile(
    r"broadcast|contracting dim|core dimension|ndim at least|at least one dim|unsized|has no len|inhomogeneous"
    r"|dimension mismatch|shapes? .*not aligned|must be 1d|expected 1D|does not have enough dimensions"
)
"""Words in errors of NumPy and JAX which show that the shapes of some arrays do not match."""


def unfit(error: Exception, given: Sequence[tuple[str, Any]]) -> ShapeError | None:
    """Return an error of lemmata that replaces `error`, or None if `error` is not about shapes that do not match.

    Args:
        error: an error of another library. This error was raised while a function worked on the arguments.
        given: the names and values of the array arguments.
    """
    if not isinstance(error, TypeError | ValueError) or not _SHAPES.search(str(error)):
        return None
    shown = {name: np.shape(value) if hasattr(value, "shape") or isinstance(value, _NUMBERS) else None
             for name, value in given if value is not None}  # fmt: skip
    known = {name: shape for name, shape in shown.items() if shape is not None}
    if not known:
        return None
    found = ", ".join(f"{name} of shape {shape}" for name, shape in known.items())
    told = " ".join(str(error).split())[:100]
    remedy = "compare these shapes with the shapes in the function's documentation, and reshape the arrays that differ"
    return ShapeError(" and ".join(known), found=found, rule=f"shapes that match ({told})", remedy=remedy)


@functools.lru_cache(2**12)
def _kind(dtype: Any) -> str:
    if jnp.issubdtype(dtype, jnp.floating):
        return "f"
    return dtype.kind
