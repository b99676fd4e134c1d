"""Symmetric operators of which only products with vectors are known: Hessians and Gauss-Newton matrices."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from lemmata.core import answer_of
from lemmata.errors import DataError, ShapeError

Product = Callable[[PyTree], PyTree]

_IN_JAX = "write it with jax.numpy, without numpy, math, or an `if` on its values"


def hessian_product(loss: Callable[[PyTree], Float[Array, ""]], params: PyTree) -> Product:
    """Return the exact product v -> H v with the Hessian H of a loss at given parameters, without forming H.

    The gradient is linearised once, which stores the results of the layers. After that, each product costs about as
    much as two gradients. The product is compiled once for each function `loss`. To avoid a second compilation, pass
    the same function object for other parameters.

    Args:
        loss: a scalar of the parameters, twice differentiable.
        params: an array, or a pytree of arrays.

    Raises:
        DataError: for parameters that are not arrays of float32 or float64, or a loss that is not a real number.
        ShapeError: for a loss that is not a scalar.
        SettingError: for a loss that JAX cannot compute or differentiate.

    >>> product = hessian_product(lambda w: jnp.sum(w**4), jnp.array([1.0, 2.0]))
    >>> product(jnp.array([1.0, 1.0]))
    Array([12., 48.], dtype=float64)
    """
    check_vector("parameters", params)
    check_scalar(loss, params)
    return answer_of("loss", _hessian, loss, params, rule="a function that JAX differentiates twice", remedy=_IN_JAX)


def gauss_newton_product(
    outputs: Callable[[PyTree], PyTree], loss: Callable[[PyTree], Float[Array, ""]], params: PyTree
) -> Product:
    """Return the product v -> J' H J v with the Gauss-Newton matrix J' H J of loss(outputs(params)).

    J is the Jacobian of the outputs, and H is the Hessian of the loss in the outputs. If the loss is convex in the
    outputs, the matrix is positive semidefinite. The matrix is the Hessian without the curvature of the outputs.

    Args:
        outputs: the inputs of the loss, as a function of the parameters.
        loss: a scalar of the outputs, twice differentiable.
        params: an array, or a pytree of arrays.

    Raises:
        DataError: for parameters that are not arrays of float32 or float64, or a loss that is not a real number.
        ShapeError: for a loss that is not a scalar.
        SettingError: for a loss or outputs that JAX cannot compute or differentiate.

    >>> product = gauss_newton_product(jnp.sin, lambda z: jnp.sum(z**2) / 2, jnp.zeros(2))
    >>> product(jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    check_vector("parameters", params)
    check_scalar(lambda p: loss(outputs(p)), params)
    rule = "functions that JAX differentiates"
    return answer_of("outputs and loss", _gauss_newton, outputs, loss, params, rule=rule, remedy=_IN_JAX)


@eqx.filter_jit
def _hessian(loss: Callable, params: PyTree) -> Product:
    return jax.linearize(jax.grad(lambda at: jnp.asarray(loss(at))), params)[1]  # a constant loss may be a plain float


@eqx.filter_jit
def _gauss_newton(outputs: Callable, loss: Callable, params: PyTree) -> Product:
    found, forward = jax.linearize(outputs, params)
    backward = jax.linear_transpose(forward, params)
    inner = jax.linearize(jax.grad(loss), found)[1]
    return jax.tree_util.Partial(_sandwich, forward, inner, backward)


def _sandwich(forward: Callable, inner: Callable, backward: Callable, vector: PyTree) -> PyTree:
    return backward(inner(forward(vector)))[0]


def check_vector(name: str, like: PyTree) -> None:
    """Raise DataError unless `like` is a pytree of arrays in single or double precision with at least one number."""
    leaves = jax.tree_util.tree_leaves_with_path(like)
    for path, leaf in leaves:
        texts = getattr(getattr(leaf, "dtype", None), "kind", "f") in "OSUMm"
        if not (eqx.is_array_like(leaf) and not texts and jnp.result_type(leaf) in (jnp.float32, jnp.float64)):
            raise DataError(
                f"{name}{jax.tree_util.keystr(path)}",
                found=getattr(leaf, "dtype", type(leaf).__name__),
                rule="arrays of float32 or float64",
                remedy="convert them, or split off the other leaves, with equinox.partition for example",
            )
    if sum(jnp.size(leaf) for _, leaf in leaves) == 0:
        raise DataError(name, found="no numbers", rule="at least one number")


def check_scalar(loss: Callable, params: PyTree) -> None:
    """Raise SettingError if JAX cannot compute the loss, and ShapeError or DataError if it is not one real number."""
    rule = "a function of the parameters in JAX"
    leaves = jax.tree.leaves(answer_of("loss", eqx.filter_eval_shape, loss, params, rule=rule, remedy=_IN_JAX))
    shapes = [_shape(leaf) for leaf in leaves]
    if shapes != [()]:
        remedy = "sum over the rows with jnp.sum" if shapes else "return the loss"
        raise ShapeError("loss", found=f"values of shapes {shapes}", rule="a single number", remedy=remedy)
    if not jnp.issubdtype(jnp.result_type(leaves[0]), jnp.floating):
        found, remedy = jnp.result_type(leaves[0]), "return a float, for example with jnp.asarray(value, float)"
        raise DataError("loss", found=f"a number of type {found}", rule="a real floating-point number", remedy=remedy)


def _shape(leaf: Any) -> Any:
    """The shape of a value, or the name of its type if it is not an array."""
    return jnp.shape(leaf) if hasattr(leaf, "shape") or isinstance(leaf, int | float | complex) else type(leaf).__name__


def check_product(product: Any, like: PyTree) -> None:
    """Raise ShapeError unless the product maps a vector like `like` to a vector of the same structure and shapes.

    Raise SettingError unless JAX can compute the product, and DataError unless the result is real.
    """
    shape = lambda tree: jax.tree.map(_shape, tree)
    rule = "a function of vectors in JAX"
    found = answer_of("product", eqx.filter_eval_shape, product, like, rule=rule, remedy=_IN_JAX)
    if jax.tree.structure(found) != jax.tree.structure(like) or shape(found) != shape(like):
        raise ShapeError(
            "product",
            found=f"shapes {shape(found)}",
            rule=f"shapes {shape(like)}, the shapes of the vector that the product gets",
        )
    kinds = {str(jnp.result_type(leaf)) for leaf in jax.tree.leaves(found)}
    if not all(jnp.issubdtype(kind, jnp.floating) for kind in kinds):
        remedy = "return real floating-point numbers, of the type of the vector"
        raise DataError("product", found=f"numbers of type {', '.join(kinds)}", rule="real numbers", remedy=remedy)


def flattened(product: Product, like: PyTree) -> Callable[[Float[Array, " n"]], Float[Array, " n"]]:
    """The product as a function of flat vectors."""
    unravel = ravel_pytree(like)[1]
    return lambda vector: ravel_pytree(product(unravel(vector)))[0]
