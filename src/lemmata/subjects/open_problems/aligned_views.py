"""Seventh problem: what do contrastive objectives minimise? Minimising the spectral loss is exactly minimising a
distance.

This is a partial result for views with finitely many values. Up to a constant, the population form of the spectral
contrastive loss is a squared distance in L2 of the product distribution. It is the distance of <f(a), g(b)> from the
density ratio P(a, b)/(P(a) P(b)). The minimum of the loss follows from the correlations of the views. The result leaves
open sample sizes, and losses with a softmax.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "estimator", "problem": 7}


class PairedViews(eqx.Module):
    """The joint distribution of two views, with embeddings of all values of the first (left) and second (right)."""

    joint: Float[Array, "a b"]
    left: Float[Array, "a k"]
    right: Float[Array, "b k"]

    @property
    def product(self) -> Float[Array, "a b"]:
        """The distribution of independent views with the same marginals."""
        return jnp.outer(self.joint.sum(axis=1), self.joint.sum(axis=0))

    @property
    def correlations(self) -> Float[Array, " c"]:
        """The singular values of P(a, b)/sqrt(P(a) P(b)) in descending order; the first is 1."""
        return jnp.linalg.svd(self.joint / jnp.sqrt(self.product), compute_uv=False)


class ViewsInPairs(Population[PairedViews]):
    """Joint distributions with a logarithm of nearly rank k - 1, so that the k-th correlation is far above the next."""

    def settings(self) -> Space:
        space = Space(
            values=Integer(10, 4, 200, "values of the first view", corners=(6, 12)),
            others=Integer(8, 4, 200, "values of the second view", corners=(6, 10)),
            k=Integer(3, 2, 20, "dimension of the embeddings", corners=(2, 3)),
        )
        return space.where("fewer dimensions than values", lambda s: s["k"] < min(s["values"], s["others"]))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PairedViews:
        """Draw a strong part of rank k - 1, a weak part of full rank, and normal embeddings."""
        a, b, k = setting["values"], setting["others"], setting["k"]
        first, second = jax.random.split(key)
        left, right = jnp.split(jax.random.normal(first, (a + b, 2 * k - 1)), [a])
        logits = 1.2 * left[:, : k - 1] @ right[:, : k - 1].T + 0.3 * jax.random.normal(second, (a, b))
        return PairedViews(jax.nn.softmax(logits.ravel()).reshape(a, b), left[:, k - 1 :], right[:, k - 1 :])

    def hypotheses(self, problem: PairedViews) -> list[Hypothesis]:
        values, k = problem.correlations, problem.left.shape[1]
        return [
            Hypothesis(
                "probabilities sum to 1", problem.joint.sum(), "==", 1.0, "P(a, b) must be a joint distribution", 1e-12
            ),
            Hypothesis(
                "the correlation after the k-th", values[k], "<", 0.93 * values[k - 1], "then descent converges in time"
            ),
        ]


_SWEEPS = 400


def spectral_loss(problem: PairedViews, left: Float[Array, "a k"], right: Float[Array, "b k"]) -> Float[Array, ""]:
    """Return the spectral loss -2 E_P <f(a), g(b)> + E_(product) <f(a), g(b)>²."""
    scores = left @ right.T
    return -2 * jnp.sum(problem.joint * scores) + jnp.sum(problem.product * scores**2)


def descend_by_blocks(problem: PairedViews) -> tuple[Float[Array, "a k"], Float[Array, "b k"]]:
    """Minimise the loss alternately over each view's embeddings by least squares, from the given embeddings."""

    def best(joint: Float[Array, "a b"], right: Float[Array, "b k"]) -> Float[Array, "a k"]:
        moments = (right.T * joint.sum(axis=0)) @ right
        return jnp.linalg.solve(moments, (joint @ right).T).T / joint.sum(axis=1, keepdims=True)

    def sweep(_, pair):
        # an orthonormal basis of the same span, since scales of the two views may drift apart
        left, _ = jnp.linalg.qr(best(problem.joint, pair[1]))
        return left, best(problem.joint.T, left)

    return jax.lax.fori_loop(0, _SWEEPS, sweep, (problem.left, problem.right))


class SpectralLossIsDistance(Claim[PairedViews]):
    """Let f and g be embeddings of two views a and b, each of which takes finitely many values. Let E be the mean over
    pairs (a, b) from their joint distribution, and E' the mean over independent views with the same marginal
    distributions. Let sigma_i be the singular values of P(a, b)/sqrt(P(a) P(b)). The spectral contrastive loss -2 E
    <f(a), g(b)> + E' <f(a), g(b)>² satisfies

        loss + sum_i sigma_i² = E' ( <f(a), g(b)> - P(a, b)/(P(a) P(b)) )².

    So minimising the loss is the same as minimising this squared distance, because the sum on the left does not depend
    on f and g.
    """

    title = "The spectral contrastive loss is a squared distance to the density ratio"
    source = Source("foundation2025", "Section 7.7", note="a probe: the spectral loss")
    population = ViewsInPairs()
    relation = Equal()
    control = Control(
        "the first singular value is left out",
        lambda value, problem: value - problem.correlations[0] ** 2,
    )
    controls = "the population value of a contrastive loss"
    unexplained = "finite samples; losses with a softmax"

    def predict(self, problem: PairedViews) -> Array:
        return spectral_loss(problem, problem.left, problem.right) + jnp.sum(problem.correlations**2)

    def measure(self, problem: PairedViews, key: Key[Array, ""]) -> Array:
        ratio = problem.joint / problem.product
        return jnp.sum(problem.product * (problem.left @ problem.right.T - ratio) ** 2)

    def condition(self, problem: PairedViews) -> Array:
        """Bound the rounding errors, because the distance may be small against the terms of its sum."""
        apart = jnp.sum(problem.product * (problem.left @ problem.right.T - problem.joint / problem.product) ** 2)
        return 10 * (1 + 2 * jnp.sum(problem.correlations**2) / apart)


class LeastSpectralLoss(Claim[PairedViews]):
    """Let two views a and b each take finitely many values, and let f and g be their embeddings in k dimensions. Let
    sigma_1, sigma_2, ... be the singular values of P(a, b)/sqrt(P(a) P(b)) in descending order. Let E be the mean over
    pairs, and E' the mean over independent views with the same marginal distributions. The spectral contrastive loss is
    -2 E <f(a), g(b)> + E' <f(a), g(b)>². The minimum of this loss over f and g is

        -(sigma_1² + ... + sigma_k²).

    The first singular value is 1 and belongs to constant functions. Alternating minimisation over f and g, started at
    random embeddings, attains this minimum.
    """

    title = "The minimum of the spectral contrastive loss is a sum of squared singular values"
    source = Source("haochen2021", "main result", note="for two views with finitely many values")
    population = ViewsInPairs()
    relation = Equal()
    control = Control(
        "the sum is over singular values instead of their squares",
        lambda value, problem: -jnp.sum(problem.correlations[: problem.left.shape[1]]),
    )
    controls = "the minimum of a contrastive loss"
    unexplained = "finite samples; how embeddings of new values are found"
    condition = 1000000.0

    def predict(self, problem: PairedViews) -> Array:
        return -jnp.sum(problem.correlations[: problem.left.shape[1]] ** 2)

    def measure(self, problem: PairedViews, key: Key[Array, ""]) -> Array:
        return spectral_loss(problem, *descend_by_blocks(problem))
