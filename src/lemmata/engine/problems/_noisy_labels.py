"""Noisy labels of a function in the softmax kernel's space, made from noised data."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.kernels import SoftmaxTangent, gram

from ._diffusion import training_set
from ._schedules import Schedule, sampled_schedule
from ._targets import Cube

ROWS, TEST = 256, 256
_CENTRES, _REACH = 16, 3.0


class NoisyLabels(eqx.Module):
    """Labels made from a function of the kernel's space.

    Args:
        cross: K between all points, training points first, and the training points.
        member: F_H at all points.
        labels: F_H(x_i) + y_i - F*(x_i) at the training points.
        norm: |F_H|².
    """

    cross: Float[Array, "m n"]
    member: Float[Array, "m k"]
    labels: Float[Array, "n k"]
    norm: Float[Array, ""]


@jax.jit
def _noisy_labels(key: Key[Array, ""], schedule: Schedule, sigma: Float[Array, ""]) -> NoisyLabels:
    target, kernel, n = Cube(2), SoftmaxTangent(sigma), ROWS
    times, places, clean = training_set(key, target, schedule, n + TEST + _CENTRES)
    inputs = jnp.concatenate([times[:, None], places], axis=1) / math.sqrt(1 + _REACH**2)
    truth = jax.vmap(lambda t, x: target.denoiser(schedule, t, x))(times, places)
    centres = inputs[n + TEST :]
    own = gram(kernel, centres)
    coefficients = jnp.linalg.solve(own + 1e-2 * jnp.eye(_CENTRES), truth[n + TEST :])
    member = gram(kernel, inputs[: n + TEST], centres) @ coefficients
    labels = member[:n] + clean[:n] - truth[:n]
    norm = jnp.sum(coefficients * (own @ coefficients))
    return NoisyLabels(gram(kernel, inputs[: n + TEST], inputs[:n]), member, labels, norm)


class NoisyMembers(Population[NoisyLabels]):
    """Noised draws from a square; F_H is the regularised regression of F* on 16 points of its own."""

    def settings(self) -> Space:
        """The kernel's sigma."""
        return Space(sigma=Real(1.0, 0.3, 2.0, "standard deviation of the hidden weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyLabels:
        """A random schedule and draws."""
        schedule_key, key = jax.random.split(key)
        return _noisy_labels(key, sampled_schedule(schedule_key), jnp.asarray(setting["sigma"], float))

    def hypotheses(self, problem: NoisyLabels) -> list[Hypothesis]:
        """F_H lies in the kernel's space."""
        return [
            Hypothesis("F_H has bounded norm", problem.norm, "<", jnp.inf, "it is a finite sum of kernels"),
            Hypothesis.unchecked("noise has mean zero", "y - E[y | t, x(t)] has, by construction"),
        ]
