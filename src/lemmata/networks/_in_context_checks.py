"""Check user input for an in-context transformer: settings, prompts and temperatures."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lemmata.errors import DataError, SettingError, ShapeError


def check_number(name: str, value: Any, cast: Callable[[Any], Array], *, positive: bool) -> None:
    """Refuse a setting that is not a finite number of the right sign, before or after conversion to the weights' type.

    Args:
        name: the name of the setting.
        value: the value of the setting; None is replaced by a default.
        cast: the function that converts a number to the type of the weights.
        positive: whether the number must be above 0; otherwise at least 0.

    Raises:
        SettingError: if the value is refused.
    """
    rule = ("positive" if positive else "at least 0") + " and finite"
    if value is None:
        if positive:
            return
        raise SettingError(name, found=None, rule=f"a number, {rule}")
    try:
        with np.errstate(over="ignore"):
            given, stored = float(value), float(cast(value))
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(value), rule=f"a number, {rule}") from error
    if not all(np.isfinite(number) and (number > 0 if positive else number >= 0) for number in (given, stored)):
        stored_as = "" if stored == given or not np.isfinite(given) else f", stored as {stored:g}"
        raise SettingError(name, found=f"{given}{stored_as}", rule=rule)


def checked_prompt(x: Any, y: Any, queries: Any, columns: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Check a prompt and queries, and return them as arrays of the given type.

    Args:
        x: inputs of the examples.
        y: targets of the examples.
        queries: the inputs at which to predict.
        columns: the number d of columns of the inputs.
        dtype: the type of the transformer's weights.

    Raises:
        ShapeError: if a table has the wrong shape.
        DataError: for fewer than 2 examples, a value that is not a finite number, or a row outside the unit ball; the
            message names the row.
    """
    try:
        x, y, queries = (np.asarray(values, float) for values in (x, y, queries))
    except (TypeError, ValueError) as error:
        raise DataError("the prompt", found=str(error), rule="tables of numbers") from error
    for name, values in {"inputs of the examples": x, "queries": queries}.items():
        if values.ndim != 2 or values.shape[1] != columns:
            raise ShapeError(
                name,
                found=f"shape {values.shape}",
                rule=f"rows of {columns} columns, the number of variables of the features",
            )
    if y.ndim != 1 or len(x) != len(y):
        raise ShapeError("targets", found=f"shape {y.shape} for {len(x)} inputs", rule="one target for each input")
    if len(y) < 2:
        raise DataError("the prompt", found=f"{len(y)} examples", rule="at least 2")
    for name, values in {"target of example": y[:, None], "example": x, "query": queries}.items():
        _refuse_rows(name, values, ball=name != "target of example")
    return jnp.asarray(x, dtype), jnp.asarray(y, dtype), jnp.asarray(queries, dtype)


def _refuse_rows(name: str, values: np.ndarray, ball: bool) -> None:
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if wrong.size:
        raise DataError(f"{name} {wrong[0]} (counted from 0)", found=values[wrong[0]].tolist(), rule="finite numbers")
    norms = np.linalg.norm(values, axis=1)
    if ball and norms.size and norms.max() > 1 + 8 * np.finfo(values.dtype).eps:
        raise DataError(
            f"{name} {int(norms.argmax())} (counted from 0)", found=f"norm {norms.max():.6g}", rule="at most 1",
            remedy="divide all inputs by the largest norm",
        )  # fmt: skip


def refuse_silence(temperature: float, highest: float) -> None:
    """Refuse a temperature so high that rounding turns the logistic function of every target into 1/2.

    Args:
        temperature: the temperature tau of the attention layers.
        highest: the largest allowed tau, 2 eta C_F / eps, where eta is the step size, C_F the Barron parameter of the
            class (a bound on targets), and eps the machine epsilon. At this tau, the largest argument eta C_F / tau of
            a logistic function is eps/2.

    Raises:
        SettingError: if tau is above `highest`.
    """
    if temperature > highest:
        raise SettingError(
            "temperature", found=f"{temperature:g}, a temperature at which every target rounds to 0",
            rule=f"at most {highest:.3g} in this precision (2 eta C_F / eps, with machine epsilon eps)",
            remedy="use a lower temperature, or a floating-point type with more digits",
        )  # fmt: skip
