"""The inputs that certificates take."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.core import check_numbers
from lemmata.errors import ShapeError


def as_point(x: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """One finite input as float64, or ShapeError or DataError.

    Args:
        x: the numbers.
    """
    point = np.asarray(x)
    if point.ndim < 1 or not point.size:
        raise ShapeError("x", found=f"shape {point.shape}", rule="one input, shape (d,)")
    check_numbers("x", point)
    return point.astype(float)


def check_vector(x: np.ndarray) -> None:
    """ShapeError for what is not one vector.

    Args:
        x: the input.
    """
    if x.ndim != 1:
        remedy = "pass one row at a time: [certify(network, row, radius) for row in x]"
        raise ShapeError("x", found=f"shape {x.shape}", rule="one input, shape (d,)", remedy=remedy)
