"""Sampled rows: leaving a few rows out by products alone, if a matrix of all rows and outputs is too large.

The theory predicts the error of a large model on new rows from the same distribution. It needs a decay, weights near a
stationary point, and conjugate gradients that converge. It leaves open the effect of rows outside the sample.
"""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from lemmata.engine.claims import Claim, Control, Equal, Estimate, Hypothesis, Kind, Source
from lemmata.errors import MemoryPlanError
from lemmata.subjects.trained_models import AbstractModel, SampledRows, Trained, leave_one_out, leave_sampled_rows_out
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._fresh_rows import copies_of, fresh_rows
from ._gauge import AbstractGauge
from ._gauss_newton import gauss_newton_spectrum
from ._leave_one_out import leaving_out_bytes
from ._left_out_rows import leaving_rows_out_passes
from ._polish import changed_by_polishing, objective_of, polished_copy, vectors_bytes
from .leaving_out import LIMITS, HeldOutErrorFromTrainingRows, mean_limits, predicted_share

ABOUT = {"tool": "linear algebra", "architecture": "any", "object": "generalisation"}

_ROWS, _FEWER = 64, 32
_LARGE = 10_000_000  # parameters above which fewer rows are left out
_STEPS = 30
_RESIDUAL = 0.1  # the error of an output is of the order of the square of this residual
_MOVEMENT = 0.4
_CHANGED = 0.1
_FEWEST = 20
_POLISHED = 6 * 2**30  # bytes of vectors above which no copy is polished
_VECTORS = 8
_EXACT = 4


def sampled(problem: Trained) -> Int[np.ndarray, " k"]:
    """Positions of the left-out training rows: 64, or 32 if the model has more than ten million parameters."""
    count = _FEWER if len(problem.model.theta) > _LARGE else _ROWS
    return np.sort(np.random.default_rng([problem.seed, 22]).permutation(len(problem.x))[:count])


def polishes(problem: Trained) -> bool:
    """Whether a copy can be brought to a stationary point: the vectors that the descent stores must fit into memory."""
    return vectors_bytes(problem) <= _POLISHED


def at_hand(problem: Trained) -> AbstractModel:
    """The copy of the model at a stationary point, or the model itself if it is too large for a copy."""
    return polished_copy(problem).model if polishes(problem) else problem.model


@functools.lru_cache(maxsize=1)  # hypotheses and prediction of one check need the same rows
def left_out_sample(problem: Trained) -> SampledRows:
    """Leave the sampled rows out, one after another."""
    objective = dataclasses.replace(objective_of(problem), model=at_hand(problem))
    return leave_sampled_rows_out(objective, sampled(problem), _STEPS)


def worth(sample: int, rows: int, error: float, chance: float) -> float:
    """Return how many independent rows the errors at a sample of the training rows are worth.

    If classes are guessed, the errors of two left-out rows share 1/n of their variance, because each of the two rows
    influences the prediction for the other. A sample of k then has the variance of k / (1 + (k/n) error/chance)
    independent errors.

    Args:
        sample: k, the number of sampled rows.
        rows: n, the number of training rows.
        error: the share of the sample that is wrong.
        chance: the wrong share if classes are guessed.
    """
    return sample / (1 + sample / rows * min(error / chance, 1.0)) if chance > 0 else float(sample)


