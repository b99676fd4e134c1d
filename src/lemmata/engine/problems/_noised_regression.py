"""Kernel regression on noised data: the denoiser at training points, and the variance of the labels about it."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.kernels import SoftmaxTangent, gram

from ._conditions import in_unit_ball
from ._diffusion import training_set
from ._schedules import Schedule, sampled_schedule
from ._targets import AbstractTarget, sampled_target


class NoisedRegression(eqx.Module):
    """Pairs of noised and clean data, given by their kernel and by the law of the labels.

    Args:
        target: the law of the data.
        schedule: how they are forgotten.
        times: t_i.
        places: x(t_i).
        inputs: (t_i, x(t_i)) divided by the longest of them.
        matrix: K, the softmax kernel on the inputs.
        truth: F* at them, the mean of the label x(0)_i.
        variances: E |x(0)_i - F*|² given the input.
        score: grad log p_t at the places.
        ridge: nu.
    """

    target: AbstractTarget
    schedule: Schedule
    times: Float[Array, " n"]
    places: Float[Array, "n d"]
    inputs: Float[Array, "n e"]
    matrix: Float[Array, "n n"]
    truth: Float[Array, "n d"]
    variances: Float[Array, " n"]
    score: Float[Array, "n d"]
    ridge: Float[Array, ""]


@functools.partial(jax.jit, static_argnums=(3, 4, 5))
def _noised_regression(key: Array, sigma: Array, ridge: Array, n: int, d: int, law: str) -> NoisedRegression:
    schedule_key, target_key, data_key = jax.random.split(key, 3)
    schedule, target = sampled_schedule(schedule_key), sampled_target(target_key, law, d)
    times, places, _ = training_set(data_key, target, schedule, n)
    raw = jnp.concatenate([times[:, None], places], axis=1)
    inputs = raw / jnp.linalg.norm(raw, axis=1).max()
    at = lambda function: jax.vmap(lambda t, x: function(schedule, t, x))(times, places)
    # Cov(x(0) | x(t)) is (1 - alpha²)/alpha times the derivative of the denoiser: diffusion.denoisers.
    slopes = jnp.trace(at(jax.jacfwd(target.denoiser, argnums=2)), axis1=1, axis2=2)
    variances = schedule.variance(times) / schedule.scale(times) * slopes
    matrix = gram(SoftmaxTangent(sigma), inputs)
    return NoisedRegression(
        target, schedule, times, places, inputs, matrix, at(target.denoiser), variances, at(target.score), ridge
    )


class NoisedRegressions(Population[NoisedRegression]):
    """Noised draws from a sphere or a cube, and the limit of the tangent kernel of a softmax network.

    Args:
        rows: training points, by default.
    """

    rows: int = 128

    def settings(self) -> Space:
        """Sizes, kernel, ridge, and the law of the data."""
        return Space(
            n=Integer(self.rows, 8, 512, "training points", corners=(self.rows, self.rows)),
            d=Integer(2, 1, 3, "dimension of the data", corners=(1, 2)),
            sigma=Real(0.5, 0.3, 1.0, "standard deviation of the hidden weights", corners=(0.4, 0.6)),
            ridge=Real(2.0, 0.1, 10.0, "nu", corners=(1.0, 3.0)),
            target=Choice("sphere", ("cube", "sphere"), "law of the data"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisedRegression:
        """A random schedule and draws."""
        sigma, ridge = (jnp.asarray(setting[name], float) for name in ("sigma", "ridge"))
        return _noised_regression(key, sigma, ridge, setting["n"], setting["d"], setting["target"])

    def hypotheses(self, problem: NoisedRegression) -> list[Hypothesis]:
        """Inputs in the unit ball, labels with a variance, and a ridge."""
        return [
            in_unit_ball(problem.inputs, "inputs", "Assumption 6.1"),
            Hypothesis("labels vary (least variance)", problem.variances.min(), ">=", 0.0, "it is a variance"),
            Hypothesis("the ridge is positive", problem.ridge, ">", 0.0, "K alone may be singular"),
        ]
