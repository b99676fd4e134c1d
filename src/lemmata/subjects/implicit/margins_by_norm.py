"""Margins by norm: every steepest descent maximises the margin in its own norm.

This theory is about linear classifiers of separable rows under the exponential loss. It gives the separating direction
to which each optimiser tends. It assumes steps that shrink. It does not explain rows that cannot be separated, or deep
networks.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Limit, Source
from lemmata.subjects.implicit._separable import SeparableProblems, SeparableRows, largest_margin, margin, separator

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "training"}

_STEPS = (2000.0, 8000.0, 32000.0)
_MOMENTS = (0.9, 0.95)


def _coordinate(g: Float[Array, " d"]) -> Float[Array, " d"]:
    largest = jnp.argmax(jnp.abs(g))
    return jnp.zeros_like(g).at[largest].set(jnp.sign(g[largest]))


_DIRECTIONS = {"l_2": lambda g: g / jnp.linalg.norm(g), "l_1": _coordinate, "l_inf": jnp.sign}


@functools.partial(jax.jit, static_argnames=("method", "steps"))
def steepest(z: Float[Array, "n d"], start: Float[Array, " d"], method: str, steps: int) -> Float[Array, " d"]:
    """Return the weights after steps of size 2/sqrt(t), t = 1, 2, ..., in the steepest direction of a norm."""
    slope = lambda w: -jax.nn.softmax(-z @ w) @ z
    one = lambda t, w: w - 2 / jnp.sqrt(t + 1.0) * _DIRECTIONS[method](slope(w))
    return jax.lax.fori_loop(0, steps, one, start)


@functools.partial(jax.jit, static_argnames=("steps",))
def adam(z: Float[Array, "n d"], start: Float[Array, " d"], steps: int) -> Float[Array, " d"]:
    """Return the weights after Adam steps of size 1/sqrt(t); moments are divided by the loss to avoid underflow."""
    decays = jnp.array(_MOMENTS)[:, None]

    def one(t, carry):
        w, moments, before = carry
        values = -z @ w
        slope, now = -jax.nn.softmax(values) @ z, jax.nn.logsumexp(values)
        scales = jnp.exp(jnp.array([1.0, 2.0]) * (before - now))[:, None]
        moments = decays * moments * scales + (1 - decays) * jnp.stack([slope, slope**2])
        first, second = moments / (1 - decays ** (t + 1))
        return w - first / jnp.sqrt(second * (t + 1)), moments, now

    begin = (start, jnp.zeros((2, len(start))), jax.nn.logsumexp(-z @ start))
    return jax.lax.fori_loop(0, steps, one, begin)[0]


class AbstractMarginOfOptimiser(Claim[SeparableRows]):
    """The shared parts of claims on optimisers; a claim sets its method, the order of its norm, and a docstring."""

    population = SeparableProblems()
    relation = Limit("steps", _STEPS, margin=0.015, resolution=0.015)
    controls = "the margin to which an optimiser drives a linear classifier"
    unexplained = "which norm gives the best predictions for new rows"
    trials = 48
    traced = False  # the largest margins are SciPy's
    method = "l_2"
    order = 2.0

    def predict(self, problem: SeparableRows) -> Array:
        return jnp.asarray(largest_margin(problem.z, self.order))

    def measure(self, problem: SeparableRows, key: Key[Array, ""]) -> Array:
        train = adam if self.method == "adam" else functools.partial(steepest, method=self.method)
        ends = [train(problem.z, problem.start, steps=int(steps)) for steps in _STEPS]
        return jnp.asarray([margin(problem.z, w, self.order) for w in ends])


def _margin_of(problem: SeparableRows, chosen: int | float, order: int | float) -> Array:
    """Find the direction of largest margin in the norm `chosen`; return its margin in the norm `order`."""
    return jnp.asarray(margin(problem.z, separator(problem.z, chosen), order))


class NormalisedDescentMargin(AbstractMarginOfOptimiser):
    """Let rows z_i = y_i x_i be separable, and let w follow minus the gradient of sum_i exp(-<w, z_i>), with steps of
    length 2/sqrt(t), t = 1, 2, .... From every start, the margin min_i <w, z_i> / |w|_2 tends to its maximum over w. So
    the direction of w tends to the direction of the l_2 support vector machine.
    """

    title = "Normalised gradient descent on separable rows tends to the largest l_2 margin from every start"
    source = Source("gunasekar2018", note="steepest descent, for the l_2 norm")
    control = Control(
        "the weights tend to the direction of largest l_inf margin",
        lambda value, problem: _margin_of(problem, np.inf, 2),
    )


class CoordinateDescentMargin(AbstractMarginOfOptimiser):
    """Let rows z_i = y_i x_i be separable. In each step t = 1, 2, ..., take the coordinate of w in which the derivative
    of sum_i exp(-<w, z_i>) is largest in absolute value. Change this coordinate by 2/sqrt(t), against the sign of the
    derivative. From every start, the l_1 margin min_i <w, z_i> / |w|_1 tends to its maximum over w. The l_2 margin does
    not tend to its maximum. Boosting is such a coordinate descent.
    """

    title = "Coordinate descent, and so boosting, tends to the largest l_1 margin"
    source = Source("gunasekar2018", note="steepest descent, for the l_1 norm")
    control = Control(
        "the weights tend to the direction of largest l_2 margin", lambda value, problem: _margin_of(problem, 2, 1)
    )
    method = "l_1"
    order = 1.0


class SignDescentMargin(AbstractMarginOfOptimiser):
    """Let rows z_i = y_i x_i be separable. In each step t = 1, 2, ..., change every coordinate of w by 2/sqrt(t),
    against the sign of the derivative of sum_i exp(-<w, z_i>) in this coordinate. From every start, the l_inf margin
    min_i <w, z_i> / |w|_inf tends to its maximum over w. The l_2 margin does not tend to its maximum.
    """

    title = "Sign descent tends to the largest l_inf margin"
    source = Source("gunasekar2018", note="steepest descent, for the l_inf norm")
    control = Control(
        "the weights tend to the direction of largest l_2 margin", lambda value, problem: _margin_of(problem, 2, np.inf)
    )
    method = "l_inf"
    order = np.inf


class AdamMargin(AbstractMarginOfOptimiser):
    """Let rows z_i = y_i x_i be separable. Train w on sum_i exp(-<w, z_i>) by Adam with epsilon = 0, the decay rates
    0.9 and 0.95 of the moments, and the learning rate 1/sqrt(t) in step t. Like sign descent, Adam drives the margin
    min_i <w, z_i> / |w|_inf to its maximum over w, from every start.
    """

    title = "Adam without epsilon tends to the largest l_inf margin"
    source = Source("zhang2024adam", note="main result, for the exponential loss and one schedule")
    control = Control(
        "the weights tend to the direction of largest l_2 margin", lambda value, problem: _margin_of(problem, 2, np.inf)
    )
    method = "adam"
    order = np.inf
