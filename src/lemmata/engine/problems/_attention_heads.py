"""Single heads of softmax attention on random tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._sampled import draws


class AttentionHead(eqx.Module):
    """One head of attention over a sequence, with a target for its outputs.

    Args:
        tokens: X, a column a token.
        query: W^Q.
        key: W^K.
        value: W^V.
        target: what the outputs should be, a column a token.
    """

    tokens: Float[Array, "d t"]
    query: Float[Array, "d d"]
    key: Float[Array, "d d"]
    value: Float[Array, "d d"]
    target: Float[Array, "d t"]

    @property
    def keys(self) -> Float[Array, "d t"]:
        """W^K X."""
        return self.key @ self.tokens

    @property
    def queries(self) -> Float[Array, "d t"]:
        """W^Q X."""
        return self.query @ self.tokens

    @property
    def values(self) -> Float[Array, "d t"]:
        """W^V X."""
        return self.value @ self.tokens

    @property
    def shares(self) -> Float[Array, "t t"]:
        """S, row j the softmax over i of <W^K x_i, W^Q x_j>."""
        return jax.nn.softmax(self.queries.T @ self.keys, axis=1)

    @property
    def outputs(self) -> Float[Array, "d t"]:
        """Attention: column j is sum_i S_ji W^V x_i."""
        return (self.shares @ self.values.T).T

    @property
    def rounding(self) -> Float[Array, ""]:
        """How many eps a share is off: a logit sums d² products, and carries an error of the sum of their sizes."""
        sizes = [jnp.abs(side) @ jnp.abs(self.tokens) for side in (self.query, self.key)]
        return 1 + (sizes[0].T @ sizes[1]).max()


class AttentionHeads(Population[AttentionHead]):
    """Random heads on random tokens."""

    def settings(self) -> Space:
        """Tokens and dimension."""
        return Space(
            tokens=Integer(5, 1, 64, "tokens"),
            d=Integer(3, 1, 32, "dimension"),
            scale=Real(1.0, 0.01, 3.0, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionHead:
        """Normal tokens, weights and targets."""
        d, length, size = setting["d"], setting["tokens"], setting["scale"] / setting["d"] ** 0.5
        tokens, target, *weights = draws(key, (d, length), (d, length), (d, d), (d, d), (d, d))
        query, key_weight, value = (size * weight for weight in weights)
        return AttentionHead(tokens, query, key_weight, value, target)

    def hypotheses(self, problem: AttentionHead) -> list[Hypothesis]:
        """Finite tokens are all that is needed."""
        return [Hypothesis("the tokens are finite", jnp.abs(problem.tokens).max(), "<", jnp.inf)]
