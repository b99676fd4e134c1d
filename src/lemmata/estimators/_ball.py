"""Scale inputs to the unit ball, for estimators whose theory assumes inputs of norm at most 1."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, SettingError


def ball_scale(inputs: Float[np.ndarray, "n d"], normalise: Any) -> tuple[int, float, float]:
    """The position of the row with the largest norm, this norm, and the number by which inputs are divided.

    Args:
        inputs: training rows.
        normalise: True divides inputs by the largest norm. False refuses norms above 1. None divides, with a warning,
            if the largest norm is above 1, and otherwise leaves the inputs unchanged.

    Raises:
        SettingError: if `normalise` is not True, False or None.
        DataError: for a norm above 1 with `normalise=False`, or a norm that overflows. The message names the row.
    """
    if not (normalise is None or isinstance(normalise, bool | np.bool_)):
        raise SettingError("normalise", found=repr(normalise), rule="True, False or None")
    row, longest = longest_row(inputs, "inputs")
    if longest <= 1 + 1e-12:
        return row, longest, longest if normalise and longest > 0 else 1.0
    if normalise is None:
        warnings.warn(
            (
                f"inputs are divided by {longest:.6g}, the norm of training row {row}, because the theory assumes "
                "inputs of norm at most 1. Set normalise=True to silence this warning, or scale the inputs yourself"
            ),
            UserWarning,
            stacklevel=3,
        )
    elif not normalise:
        raise DataError(
            f"training row {row} (counted from 0)", found=f"norm {longest:.6g}", rule="a norm of at most 1",
            remedy="set normalise=True, or scale the inputs",
        )  # fmt: skip
    return row, longest, longest


def longest_row(rows: Float[np.ndarray, "n d"], what: str) -> tuple[int, float]:
    """The position of the row with the largest norm, and this norm, even if squares of entries over- or underflow.

    Args:
        rows: the rows, as a matrix.
        what: the name of the matrix in the error.

    Raises:
        DataError: if the norm overflows.
    """
    exponents = np.frexp(np.abs(rows).max(axis=1))[1]
    with np.errstate(over="ignore"):
        norms = np.ldexp(np.linalg.norm(np.ldexp(rows, -exponents[:, None]), axis=1), exponents)
    row = int(np.argmax(norms))
    if not np.isfinite(norms[row]):
        raise DataError(
            f"{what} of training row {row} (counted from 0)",
            found="a norm that is not finite",
            rule=f"a norm of at most {np.finfo(float).max:.3g}",
            remedy="use smaller units",
        )
    return row, float(norms[row])
