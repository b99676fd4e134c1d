"""Search, by ascent over dual measures, for the functions of a class that random features approximate worst.

Each measure belongs to a function of the class. The measure gives a lower bound, its deviation, on the distance of this
function from the sums of the drawn features. So an ascent that stops early gives a lower bound on the largest distance
over the class.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_ROUNDS, _NEAREST = 20, 4
_STEPS = (0.03, 0.1, 0.3, 0.6)


def hardest(pool: Float[Array, "m p"], drawn: Float[Array, "m n"]) -> tuple[Float[Array, " m"], Float[Array, ""]]:
    """Return a measure mu of large deviation on m points, with mu(1) = 0 and |mu| <= 1, and its deviation.

    So mu has the total mass 0. The deviation is E|phi_mu| - P_n|phi_mu|. Here phi_mu is the integral of phi over mu, E
    is the mean over the pool, and P_n is the mean over the drawn features. The search starts at the best pair (delta_x
    - delta_x')/2 of point masses and moves towards other pairs.

    Args:
        pool: phi_theta(x), with one row for each point and one column for each feature of the pool.
        drawn: phi_theta(x) for the drawn features.
    """
    apart = lambda values: jax.lax.map(lambda row: jnp.abs(row - values).mean(axis=1) / 2, values)
    gap = apart(pool) - apart(drawn)
    first, second = jnp.unravel_index(jnp.argmax(gap), gap.shape)
    points = jnp.eye(len(pool))
    pair = lambda rows, i, j: (rows[i] - rows[j]) / 2
    steps = jnp.asarray(_STEPS)[:, None, None]

    def climb(_: int | Array, state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        mu, a, b, best = state
        slope = pool @ jnp.sign(a) / pool.shape[1] - drawn @ jnp.sign(b) / drawn.shape[1]
        order = jnp.argsort(slope)
        i, j = jnp.repeat(order[-_NEAREST:], _NEAREST), jnp.tile(order[:_NEAREST], _NEAREST)
        moved = [old + steps * (pair(rows, i, j) - old) for rows, old in ((points, mu), (pool, a), (drawn, b))]
        found = jnp.abs(moved[1]).mean(axis=2) - jnp.abs(moved[2]).mean(axis=2)
        at = jnp.unravel_index(jnp.argmax(found), found.shape)
        better = found[at] > best
        mu, a, b = (jnp.where(better, new[at], old) for new, old in zip(moved, (mu, a, b), strict=True))
        return mu, a, b, jnp.maximum(best, found[at])

    start = tuple(pair(rows, first, second) for rows in (points, pool, drawn))
    mu, _, _, best = jax.lax.fori_loop(0, _ROUNDS, climb, (*start, gap[first, second]))
    return mu, best


def hardest_in_mean_square(pool: Float[Array, "m p"], drawn: Float[Array, "m n"]) -> Float[Array, ""]:
    """Return a large E|phi_h| - P_n|phi_h| for weights h of mean 0 and mean square 1 on m points of equal mass. Here
    phi_h is the mean of h(x) phi(x) over the points.

    The search is gradient ascent with adaptive steps. The search starts from four weights h: the difference between the
    mean over the pool and the mean over the drawn features, and three cosine waves over the points.

    Args:
        pool: phi_theta(x), with one row for each point and one column for each feature of the pool.
        drawn: phi_theta(x) for the drawn features.
    """
    m, centred, own = len(pool), pool - pool.mean(axis=0), drawn - drawn.mean(axis=0)
    unit = lambda h: h / jnp.sqrt(jnp.mean(h**2, axis=1, keepdims=True) + 1e-300)
    value = lambda h: (jnp.abs(h @ centred).mean(axis=1) - jnp.abs(h @ own).mean(axis=1)) / m

    def climb(_: int | Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        h, best, step = state
        slope = jnp.sign(h @ centred) @ centred.T / pool.shape[1] - jnp.sign(h @ own) @ own.T / drawn.shape[1]
        new = unit(h + step[:, None] * unit(slope))
        found = value(new)
        better = found > best
        return jnp.where(better[:, None], new, h), jnp.maximum(found, best), jnp.where(better, 1.5 * step, step / 2)

    waves = jnp.cos(jnp.pi * jnp.arange(1, 4)[:, None] * (jnp.arange(m) + 0.5) / m)
    start = unit(jnp.concatenate([(centred.mean(axis=1) - own.mean(axis=1))[None], waves]))
    return jax.lax.fori_loop(0, 2 * _ROUNDS, climb, (start, value(start), jnp.ones(4)))[1].max()
