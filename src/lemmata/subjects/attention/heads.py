"""The effective dimension of several attention heads together, compared with the dimension of each head.

Each head has a positive semidefinite Gram matrix of its tokens. This theory describes the effective dimension d_eff(K)
= tr K (K + r)^-1, with the ridge r > 0, for sums and means K of the heads' matrices. It does not explain how similar
trained heads are. This similarity decides where the dimension of a sum lies between its bounds.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.conditions import positive_ridge, rounding_floor
from lemmata.engine.problems.sampled import draws

from .effective_dimension import degrees_of_freedom

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "spectrum"}


class HeadGrams(eqx.Module):
    """Positive semidefinite matrices K_1, ..., K_H, one for each head, and the ridge r of effective dimensions."""

    grams: Float[Array, "H n n"]
    ridge: Float[Array, ""]


class ManyHeads(Population[HeadGrams]):
    """Heads with tied queries and keys on normal tokens. There are four kinds, each in a quarter of the problems.

    The heads are independent, or all equal, or all but one are scaled down. In the fourth kind, the eigenvectors of the
    first head are divided among all heads, so no two heads have a common direction. Every matrix has the number n of
    tokens as its trace, before it is scaled down.
    """

    settings = Space(
        heads=Integer(4, 2, 16, "heads"),
        n=Integer(32, 4, 256, "tokens"),
        p=Integer(4, 1, 64, "width of the tokens"),
        ridge=Real(0.3, 1e-3, 10.0, "ridge, where the trace is n"),
    ).where("there are no more heads than tokens", lambda s: s["heads"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeadGrams:
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
        """Require semidefinite matrices and a positive ridge."""
        values = jnp.linalg.eigvalsh(problem.grams)
        floor = jax.vmap(rounding_floor)(values)
        name = "every K_h is positive semidefinite (smallest eigenvalue divided by its rounding error)"
        worst = (values[:, 0] / floor).min()
        return [
            Hypothesis(name, worst, ">=", -1.0),
            positive_ridge(problem.ridge, "effective dimensions need a positive ridge"),
        ]


def _each(problem: HeadGrams) -> Float[Array, " H"]:
    """Return the effective dimensions of the heads, from their eigenvalues."""
    values = jnp.maximum(jnp.linalg.eigvalsh(problem.grams), 0.0)
    return jnp.sum(values / (values + problem.ridge), axis=1)


def _condition_of_heads(problem: HeadGrams) -> Array:
    """Return the condition number: 1 plus the trace of K_1 + ... + K_H divided by the ridge."""
    return 1 + jnp.trace(problem.grams.sum(axis=0)) / problem.ridge


class HeadsAddAtMostTheirDimensions(Claim[HeadGrams]):
    """Let K_1, ..., K_H be positive semidefinite Gram matrices, one for each head, and let d_eff(K) = tr K (K + r)^-1
    for r > 0. Then

        d_eff(K_1 + ... + K_H) <= d_eff(K_1) + ... + d_eff(K_H),

    with equality if the ranges of the matrices K_h are orthogonal to each other. The reason is that x / (x + r) is
    concave in x, and 0 at 0.
    """

    title = "The effective dimension of a sum of attention heads is at most the sum of their effective dimensions"
    source = Source("foundation2025", "Section 3.2, effective dimension", note="corrected: an upper bound for heads")
    population = ManyHeads()
    relation = AtMost()
    control = Control("0.9 times the bound", lambda bound, problem: 0.9 * bound)
    controls, unexplained = "the effective dimension of several heads", "how alike trained heads are"

    def predict(self, problem: HeadGrams) -> Array:
        return jnp.sum(_each(problem))

    def measure(self, problem: HeadGrams, key: Key[Array, ""]) -> Array:
        return degrees_of_freedom(problem.grams.sum(axis=0), problem.ridge)

    def trivial(self, problem: HeadGrams) -> Array:
        return jnp.asarray(float(problem.grams.shape[1]))

    def condition(self, problem: HeadGrams) -> Array:
        return _condition_of_heads(problem)


class HeadsNeverLoseDimension(Claim[HeadGrams]):
    """Let K_1, ..., K_H be positive semidefinite Gram matrices, one for each head, and let d_eff(K) = tr K (K + r)^-1
    for r > 0. Then

        d_eff(K_1 + ... + K_H) >= max_h d_eff(K_h),
        d_eff((K_1 + ... + K_H) / H) >= (d_eff(K_1) + ... + d_eff(K_H)) / H,

    since x / (x + r) increases with x and is concave, also for matrices.
    """

    title = "A sum of attention heads' kernels has at least the largest of the heads' effective dimensions"
    source = Source("foundation2025", "Section 3.2, effective dimension", note="corrected: lower bounds for heads")
    population = ManyHeads()
    relation = AtLeast()
    control = Control("1.1 times the bounds", lambda bound, problem: 1.1 * bound)
    controls, unexplained = "the effective dimension of several heads", "how alike trained heads are"
    trivial = (0.0, 0.0)

    def predict(self, problem: HeadGrams) -> Array:
        each = _each(problem)
        return jnp.stack([each.max(), each.mean()])

    def measure(self, problem: HeadGrams, key: Key[Array, ""]) -> Array:
        total = problem.grams.sum(axis=0)
        both = jnp.stack([total, total / len(problem.grams)])
        return jax.vmap(degrees_of_freedom, (0, None))(both, problem.ridge)

    def condition(self, problem: HeadGrams) -> Array:
        return _condition_of_heads(problem)
