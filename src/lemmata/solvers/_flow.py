"""Predictions at any time of training, in closed form: kernel gradient flow and gradient descent on squared loss."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float

from lemmata.spectra import Spectrum

from ._modes import Trajectory, along, check_steps, check_training, descent_filter, flow_filter


def gradient_flow(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
) -> Trajectory:
    """Return the predictions of kernel gradient flow df/dt = -K (f - y) from f(0) = 0.

    On the training points, f(t) = (I - exp(-K t)) y. At other points, f(t) = K_cross K^-1 (I - exp(-K t)) y. All values
    are computed from the eigensystem of K. An eigenvalue a contributes the factor (1 - exp(-a t)) / a, whose limit t is
    used at a = 0. The loss is 1/2 sum |f - y|² (a sum over rows, not a mean). time = inf gives the minimum-norm
    interpolant. Eigenvectors whose eigenvalue cannot be distinguished from zero contribute as long as t times the
    rounding error is at most 1. At larger times, their contribution is unknown and is left out, as at inf.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row for each point.
        time: the times t >= 0.
        cross: K(other points, training points).

    Raises:
        SettingError: for a negative time, or a matrix in place of its eigensystem.
        ShapeError: if the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import gradient_flow
        >>> from lemmata.spectra import spectrum
        >>> path = gradient_flow(spectrum(jnp.eye(1)), jnp.ones(1), [0.0, float("inf")])
        >>> path.train.tolist()
        [[0.0], [1.0]]
    """
    times = check_training(spectrum, y, time, cross, "time")
    return along(spectrum, y, times, cross, flow_filter)


def gradient_descent(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    learning_rate: float,
    steps: int | Sequence[int] | np.ndarray,
    cross: Float[Array, "t columns"] | None = None,
) -> Trajectory:
    """Return the predictions after gradient descent f_{s+1} = f_s - learning_rate K (f_s - y) from f_0 = 0.

    Each step is gradient descent on the loss 1/2 sum |f - y|². On the training points, f_s = (I - (I - learning_rate
    K)^s) y. The method converges if learning_rate < 2 / a_1, where a_1 is the largest eigenvalue of K. For a larger
    rate, the result grows without bound with the number of steps, as gradient descent does.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row for each point.
        learning_rate: the learning rate, above 0.
        steps: the numbers of steps, each a whole number of at least 0.
        cross: K(other points, training points).

    Raises:
        SettingError: for a number of steps that is negative or not whole, for a learning rate that is not positive, or
            for a matrix in place of its eigensystem.
        ShapeError: if the rows of y or the columns of cross do not fit the spectrum.
        PrecisionError: if float64 is off.
    """
    counts = check_training(spectrum, y, steps, cross, "steps")
    check_steps(learning_rate, counts)
    return along(spectrum, y, counts, cross, lambda a, s: descent_filter(a, s, learning_rate))
