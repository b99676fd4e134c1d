"""Call a user's predictor. Functions receive arrays in the prompts' precision. PyTorch modules receive tensors."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lemmata.errors import LemmataError, SettingError

Call = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


@contextlib.contextmanager
def calls_of(predict: Any, kinds: tuple[np.dtype, ...]) -> Iterator[Call]:
    """Yield a function that calls a predictor with copies of one prompt; if the call fails, the error names the cause.

    A PyTorch module receives tensors with the precision and the device of its parameters. The module runs in evaluation
    mode and without gradients. Afterwards, the earlier mode is restored.

    Args:
        predict: a function of inputs, targets and a query, or a PyTorch module with these arguments.
        kinds: the number types of the arrays of inputs, targets and queries that a function receives.

    Raises:
        SettingError: if the predictor cannot be called. The yielded function raises this error if the predictor fails.
    """
    if not callable(predict) or isinstance(predict, type):
        raise SettingError("predict", found=f"a {type(predict).__name__}",
                           rule="a function of inputs, targets and a query")  # fmt: skip
    if not hasattr(predict, "register_forward_hook"):
        yield lambda *given: _tried(predict, *(own.astype(kind) for own, kind in zip(given, kinds, strict=True)))
        return
    import torch  # the user's module needs torch  # pyright: ignore[reportMissingImports]

    module: Any = predict
    first = next((own for own in module.parameters() if own.is_floating_point()), torch.zeros(()))
    modes = [(own, own.training) for own in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield lambda *given: _tried(
                module, *(torch.tensor(own, dtype=first.dtype, device=first.device) for own in given)
            )
    finally:
        for own, training in modes:
            own.training = training


def _tried(predict: Call, *prompt: Any) -> Any:
    try:
        return predict(*prompt)
    except LemmataError:
        raise
    except Exception as error:  # a user's function may raise any error
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        remedy = "pass prompts in the predictor's precision, for example float32" if _of_types(text) else None
        rule = "a function of inputs, targets and a query"
        raise SettingError("predict", found=text, rule=rule, remedy=remedy) from error


def _of_types(text: str) -> bool:
    """Return whether the text of an error is about number types of arrays."""
    return any(word in text.lower() for word in ("dtype", "float32", "float64", "double"))
