"""Noise schedules: the rate at which a diffusion forgets its data, and the score that belongs to a denoiser.

A diffusion turns data x(0) into x(t) = alpha(t) x(0) + sqrt(1 - alpha(t)²) z with standard normal z. Here, alpha(t) =
exp(-G(t)/2), and G(t) is the integral of the rate g from 0 to t. A denoiser F(t, x) estimates x(0) from x(t) = x. The
score is the gradient of the log density of x(t).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space


class Schedule(eqx.Module):
    """The rate g(t) = start + slope min(t, end) at which data are forgotten: linear up to `end`, then constant.

    Args:
        start: g(0), positive.
        slope: any number for which g(end) is positive.
        end: the time at which g stops changing. The claims about diffusion do not use larger times.
    """

    start: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.0)
    slope: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)
    end: float = eqx.field(static=True, default=2.0)

    def rate(self, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """The rate g(t)."""
        return self.start + self.slope * jnp.minimum(t, self.end)

    def integral(self, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """G(t), the integral of g from 0 to t."""
        changing = jnp.minimum(t, self.end)
        return self.start * t + self.slope * changing * (t - changing / 2)

    def hypotheses(self) -> list[Hypothesis]:
        """The hypotheses of Assumption 6.3 (gu2024softmax): g is positive and bounded on [0, inf).

        The extremes of g are g(0) and g(end).
        """
        first, last = self.rate(jnp.zeros(())), self.rate(jnp.asarray(self.end))
        why = "Assumption 6.3: g is linear up to its end and constant from there on"
        return [
            Hypothesis("g is positive (least value)", jnp.minimum(first, last), ">", 0.0, "the noise has sqrt(g)"),
            Hypothesis("g is bounded (largest value)", jnp.maximum(first, last), "<", jnp.inf, why),
        ]

    def scale(self, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """alpha(t) = exp(-G(t)/2), the factor of x(0) in the mean of x(t)."""
        return jnp.exp(-self.integral(t) / 2)

    def variance(self, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """1 - alpha(t)² = 1 - exp(-G(t)), the variance of each coordinate of x(t) given x(0)."""
        return -jnp.expm1(-self.integral(t))

    def noised(self, key: Key[Array, ""], t: Float[Array, " n"], clean: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Draws of x(t_i) given data x(0)_i, the rows of `clean`; one draw in each row."""
        noise = jax.random.normal(key, clean.shape, clean.dtype)
        return self.scale(t)[:, None] * clean + jnp.sqrt(self.variance(t))[:, None] * noise


def sampled_schedule(key: Key[Array, ""]) -> Schedule:
    """A schedule with g(0) uniform on [1/2, 2] and the slope uniform on [0, 2]."""
    start, slope = jax.random.uniform(key, (2,))
    return Schedule(0.5 + 1.5 * start, 2 * slope)


def score_from_denoiser(
    schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"], denoised: Float[Array, " d"]
) -> Float[Array, " d"]:
    """The score that belongs to a denoiser F: (alpha F - x) / (1 - alpha²), Tweedie's formula.

    Args:
        schedule: the schedule g.
        t: the time of the noised point x(t).
        x: the point at which the score is taken.
        denoised: the value F(t, x) of the denoiser.
    """
    return (schedule.scale(t) * denoised - x) / schedule.variance(t)


def loss_weight(schedule: Schedule, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The weight lambda(t) = (1 - alpha²)² / alpha², for which the score's loss equals the denoiser's loss.

    The score's loss is equation (5) of gu2024softmax.
    """
    return (schedule.variance(t) / schedule.scale(t)) ** 2


class SchedulePoint(eqx.Module):
    """A schedule and a time."""

    schedule: Schedule
    t: Float[Array, ""]


class Schedules(Population[SchedulePoint]):
    """A random schedule and a time."""

    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> SchedulePoint:
        schedule_key, time_key = jax.random.split(key)
        return SchedulePoint(sampled_schedule(schedule_key), jax.random.uniform(time_key, minval=0.05, maxval=2.0))

    def hypotheses(self, problem: SchedulePoint) -> list[Hypothesis]:
        """The hypotheses that the rate g is positive and bounded."""
        return problem.schedule.hypotheses()
