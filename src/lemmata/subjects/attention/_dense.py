"""Softmax and sigmoid attention from the full matrix of logits, as the reference for tiled versions."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lemmata.core import check_numbers, known
from lemmata.errors import DataError, SettingError, ShapeError


def sigmoid_attention(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values p"],
    *,
    bias: float | Float[Array, ""] | None = None,
    causal: bool = False,
    slope: float = 0.0,
    mask: Bool[Array, "rows columns"] | None = None,
) -> Float[Array, "n p"]:
    """Compute one head of sigmoid attention, O_i = sum_j sigmoid(q_i' k_j / sqrt(d) - slope |i - j| + bias) v_j.

    The weights of a row are not divided by their sum. Therefore this sum depends on the bias. At bias 0, the sum is
    about n/2 for n tokens. At bias -log n, the sum is about the mean of exp(q_i' k_j / sqrt(d)) over the keys, for any
    n. The value -log n is meant for n keys. If token i attends to fewer than n keys, as in causal attention, the sum is
    smaller in proportion. Keys to which the token does not attend have the weight 0. Use `jax.vmap` for many heads or
    sequences. The function needs memory for n² numbers; `tiled_attention` does not.

    Args:
        q: queries, one row per token.
        k: keys, one row per token.
        v: values, one row per token.
        bias: the number that is added to every logit; -log n by default. The bias can be differentiated.
        causal: whether token i only attends to the tokens j <= i.
        slope: the ALiBi slope, the decrease of a logit per position between two tokens.
        mask: row i marks the tokens to which token i attends; all tokens by default.

    Raises:
        ShapeError: if there are no tokens, or if queries, keys, values and mask do not fit each other.
        SettingError: for a bias or slope that is not a finite number, or a slope below 0 or traced; for a `causal` that
            is not a boolean.
        DataError: for entries that are not finite numbers, for products that overflow, and for a mask that is not
            boolean.
        PrecisionError: for float16 and other types of half precision.

    Reference: ramapuram2025sigmoid.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import sigmoid_attention
        >>> zero, ones = jnp.zeros((4, 2)), jnp.ones((4, 1))
        >>> sigmoid_attention(zero, zero, ones, bias=0.0).ravel().tolist()  # every weight is 1/2
        [2.0, 2.0, 2.0, 2.0]
    """
    check_head(q, k, v)
    raised = bias_of(bias, len(q))
    seen = _seen(len(q), causal, mask)
    return checked_outputs(jnp.where(seen, jax.nn.sigmoid(_logits(q, k, slope) + raised), 0.0) @ v)


def softmax_attention(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values p"],
    *,
    causal: bool = False,
    slope: float = 0.0,
    mask: Bool[Array, "rows columns"] | None = None,
) -> Float[Array, "n p"]:
    """Compute one head of softmax attention, O_i = sum_j softmax_j(q_i' k_j / sqrt(d) - slope |i - j|) v_j.

    Args:
        q: queries, one row per token.
        k: keys, one row per token.
        v: values, one row per token.
        causal: whether token i only attends to the tokens j <= i.
        slope: the ALiBi slope, the decrease of a logit per position between two tokens.
        mask: row i marks the tokens to which token i attends; all tokens by default.

    Raises:
        ShapeError: if there are no tokens, or if queries, keys, values and mask do not fit each other.
        SettingError: for a slope that is not a finite number of at least 0, or is traced; for a `causal` that is not a
            boolean.
        DataError: for entries that are not finite numbers, for products that overflow, for a mask that is not boolean,
            and for a token that attends to no token. If the mask is traced, the output of this token is NaN instead.
        PrecisionError: for float16 and other types of half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import softmax_attention
        >>> zero, values = jnp.zeros((3, 2)), jnp.array([[0.0], [2.0], [4.0]])
        >>> softmax_attention(zero, zero, values, causal=True).ravel().tolist()  # running means
        [0.0, 1.0, 2.0]
    """
    check_head(q, k, v)
    seen = _seen(len(q), causal, mask)
    found = known(seen)
    if found is not None and not found.any(axis=1).all():
        blind = int((~found.any(axis=1)).argmax())
        raise DataError(
            "mask",
            found=f"a mask that hides every token from token {blind}",
            rule="at least one visible token for each token, because softmax attention is a mean of values",
        )
    return checked_outputs(jax.nn.softmax(jnp.where(seen, _logits(q, k, slope), -jnp.inf), axis=1) @ v)


def checked_outputs(outputs: Array) -> Array:
    """Return the outputs, and raise DataError if some outputs are not finite because logits or sums have overflowed.

    Args:
        outputs: the outputs; traced outputs are not checked.

    Raises:
        DataError: for outputs that are not finite.
    """
    found = known(outputs)
    if found is not None and not np.isfinite(found).all():
        raise DataError(
            "outputs of attention",
            found=f"{int((~np.isfinite(found)).any(axis=-1).sum())} tokens whose outputs are not finite",
            rule="queries, keys and values whose products do not overflow",
            remedy="divide queries or keys by a constant, or use float64",
        )
    return outputs


def check_causal(causal: Any) -> None:
    """Raise SettingError unless the value is a boolean.

    Args:
        causal: the value to check.
    """
    if not isinstance(causal, bool | np.bool_):
        raise SettingError("causal", found=repr(causal)[:40], rule="True or False", remedy="pass a boolean")


def check_head(q: Array, k: Array, v: Array) -> None:
    """Raise an error unless q and k have the shape (n, d) and v has the shape (n, p), with n at least 1.

    Args:
        q: queries.
        k: keys, one row per token.
        v: values, one row per token.

    Raises:
        ShapeError: if a shape does not fit.
        DataError: for entries that are not finite, and for entries that are not floating-point numbers.
        PrecisionError: for float16 and other types of half precision.
    """
    for name, array in (("queries", q), ("keys", k), ("values", v)):
        check_array(name, array)
    shapes = [jnp.shape(array) for array in (q, k, v)]
    if any(len(shape) != 2 for shape in shapes) or shapes[0] != shapes[1] or shapes[2][0] != shapes[0][0]:
        raise ShapeError(
            "a head of attention",
            found=f"queries {shapes[0]}, keys {shapes[1]}, values {shapes[2]}",
            rule="shapes (n, d), (n, d) and (n, p)",
            remedy="map over heads and sequences with jax.vmap",
        )
    for name, array in (("queries", q), ("keys", k), ("values", v)):
        check_floating(name, array)


def check_array(name: str, array: object) -> None:
    """Raise an error for anything that is not an array, such as a list.

    Args:
        name: the name of the array, for the message.
        array: the value to check.

    Raises:
        DataError: if the value is not an array.
    """
    if not isinstance(array, jax.Array | np.ndarray):
        found, rule = f"a {type(array).__name__}", "an array of JAX or NumPy"
        raise DataError(name, found=found, rule=rule, remedy="convert it with jnp.asarray")


def check_floating(name: str, array: Array) -> None:
    """Raise an error unless the array has finite floating-point numbers, which derivatives and sums require.

    Args:
        name: the name of the array, for the message.
        array: the numbers; of a traced array, only the shape and type are checked.

    Raises:
        ShapeError: if an axis has length 0.
        DataError: for entries that are not finite, and for entries that are not floating-point numbers.
        PrecisionError: for float16 and other types of half precision.
    """
    check_numbers(name, array)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise DataError(
            name, found=f"type {array.dtype}", rule="float32 or float64", remedy="convert it with astype(float)"
        )


def of_one_type(*arrays: Array) -> tuple[Array, ...]:
    """Convert the arrays to the most precise of their types, because loops in JAX require a single type."""
    return tuple(jnp.asarray(array, jnp.result_type(*arrays)) for array in arrays)


def bias_of(bias: float | Array | None, n: int) -> Any:
    """Return the given bias after a check, or -log n if it is None. A traced bias is returned without a check.

    Args:
        bias: a number, or None.
        n: the number of tokens.

    Raises:
        SettingError: if the value is not a finite number.
    """
    if bias is None:
        return -math.log(n)
    number = _number("bias", bias, "a finite number, or None for -log n")
    return bias if number is None else number


def fixed_bias_of(bias: float | None, n: int) -> float:
    """Return the same as `bias_of`, as a number that is compiled into a program; a traced bias raises an error."""
    found = bias_of(bias, n)
    if isinstance(found, float):
        return found
    remedy = "use sigmoid_attention, which accepts traced biases, or static_argnames of jax.jit"
    raise SettingError(
        "bias", found="a traced number", rule="a number that is known when the program is compiled", remedy=remedy
    )


def slope_of(slope: float) -> float:
    """Check a slope of ALiBi and return it.

    Args:
        slope: the slope, the decrease of a logit per position between two tokens.

    Raises:
        SettingError: if the slope is not a finite number of at least 0, or is traced.
    """
    rule = "a finite number that is not negative, because logits fall with the distance"
    number = _number("slope", slope, rule)
    if number is None:
        rule, remedy = "a number that is known when the program is compiled", "static_argnames of jax.jit"
        raise SettingError("slope", found="a traced number", rule=rule, remedy=f"use {remedy}")
    if number < 0:
        raise SettingError("slope", found=number, rule=rule)
    return number


def _number(name: str, value: Any, rule: str) -> float | None:
    """Return the value if it is one finite number, return None if it is traced, and otherwise raise an error."""
    found = known(value)
    if found is None:
        if jnp.shape(value) != ():
            raise SettingError(name, found=f"shape {jnp.shape(value)}", rule=rule)
        return None
    if found.shape != () or found.dtype.kind not in "iuf" or not np.isfinite(found):
        raise SettingError(name, found=repr(found.tolist()), rule=rule)
    return float(found)


def _logits(q: Array, k: Array, slope: float) -> Array:
    slope = slope_of(slope)
    logits = (q / q.shape[1] ** 0.5) @ k.T
    if not slope:
        return logits
    places = jnp.arange(len(q))
    return logits - slope * jnp.abs(places[:, None] - places)


def _seen(n: int, causal: bool, mask: Array | None) -> Array:
    check_causal(causal)
    seen = jnp.tril(jnp.ones((n, n), bool)) if causal else jnp.ones((n, n), bool)
    if mask is None:
        return seen
    check_array("mask", mask)
    if mask.dtype != bool:
        remedy = "use mask != 0 if the mask has values 0 and 1, or np.isfinite(mask) if it has values 0 and -inf"
        raise DataError(
            "mask", found=f"type {mask.dtype}", rule="booleans that are True if a key is visible", remedy=remedy
        )
    if jnp.shape(mask) != (n, n):
        raise ShapeError("mask", found=f"shape {jnp.shape(mask)}", rule=f"shape ({n}, {n}), one row for each token")
    return seen & mask
