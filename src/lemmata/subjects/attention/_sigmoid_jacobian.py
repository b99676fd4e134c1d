"""Bounds on the spectral norm of the derivative of a self-attention head's output with respect to the tokens."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_numbers
from lemmata.errors import SettingError, ShapeError

from ._dense import bias_of, check_array


def jacobian_bound(
    x: Float[Array, "n p"],
    exponent: Float[Array, "rows columns"],
    value: Float[Array, "o width"],
    *,
    kind: Literal["sigmoid", "softmax"] = "sigmoid",
    bias: float | Float[Array, ""] | None = None,
) -> Float[Array, ""]:
    """Return a bound on the spectral norm of dY/dX for the head y_i = sum_j P_ij W x_j with logits x_i' A x_j.

    X and Y hold the tokens x_i and the outputs y_i of the head. Let P be the attention weights, and let R be the length
    of the longest token. For the sigmoid, let D = P (1 - P), entry by entry: the derivatives of the weights with
    respect to their logits. For the softmax, let C_i be the covariance of the tokens under the weights of row i. The
    bounds are

        for the sigmoid, |W| (|P| + |A| R² (max_i sum_j D_ij + |D|)); for the softmax, |W| (|P| + |A| (max_i |C_i| + R
        (max_j sum_i P_ij)^(1/2) max_i (tr C_i)^(1/2))),

    with spectral norms |.| of matrices. The three terms bound the effect of changes of the values, the queries and the
    keys. Both bounds are at most a polynomial in R, for n tokens. For the sigmoid with any bias, the bound is at most
    |W| n (1 + |A| R²/2). For the softmax, the bound is at most |W| (√n + |A| R² (1 + √n)). The bound for the sigmoid is
    attained if all tokens are one vector u and A is a non-negative multiple of u u'.

    Args:
        x: tokens, one in each row.
        exponent: the matrix A = W_q' W_k / sqrt(d).
        value: the matrix W, which maps tokens to values.
        kind: the function that turns logits into weights.
        bias: the number that is added to every logit, for the sigmoid; -log n by default.

    Raises:
        ShapeError: if tokens and weights do not fit each other, or are empty.
        SettingError: for an unknown kind, a bias that is not finite, and a bias for the softmax.
        DataError: for entries that are not finite.
        PrecisionError: for float16 and other types of half precision.

    Reference: ramapuram2025sigmoid.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import jacobian_bound
        >>> one = jnp.ones((1, 1))
        >>> float(jacobian_bound(jnp.zeros((4, 1)), one, one, bias=0.0))  # every weight is 1/2
        2.0
    """
    for name, array in (("tokens", x), ("exponent", exponent), ("value", value)):
        check_array(name, array)
        check_numbers(name, array)
    if not x.ndim == value.ndim == 2 or exponent.shape != (x.shape[1],) * 2 or value.shape[1] != x.shape[1]:
        found = f"tokens {x.shape}, exponent {exponent.shape}, value {value.shape}"
        raise ShapeError("a head of self-attention", found=found, rule="shapes (n, p), (p, p) and (o, p)")
    n = len(x)
    logits, norm = x @ exponent @ x.T, lambda matrix: jnp.linalg.norm(matrix, 2)
    square = jnp.max(jnp.sum(x**2, axis=1))
    if kind == "sigmoid":
        weights = jax.nn.sigmoid(logits + bias_of(bias, n))
        slopes = weights * (1 - weights)
        moved = square * (jnp.max(jnp.sum(slopes, axis=1)) + norm(slopes))
    elif kind == "softmax":
        if bias is not None:
            raise SettingError("bias", found=bias, rule="None for the softmax, whose weights do not depend on a bias")
        weights = jax.nn.softmax(logits, axis=1)
        away = jnp.sqrt(weights)[:, :, None] * (x - (weights @ x)[:, None])
        widest = jnp.max(jnp.linalg.svdvals(away)[:, 0]) ** 2
        spread = jnp.sqrt(jnp.max(jnp.sum(away**2, axis=(1, 2))))
        moved = widest + jnp.sqrt(square * jnp.max(jnp.sum(weights, axis=0))) * spread
    else:
        raise SettingError("kind", found=repr(kind), rule="'sigmoid' or 'softmax'")
    return norm(value) * (norm(weights) + norm(exponent) * moved)
