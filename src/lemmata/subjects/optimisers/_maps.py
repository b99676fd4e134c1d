"""Maps of a matrix of weights with which an optimiser may commute, and how far the optimiser is from commuting."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ._updates import updates_of

_SIZES = (0.3, 30.0, 1e4)  # of gradients
Map = tuple[str, Callable, Callable, float]
"""The name of a map of weights, the map, its inverse, and a factor that multiplies the loss."""


def maps_of(shape: tuple[int, int], rng: np.random.Generator) -> list[Map]:
    """Return one random map of each group, the largest group first, and then a change of the unit of the loss."""
    m, n = shape
    turn = lambda size: jnp.asarray(np.linalg.qr(rng.standard_normal((size, size)))[0])
    whole, left, right = turn(m * n), turn(m), turn(n)
    order, rows, columns = (rng.permutation(size) for size in (m * n, m, n))
    signs = jnp.asarray(rng.choice([-1.0, 1.0], shape))
    back, rows_back, columns_back = np.argsort(order), np.argsort(rows), np.argsort(columns)
    return [
        (
            "all rotations",
            lambda w: (whole @ w.ravel()).reshape(shape),
            lambda w: (whole.T @ w.ravel()).reshape(shape),
            1.0,
        ),
        ("rotations of rows and columns", lambda w: left @ w @ right, lambda w: left.T @ w @ right.T, 1.0),
        (
            "permutations of entries",
            lambda w: w.ravel()[order].reshape(shape),
            lambda w: w.ravel()[back].reshape(shape),
            1.0,
        ),
        (
            "permutations of rows and columns",
            lambda w: w[rows][:, columns],
            lambda w: w[rows_back][:, columns_back],
            1.0,
        ),
        ("signs of entries", lambda w: signs * w, lambda w: signs * w, 1.0),
        ("unit of the loss", lambda w: w, lambda w: w, 7.0),
    ]


def trained(
    transform: optax.GradientTransformation, loss: Callable, start: Float[Array, "m n"], steps: int
) -> Float[Array, "m n"]:
    """Return the weights after some steps with full gradients."""

    def one(_, carry):
        weights, state = carry
        update, state = transform.update(jax.grad(loss)(weights), state, weights)
        return optax.apply_updates(weights, update), state

    return jax.lax.fori_loop(0, steps, one, (start, transform.init(start)))[0]


def deviations(transform: optax.GradientTransformation, shape: tuple[int, int], seed: int) -> dict[str, float]:
    """Return how far training in mapped coordinates ends from the image of the end, relative to how far training moved.

    Ten steps of training minimise mean (tanh(X W) - Y)², a loss without symmetries. Ten further steps use random
    gradients that do not depend on the weights, with sizes over three decades. The sizes matter because clipping only
    affects large gradients, and clipping by norm only affects some of these. The result is the largest deviation.
    """
    rng = np.random.default_rng(seed)
    draw = lambda *size: jnp.asarray(rng.standard_normal(size))
    points, targets, start = draw(24, shape[0]), draw(24, shape[1]), draw(*shape)
    loss = lambda w: jnp.mean((jnp.tanh(points @ w) - targets) ** 2)
    run = lambda f, w: trained(transform, f, w, 10)
    end = jax.jit(lambda w: run(loss, w))(start)
    moved = jnp.linalg.norm(end - start)
    found = {}
    for name, forth, back, scale in maps_of(shape, rng):
        other = jax.jit(lambda w, back=back, scale=scale: run(lambda v: scale * loss(back(v)), w))(forth(start))
        found[name] = float(jnp.linalg.norm(other - forth(end)) / moved)
    given = 10.0 ** jnp.asarray(rng.uniform(-1.5, 1.5, (10, 1, 1))) * draw(10, *shape)
    for name, forth, _, scale in maps_of(shape, rng):
        own = [found[name], *(_on_given(transform, size * given, start, forth, scale) for size in _SIZES)]
        found[name] = max(own)
    return found


def _on_given(
    transform: optax.GradientTransformation, gradients: Float[Array, "t m n"], start: Float[Array, "m n"],
    forth: Callable, scale: float,
) -> float:  # fmt: skip
    """Return the deviation for given gradients.

    Take steps on the mapped gradients times a factor. They should end at the image of the place at which steps on the
    original gradients end.
    """
    ends = jax.jit(lambda own, at: at + updates_of(transform, own, at).sum(0))
    end = ends(gradients, start)
    other = ends(scale * jax.vmap(forth)(gradients), forth(start))
    return float(jnp.linalg.norm(other - forth(end)) / jnp.linalg.norm(end - start))
