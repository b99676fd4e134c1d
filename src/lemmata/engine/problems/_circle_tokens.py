"""Tokens at equal angles on a circle, or on half of one, in a random plane."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class CircleTokens(eqx.Module):
    """Tokens r (cos(t) e_1 + sin(t) e_2) at equal steps of the angle t.

    Args:
        frame: orthonormal columns e_1, e_2.
        start: the first angle.
        beta: r², so that inner products are beta cos(t - t').
        count: tokens on the circle.
    """

    frame: Float[Array, "p 2"]
    start: Float[Array, ""]
    beta: Float[Array, ""]
    count: int = eqx.field(static=True)

    def around(self, count: int) -> Float[Array, "n p"]:
        """Tokens on the whole circle, at steps of 2 pi/count."""
        return self._at(2 * jnp.pi * jnp.arange(count) / count)

    def half(self, count: int) -> Float[Array, "n p"]:
        """Tokens of norm 1 on half of the circle, at steps of pi/count."""
        return self._at(jnp.pi * jnp.arange(count) / count) / jnp.sqrt(self.beta)

    def _at(self, angles: Float[Array, " n"]) -> Float[Array, "n p"]:
        angles = self.start + angles
        return jnp.sqrt(self.beta) * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1) @ self.frame.T


class TokensOnCircle(Population[CircleTokens]):
    """Random planes and first angles; beta uniform between a third of its largest value and this."""

    def settings(self) -> Space:
        """Tokens, at most so many that float64 resolves their condition number; beta, the dimension."""
        return Space(
            n=Integer(8, 4, 10, "tokens, an even number", step=2, corners=(6, 6)),
            beta=Real(1.5, 0.5, 4.0, "the largest beta", corners=(1.0, 1.0)),
            p=Integer(5, 2, 64, "dimension of the tokens", corners=(5, 5)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CircleTokens:
        """A random frame."""
        plane_key, draw_key = jax.random.split(key)
        first, second = jax.random.normal(plane_key, (2, setting["p"]))
        first = first / jnp.linalg.norm(first)
        second = second - (first @ second) * first
        start, share = jax.random.uniform(draw_key, (2,))
        frame = jnp.stack([first, second / jnp.linalg.norm(second)], axis=1)
        beta = setting["beta"] * (1 + 2 * share) / 3
        return CircleTokens(frame, 2 * jnp.pi * start, beta, setting["n"])

    def hypotheses(self, problem: CircleTokens) -> list[Hypothesis]:
        """An orthonormal frame."""
        off = jnp.abs(problem.frame.T @ problem.frame - jnp.eye(2)).max()
        return [Hypothesis("the frame is orthonormal", off, "<=", 1e-12, "inner products are beta cos(t - t')")]
