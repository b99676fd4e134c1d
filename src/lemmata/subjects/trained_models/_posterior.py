"""Laplace's approximation of the posterior of a trained model, which gives the uncertainty of outputs at new rows.

Consider a stationary point of (1/n) sum_i loss(f_i, y_i) + (delta/2) |theta|², where delta is the decay. Let J_i be the
Jacobian of the outputs at row i, and let Lambda_i be the Hessian of the loss with respect to the outputs. Let H = sum_i
J_i' Lambda_i J_i + n delta be the Gauss-Newton curvature. To second order, the posterior of the parameters is normal
with covariance H^-1. For squared loss, this covariance is multiplied by the noise variance. The covariance of the
outputs at a row x is J(x) H^-1 J(x)'. For squared loss and a model that is linear in its parameters, this posterior is
exact.
"""

import dataclasses

import numpy as np
import scipy.linalg
from jaxtyping import Float

from ._contract import AbstractModel, batches
from ._factors import Factor, factors, gram_of, joined
from ._leave_one_out import prior_of, roots
from ._linear_layers import linear_layers, part_of
from ._task import Task

OPERATIONS = 3e10
"""The computation of one posterior may take at most this number of operations."""
_BYTES = 2**30
_BLOCK = 2**27  # bytes of the Jacobian of a block of rows
_SINGULAR = 14.0  # difference of the logarithms of the largest and the least diagonal entry of a Cholesky factor
_CHECKED = 2**26  # largest number of bytes of the Jacobian of a row for which factors are tried


@dataclasses.dataclass(frozen=True)
class PosteriorSpread:
    """The posterior covariance of outputs at new rows.

    Args:
        spread: the matrix J(x) H^-1 J(x)' for each new row x. The module docstring defines J(x) and H.
        dimension: the effective dimension tr M H^-1, where M is the curvature H without the term of the decay.
        movement: |J H^-1 g| / |f|. Here J is the Jacobian of the outputs f at all training rows, and g is the gradient
            of the objective times the number of rows. The movement is 0 at a stationary point.
        whole: whether the posterior is over all parameters, and not only over the readout.
    """

    spread: Float[np.ndarray, "m C C"]
    dimension: float
    movement: float
    whole: bool


def posterior_spread(
    model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], task: Task, decay: float, others: np.ndarray
) -> PosteriorSpread | None:
    """Return the spread of outputs at other rows, from all parameters if affordable, or else from the readout.

    The computation uses the Cholesky factor of H or of the matrix of all outputs, whichever costs less.

    Args:
        model: the model at a stationary point; `movement` in the result measures whether it is one.
        x: the training rows.
        y: the targets of the rows, in the form that the loss needs (see `Task.encode`).
        task: the meaning of the outputs, with the loss.
        decay: the decay delta, at least 0.
        others: the new rows, at which the covariance of the outputs is computed.

    Returns:
        None if both computations cost too much, or if H is singular up to rounding.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.trained_models import read_model, read_task
    >>> x, y = np.array([[1.0], [2.0], [2.0]]), np.array([1.1, 1.9, 2.0])
    >>> model = read_model((lambda w, x: x @ w, jnp.array([8.9 / 10.2])))
    >>> task = read_task(model, x, y)
    >>> found = posterior_spread(model, x, task.encode(y), task, 0.4, np.array([[3.0]]))
    >>> print(found.spread.ravel(), f"{9 / (9 + 3 * 0.4):.8f}")  # x² / (sum x_i² + n delta)
    [0.88235294] 0.88235294
    """
    double, sizes = model.in_double(), (len(x), len(others), y.shape[1])
    readout = lambda: part_of(double, chosen) if (chosen := linear_layers(double, x)).any() else None
    for whole, question in ((True, lambda: double), (False, readout)):
        own = question()
        if own is None:
            return None
        known = _factored(own, x, others) if min(_costs(len(own.theta), *sizes)) > OPERATIONS else None
        by_parameters, by_outputs = _costs(len(own.theta), *sizes, known is not None)
        if decay == 0:
            by_outputs = np.inf
        if min(by_parameters, by_outputs) > OPERATIONS:
            continue
        try:
            if by_parameters <= by_outputs:
                found = _by_parameters(own, x, y, task, decay, others)
            else:
                found = _by_outputs(own, x, y, task, decay, others, known)
        except np.linalg.LinAlgError:
            return None
        return PosteriorSpread(*found, whole)
    return None


_Found = tuple[Float[np.ndarray, "m C C"], float, float]


def _costs(size: int, n: int, m: int, width: int, factored: bool = False) -> tuple[float, float]:
    """Return the number of operations of `_by_parameters` and of `_by_outputs`.

    If memory is not enough, the number is infinite.
    """
    wide, new = n * width, m * width
    first = float(size) ** 2 * (wide + new + size)
    second = float(wide) ** 2 * (wide + 2 * new) + (0.0 if factored else float(size) * wide * (wide + new))
    explicit = 0 if factored else 8 * size * wide
    return (
        first if 8 * 4 * size**2 + 8 * size * width <= _BYTES else np.inf,
        second if 8 * wide * (4 * wide + new) + explicit <= _BYTES else np.inf,
    )


