"""Heads of attention before any training: normal queries, keys and values, and how many of them there are."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space

from ._sampled import draws

_QUERIES = 32


class StartedHead(eqx.Module):
    """The law of a head at the start: logits of standard deviation `spread`, given any query.

    Args:
        spread: of q'k / sqrt(d) over normal keys k, for queries q of length spread sqrt(d).
        n: tokens.
        d: width of queries, keys and values.
    """

    spread: float = eqx.field(static=True)
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], n: int) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "n d"]]:
        """Logits of 32 queries of length spread sqrt(d), and values, of normal keys and values.

        Args:
            key: randomness.
            n: how many tokens.
        """
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        q, k, v = (rng.normal(size=(rows, self.d)) for rows in (_QUERIES, n, n))
        return self.spread * (q / np.linalg.norm(q, axis=1, keepdims=True)) @ k.T, v


class StartedHeads(Population[StartedHead]):
    """Spreads of the logits of a half to the whole of a setting."""

    def settings(self) -> Space:
        """Tokens, width, and the spread of logits."""
        return Space(
            n=Integer(64, 8, 1024, "tokens", corners=(32, 96)),
            d=Integer(8, 2, 64, "width of queries, keys and values", corners=(4, 12)),
            spread=Real(1.0, 0.1, 1.2, "largest standard deviation of the logits", corners=(0.6, 1.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StartedHead:
        """A spread."""
        return StartedHead(setting["spread"] * (1 + float(jax.random.uniform(key))) / 2, setting["n"], setting["d"])

    def hypotheses(self, problem: StartedHead) -> list[Hypothesis]:
        """Logits whose exponentials have few surprises."""
        why = "means of exponentials of wider logits are those of a few of them"
        return [Hypothesis("the standard deviation of the logits", problem.spread, "<=", 1.2, why)]


class CutHead(eqx.Module):
    """Queries, keys and values, and how they are cut into tiles.

    Args:
        q: queries, one a row.
        k: keys.
        v: values.
        weight: of each output in a sum that is differentiated.
        block: queries in a tile.
        causal: whether a token sees no later ones.
    """

    q: Float[Array, "n d"]
    k: Float[Array, "n d"]
    v: Float[Array, "n d"]
    weight: Float[Array, "n d"]
    block: int = eqx.field(static=True)
    causal: bool = eqx.field(static=True)


class CutHeads(Population[CutHead]):
    """Normal queries, keys, values and weights."""

    def settings(self) -> Space:
        """Sizes; a length need be no multiple of a block."""
        return Space(
            n=Integer(10, 1, 256, "tokens", corners=(6, 14)),
            d=Integer(3, 1, 64, "width", corners=(2, 4)),
            block=Integer(4, 1, 300, "queries in a tile", corners=(3, 20)),
            causal=Choice("no", ("no", "yes"), "whether a token sees no later ones"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CutHead:
        """Everything standard normal."""
        q, k, v, weight = draws(key, *[(setting["n"], setting["d"])] * 4)
        return CutHead(q, k, v, weight, setting["block"], setting["causal"] == "yes")

    def hypotheses(self, problem: CutHead) -> list[Hypothesis]:
        """Finite logits are all that is needed."""
        return [Hypothesis("the queries and keys", jnp.abs(problem.q @ problem.k.T).max(), "<", jnp.inf)]
