"""Stacks of attention layers on random tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

from ._sampled import draws


class AttentionStack(eqx.Module):
    """Layers X <- s X + softmax(Y W_q' W_k Y' / sqrt(p)) Y W_v', Y the rows of X at length sqrt(p).

    Args:
        tokens: X before the first layer, one token a row.
        query: W_q of each layer.
        key: W_k of each layer.
        value: W_v of each layer.
        skip: s.
    """

    tokens: Float[Array, "T p"]
    query: Float[Array, "L p p"]
    key: Float[Array, "L p p"]
    value: Float[Array, "L p p"]
    skip: float = eqx.field(static=True)

    @property
    def layers(self) -> Float[Array, "M T p"]:
        """The tokens before the first layer and after each, at length sqrt(p)."""

        def layer(x: Array, weights: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            query, key, value = weights
            y = _at_length(x)
            logits = (y @ query.T) @ (y @ key.T).T / x.shape[1] ** 0.5
            x = self.skip * x + jax.nn.softmax(logits, axis=1) @ y @ value.T
            return x, _at_length(x)

        after = jax.lax.scan(layer, self.tokens, (self.query, self.key, self.value))[1]
        return jnp.concatenate([_at_length(self.tokens)[None], after])


def _at_length(x: Float[Array, "T p"]) -> Float[Array, "T p"]:
    return x / jnp.sqrt(jnp.mean(x**2, axis=1, keepdims=True))


class NormalStacks(Population[AttentionStack]):
    """Normal tokens and weights of variance 1/p.

    Args:
        skip: what of its input a layer keeps.
    """

    skip: float = 0.0

    def settings(self) -> Space:
        """Tokens and their width."""
        return Space(
            tokens=Integer(64, 16, 512, "tokens", corners=(48, 96)), p=Integer(32, 8, 256, "width", corners=(24, 48))
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionStack:
        """Four layers."""
        p = setting["p"]
        tokens, query, key_weight, value = draws(key, (setting["tokens"], p), (4, p, p), (4, p, p), (4, p, p))
        return AttentionStack(tokens, query / p**0.5, key_weight / p**0.5, value / p**0.5, self.skip)

    def hypotheses(self, problem: AttentionStack) -> list[Hypothesis]:
        """Finite tokens are all that is needed."""
        return [Hypothesis("the tokens are finite", jnp.abs(problem.tokens).max(), "<", jnp.inf)]
