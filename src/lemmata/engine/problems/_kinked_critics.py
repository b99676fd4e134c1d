"""A critic of a wide network near a generated point or near the origin, along a line."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space


class LineOfCritic(eqx.Module):
    """Real and generated points, a unit direction, and what the network is.

    Args:
        real, fake: points, one a row.
        direction: a unit vector.
        bias: standard deviation of the network's biases.
        network: "relu" or "erf".
    """

    real: Float[Array, "n d"]
    fake: Float[Array, "m d"]
    direction: Float[Array, " d"]
    bias: float = eqx.field(static=True)
    network: str = eqx.field(static=True, default="relu")


class LinesOfCritics(Population[LineOfCritic]):
    """Normal points around two centres; a direction that is nowhere near radial."""

    bias: float = 1.0
    network: str = "relu"

    def settings(self) -> Space:
        """Points of each cloud, dimension, the network."""
        return Space(
            n=Integer(4, 1, 100, "points of each cloud", corners=(3, 6)),
            d=Integer(2, 2, 20, "dimension", corners=(2, 4)),
            bias=Real(self.bias, 0.0, 4.0, "standard deviation of biases", corners=(self.bias, self.bias)),
            network=Choice(self.network, ("relu", "erf"), "activation", (self.network,)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LineOfCritic:
        """Coordinates of size about 1."""
        keys, shape = jax.random.split(key, 3), (setting["n"], setting["d"])
        real, fake = jax.random.normal(keys[0], shape) + 1.0, jax.random.normal(keys[1], shape) - 1.0
        direction = jax.random.normal(keys[2], (setting["d"],))
        return LineOfCritic(real, fake, direction / jnp.linalg.norm(direction), setting["bias"], setting["network"])

    def hypotheses(self, problem: LineOfCritic) -> list[Hypothesis]:
        """Points apart from each other and from the origin, as they are almost surely."""
        points = jnp.concatenate([problem.real, problem.fake])
        apart = jnp.sum((points[:, None] - points) ** 2, axis=2) + jnp.diag(jnp.sum(points**2, axis=1))
        return [Hypothesis("points are apart from each other and from 0", apart.min(), ">", 1e-6, "kinks of others")]
