"""A user's function of binary inputs. Each input takes one of the two codes that the function expects. Outputs with the
values 0 and 1 become signs.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.core import answer_of, array_of, check_numbers
from lemmata.errors import DataError, SettingError, ShapeError

_BATCH = 2**16


def as_values(outputs: Any, count: int, name: str = "outputs of f") -> Float[np.ndarray, " n"]:
    """Return one finite number for each point.

    Args:
        outputs: the result of a function.
        count: the number of points.
        name: the name of the outputs, for messages.

    Raises:
        ShapeError, DataError: if the outputs are not `count` finite numbers.
    """
    values = array_of(name, outputs)
    if values.size != count or values.shape[:1] != (count,):
        raise ShapeError(name, found=f"shape {values.shape}", rule=f"shape ({count},), one number for each point")
    if values.dtype.kind not in "fiub":
        kind = values.dtype if values.dtype.kind != "O" else type(values.flat[0]).__name__
        raise DataError(
            name,
            found=f"entries of type {kind}",
            rule="numbers or booleans",
            remedy="compare with one label, for example lambda x: model.predict(x) == 'yes'",
        )
    check_numbers(name, values)
    return values.reshape(count).astype(float)


def as_signs(values: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " n"], bool]:
    """Convert values 0 and 1 to -1 and 1, leave other values unchanged, and return whether all results are -1 or 1."""
    if np.isin(values, (0.0, 1.0)).all():
        return 2 * values - 1, True
    return values, bool(np.isin(values, (-1.0, 1.0)).all())


@dataclasses.dataclass(frozen=True)
class Codes:
    """The two values that a function receives as inputs. The first replaces -1, and the second replaces 1."""

    low: float
    high: float

    @classmethod
    def of(cls, codes: Any) -> "Codes":
        """Make codes from a pair of different finite numbers, or raise SettingError."""
        try:
            pair = np.asarray(codes, float)
        except (TypeError, ValueError):
            pair = np.zeros(2)
        if pair.shape != (2,) or not np.isfinite(pair).all() or pair[0] == pair[1]:
            found = " ".join(repr(codes).split())[:60]
            raise SettingError(
                "codes",
                found=found,
                rule="two different numbers, such as (-1, 1) or (0, 1)",
                remedy="pass codes=(0, 1) or codes=(-1, 1)",
            )
        return cls(float(pair[0]), float(pair[1]))

    def inputs(self, signs: Int[np.ndarray, "n d"]) -> np.ndarray:
        """Return points of the cube in these codes, as integers if both codes are whole numbers."""
        points = np.where(signs > 0, self.high, self.low)
        return points.astype(int) if self.low == int(self.low) and self.high == int(self.high) else points

    @property
    def words(self) -> str:
        """The two values as text."""
        return f"{self.low:g} and {self.high:g}"


class Function:
    """A function of d signs, with a count of the evaluations.

    Args:
        f: a function of a batch of points (n, d), or an object with a method predict.
        codes: the two values that replace the signs in the inputs of f.
    """

    def __init__(self, f: Any, codes: Codes):
        call = getattr(f, "predict", f)
        if not callable(call) or isinstance(f, type):
            raise SettingError(
                "f_or_values",
                found=f"a {type(f).__name__}",
                rule="a function of points (n, d), an object with predict, or a table of 2^d values",
                remedy="pass one of these three",
            )
        self.call, self.codes, self.evaluations = call, codes, 0

    def __call__(self, signs: Int[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the outputs at points of the cube, as numbers."""
        parts = [self._batch(signs[start : start + _BATCH]) for start in range(0, len(signs), _BATCH)]
        return np.concatenate(parts)

    def signs(self, points: Int[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the outputs as signs, for a function with two values.

        Raises:
            DataError: if the function has other values.
        """
        values, two = as_signs(self(points))
        if not two:
            other = values[~np.isin(values, (-1.0, 0.0, 1.0))]
            raise DataError(
                "outputs of f",
                found=f"the value {other[0]:.4g}" if len(other) else "the values -1, 0 and 1",
                rule="two values, 0 and 1, -1 and 1, or booleans, because the sampling intervals assume this",
                remedy="compare the output with a threshold, for example lambda x: model(x) > 0",
            )
        return values

    def _batch(self, signs: np.ndarray) -> np.ndarray:
        self.evaluations += len(signs)
        points = self.codes.inputs(signs)
        rule = f"a function of points of shape {points.shape}, of {self.codes.words}"
        remedy = "pass as many names as f has inputs, fit a model first, or call f on one point to see the error"
        return as_values(answer_of("f", self.call, points, rule=rule, remedy=remedy), len(signs))
