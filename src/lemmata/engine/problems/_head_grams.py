"""Gram matrices of several attention heads on the same tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._conditions import positive_ridge, rounding_floor
from ._sampled import draws


class HeadGrams(eqx.Module):
    """Positive semidefinite matrices K_1, ..., K_H, and a ridge.

    Args:
        grams: K_h, one a head.
        ridge: the ridge of effective dimensions.
    """

    grams: Float[Array, "H n n"]
    ridge: Float[Array, ""]


class ManyHeads(Population[HeadGrams]):
    """Heads with tied queries and keys on normal tokens: as they are drawn, all equal, or all but one scaled down.

    In a quarter of the problems each; in the last quarter the eigenvectors of the first head are shared out among all,
    so that no two heads have a direction in common. Every matrix is scaled to trace n, then scaled down where it is.
    """

    def settings(self) -> Space:
        """Heads, tokens, their width and the ridge."""
        return Space(
            heads=Integer(4, 2, 16, "heads"),
            n=Integer(32, 4, 256, "tokens"),
            p=Integer(4, 1, 64, "width of the tokens"),
            ridge=Real(0.3, 1e-3, 10.0, "ridge, where the trace is n"),
        ).where("no more heads than tokens", lambda s: s["heads"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeadGrams:
        """A uniform number chooses the quarter."""
        heads, n, p = setting["heads"], setting["n"], setting["p"]
        quarter, normal = jax.random.split(key)
        tokens, weights = draws(normal, (n, p), (heads, p, p))
        keys = jnp.einsum("np,hqp->hnq", tokens, weights) / p**0.75
        drawn = jnp.exp(jnp.einsum("hnq,hmq->hnm", keys, keys))
        values, vectors = jnp.linalg.eigh(drawn[0])
        own = jnp.arange(n) % heads == jnp.arange(heads)[:, None]
        apart = jnp.einsum("nk,hk,mk->hnm", vectors, own * values, vectors)
        which = jnp.floor(4 * jax.random.uniform(quarter))
        grams = jnp.select([which == 0, which == 1], [apart, jnp.broadcast_to(drawn[:1], drawn.shape)], drawn)
        grams = grams * (n / jnp.trace(grams, axis1=1, axis2=2))[:, None, None]
        faint = jnp.where((which == 2) & (jnp.arange(heads) > 0), 1e-4, 1.0)
        return HeadGrams(faint[:, None, None] * grams, jnp.asarray(setting["ridge"]))

    def hypotheses(self, problem: HeadGrams) -> list[Hypothesis]:
        """Semidefinite matrices and a positive ridge."""
        values = jnp.linalg.eigvalsh(problem.grams)
        floor = jax.vmap(rounding_floor)(values)
        name = "every K_h is positive semidefinite (smallest eigenvalue over the rounding floor)"
        worst = (values[:, 0] / floor).min()
        return [Hypothesis(name, worst, ">=", -1.0), positive_ridge(problem.ridge, "effective dimensions need one")]
