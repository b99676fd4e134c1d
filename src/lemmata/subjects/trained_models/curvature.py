"""Curvature: how large the learning rate of gradient descent may be before a small move away from the weights grows.

The theory describes full-batch gradient descent near the trained weights of the model. It assumes a loss that is smooth
there, and all rows in every step. It leaves open descent on batches, and whether sharpness says anything about new
rows.
"""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.errors import SolverError
from lemmata.subjects.trained_models import Trained, largest_eigenvalue
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._outputs import training_outputs
from ._polish import objective_of

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}

_FACTOR = 1.1
_BASIS = 12
_ROUNDS = 20
_CLOSE = 1e-3
_STEPS = 4
_HALVINGS = 5
_MOST_DOUBLINGS = 12
_SMALL = 1e-6
_MIXED = 1e-4
_TOLERANCE = 1e-3
_VECTORS = 9 + _BASIS  # vectors of parameters in float64 that a step of descent holds


def direction(problem: Trained, stream: int) -> Float[np.ndarray, " P"]:
    """A random direction J' u, where J is the Jacobian of the outputs on all training rows and u is a normal vector.

    Args:
        problem: the model with its training rows.
        stream: the stream of random numbers, in addition to the problem's seed.
    """
    u = np.random.default_rng([problem.seed, stream]).normal(size=training_outputs(problem).shape)
    return problem.model.vjp(u, problem.x)


@functools.lru_cache(maxsize=1)  # hypotheses and prediction of one check need the same number
def sharpness(problem: Trained) -> tuple[float, int]:
    """Return the largest eigenvalue of the objective's Hessian at the weights, and the number of Lanczos products.

    Args:
        problem: the model with its training rows.
    """
    return largest_eigenvalue(objective_of(problem).hessian(), direction(problem, 7), _TOLERANCE)


class Moves:
    """Small moves away from the weights, followed by descent that leaves the weights themselves in place.

    A move d becomes d - rate (g(theta + d) - g(theta)), where g is the gradient of the objective. So the move 0 stays
    0, whether or not the weights are a stationary point.

    Args:
        problem: the model with its training rows.
    """

    def __init__(self, problem: Trained):
        self.objective = dataclasses.replace(objective_of(problem), model=problem.model.in_double())
        self.theta = problem.model.theta.astype(float)
        self.home = self.objective.value(self.theta)[1]
        self.size = _SMALL * float(np.linalg.norm(self.theta))
        noise = direction(problem, 8).astype(float)
        self.start = self.steepest(noise / np.linalg.norm(noise))

    def pull(self, move: Float[np.ndarray, " P"]) -> Float[np.ndarray, " P"]:
        """Return g(theta + d) - g(theta) for the move d."""
        return self.objective.value(self.theta + move)[1] - self.home

    def steepest(self, move: Float[np.ndarray, " P"]) -> Float[np.ndarray, " P"]:
        """Return the move that descent pulls back hardest for its length, mixed with a small part of the given move.

        Raises:
            SolverError: if ARPACK does not converge within 240 pulls.
        """
        pulled: Any = LinearOperator((len(move),) * 2, lambda v: self.pull(self.size * v.ravel()) / self.size)
        try:
            most: Any = {"ncv": min(_BASIS, len(move)), "maxiter": _ROUNDS, "tol": _CLOSE}
            found = eigsh(pulled, 1, which="LA", v0=move, **most)[1]
        except ArpackError as error:
            raise SolverError("the steepest move", found=str(error), rule="gradients that change smoothly") from error
        return self.size * (found[:, 0] + _MIXED * move)

    def grows(self, rate: float) -> bool:
        """Whether the move alternates in sign and grows in four steps. Moves along negative curvature never alternate.

        A move grows if its change in the last step is larger than in the first step. There are only four steps, because
        along a negative curvature a move grows at every rate, and after more steps this growth would hide the
        alternation.
        """
        path, changes = self.start, [self.start]
        for _ in range(_STEPS):
            changes.append(-rate * self.pull(path))
            path = path + changes[-1]
            if np.linalg.norm(path) > 100 * self.size or not np.isfinite(path).all():
                break
        first, last = (float(np.linalg.norm(change)) for change in (changes[1], changes[-1]))
        return bool(changes[-1] @ changes[-2] < 0 and (len(changes) <= _STEPS or last > first))

    def onset(self) -> Float[np.ndarray, " 3"]:
        """Bracket the learning rate at which moves begin to grow: a rate below it, the middle, and a rate above it.

        The search begins at 2/c, where c is the curvature along the first move. It doubles or halves the rate at most
        twelve times each way. If moves never grow, the result is infinity; if they always grow, it is 0.
        """
        pulled = float(self.start @ self.pull(self.start))
        low = high = 2 * float(self.start @ self.start) / max(abs(pulled), 1e-300)
        tried = 0
        while self.grows(low) and tried < _MOST_DOUBLINGS:
            low, high, tried = low / 2, low, tried + 1
        if tried == _MOST_DOUBLINGS:
            return np.array([0.0, 0.0, low])
        while low == high or not self.grows(high):
            low, high, tried = high, 2 * high, tried + 1
            if tried > _MOST_DOUBLINGS:
                return np.array([low, np.inf, np.inf])
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if self.grows(middle) else (middle, high)
        return np.array([low, np.sqrt(low * high), high])


class LargestStableStep(AbstractGauge):
    """Let lambda be the largest eigenvalue of the Hessian of the objective at the weights of a trained model. Move the
    weights a little, and follow gradient descent on all training rows from there. In each step, subtract the gradient
    at the unmoved weights, so that these weights need not be a stationary point. If the learning rate is above
    2/lambda, the small move eventually alternates in sign and grows. If the rate is below 2/lambda, the move does not
    do so. In at least nine of ten models, the rate at which moves begin to grow is within a factor 1.1 of 2/lambda.
    """

    title = "Largest stable learning rate of gradient descent, predicted from the Hessian"
    source = Source("cohen2021edge", note="the linear stability of gradient descent on all rows")
    stated = Kind.OWN
    population = TrainedNetworks(unseen=False)
    relation = Estimate()
    ends = "rates that were tried"
    control = Control("three quarters of this rate", lambda interval, problem: 0.75 * interval)
    controls = "the rate at which descent on all rows becomes unstable"
    unexplained = "batches; momentum; whether a flat minimum is a good one"
    of_losses = True
    traced = False

    def passes(self, problem: Trained) -> float:
        return 60.0 + _ROUNDS * _BASIS / 4 + _STEPS * (3 + _HALVINGS)

    def bytes(self, problem: Trained) -> int:
        return _VECTORS * 8 * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        value, _ = sharpness(problem)
        return [
            Hypothesis("largest eigenvalue of the Hessian", value, ">", 0.0, "otherwise every learning rate is stable")
        ]

    def predict(self, problem: Trained) -> Array:
        value, _ = sharpness(problem)
        return 2 / value * jnp.asarray([1 / _FACTOR, 1.0, _FACTOR])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Find by bisection the learning rate at which a small move begins to grow."""
        return jnp.asarray(Moves(problem).onset())

    def trivial(self, problem: Trained) -> Array:
        """The rate at which a step of descent is as long as the weights themselves."""
        objective = objective_of(problem)
        slope = objective.value(problem.model.theta.astype(float))[1]
        return jnp.asarray(np.linalg.norm(problem.model.theta) / max(float(np.linalg.norm(slope)), 1e-300))
