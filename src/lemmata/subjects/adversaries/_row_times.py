"""Kernel flows under attack: learn a stopping time for each training row on attacked validation rows."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_numbers, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel, gram
from lemmata.solvers import row_time_coefficients

from ._projected_gradient import projected_gradient

_GRID = 25  # number of common times, log-spaced between the two limits below
_FIRST, _LAST = 1e-3, 1e3  # from 1e-3 / trace, when nothing has been learned, to 1e3 / mean eigenvalue
_LONGEST = 1e6  # upper limit of a learned time, in units of 1 / mean eigenvalue


class RowTimes(eqx.Module):
    """A kernel flow with a stopping time for each row.

    Args:
        times: the stopping time of each row.
        coefficients: the coefficients c in f(x) = K(x, X) c, with the training rows X.
        common_time: the start of the search: the time in `grid` with the smallest loss.
        grid: the common times that were tried. A common time is one stopping time for all rows.
        grid_losses: the losses of these times on attacked validation rows.
        losses: the losses along the search, beginning with the loss of the common time. The `times` belong to the
            smallest loss.
    """

    times: Float[Array, " n"]
    coefficients: Float[Array, "n *k"]
    common_time: Float[Array, ""]
    grid: Float[Array, " g"]
    grid_losses: Float[Array, " g"]
    losses: Float[Array, " s"]


def learn_row_times(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "targets ..."],
    x_val: Float[Array, "m columns"],
    y_val: Float[Array, "others ..."],
    radius: float | Float[Array, ""],
    *,
    steps: int = 50,
    learning_rate: float = 0.1,
    attack_steps: int = 10,
    norm: str = "linf",
    box: tuple[float, float] = (-np.inf, np.inf),
) -> RowTimes:
    """Learn a stopping time for each training row, on attacked validation rows (the method Adv-NTK).

    On squared loss, the gradient flow of a wide network with attacked rows is a flow without attack in which each row i
    has a weight. This flow ends at f(x) = K(x, X) K^-1 (I - exp(-K Xi)) y with Xi = diag(times)
    (`lemmata.solvers.row_time_coefficients`), where X are the training rows and K is the kernel matrix. Adv-NTK does
    not compute the times from an attack, but learns the times directly. Each step first attacks the validation rows at
    the current f (`projected_gradient` on the squared loss). Then the step computes the gradient of

        mean over validation rows of |f(attacked x) - y|² / 2

    with respect to the logarithms of the times, with fixed attacked rows. The logarithms change by `learning_rate` in
    root mean square, against the gradient. This function differs from the public code in several ways. The search
    begins at the best common time out of 25. (In the public code, the times begin at 0, where the gradient of |time| is
    a convention.) The search uses logarithms, so the scale of the kernel does not matter. Each step uses all validation
    rows. The projection of the attack is correct. The function keeps the times of the smallest loss. Therefore, on the
    validation rows, the result is never worse than early stopping. With `steps=0`, the result is early stopping.

    Args:
        kernel: a kernel, for example the tangent kernel of a network.
        x: training rows.
        y: targets of the training rows, minus the network's outputs at the start of training.
        x_val: validation rows.
        y_val: targets of the validation rows.
        radius: the radius of the attack.
        steps: the number of steps of the search.
        learning_rate: the root mean square change of the logarithms of times in a step.
        attack_steps: the number of steps of each attack.
        norm: the norm of the attack, "linf" or "l2".
        box: the smallest and largest value of a coordinate.

    Raises:
        ShapeError: if targets do not fit rows, or validation rows do not fit training rows.
        SettingError: for a negative number of steps or a learning rate that is not positive, and for the same reasons
            as `projected_gradient`.
        DataError: for numbers that are not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import learn_row_times
        >>> from lemmata.kernels import RBF
        >>> x, y = jnp.array([[-1.0], [1.0]]), jnp.array([-1.0, 1.0])
        >>> fit = learn_row_times(RBF(1.0), x, y, 0.9 * x, y, 0.2, steps=2)
        >>> bool(fit.losses.min() <= (1 + 1e-9) * fit.grid_losses.min())
        True

    Reference: fu2024theoretical.
    """
    require_float64("learning the times of rows")
    _check(x, y, x_val, y_val, steps, learning_rate)
    return _search(kernel, x, y, x_val, y_val, radius, steps, learning_rate, attack_steps, norm, box)


@eqx.filter_jit
def _search(
    kernel: AbstractKernel,
    x: Array,
    y: Array,
    x_val: Array,
    y_val: Array,
    radius: float | Array,
    steps: int,
    rate: float,
    attack_steps: int,
    norm: str,
    box: tuple[float, float],
) -> RowTimes:
    K = gram(kernel, x)
    unit = len(x) / jnp.trace(K)
    losses = partial(_losses, kernel, x)

    def attacked_loss(times):
        c = row_time_coefficients(K, times, y)
        attack = lambda z: losses(c, z, y_val)
        attacked = projected_gradient(attack, x_val, radius, attack_steps, norm=norm, box=box)
        return losses(c, attacked, y_val).mean(), attacked

    def one(carry, _):
        logs, best, smallest = carry
        value, attacked = attacked_loss(jnp.exp(logs))
        best, smallest = jnp.where(value < smallest, logs, best), jnp.minimum(value, smallest)
        cross = kernel.cross(attacked, x)
        held = lambda own: _squares(cross @ row_time_coefficients(K, jnp.exp(own), y) - y_val).mean()
        slope = jax.grad(held)(logs)
        size = jnp.sqrt(jnp.mean(slope**2))
        moved = logs - rate * slope / jnp.where(size > 0, size, 1.0)
        return (jnp.minimum(moved, jnp.log(_LONGEST * unit)), best, smallest), value

    grid = unit * jnp.geomspace(_FIRST / len(x), _LAST, _GRID)
    tried = jax.lax.map(lambda time: attacked_loss(jnp.full(len(x), time))[0], grid)
    common = grid[jnp.argmin(tried)]
    start = jnp.full(len(x), jnp.log(common))
    (_, best, _), path = jax.lax.scan(one, (start, start, jnp.inf), None, length=steps + 1)
    times = jnp.exp(best)
    return RowTimes(times, row_time_coefficients(K, times, y), common, grid, tried, path)


def _squares(residuals: Float[Array, "m *k"]) -> Float[Array, " m"]:
    return (residuals.reshape(len(residuals), -1) ** 2).sum(axis=1) / 2


def _losses(kernel: AbstractKernel, x: Array, coefficients: Array, z: Array, targets: Array) -> Float[Array, " m"]:
    return _squares(kernel.cross(z, x) @ coefficients - targets)


def _check(x: Array, y: Array, x_val: Array, y_val: Array, steps: int, learning_rate: float) -> None:
    for name, rows, targets in (("training", x, y), ("validation", x_val, y_val)):
        check_numbers(f"{name} rows", rows)
        check_numbers(f"{name} targets", targets)
        if len(rows) == 0 or len(rows) != len(targets):
            found = f"{len(rows)} rows and {len(targets)} targets"
            raise ShapeError(f"{name} rows", found=found, rule="one target for each row, and at least one row")
    if x.shape[1:] != x_val.shape[1:] or y.shape[1:] != y_val.shape[1:]:
        found = f"inputs {x_val.shape[1:]} and targets {y_val.shape[1:]}"
        rule = f"inputs {x.shape[1:]} and targets {y.shape[1:]}, the shapes of the training rows"
        raise ShapeError("validation rows", found=found, rule=rule)
    if not (isinstance(steps, int) and steps >= 0):
        raise SettingError("steps", found=steps, rule="a whole number that is not negative")
    if not learning_rate > 0:
        raise SettingError("learning_rate", found=learning_rate, rule="a positive number")
