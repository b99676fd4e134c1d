"""ReLU networks whose layers have bounded Frobenius norms, on given points."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class NormBall(eqx.Module):
    """Networks W_L relu(... relu(W_1 x)) of one output without intercepts, |W_l|_F at most norms[l], on points."""

    x: Float[Array, "n d"]
    norms: Float[Array, " L"]


class NormBalls(Population[NormBall]):
    """Norms between 1.5 and 2.5; half of the time normal points, half of the time points on one line."""

    free = ("x", "norms")

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            n=Integer(64, 20, 400, "points", corners=(40, 100)),
            d=Integer(4, 1, 50, "dimension", corners=(2, 8)),
            layers=Integer(3, 2, 8, "layers", corners=(2, 4)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormBall:
        """Points and norms."""
        x_key, kind_key, norm_key = jax.random.split(key, 3)
        x = jax.random.normal(x_key, (setting["n"], setting["d"]))
        line = jnp.abs(x[:, :1]) * jnp.eye(1, setting["d"])
        x = jnp.where(jax.random.bernoulli(kind_key), x, line)
        return NormBall(x, jax.random.uniform(norm_key, (setting["layers"],), minval=1.5, maxval=2.5))

    def hypotheses(self, problem: NormBall) -> list[Hypothesis]:
        """Norms."""
        return [Hypothesis("the norms are positive", problem.norms.min(), ">", 0.0, "balls")]
