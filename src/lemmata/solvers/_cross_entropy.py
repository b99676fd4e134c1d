"""Training of a linearised network on cross-entropy with class labels."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from lemmata.core import require_float64
from lemmata.errors import DataError, SettingError, ShapeError

from ._checks import check_targets
from ._loss_flow import LossPath, loss_flow


def cross_entropy_flow(
    K: Float[Array, "n m"],
    labels: Shaped[Array, " rows"] | Shaped[np.ndarray, " rows"],
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
    *,
    classes: int | None = None,
    start: tuple[Float[Array, "n k"], Float[Array, "t k"] | None] | None = None,
    tolerance: float = 1e-8,
) -> LossPath:
    """Return the logits of the gradient flow df/dt = -K (softmax(f) - Y) on cross-entropy, with one-hot labels Y.

    The flow trains the linearisation of a network on the loss -sum_i log softmax(f_i)_{label i}. The network's tangent
    kernel K is equal for all outputs. `loss_flow` computes the flow, and its docstring explains the method. Along the
    flow, the loss falls at the rate tr (S - Y)^T K (S - Y) with S = softmax(f).

    Args:
        K: the tangent kernel's Gram matrix of the training points.
        labels: whole numbers from 0, one for each point. False and True count as 0 and 1.
        time: finite times t >= 0, in any order.
        cross: K(other points, training points).
        classes: the number of outputs; None means the largest label plus 1.
        start: f(0) at the training points and at the other points; None means 0.
        tolerance: the relative and absolute tolerance of the integrator.

    Raises:
        SettingError: for a time that is negative or not finite, a label out of range, fewer than two classes, or a
            tolerance outside (0, 1).
        ShapeError: if K is not symmetric up to rounding, or if K, labels, cross or start do not fit each other.
        DataError: for entries that are not finite, and for labels that are not whole numbers.
        NotPositiveDefiniteError: if K has an eigenvalue that is negative by more than rounding; the message states the
            smallest eigenvalue.
        SolverError: if the integrator needs too many steps.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import cross_entropy_flow
        >>> found = cross_entropy_flow(jnp.eye(2), jnp.array([0, 1]), [0.0, 1.0])
        >>> bool(found.loss[1] < found.loss[0])
        True
    """
    require_float64("cross-entropy training")
    n, times = len(K), np.atleast_1d(np.asarray(time, float))
    labels = _whole(labels, n)
    if times.ndim != 1 or times.size == 0 or not np.all((times >= 0) & np.isfinite(times)):
        raise SettingError("time", found=times.tolist(), rule="a list of finite numbers that are not negative")
    outputs = int(labels.max()) + 1 if classes is None else classes
    if int(labels.min()) < 0 or int(labels.max()) >= outputs or outputs < 2 or not 0 < tolerance < 1:
        found = f"labels from {int(labels.min())} to {int(labels.max())}, {outputs} classes, tolerance {tolerance}"
        raise SettingError(
            "labels, classes, tolerance",
            found=found,
            rule="labels from 0 to classes - 1, at least 2 classes, and a tolerance between 0 and 1",
        )
    if start is None:
        start = jnp.zeros((n, outputs)), None
    elif start[0].shape != (n, outputs):
        raise ShapeError("matrices start", found=f"shape {start[0].shape}", rule=f"shape ({n}, {outputs})")
    hot = jax.nn.one_hot(labels, outputs, dtype=float)
    return loss_flow(K, _cross_entropy, hot, times, cross, start=start, tolerance=tolerance)


def _whole(labels: Any, rows: int) -> Int[Array, " n"]:
    """Check the labels, and return them as whole numbers."""
    kind = np.asarray(labels).dtype.kind
    if kind not in "biuf":
        raise DataError(
            "labels",
            found=f"entries of type {np.asarray(labels).dtype}",
            rule="whole numbers that start at 0",
            remedy="convert them with numpy.unique(labels, return_inverse=True)[1]",
        )
    check_targets(labels, rows, "labels")
    if np.ndim(labels) != 1:
        raise ShapeError("labels", found=f"shape {np.shape(labels)}", rule=f"shape ({rows},), one label for each point")
    wrong = np.flatnonzero(np.asarray(labels) % 1 != 0) if kind == "f" else []
    if len(wrong):
        found = f"{np.asarray(labels)[wrong[0]]} at row {wrong[0]} (counted from 0)"
        raise DataError(
            "labels",
            found=found,
            rule="whole numbers that start at 0",
            remedy="convert them with numpy.unique(labels, return_inverse=True)[1]",
        )
    return jnp.asarray(labels).astype(int)


def _cross_entropy(f: Float[Array, "n k"], hot: Float[Array, "n k"]) -> Float[Array, ""]:
    return -jnp.sum(jax.nn.log_softmax(f) * hot)
