"""Points of data and points of a generator, on which a discriminator is trained."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space


class Clouds(eqx.Module):
    """Real and generated points, and other points that are not used for training.

    Args:
        real, fake, other: points, one in each row.
        time: the training time of the discriminator, in gradient flow with rate 1.
        loss: the loss of the discriminator: "ipm", "lsgan" or "vanilla" (see `discriminator_loss`).
    """

    real: Float[Array, "n d"]
    fake: Float[Array, "m d"]
    other: Float[Array, "p d"]
    time: Float[Array, ""]
    loss: Literal["ipm", "lsgan", "vanilla"] = eqx.field(static=True, default="ipm")


class ShiftedClouds(Population[Clouds]):
    """Standard normal real points, and generated points around another centre at a given distance.

    `points` is the default number of real and of generated points, `loss` the default loss, and `time` the default
    training time. A claim is about the losses in `losses`.
    """

    points: int = 8
    loss: str = "lsgan"
    losses: tuple[str, ...] = ("ipm", "lsgan", "vanilla")
    time: float = 3.0

    def settings(self) -> Space:
        return Space(
            n=Integer(self.points, 2, 500, "points of each cloud"),
            d=Integer(2, 1, 50, "dimension", corners=(1, 4)),
            apart=Real(2.0, 0.0, 10.0, "distance between the centres of the two clouds"),
            time=Real(self.time, 0.0, 1e4, "training time of the discriminator"),
            loss=Choice(self.loss, self.losses, "loss of the discriminator"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Clouds:
        keys, n, d = jax.random.split(key, 3), setting["n"], setting["d"]
        draw = lambda own, count: jax.random.normal(own, (count, d))
        shift = jnp.zeros(d).at[0].set(setting["apart"])
        fake, other = 0.7 * draw(keys[1], n) + shift, 2 * draw(keys[2], 3)
        return Clouds(draw(keys[0], n), fake, other, jnp.asarray(setting["time"]), setting["loss"])

    def hypotheses(self, problem: Clouds) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the training time of the discriminator",
                problem.time,
                ">=",
                0.0,
                "training starts at time 0 with f = 0",
            )
        ]


class EightGaussians(Population[Clouds]):
    """Real points in eight normal clouds of standard deviation 0.5, with centres on a circle of radius 5. Generated
    points are standard normal.
    """

    points: int = 64

    def settings(self) -> Space:
        return Space(
            n=Integer(
                self.points, 16, 2000, "points of each cloud", step=8, corners=(3 * self.points // 4, self.points)
            )
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Clouds:
        """Draw equally many real points in each of the eight clouds."""
        keys, n = jax.random.split(key, 3), setting["n"]
        angle = 2 * jnp.pi * (jnp.arange(n) % 8) / 8
        centres = 5.0 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        real = centres + 0.5 * jax.random.normal(keys[0], (n, 2))
        fake, other = jax.random.normal(keys[1], (n, 2)), jax.random.normal(keys[2], (3, 2))
        return Clouds(real, fake, other, jnp.asarray(1.0), "ipm")

    def hypotheses(self, problem: Clouds) -> list[Hypothesis]:
        """Return the hypothesis that there are as many real as generated points.

        An assignment is then a transport plan.
        """
        n, m = len(problem.real), len(problem.fake)
        return [Hypothesis("as many real points as generated ones", n, "==", m, "an assignment computes the distance")]
