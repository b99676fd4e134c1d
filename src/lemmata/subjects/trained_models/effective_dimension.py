"""Effective dimension: the number of directions in which the training rows, not the decay, determine the weights.

The theory describes the curvature of the objective as a whole. It needs a decay. It does not cover the part of the
Hessian that comes from second derivatives of the outputs, or the meaning of the dimension for new rows.
"""

import functools

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import DimensionEstimate, Trained, dimension_by_products
from lemmata.subjects.trained_models._separated_networks import SeparatedNetworks
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._outputs import training_outputs
from ._polish import objective_of, polished_copy
from ._refit import by_chance, refits_of
from .refits import trainable

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "spectrum"}

_LEVEL = 0.98
_PROBES = 10
_STEPS = 30
_FEWEST = 20.0
_BELOW = 0.9
_SURE = 0.5


def decayed(problem: Trained) -> list[Hypothesis]:
    """Return the condition that the weights have a decay.

    Args:
        problem: the model with its rows.
    """
    return [
        Hypothesis(
            "the decay of the weights",
            objective_of(problem).decay,
            ">",
            0.0,
            "without decay, every direction counts fully",
        )
    ]


@functools.lru_cache(maxsize=1)
def _estimated(problem: Trained) -> DimensionEstimate:
    ridge = len(problem.x) * objective_of(problem).decay
    return dimension_by_products(
        polished_copy(problem).model, problem.x, problem.task, ridge, probes=_PROBES, steps=_STEPS, seed=problem.seed,
        y=problem.y,
    )  # fmt: skip


class DimensionFromProducts(AbstractGauge):
    """Let M = sum_i J_i' Lambda_i J_i be the Gauss-Newton matrix of a model on n training rows. Here J_i is the
    Jacobian of the outputs at row i with respect to the parameters, and Lambda_i is the Hessian of the loss of row i
    with respect to the outputs. The model is brought to a stationary point of the mean loss plus (delta/2) |theta|²,
    where theta are the parameters and delta is the decay. The effective dimension tr M (M + n delta)^-1 is estimated
    from products with M alone, by at most 30 steps of Lanczos' method from each of 10 vectors of random signs. Each
    vector gives a lower value by Radau's rule and an upper value by Gauss' rule. The reported interval begins at the
    lower end of Student's 98 % interval of the ten lower values. The reported interval ends at the upper end of
    Student's 98 % interval of the ten upper values. In at least nine of ten models, the reported interval contains the
    effective dimension.
    """

    title = "Effective dimension of a model, estimated from products with the Gauss-Newton matrix"
    source = Source("mackay1992evidence", note="the number of well-determined parameters; from products alone")
    stated = Kind.OWN
    population = TrainedNetworks(rows=40, unseen=False, widths=(4, 8))
    relation = Estimate()
    control = Control("half of this dimension", lambda interval, problem: interval / 2)
    controls = "in how many directions the training rows fix the weights"
    unexplained = "curvature of the outputs themselves; what the dimension means for new rows"
    trials = 320  # the level of the interval alone lets 2 of 100 models miss it
    shared = (polished_copy, rows_left_out)
    traced = False

    def passes(self, problem: Trained) -> float:
        return 3.0 * _PROBES * _STEPS + leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        most = float(min(problem.y.size, len(problem.model.theta)))
        return [
            *decayed(problem),
            Hypothesis("number of outputs on all rows, or of parameters if there are fewer", most, ">=", _FEWEST,
                       "with fewer directions, ten random vectors say too little"),
        ]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        found, most = _estimated(problem), float(min(problem.y.size, len(problem.model.theta)))
        low, high = found.interval(_LEVEL)
        return jnp.minimum(jnp.asarray([low, found.value, high]), most)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Sum the leverages of all rows, by a Cholesky factor of M or its dual. The sum is the effective dimension."""
        return jnp.full(3, rows_left_out(problem).dimension)

    def trivial(self, problem: Trained) -> Array:
        """The number of outputs on all rows, or the number of parameters if it is smaller."""
        return jnp.asarray(float(min(problem.y.size, len(problem.model.theta))))


class FewerDimensionsThanByChance(AbstractGauge):
    """Bring a model to a stationary point of its objective with decay delta, and let M be its Gauss-Newton matrix on
    the n training rows. Let the model give the labelled classes of its rows a probability of at least 1/2 on average.
    Suppose that the inputs tell the classes apart. Such a model is sure of most rows, and the loss has little curvature
    at these rows. Train the same model afresh on classes drawn independently of the inputs. In at least nine of ten
    models, the effective dimension tr M (M + n delta)^-1 is at most nine tenths of the effective dimension on the
    random classes. If the effective dimension is larger, the inputs seem to carry no information about the classes.
    """

    title = "An upper bound on a model's effective dimension, relative to training on classes drawn at random"
    source = Source("mackay1992evidence", note="the number of well-determined parameters; here against random classes")
    stated = Kind.OWN
    population = SeparatedNetworks()
    relation = AtMost(delta=0.1)
    control = Control("a third of this bound", lambda bound, problem: bound / 3)
    controls = "whether the rows determine fewer directions of the weights than the same rows with random classes"
    unexplained = "the error on new rows; models of other shapes or decays, whose dimensions cannot be compared"
    trivial = "the dimension on random classes is itself the null value"
    shared = (polished_copy, rows_left_out)
    traced = False

    def passes(self, problem: Trained) -> float:
        return 2 * leaving_out_passes(problem) + (0.0 if problem.fit is None else refits_of(problem).passes)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = [*trainable(problem), *decayed(problem)]
        if not all(bool(own.holds) for own in found):
            return found
        sure = float((problem.task.means(training_outputs(problem)) * problem.y).sum(1).mean())
        own = Hypothesis(
            "mean probability of a training row's class",
            sure,
            ">=",
            _SURE,
            "with a smaller probability, the model is unsure of many rows, and the loss has more curvature at these "
            "rows",
        )
        return [*found, own, *decayed(by_chance(problem))]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(_BELOW * rows_left_out(by_chance(problem)).dimension)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compute the effective dimension as the sum of the leverages of the model's training rows."""
        return jnp.asarray(rows_left_out(problem).dimension)
