"""The effective dimension of several attention heads together, against those of each.

This theory controls d_eff(r) = tr K (K + r)^-1 of sums and means of positive semidefinite Gram matrices, one a head. It
leaves unexplained how alike trained heads are, on which it depends where between its bounds a sum lies.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Source
from lemmata.engine.problems._head_grams import HeadGrams, ManyHeads

from .effective_dimension import degrees_of_freedom


def _each(problem: HeadGrams) -> Float[Array, " H"]:
    """Effective dimensions of the heads, from their eigenvalues."""
    values = jnp.maximum(jnp.linalg.eigvalsh(problem.grams), 0.0)
    return jnp.sum(values / (values + problem.ridge), axis=1)


def _condition_of_heads(problem: HeadGrams) -> Array:
    """Rounding of a matrix of that trace, against the ridge."""
    return 1 + jnp.trace(problem.grams.sum(axis=0)) / problem.ridge


class HeadsAddAtMostTheirDimensions(Claim[HeadGrams]):
    """For positive semidefinite K_1, ..., K_H and d_eff(K) = tr K (K + r)^-1, r > 0,

        d_eff(K_1 + ... + K_H) <= d_eff(K_1) + ... + d_eff(K_H),

    with equality where the heads have no direction in common: x / (x + r) is concave and 0 at 0.
    """

    title = "The effective dimension of a sum of heads is at most the sum of theirs"
    source = Source("foundation2025", "Section 3.2, effective dimension", note="corrected, for heads, from above")
    population = ManyHeads()
    relation = AtMost()
    control = Control("at most nine tenths of it", lambda bound, problem: 0.9 * bound)
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
    """For positive semidefinite K_1, ..., K_H and d_eff(K) = tr K (K + r)^-1, r > 0,

        d_eff(K_1 + ... + K_H) >= max_h d_eff(K_h),
        d_eff((K_1 + ... + K_H) / H) >= (d_eff(K_1) + ... + d_eff(K_H)) / H,

    since x / (x + r) rises with x and is concave, for matrices too.
    """

    title = "A sum of heads has at least the largest effective dimension, their mean at least the mean"
    source = Source("foundation2025", "Section 3.2, effective dimension", note="corrected, for heads, from below")
    population = ManyHeads()
    relation = AtLeast()
    control = Control("a tenth more", lambda bound, problem: 1.1 * bound)
    controls, unexplained = "the effective dimension of several heads", "how alike trained heads are"

    def predict(self, problem: HeadGrams) -> Array:
        each = _each(problem)
        return jnp.stack([each.max(), each.mean()])

    def measure(self, problem: HeadGrams, key: Key[Array, ""]) -> Array:
        total = problem.grams.sum(axis=0)
        both = jnp.stack([total, total / len(problem.grams)])
        return jax.vmap(degrees_of_freedom, (0, None))(both, problem.ridge)

    def trivial(self, problem: HeadGrams) -> Array:
        return jnp.zeros(2)

    def condition(self, problem: HeadGrams) -> Array:
        return _condition_of_heads(problem)
