"""Train a linearised network on any smooth loss, by a flow of its outputs instead of its parameters."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.answers import inside, positive
from lemmata.core import array_argument, array_of, numbers_of, require_float64
from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.spectra import spectrum

from ._checks import check_numbers, check_targets, paired
from ._loss_limit import OutputLoss
from ._loss_modes import OutputModes, trained
from ._modes import Trajectory, cross_modes
from ._ridge import require_positive_semidefinite


class LossPath(eqx.Module):
    """The outputs during training on a loss, and the cost of the integration.

    Args:
        path: the outputs at the training points and the other points.
        loss: the value of the loss at the training points, one for each time.
        error: for each time, an estimate of the error of the method. The estimate is the largest difference between an
            output and the same output integrated at ten times the tolerance. A difference below the tolerance has no
            meaning. At t = inf, `error` is the largest change of an output in the last step of Newton's method.
        steps: the number of steps of the integrator, including rejected steps, and of Newton's method.
    """

    path: Trajectory
    loss: Float[Array, " s"]
    error: Float[Array, " s"]
    steps: int = eqx.field(static=True)


def loss_flow(
    K: Any,
    loss: Callable[[Any, Any], Any],
    y: Any,
    time: Any,
    cross: Any = None,
    *,
    start: Any = None,
    damping: Any = None,
    tolerance: Any = 1e-8,
) -> LossPath:
    """Return the outputs of the flow df/dt = -K grad_f loss(f, y), for any smooth loss of outputs at training points.

    The flow trains the linearisation of a network with tangent kernel K. At other points, df_*/dt = -K_cross grad_f
    loss. With `damping`, the flow has momentum: f'' + damping f' = -K grad_f loss, f'(0) = 0. The heavy ball with
    learning rate h² and momentum 1 - damping h follows this flow to first order in h. If a loss is a mean of n terms,
    its gradient is 1/n of the gradient of the sum. So the flow on the mean passes through the same outputs as the flow
    on the sum, but takes n times the time t.

    The equation is integrated in coordinates along the eigenvectors of K. The coordinates are scaled: if a coordinate
    changes by 1, no output changes by more than 1. Explicit steps (Tsitouras 5/4) are used first. If more than 10^4
    explicit steps are needed, implicit steps are used (Kvaerno 5/4, which solve systems of equations for all outputs).
    The error of each step is kept below the tolerance; `error` estimates the total error. At t = inf, the outputs have
    the least loss in f(0) + range K. Newton's method finds these outputs if the Hessian of the loss is positive
    definite. As in `gradient_flow`, eigenvectors that cannot be distinguished from null vectors are included as long as
    t times the rounding error is at most 1.

    Args:
        K: the Gram matrix (n, n) of the training points if it is equal for all outputs. Otherwise, K is the Gram matrix
            (n, n, k, k) of all pairs of outputs, as returned by `EmpiricalKernel.gram`.
        loss: the function loss(f, y), which returns one number and is differentiable by JAX. f are the outputs at all
            training points.
        y: the targets, an array of numbers with one row for each point.
        time: times t >= 0, in any order.
        cross: K(other points, training points).
        start: a pair, f(0) at the training points and at the other points; None means 0, in the shape of y.
        damping: a positive number for the flow with momentum.
        tolerance: the relative and absolute tolerance of the integrator.

    Raises:
        SettingError: for a negative time, a damping that is not a positive number, a tolerance that is not a number
            between 0 and 1, a start that is not a pair, or a loss that does not return a real number. This error is
            also raised for t = inf if the Hessian is not positive definite or no minimum is found.
        ShapeError: if K is not symmetric up to rounding; if K, y, cross or start do not fit each other; if the loss
            cannot be computed or is not one number.
        DataError: for entries that are not finite, or if the loss or its gradient is not finite at the start.
        NotPositiveDefiniteError: if K has an eigenvalue that is negative by more than rounding; the message states the
            smallest eigenvalue.
        SolverError: if the integrator needs too many steps, or the loss is not finite at the solution.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import loss_flow
        >>> quartic = lambda f, y: jnp.sum((f - y) ** 2 + (f - y) ** 4)
        >>> found = loss_flow(jnp.eye(2), quartic, jnp.array([0.0, 3.0]), [0.0, 1.0, float("inf")])
        >>> bool(found.loss[1] < found.loss[0]), found.path.train[2].round(6).tolist()
        (True, [0.0, 3.0])
    """
    require_float64("training under a loss")
    K = array_argument("K", K, axes=(2, 4))
    cross = None if cross is None else array_argument("cross", cross, axes=(2, 4))
    y = y if isinstance(y, jax.Array) else jnp.asarray(numbers_of("targets y", y))
    start = None if start is None else _both(start)
    times = np.atleast_1d(array_of("time", time))
    if times.dtype.kind not in "fiu":
        raise SettingError("time", found=times.tolist(), rule="a list of numbers that are not negative")
    times = times.astype(float)
    if times.ndim != 1 or times.size == 0 or not np.all(times >= 0):
        raise SettingError("time", found=times.tolist(), rule="a list of numbers that are not negative")
    tolerance = inside("tolerance", tolerance, 0.0, 1.0)
    damping = None if damping is None else positive("damping", damping)
    check_targets(y, len(K), "targets y")
    first, other = _starts(K, y, cross, start)
    goal = jnp.asarray(y)
    gradient = _output_loss(loss, first, goal)
    require_positive_semidefinite(paired(K), "K")
    found = spectrum(paired(K))
    parts = jnp.zeros((0, len(found.eigenvalues))) if cross is None else cross_modes(found, paired(cross))
    modes = OutputModes(found.eigenvectors, found.resolved, found.floor, parts)
    moved, error, steps = trained(
        modes, gradient, first.reshape(len(parts.T), -1), goal, times, float(tolerance), damping
    )
    left, right = modes.outputs(moved)
    train = first - left.reshape(len(times), *first.shape)
    test = None if other is None else other - right.reshape(len(times), *other.shape)
    values = _values(gradient, train, goal)
    if not bool(jnp.all(jnp.isfinite(values))):
        raise SolverError(
            "flow under the loss",
            found=f"losses {values.tolist()}",
            rule="finite losses at all times",
            remedy="use a loss that is finite at all outputs, or shorter times",
        )
    return LossPath(Trajectory(jnp.asarray(times), train, test), values, error, steps)


def _both(start: Any) -> tuple[Array, Array | None]:
    """Return the outputs at t = 0 at training points and other points as arrays; refuse anything but such a pair."""
    if not isinstance(start, tuple | list) or len(start) != 2:
        raise SettingError(
            "start",
            found=f"a {type(start).__name__}"
            + (f" of {len(start)} entries" if isinstance(start, tuple | list) else ""),
            rule="a pair: the outputs at the training points, and the outputs at the other points or None",
            remedy="pass start=(outputs, None) without other points, or None to start at 0",
        )
    here, there = start
    return array_argument("start", here), None if there is None else array_argument("start elsewhere", there)


def _starts(K: Array, y: Any, cross: Array | None, start: Any) -> tuple[Array, Array | None]:
    """Return the outputs at t = 0, at training points and other points. Refuse outputs that do not fit the kernels."""
    first, other = (jnp.zeros(np.shape(y)), None) if start is None else start
    for name, part in (("cross", cross), ("start", first), ("start elsewhere", other)):
        if part is not None:
            check_numbers(name, part)
    first = jnp.asarray(first, float)
    n, outputs = len(K), first.shape[1:]
    pairs = () if K.ndim == 2 else (math.prod(outputs), math.prod(outputs))
    shapes = [np.shape(part) for part in (K, cross, first, other) if part is not None]
    expected = [(n, n, *pairs), (n, *outputs)]
    if cross is not None:
        other = jnp.zeros((len(cross), *outputs)) if other is None else jnp.asarray(other, float)
        shapes, expected = (
            [K.shape, cross.shape, first.shape, other.shape],
            [(n, n, *pairs), (len(cross), n, *pairs), (n, *outputs), (len(cross), *outputs)],
        )
    if shapes != expected:
        names = "K, start" if cross is None else "K, cross, start, start elsewhere"
        raise ShapeError(f"matrices {names}", found=f"shapes {shapes}", rule=f"shapes {expected}")
    return first, other


def _output_loss(loss: Any, first: Array, y: Array) -> OutputLoss:
    """Return the loss with its gradient. Refuse a loss whose value or gradient is not real and finite at the start."""
    try:
        found = jax.eval_shape(loss, first, y)
    except Exception as error:  # any error of a user's function
        words = str(error).partition("\n")[0]
        given = f"outputs of shape {first.shape} and targets of shape {y.shape}"
        raise ShapeError(
            "loss",
            found=given,
            rule="a function for which loss(f, y) can be computed",
            remedy=f"correct the loss; it raised {words}",
        ) from error
    if jax.tree.structure(found) != jax.tree.structure(0.0):
        kind = "None" if found is None else f"a {type(found).__name__}"
        raise SettingError(
            "loss",
            found=kind,
            rule="a function that returns one number",
            remedy="let the loss return its value, for example 0.5 * jnp.sum((f - y) ** 2)",
        )
    shape, kind = found.shape, found.dtype
    if shape != ():
        rule = "a single number, the loss of the outputs at all points together"
        raise ShapeError("loss", found=f"shape {shape}", rule=rule, remedy="sum over the points with jnp.sum")
    if not jnp.issubdtype(kind, jnp.floating):
        raise SettingError("loss", found=f"values of type {kind}", rule="a real floating-point number")
    value, slope = jax.value_and_grad(loss)(first, y)
    if not (bool(jnp.isfinite(value)) and bool(jnp.all(jnp.isfinite(slope)))):
        found = f"a loss of {float(value):g} at the start, with a gradient of norm {float(jnp.linalg.norm(slope)):g}"
        raise DataError("loss", found=found, rule="a finite value with a finite gradient")
    return OutputLoss(loss, first.shape)


@eqx.filter_jit
def _values(loss: OutputLoss, train: Float[Array, "s n *k"], y: Array) -> Float[Array, " s"]:
    return jax.lax.map(lambda f: loss.value(f, y), train)
