"""Two-layer networks with three activations, and the widths and times that training these networks needs.

The activations are ReLU, exponential and softmax. Each network is trained in the time of its own tangent kernel H. In
this time, the flow is dF/dt = -H (F - Y), where F are the outputs and Y the targets. The number lambda is the smallest
eigenvalue of the limit of H at infinite width. All networks start from the symmetric initialisation: hidden units come
in pairs with equal weights and opposite signs, so F = 0.
"""

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.kernels import SoftmaxTangent, gram

ACTIVATIONS = ("relu", "exp", "softmax")


def limit_gram(activation: str, x: Float[Array, "n d"], sigma: float) -> Float[Array, "n n"]:
    """Return the tangent kernel with respect to W, at infinite width, of f(x) = m^(-1/2) sum_r a_r phi(<w_r, x>).

    Here phi is the activation, m the width, and a_r = ±1. The kernel is E[phi'(<w, x>) phi'(<w, y>)] <x, y> for w ~
    N(0, sigma² I). For the ReLU, the kernel is <x, y> (pi - angle(x, y)) / (2 pi). For the exponential, the kernel is
    <x, y> exp(sigma² |x + y|² / 2). The softmax network has another form, f(x) = m <a, softmax(W' x)>, and its kernel
    is <x, y> exp(sigma² <x, y>).

    Args:
        activation: relu, exp or softmax.
        x: the points, one in each row.
        sigma: the standard deviation of the weights.
    """
    products = x @ x.T
    if activation == "softmax":
        return gram(SoftmaxTangent(sigma=sigma), x)
    squares = jnp.diagonal(products)
    if activation == "exp":
        return products * jnp.exp(sigma**2 * (squares[:, None] + squares + 2 * products) / 2)
    norms = jnp.sqrt(squares[:, None] * squares)
    cosine = jnp.clip(products / jnp.where(norms > 0, norms, 1.0), -1.0, 1.0)
    return products * (math.pi - jnp.arccos(cosine)) / (2 * math.pi)


def slopes(
    activation: str,
    weight: Float[Array, "d m"],
    sign: Float[Array, "k m"],
    x: Float[Array, "n d"],
    units: float | Float[Array, ""],
) -> tuple[Float[Array, "n k"], Float[Array, "n m"], Float[Array, "n k"]]:
    """Return the outputs F of the network that consists of the first `units` units, and the factors of the gradients.

    Args:
        activation: relu, exp or softmax.
        weight: the hidden weights W, one column for each unit.
        sign: the output weights, one row a_l for each output.
        x: the points, one in each row.
        units: the width of the network, which uses the first `units` columns of `weight`.

    Returns:
        The outputs F, the factors s and the numbers c. The entry of the tangent kernel between output l at x_i and
        output l' at x_j is sum_r (a_lr - c_il) s_ir (a_l'r - c_jl') s_jr <x_i, x_j>. For softmax, c_il is the mean of
        a_l over units, weighted by the softmax at x_i; otherwise c_il is 0.
    """
    logits, used = x @ weight, jnp.arange(weight.shape[1]) < units
    if activation == "softmax":
        shares = jax.nn.softmax(jnp.where(used, logits, -jnp.inf), axis=1)
        means = shares @ sign.T
        return units * means, jnp.sqrt(units) * shares, means
    hidden = jnp.exp(logits) if activation == "exp" else jnp.maximum(logits, 0.0)
    slope = hidden if activation == "exp" else (logits > 0).astype(x.dtype)
    outputs = (hidden * used) @ sign.T / jnp.sqrt(units)
    return outputs, slope * used / jnp.sqrt(units), jnp.zeros_like(outputs)


