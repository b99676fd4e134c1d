"""Experiments on an optimiser: impulses, longest steps, decay, stability, and the shape of its steps."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from scipy import optimize

from ._updates import updates_of

_STABLE = 2000
_DIVERGED = 1e3  # if h exceeds the stable limit by 0.2 %, the iterates exceed this number within 2000 steps


def impulse_response(
    transform: optax.GradientTransformation, shape: tuple[int, int], seed: int, window: int
) -> Float[Array, " window"]:
    """Return the weight of a gradient of each age in the last of `window` updates. Weights are positive for descent.

    Gradients have entries +-1. The function changes the sign of one gradient, which does not change second moments.
    The difference of the two updates is projected on this gradient. Half of the projection is the weight of the
    gradient in the numerator of the update.
    """
    signs = jax.random.rademacher(jax.random.key(seed), (window, *shape), jnp.zeros(()).dtype)
    last = lambda gradients: updates_of(transform, gradients, jnp.zeros(shape))[-1]
    straight = last(signs)

    def weight(age):
        number = window - 1 - age
        turned = last(signs.at[number].multiply(-1.0))
        return jnp.mean((turned - straight) * signs[number]) / 2

    return jax.jit(lambda: jax.lax.map(weight, jnp.arange(window)))()


def longest_step(transform: optax.GradientTransformation, shape: tuple[int, int], seed: int, window: int) -> float:
    """Return the largest root mean square of the last of `window` updates, over geometric sequences of gradients.

    The gradients are r^age G, where G has entries +-1 and the last gradient has age 0. The function searches over r. If
    the update grows with the size of the gradients, the result is infinite. For Adam, the result is the exact supremum
    over this number of steps. For other methods, the result is a lower bound.
    """
    signs = jax.random.rademacher(jax.random.key(seed), shape, jnp.zeros(()).dtype)
    ages = jnp.arange(window)[::-1]

    @jax.jit
    def size(ratio, scale):
        gradients = scale * ratio**ages
        update = updates_of(transform, gradients[:, None, None] * signs, jnp.zeros(shape))[-1]
        return jnp.sqrt(jnp.mean(update**2))

    if size(1.0, 1e3) > 100 * size(1.0, 1.0):
        return np.inf
    grid = np.concatenate([np.linspace(0.7, 1.1, 41), [0.999, 1.001]])
    sizes = np.nan_to_num([float(size(ratio, 1.0)) for ratio in grid])
    best = grid[int(np.argmax(sizes))]
    found = optimize.minimize_scalar(
        lambda ratio: -float(size(ratio, 1.0)), bounds=(best - 0.01, best + 0.01), method="bounded"
    )
    return float(max(sizes.max(), -found.fun))  # pyright: ignore[reportAttributeAccessIssue]


def stable_curvature(transform: optax.GradientTransformation) -> float:
    """Return the largest h for which 2000 steps on h |x|²/2 stay bounded, or infinity if this h is at least 1e8.

    The steps start from a 2 x 2 matrix of ones.
    """

    @jax.jit
    def end(curvature):
        def one(_, carry):
            at, state = carry
            update, state = transform.update(curvature * at, state, at)
            return jnp.clip(at + update, -1e9, 1e9), state

        start = jnp.ones((2, 2))
        return jnp.abs(jax.lax.fori_loop(0, _STABLE, one, (start, transform.init(start)))[0]).max()

    bounded = lambda curvature: bool(end(curvature) < _DIVERGED)
    low, high = 1e-8, 1e8
    if bounded(high):
        return np.inf
    while high / low > 1 + 1e-4:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if bounded(middle) else (low, middle)
    return float(low)


def decay_of(transform: optax.GradientTransformation, shape: tuple[int, int], seed: int) -> tuple[str, float]:
    """Return the kind of weight decay and its strength.

    The kind is 'none', 'decoupled', 'coupled' or 'other'. For decoupled decay, the strength is the share of a weight
    that decays in each step. For coupled decay, the strength is the lambda in the gradient lambda w of the weights w.
    """
    keys = jax.random.split(jax.random.key(seed), 2)
    at, gradient = jax.random.normal(keys[0], shape), jax.random.normal(keys[1], shape)
    first: Callable[[Array, Array], Array] = jax.jit(lambda g, w: updates_of(transform, g[None], w)[0])
    still = first(jnp.zeros(shape), at)
    size = float(jnp.abs(still).max())
    tiny = 1e-3 * float(jnp.abs(first(gradient, jnp.zeros(shape))).max()) * float(jnp.finfo(at.dtype).eps) ** 0.5
    if size <= tiny:
        return "none", 0.0
    share = -float(jnp.sum(still * at) / jnp.sum(at * at))
    near = lambda one, two: bool(jnp.abs(one - two).max() <= 1e-3 * jnp.abs(two).max())
    coupled = _coupled(first, at)
    gradients = jax.random.normal(keys[1], (5, *shape))
    if coupled and near(updates_of(transform, gradients, at), updates_of(transform, gradients + coupled * at, 0 * at)):
        return "coupled", coupled
    added = first(gradient, at) - first(gradient, jnp.zeros(shape))
    if share > 0 and near(still, -share * at) and near(added, still):
        return "decoupled", share
    return "other", np.nan


def _coupled(first: Callable[[Array, Array], Array], at: Array) -> float | None:
    """Return the lambda for which the gradient -lambda w does not change the weights w, or None without such a lambda.

    With coupled decay, the gradient lambda w of the decay cancels the gradient -lambda w.
    """
    pushed = lambda rate: float(jnp.sum(first(-rate * at, at) * at))
    low, high = 1e-12, 1e6
    if not (pushed(low) < 0 < pushed(high)):
        return None
    for _ in range(80):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if pushed(middle) < 0 else (low, middle)
    return float(low)


SIZES = (0.01, 1.0, 1e4)
"""The factors by which standard normal gradients are multiplied."""


def step_shape(transform: optax.GradientTransformation, shape: tuple[int, int], seed: int) -> str:
    """Return the kind of the tenth step on random gradients: 'linear', 'sign', 'orthogonal', 'bounded' or 'free'.

    The function determines the kind for gradients of every size in `SIZES`, and for gradients whose sizes vary by three
    decades. If these kinds differ, the function returns 'free'. Several sizes are necessary because clipping only
    affects large gradients.
    """
    gradients = jax.random.normal(jax.random.key(seed), (10, *shape))
    last = jax.jit(lambda g: updates_of(transform, g, jnp.zeros(shape))[-1])
    varied = 10.0 ** jnp.linspace(-1.5, 1.5, 10)[jnp.asarray([3, 8, 0, 5, 9, 1, 6, 4, 2, 7])]
    found = {_shape_at(last, size * gradients) for size in (*SIZES, varied[:, None, None])}
    return found.pop() if len(found) == 1 else "free"


def _shape_at(last: Callable[[Array], Array], gradients: Float[Array, "t m n"]) -> str:
    update, scaled = last(gradients), last(7 * gradients)
    size = jnp.abs(update)
    if float(jnp.abs(last(gradients + gradients[::-1]) - update - last(gradients[::-1])).max()) < 1e-4 * size.max():
        return "linear"
    if float(size.max() - size.min()) < 1e-3 * float(size.max()):
        return "sign"
    values = jnp.linalg.svd(update, compute_uv=False)
    if float(values[-1]) > 0.5 * float(values[0]):
        return "orthogonal"
    return "bounded" if float(jnp.abs(scaled - update).max()) < 0.05 * float(size.max()) else "free"