class HeldOutErrorFromSampledRows(AbstractGauge):
    """Let theta be the parameters of a model at a stationary point of the mean of n losses plus (delta/2) |theta|²,
    where delta is the decay. For row j, let f_j be the outputs, and let J_j be their Jacobian with respect to theta.
    Let p_j be the predictions (probabilities or values), and let y_j be the target. Let Lambda_j be the Hessian of the
    loss of row j with respect to the outputs. Leave row i out by one Newton step with the Gauss-Newton curvature. This
    step changes the outputs at row i to

        f_i + J_i d_i,   (sum_{j != i} J_j' Lambda_j J_j + n delta) d_i = J_i' (p_i - y_i),

    where 30 steps of conjugate gradients solve for d_i from products alone. Leave out each of 64 random training rows,
    or of 32 if the model has more than ten million parameters. Let e be the share of these rows whose class is then
    wrong. The share e predicts the share of wrong classes among unseen rows. It also implies a beta-binomial
    distribution for the number of wrong unseen rows. In this distribution, the 64 rows count as 64/(1 + (64/n) e/c)
    independent rows, where c is the error of always predicting the most frequent class. In at least nine of ten models,
    the central 97 % of this distribution contain the number of wrong unseen rows. For real-valued targets, the mean
    squared distance between targets and predictions is predicted instead, with normal limits.
    """

    title = "Held-out error, predicted by leaving out a sample of training rows"
    source = Source("rad2020alo", note="the step for each row; here without a matrix, for a few rows of a large model")
    stated = Kind.OWN
    population = TrainedNetworks(rows=100, decay=0.05, hidden=3, widths=(0, 5))
    relation = Estimate()
    level = 0.97
    ends = LIMITS
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error on new rows of a model that is too large for leaving all rows out"
    unexplained = "rows outside the sample; rows from another distribution; why this model has this error"
    traced = False

    def needed(self, problem: Trained) -> bool:
        """Whether sampling is needed: leaving out all rows gives more information, but may not fit into memory."""
        try:
            return leaving_out_bytes(problem) < 0
        except MemoryPlanError:
            return True

    def passes(self, problem: Trained) -> float:
        polishing = leaving_rows_out_passes(problem) if polishes(problem) else 0.0
        products = 2.0 * _STEPS * (len(sampled(problem)) + 1)
        return products + min(polishing, 700.0)

    def bytes(self, problem: Trained) -> int:
        held = vectors_bytes(problem) if polishes(problem) else 0
        return max(held, _VECTORS * problem.model.theta.itemsize * len(problem.model.theta))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = [
            Hypothesis(
                "the decay of the weights",
                objective_of(problem).decay,
                ">",
                0.0,
                "without decay nothing determines the weights",
            ),
            Hypothesis("training rows", float(len(problem.x)), ">=", float(_FEWEST), "fewer rows show too little"),
        ]
        if not all(bool(own.holds) for own in found):
            return found
        if polishes(problem):
            name, changed = "share of predictions that differ in the converged copy", changed_by_polishing(problem)
            found.append(Hypothesis(name, changed, "<=", _CHANGED, "otherwise the converged copy is a different model"))
        own = left_out_sample(problem)
        return [
            *found,
            Hypothesis("share of training rows with a duplicate", copies_of(problem).share, "<=", 0.01,
                       "if only one of two duplicates is left out, the other duplicate still shows its target"),
            Hypothesis("relative change of the outputs by one more Newton step", own.movement, "<=", _MOVEMENT,
                       "a Newton step approximates leaving a row out only at a stationary point"),
            Hypothesis("residual of conjugate gradients", own.residual, "<=", _RESIDUAL,
                       "otherwise the Newton step is not computed accurately enough"),
        ]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        own = left_out_sample(problem)
        wrong = problem.task.errors(own.outputs, problem.y[own.rows])
        new = (0 if problem.held is None else int(fresh_rows(problem).sum())) or len(problem.x)
        if not problem.task.is_classification:
            return jnp.asarray(mean_limits(wrong, 1 / len(wrong) + 1 / new, self.level))
        rows = worth(len(wrong), len(problem.x), float(wrong.mean()), float(1 - problem.y.mean(0).max()))
        return jnp.asarray(predicted_share(float(wrong.mean() * rows), rows, new, self.level))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates of training rows."""
        return HeldOutErrorFromTrainingRows().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class; for real-valued targets, their variance."""
        return HeldOutErrorFromTrainingRows().trivial(problem)


