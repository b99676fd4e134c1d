"""Maps of a matrix of weights with which an optimiser may commute, and the deviation of an optimiser from commuting."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ._updates import updates_of

_SIZES = (0.3, 30.0, 1e4)  # factors of the random gradients
Map = tuple[str, Callable, Callable, float]
"""The name of a map of weights, the map, its inverse, and a factor that multiplies the loss."""


def maps_of(shape: tuple[int, int], rng: np.random.Generator) -> list[Map]:
    """Return a random map from each of five groups of maps, and a map that changes only the unit of the loss."""
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
    """Return the weights after `steps` steps of the optimiser with full gradients."""

    def one(_, carry):
        weights, state = carry
        update, state = transform.update(jax.grad(loss)(weights), state, weights)
        return optax.apply_updates(weights, update), state

    return jax.lax.fori_loop(0, steps, one, (start, transform.init(start)))[0]


def deviations(transform: optax.GradientTransformation, shape: tuple[int, int], seed: int) -> dict[str, float]:
    """Return, for each map, the deviation of an optimiser from commuting with the map.

    The optimiser runs in the original and in mapped coordinates. The deviation is the distance between the end in
    mapped coordinates and the image of the original end, divided by the distance from the start to the original end.
    One run minimises mean (tanh(X W) - Y)², a loss without symmetries, in ten steps. Three other runs take ten steps
    with random gradients that do not depend on the weights and vary over three decades. The sizes of gradients matter,
    because clipping only affects large gradients. The result is the largest deviation of all runs.
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
    """Return the deviation of the optimiser from commuting with a map, for given gradients.

    The optimiser takes steps with the gradients, and with the mapped gradients times a factor. If the optimiser
    commutes with the map, the second run ends at the image of the end of the first run.
    """
    ends = jax.jit(lambda own, at: at + updates_of(transform, own, at).sum(0))
    end = ends(gradients, start)
    other = ends(scale * jax.vmap(forth)(gradients), forth(start))
    return float(jnp.linalg.norm(other - forth(end)) / jnp.linalg.norm(end - start))
