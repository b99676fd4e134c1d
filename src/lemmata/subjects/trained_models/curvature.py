"""Curvature: how long a step of gradient descent may be before the loss grows.

This theory controls full-batch gradient descent near where the model is. It asks for a loss that is smooth there and
all rows in every step; it leaves unexplained descent on batches, and whether sharpness tells anything about new rows.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained, largest_eigenvalue
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._outputs import training_outputs
from ._polish import objective_of

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}

_FACTOR = 1.4
_STEPS = 60
_HALVINGS = 6
_NOISE = 1e-3
_TOLERANCE = 1e-3
_GAIN = 0.1
_SHORT = 0.1
_VECTORS = 7  # of parameters in float64, which a step of descent holds


def direction(problem: Trained, stream: int) -> Float[np.ndarray, " P"]:
    """J' u of all training rows for normal u: random, and the same whatever order the parameters stand in.

    Args:
        problem: the model with its training rows.
        stream: of random numbers, beside the problem's seed.
    """
    u = np.random.default_rng([problem.seed, stream]).normal(size=training_outputs(problem).shape)
    return problem.model.vjp(u, problem.x)


@functools.lru_cache(maxsize=1)  # hypotheses and prediction of one gauge ask for the same number
def sharpness(problem: Trained) -> tuple[float, int]:
    """The largest eigenvalue of the Hessian of the objective at the weights, by Lanczos' method; and its products.

    Args:
        problem: the model with its training rows.
    """
    objective, model = objective_of(problem), problem.model

    def product(v: np.ndarray) -> np.ndarray:
        curved = model.hvp(v, problem.x, problem.y, problem.task.loss)
        return curved / len(problem.x) + np.asarray(objective.decay, v.dtype) * v

    return largest_eigenvalue(product, direction(problem, 7), _TOLERANCE)


def descent(problem: Trained, rate: float) -> tuple[float, float]:
    """The objective at the weights plus small noise, and after 60 steps of descent from there; inf once it explodes."""
    objective = objective_of(problem)
    theta = problem.model.theta.astype(float)
    noise = direction(problem, 8)
    theta = theta + _NOISE * np.linalg.norm(theta) / np.linalg.norm(noise) * noise
    first, slope = objective.value(theta)
    value = first
    for _ in range(_STEPS):
        theta = theta - rate * slope
        value, slope = objective.value(theta)
        if not np.isfinite(value) or value > 10 * first + 1:
            return first, np.inf
    return first, value


def grows(problem: Trained, rate: float) -> bool:
    """Whether the objective ends above where it began after 60 steps of descent from the weights plus small noise."""
    first, last = descent(problem, rate)
    return last > first


def still_gained(problem: Trained, rate: float) -> float:
    """By which share 60 steps of descent lower the objective."""
    first, last = descent(problem, rate)
    return (first - last) / first


class LargestStableStep(AbstractGauge):
    """Gradient descent on all training rows, from the weights of a trained model moved by noise of a thousandth of
    their length, lets the objective grow within 60 steps where its rate is above 2/lambda, and not below, lambda the
    largest eigenvalue of the Hessian there, provided that 60 steps at the rate 0.1/lambda gain at most a tenth of the
    objective: the rate at which it begins to grow is within a factor 1.4 of 2/lambda in at least nine of ten models.
    """

    title = "Largest stable step of gradient descent"
    source = Source("cohen2021edge", note="the linear stability of descent on all rows")
    stated = Kind.OWN
    population = TrainedNetworks(unseen=False)
    relation = Estimate()
    ends = "rates that were tried"
    control = Control("a third of that rate", lambda interval, problem: interval / 3)
    controls = "the rate at which descent on all rows becomes unstable"
    unexplained = "batches; momentum; whether a flat minimum is a good one"
    of_losses = True
    traced = False

    def passes(self, problem: Trained) -> float:
        return 60.0 + _STEPS * (1 + 2 * _HALVINGS)

    def bytes(self, problem: Trained) -> int:
        return _VECTORS * 8 * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        value, _ = sharpness(problem)
        found = [Hypothesis("largest eigenvalue of the Hessian", value, ">", 0.0, "else no step is too long")]
        if value > 0:
            gained = still_gained(problem, _SHORT / value)
            why = "descent that gains more ends below its start at an unstable rate too, and the curvature moves"
            found.append(Hypothesis("share of the objective that 60 short steps gain", gained, "<=", _GAIN, why))
        return found

    def predict(self, problem: Trained) -> Array:
        value, _ = sharpness(problem)
        return 2 / value * jnp.asarray([1 / _FACTOR, 1.0, _FACTOR])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Descent from the weights at rates that are bisected for where the objective begins to grow."""
        low = high = 1.0
        while grows(problem, low):
            low, high = low / 4, low
        while not grows(problem, high):
            low, high = high, 4 * high
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if grows(problem, middle) else (middle, high)
        return jnp.asarray([low, np.sqrt(low * high), high])

    def trivial(self, problem: Trained) -> Array:
        """A step of descent that is as long as the weights themselves."""
        objective = objective_of(problem)
        slope = objective.value(problem.model.theta.astype(float))[1]
        return jnp.asarray(np.linalg.norm(problem.model.theta) / max(float(np.linalg.norm(slope)), 1e-300))
