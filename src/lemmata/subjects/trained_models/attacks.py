"""Attacks: how far an input must move until the model assigns it to another class.

The theory gives the distance to the boundary to first order. It assumes outputs that are nearly linear on the way. It
does not explain why the boundary is where it is, and it does not cover inputs that no small change produces.
"""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._once import once
from ._outputs import held_outputs, training_outputs

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "function class"}

_ROWS = 32
_FACTOR = 2.0
_STEPS = 20
_HALVINGS = 10
_STRAIGHT = 0.1
"""How far the margin halfway to the boundary may be from half of the margin, as a share of the margin."""


def attacked(problem: Trained) -> tuple[np.ndarray, np.ndarray]:
    """Return the first correctly predicted rows and their classes. They are held-out rows if the problem has any."""
    x, y = (problem.x, problem.y) if problem.held is None else problem.held
    f = training_outputs(problem) if problem.held is None else held_outputs(problem)
    right = np.flatnonzero(f.argmax(1) == y.argmax(1))[:_ROWS]
    return np.asarray(x[right], float), y[right].argmax(1)


def first_order_radii(problem: Trained) -> Float[np.ndarray, " n"]:
    """Return min_j (f_y - f_j) / |grad (f_y - f_j)| for each attacked row of class y, where j is any other class."""
    return _first_order_steps(problem)[0]


