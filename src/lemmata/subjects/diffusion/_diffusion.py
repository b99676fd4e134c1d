"""Data with added noise: target distributions under noise schedules, evaluated at times and places, or sampled."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.schedules import Schedule, sampled_schedule
from lemmata.engine.problems.targets import (
    DIMENSION,
    STD,
    AbstractTarget,
    Cube,
    GaussianMixture,
    Sphere,
    sampled_mixture,
)

FIRST, EARLY, HORIZON = 0.02, 1 / 7, 2.0
_PARTICLES = 256


class Diffused(eqx.Module):
    """A target distribution under a noise schedule, evaluated at a few times and places.

    Args:
        target: the distribution of the data.
        schedule: the noise schedule.
        times: the times t_i > 0.
        points: the places x_i.
    """

    target: AbstractTarget
    schedule: Schedule
    times: Float[Array, " n"]
    points: Float[Array, "n d"]


def training_set(
    key: Key[Array, ""], target: AbstractTarget, schedule: Schedule, n: int, horizon: float = 1.0, first: float = 0.0
) -> tuple[Float[Array, " n"], Float[Array, "n d"], Float[Array, "n d"]]:
    """Draw times t_i uniform on [first, horizon], clean data x(0)_i, which are the labels, and the same data with
    noise, the places x(t_i)_i (Section 6.1 of the source).

    Args:
        key: the random key.
        target: the distribution of x(0).
        schedule: the noise schedule, which gives the amount of noise at each time.
        n: the number of pairs of noised and clean data.
        horizon: the last time T.
        first: the first time T_0.
    """
    time_key, data_key, noise_key = jax.random.split(key, 3)
    times = jax.random.uniform(time_key, (n,), minval=first, maxval=horizon)
    clean = target.sample(data_key, n)
    return times, schedule.noised(noise_key, times, clean), clean


def look(key: Key[Array, ""], target: AbstractTarget, schedule: Schedule, n: int = 8) -> Diffused:
    """Draw times uniform on [0.05, 1], and places from p_t, the distribution of the noised data."""
    time_key, data_key, noise_key = jax.random.split(key, 3)
    times = jax.random.uniform(time_key, (n,), minval=0.05)
    return Diffused(target, schedule, times, schedule.noised(noise_key, times, target.sample(data_key, n)))


def pose_rows(problem: object) -> Diffused | None:
    """Use a random row among a user's first 32 rows, plus normal noise, as the distribution of the data.

    The noise has the standard deviation 0.2. The rows are first scaled into the unit ball.
    """
    if not isinstance(problem, Regression):
        return problem if isinstance(problem, Diffused) else None
    rows = jnp.asarray(problem.x[:32], float)
    longest = jnp.linalg.norm(rows, axis=1).max()
    means = rows / jnp.where(longest > 0, longest, 1.0)
    return look(jax.random.key(0), GaussianMixture(means, jnp.full(len(rows), 1 / len(rows)), 0.2), Schedule())


def positive_times(problem: Diffused) -> list[Hypothesis]:
    """Return the hypothesis that there is noise at every time."""
    why = "at t = 0 the density may not exist, and the denoiser may jump"
    return [Hypothesis("times are positive", problem.times.min(), ">", 0.0, why)]


class NoisedMixtures(Population[Diffused]):
    """Mixtures of four normal distributions under random schedules.

    For a user's data, the distribution is one of the first 32 rows, chosen at random, plus normal noise of standard
    deviation 0.2.
    """

    pose = staticmethod(pose_rows)  # pyright: ignore[reportAssignmentType]  # a function is used as the method
    settings = Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        target_key, schedule_key, look_key = jax.random.split(key, 3)
        return look(look_key, sampled_mixture(target_key, setting["d"], setting["std"]), sampled_schedule(schedule_key))

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        return positive_times(problem)


class NoisedSpheres(Population[Diffused]):
    """Data on unit spheres in one to three dimensions under random schedules."""

    settings = Space(d=Integer(2, 1, 3, "dimension of the data"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        schedule_key, look_key = jax.random.split(key)
        return look(look_key, Sphere(setting["d"]), sampled_schedule(schedule_key))

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        return positive_times(problem)


class NoisedCubes(Population[Diffused]):
    """Data uniform on cubes under random schedules.

    Args:
        everywhere: whether to use 64 times that are log-uniform on [1e-4, 1] and places uniform in a box twice as
            large as the cube. Otherwise, there are 8 times uniform on [0.05, 1], and places are draws of x(t).
    """

    free = ("points",)
    everywhere: bool = False
    settings = Space(d=DIMENSION)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Diffused:
        cube = Cube(setting["d"])
        if not self.everywhere:
            schedule_key, look_key = jax.random.split(key)
            return look(look_key, cube, sampled_schedule(schedule_key))
        schedule_key, time_key, place_key = jax.random.split(key, 3)
        times = 10 ** jax.random.uniform(time_key, (64,), minval=-4.0, maxval=0.0)
        places = 2 * cube.half * jax.random.uniform(place_key, (64, setting["d"]), minval=-1.0)
        return Diffused(cube, sampled_schedule(schedule_key), times, places)

    def hypotheses(self, problem: Diffused) -> list[Hypothesis]:
        return positive_times(problem)


class Sampled(eqx.Module):
    """Draws of a target distribution at four times of a diffusion.

    Args:
        target: the distribution of the data.
        schedule: the noise schedule g.
        clean: draws of x(0).
        first: independent draws of x(t) at t = FIRST = 0.02.
        early: independent draws of x(t) at t = EARLY = 1/7.
        last: independent draws of x(t) at t = HORIZON = 2.
    """

    target: GaussianMixture
    schedule: Schedule
    clean: Float[Array, "n d"]
    first: Float[Array, "n d"]
    early: Float[Array, "n d"]
    last: Float[Array, "n d"]


class NoisedDraws(Population[Sampled]):
    """Draws from a random mixture of four normal distributions under a random schedule.

    Args:
        largest: the largest dimension.
        std: the default standard deviation of a component.
    """

    largest: int = 8
    std: float = STD.default

    def settings(self) -> Space:
        std = dataclasses.replace(STD, default=self.std)
        return Space(d=Integer(2, 1, self.largest, "dimension of the data"), std=std)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Sampled:
        target_key, schedule_key, data_key, noise_key = jax.random.split(key, 4)
        target, schedule = sampled_mixture(target_key, setting["d"], setting["std"]), sampled_schedule(schedule_key)
        clean = target.sample(data_key, 4 * _PARTICLES)
        times = jnp.repeat(jnp.asarray([0.0, FIRST, EARLY, HORIZON]), _PARTICLES)
        return Sampled(target, schedule, *jnp.split(schedule.noised(noise_key, times, clean), 4))

    def hypotheses(self, problem: Sampled) -> list[Hypothesis]:
        """Return the hypotheses on the schedule (Assumption 6.3), and the hypothesis of finite second moments."""
        return [
            *problem.schedule.hypotheses(),
            Hypothesis("components are normal (spread)", problem.target.std, ">", 0.0, "second moments are finite"),
        ]
