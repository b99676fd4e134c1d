"""Shampoo: a preconditioner for each side of a matrix."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ._matrices import as_matrix, inverse_root


class ShampooState(NamedTuple):
    """Sums or averages of G G' and G' G, one pair for each parameter."""

    left: Any
    right: Any


def scale_by_shampoo(decay: float = 1.0, eps: float = 1e-12) -> optax.GradientTransformation:
    """Precondition each matrix of gradients on both sides: L^(-1/4) G R^(-1/4).

    The matrices are L = sum G G' and R = sum G' G over the steps so far, or averages if `decay` is below 1. Vectors and
    numbers are matrices with one column, so R is one number. Tensors are flattened to matrices that keep the first
    axis.

    Args:
        decay: the decay rate. With 1, L and R are sums, as in the original method. With a value below 1, they are
            averages: L <- decay L + (1 - decay) G G'.
        eps: eigenvalues below eps times the largest eigenvalue are replaced by eps times the largest eigenvalue.
            Eigenvalues of this size belong to directions without a gradient.

    >>> step = scale_by_shampoo()
    >>> G = jnp.array([[3.0, 0.0], [0.0, 0.1]])
    >>> update, _ = step.update(G, step.init(G))
    >>> bool(jnp.allclose(update, jnp.eye(2), atol=1e-3))  # the first step has the singular vectors of G, and values 1
    True
    """

    def init(params):
        square = lambda axis: lambda p: jnp.zeros((as_matrix(p).shape[axis],) * 2, p.dtype)
        return ShampooState(jax.tree.map(square(0), params), jax.tree.map(square(1), params))

    new = 1.0 if decay == 1.0 else 1 - decay

    def update(updates, state, params=None):
        del params
        matrices = jax.tree.map(as_matrix, updates)
        left = jax.tree.map(lambda s, g: decay * s + new * g @ g.T, state.left, matrices)
        right = jax.tree.map(lambda s, g: decay * s + new * g.T @ g, state.right, matrices)

        def precondition(g: Float[Array, "..."], one: Float[Array, "m m"], two: Float[Array, "n n"]):
            return (inverse_root(one, 4, eps) @ as_matrix(g) @ inverse_root(two, 4, eps)).reshape(g.shape)

        return jax.tree.map(precondition, updates, left, right), ShampooState(left, right)

    return optax.GradientTransformation(init, update)


def shampoo(
    learning_rate: optax.ScalarOrSchedule, decay: float = 1.0, eps: float = 1e-12, momentum: float | None = None
) -> optax.GradientTransformation:
    """Return Shampoo with a learning rate, and with momentum if `momentum` is given (see `scale_by_shampoo`).

    >>> method = shampoo(0.1)
    >>> weights = jnp.ones((2, 3))
    >>> update, _ = method.update(weights, method.init(weights), weights)
    >>> round(float(jnp.linalg.norm(update, ord=2)), 4)
    0.1
    """
    trace = optax.trace(momentum) if momentum else optax.identity()
    return optax.chain(scale_by_shampoo(decay, eps), trace, optax.scale_by_learning_rate(learning_rate))
