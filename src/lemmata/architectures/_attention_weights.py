"""Averages over the random attention weights of two inputs x and y. These averages give the kernels of `Attention`.

The averages have closed forms, except for softmax of Gaussian logits. For these logits, they are Monte Carlo estimates.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from ._correlation import arc_cosine_kernels, correlation

# the number of entries of an average that are drawn at once
_DRAWN_ENTRIES = 2**14

# Positions are last here: arrays of moments have shape (..., s, s), with the position of x first.
Moments = Float[Array, "... s s"]
# whether a query (the axis before the last) may attend to a key (the last axis)
Allowed = Bool[Array, "... s s"]


class Logits(NamedTuple):
    """The moments of the inputs of queries and keys, and the pairs of positions that may attend to each other.

    Attributes:
        xy: covariances of the positions of x and of y, times the scale of the logits.
        xx: the same covariances of every x with itself.
        yy: the same covariances of every y with itself.
        sees_x: whether each query of x may attend to each key of x.
        sees_y: whether each query of y may attend to each key of y.
    """

    xy: Moments
    xx: Moments
    yy: Moments
    sees_x: Allowed
    sees_y: Allowed

    def swapped(self) -> "Logits":
        """Return the moments with x and y exchanged."""
        return Logits(_t(self.xy), self.yy, self.xx, self.sees_y, self.sees_x)


class Averages(NamedTuple):
    """Means over the weights z = zeta(G(x)) and u = zeta(G(y)), at positions a of x and b of y.

    G are the s x s matrices of logits for s positions, and zeta maps logits to attention weights.

    Attributes:
        values: sum_cd E[z_ac u_bd] K_cd for the covariance K of the values.
        tangents: the same sum for the tangent kernel of the values.
        slopes: sum_ef E[(J_a K J_b^T)_ef] Q_ef. Here, J_a is the Jacobian of row a of z with respect to its logits, and
            Q is the covariance of the inputs of the keys.
        slope_tangents: the same sum if Q is the tangent kernel of the inputs of the keys.
    """

    values: Moments
    tangents: Moments
    slopes: Moments
    slope_tangents: Moments

    def plus(self, other: "Averages") -> "Averages":
        """Add two averages entry by entry."""
        return Averages(*(a + b for a, b in zip(self, other, strict=True)))


class Contracted(NamedTuple):
    """The covariances and tangent kernels between x and y that the averages multiply and sum (see `Averages`).

    The first two arrays belong to the values, the last two arrays to the inputs of the keys.
    """

    nngp: Moments
    ntk: Moments
    key_nngp: Moments
    key_ntk: Moments

    def swapped(self) -> "Contracted":
        """Return the covariances and tangent kernels with x and y exchanged."""
        return Contracted(*map(_t, self))


def softmax(logits: Moments, sees: Allowed) -> Moments:
    """Return softmax over the keys to which a query may attend. If there is no such key, all weights are 0."""
    top = jnp.max(jnp.where(sees, logits, -jnp.inf), axis=-1, keepdims=True)
    top = jax.lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    values = jnp.where(sees, jnp.exp(jnp.where(sees, logits - top, 0.0)), 0.0)
    total = jnp.sum(values, axis=-1, keepdims=True)
    return values / jnp.where(total > 0, total, 1.0)


def weights(mechanism: str, logits: Moments, sees: Allowed) -> Moments:
    """Return the weights zeta of the logits, with 0 at keys to which a query may not attend."""
    if mechanism == "softmax":
        return softmax(logits, sees)
    return jnp.where(sees, jax.nn.relu(logits) if mechanism == "relu" else logits, 0.0)


def fixed(mechanism: str, logits: Logits, parts: Contracted) -> Averages:
    """Return the averages for fixed logits G(x) = xx and G(y) = yy. Their gradients are 0, so the slopes are 0."""
    z, u = weights(mechanism, logits.xx, logits.sees_x), weights(mechanism, logits.yy, logits.sees_y)
    values, tangents = (z @ part @ _t(u) for part in (parts.nngp, parts.ntk))
    return Averages(values, tangents, jnp.zeros_like(values), jnp.zeros_like(values))


def identity(logits: Logits, parts: Contracted) -> Averages:
    """Return the averages for weights that equal the logits. The Jacobian of the weights is the identity.

    E[G_ac(x) G_bd(y)] = Q_ab Q_cd, where Q are the scaled covariances.
    """
    z, u = (sees.astype(parts.nngp.dtype) for sees in (logits.sees_x, logits.sees_y))
    seen = lambda part: z @ part @ _t(u)
    return Averages(
        logits.xy * seen(logits.xy * parts.nngp),
        logits.xy * seen(logits.xy * parts.ntk),
        seen(parts.nngp * parts.key_nngp),
        seen(parts.nngp * parts.key_ntk),
    )


def relu(logits: Logits, parts: Contracted) -> Averages:
    """Return the averages for ReLU of the logits, from the arc-cosine kernels of the pairs G_ac(x), G_bd(y).

    The covariance of G_ac(x) and G_bd(y) is Q_ab Q_cd, where Q are the scaled covariances `xy` of `Logits`.
    """
    own = lambda moments: jnp.diagonal(moments, axis1=-2, axis2=-1)
    at, size = own(logits.xx)[..., :, None], logits.xy.shape[-1]
    row = lambda values, c: jnp.take(values, c, axis=-2)[..., None, None, :]

    def key(total: Averages, c: Array) -> tuple[Averages, None]:
        # axes: a, b, d
        nngp = logits.xy[..., None] * row(logits.xy, c)
        xx = (at * jnp.take(own(logits.xx), c, axis=-1)[..., None, None])[..., None]
        yy = (own(logits.yy)[..., :, None] * own(logits.yy)[..., None, :])[..., None, :, :]
        scale, rho = correlation(nngp, xx, yy)
        kappa0, kappa1 = arc_cosine_kernels(rho)
        seen = jnp.take(logits.sees_x, c, axis=-1)[..., :, None, None] & logits.sees_y[..., None, :, :]
        value, slope = jnp.where(seen, 0.5 * scale * kappa1, 0.0), jnp.where(seen, 0.5 * kappa0, 0.0)
        summed = lambda weight, part: jnp.sum(weight * row(part, c), axis=-1)
        slopes = (summed(slope, parts.nngp * part) for part in (parts.key_nngp, parts.key_ntk))
        return total.plus(Averages(summed(value, parts.nngp), summed(value, parts.ntk), *slopes)), None

    zero = jnp.zeros(jnp.broadcast_shapes(logits.xy.shape, logits.xx.shape, logits.yy.shape), logits.xy.dtype)
    total, _ = jax.lax.scan(key, Averages(zero, zero, zero, zero), jnp.arange(size))
    return total


def softmax_averages(z: Moments, u: Moments, parts: Contracted) -> Averages:
    """Return the averages at given softmax weights, with the Jacobians J_a = diag(z_a) - z_a z_a^T and J_b."""
    k, v = parts.nngp, _t(u)
    zk, kv = z @ k, k @ v
    zkv = zk @ v

    def slopes(t: Array) -> Array:
        # (J_a K J_b^T)_ef = z_ae u_bf (K_ef - (K u_b)_e - (z_a K)_f + z_a K u_b), contracted with t_ef
        return z @ (k * t) @ v - z @ (kv * (t @ v)) - (zk * (z @ t)) @ v + zkv * (z @ t @ v)

    return Averages(zkv, z @ parts.ntk @ v, slopes(parts.key_nngp), slopes(parts.key_ntk))


def drawn_softmax(logits: Logits, parts: Contracted, key: Key[Array, ""], draws: int) -> Averages:
    """Return the averages for softmax over Gaussian logits, Cov(G_ac(x), G_bd(y)) = Q_ab Q_cd, by Monte Carlo.

    Q are the scaled covariances of `Logits`. Let Q = L L^T over the positions of both inputs, and let the matrix Z have
    independent standard normal entries. The blocks of L Z L^T for x and for y are distributed like G(x) and G(y). All
    pairs share the same draws of Z. Each Z is used with both signs and for both orders of the two inputs. So the
    estimate is unbiased, depends on the two inputs alone, and does not change if x and y are exchanged.
    """
    normal = _normal(logits, key, draws)
    shape = logits.xy.shape
    orders = [
        jax.tree.map(lambda part: jnp.broadcast_to(part, shape), pair)
        for pair in ((logits, parts), (logits.swapped(), parts.swapped()))
    ]
    both = jax.tree.map(lambda a, b: jnp.stack([a, b]), *orders)
    found = jax.vmap(lambda one, contracted: _drawn_in_order(one, contracted, normal))(*both)
    return Averages(*((part[0] + _t(part[1])) / 2 for part in found))


def own_softmax(logits: Logits, parts: Contracted, key: Key[Array, ""], draws: int) -> Averages:
    """Return the result of `drawn_softmax` for equal inputs, x = y. Both inputs have the same logits, those of x."""
    size = logits.xy.shape[-1]
    root = semidefinite_root(logits.xy)
    zeta = lambda z: softmax(root @ z @ _t(root), logits.sees_x)
    return _mean_over_draws(_normal(logits, key, draws)[:, :size, :size], parts, zeta, zeta)


def _normal(logits: Logits, key: Key[Array, ""], draws: int) -> Float[Array, "draws k k"]:
    size = 2 * logits.xy.shape[-1]
    return jax.random.normal(key, (draws, size, size), logits.xy.dtype)


def _drawn_in_order(logits: Logits, parts: Contracted, normal: Float[Array, "draws k k"]) -> Averages:
    size = logits.xy.shape[-1]
    top = jnp.concatenate([logits.xx, logits.xy], axis=-1)
    root = semidefinite_root(jnp.concatenate([top, jnp.concatenate([_t(logits.xy), logits.yy], axis=-1)], axis=-2))
    x, y = root[..., :size, :], root[..., size:, :]
    return _mean_over_draws(
        normal, parts, lambda z: softmax(x @ z @ _t(x), logits.sees_x), lambda z: softmax(y @ z @ _t(y), logits.sees_y)
    )


def joint_softmax(logits: Logits, parts: Contracted, key: Key[Array, ""], draws: int) -> Averages:
    """Return averages from logits drawn jointly for all inputs. x and y must be equal, and `xy` must hold all pairs.

    The logits are blocks of L Z L^T, where L L^T is the covariance of all positions of all inputs and Z is standard
    normal with both signs. The distribution of the logits is exact, and the result is a mean of positive semidefinite
    matrices. For n inputs of s positions, a draw stores (n s)² numbers and takes of the order of (n s)³ operations.
    """
    n, size = logits.xy.shape[0], logits.xy.shape[-1]
    everything = jnp.swapaxes(logits.xy, 1, 2).reshape(n * size, n * size)
    root = semidefinite_root((everything + everything.T) / 2)
    rows = root.reshape(n, size, n * size)

    def own(z: Array) -> Array:
        return jnp.einsum("nak,nck->nac", (root @ z).reshape(rows.shape), rows)

    keys = jax.random.split(key, draws)
    draw = lambda k: jax.random.normal(k, (n * size, n * size), root.dtype)
    return _mean_over_draws(
        keys,
        parts,
        lambda z: softmax(own(z)[:, None], logits.sees_x),
        lambda z: softmax(own(z)[None], logits.sees_y),
        draw,
    )


def _mean_over_draws(
    draws: Shaped[Array, "draws ..."],
    parts: Contracted,
    left: Callable[[Array], Array],
    right: Callable[[Array], Array],
    draw: Callable[[Array], Array] = lambda z: z,
) -> Averages:
    """Return the averages over draws, each with both signs. Batches of draws keep the arrays small."""
    shape, count = parts.nngp.shape, len(draws)
    block = math.gcd(count, 2 ** max(0, (_DRAWN_ENTRIES // math.prod(shape)).bit_length() - 1))

    def both_signs(item: Array) -> Averages:
        z = draw(item)
        one, other = (softmax_averages(left(sign * z), right(sign * z), parts) for sign in (1.0, -1.0))
        return one.plus(other)

    def add(total: Averages, items: Array) -> tuple[Averages, None]:
        return total.plus(Averages(*(jnp.sum(part, axis=0) for part in jax.vmap(both_signs)(items)))), None

    zero = jnp.zeros(shape, parts.nngp.dtype)
    total, _ = jax.lax.scan(add, Averages(zero, zero, zero, zero), draws.reshape(-1, block, *draws.shape[1:]))
    return Averages(*(part / (2 * count) for part in total))


def semidefinite_root(matrix: Float[Array, "... k k"]) -> Float[Array, "... k k"]:
    """Return a lower triangular L such that L L^T equals the matrix.

    The matrix may be singular. Columns of L without a pivot are 0.
    """
    size = matrix.shape[-1]
    pivots = jnp.diagonal(matrix, axis1=-2, axis2=-1)
    floor = 8 * size * jnp.finfo(matrix.dtype).eps * pivots

    def column(j: Array | int, root: Array) -> Array:
        row = jax.lax.dynamic_index_in_dim(root, j, axis=-2, keepdims=False)
        rest = jax.lax.dynamic_index_in_dim(matrix, j, axis=-1, keepdims=False) - jnp.einsum("...ij,...j", root, row)
        pivot = jax.lax.dynamic_index_in_dim(rest, j, axis=-1)
        kept = pivot > jax.lax.dynamic_index_in_dim(floor, j, axis=-1)
        values = jnp.where(kept, rest / jnp.sqrt(jnp.where(kept, pivot, 1.0)), 0.0)
        values = jnp.where(jnp.arange(size) >= j, values, 0.0)
        return jax.lax.dynamic_update_index_in_dim(root, values, j, axis=-1)

    return jax.lax.fori_loop(0, size, column, jnp.zeros_like(matrix))


def _t(matrix: Float[Array, "... s t"]) -> Float[Array, "... t s"]:
    return jnp.swapaxes(matrix, -1, -2)
