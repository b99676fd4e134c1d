"""SOAP: Adam in the eigenbasis of Shampoo."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ._matrices import as_matrix


class SoapState(NamedTuple):
    """The number of steps, averages of G G' and G' G, their eigenvectors, the mean of the gradients, and the second
    moment in rotated coordinates.
    """

    count: Any
    left: Any
    right: Any
    left_basis: Any
    right_basis: Any
    mean: Any
    square: Any


def scale_by_soap(
    b1: float = 0.95, b2: float = 0.95, eps: float = 1e-8, every: int = 10
) -> optax.GradientTransformation:
    """Apply Adam to the rotated gradient Q_L' G Q_R, and rotate the step of Adam back.

    The columns of Q_L and Q_R are the eigenvectors of averages of G G' and G' G over earlier gradients G. The first
    gradient only determines these bases, and the first step is 0. The bases are computed again after every `every`
    steps. In between, the bases do not change, although the averages do. The mean of the gradients is stored in the
    original coordinates and stays valid after a change of basis. The second moment is stored entry by entry in rotated
    coordinates, so its entries belong to other directions after a change of basis. Vectors are matrices of one column.

    Args:
        b1: the decay rate of the mean of the gradients.
        b2: the decay rate of the mean of the squared gradients, and of the averages of G G' and G' G.
        eps: the number that is added to the square root of the second moment.
        every: the number of steps between two computations of the bases.

    >>> step = scale_by_soap()
    >>> G = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    >>> nothing, state = step.update(G, step.init(G))
    >>> bool(jnp.all(nothing == 0)), int(state.count)
    (True, 1)
    """

    def init(params):
        zeros = jax.tree.map(jnp.zeros_like, params)
        square = lambda axis: lambda p: jnp.zeros((as_matrix(p).shape[axis],) * 2, p.dtype)
        basis = lambda axis: lambda p: jnp.eye(as_matrix(p).shape[axis], dtype=p.dtype)
        one, two = (jax.tree.map(square(axis), params) for axis in (0, 1))
        left, right = (jax.tree.map(basis(axis), params) for axis in (0, 1))
        return SoapState(jnp.zeros((), jnp.int32), one, two, left, right, zeros, zeros)

    def update(updates, state, params=None):
        del params
        first, count = state.count == 0, state.count
        one, two = state.left_basis, state.right_basis
        rotate = lambda g, q, p: (q.T @ as_matrix(g) @ p).reshape(g.shape)
        after = lambda new, old: jax.tree.map(lambda a, b: jnp.where(first, b, a), new, old)
        mean = after(optax.tree.update_moment(updates, state.mean, b1, 1), state.mean)
        turned = jax.tree.map(rotate, updates, one, two)
        square = after(optax.tree.update_moment(turned, state.square, b2, 2), state.square)

        def step(m, v, q, p):
            number = jnp.maximum(count, 1)
            scaled = rotate(m, q, p) / (1 - b1**number) / (jnp.sqrt(v / (1 - b2**number)) + eps)
            return jnp.where(first, 0.0, (q @ as_matrix(scaled) @ p.T).reshape(m.shape))

        steps = jax.tree.map(step, mean, square, one, two)
        matrices = jax.tree.map(as_matrix, updates)
        left = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g @ g.T, state.left, matrices)
        right = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g.T @ g, state.right, matrices)
        vectors = lambda sides: jax.tree.map(lambda s: jnp.linalg.eigh(s)[1], sides)
        renewed, kept = lambda: (vectors(left), vectors(right)), lambda: (one, two)
        one, two = jax.lax.cond(count % every == 0, renewed, kept)
        return steps, SoapState(count + 1, left, right, one, two, mean, square)

    return optax.GradientTransformation(init, update)


def soap(
    learning_rate: optax.ScalarOrSchedule,
    b1: float = 0.95,
    b2: float = 0.95,
    eps: float = 1e-8,
    every: int = 10,
    weight_decay: float = 0.0,
) -> optax.GradientTransformation:
    """Return SOAP with a learning rate and decoupled weight decay (see `scale_by_soap`).

    >>> method = soap(0.1, weight_decay=0.01)
    >>> weights = jnp.ones((2, 3))
    >>> update, _ = method.update(weights, method.init(weights), weights)
    >>> update.shape
    (2, 3)
    """
    decay = optax.add_decayed_weights(weight_decay) if weight_decay else optax.identity()
    return optax.chain(scale_by_soap(b1, b2, eps, every), decay, optax.scale_by_learning_rate(learning_rate))
