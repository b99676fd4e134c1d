"""Train kernel models on squared loss: a filter gives the fit along each eigenvector (mode) of the Gram matrix.

A filter phi(a, t) is a function of the eigenvalues a and the time t. The predictions at time t are K_cross U
diag(phi(a, t)) U^T y, for the eigenvectors U of the training Gram matrix and targets y.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.spectra import Spectrum

from ._checks import check_numbers, check_spectrum, check_targets

Filter = Callable[[Float[Array, " n"], Float[Array, ""]], Float[Array, " n"]]
"""A function phi(a, t) of the eigenvalue a and the time t. The outputs of the model are f(t) = K_cross phi(K, t) y."""

_ROUNDING = 16.0


class Trajectory(eqx.Module):
    """The predictions of a model at several times during its training.

    Args:
        time: the times (or numbers of steps).
        train: predictions at the training points, with the times along the first axis.
        test: predictions at other points, or None if their cross matrix was not given.
    """

    time: Float[Array, " s"]
    train: Float[Array, "s n *k"]
    test: Float[Array, "s t *k"] | None


def check_training(spectrum: Any, y, time, cross, name: str) -> np.ndarray:
    """Check the times, the eigensystem, and the shapes of targets and cross matrix; return the times as an array."""
    require_float64("training through time")
    check_spectrum(spectrum)
    times = np.atleast_1d(np.asarray(time, float))
    if times.ndim != 1 or times.size == 0 or not np.all(times >= 0):
        raise SettingError(name, found=times.tolist(), rule="a list of numbers that are not negative")
    n = len(spectrum.eigenvalues)
    check_targets(y, n)
    if cross is not None:
        if cross.shape[1] != n:
            raise ShapeError(
                "cross matrix", found=f"{cross.shape[1]} columns", rule=f"{n} columns, one for each training row"
            )
        check_numbers("cross matrix", cross)
    return times


def check_steps(learning_rate: float, counts: np.ndarray) -> None:
    """Refuse a learning rate that is not positive and numbers of steps that are not whole."""
    if not learning_rate > 0 or not np.all(np.isfinite(counts) & (counts == np.round(counts))):
        raise SettingError(
            "learning_rate and steps",
            found=f"learning_rate={learning_rate} and steps={counts.tolist()}",
            rule="a positive learning rate, and whole numbers of steps",
        )


def along(
    spectrum: Spectrum,
    y: Float[Array, "n *k"],
    known: np.ndarray,
    cross: Float[Array, "t n"] | None,
    path_filter: Filter,
) -> Trajectory:
    """Return the predictions at each time, at the training points and at other points.

    Args:
        spectrum: the eigensystem of the training Gram matrix.
        y: the targets.
        known: the times.
        cross: K(other points, training points).
        path_filter: the filter phi(a, t).
    """
    times, flat = jnp.asarray(known), y.reshape(len(y), -1)
    modes, filters = spectrum.eigenvectors.T @ flat, filters_at(spectrum, times, path_filter)
    train = jnp.einsum("ni,si,ik->snk", spectrum.eigenvectors, filters * spectrum.resolved, modes)
    test = None
    if cross is not None:
        test = jnp.einsum("ti,si,ik->stk", cross_modes(spectrum, cross), filters, modes)
        test = test.reshape(len(times), len(cross), *y.shape[1:])
    return Trajectory(times, train.reshape(len(times), *y.shape), test)


def filters_at(spectrum: Spectrum, times: Float[Array, " s"], path_filter: Filter) -> Float[Array, "s n"]:
    """Return the filters of all modes, one row for each time. A mode is an eigenvector.

    If an eigenvalue a cannot be distinguished from 0, it lies between 0 and the rounding error. The filter phi(0, t)
    then replaces phi(a, t), as long as phi(0, t) a <= 1 for every a in this range. At later times, it is unknown
    whether the mode has converged, and its filter is set to 0.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        times: the times at which the filters are computed.
        path_filter: the filter phi(a, t).
    """
    values = spectrum.resolved
    filters = jax.vmap(lambda t: path_filter(values, t))(times)
    return jnp.where((values > 0) | (filters * spectrum.floor <= 1), filters, 0.0)


def cross_modes(spectrum: Spectrum, cross: Float[Array, "t n"]) -> Float[Array, "t n"]:
    """Return K_cross U for the eigenvectors U of K, with exact zeros for products that are only rounding errors.

    A product of a row with a null mode, which is an eigenvector v with K v = 0, is a rounding error if it is at most 16
    n eps |row|. If K v = 0, then K_cross v = 0. Without the exact zeros, a long time would amplify the rounding error.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        cross: K(other points, training points).
    """
    parts = cross @ spectrum.eigenvectors
    rounding = _ROUNDING * cross.shape[1] * jnp.finfo(parts.dtype).eps * jnp.linalg.norm(cross, axis=1)
    return jnp.where((spectrum.resolved > 0) | (jnp.abs(parts) > rounding[:, None]), parts, 0.0)


def flow_filter(values: Float[Array, " n"], time: Float[Array, ""]) -> Float[Array, " n"]:
    """Return the filter of gradient flow: (1 - exp(-a t)) / a, or t if a = 0."""
    positive = values > 0
    safe = jnp.where(positive, values, 1.0)
    return jnp.where(positive, -jnp.expm1(-safe * time) / safe, time)


def descent_filter(values: Float[Array, " n"], steps: Float[Array, ""], rate: float) -> Float[Array, " n"]:
    """Return the filter of gradient descent after s steps: (1 - (1 - rate a)^s) / a, or rate s if a = 0."""
    positive = values > 0
    safe = jnp.where(positive, values, 1.0)
    slow = rate * safe < 0.5  # 1 - (1 - x)^s loses digits for small x
    careful = -jnp.expm1(steps * jnp.log1p(-jnp.where(slow, rate * safe, 0.0)))
    sign = jnp.where((rate * safe > 1) & (steps % 2 == 1), -1.0, 1.0)
    plain = 1 - sign * jnp.abs(1 - rate * safe) ** steps
    return jnp.where(positive, jnp.where(slow, careful, plain) / safe, rate * steps)
