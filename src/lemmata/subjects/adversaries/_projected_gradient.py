"""Projected gradient ascent on any function of the inputs: the attack of an adversary on the rows of a batch."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import known
from lemmata.errors import SettingError, ShapeError

NORMS = ("linf", "l2")


def projected_gradient(
    losses: Callable[[Array], Array],
    x: Float[Array, "..."],
    radius: float | Float[Array, ""],
    steps: int = 10,
    *,
    norm: str = "linf",
    step: float | None = None,
    start: Key[Array, ""] | None = None,
    box: tuple[float, float] = (-math.inf, math.inf),
    published: bool = False,
) -> Float[Array, "..."]:
    """Find inputs within a radius of x that raise the loss of each row, by projected gradient ascent.

    Let P be the projection onto the ball of that radius around each row of x, followed by the projection onto the box.
    The attack repeats

        z <- P(z + step direction(z)),    direction = sign of the gradient (linf), gradient / its length (l2),

    from z = x, or from a random point of the ball if a key is given as `start`. A row outside of the box is first moved
    to the nearest point of the box, which becomes the centre of the ball. Therefore all visited points are in the box
    and in the ball. Of all visited points, including this centre, each row keeps the point of the largest loss.
    Therefore the loss after an attack is never smaller than the loss at the centre. The loss after an attack is a lower
    bound on the loss that the worst adversary reaches.

    `published=True` repeats the public code of the method Adv-NTK: every step takes the gradient at the *starting*
    point, and the ball is around the *random start*. All steps have the same direction. Together they are one step of
    at most the radius, which may end at up to twice the radius from x. The last point is kept, whatever its loss. Use
    this option only for comparison.

    JAX can trace the function. Only gradients with respect to the inputs are computed.

    Args:
        losses: a function of a batch (n, d) that returns one loss for each row; each loss must depend only on its own
            row.
        x: the inputs.
        radius: the radius of the ball, at least 0.
        steps: the number of steps.
        norm: "linf" or "l2".
        step: the length of a step. By default, the length is 2.5 radius / steps, so that the steps can cross the ball.
        start: a key for a random start in the ball. Without a key, the start is x.
        box: the smallest and largest value of a coordinate. Without a box, every value is allowed.
        published: whether to repeat the attack of the public code.

    Raises:
        SettingError: for an unknown norm, a negative radius, no steps, or an empty box.
        ShapeError: if x is not a matrix, or there is not one loss for each row.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import projected_gradient
        >>> projected_gradient(lambda z: z @ jnp.array([1.0, -1.0]), jnp.zeros((1, 2)), 0.5).tolist()
        [[0.5, -0.5]]
    """
    _check(losses, x, radius, steps, norm, box)
    x = jnp.clip(x, *box)
    size = 2.5 * radius / steps if step is None else step
    slope = jax.grad(lambda z: losses(z).sum())
    begin = x if start is None else jnp.clip(x + radius * _in_the_ball(start, x, norm), *box)
    if published:
        moved = begin + jnp.clip(steps * size, None, radius) * _direction(slope(begin), norm)
        return jnp.clip(moved, *box)

    def one(_, carry):
        z, best, largest = carry
        ahead = z + size * _direction(slope(z), norm)
        ahead = jnp.clip(x + _project(ahead - x, radius, norm), *box)
        value = losses(ahead)
        better = value > largest
        return ahead, jnp.where(better[:, None], ahead, best), jnp.where(better, value, largest)

    value, first = losses(begin), losses(x)
    best = jnp.where((value > first)[:, None], begin, x)
    return jax.lax.fori_loop(0, steps, one, (begin, best, jnp.maximum(value, first)))[1]


def _direction(slope: Float[Array, "n d"], norm: str) -> Float[Array, "n d"]:
    if norm == "linf":
        return jnp.sign(slope)
    length = jnp.linalg.norm(slope, axis=1, keepdims=True)
    return slope / jnp.where(length > 0, length, 1.0)


def _project(shift: Float[Array, "n d"], radius: float | Array, norm: str) -> Float[Array, "n d"]:
    if norm == "linf":
        return jnp.clip(shift, -radius, radius)
    length = jnp.linalg.norm(shift, axis=1, keepdims=True)
    return shift * jnp.minimum(1.0, radius / jnp.where(length > 0, length, 1.0))


def _in_the_ball(key: Key[Array, ""], x: Float[Array, "n d"], norm: str) -> Float[Array, "n d"]:
    """A uniformly random point in the unit ball for each row."""
    if norm == "linf":
        return jax.random.uniform(key, x.shape, x.dtype, -1.0, 1.0)
    direction_key, length_key = jax.random.split(key)
    direction = _direction(jax.random.normal(direction_key, x.shape, x.dtype), norm)
    return direction * jax.random.uniform(length_key, (len(x), 1), x.dtype) ** (1 / x.shape[1])


def _check(losses: Callable, x: Array, radius: float | Array, steps: int, norm: str, box: tuple[float, float]) -> None:
    if x.ndim != 2:
        raise ShapeError("inputs", found=f"shape {x.shape}", rule="a matrix with one input in each row")
    if norm not in NORMS:
        raise SettingError("norm", found=norm, rule=f"one of {', '.join(NORMS)}")
    number = known(radius)
    if number is not None and not 0 <= float(number) < math.inf:
        raise SettingError("radius", found=float(number), rule="a finite number that is not negative")
    if not (isinstance(steps, int) and steps >= 1):
        raise SettingError("steps", found=steps, rule="a whole number that is at least 1")
    if not box[0] <= box[1]:
        raise SettingError("box", found=box, rule="two numbers: the smallest allowed value, then the largest")
    shape = jax.eval_shape(losses, x).shape
    if shape != (len(x),):
        raise ShapeError("losses", found=f"shape {shape}", rule=f"one loss for each of the {len(x)} rows")
