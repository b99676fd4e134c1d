"""Networks that are trained on pairs of views by gradient flow, and the course of their embeddings' correlations."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Serial


def small_network(network: Serial, key: Key[Array, ""], inputs: int, scale: float) -> tuple[tuple, Float[Array, "d N"]]:
    """Draw parameters of a network, and multiply the parameters of its last layer (the readout) by the scale. Return
    all parameters, and the weights of the readout.
    """
    params, _ = network.init(key, inputs)
    readout = jax.tree.map(lambda part: scale * part, params[-1])
    return (*params[:-1], readout), readout["weight"]


@eqx.filter_jit
def correlations(
    network: Serial, params: tuple, x: Float[Array, "n m"], views: Float[Array, "n m"], step: Array, steps: int
) -> tuple[tuple, Float[Array, "steps d d"]]:
    """Train on |C - I|², where C is the cross-correlation of the embeddings. Return the parameters at the end, and C
    before each step.

    The gradient flow of all parameters is integrated with classical Runge-Kutta steps.

    Args:
        network: a network of d outputs.
        params: its parameters at the start.
        x: n points.
        views: another view of each point.
        step: the length of a Runge-Kutta step, in the time of the flow.
        steps: the number of steps.
    """

    def correlation(own: tuple) -> Array:
        embed = lambda points: jax.vmap(lambda point: network.apply(own, point))(points)
        product = embed(x).T @ embed(views) / len(x)
        return (product + product.T) / 2

    loss = lambda own: jnp.sum((correlation(own) - jnp.eye(len(correlation(own)))) ** 2)
    slope = jax.grad(loss)
    moved = lambda own, by, size: jax.tree.map(lambda part, change: part - size * change, own, by)

    def one(own: tuple, _) -> tuple[tuple, Array]:
        a = slope(own)
        b = slope(moved(own, a, step / 2))
        c = slope(moved(own, b, step / 2))
        d = slope(moved(own, c, step))
        mean = jax.tree.map(lambda *parts: (parts[0] + 2 * parts[1] + 2 * parts[2] + parts[3]) / 6, a, b, c, d)
        return moved(own, mean, step), correlation(own)

    return jax.lax.scan(one, params, length=steps)
