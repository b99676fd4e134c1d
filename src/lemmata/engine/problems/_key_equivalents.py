"""Two tokens that a head's keys cannot tell apart, and expansions of one function in a kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._attention_kernels import AttentionKernel
from ._conditions import rounding_floor
from ._sampled import draws


class KeyEquivalents(eqx.Module):
    """A head with tokens, and a direction that its keys do not see.

    Args:
        head: the head; its first token is x, the others are where functions are compared.
        unseen: v, of length 1, with W_k v = 0.
        shift: t, so that x' = x + t v is the second token.
    """

    head: AttentionKernel
    unseen: Float[Array, " p"]
    shift: Float[Array, ""]


class UnseenShifts(Population[KeyEquivalents]):
    """Narrow heads with normal weights, a normal token, and a shift along the kernel of W_k."""

    def settings(self) -> Space:
        """Widths, tokens, and how far the token is shifted."""
        return Space(
            d=Integer(3, 1, 32, "width of the head"),
            p=Integer(6, 2, 64, "width of the tokens"),
            tokens=Integer(8, 2, 64, "tokens"),
            shift=Real(20.0, 1.0, 40.0, "largest shift, in either direction"),
        ).where("d is below p", lambda s: s["d"] < s["p"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> KeyEquivalents:
        """The last right singular vector of W_k, and a uniform shift."""
        d, p = setting["d"], setting["p"]
        shift_key, normal = jax.random.split(key)
        query, key_weight, tokens = draws(normal, (d, p), (d, p), (setting["tokens"], p))
        unseen = jnp.linalg.svd(key_weight)[2][-1]
        head = AttentionKernel(query / p**0.5, key_weight / p**0.5, tokens)
        return KeyEquivalents(head, unseen, setting["shift"] * jax.random.uniform(shift_key, minval=-1.0))

    def hypotheses(self, problem: KeyEquivalents) -> list[Hypothesis]:
        """The keys do not see v, and the queries do."""
        head, v = problem.head, problem.unseen
        seen = jnp.linalg.norm(head.key @ v) / jnp.linalg.norm(head.key)
        rate = jnp.abs(v @ head.exponent @ head.tokens[0])
        return [
            Hypothesis("W_k v = 0 (relative)", seen, "<=", 1e-14, "else the two functions differ"),
            Hypothesis("x changes its query along v", rate, ">", 1e-6, "else the shift changes nothing"),
        ]


class Expansions(eqx.Module):
    """A function sum_i a_i kappa(., x_i) of a positive semidefinite kernel, expanded twice on the same points.

    Args:
        x: the points, one a row.
        first: a, the coefficients of the first expansion.
        second: those of the second.
    """

    x: Float[Array, "n p"]
    first: Float[Array, " n"]
    second: Float[Array, " n"]

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix of (1 + <x, y>)²."""
        return (1 + self.x @ self.x.T) ** 2


class QuadraticExpansions(Population[Expansions]):
    """The kernel (1 + <x, y>)² on more normal points than its rank, and coefficients that differ by null vectors."""

    def settings(self) -> Space:
        """Dimension, and points beyond the rank."""
        return Space(p=Integer(3, 1, 8, "dimension"), extra=Integer(6, 1, 32, "points beyond the rank"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Expansions:
        """Normal coefficients, and a normal combination of the null vectors of K added."""
        p = setting["p"]
        rank = (p + 1) * (p + 2) // 2
        n = rank + setting["extra"]
        x, first, more = draws(key, (n, p), (n,), (setting["extra"],))
        null = jnp.linalg.eigh((1 + x @ x.T) ** 2)[1][:, : setting["extra"]]
        return Expansions(x, first, first + 3 * null @ more)

    def hypotheses(self, problem: Expansions) -> list[Hypothesis]:
        """The two are expansions of one function."""
        gram = problem.gram
        apart = jnp.linalg.norm(gram @ (problem.first - problem.second))
        floor = rounding_floor(jnp.linalg.eigvalsh(gram)) * jnp.linalg.norm(problem.first - problem.second)
        return [Hypothesis("the expansions agree on the points", apart, "<=", floor, "they are one function")]
