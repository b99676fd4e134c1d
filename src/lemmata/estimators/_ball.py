"""Inputs in the unit ball, for the estimators whose theory speaks of it."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, SettingError


def ball_scale(inputs: Float[np.ndarray, "n d"], normalise: Any) -> float:
    """What to divide inputs by.

    Args:
        inputs: training rows.
        normalise: True takes the largest norm, False refuses norms above 1, None takes a norm above 1 with a warning.

    Raises:
        SettingError: where `normalise` is none of the three.
        DataError: with False, a norm above 1; names the row.
    """
    if normalise is not None and not isinstance(normalise, bool | np.bool_):
        raise SettingError("normalise", found=repr(normalise), rule="True, False or None")
    norms = np.linalg.norm(inputs, axis=1)
    row = int(np.argmax(norms))
    longest = float(norms[row])
    if longest <= 1 + 1e-12:
        return longest if normalise and longest > 0 else 1.0
    if normalise is None:
        warnings.warn(
            f"inputs are divided by {longest:.6g}, the norm of training row {row}, because theory asks for the unit "
            "ball; set normalise=True to say so, or scale the inputs",
            UserWarning, stacklevel=4,
        )  # fmt: skip
    elif not normalise:
        raise DataError(
            f"training row {row} (counted from 0)", found=f"norm {longest:.6g}", rule="norm at most 1",
            remedy="normalise=True, or scale the inputs",
        )  # fmt: skip
    return longest
