"""Online games on a box: linear losses, and losses that repeat every three rounds, on which Adam fails."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn, uniform

_ADVERSARIES = ("signs", "sparse", "opposing", "turning")


class GradientGame(eqx.Module):
    """T rounds of linear losses g_t · theta in d dimensions, for points theta of a player in a box centred at 0.

    Args:
        drawn: the gradients g_t, drawn before the game.
        opposing: 1 for an adversary with the gradients |drawn| times the sign of the player's point, otherwise 0.
        start: the first point of the player, inside the box.
        side: the side length D of the box.
    """

    drawn: Float[Array, "t d"]
    opposing: Float[Array, ""]
    start: Float[Array, " d"]
    side: Float[Array, ""]

    def gradient(self, at: Float[Array, " d"], drawn: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the gradient of a round, from the player's point and the draw of this round."""
        against = jnp.abs(drawn) * jnp.where(at >= 0, 1.0, -1.0)
        return jnp.where(self.opposing > 0, against, drawn)

    def regret(self, points: Float[Array, "t d"], gradients: Float[Array, "t d"]) -> Float[Array, ""]:
        """Return the loss of the points minus the loss of the best fixed point of the box, which is a corner."""
        return jnp.sum(points * gradients) + self.side / 2 * jnp.abs(gradients.sum(axis=0)).sum()


class GradientGames(Population[GradientGame]):
    """Games with random signs, sparse gradients, or an adversary that opposes the player. Coordinate scales differ."""

    free = ("drawn", "start")
    settings = Space(
        rounds=Integer(256, 16, 4096, "rounds"),
        d=Integer(8, 1, 64, "coordinates"),
        adversary=Choice("opposing", _ADVERSARIES[:3], "adversary that chooses the gradients"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientGame:
        """Draw scales over two orders of magnitude, and a side between 1/2 and 4."""
        keys = jax.random.split(key, 5)
        shape = (setting["rounds"], setting["d"])
        scale = 10 ** jax.random.uniform(keys[0], shape[1:], minval=-1.0, maxval=1.0)
        signs = jax.random.rademacher(keys[1], shape, scale.dtype)
        side = 0.5 * 8 ** jax.random.uniform(keys[2])
        if setting["adversary"] == "sparse":
            rate = jnp.linspace(0.02, 1.0, shape[1])
            signs = signs * jax.random.bernoulli(keys[3], rate, shape)
        start = side * jax.random.uniform(keys[4], shape[1:], minval=-0.5, maxval=0.5)
        return GradientGame(scale * signs, jnp.asarray(float(setting["adversary"] == "opposing")), start, side)

    def hypotheses(self, problem: GradientGame) -> list[Hypothesis]:
        inside = jnp.abs(problem.start).max()
        return [
            Hypothesis(
                "the start is in the box", inside, "<=", problem.side / 2, "then the player stays in the box", 1e-12
            )
        ]


class PeriodicGame(eqx.Module):
    """A game on [-1, 1] for Adam with the step size rate/sqrt(t) in round t, from the point `start`.

    The loss is C x in every third round and -x in the other rounds. The number C is `large`.
    """

    large: Float[Array, ""]
    rate: Float[Array, ""]
    start: Float[Array, ""]

    @property
    def worst(self) -> Float[Array, ""]:
        """The mean regret per round of a player who stays at x = +1, which is (2C - 4)/3."""
        return (2 * self.large - 4) / 3

    def gradient(self, number: Int[Array, " t"]) -> Float[Array, " t"]:
        """Return the gradients of the rounds with these numbers; the number of the first round is 1."""
        return jnp.where(number % 3 == 1, self.large, -1.0)


def _small_steps(problem: PeriodicGame) -> Hypothesis:
    # Reddi and others require a step below sqrt(1 - beta_2) = C / sqrt(1 + C²), so that increases of x are not clipped
    limit = problem.large / jnp.sqrt(1 + problem.large**2)
    return Hypothesis("the step is below sqrt(1 - beta_2)", problem.rate, "<", limit, "the theorem's condition")


PERIODIC_GAMES = Drawn(
    PeriodicGame,
    lambda own: Hypothesis(
        "the large gradient outweighs two small ones", own.large, ">", 2.0, "then -1 is the best point"
    ),
    _small_steps,
    large=uniform(2.5, Real(6.0, 3.0, 20.0, "largest C", corners=(4.0, 8.0))),
    rate=uniform(0.1, 0.6),
    start=uniform(-1.0, 1.0),
)
