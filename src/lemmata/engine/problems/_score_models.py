"""Two models of a score or a denoiser, to be compared on noised data."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space

from ._diffusion import training_set
from ._schedules import Schedule, sampled_schedule, score_from_denoiser
from ._targets import DIMENSION, STD, GaussianMixture, sampled_mixture


class TwoModels(eqx.Module):
    """Two random models (1 - t) A_a x + t b_a of a score or a denoiser, to be compared on noised data.

    Args:
        target: the law of the data.
        schedule: how it is forgotten.
        matrices: the A of both.
        shifts: the b of both.
        key: randomness of the expectations that a prediction needs.
    """

    target: GaussianMixture
    schedule: Schedule
    matrices: Float[Array, "2 d d"]
    shifts: Float[Array, "2 d"]
    key: Key[Array, ""]

    def outputs(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Both models at the points."""
        return (1 - t)[:, None] * jnp.einsum("aij,nj->ani", self.matrices, x) + t[:, None] * self.shifts[:, None, :]

    def scores(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Both scores at the points."""
        rows = jax.vmap(lambda a, b, f: score_from_denoiser(self.schedule, a, b, f))
        return jax.vmap(lambda f: rows(t, x, f))(self.outputs(t, x))

    def draw(self, key: Key[Array, ""], n: int = 512, first: float = 0.0) -> tuple[Array, Array, Array]:
        """Times on [first, 1], places and clean data."""
        return training_set(key, self.target, self.schedule, n, first=first)

    def at(self, function, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The target's score or denoiser at the points."""
        return jax.vmap(lambda a, b: function(self.schedule, a, b))(t, x)


class PairsOfModels(Population[TwoModels]):
    """A random mixture of normal laws and two random models, of which the first is smaller."""

    def settings(self) -> Space:
        """Dimension, spread."""
        return Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoModels:
        """The first model shrinks its input, the second is four times as large."""
        target_key, schedule_key, matrix_key, shift_key, key = jax.random.split(key, 5)
        d, sizes = setting["d"], jnp.asarray([0.25, 1.0])
        return TwoModels(
            sampled_mixture(target_key, d, setting["std"]),
            sampled_schedule(schedule_key),
            sizes[:, None, None] * jax.random.normal(matrix_key, (2, d, d)) / d**0.5,
            sizes[:, None] * jax.random.normal(shift_key, (2, d)) / d**0.5,
            key,
        )

    def hypotheses(self, problem: TwoModels) -> list[Hypothesis]:
        """Second moments."""
        return [Hypothesis("components are normal (spread)", problem.target.std, ">", 0.0, "second moments are finite")]
