"""Balance: what gradient descent conserves, and what a layer's largest singular value shows about its movement.

The theory limits the weights that descent can reach from a given start. It needs the start. For balance it also needs
the learning rate, all rows in every step and no decay. The incoming and outgoing weights of a unit must be rescalable
without a change of the outputs. It leaves open what the weights compute.
"""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Rescaling, Trained, find_rescalings
from lemmata.subjects.trained_models._descended_networks import DescendedNetworks, known_rate, without_decay

from ._gauge import AbstractGauge
from ._outputs import training_outputs
from .curvature import sharpness
from .start import at_start, begun

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_EDGE = 0.15
_SMALLEST = 8
_FACTOR = 1.25


@functools.lru_cache(maxsize=1)  # the hypotheses, the prediction and the measurement need the same result
def _units(problem: Trained) -> list[Rescaling]:
    return find_rescalings(problem.model, problem.x)


def _all_hold(found: list[Hypothesis]) -> bool:
    return all(bool(own.holds) for own in found)


def _loss(problem: Trained) -> float:
    return float(problem.task.losses(training_outputs(problem), problem.y).mean())


class UnitsStayBalanced(AbstractGauge):
    """Let a layer have units that can be rescaled, such as rectified units. That is, the following change leaves all
    outputs as they are: multiply the weights into a unit k and its bias by a positive number, and divide the weights
    out of unit k by the same number. Let u_k be the vector of the weights into k and the bias, and let v_k be the
    vector of the weights out of k. Gradient flow on the loss conserves q_k = |u_k|² - |v_k|². One step of gradient
    descent on all rows at the rate eta changes q_k by exactly eta² (|gradient with respect to u_k|² - |gradient with
    respect to v_k|²). Suppose that eta times the largest eigenvalue of the loss's Hessian is at most 1 all along the
    step. Then the step also lowers the loss by at least eta/2 times the squared length of the gradient.

    If a weight array leads out of one such layer and into another, let m = 2; otherwise let m = 1. Training without
    decay then satisfies

        sum_k |q_k - q_k at the start| <= 2 eta (loss at the start - loss) m,

    where the sum is over the units of all such layers. The test measures the largest eigenvalue only at the weights
    where training began and where it ended.
    """

    title = "An upper bound on how far gradient descent unbalances the incoming and outgoing weights of units"
    source = Source(
        "du2018balanced",
        "Theorem 2.1",
        note="for gradient flow; here for gradient descent, under which the balance drifts",
    )
    stated = Kind.OWN
    population = DescendedNetworks(rate=0.02, steps=400, readout=0.05, scale=1.0)
    relation = AtMost(delta=0.1)
    control = Control("a quarter of this bound", lambda bound, problem: bound / 4)
    controls = "how closely the squared lengths of each unit's incoming and outgoing weights move together in training"
    unexplained = "batches, momentum and decay, which break the balance; which balanced weights training reaches"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 130.0

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = [*known_rate(problem), *without_decay(problem), *begun(problem)]
        if not _all_hold(found):
            return found
        count = float(len(_units(problem)))
        found.append(
            Hypothesis("layers of units that can be rescaled", count, ">=", 1.0, "for example, rectified units")
        )
        assert problem.rate is not None
        first = dataclasses.replace(problem, model=at_start(problem))
        steepest = max(sharpness(problem)[0], sharpness(first)[0])
        why = "otherwise a step may lower the loss by too little (checked before and after training)"
        return [*found, Hypothesis("learning rate times largest curvature", problem.rate * steepest, "<=", 1.0, why)]

    def predict(self, problem: Trained) -> Array:
        assert problem.rate is not None
        first = dataclasses.replace(problem, model=at_start(problem))
        times = np.sum([own.units != 0 for own in _units(problem)], axis=0).max()
        return jnp.asarray(2 * problem.rate * times * max(_loss(first) - _loss(problem), 0.0))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Sum |q_k - q_k at the start| over all units k: how far the units have moved out of balance."""
        before, after = at_start(problem).theta, problem.model.theta.astype(float)
        drifts = [np.abs(own.charges(after) - own.charges(before)).sum() for own in _units(problem)]
        return jnp.asarray(sum(drifts))

    def trivial(self, problem: Trained) -> Array:
        """Sum the changes since the start of |incoming weights|² and |outgoing weights|² over all units."""
        before, after = at_start(problem).theta, problem.model.theta.astype(float)
        return jnp.asarray(sum(np.abs(own.sizes(after) - own.sizes(before)).sum() for own in _units(problem)))


def largest_matrix(problem: Trained) -> tuple[Float[np.ndarray, "N M"], Float[np.ndarray, "N M"]]:
    """The weight matrix whose shorter side is longest, now and at the start.

    Arrays of more than two axes are unfolded.
    """
    now, start = (model.split(model.theta) for model in (problem.model.in_double(), at_start(problem)))
    unfold = lambda array: array.reshape(len(array), -1)
    shapes = {name: unfold(array).shape for name, array in now.items() if array.ndim > 1}
    name = max(shapes, key=lambda name: (min(shapes[name]), max(shapes[name])))
    return unfold(now[name]), unfold(start[name])


def outlier(change: float, spread: float, shape: tuple[int, int]) -> float:
    """The largest singular value of independent noise plus a matrix of rank one, in the limit of large sizes.

    Args:
        change: the singular value of the matrix of rank one.
        spread: s, the standard deviation of the independent entries of the noise.
        shape: (N, M), the shape of the matrix.
    """
    n, m = shape
    if change**2 <= spread**2 * np.sqrt(n * m):
        return spread * (np.sqrt(n) + np.sqrt(m))
    return float(np.sqrt((change**2 + spread**2 * n) * (change**2 + spread**2 * m)) / change)


class LargestSingularValueFromTheChange(AbstractGauge):
    """Let W be the weight array of a model whose shorter side is longest, an N x M matrix. Training began at an array
    W0 with independent entries of standard deviation s. The singular values of W0 form a bulk, and the largest is near
    its edge s (sqrt N + sqrt M). Let c be the largest singular value of the change W - W0. In at least nine of ten
    models, the largest singular value of W is within a factor 1.25 of

        sqrt((c² + s² N) (c² + s² M)) / c   if c > s (N M)^(1/4),   and   s (sqrt N + sqrt M)   otherwise.

    For large N and M, the formula is the value for a change of rank one that is independent of W0. The singular values
    of an untrained layer end at the edge.
    """

    title = "Largest singular value of a layer, predicted from the change of its weights"
    source = Source(
        "benaych2012singular", "Theorem 2.8", note="for independent noise and a large matrix; here for a layer"
    )
    stated = Kind.OWN
    population = DescendedNetworks(rows=60, features=20, hidden=24, steps=400, spread=1.5, noise=0.2)
    relation = Estimate()
    control = Control("the edge of the bulk at the start", lambda interval, problem: _edges(problem))
    controls = "the largest singular value of the largest weight array"
    unexplained = "the other singular values; what the direction of the largest singular value means; error on new rows"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 0.5

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = begun(problem)
        if not _all_hold(found):
            return found
        _, start = largest_matrix(problem)
        short = Hypothesis("shorter side of the array", float(min(start.shape)), ">=", float(_SMALLEST),
                           "a smaller array has no bulk of singular values")  # fmt: skip
        edge = float(_edges(problem)[1])
        apart = abs(float(np.linalg.norm(start, 2)) / max(edge, 1e-300) - 1)
        why = "otherwise the entries at the start were not independent with the same standard deviation"
        return [*found, short, Hypothesis("relative distance between the largest singular value at the start "
                                          "and the edge of the bulk",
                                          apart, "<=", _EDGE, why)]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        now, start = largest_matrix(problem)
        value = outlier(float(np.linalg.norm(now - start, 2)), float(start.std()), start.shape)
        return value * jnp.asarray([1 / _FACTOR, 1.0, _FACTOR])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The current singular values of the array."""
        now, _ = largest_matrix(problem)
        value = float(np.linalg.norm(now, 2))
        return jnp.asarray([value, value, value])

    def trivial(self, problem: Trained) -> Array:
        """The edge of the bulk."""
        return _edges(problem)[1]


def _edges(problem: Trained) -> Array:
    """The edge s (sqrt N + sqrt M) of the bulk at the start, with ends that are a fixed factor below and above."""
    _, start = largest_matrix(problem)
    edge = float(start.std()) * (np.sqrt(start.shape[0]) + np.sqrt(start.shape[1]))
    return edge * jnp.asarray([1 / _FACTOR, 1.0, _FACTOR])