def departure_from_a_line(problem: Trained) -> float:
    """Return the median of |m(x + s/2) / m(x) - 1/2| over the attacked rows x.

    Here f are the outputs, y is the class of a row, and s is the smallest step to a point where m = f_y - f_j is 0 to
    first order. The step leads to class j. The median is 0 if the outputs are linear along the step.
    """
    x, y = attacked(problem)
    _, steps, classes = _first_order_steps(problem)
    start, middle = (_between(problem.model.outputs(own), y, classes) for own in (x, x + steps / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(middle / start - 0.5)
    return float(np.median(np.nan_to_num(off, nan=np.inf)))


def _between(f: np.ndarray, y: np.ndarray, j: np.ndarray) -> Float[np.ndarray, " n"]:
    """Return f_y - f_j for each row, where y and j hold one class for each row."""
    rows = np.arange(len(f))
    return f[rows, y] - f[rows, j]


@once
def _first_order_steps(problem: Trained) -> tuple[Float[np.ndarray, " n"], np.ndarray, Int[np.ndarray, " n"]]:
    """For each attacked row: the length of the smallest first-order step, the step, and the class that it leads to."""
    x, y = attacked(problem)
    f = problem.model.outputs(x)
    rows, wide = np.arange(len(x)), (-1, *(1,) * (x.ndim - 1))
    radii, steps, classes = np.full(len(x), np.inf), np.full(x.shape, np.nan), y.copy()
    for j in range(f.shape[1]):
        weights = np.zeros_like(f)
        weights[rows, y] += 1.0
        weights[rows, j] -= 1.0
        slope = problem.model.input_vjp(weights, x)
        length = np.linalg.norm(slope.reshape(len(x), -1), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = np.where(y == j, np.inf, _between(f, y, np.full(len(y), j)) / length)
            step = -(radius / length).reshape(wide) * slope
        nearer = radius < radii
        radii[nearer], steps[nearer], classes[nearer] = radius[nearer], step[nearer], j
    return radii, steps, classes


def smallest_attacks(problem: Trained, upper: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Find by bisection the smallest radius at which projected gradient steps change the class of each attacked row.

    Args:
        problem: the model with its rows.
        upper: radii at which the search begins. They are doubled until the attack succeeds, four times at most.
    """
    x, y = attacked(problem)
    low, high = np.zeros(len(x)), upper.copy()
    for _ in range(4):
        missed = ~_changed(problem, x, y, high)
        if not missed.any():
            break
        low, high = np.where(missed, high, low), np.where(missed, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        hit = _changed(problem, x, y, middle)
        low, high = np.where(hit, low, middle), np.where(hit, middle, high)
    return high


def _changed(problem: Trained, x: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Whether projected gradient steps, each a quarter of the radius, find another class in the ball around a row."""
    rows = np.arange(len(x))
    wide = (-1, *(1,) * (x.ndim - 1))
    moved, found = x.copy(), np.zeros(len(x), bool)
    for _ in range(_STEPS):
        f = problem.model.outputs(moved)
        found |= f.argmax(1) != y
        others = np.where(np.arange(f.shape[1]) == y[:, None], -np.inf, f)
        weights = np.zeros_like(f)
        weights[rows, others.argmax(1)] += 1.0
        weights[rows, y] -= 1.0
        slope = problem.model.input_vjp(weights, moved)
        length = np.linalg.norm(slope.reshape(len(x), -1), axis=1)
        moved = moved + (radius / 4 / np.maximum(length, 1e-300)).reshape(wide) * slope
        away = moved - x
        far = np.linalg.norm(away.reshape(len(x), -1), axis=1)
        moved = x + away * np.minimum(1.0, radius / np.maximum(far, 1e-300)).reshape(wide)
    return found | (problem.model.outputs(moved).argmax(1) != y)


class _NearlyStraight(TrainedNetworks):
    """Networks, of which one in eight has outputs too curved towards the boundary for the condition of the claim."""

    drops: ClassVar[float] = 0.2


class SmallestAttack(AbstractGauge):
    """Let f be the outputs of a model, and let x be an input of class y. To first order, the Euclidean distance from x
    to the nearest input that the model assigns to another class is

        min_j (f_y(x) - f_j(x)) / |grad (f_y - f_j)(x)|,

    where j runs over the other classes. Let j be the class at which the minimum is attained, and let m = f_y - f_j. Let
    s be the step from x against the gradient of m whose length is this minimum. Take 16 to 32 rows x that the model
    predicts correctly. Suppose that the median over these rows of |m(x + s/2)/m(x) - 1/2| is at most 0.1. For each row,
    projected gradient steps search for the smallest ball around the row in which the predicted class changes. In at
    least nine of ten models, the median radius of these balls is within a factor 2 of the median of the first-order
    distances.
    """

    title = "The radius of the smallest adversarial attack, predicted as margin divided by length of its gradient"
    source = Source("hein2017", note="the distance to first order, compared with projected gradient attacks")
    stated = Kind.OWN
    population = _NearlyStraight(unseen=False)
    relation = Estimate()
    ends = "quartiles of rows"
    control = Control("a third of this radius", lambda interval, problem: interval / 3)
    controls = "how far an input is from the nearest input that the model assigns to another class"
    unexplained = "why the boundary is so near; large changes that do not alter the meaning of an input"
    traced = False
    trials = 96

    def passes(self, problem: Trained) -> float:
        return 15.0 * _STEPS * _ROWS / len(problem.x)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if not problem.task.is_classification:
            return [Hypothesis("the model predicts classes", 0.0, ">=", 1.0)]
        if problem.x.dtype.kind != "f":
            return [
                Hypothesis(
                    "inputs can be changed by small amounts",
                    0.0,
                    ">=",
                    1.0,
                    "whole numbers only change by 1 or more",
                )
            ]
        found = float(len(attacked(problem)[0]))
        enough = Hypothesis("rows that the model predicts correctly", found, ">=", 16.0, "these rows are attacked")
        if not enough.holds:
            return [enough]
        off, why = departure_from_a_line(problem), "outputs must be nearly linear on the way to the boundary"
        return [
            enough,
            Hypothesis(
                "difference between the margin halfway to the boundary and half of the margin, relative to the margin",
                off,
                "<=",
                _STRAIGHT,
                why,
            ),
        ]

    def predict(self, problem: Trained) -> Array:
        return jnp.median(jnp.asarray(first_order_radii(problem))) * jnp.asarray([1 / _FACTOR, 1.0, _FACTOR])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Attack by projected gradient steps in balls; the radius is bisected for each row."""
        radii = smallest_attacks(problem, first_order_radii(problem))
        return jnp.quantile(jnp.asarray(radii), jnp.asarray([0.25, 0.5, 0.75]))

    def trivial(self, problem: Trained) -> Array:
        """The median distance between two training rows of different classes."""
        x, y = (a.reshape(len(a), -1) for a in (np.asarray(problem.x, float), problem.y))
        apart = np.linalg.norm(x[:64, None] - x[None, :64], axis=2)
        differ = y[:64].argmax(1)[:, None] != y[:64].argmax(1)[None]
        return jnp.asarray(np.median(apart[differ])) if differ.any() else jnp.asarray(np.median(apart))