@functools.partial(jax.jit, static_argnames=("activation", "steps"))
def time_to_fit(
    activation: str,
    weight: Float[Array, "d m"],
    sign: Float[Array, "k m"],
    x: Float[Array, "n d"],
    y: Float[Array, "n k"],
    units: float | Float[Array, ""],
    error: float | Float[Array, ""],
    horizon: Float[Array, ""],
    steps: int = 4096,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the flow time at which descent reaches |F - Y|² <= error, and the loss at this time.

    Descent takes steps of 1 / (2 lambda_max(H)), where H is the tangent kernel at initialisation. The time is infinite
    if descent first reaches the horizon or the largest number of steps.

    Args:
        activation: relu, exp or softmax.
        weight: the weights W at the initialisation.
        sign: the output weights, one row a_l for each output.
        x: the inputs.
        y: the targets Y.
        units: the width of the network, which uses the first `units` columns of `weight`.
        error: the required squared norm of F - Y, where F are the outputs.
        horizon: the flow time at which descent stops.
        steps: the largest number of steps.
    """
    # Times refer to the flow with kernel H. The softmax network's kernel is m H, so W moves m times more slowly.
    scale = 1 / jnp.sqrt(units) if activation == "softmax" else 1.0
    rate = 0.5 / largest_eigenvalue(activation, weight, sign, x, units)

    def going(state: tuple[Array, Array, tuple[Array, Array, Array]]) -> Array:
        count, _, (outputs, _, _) = state
        return (jnp.sum((outputs - y) ** 2) > error) & (count * rate < horizon) & (count < steps)

    def step(state: tuple[Array, Array, tuple[Array, Array, Array]]) -> tuple[Array, Array, tuple]:
        count, weight, (outputs, slope, centre) = state
        residual = outputs - y
        pull = residual @ sign - jnp.sum(residual * centre, axis=1, keepdims=True)
        weight = weight - rate * scale * x.T @ (slope * pull)
        return count + 1, weight, slopes(activation, weight, sign, x, units)

    first = (jnp.zeros(()), weight, slopes(activation, weight, sign, x, units))
    count, _, (outputs, _, _) = jax.lax.while_loop(going, step, first)
    loss = jnp.sum((outputs - y) ** 2)
    return jnp.where(loss <= error, count * rate, jnp.inf), loss


def largest_eigenvalue(
    activation: str,
    weight: Float[Array, "d m"],
    sign: Float[Array, "k m"],
    x: Float[Array, "n d"],
    units: float | Float[Array, ""],
    rounds: int = 30,
) -> Float[Array, ""]:
    """Return lambda_max(H) at these weights by power iteration, without forming H.

    The result is a lower bound, which is too small by at most a few percent.

    Args:
        activation: relu, exp or softmax.
        weight: the hidden weights W, one column for each unit.
        sign: the output weights, one row a_l for each output.
        x: the points, one in each row.
        units: the width of the network, which uses the first `units` columns of `weight`.
        rounds: the number of products with H.
    """
    _, slope, centre = slopes(activation, weight, sign, x, units)

    def product(v: Array, _: None) -> tuple[Array, Array]:
        pulled = x.T @ (slope * (v @ sign - jnp.sum(v * centre, axis=1, keepdims=True)))
        moved = slope * (x @ pulled)
        image = moved @ sign.T - centre * moved.sum(axis=1, keepdims=True)
        size = jnp.linalg.norm(image)
        return image / jnp.maximum(size, jnp.finfo(x.dtype).tiny), size

    # A start with all components, so that none of them is 0 by symmetry.
    first = jnp.cos(jnp.arange(len(x) * len(sign), dtype=x.dtype) ** 2).reshape(len(x), len(sign))
    return jax.lax.scan(product, first / jnp.linalg.norm(first), None, length=rounds)[1][-1]


def sufficient_width(
    times: Float[Array, " w"], widths: Sequence[float] | Sequence[int], horizon: Float[Array, ""]
) -> Float[Array, ""]:
    """Return the smallest width from which on all times are within the horizon; if there is none, twice the last width.

    Args:
        times: the flow time that training takes to reach the required error, at every width.
        widths: the tested widths, increasing.
        horizon: the flow time within which training has to end.
    """
    fits = jnp.cumprod(((times <= horizon) & jnp.isfinite(times))[::-1])[::-1]
    ladder = 1.0 * jnp.asarray([*widths, 2 * widths[-1]])
    return ladder[len(widths) - jnp.sum(fits).astype(int)]
