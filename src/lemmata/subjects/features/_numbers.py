"""Numbers of arrays and tensors that may be in half precision, and values as they are shown in messages."""

from typing import Any

import numpy as np
from jaxtyping import Shaped

from lemmata.core import array_of

_HALF = ("float16", "bfloat16")


def shown(value: Any) -> str:
    """A value in one line of a message.

    Args:
        value: anything.
    """
    return " ".join(repr(value).split())[:60]


def single_of(what: str, values: Any) -> Shaped[np.ndarray, "..."]:
    """An array of NumPy in which half precision, also of PyTorch and JAX, has become single precision.

    Args:
        what: it is, for the message.
        values: what was given.

    Raises:
        DataError: for what is not an array, and for masked entries.
    """
    if callable(getattr(values, "detach", None)):
        values = values.detach().cpu()
        if str(values.dtype).removeprefix("torch.") in _HALF:
            values = values.float()
    array = array_of(what, values)
    return array.astype(np.float32) if str(array.dtype) in _HALF else array
