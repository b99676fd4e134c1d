"""Solve least squares on centres for every ridge, every time of gradient flow and fewer centres, from one eigenbasis.

The fit is a sum K(x, z) alpha over centres z. Let L be the lower Cholesky factor of K_zz + jitter I, with K_zz = K(z,
z).
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float, Int
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from lemmata.core import require_float64
from lemmata.errors import ShapeError
from lemmata.kernels import AbstractKernel

from ._centres_plan import CentresPlan, centres_plan
from ._checks import check_numbers, check_targets
from ._host_solution import penalty_factor
from ._kernel_rows import KernelRows
from ._normal_equations import summed_rows, whitened

# The largest change of the fit by rounding, as a share of |y|, at which only the sums over all rows are whitened. If
# the change is larger, every row is whitened.
_TOLERANCE = 1e-5
# A block has as many rows as there are centres, so one compiled shape is enough. But it has at least _ROWS rows, and at
# most _BYTES bytes.
_ROWS, _BYTES = 1024, 2**27
# shares of the centres for which the problem is also solved; they measure the gain from doubling the number of centres
_LEVELS = (0.25, 0.5, 1.0)


@dataclasses.dataclass(frozen=True)
class Modes:
    """Least squares on features psi(x) for which the matrix sum_i psi_i psi_i^T, with psi_i = psi(x_i), is diagonal.

    Attributes:
        basis: the matrix G (p, q) with psi(x) = G^T K(z, x).
        eigenvalues: the eigenvalues a (q,), ascending and at least 0. The eigenvalues are the diagonal of sum_i psi_i
            psi_i^T.
        moments: the sums c = sum_i psi_i y_i (q, k) over all rows i, with the targets y_i.
        features: the features psi (m, q) of the m rows that were set aside for leave-one-out errors.
    """

    basis: Float[np.ndarray, "p q"]
    eigenvalues: Float[np.ndarray, " q"]
    moments: Float[np.ndarray, "q k"]
    features: Float[np.ndarray, "m q"]

    def filtered(self, ridge: float, time: float | None = None) -> Float[np.ndarray, " q"]:
        """Return the factors of c in the solution: 1 / (a + ridge), or (1 - exp(-a t)) / a after the time t.

        With ridge 0 or at infinite time, the factors are 1 / a, or 0 if a cannot be distinguished from 0.

        Args:
            ridge: the ridge, at least 0.
            time: the time of the gradient flow of half the squared loss. If it is given, the ridge is not used.
        """
        a = self.eigenvalues
        if time is not None and np.isfinite(time):
            return -np.expm1(-a * time) / np.where(a > 0, a, 1.0) + np.where(a > 0, 0.0, time)
        if time is None and ridge > 0:
            return 1 / (a + ridge)
        known = a > 16 * len(a) * np.finfo(float).eps * a[-1]
        return known / np.where(known, a, 1.0)

    def left_out(self, targets: Float[np.ndarray, "m k"], weights: Float[np.ndarray, " q"]) -> Float[np.ndarray, "m k"]:
        """Return targets minus predictions at the rows set aside. Each prediction is from a fit without its row.

        The formula is (y_i - f_i) / (1 - h_i) with the fitted value f_i and h_i = psi_i^T diag(weights) psi_i. The
        formula is exact for a ridge, but not for a time.

        Args:
            targets: the targets of the rows that were set aside.
            weights: the weights from `filtered`.
        """
        kept = 1 - self.features**2 @ weights
        fitted = self.features @ (weights[:, None] * self.moments)
        return (targets - fitted) / np.maximum(kept, np.finfo(float).eps)[:, None]


@dataclasses.dataclass(frozen=True)
class CentredModes:
    """`Modes` on all centres, on the first quarter of the centres and on their first half.

    Attributes:
        levels: the modes on a quarter, a half and all of the centres, in this order.
        targets: the targets (m, k) of the rows set aside for leave-one-out errors, times the roots of the rows'
            weights.
        aside: the numbers (m,) of the rows set aside.
        missed: the mean over these rows of w_i (K(x_i, x_i) - Q(x_i, x_i)), the part of the prior variances that the
            centres miss. The w_i are the weights, and Q approximates K by the centres.
        jitter: the amount that was added to the diagonal of K(z, z).
    """

    levels: tuple[Modes, ...]
    targets: Float[np.ndarray, "m k"]
    aside: Int[np.ndarray, " m"]
    missed: float
    jitter: float

    @property
    def modes(self) -> Modes:
        """The modes on all centres."""
        return self.levels[-1]

    def coefficients(self, weights: Float[np.ndarray, " q"]) -> Float[np.ndarray, "p k"]:
        """Return the coefficients alpha of the function sum_j K(., z_j) alpha_j that the weights give.

        Args:
            weights: the weights from `Modes.filtered`.
        """
        return self.modes.basis @ (weights[:, None] * self.modes.moments)


def centred_modes(
    kernel: AbstractKernel,
    x: Float[np.ndarray, "n *shape"],
    y: Float[np.ndarray, "n k"],
    centres: Float[np.ndarray, "p *shape"],
    aside: Int[np.ndarray, " m"],
    *,
    roots: Float[np.ndarray, " n"] | None = None,
    ridge: float = 0.0,
) -> CentredModes:
    """Return the eigensystem of least squares over the span of K(., z), from one pass over the rows.

    Let L L^T = K_zz + jitter I, W = sum_i w_i L^-1 K(z, x_i) K(x_i, z) L^-T = U diag(a) U^T, and G = L^-T U. Then the
    fit with ridge r is K(x, z) G diag(1 / (a + r)) G^T K_zx w y. So the eigensystem gives the result of
    `subset_of_regressors` for every ridge, and the gradient flow at every time. The predictor with only the first
    centres comes from the leading block of W. NumPy computes the sums in place. The sums are whitened (multiplied by
    L^-1) last, which costs half as much as whitening every row. This order is used if rounding moves the fit by at most
    1e-5 of the targets, according to an estimate on the rows set aside. Otherwise, every row is whitened first.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: targets, times the roots of the weights.
        centres: the centres z.
        aside: the rows for the leave-one-out errors. The fit uses these rows, too.
        roots: the square roots of the weights w; None means 1 for each row.
        ridge: the smallest ridge that will be used, for the estimate of rounding; with 0, every row is whitened first.

    Raises:
        ShapeError: if points and targets do not fit, or are empty.
        DataError: for entries that are not finite.
        MemoryPlanError: if the squares and a block do not fit into memory.
        NotPositiveDefiniteError: if the kernel is not positive semidefinite on the centres.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax, numpy as np
        >>> from lemmata.kernels import RBF
        >>> from lemmata.solvers import centred_modes
        >>> x = np.linspace(-1, 1, 300)[:, None]
        >>> with jax.enable_x64(True):
        ...     found = centred_modes(RBF(1.0), x, np.sin(3 * x), x[::10], np.arange(0, 300, 7))
        >>> bool(np.abs(found.modes.left_out(found.targets, found.modes.filtered(1e-7))).max() < 1e-3)
        True
    """
    require_float64("least squares on centres")
    check_numbers("points x", x)
    check_targets(y, len(x))
    if centres.shape[1:] != x.shape[1:]:
        raise ShapeError("centres", found=f"shape {centres.shape}", rule=f"points of the shape {x.shape[1:]} of x")
    z, rows = np.asarray(centres, float), min(max(len(centres), _ROWS), max(256, _BYTES // (8 * len(centres))))
    _plan(kernel, x, z, y.shape[1], rows).require()
    entries = KernelRows(kernel, z, len(x))
    lower, jitter = penalty_factor(kernel, z, float(np.finfo(float).eps))
    weight = np.ones(len(x)) if roots is None else roots
    own, targets = entries(x[aside]) * weight[aside, None], y[aside]
    last = ridge > 0 and _may_whiten_last(lower, own, targets, len(x) / len(aside), ridge)
    square, product = whitened(
        *summed_rows(entries, None if last else lower, x, y, rows, roots), lower if last else None
    )
    features = _whitened(lower, own.T).T
    prior = weight[aside] ** 2 * np.asarray(kernel.diagonal(jnp.asarray(x[aside])))
    missed = float(np.mean(np.maximum(prior - np.sum(features**2, axis=1), 0.0)))
    sizes = sorted({max(1, int(share * len(z))) for share in _LEVELS})
    levels = tuple(_modes(lower, square, product, features, size) for size in sizes)
    return CentredModes(levels, targets, aside, missed, jitter)


def _plan(kernel: AbstractKernel, x: np.ndarray, z: np.ndarray, outputs: int, rows: int) -> CentresPlan:
    """Return the plan of the memory that will be used.

    If each point is an array of more than one axis, the compiler reports the memory of a tile. For other points, a tile
    is small.
    """
    if x.ndim > 2:
        return centres_plan(kernel, jnp.asarray(x[:rows]), jnp.asarray(z), outputs=outputs, block=rows)
    return CentresPlan(len(x), len(z), outputs, 1, rows, 32 * rows * len(z))


def _modes(lower: np.ndarray, square: np.ndarray, product: np.ndarray, features: np.ndarray, size: int) -> Modes:
    """Return the modes on the first `size` centres. L^-1 of a leading block is the leading block of L^-1."""
    values, vectors = scipy.linalg.eigh(square[:size, :size], lower=True, driver="evd", check_finite=False)
    basis = np.zeros((len(lower), size))
    basis[:size] = scipy.linalg.solve_triangular(lower[:size, :size], vectors, lower=True, trans=1, check_finite=False)
    return Modes(basis, np.maximum(values, 0.0), vectors.T @ product[:size], features[:, :size] @ vectors)


def _whitened(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    return scipy.linalg.solve_triangular(lower, right, lower=True, check_finite=False)


def _may_whiten_last(lower: np.ndarray, own: np.ndarray, targets: np.ndarray, times: float, ridge: float) -> bool:
    """Return whether rounding of sums moves the fit by at most the tolerance, as estimated on the rows set aside.

    The derivation is in `moved_by_rounding`.
    """
    features = _whitened(lower, own.T)
    system = times * (features @ features.T)
    sizes = np.sqrt(times * np.sum(own**2, axis=0))
    system[np.diag_indices_from(system)] += ridge
    solution = scipy.linalg.solve(system, times * (features @ targets), assume_a="pos", check_finite=False)
    alpha = scipy.linalg.solve_triangular(lower, solution, lower=True, trans=1, check_finite=False)
    inverse = dtrtri(lower, lower=1)[0]
    amplified, size = np.linalg.norm(inverse * sizes), times**0.5 * np.linalg.norm(targets)
    moved = 4 * np.finfo(float).eps * amplified * (np.linalg.norm(sizes[:, None] * alpha) + size) / np.sqrt(ridge)
    return bool(moved <= _TOLERANCE * size)
