"""Heads with logits and values, and pairs of keys that random queries look at."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._sampled import draws


class HeadWithValues(eqx.Module):
    """One head: logits of tokens for tokens, and a value for each.

    Args:
        logits: row i holds those of token i.
        values: v_j, one a row.
    """

    logits: Float[Array, "T T"]
    values: Float[Array, "T c"]


class TokenValues(Population[HeadWithValues]):
    """Logits of normal queries and keys, at a temperature that is low in half of the problems, and normal values."""

    free = ("logits", "values")

    def settings(self) -> Space:
        """Tokens, widths, and the largest inverse temperature."""
        return Space(
            tokens=Integer(16, 2, 256, "tokens"),
            d=Integer(4, 1, 64, "width of queries, keys and values"),
            sharpness=Real(30.0, 0.1, 1e4, "largest inverse temperature"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeadWithValues:
        """An inverse temperature whose logarithm is uniform between 0 and that of the largest."""
        length, d = setting["tokens"], setting["d"]
        temperature, normal = jax.random.split(key)
        queries, keys, values = draws(normal, (length, d), (length, d), (length, d))
        return HeadWithValues(setting["sharpness"] ** jax.random.uniform(temperature) * queries @ keys.T, values)

    def hypotheses(self, problem: HeadWithValues) -> list[Hypothesis]:
        """Finite logits are all that is needed."""
        return [Hypothesis("the logits are finite", jnp.abs(problem.logits).max(), "<", jnp.inf)]


class KeyPair(eqx.Module):
    """Two keys as queries meet them: M x and M y.

    Args:
        left: M x.
        right: M y.
    """

    left: Float[Array, " p"]
    right: Float[Array, " p"]

    @property
    def difference(self) -> Float[Array, " p"]:
        """M (x - y)."""
        return self.left - self.right

    def over_queries(self, key: Key[Array, ""], number: int) -> Float[Array, ""]:
        """The mean of kappa(z, x) kappa(z, y) over normal queries z and their negatives.

        Args:
            key: randomness.
            number: how many pairs z, -z.
        """
        queries = jax.random.normal(key, (number, len(self.left)))
        both = jnp.concatenate([queries, -queries])
        return jnp.mean(jnp.exp(both @ self.left) * jnp.exp(both @ self.right))


class ShortKeyPairs(Population[KeyPair]):
    """Normal weights and tokens, the latter scaled so that |M x| + |M y| is what a setting says."""

    def settings(self) -> Space:
        """Widths and lengths."""
        return Space(
            p=Integer(3, 1, 32, "width of the tokens"),
            length=Real(1.2, 0.1, 1.5, "|M x| + |M y|", corners=(0.6, 1.2)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KeyPair:
        """Scaled together, so that their ratio is random."""
        p = setting["p"]
        product, tokens = draws(key, (p, p), (2, p))
        pair = tokens @ product.T
        left, right = setting["length"] * pair / jnp.linalg.norm(pair, axis=1).sum()
        return KeyPair(left, right)

    def hypotheses(self, problem: KeyPair) -> list[Hypothesis]:
        """Lengths at which the mean has few surprises."""
        length = jnp.linalg.norm(problem.left) + jnp.linalg.norm(problem.right)
        return [Hypothesis("|M x| + |M y| is at most 1.5", length, "<=", 1.5, "lognormal tails")]
