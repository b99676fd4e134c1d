"""Errors for models of several inputs. The messages give code that turns the model into a function of one array."""

import inspect
import itertools
import types
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np

from lemmata.errors import SettingError

_ENDS = "abcdefgh"
_RULE = "one array of rows, with one input of the model in each row"


def check_one_input(model: Any) -> None:
    """Raise SettingError if a call of the model needs more than one input.

    Args:
        model: the user's model, without a wrapper.
    """
    call, first = _call(model)
    names = _needed(call)[first:]
    if len(names) < 2:
        return
    ends = list(_ENDS[: len(names) - 1])
    where = (
        f"a is the number of columns of {names[0]}"
        if len(names) == 2
        else f"{', '.join(ends)} are the first columns of {', '.join(names[1:])}"
    )
    slices = [f"x[:, {left}:{right}]" for left, right in zip(["", *ends], [*ends, ""], strict=True)]
    joined = f"join the inputs, x = np.concatenate([{', '.join(names)}], axis=1), and split x in the model"
    raise SettingError(
        "model", found=f"a call that needs {len(names)} inputs: {', '.join(names)}", rule=_RULE,
        remedy=f"{joined}, where {where}: {_wrapped(model, slices)}",
    )  # fmt: skip


def check_one_array(model: Any, x: Any, y: Any) -> None:
    """Raise SettingError if training rows are several arrays: a dictionary, or a tuple with one array for each input.

    Args:
        model: the user's model, without a wrapper.
        x: the training rows.
        y: the targets of the training rows.
    """
    if isinstance(x, Mapping):
        parts, said = list(x.values()), f"a dictionary of {', '.join(map(str, x))}"
    elif isinstance(x, tuple | list) and _are_inputs(x, y):
        parts, said = list(x), f"a {type(x).__name__} of {len(x)} arrays"
    else:
        return
    shapes = [np.shape(part) for part in parts]
    ends = np.cumsum([0, *(int(np.prod(shape[1:])) for shape in shapes)]).tolist()
    slices = [f"x[:, {a or ''}:{b if b < ends[-1] else ''}]" for a, b in itertools.pairwise(ends)]
    tables = all(len(shape) == 2 for shape in shapes)
    if not tables:
        slices = [
            f"{own}.reshape({', '.join(map(str, (-1, *shape[1:])))})" for own, shape in zip(slices, shapes, strict=True)
        ]
    arrays = "list(x.values())" if isinstance(x, Mapping) else "x"
    flat = arrays if tables else f"[part.reshape(len(part), -1) for part in {arrays}]"
    joined = f"x = np.concatenate({flat}, axis=1)"
    keys = list(x) if isinstance(x, Mapping) else None
    remedy = f"join the arrays, {joined}, and split x in the model: {_wrapped(model, slices, keys)}"
    raise SettingError("x", found=f"{said} of shapes {', '.join(map(str, shapes))}", rule=_RULE, remedy=remedy)


def _are_inputs(x: Any, y: Any) -> bool:
    """Return whether x is a sequence of arrays with one row for each target, and not a sequence of rows."""
    if not x or y is None or isinstance(y, tuple) or not all(len(np.shape(p)) > 1 for p in x if hasattr(p, "shape")):
        return False
    if not all(hasattr(part, "shape") for part in x):
        return False
    n = len(y) if hasattr(y, "__len__") else 0
    return len(x) != n and all(len(part) == n for part in x)


def _call(model: Any) -> tuple[Any, int]:
    """Return the function that is called with rows, and the number of its arguments before the rows."""
    if isinstance(model, tuple):
        module = model[0] if model else None
        return (type(module).__call__, 1) if _is(module, "flax.linen.module") else (module, 1)
    if _is(model, "torch.nn.modules.module"):
        return model.forward, 0
    if isinstance(model, eqx.Module) or _is(model, "flax.nnx.module"):
        return model.__call__, 0  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    return (model if isinstance(model, types.FunctionType | types.MethodType) else None), 0


def _needed(call: Any) -> list[str]:
    """Return the names of positional arguments without defaults, or an empty list if the signature is not known."""
    try:
        arguments = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return []
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [own.name for own in arguments if own.kind in placed and own.default is inspect.Parameter.empty]


def _wrapped(model: Any, slices: list[str], keys: list[Any] | None = None) -> str:
    """Return the line of code that turns the model into a model of a single array."""
    given = ", ".join(slices)
    if keys is not None:
        given = "{" + ", ".join(f"{key!r}: {own}" for key, own in zip(keys, slices, strict=True)) + "}"
    if _is(model, "torch.nn.modules.module"):
        return (
            f"class Joined(type(model)): forward = lambda self, x: super(Joined, self).forward({given}); then"
            " model.__class__ = Joined, and pass model"
        )
    if isinstance(model, eqx.Module):
        return (
            "own, rest = eqx.partition(model, eqx.is_inexact_array); pass (lambda own, x:"
            f" jax.vmap(eqx.combine(own, rest))({given}), own)"
        )
    if isinstance(model, tuple):
        linen = _is(model[0], "flax.linen.module")
        own = f"module.apply(own, {given})" if linen else f"f(own, {given})"
        return f"pass (lambda own, x: {own}, {'variables' if linen else 'params'})"
    if _is(model, "flax.nnx.module"):
        return (
            "graph, own, rest = nnx.split(model, nnx.Param, ...); pass (lambda own, x:"
            f" nnx.merge(graph, own, rest)({given}), own)"
        )
    return f"pass lambda x: model({given})"


def _is(value: Any, module: str) -> bool:
    return any(cls.__module__ == module for cls in type(value).__mro__)
