"""Joint laws of two views with finitely many values, and factors that embed the values."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class PairedViews(eqx.Module):
    """The joint law of two views, and embeddings of their values.

    Args:
        joint: probabilities.
        left, right: an embedding of every value of the first and of the second view.
    """

    joint: Float[Array, "a b"]
    left: Float[Array, "a k"]
    right: Float[Array, "b k"]

    @property
    def product(self) -> Float[Array, "a b"]:
        """The law of independent views with the same marginals."""
        return jnp.outer(self.joint.sum(axis=1), self.joint.sum(axis=0))

    @property
    def correlations(self) -> Float[Array, " c"]:
        """Singular values of P(a, b)/sqrt(P(a) P(b)), descending; the first is 1."""
        return jnp.linalg.svd(self.joint / jnp.sqrt(self.product), compute_uv=False)


class ViewsInPairs(Population[PairedViews]):
    """Joint laws whose logarithm has nearly rank k - 1, so that the k-th correlation is apart from the next."""

    def settings(self) -> Space:
        """Values of both views, the dimension of the embeddings."""
        space = Space(
            values=Integer(10, 4, 200, "values of the first view", corners=(6, 6)),
            others=Integer(8, 4, 200, "values of the second view", corners=(8, 8)),
            k=Integer(3, 2, 20, "dimension of the embeddings", corners=(2, 2)),
        )
        return space.where("fewer dimensions than values", lambda s: s["k"] < min(s["values"], s["others"]))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PairedViews:
        """A strong part of rank k - 1, a weak part of full rank, normal embeddings."""
        a, b, k = setting["values"], setting["others"], setting["k"]
        first, second = jax.random.split(key)
        left, right = jnp.split(jax.random.normal(first, (a + b, 2 * k - 1)), [a])
        logits = 1.2 * left[:, : k - 1] @ right[:, : k - 1].T + 0.3 * jax.random.normal(second, (a, b))
        return PairedViews(jax.nn.softmax(logits.ravel()).reshape(a, b), left[:, k - 1 :], right[:, k - 1 :])

    def hypotheses(self, problem: PairedViews) -> list[Hypothesis]:
        """A law, and a gap behind the k-th correlation."""
        values, k = problem.correlations, problem.left.shape[1]
        return [
            Hypothesis("probabilities sum to 1", problem.joint.sum(), "==", 1.0, "a joint law", 1e-12),
            Hypothesis("the correlation after the k-th", values[k], "<", 0.93 * values[k - 1], "descent ends in time"),
        ]
