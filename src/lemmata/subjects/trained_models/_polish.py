"""The distance of a model from a stationary point of its objective, and a copy that is trained to such a point.

The objective is (1/n) sum_i loss(f_i, y_i) + (delta/2) |theta|². Here delta is the decay, and |theta|² is over the
parameters that decay. Most theory about a trained model is about a stationary point. If the user's training stopped
before a stationary point, a copy of the model is trained further.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy.optimize
from jaxtyping import Float, Inexact
from scipy.sparse.linalg import LinearOperator, cg

from lemmata.core import one_blas_thread

from ._contract import AbstractModel
from ._once import is_known, once
from ._outputs import training_outputs
from ._task import Task
from ._trained import Trained

DESCENT_STEPS = 600
MEMORY = 10
"""L-BFGS stores this number of past steps. With 30, each step took twice as long, and 600 steps did no better."""
PRODUCTS = (5, 10, 20, 40, 80, 80, 80)
"""The largest number of products with the Hessian, for each of the final Newton steps."""
_FORCED = 1e-2  # the residual of Newton's equation, in units of the gradient
_EXACT = 1e-10
_TOGETHER = 10
_SINGLE = 1e-7  # least decrease in ten steps of single precision; a smaller decrease is rounding
_ROUNDING = 100.0
_STEP = 1.1  # gradients that a step of L-BFGS makes
_FOR_VECTORS = 1500.0  # the vector operations of a step take as long as a gradient of this many rows
_VECTORS = 2 * MEMORY + 10  # vectors of parameters that L-BFGS keeps


@dataclasses.dataclass(frozen=True)
class Objective:
    """The training objective of a model: mean loss on its training rows plus decay.

    Args:
        model: the model.
        x: the training rows.
        y: the targets in the form that the loss needs (see `Task.encode`).
        task: the meaning of the outputs, with the loss of the training.
        decay: the decay delta, at least 0.
    """

    model: AbstractModel
    x: np.ndarray
    y: Float[np.ndarray, "n C"]
    task: Task
    decay: float

    @property
    def _kept(self) -> np.ndarray | float:
        return 1.0 if self.model.decayed is None else self.model.decayed

    def slope(self, model: AbstractModel) -> tuple[float, Float[np.ndarray, " P"]]:
        """Return the mean loss and its gradient, without the decay."""
        value, slope = model.loss_slope(self.x, self.y, self.task.loss)
        return value / len(self.x), slope / len(self.x)

    def value(self, theta: Float[np.ndarray, " P"]) -> tuple[float, Float[np.ndarray, " P"]]:
        """Return the objective and its gradient at other parameters."""
        loss, slope = self.slope(self.model.at(theta))
        own = self._kept * theta
        return loss + self.decay / 2 * float(own @ own), slope.astype(float) + self.decay * own

    def hessian(self) -> Callable[[Inexact[np.ndarray, " P"]], Inexact[np.ndarray, " P"]]:
        """Return the map from v to H v, where H is the Hessian of the objective at the model."""
        kept = 1 if self.model.decayed is None else self.model.decayed
        of_losses = self.model.hessian(self.x, self.y, self.task.loss)
        return lambda v: of_losses(v) / len(self.x) + np.asarray(self.decay, v.dtype) * kept * v

    def residual(self) -> float:
        """Return |grad L + delta theta| / (delta |theta|) for the mean loss L, or infinity if delta |theta| is 0."""
        _, slope = self.slope(self.model)
        own = self._kept * self.model.theta.astype(float)
        size = self.decay * float(np.linalg.norm(own))
        return float(np.linalg.norm(slope + self.decay * own)) / size if size > 0 else math.inf

    def inferred_decay(self) -> float:
        """Return -<theta, grad L>/|theta|² over decayed parameters.

        At a stationary point, this number is the decay delta of the training.
        """
        _, slope = self.slope(self.model)
        own = self._kept * self.model.theta.astype(float)
        return -float(own @ slope) / float(own @ own)


@dataclasses.dataclass(frozen=True)
class Polished:
    """A copy of a model at a stationary point.

    Args:
        model: the copy, in float64.
        residual: |grad L + delta theta| / (delta |theta|) at the copy.
        steps: the number of L-BFGS steps.
        moved: |theta' - theta| / |theta|, with the parameters theta of the model and theta' of the copy.
    """

    model: AbstractModel
    residual: float
    steps: int
    moved: float


def polish(objective: Objective, steps: int = DESCENT_STEPS, tolerance: float = 1e-4) -> Polished:
    """Train a copy of a model to a stationary point of its objective, by L-BFGS and then by Newton steps.

    A single-precision model is first trained in single precision, until rounding errors stop the progress. The
    remaining steps are in float64. The copy and its residual are always in float64.

    Args:
        objective: an objective with a decay above 0.
        steps: the largest number of L-BFGS steps.
        tolerance: the residual at which L-BFGS ends. Newton steps continue to rounding error if the objective is
            smooth.

    Raises:
        PrecisionError: if the model is in JAX and JAX computes in float32.
    """
    double = dataclasses.replace(objective, model=objective.model.in_double())
    start = double.model.theta
    # The largest entry of a gradient is at most its norm, so this does not end before the residual allows.
    size = double.decay * float(np.linalg.norm(double._kept * start)) / math.sqrt(len(start))
    end, taken = start, 0
    with one_blas_thread():  # threads of BLAS and PyTorch wait for each other, which triples the time
        if objective.model.theta.dtype == np.float32:
            end, taken = _descended(objective, end, steps, tolerance * size, _SINGLE)
        if taken < steps:
            end, more = _descended(double, end, steps - taken, tolerance * size, 1e-14)
            taken += more
        end = _settled(double, end)
    model = double.model.at(end)
    size = float(np.linalg.norm(start))
    moved = float(np.linalg.norm(end - start)) / size if size else math.inf
    return Polished(model, dataclasses.replace(double, model=model).residual(), taken, moved)


def _descended(
    objective: Objective, start: Float[np.ndarray, " P"], steps: int, largest: float, gain: float
) -> tuple[Float[np.ndarray, " P"], int]:
    """Return the parameters at which L-BFGS ends, in float64, and its number of steps.

    Args:
        objective: the objective, in the precision of its model.
        start: the parameters at the start.
        steps: the largest number of steps.
        largest: the largest entry of the gradient at which L-BFGS ends.
        gain: the decrease of the objective over ten steps at which L-BFGS ends. If the objective is above 1, the
            decrease is divided by the objective. Ten steps are used because a single step may gain almost nothing
            although descent has not ended. A step gains so little at the kink of a unit, and in the first step, which
            has no estimate of the curvature.
    """
    values: list[float] = []

    def watch(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        values.append(float(intermediate_result.fun))
        if len(values) > _TOGETHER and values[-1 - _TOGETHER] - values[-1] <= gain * max(values[-1], 1.0):
            raise StopIteration

    options = {"maxiter": steps, "maxfun": 2 * steps, "gtol": largest, "ftol": 0.0, "maxcor": MEMORY}
    found = scipy.optimize.minimize(
        objective.value, start, jac=True, method="L-BFGS-B", callback=watch, options=options
    )
    return found.x, int(found.nit)


def _settled(objective: Objective, end: Float[np.ndarray, " P"]) -> Float[np.ndarray, " P"]:
    """Return the parameters after Newton steps by conjugate gradients. The first Newton steps use few products.

    Results at the stationary point are then exact up to rounding errors. Without Newton steps, results would depend on
    the point at which descent happened to stop because of rounding errors. A step is taken if the objective does not
    rise and the new gradient misses its linearisation by at most half of the old gradient. If units have kinks, or if
    descent ended too early, the first step is not taken.
    """
    value, slope = objective.value(end)
    for products in PRODUCTS:
        size = float(np.linalg.norm(slope))
        if size <= _EXACT * objective.decay * float(np.linalg.norm(end)):
            break
        curved = dataclasses.replace(objective, model=objective.model.at(end)).hessian()
        hessian = LinearOperator((len(end),) * 2, matvec=curved, dtype=end.dtype)  # type: ignore[call-arg]
        step, _ = cg(hessian, -slope, rtol=_FORCED, maxiter=products)
        reached, steeper = objective.value(end + step)
        missed = float(np.linalg.norm(steeper - slope - curved(step)))
        if not (missed <= size / 2 and reached <= value + 1e-12 * max(abs(value), 1.0)):
            break
        end, value, slope = end + step, reached, steeper
    return end


@once
def objective_of(trained: Trained) -> Objective:
    """Return the training objective, mean loss plus decay.

    The decay is the stated decay. Without a statement, the decay is the decay that the weights imply, or 0 if that is
    negative.
    """
    free = Objective(trained.model, trained.x, trained.y, trained.task, 0.0)
    decay = trained.decay if trained.decay is not None else _inferred(trained, free)
    return dataclasses.replace(free, decay=max(decay, 0.0) if math.isfinite(decay) else 0.0)


def _inferred(trained: Trained, free: Objective) -> float:
    """Return the decay that the weights imply, or 0 if this decay is only a rounding error of the loss."""
    if not trained.model.differentiable or not trained.model.theta.any():
        return 0.0
    decay, theta = free.inferred_decay(), trained.model.theta.astype(float)
    loss = float(trained.task.losses(training_outputs(trained), trained.y).mean())
    least = _ROUNDING * np.finfo(trained.model.theta.dtype).eps * loss
    return decay if decay * float(theta @ theta) > least else 0.0


@once
def polished_copy(trained: Trained) -> Polished:
    """Return a copy of the model in float64, trained to a stationary point of its objective."""
    return polish(objective_of(trained))


@once
def changed_by_polishing(trained: Trained) -> float:
    """Return the share of predictions on training rows that differ between `polished_copy` and the model.

    For values, the result is the root mean square change of the predictions, relative to the root mean square error.
    For documents, the change of the losses is relative to their spread.
    """
    before, after = training_outputs(trained), polished_copy(trained).model.outputs(trained.x)
    if trained.task.is_classification:
        return float(np.mean(before.argmax(1) != after.argmax(1)))
    before, after = trained.task.means(before), trained.task.means(after)
    unit = float(before.var(0).mean() if trained.task.is_language else ((before - trained.y) ** 2).mean())
    return float(np.sqrt(((before - after) ** 2).mean() / max(unit, 1e-300)))


def step_passes(trained: Trained) -> float:
    """Return the time of an L-BFGS step, in gradients of all training rows."""
    return _STEP + _FOR_VECTORS / (trained.x.size if trained.task.is_language else len(trained.x))


def polishing_passes(trained: Trained) -> float:
    """Return the expected remaining cost of `polished_copy`, in gradients of all rows. A stored copy costs 0."""
    return 0.0 if is_known(polished_copy, trained) else step_passes(trained) * DESCENT_STEPS


def vectors_bytes(trained: Trained) -> int:
    """Return the bytes of the parameter vectors that `polish` keeps."""
    return 8 * _VECTORS * len(trained.model.theta)