def _few(problem: Trained) -> Int[np.ndarray, " k"]:
    return np.arange(min(_EXACT, len(problem.x)))


def _steepness(problem: Trained) -> float:
    """Return the condition number of the curvature H, divided by 1 minus the largest leverage.

    The result limits how far rounding errors grow in the dual formula, which solves with H and with 1 - Lambda_i S_i.
    The smallest eigenvalue of H is taken to be n delta. The condition number of 1 - Lambda_i S_i is at most 1 divided
    by 1 minus the largest leverage.
    """
    ridge = len(problem.x) * objective_of(problem).decay
    found = leave_one_out(problem.model.in_double(), problem.x, problem.y, problem.task, objective_of(problem).decay)
    return (float(gauss_newton_spectrum(problem).max()) + ridge) / ridge / (1 - float(found.leverage.max()))


class SampledRowsAreTheDual(Claim[Trained]):
    """For row j of the n training rows of a model, let f_j be the outputs, and let J_j be their Jacobian with respect
    to the parameters. Let p_j be the predictions (probabilities or values), and let y_j be the target. Let Lambda_j be
    the Hessian of the loss with respect to the outputs, and let delta be the decay. Let H = sum_j J_j' Lambda_j J_j + n
    delta be the Gauss-Newton curvature, at any weights. Then S_i = J_i H^-1 J_i', which needs a matrix of all rows and
    outputs, satisfies

        f_i + S_i (1 - Lambda_i S_i)^-1 (p_i - y_i)  =  f_i + J_i d_i,

    where d_i = (H - J_i' Lambda_i J_i)^-1 J_i' (p_i - y_i). Both sides are the outputs at row i if this row is left out
    by one Newton step. Conjugate gradients find d_i from products alone.
    """

    title = (
        "Leaving rows out by products with the Gauss-Newton curvature gives the same outputs as the exact "
        "matrix formula"
    )
    source = HeldOutErrorFromSampledRows.source
    stated = Kind.OWN
    population = TrainedNetworks(rows=30, steps=1, unseen=False, held=1)
    relation = Equal(block=-1)  # an output may be a small difference of f_i and its change
    control = Control("the row's own curvature stays in H", lambda outputs, problem: _with_itself(problem))
    controls = "whether leaving rows out by conjugate gradients gives the exact outputs"
    unexplained = "how many steps of conjugate gradients a model needs"
    of_data = False
    traced = False

    def predict(self, problem: Trained) -> Array:
        model, objective = problem.model.in_double(), objective_of(problem)
        found = leave_one_out(model, problem.x, problem.y, problem.task, objective.decay)
        return jnp.asarray(found.outputs[_few(problem)].ravel())

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Run conjugate gradients until the residual is 1e-14, for at most three times as many steps as parameters."""
        objective = dataclasses.replace(objective_of(problem), model=problem.model.in_double())
        steps = 3 * len(problem.model.theta)
        found = leave_sampled_rows_out(objective, _few(problem), steps, tolerance=1e-14)
        return jnp.asarray(found.outputs.ravel())

    def condition(self, problem: Trained) -> Array:
        return jnp.asarray(_steepness(problem))


def _with_itself(problem: Trained) -> Array:
    """Return f_i + S_i (p_i - y_i), the outputs after a step that keeps the curvature of the left-out row i in H."""
    model, rows = problem.model.in_double(), _few(problem)
    f, j = model.outputs(problem.x), model.jacobian(problem.x)
    curved = np.einsum("iap,iab,ibq->pq", j, problem.task.curvatures(f, problem.y), j, optimize=True)
    curved[np.diag_indices_from(curved)] += len(f) * objective_of(problem).decay
    slope = problem.task.slopes(f, problem.y)
    steps = np.linalg.solve(curved, np.einsum("iap,ia->pi", j[rows], slope[rows]))
    return jnp.asarray((f[rows] + np.einsum("iap,pi->ia", j[rows], steps)).ravel())
