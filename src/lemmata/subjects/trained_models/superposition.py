"""Superposition: how a readout, the last matrix of a model, places more directions than it has dimensions.

The theory gives how close to each other directions must be if there are more directions than dimensions. It needs a
last matrix with a direction for each output. It leaves open which outputs share a direction, and how this affects
errors.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.subjects.trained_models import Objective, Trained, polish, read_model, read_task
from lemmata.subjects.trained_models._trained_networks import initial, network

from ._gauge import AbstractGauge
from ._outputs import training_outputs
from ._readout import readout_of

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "construction"}


class CrowdedReadouts(Population[Trained]):
    """Networks at a stationary point with decay, for classes around random centres.

    There are at least two more classes than hidden units.
    """

    settings = Space(
        classes=Integer(10, 4, 100, "classes", corners=(8, 12)),
        hidden=Integer(4, 1, 98, "hidden units", corners=(4, 5)),
        d=Integer(12, 1, 500, "features", corners=(8, 16)),
        n=Integer(200, 20, 5000, "training rows", corners=(160, 240)),
        decay=Real(2e-3, 1e-5, 1.0, "decay of the weights", corners=(1e-3, 3e-3)),
    ).where("there are at least two more classes than hidden units", lambda own: own["classes"] > own["hidden"] + 1)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw centres and rows, and train a network on them."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        classes, d, n = setting["classes"], setting["d"], setting["n"]
        centres = 4 * rng.normal(size=(classes, d)) / np.sqrt(d) * np.sqrt(2)
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
        x = centres[labels] + rng.normal(size=(n, d))
        start = read_model((network, initial(rng, d, setting["hidden"], classes)))
        task = read_task(start, x, labels)
        model = polish(Objective(start, x, task.encode(labels), task, setting["decay"]), steps=400).model
        return Trained(model, task, x, task.encode(labels), decay=setting["decay"])

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        smooth, classes = problem.model.differentiable, problem.task.is_classification
        found = [
            Hypothesis("the model has derivatives", float(smooth), ">=", 1.0),
            Hypothesis("the model predicts classes", float(classes), ">=", 1.0),
        ]
        if not (smooth and classes):
            return found
        own = readout_of(problem)
        known = Hypothesis("each output has its own direction in a last matrix", float(own is not None), ">=", 1.0)
        if own is None:
            return [*found, known]
        more = float(len(own) - own.shape[1])
        return [*found, known, Hypothesis("number of directions minus number of dimensions", more, ">=", 2.0,
                                          "fewer directions can all be at angles of 90 degrees or more")]  # fmt: skip


_DRAWS = 400
_QUANTILE = 0.1
_WORKS = 0.1


def cosines(directions: Float[np.ndarray, "N d"]) -> Float[np.ndarray, " pairs"]:
    """Return the cosine of each pair of directions once, after the mean of all directions is subtracted.

    If the same vector is added to all directions, the differences of outputs do not change, and so no prediction
    changes. The mean direction therefore has no meaning, and is subtracted.

    Args:
        directions: one direction in each row.
    """
    away = directions - directions.mean(0)
    unit = away / np.linalg.norm(away, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(unit), 1)]


def _own(problem: Trained) -> Float[np.ndarray, "N d"]:
    found = readout_of(problem)
    assert found is not None
    return found


def welch(problem: Trained) -> float:
    """Return Welch's bound, ((N - d)/(d (N - 1)))^1/2 for N directions in d dimensions."""
    n, d = _own(problem).shape
    return float(np.sqrt((n - d) / (d * (n - 1))))


class AbstractReadoutClaim(AbstractGauge):
    """A statement about the directions of a readout."""

    stated = Kind.OWN
    population = CrowdedReadouts()
    unexplained = "which outputs are neighbours, and whether a wider readout would err less"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 1.0

    def bytes(self, problem: Trained) -> int:
        return 24 * problem.y.shape[1] ** 2


class ReadoutsSpreadWiderThanChance(AbstractReadoutClaim):
    """Let the last matrix (the readout) of a model have one row for each of N classes, in d <= N - 2 dimensions. Let
    the directions be these rows minus their mean. Let the model get at least 90 % of its training rows right. Draw N
    independent normal vectors instead of the rows, subtract their mean, and take the 10 % quantile of the largest
    cosine between two of them. With probability at least 0.9, the largest cosine between two of the model's directions
    is at most this quantile.
    """

    title = "An upper bound on the largest cosine of two readout directions"
    source = Source(
        "elhage2022superposition", note=("more directions than dimensions; here compared with random directions")
    )
    relation = AtMost(delta=0.1)
    control = Control("at most half of this quantile", lambda cosine, problem: cosine / 2)
    controls = "how close the two closest directions are in a readout with more directions than dimensions"
    trivial = 1.0  # a cosine is at most 1

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        wrong = float(problem.task.errors(training_outputs(problem), problem.y).mean())
        return [
            Hypothesis(
                "error on training rows",
                wrong,
                "<=",
                _WORKS,
                "a model that has learned nothing still has random directions",
            )
        ]

    def predict(self, problem: Trained) -> Array:
        rng, shape = np.random.default_rng([problem.seed, 31]), _own(problem).shape
        draws = max(min(_DRAWS, 20_000_000 // shape[0] ** 2), 20)
        return jnp.quantile(jnp.asarray([cosines(rng.normal(size=shape)).max() for _ in range(draws)]), _QUANTILE)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Measure the directions of the model itself."""
        return jnp.asarray(cosines(_own(problem)).max())


class MeanSquareCosine(AbstractReadoutClaim):
    """Let the readout (the last matrix) of a model have N >= d + 2 rows in d dimensions. Let the readout directions be
    these rows minus their mean. The root mean square of the cosines between two directions is at least Welch's bound
    ((N - d)/(d (N - 1)))^1/2. The largest absolute value of a cosine is also at least this bound. The largest cosine
    itself, with its sign, may be below this bound. A negative cosine does not harm a readout.
    """

    title = "A lower bound on the root mean square of the cosines of readout directions"
    source = Source("welch1974", note="the bound, for the mean square")
    relation = AtLeast()
    control = Control("at least one and a half times this bound", lambda bound, problem: 1.5 * bound)
    controls = "how far directions deviate from right angles if there are more directions than dimensions"
    trivial = 0.0  # a mean of squares is at least 0

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(welch(problem))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Measure the directions of the model itself."""
        return jnp.asarray(np.sqrt(np.mean(cosines(_own(problem)) ** 2)))
