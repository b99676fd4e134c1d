"""Functions of tokens that vary along a direction which a head's keys do not see."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

from ._attention_kernels import AttentionKernel
from ._sampled import draws


class UnseenDirection(eqx.Module):
    """A head, tokens in pairs x and x - 2 <v, x> v, and the function sin(2 <v, x> + phase) on them.

    Args:
        head: the head; the second half of its tokens are the reflections of the first.
        probes: tokens whose queries make the sections kappa(probe, .).
        direction: v, of length 1.
        phase: what makes the function neither odd nor even along v.
    """

    head: AttentionKernel
    probes: Float[Array, "m p"]
    direction: Float[Array, " p"]
    phase: Float[Array, ""]

    @property
    def target(self) -> Float[Array, " T"]:
        """The function at the tokens."""
        return jnp.sin(2 * self.head.tokens @ self.direction + self.phase)

    @property
    def sections(self) -> Float[Array, "T m"]:
        """kappa(probe, token), one section a column."""
        return jnp.exp(self.head.tokens @ (self.probes @ self.head.exponent).T)


class FunctionsOfUnseenDirections(Population[UnseenDirection]):
    """Normal weights and probes, tokens uniform on the sphere of radius sqrt(p).

    The direction v is in the kernel of W_k where the head is narrow, and uniform where it is not.

    Args:
        full: whether the head is as wide as its tokens.
    """

    free = ("probes", "phase")
    full: bool = False

    def settings(self) -> Space:
        """Widths, pairs of tokens, and probes."""
        p = Integer(3, 2, 8, "width of the tokens", corners=(2, 4) if not self.full else (2, 3))
        return Space(
            p=p,
            pairs=Integer(100, 20, 4000, "pairs of tokens"),
            probes=Integer(36, 36, 400, "probes", corners=(36, 36)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> UnseenDirection:
        """A head one narrower than its tokens, or as wide; a phase between -1/2 and 1/2."""
        p, pairs = setting["p"], setting["pairs"]
        d = p if self.full else p - 1
        phase, normal = jax.random.split(key)
        shapes = ((d, p), (d, p), (pairs, p), (setting["probes"], p), (p,))
        query, key_weight, half, probes, drawn = draws(normal, *shapes)
        half = half * (p**0.5 / jnp.linalg.norm(half, axis=1, keepdims=True))
        v = drawn / jnp.linalg.norm(drawn) if self.full else jnp.linalg.svd(key_weight)[2][-1]
        tokens = jnp.concatenate([half, half - 2 * jnp.outer(half @ v, v)])
        head = AttentionKernel(query / p**0.5, key_weight / p**0.5, tokens)
        return UnseenDirection(head, probes, v, jax.random.uniform(phase) - 0.5)

    def hypotheses(self, problem: UnseenDirection) -> list[Hypothesis]:
        """Whether the keys see the direction."""
        seen = jnp.linalg.norm(problem.head.key @ problem.direction) / jnp.linalg.norm(problem.head.key)
        if self.full:
            return [Hypothesis("W_k v is not 0 (relative)", seen, ">", 1e-8, "else no section varies along v")]
        return [Hypothesis("W_k v = 0 (relative)", seen, "<=", 1e-14, "else sections vary along v")]
