"""The edge of stability: how sharp the objective can be where descent at a stated rate has ended.

The theory gives the largest curvature at which full-batch descent is stable. It needs the learning rate, all rows in
every step and no momentum. It leaves open why descent raises the sharpness up to this value, and it does not cover
batches.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Control, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._descended_networks import DescendedNetworks, known_rate

from ._gauge import AbstractGauge
from ._polish import objective_of
from .curvature import sharpness

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}

_FACTOR = 1.3
_PLACES = (0, 1, 2, 3, 5, 8, 13, 21)


def sharpness_along(problem: Trained, steps: tuple[int, ...] = _PLACES) -> Float[np.ndarray, " k"]:
    """The largest eigenvalue of the Hessian of the objective after further steps of descent at the stated rate.

    Args:
        problem: the model with its rows and the rate.
        steps: numbers of further steps in increasing order; 0 is at the weights.
    """
    assert problem.rate is not None
    objective, theta, done, found = objective_of(problem), problem.model.theta.astype(float), 0, []
    double = problem.model.in_double()
    for after in steps:
        for _ in range(after - done):
            theta = theta - problem.rate * objective.value(theta)[1]
        done = after
        if not np.isfinite(theta).all():
            return np.array([*found, np.inf])
        there = dataclasses.replace(problem, model=double.at(theta), decay=objective.decay)
        found.append(sharpness(there)[0])
    return np.array(found)


class SharpnessBelowTheEdge(AbstractGauge):
    """Train a model by gradient descent on all training rows at the learning rate eta. The sharpness at some weights is
    the largest eigenvalue of the Hessian of the objective there. Descent cannot stay near a minimum if the sharpness is
    above 2/eta for many steps. The sharpness may be above 2/eta for a few steps, after which it falls. Take the
    sharpness at the trained weights and after 1, 2, 3, 5, 8, 13 and 21 more steps at this rate. In at least nine of ten
    models, the smallest of these values is at most 1.3 times 2/eta.
    """

    title = "An upper bound on the sharpness of the objective after gradient descent at a known learning rate"
    source = Source("cohen2021edge", note="main result; here for the least sharpness after several numbers of steps")
    stated = Kind.OWN
    population = DescendedNetworks(
        activation="tanh", rows=60, features=4, spread=1.4, noise=0.4, rate=1.0, steps=800, scale=1.0
    )
    relation = AtMost(delta=0.1)
    control = Control("half of this bound", lambda bound, problem: bound / 2)
    controls = "the sharpness at the end of gradient descent on all rows with a stated learning rate"
    unexplained = (
        "why training raises the sharpness up to this bound; batches and momentum; the error on new rows, which "
        "sharpness does not show"
    )
    trivial = "without the rate, no limit on the sharpness is known"
    traced = False
    trials = 200

    def passes(self, problem: Trained) -> float:
        return _PLACES[-1] + 60.0 * len(_PLACES)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return known_rate(problem)

    def predict(self, problem: Trained) -> Array:
        assert problem.rate is not None
        return jnp.asarray(_FACTOR * 2 / problem.rate)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Apply Lanczos' method to the Hessian at the weights and after a few more steps of descent."""
        return jnp.asarray(sharpness_along(problem).min())
