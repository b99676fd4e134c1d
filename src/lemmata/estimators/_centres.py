"""Fit many rows by kernel regression in the span of K(., z) for some rows z, the centres, and estimate its cost."""

import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.errors import ApproximationWarning, InterpolationWarning, SettingError
from lemmata.kernels import AbstractKernel, gram, takes_numpy
from lemmata.solvers import CentredModes, Modes, centred_modes

from ._rows import MISSED, root_mean_square

# The number of rows up to which "auto" is exact. Beyond it, "auto" limits n p² for n rows and p centres, and the number
# of centres.
_EXACT, _WORK, _MOST = 10_000, 4e12, 3000
# The largest number of rows at which leave-one-out errors are computed. If at least the second number of rows are not
# centres, only such rows are used.
ASIDE, _FEW = 2000, 200
# The number of bytes of a block of a cross matrix in predictions.
_BLOCK = 2**27


def centres_for(setting: Any, rows: int) -> int | None:
    """The number of centres of a fit; None if the fit is exact.

    Args:
        setting: "auto", a number, or None.
        rows: the number of rows of the fit.

    Raises:
        SettingError: for another setting.
    """
    if setting is None:
        return None
    if isinstance(setting, str) and setting == "auto":
        return None if rows <= _EXACT else min(_MOST, max(1, int(math.sqrt(_WORK / rows))))
    if isinstance(setting, bool) or not isinstance(setting, int | np.integer) or int(setting) < 1:
        raise SettingError("centres", found=repr(setting), rule="'auto', a whole number above 0, or None (exact)")
    return int(setting) if int(setting) < rows else None


class OnCentres(NamedTuple):
    """A fit by kernel regression in the span of K(., z_j), where the centres z_j are some of the rows.

    Attributes:
        centres: the centres z, of shape (p, *shape).
        modes: the solution, in the eigenbasis of the problem on these centres.
        ridge: the ridge. If the fit is for a training time, this number has no meaning.
        weights: the factor by which the fit multiplies the targets' coefficient in each eigendirection (their moment).
        price: the least and the largest estimate of the share of its squared leave-one-out error that an exact fit on
            all rows would save.
    """

    centres: Float[np.ndarray, "p *shape"]
    modes: CentredModes
    ridge: float
    weights: Float[np.ndarray, " q"]
    price: tuple[float, float]

    @property
    def coefficients(self) -> Float[np.ndarray, "p k"]:
        """The coefficients alpha_j of the fit sum_j K(., z_j) alpha_j."""
        return self.modes.coefficients(self.weights)


def on_centres(
    kernel: AbstractKernel,
    points: Float[np.ndarray, "n *shape"],
    targets: Float[np.ndarray, "n k"],
    roots: Float[np.ndarray, " n"],
    count: int,
    ridges: Float[np.ndarray, " s"],
    time: float | None,
) -> OnCentres:
    """Fit with random rows as centres, with the ridge of least leave-one-out error or for a given training time.

    Args:
        kernel: the kernel, a pytree of NumPy or JAX arrays.
        points: the inputs of the rows.
        targets: the centred targets, times the square roots of the rows' weights.
        roots: the square roots of the rows' weights.
        count: the number of centres to draw. Equal centres count once.
        ridges: the ridges to choose from.
        time: the time of the gradient flow, in place of a ridge.
    """
    order = np.random.default_rng(0).permutation(len(points))
    chosen = _first_distinct(points, order, count)
    rest = order[~np.isin(order, chosen)]
    aside = np.sort((rest if len(rest) >= _FEW else order)[:ASIDE])
    centres = points[chosen]
    smallest = float(ridges.min()) if time is None else 1 / time if time else 0.0
    found = centred_modes(
        kernel,
        points,
        targets,
        centres,
        aside,
        roots=None if np.all(roots == 1.0) else roots,
        ridge=max(smallest, float(ridges.max()) * 1e-7) if len(ridges) > 1 else smallest,
    )
    size = np.asarray(root_mean_square(targets, np.ones(len(targets))))
    scale = np.where(size > 0, size, 1.0)
    tried = [_best(level, found.targets, scale, ridges, time) for level in found.levels]
    ridge, weights, _ = tried[-1]
    errors = [squares for _, _, squares in tried]
    doublings = math.log2(len(points) / len(centres))
    return OnCentres(centres, found, ridge, weights, _price(errors, doublings))


def _best(
    level: Modes, targets: np.ndarray, scale: Any, ridges: np.ndarray, time: float | None
) -> tuple[float, np.ndarray, np.ndarray]:
    """The ridge of least leave-one-out error, its factors `weights` (see `OnCentres`), and its squared errors."""
    each = [level.filtered(float(ridge), time) for ridge in ridges]
    squares = [np.sum((level.left_out(targets, weights) / scale) ** 2, axis=1) for weights in each]
    best = int(np.argmin([np.mean(square) for square in squares]))
    return float(ridges[best]), each[best], squares[best]


