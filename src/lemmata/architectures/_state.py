"""What an infinitely wide layer passes on: covariances between two inputs, and the variance of each."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class State(eqx.Module):
    """The second moments of one layer's outputs, between inputs x and inputs y, at infinite width.

    All four arrays broadcast to one shape, so one `push` serves a single pair (scalars), the diagonal (vectors) and a
    whole matrix: `nngp` and `ntk` of shape (n, m), `xx` of shape (n, 1), `yy` of shape (1, m).

    Attributes:
        nngp: E[h(x) h(y)], the covariance of one coordinate of the outputs.
        ntk: the tangent kernel <dh(x)/dparams, dh(y)/dparams> of one coordinate of the outputs.
        xx: E[h(x)^2].
        yy: E[h(y)^2].
        fan_in: the number of coordinates; the standard parameterisation depends on it to leading order.
    """

    nngp: Float[Array, "..."]
    ntk: Float[Array, "..."]
    xx: Float[Array, "..."]
    yy: Float[Array, "..."]
    fan_in: int = eqx.field(static=True)


def pair_state(x: Float[Array, " d"], y: Float[Array, " d"]) -> State:
    """The state of the inputs themselves for a single pair: nngp = <x, y> / d, and no parameters before them."""
    # The three products are contracted by the same operation, so that for y equal to x they agree to the last bit.
    product = jax.vmap(jnp.dot)(jnp.stack([x, x, y]), jnp.stack([y, x, y])) / x.size
    return State(product[0], jnp.zeros_like(product[0]), product[1], product[2], x.size)


def diagonal_state(x: Float[Array, "n d"]) -> State:
    """The state of every input with itself."""
    square = jnp.sum(x * x, axis=1) / x.shape[1]
    return State(square, jnp.zeros_like(square), square, square, x.shape[1])


def matrix_state(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> State:
    """The state of all pairs: one matrix product, and the two diagonals as a column and a row."""
    dim = x.shape[1]
    xx, yy = jnp.sum(x * x, axis=1)[:, None] / dim, jnp.sum(y * y, axis=1)[None, :] / dim
    nngp = x @ y.T / dim
    return State(nngp, jnp.zeros_like(nngp), xx, yy, dim)
