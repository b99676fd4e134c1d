"""Training through time in closed form: kernel gradient flow and gradient descent on squared loss."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.spectra import Spectrum


class Trajectory(eqx.Module):
    """Predictions through training.

    Args:
        time: the times (or numbers of steps).
        train: predictions at the training points, one leading entry a time.
        test: predictions at other points, where their cross matrix was given.
    """

    time: Float[Array, " s"]
    train: Float[Array, "s n *k"]
    test: Float[Array, "s t *k"] | None


def gradient_flow(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
) -> Trajectory:
    """Predictions of kernel gradient flow df/dt = -K (f - y) from f(0) = 0.

    On the training points f(t) = (I - exp(-K t)) y, elsewhere f(t) = K_cross K^-1 (I - exp(-K t)) y, both from the
    eigensystem with the limit (1 - exp(-a t)) / a -> t on null modes. It is the flow of the loss 1/2 sum |f - y|² (a
    sum over rows, not a mean). time = inf gives the minimum-norm interpolant.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row a point.
        time: times t >= 0.
        cross: K(other points, training points).

    Raises:
        SettingError: for a negative time.
        ShapeError: where the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: without float64.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import gradient_flow
        >>> from lemmata.spectra import spectrum
        >>> path = gradient_flow(spectrum(jnp.eye(1)), jnp.ones(1), [0.0, float("inf")])
        >>> path.train.tolist()
        [[0.0], [1.0]]
    """
    times = _check(spectrum, y, time, cross, "time")
    return _along(spectrum, y, times, cross, _flow_filter)


def gradient_descent(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    learning_rate: float,
    steps: int | Sequence[int] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
) -> Trajectory:
    """Predictions after gradient descent f_{s+1} = f_s - learning_rate K (f_s - y) from f_0 = 0.

    On the training points f_s = (I - (I - learning_rate K)^s) y. It converges where learning_rate < 2 / a_1 and
    diverges, here as in the loop, where it is larger.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row a point.
        learning_rate: positive.
        steps: whole numbers of steps, at least 0.
        cross: K(other points, training points).

    Raises:
        SettingError: for a negative or fractional number of steps or a learning rate that is not positive.
        ShapeError: where the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: without float64.
    """
    counts = _check(spectrum, y, steps, cross, "steps")
    if not learning_rate > 0 or not np.all(np.isfinite(counts) & (counts == np.round(counts))):
        raise SettingError(
            "learning_rate and steps", found=f"{learning_rate} and {counts.tolist()}", rule="positive, whole numbers"
        )
    return _along(spectrum, y, counts, cross, lambda a, s: _descent_filter(a, s, learning_rate))


def _check(spectrum, y, time, cross, name: str) -> np.ndarray:
    require_float64("training through time")
    times = np.atleast_1d(np.asarray(time, float))
    if times.ndim != 1 or not np.all(times >= 0):
        raise SettingError(name, found=times.tolist(), rule="a list of numbers, each at least 0")
    n = len(spectrum.eigenvalues)
    if len(y) != n:
        raise ShapeError("targets", found=f"{len(y)} rows", rule=f"one row for each of the {n} rows of the spectrum")
    if cross is not None and cross.shape[1] != n:
        raise ShapeError("cross matrix", found=f"{cross.shape[1]} columns", rule=f"one for each of the {n} rows")
    return times


def _along(spectrum, y, known, cross, path_filter) -> Trajectory:
    times = jnp.asarray(known)
    shape, flat = y.shape[1:], y.reshape(len(y), -1)
    vectors, values = spectrum.eigenvectors, spectrum.resolved
    modes = vectors.T @ flat
    filters = jax.vmap(lambda t: path_filter(values, t))(times)
    train = jnp.einsum("ni,si,ik->snk", vectors, filters * values, modes)
    test = None
    if cross is not None:
        test = jnp.einsum("ti,si,ik->stk", cross @ vectors, filters, modes).reshape(len(times), len(cross), *shape)
    return Trajectory(times, train.reshape(len(times), *y.shape), test)


def _flow_filter(values: Float[Array, " n"], time: Float[Array, ""]) -> Float[Array, " n"]:
    """(1 - exp(-a t)) / a; on null modes t, or 0 at t = inf, where K_cross has no part in them."""
    positive = values > 0
    safe = jnp.where(positive, values, 1.0)
    return jnp.where(positive, -jnp.expm1(-safe * time) / safe, jnp.where(jnp.isinf(time), 0.0, time))


def _descent_filter(values: Float[Array, " n"], steps: Float[Array, ""], rate: float) -> Float[Array, " n"]:
    """(1 - (1 - rate a)^s) / a; on null modes rate s."""
    positive = values > 0
    safe = jnp.where(positive, values, 1.0)
    slow = rate * safe < 0.5  # 1 - (1 - x)^s cancels for small x
    careful = -jnp.expm1(steps * jnp.log1p(-jnp.where(slow, rate * safe, 0.0)))
    sign = jnp.where((rate * safe > 1) & (steps % 2 == 1), -1.0, 1.0)
    plain = 1 - sign * jnp.abs(1 - rate * safe) ** steps
    return jnp.where(positive, jnp.where(slow, careful, plain) / safe, rate * steps)