def _first_distinct(points: np.ndarray, order: np.ndarray, count: int) -> Int[np.ndarray, " p"]:
    """The first `count` different points in a given order; fewer if there are not enough different points."""
    taken = count
    while True:
        drawn = points[order[:taken]].reshape(min(taken, len(order)), -1)
        first = np.sort(np.unique(drawn, axis=0, return_index=True)[1])
        if len(first) >= count or taken >= len(order):
            return order[first[:count]]
        taken *= 2


def _price(errors: list[np.ndarray], doublings: float) -> tuple[float, float]:
    """The least and the largest estimate of the share of the mean error that would be saved with all rows as centres.

    Let d be the error that the last doubling of the number of centres saved, and c the error that the doubling before
    the last one saved. For the upper estimate, each further doubling saves the larger of d and the standard error of d.
    For the lower estimate, each doubling saves a fixed share of the error that the previous doubling saved. This share
    is d / c, but at most one half.

    Args:
        errors: the errors of the rows set aside, with a quarter, a half and all of the centres.
        doublings: the number of doublings from the number of centres to the number of rows.
    """
    mean = float(np.mean(errors[-1]))
    if len(errors) < 3 or mean == 0:
        return 0.0, 0.0 if mean == 0 else 1.0
    change = errors[-2] - errors[-1]
    before, last = float(np.mean(errors[0] - errors[1])), float(np.mean(change))
    noise = float(np.std(change)) / math.sqrt(len(change))
    most = doublings * max(last, noise)
    ratio = min(last / before, 0.5) if before > 0 else 0.5
    least = last * sum(ratio**power for power in range(1, math.ceil(doublings) + 1)) if last > 0 else 0.0
    return min(least / mean, most / mean, 1.0), min(most / mean, 1.0)


def warn_of_centres(rows: int, found: OnCentres) -> None:
    """Warn that a fit is approximate.

    Args:
        rows: the number of rows of the fit.
        found: the fit.
    """
    least, most = found.price
    warnings.warn(
        (
            f"this fit to {rows} rows is approximate: it uses {len(found.centres)} of the rows as centres, because "
            f"centres='auto' is exact only up to {_EXACT} rows. According to leave-one-out errors, an exact fit "
            f"would have a squared error that is {least:.0%} to {most:.0%} smaller. Set centres to a larger number, "
            "or to None for the exact fit."
        ),
        ApproximationWarning,
        stacklevel=4,
    )


def warn_of_least_squares(found: OnCentres, setting: str) -> None:
    """Warn if a fit that should pass through all targets misses some, because it has fewer centres than rows.

    Args:
        found: the fit.
        setting: the setting that requests interpolation, for the message.
    """
    modes, targets = found.modes.modes, found.modes.targets
    missed = np.abs(modes.features @ (found.weights[:, None] * modes.moments) - targets)
    size = np.asarray(root_mean_square(targets, np.ones(len(targets))))
    share = float((missed / np.where(size > 0, size, 1.0)).max())
    if share > MISSED:
        warnings.warn(
            (
                f"with {setting} the fit should pass through the training rows. But with only {len(found.centres)} "
                f"centres, least squares misses targets by up to {share:.2g} times the root mean square of the "
                "targets. Set centres=None to pass through the rows, or set a ridge or noise above 0."
            ),
            InterpolationWarning,
            stacklevel=4,
        )


def crosses(
    kernel: AbstractKernel, x: Float[np.ndarray, "m *shape"], points: Float[np.ndarray, "n *shape"]
) -> Iterator[tuple[Int[np.ndarray, " r"], Float[Array, "r n"]]]:
    """The cross matrix K(x, points) in blocks of rows of at most 128 MiB, each with the positions of its rows in x.

    If NumPy computes the matrix in less time than JAX would compile, NumPy computes it.

    Args:
        kernel: the kernel, a pytree of JAX arrays.
        x: the points of the matrix's rows.
        points: the points of the matrix's columns, on which the fit was made.
    """
    rows, fitted = max(1, min(len(x), _BLOCK // (8 * len(points)))), jnp.asarray(points)
    by_numpy = takes_numpy(kernel, points, len(x) * len(points))
    for start in range(0, len(x), rows):
        # The last block starts earlier, so that it has the size of the other blocks and needs no second compilation.
        first = min(start, len(x) - rows)
        found = kernel.numpy_cross(x[first : first + rows], points) if by_numpy else None
        block = gram(kernel, jnp.asarray(x[first : first + rows]), fitted) if found is None else jnp.asarray(found)
        yield np.arange(start, first + rows), block[start - first :]


def diagonal_mean(kernel: AbstractKernel, points: Float[np.ndarray, "n *shape"], weights: np.ndarray) -> float:
    """The weighted mean of K(x_i, x_i), or 1 if this mean is 0.

    Args:
        kernel: the kernel, a pytree of JAX arrays.
        points: the inputs of the rows.
        weights: the weights of the rows.
    """
    with jax.enable_x64(True):
        return float(weights @ np.asarray(kernel.diagonal(jnp.asarray(points))) / np.sum(weights)) or 1.0
