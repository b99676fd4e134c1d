"""Denoisers on the points of a quadrature rule, to be approximated."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space

from ._conditions import in_unit_ball
from ._schedules import Schedule, sampled_schedule
from ._targets import Cube

_TIMES, _PLACES, _REACH = 16, 48, 3.0


class Approximation(eqx.Module):
    """A target on the points of a quadrature rule of (t, x(t)), t uniform on [0, 1] and |x(t)| <= 3.

    Args:
        inputs: u = (t, x) scaled into the unit ball.
        weights: probabilities of the points.
        target: F* at the points.
        sigma: that of the kernel.
        schedule: g.
    """

    inputs: Float[Array, "n 2"]
    weights: Float[Array, " n"]
    target: Float[Array, " n"]
    sigma: Float[Array, ""]
    schedule: Schedule


@jax.jit
def _on_grid(schedule: Schedule) -> tuple[Array, Array, Array]:
    """Points (t, x), their probabilities and E[x(0) | x(t) = x] for data uniform on [-1, 1]."""
    nodes, weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(_TIMES))
    places, place_weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(_PLACES))
    # t = s², s uniform: the kink at t = 0 is what matters.
    times = jnp.repeat(((nodes + 1) / 2) ** 2, _PLACES)
    x = jnp.tile(_REACH * places, _TIMES)[:, None]
    cube = Cube(1)
    density = jnp.exp(jax.vmap(lambda t, x: cube.log_density(schedule, t, x))(times, x))
    mass = jnp.repeat(weights * (nodes + 1), _PLACES) * jnp.tile(place_weights, _TIMES) * density
    target = jax.vmap(lambda t, x: cube.denoiser(schedule, t, x))(times, x)[:, 0]
    return jnp.concatenate([times[:, None], x], axis=1), mass / mass.sum(), target


class DenoisersOnGrids(Population[Approximation]):
    """The denoiser of data uniform on [-1, 1], d = 1, at inputs (t, x) scaled into the unit ball."""

    def settings(self) -> Space:
        """The kernel's sigma."""
        return Space(sigma=Real(1.0, 0.3, 1.0, "standard deviation of the hidden weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Approximation:
        """A random schedule."""
        schedule = sampled_schedule(key)
        points, weights, target = _on_grid(schedule)
        scale = 1 / math.sqrt(1 + _REACH**2)
        return Approximation(scale * points, weights, target, jnp.asarray(setting["sigma"], float), schedule)

    def hypotheses(self, problem: Approximation) -> list[Hypothesis]:
        """Assumptions 6.1, 6.3 and 6.4."""
        return [
            in_unit_ball(problem.inputs, "inputs", "Assumption 6.1"),
            Hypothesis("labels lie in [-1, 1]", jnp.abs(problem.target).max(), "<=", 1.0, "Assumption 6.1"),
            *problem.schedule.hypotheses(),
            Hypothesis("F* is Lipschitz in x at all times", Cube(1).lipschitz, "<=", 2**0.5, "Assumption 6.4"),
        ]
