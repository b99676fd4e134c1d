"""Solve least squares on centres from summed normal equations, by LAPACK and in place, without compilation.

The function is sum_j K(., z_j) alpha_j on centres z. Let L L^T = K(z, z) + jitter I. The equations are whitened: they
are multiplied by L^-1, and their unknowns are b = L^T alpha (see `subset_of_regressors`).
"""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dtrtrs  # pyright: ignore[reportAttributeAccessIssue]

from lemmata.errors import NotPositiveDefiniteError, SolverError
from lemmata.kernels import AbstractKernel, gram

from ._in_place import SystemInPlace
from ._kernel_rows import KernelRows
from ._normal_equations import POWERS, moved_by_rounding


def penalty_factor(
    kernel: AbstractKernel, z: Float[np.ndarray, "p *shape"], eps: float
) -> tuple[Float[np.ndarray, "p p"], float]:
    """Return the lower Cholesky factor of K_zz + jitter I (C-contiguous) and the jitter, at least 16 eps tr K_zz.

    K_zz is the matrix K(z, z) of the centres.

    Args:
        kernel: the kernel K.
        z: the centres, in float64.
        eps: the machine epsilon of the type in which blocks of the kernel are computed.

    Raises:
        SettingError: if an entry is not finite, or the kernel is not symmetric.
        NotPositiveDefiniteError: if the kernel is not positive semidefinite on the centres.
    """
    matrix = own_gram(KernelRows(kernel, z, len(z)), kernel, z)
    system = SystemInPlace(matrix)
    jitter = 16 * eps * system.trace
    jitter += system.factorise(jitter)
    return system.factor(), jitter


def own_gram(rows: KernelRows, kernel: AbstractKernel, z: Float[np.ndarray, "p *shape"]) -> Float[np.ndarray, "p p"]:
    """Return K(z, z), exactly symmetric. `gram` raises an error if the kernel is not symmetric up to rounding.

    Args:
        rows: the function K(., z).
        kernel: the kernel K.
        z: the centres.
    """
    if not rows.by_numpy:
        # this call raises the kernel's errors for points that the kernel refuses, because compiled code cannot raise
        # errors
        kernel.diagonal(jnp.asarray(z))
    matrix = rows(z)
    share = 2 * (z[0].size * float(np.finfo(float).eps)) ** 0.5  # the asymmetry that `gram` allows
    gap = np.abs(matrix - matrix.T)
    if not gap.max() <= share * np.abs(matrix).max():
        gram(kernel, jnp.asarray(z))
    matrix += matrix.T.copy()
    matrix /= 2
    return matrix


class HostSolution(NamedTuple):
    """The solution b of (W + (ridge + shift) I) b = v for the whitened sums W and v, and results computed from b.

    Attributes:
        alpha: the coefficients L^-T b, with the Cholesky factor L of the penalty.
        shift: the amount that was added to the ridge; 0 if the system has a Cholesky factor without a shift.
        residual: |(W + ridge I) b - v| / |v|, without the shift.
        condition: an estimate, from below, of the condition number of W + (ridge + shift) I by power iteration.
        gain: |y|² minus the sum of squared errors of the fit on the training points, for targets y.
    """

    alpha: Float[np.ndarray, "p k"]
    shift: float
    residual: float
    condition: float
    gain: float


def _solution(system: SystemInPlace, product: np.ndarray, factor: np.ndarray, ridge: float) -> HostSolution:
    shift = system.factorise(ridge)
    b = system.solved(product)
    image = system.product(b)
    unit = float(np.abs(product).max()) or 1.0  # squares may overflow or vanish although entries do not
    size = float(np.linalg.norm(product / unit))
    missed = float(np.linalg.norm((image + ridge * b - product) / unit))
    largest = _largest(lambda u: system.product(u) + (ridge + shift) * u, len(b))
    condition = largest * _largest(system.solved, len(b))
    gain = float(np.sum(b * (2 * product - image)))
    return HostSolution(dtrtrs(factor.T, b, lower=0)[0], shift, missed / (size or 1.0), condition, gain)


def host_solutions(
    sums: Callable[..., Any],
    factor: Float[np.ndarray, "p p"],
    y: Float[np.ndarray, "n k"],
    ridges: Float[np.ndarray, " s"],
    tolerance: float,
) -> list[HostSolution]:
    """Return the solution for each ridge.

    If this is allowed and accurate enough, the sums are whitened (multiplied by L^-1) after all blocks are added.
    Otherwise, every block of rows is whitened before it is added, which costs twice as much.

    Args:
        sums: the function `normal_equations` with all arguments of the problem except `last`.
        factor: the Cholesky factor L, C-contiguous.
        y: the targets.
        ridges: the ridges, each at least 0.
        tolerance: the largest distance by which rounding may move the fit on the training points, as a share of |y|.
            Infinity allows any distance. With 0, every block is whitened.
    """
    if tolerance > 0 and np.all(ridges > 0):
        with contextlib.suppress(NotPositiveDefiniteError, SolverError):
            system, product = _system(sums(last=True))
            found = [_solution(system, product, factor, float(ridge)) for ridge in ridges]
            moved = lambda one, ridge: moved_by_rounding(factor, system.columns, y, one.alpha, ridge)
            if all(
                one.shift == 0 and (tolerance == np.inf or moved(one, ridge) <= tolerance)
                for one, ridge in zip(found, ridges, strict=True)
            ):
                return found
            del system
    system, product = _system(sums(last=False))
    return [_solution(system, product, factor, float(ridge)) for ridge in ridges]


def _system(sums: tuple[Any, Any]) -> tuple[SystemInPlace, np.ndarray]:
    square, product = (np.asarray(part) for part in sums)
    # The transpose of a Fortran-contiguous array is C-contiguous, and a symmetric array equals its transpose.
    return SystemInPlace(square.T if square.flags.f_contiguous else square), product


def _largest(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """Estimate the largest eigenvalue of a symmetric `product` from below, by power iteration from a random start."""
    unit = np.random.default_rng(0).normal(size=(size, 1))
    for _ in range(POWERS):
        unit = product(unit / np.linalg.norm(unit))
    return float(np.linalg.norm(product(unit / np.linalg.norm(unit))))
