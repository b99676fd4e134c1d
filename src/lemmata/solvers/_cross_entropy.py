"""Cross-entropy training of a linearised network, by an ordinary differential equation."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from lemmata.core import require_float64
from lemmata.errors import DataError, SettingError, ShapeError, SolverError

from ._checks import check_numbers, check_targets
from ._integration import MOST_STEPS, integrate
from ._modes import Trajectory
from ._ridge import require_positive_semidefinite


class Logits(eqx.Module):
    """Logits through cross-entropy training, and what the integration cost.

    Args:
        path: logits at the training points and the others.
        loss: the sum over training points of the cross-entropy, one a time.
        steps: steps of the integrator, rejected ones included.
    """

    path: Trajectory
    loss: Float[Array, " s"]
    steps: int = eqx.field(static=True)


def cross_entropy_flow(
    K: Float[Array, "n m"],
    labels: Shaped[Array, " rows"] | Shaped[np.ndarray, " rows"],
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
    *,
    classes: int | None = None,
    start: tuple[Float[Array, "n k"], Float[Array, "t k"] | None] | None = None,
    tolerance: float = 1e-8,
) -> Logits:
    """Logits of the gradient flow df/dt = -K (softmax(f) - Y) of the summed cross-entropy, with Y one-hot labels.

    It trains the linearisation of a network with tangent kernel K (the same for each output) on -sum_i log
    softmax(f_i)_{label i}. Along it the loss falls at the rate tr (S - Y)^T K (S - Y) with S = softmax(f). The path is
    written f = f(0) - K B, with dB/dt = softmax(f) - Y, so that the logits elsewhere, f(0) - K_cross B, need no inverse
    of K and no equation of their own. The integrator (Tsitouras 5/4, or Kvaerno 5/4 where K is so large that explicit
    steps would be more than 10^4) keeps the local error of the logits below the tolerance.

    Args:
        K: the Gram matrix of the training points.
        labels: whole numbers from 0, one a point; False and True are 0 and 1.
        time: finite times t >= 0, in any order.
        cross: K(other points, training points).
        classes: how many outputs; None means as many as the labels show.
        start: f(0) at the training points and the others; None means 0.
        tolerance: of the integrator, relative and absolute.

    Raises:
        SettingError: for a time that is negative or not finite, a label out of range, a tolerance not in (0, 1).
        ShapeError: where K is not symmetric to rounding, or K, labels, cross or start do not fit each other.
        DataError: for NaN, and for labels that are no whole numbers.
        NotPositiveDefiniteError: where K has an eigenvalue below its rounding floor; names the smallest one.
        SolverError: where the integrator needs too many steps.
        PrecisionError: without float64.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import cross_entropy_flow
        >>> found = cross_entropy_flow(jnp.eye(2), jnp.array([0, 1]), [0.0, 1.0])
        >>> bool(found.loss[1] < found.loss[0])
        True
    """
    require_float64("cross-entropy training")
    require_positive_semidefinite(K, "K")
    n, times = len(K), np.atleast_1d(np.asarray(time, float))
    labels = _whole(labels, n)
    if times.ndim != 1 or times.size == 0 or not np.all((times >= 0) & np.isfinite(times)):
        raise SettingError("time", found=times.tolist(), rule="a list of finite numbers, each at least 0")
    outputs = int(labels.max()) + 1 if classes is None else classes
    if int(labels.min()) < 0 or int(labels.max()) >= outputs or outputs < 2 or not 0 < tolerance < 1:
        found = f"{int(labels.min())}..{int(labels.max())}, {outputs} classes, tolerance {tolerance}"
        raise SettingError("labels, classes, tolerance", found=found, rule="in 0..classes - 1, at least 2, in (0, 1)")
    cross = jnp.zeros((0, n)) if cross is None else cross
    first, other = (jnp.zeros((n, outputs)), jnp.zeros((len(cross), outputs))) if start is None else start
    other = jnp.zeros((len(cross), outputs)) if other is None else other
    if cross.shape[1] != n or first.shape != (n, outputs) or other.shape != (len(cross), outputs):
        found = f"K {K.shape}, cross {cross.shape}, start {first.shape} and {other.shape}"
        raise ShapeError("matrices", found=found, rule=f"(n, n), (t, n), (n, {outputs}) and (t, {outputs})")
    for name, part in (("cross", cross), ("start", first), ("start elsewhere", other)):
        if part.size:
            check_numbers(name, part)
    order = np.argsort(times)
    ordered, wanted = jnp.asarray(times[order]), jnp.asarray(tolerance)
    hot, stiff = jax.nn.one_hot(labels, outputs, dtype=first.dtype), _is_stiff(K, times)
    moved, steps, finished = integrate(K, _gap, hot, first, ordered, wanted, stiff=stiff, most=10 * MOST_STEPS)
    if not bool(finished):
        raise SolverError(
            "cross-entropy flow",
            found=f"time {times.max():g} not reached in {int(steps)} steps",
            rule=f"an error of {tolerance:g} a step",
            remedy="a larger tolerance or a shorter time",
        )
    moved = moved[np.argsort(order)]
    train, test = first - jnp.einsum("ij,sjk->sik", K, moved), other - jnp.einsum("tj,sjk->stk", cross, moved)
    loss = -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(train), labels[None, :, None], axis=2), axis=(1, 2))
    path = Trajectory(jnp.asarray(times), train, test if len(cross) else None)
    return Logits(path, loss, int(steps))


def _whole(labels: Any, rows: int) -> Int[Array, " n"]:
    """The labels as whole numbers."""
    kind = np.asarray(labels).dtype.kind
    if kind not in "biuf":
        raise DataError(
            "labels",
            found=f"entries of type {np.asarray(labels).dtype}",
            rule="whole numbers from 0",
            remedy="numpy.unique(labels, return_inverse=True)[1]",
        )
    check_targets(labels, rows, "labels")
    if np.ndim(labels) != 1:
        raise ShapeError("labels", found=f"shape {np.shape(labels)}", rule=f"({rows},), one number a point")
    wrong = np.flatnonzero(np.asarray(labels) % 1 != 0) if kind == "f" else []
    if len(wrong):
        found = f"{np.asarray(labels)[wrong[0]]} at row {wrong[0]} (counted from 0)"
        raise DataError("labels", found=found, rule="whole numbers from 0")
    return jnp.asarray(labels).astype(int)


def _is_stiff(K: Float[Array, "n n"], times: np.ndarray) -> bool:
    """Whether explicit steps, no longer than about 3 / (largest rate), would be too many.

    The Jacobian K (diag s - s s^T) has rates up to |K| / 2, and |K| is at most its largest row sum; explicit steps of
    order five are stable up to a product of about 3 with the rate.
    """
    rate = float(jnp.max(jnp.sum(jnp.abs(K), axis=1))) / 2
    return bool(times.max() * rate / 3 > MOST_STEPS)


def _gap(logits: Float[Array, "n k"], hot: Float[Array, "n k"]) -> Float[Array, "n k"]:
    return jax.nn.softmax(logits) - hot
