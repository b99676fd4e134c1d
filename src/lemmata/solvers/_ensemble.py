"""The distribution of the outputs of infinitely wide networks at any time of their training."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError
from lemmata.spectra import Spectrum

from ._checks import check_numbers
from ._modes import (
    Filter,
    Trajectory,
    along,
    check_steps,
    check_training,
    cross_modes,
    descent_filter,
    filters_at,
    flow_filter,
)
from ._ridge import require_positive_semidefinite


class OtherPoints(eqx.Module):
    """The kernels of the other points, at which an ensemble is evaluated.

    Args:
        tangent: the tangent kernel Theta(other points, training points).
        nngp: the covariance K(other points, training points) of the outputs of untrained networks.
        prior: the covariance K(other points, other points) of untrained networks, or its diagonal for variances only.
    """

    tangent: Float[Array, "t n"]
    nngp: Float[Array, "rows columns"]
    prior: Float[Array, "points *others"]


class Ensemble(eqx.Module):
    """The normal distribution of the outputs of networks during training.

    If there are several output columns, they are independent of each other.

    Args:
        mean: the mean over initialisations, at the training points and the other points.
        train: the covariance of one output at the training points. The first axis is time.
        test: the covariance at the other points at each time, or only its diagonal; None if no other points were given.
    """

    mean: Trajectory
    train: Float[Array, "s n n"]
    test: Float[Array, "s t *others"] | None

    @property
    def time(self) -> Float[Array, " s"]:
        """The times, or the numbers of steps."""
        return self.mean.time


def gradient_flow_ensemble(
    tangent: Spectrum,
    nngp: Float[Array, "n m"],
    y: Float[Array, "rows *k"],
    time: float | Sequence[float] | Float[Array, " s"] | np.ndarray,
    others: OtherPoints | None = None,
) -> Ensemble:
    """The distribution of randomly initialised, infinitely wide networks under gradient flow on 1/2 sum |f - y|².

    The output f satisfies df/dt = -Theta (f - y), from f(0) ~ N(0, K). Here, K is the NNGP kernel and Theta is the
    tangent kernel (Lee et al., 2019). K_* and Theta_* are these kernels between other points and training points, and
    K_** is the NNGP kernel of the other points. Let S = I - exp(-Theta t) and A = Theta_* Theta^-1 S. At every time,
    the output is normal with

        mean S y and covariance (I - S) K (I - S) at the training points, mean A y and covariance K_** + A K A^T - A
        K_*^T - K_* A^T at other points.

    At t = 0, this is the distribution of untrained networks. At t = inf, this is the distribution of interpolating
    networks, which is not the posterior of any prior.

    Args:
        tangent: the eigensystem of Theta on the training points.
        nngp: the matrix K on the training points.
        y: targets, one row for each point.
        time: the times t >= 0.
        others: the kernels of other points.

    Raises:
        SettingError: for a negative time, or a matrix in place of its eigensystem.
        NotPositiveDefiniteError: if nngp has an eigenvalue that is negative by more than rounding; the message states
            the smallest eigenvalue.
        ShapeError: if the matrices or y do not fit each other.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import gradient_flow_ensemble
        >>> from lemmata.spectra import spectrum
        >>> found = gradient_flow_ensemble(spectrum(jnp.eye(1)), 4 * jnp.eye(1), jnp.ones(1), [0.0, float("inf")])
        >>> found.mean.train.tolist(), found.train.tolist()
        ([[0.0], [1.0]], [[[4.0]], [[0.0]]])
    """
    times = check_training(tangent, y, time, _tangent_of(others), "time")
    return _ensemble(tangent, nngp, y, times, others, flow_filter)


def gradient_descent_ensemble(
    tangent: Spectrum,
    nngp: Float[Array, "n m"],
    y: Float[Array, "rows *k"],
    learning_rate: float,
    steps: int | Sequence[int] | np.ndarray,
    others: OtherPoints | None = None,
) -> Ensemble:
    """The distribution of randomly initialised, infinitely wide networks under gradient descent on 1/2 sum |f - y|².

    The formulas are those of `gradient_flow_ensemble`, with the tangent kernel Theta and S = I - (I - learning_rate
    Theta)^steps.

    Args:
        tangent: the eigensystem of Theta on the training points.
        nngp: the matrix K on the training points.
        y: targets, one row for each point.
        learning_rate: the learning rate, above 0.
        steps: the numbers of steps, each a whole number of at least 0.
        others: the kernels of other points.

    Raises:
        SettingError: for a number of steps that is negative or not whole, for a learning rate that is not positive, or
            for a matrix in place of its eigensystem.
        NotPositiveDefiniteError: if nngp has an eigenvalue that is negative by more than rounding; the message states
            the smallest eigenvalue.
        ShapeError: if the matrices or y do not fit each other.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.
    """
    counts = check_training(tangent, y, steps, _tangent_of(others), "steps")
    check_steps(learning_rate, counts)
    return _ensemble(tangent, nngp, y, counts, others, lambda a, s: descent_filter(a, s, learning_rate))


def _tangent_of(others: Any) -> Float[Array, "t n"] | None:
    """Return the tangent kernel of the other points, or None if there are no other points."""
    if not (others is None or isinstance(others, OtherPoints)):
        raise SettingError(
            "others",
            found=f"a {type(others).__name__}",
            rule="OtherPoints or None",
            remedy="pass OtherPoints(tangent, nngp, prior)",
        )
    return None if others is None else others.tangent


def _ensemble(tangent, nngp, y, times, others: OtherPoints | None, path_filter: Filter) -> Ensemble:
    n = len(tangent.eigenvalues)
    if nngp.shape != (n, n):
        raise ShapeError("nngp", found=f"shape {nngp.shape}", rule=f"shape ({n}, {n}), the shape of the tangent kernel")
    require_positive_semidefinite(nngp, "nngp")
    mean = along(tangent, y, times, _tangent_of(others), path_filter)
    vectors, known = tangent.eigenvectors, jnp.asarray(times)
    filters = filters_at(tangent, known, path_filter)
    inside = vectors.T @ nngp @ vectors
    left = 1 - filters * tangent.resolved
    train = jax.lax.map(lambda kept: vectors @ (kept[:, None] * inside * kept) @ vectors.T, left)
    if others is None:
        return Ensemble(mean, train, None)
    if others.nngp.shape != others.tangent.shape or len(others.prior) != len(others.tangent):
        found = f"tangent {others.tangent.shape}, nngp {others.nngp.shape}, prior {others.prior.shape}"
        raise ShapeError(
            "kernels of the other points",
            found=found,
            rule=f"shapes (t, {n}) for tangent, (t, {n}) for nngp, and (t, t) or (t,) for prior",
        )
    check_numbers("nngp of the other points", others.nngp)
    check_numbers("prior of the other points", others.prior)
    parts, start = cross_modes(tangent, others.tangent), others.nngp @ vectors
    return Ensemble(mean, train, jax.lax.map(lambda phi: _moved(parts * phi, start, inside, others.prior), filters))


def _moved(
    weights: Float[Array, "t n"],
    start: Float[Array, "t n"],
    inside: Float[Array, "n n"],
    prior: Float[Array, "t *others"],
) -> Float[Array, "t *others"]:
    """Return K_** + A K A^T - A K_*^T - K_* A^T, with A, K_* and K in the eigenbasis of the tangent kernel.

    A, K_* and K are the arguments `weights`, `start` and `inside`, and `prior` is K_**. If `prior` is a diagonal, only
    the diagonal is returned.
    """
    pulled = weights @ inside
    if prior.ndim == 1:
        return jnp.maximum(prior + jnp.sum((pulled - 2 * start) * weights, axis=1), 0.0)
    mixed = weights @ start.T
    return prior + pulled @ weights.T - mixed - mixed.T