def _factored(
    model: AbstractModel, x: np.ndarray, others: np.ndarray
) -> tuple[tuple[Factor, ...], tuple[Factor, ...]] | None:
    """Return the factors of both Jacobians, if the model is a dense network that is small enough to check."""
    if 8 * len(model.theta) * model.outputs(x[:1]).shape[1] > _CHECKED:
        return None
    own = factors(model, x, prior_of(model))
    far = None if own is None else factors(model, others, prior_of(model))
    return None if own is None or far is None else (joined(own), joined(far))


def _gradient(
    model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], task: Task, ridge: float
) -> tuple[Float[np.ndarray, "n C"], Float[np.ndarray, " P"]]:
    """Return the outputs, and the gradient of the objective times n."""
    f = model.outputs(x)
    kept = 1.0 if model.decayed is None else model.decayed
    return f, model.vjp(task.slopes(f, y), x) + ridge * kept * model.theta


def _moved(along: Float[np.ndarray, "n C"], f: Float[np.ndarray, "n C"]) -> float:
    return float(np.linalg.norm(along) / max(float(np.linalg.norm(f)), 1e-300))


def _by_parameters(
    model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], task: Task, decay: float, others: np.ndarray
) -> _Found:
    """Compute the spread, the dimension and the movement with the P x P matrix H = L L'.

    Let P be the number of parameters, n the number of rows and ridge = n `decay`. Let H be the Gauss-Newton curvature
    of the module docstring, with the Cholesky factor L, and let J(x) be the Jacobian of the outputs at a row x. For
    each row x of `others`, the spread is the matrix J(x) H^-1 J(x)' = A'A with A = L^-1 J(x)'. The effective dimension
    is P - ridge tr H^-1. The movement is defined in `PosteriorSpread`.
    """
    size, prior, ridge = len(model.theta), prior_of(model), len(x) * decay
    f, gradient = _gradient(model, x, y, task, ridge)
    root, hessian = roots(task.curvatures(f, y)), np.zeros((size, size))
    few = max(_BLOCK // (8 * size * f.shape[1]), 1)
    for start in range(0, len(x), few):
        part = slice(start, start + few)
        weighted = np.einsum("iab,ibp->iap", root[part], model.jacobian(x[part]) * prior).reshape(-1, size)
        hessian += weighted.T @ weighted
    hessian[np.diag_indices_from(hessian)] += ridge
    lower = scipy.linalg.cholesky(hessian, lower=True)
    if ridge == 0 and np.ptp(np.log(np.diag(lower))) > _SINGULAR:
        raise np.linalg.LinAlgError("singular")
    inverse = scipy.linalg.solve_triangular(lower, np.eye(size), lower=True)
    dimension = size - ridge * float((inverse**2).sum())
    step = prior * scipy.linalg.cho_solve((lower, True), prior * gradient)
    half = lambda rows: (model.jacobian(rows) * prior) @ inverse.T
    spread = np.concatenate([own @ own.transpose(0, 2, 1) for own in map(half, batches(others, few))])
    return spread, dimension, _moved(model.jvp(step, x), f)


def _by_outputs(
    model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], task: Task, decay: float, others: np.ndarray,
    known: tuple[tuple[Factor, ...], tuple[Factor, ...]] | None,
) -> _Found:  # fmt: skip
    """Compute the spread, the dimension and the movement with a matrix of size n C.

    Let C be the number of outputs, n the number of training rows and ridge = n `decay`. Let J be the Jacobian of all n
    C outputs, and K = J J'. Let R be the square root of the block-diagonal matrix of all Lambda_i of the module
    docstring. Let A = R K R + ridge = L L' with the Cholesky factor L. Then the inverse of the Gauss-Newton curvature H
    is H^-1 = (1 - J' R A^-1 R J) / ridge.
    """
    prior, ridge = prior_of(model), len(x) * decay
    f, gradient = _gradient(model, x, y, task, ridge)
    (n, width), root = f.shape, roots(task.curvatures(f, y))
    rooted = lambda columns: (root @ columns.reshape(n, width, -1)).reshape(n * width, -1)
    flat = np.zeros((0, 0)) if known else (model.jacobian(x) * prior).reshape(n * width, -1)
    gram = gram_of(known[0]) if known else flat @ flat.T
    both = rooted(rooted(gram).T)
    both[np.diag_indices_from(both)] += ridge
    lower = scipy.linalg.cholesky(both, lower=True)
    inverse = scipy.linalg.solve_triangular(lower, np.eye(n * width), lower=True)
    dimension = n * width - ridge * float((inverse**2).sum())
    along = model.jvp(prior**2 * gradient, x).reshape(-1, 1)
    step = (along - gram @ rooted(scipy.linalg.cho_solve((lower, True), rooted(along)))) / ridge
    few = max(_BLOCK // (8 * len(model.theta) * width), 1)
    parts = []
    for start in range(0, len(others), few):
        part = slice(start, start + few)
        if known:
            new = tuple(own.rows(part) for own in known[1])
            cross = gram_of(known[0], new)
            squares = [(own.taken**2).sum(1)[:, None, None] * own.pushed @ own.pushed.transpose(0, 2, 1) for own in new]
            own = np.sum(squares, axis=0)
        else:
            jacobian = model.jacobian(others[part]) * prior
            own, cross = jacobian @ jacobian.transpose(0, 2, 1), flat @ jacobian.reshape(-1, flat.shape[1]).T
        half = (inverse @ rooted(cross)).T.reshape(len(own), width, -1)
        parts.append((own - half @ half.transpose(0, 2, 1)) / ridge)
    return np.concatenate(parts), dimension, _moved(step.reshape(f.shape), f)
