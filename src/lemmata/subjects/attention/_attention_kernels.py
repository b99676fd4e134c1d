"""Attention heads as kernels, functions of pairs of tokens, with the tokens at which these kernels are evaluated."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws


class AttentionKernel(eqx.Module):
    """The function kappa(x, y) = exp(<W_q x, W_k y> / sqrt(d)) of a head of width d on tokens in R^p, and T tokens.

    Args:
        query: the query weights W_q, of shape (d, p).
        key: the key weights W_k, of shape (d, p).
        tokens: the T tokens, one in each row.
    """

    query: Float[Array, "d p"]
    key: Float[Array, "d p"]
    tokens: Float[Array, "T p"]

    @property
    def exponent(self) -> Float[Array, "p p"]:
        """The matrix M = W_q' W_k / sqrt(d), so that kappa(x, y) = exp(x' M y)."""
        return self.query.T @ self.key / len(self.query) ** 0.5

    @property
    def symmetric(self) -> Float[Array, "p p"]:
        """The symmetric part M_s = (M + M') / 2 of the matrix M in `exponent`."""
        return (self.exponent + self.exponent.T) / 2

    @property
    def attention(self) -> Float[Array, "T T"]:
        """The attention matrix, whose row i holds the weights that token i gives to all tokens."""
        return jax.nn.softmax(self.tokens @ self.exponent @ self.tokens.T, axis=1)


def _weights(query: Float[Array, "d p"], key: Float[Array, "d p"]) -> tuple[Array, Array]:
    """Scale the weights so that tokens with coordinates of variance 1 have logits of variance 1."""
    scale = query.shape[1] ** -0.5
    return scale * query, scale * key


def inertia(matrix: Float[Array, "p p"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Count the positive and the negative eigenvalues of a symmetric matrix.

    Eigenvalues of absolute value at most 1e-10 times the largest absolute value are not counted.

    >>> from lemmata.subjects.attention._attention_kernels import inertia
    >>> [float(count) for count in inertia(jnp.diag(jnp.array([2.0, 0.0, -1.0, -3.0])))]
    [1.0, 2.0]

    Args:
        matrix: the symmetric matrix.
    """
    values = jnp.linalg.eigvalsh(matrix)
    floor = 1e-10 * jnp.abs(values).max()
    return jnp.sum(values > floor).astype(float), jnp.sum(values < -floor).astype(float)


class NarrowHeads(Population[AttentionKernel]):
    """Heads whose width d is below the dimension p of their tokens, with independent normal query and key weights.

    Args:
        d: the default width of the head.
        p: the default dimension of the tokens.
        below: if True, d < p < 2d; if False, p >= 2d.
    """

    free = ("query", "key", "tokens")
    d: int = 4
    p: int = 12
    below: bool = False

    def settings(self) -> Space:
        space = Space(d=Integer(self.d, 2, 64, "width of the head"), p=Integer(self.p, 3, 256, "width of the tokens"))
        if self.below:
            return space.where("p is above d and below 2d", lambda s: s["d"] < s["p"] < 2 * s["d"])
        return space.where("p is at least 2d", lambda s: s["p"] >= 2 * s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionKernel:
        """Draw query weights, key weights and tokens, all with independent normal entries.

        Let p be the dimension of the tokens. There are p tokens, so the matrix of tokens is square.
        """
        d, p = setting["d"], setting["p"]
        query, key_weight, tokens = draws(key, (d, p), (d, p), (p, p))
        return AttentionKernel(*_weights(query, key_weight), tokens)

    def hypotheses(self, problem: AttentionKernel) -> list[Hypothesis]:
        stacked = jnp.concatenate([problem.query, problem.key])
        values = jnp.linalg.svd(stacked, compute_uv=False)
        why = "directions that queries and keys share change the signature"
        name = "rows of W_q and W_k are in general position (smallest singular value divided by the largest)"
        return [Hypothesis(name, values[-1] / values[0], ">", 1e-8, why)]


class TokenHeads(Population[AttentionKernel]):
    """Normal tokens, and a head whose query and key weights are independent and normal, or equal.

    Args:
        tied: whether W_k = W_q.
        tokens: the default number of tokens.
        p: the default dimension of the tokens.
        d: the default width of the head.
        size: the default standard deviation of the coordinates.
    """

    free = ("tokens",)
    tied: bool = False
    tokens: int = 12
    p: int = 6
    d: int = 4
    size: float = 1.0

    def settings(self) -> Space:
        return Space(
            tokens=Integer(self.tokens, 2, 128, "tokens"),
            p=Integer(self.p, 1, 64, "width of the tokens"),
            d=Integer(self.d, 1, 64, "width of the head"),
            size=Real(self.size, 0.05, 4.0, "standard deviation of the tokens' coordinates"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionKernel:
        d, p = setting["d"], setting["p"]
        query, key_weight, tokens = draws(key, (d, p), (d, p), (setting["tokens"], p))
        return AttentionKernel(*_weights(query, query if self.tied else key_weight), setting["size"] * tokens)

    def hypotheses(self, problem: AttentionKernel) -> list[Hypothesis]:
        """Require logits below 300, so that the exponentials do not overflow in float64."""
        largest = jnp.abs(problem.tokens @ problem.exponent @ problem.tokens.T).max()
        return [Hypothesis("the logits are moderate", largest, "<", 300.0, "exponentials must not overflow")]
