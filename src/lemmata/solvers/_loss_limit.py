"""Compute the gradient of a loss with respect to outputs, and the outputs of least loss, where its flow ends."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError

_ROUNDING = 16.0
_MOST_STEPS = 100
# A step of Newton's method below this relative size is the last step, because the method squares the relative error.
_NEAR = 1e-9


class OutputLoss(eqx.Module):
    """A loss, and its gradient with respect to outputs f that have one row for each row of the Gram matrix.

    Args:
        loss: a user's function loss(f, y) of outputs and targets.
        shape: the shape of the outputs that this function takes.
    """

    loss: Callable[[Any, Any], Any]
    shape: tuple[int, ...] = eqx.field(static=True)

    def value(self, f: Float[Array, "..."], y: Any) -> Float[Array, ""]:
        """The value of the loss at the outputs f."""
        return self.loss(f.reshape(self.shape), y)

    def __call__(self, f: Float[Array, "n c"], y: Any) -> Float[Array, "n c"]:
        """The gradient of the loss at the outputs f."""
        return jax.grad(self.value)(f, y)


@eqx.filter_jit
def largest_curvature(loss: OutputLoss, f: Float[Array, "n c"], y: Any) -> Float[Array, ""]:
    """Estimate, from below, the largest |eigenvalue| of the Hessian of the loss at given outputs by the power method.

    Args:
        loss: the loss of the outputs.
        f: the outputs.
        y: the targets.
    """
    times = lambda v: jax.jvp(lambda at: loss(at, y), (f,), (v,))[1]
    unit = lambda v: v / jnp.maximum(jnp.linalg.norm(v), jnp.finfo(v.dtype).tiny)
    start = unit(jax.random.normal(jax.random.key(0), f.shape, f.dtype))
    return jnp.linalg.norm(times(jax.lax.fori_loop(0, 10, lambda _, v: unit(times(v)), start)))


def least_loss(
    loss: OutputLoss, vectors: Float[Array, "n r"], first: Float[Array, "n c"], y: Any
) -> tuple[Float[Array, "r c"], Float[Array, ""], int]:
    """Minimise the loss of the outputs f = f(0) + vectors V over V, by Newton's method.

    Return V, the largest change of an output in the last step, and the number of steps. Each step of Newton's method is
    halved until the loss falls enough (Armijo's rule).

    Args:
        loss: the loss of the outputs.
        vectors: orthonormal directions in which outputs move.
        first: the outputs f(0).
        y: targets.

    Raises:
        SettingError: if the Hessian is not positive definite at a step, or if 100 steps do not reach a minimum.
    """
    along, size = jnp.zeros((vectors.shape[1], first.shape[1]), first.dtype), jnp.asarray(0.0)
    rule = "for t = inf, a loss that attains its minimum and has a positive definite Hessian"
    if not along.size:
        return along, size, 0
    for count in range(1, _MOST_STEPS + 1):
        along, size, near, smallest, sound = _newton(loss, vectors, first, y, along)
        if not bool(sound):
            found = f"a Hessian with eigenvalue {float(smallest):.3g} after {count - 1} steps of Newton's method"
            raise SettingError("loss", found=found, rule=rule, remedy="ask for finite times only")
        if bool(near):
            return along, size, count
    found = f"outputs that still change by {float(size):.3g} after {_MOST_STEPS} steps of Newton's method"
    raise SettingError("loss", found=found, rule=rule, remedy="ask for finite times only")


@eqx.filter_jit
def _newton(
    loss: OutputLoss, vectors: Float[Array, "n r"], first: Float[Array, "n c"], y: Any, along: Float[Array, "r c"]
) -> tuple[Float[Array, "r c"], Float[Array, ""], Bool[Array, ""], Float[Array, ""], Bool[Array, ""]]:
    at = lambda flat: first + vectors @ flat.reshape(along.shape)
    value = lambda flat: loss.value(at(flat), y)
    here = along.reshape(-1)
    now, slope = jax.value_and_grad(value)(here)
    curvatures, axes = jnp.linalg.eigh(jax.hessian(value)(here))
    eps = jnp.finfo(here.dtype).eps
    sound = curvatures[0] > _ROUNDING * len(here) * eps * curvatures[-1]
    step = -axes @ ((axes.T @ slope) / jnp.where(sound, curvatures, 1.0))
    size = jnp.max(jnp.abs(at(step) - first))
    near = size <= _NEAR * (1 + jnp.max(jnp.abs(at(here))))

    def too_long(length):
        allowed = now + 1e-4 * length * (slope @ step) + 8 * eps * jnp.abs(now)
        return ~near & ~(value(here + length * step) <= allowed) & (length > eps)

    length = jax.lax.while_loop(too_long, lambda length: length / 2, jnp.ones_like(now))
    return (here + length * step).reshape(along.shape), size, near, curvatures[0], sound
