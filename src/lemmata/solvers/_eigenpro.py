"""Kernel regression on a set of centres by preconditioned stochastic gradient (EigenPro)."""

import math
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Key

from lemmata.core import require_float64
from lemmata.errors import DataError, SettingError, SolverError, UnfinishedWarning
from lemmata.kernels import AbstractKernel

from ._checks import check_at_least, check_numbers, check_targets
from ._eigenpro_plan import EigenProPlan
from ._operators import kernel_product, rows_of_a_block
from ._remainder import ROWS, remainder_of
from ._ridge import factored

_SUBSAMPLE = 2000


class CentredSolution(eqx.Module):
    """A function sum_j K(., z_j) alpha_j on centres z, and what it cost to find.

    Args:
        kernel: the kernel K.
        centres: z, rows of the data.
        coefficients: alpha, one row a centre.
        epochs: passes over the data.
        batch: rows of a step.
        rate: the factor of a step on the sum over its batch.
        time: epochs (n // batch) rate: the time of the gradient flow of 1/2 sum |f - y|² that was covered. Modes with
            eigenvalue a of the n x n Gram matrix are learned where a time is large, as with a ridge 1 / time; the
            preconditioned ones sooner.
        level: how many eigenfunctions are preconditioned.
        jitter: what was added to the diagonal of K(z, z) for the projection, 16 eps times the trace.
        errors: the mean squared error over each epoch's batches, each before its own step, summed over outputs.
        plan: the memory plan.
        remaining: what a direct solution on some of the centres would still remove from the residuals on other rows,
            as a fraction of the targets' root mean square; see `eigenpro`.
        done: whether the tolerance was reached.
    """

    kernel: AbstractKernel
    centres: Float[Array, "p d"]
    coefficients: Float[Array, "p *k"]
    epochs: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    time: float = eqx.field(static=True)
    level: int = eqx.field(static=True)
    jitter: Float[Array, ""]
    errors: np.ndarray
    plan: EigenProPlan = eqx.field(static=True)
    remaining: float = eqx.field(static=True, default=math.nan)
    done: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "t *k"]:
        """Predictions, computed in blocks."""
        return kernel_product(self.kernel, x, self.centres, self.coefficients)


class _Precondition(eqx.Module):
    vectors: Float[Array, "s q"]
    weights: Float[Array, " q"]  # (1 - a_{q+1} / a_i) / a_i
    largest: float = eqx.field(static=True)  # beta = max_x of the preconditioned K(x, x)
    top: float = eqx.field(static=True)  # the largest eigenvalue of the preconditioned covariance operator


def eigenpro(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "rows *k"],
    centres: int,
    key: Key[Array, ""],
    *,
    epochs: int = 200,
    batch: int | None = None,
    tolerance: float = 0.01,
) -> CentredSolution:
    """Least squares over the span of K(., z) for random rows z, by stochastic gradient in the space of the kernel.

    A step on a batch B is f <- f - rate Pi P sum_{i in B} (f(x_i) - y_i) K(., x_i). P damps the q leading
    eigenfunctions of the covariance operator to the level of eigenvalue q + 1, as estimated on a subsample of the
    centres; Pi is the orthogonal projection on the span of the centres (Ma and Belkin, 2019; Abedsoltan, Belkin and
    Pandit, 2023). Nothing is tuned: the batch fills a block of 128 MiB, q is the smallest for which so large a
    batch pays, that is beta / top >= batch, and rate = 1 / (beta + (batch - 1) top). Here beta = max K_P(x, x) and top
    is the largest eigenvalue of the preconditioned operator, both measured on rows that P has not seen (for n >= 2 p).
    Steps of constant size do not settle where y is noisy, so the answer is the mean of the iterates of the last epoch.

    It stops when it is done, which is looked at after each epoch. A kernel ridge regression on up to 1,000 of the
    centres is fitted to what the answer leaves of their targets, with the best of 18 ridges, and measured on up to
    1,000 other rows. What it removes there, less two standard errors, would a direct solution still find: its root, as
    a fraction of the targets' root mean square, is `remaining`. It is done if this is at most the tolerance, and the
    last epoch's error fell by at most the tolerance squared, as a fraction of the mean squared target.

    Memory is four p x p matrices and a few blocks; no n x p matrix is formed. A jitter of 16 eps tr K(z, z) keeps the
    projection stable; in float32 it is what limits the accuracy.

    Args:
        kernel: the kernel K.
        x: points.
        y: targets, one row a point.
        centres: p, how many rows serve as centres.
        key: randomness: centres and the order of the rows.
        epochs: passes over the data, at most. If it is not done by then, an `UnfinishedWarning` says what remains.
        batch: rows of a step, at most; None means as many as fill a block.
        tolerance: what may remain; 0 means all epochs, without a warning.

    Raises:
        SettingError: for a number of centres outside 2..n, or of epochs or rows below 1.
        ShapeError: if x and y do not fit each other or are empty.
        DataError: for entries that are not finite, or if the Gram matrix of the centres has rank below 2, for example
            because all rows are equal.
        MemoryPlanError: if the centres' matrices do not fit in memory.
        NotPositiveDefiniteError: if the kernel is not positive semidefinite on the centres.
        SolverError: if the error grew, because the subsample does not represent the data.
        PrecisionError: if float64 is off. With float64 on, float32 points are still computed in float32.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.kernels import Matern
        >>> from lemmata.solvers import eigenpro
        >>> x = jax.random.normal(jax.random.key(0), (500, 2))
        >>> found = eigenpro(Matern(1.5, 2.0), x, jnp.sin(x[:, 0]), 100, jax.random.key(1))
        >>> found.done, bool(jnp.mean((found(x) - jnp.sin(x[:, 0])) ** 2) < 1e-2)
        (True, True)
    """
    require_float64("EigenPro")
    check_numbers("points x", x)
    check_targets(y, len(x))
    check_at_least("tolerance", tolerance, 0.0)
    n, eps = len(x), float(jnp.finfo(x.dtype).eps)
    if not 2 <= centres <= n or epochs < 1:
        raise SettingError(
            "centres and epochs",
            found=f"centres={centres} and epochs={epochs}",
            rule=f"from 2 to {n} centres, and at least 1 epoch",
        )
    wanted = min(n, rows_of_a_block(batch, centres, x.dtype.itemsize))
    subsample = min(centres, _SUBSAMPLE)
    plan = EigenProPlan(n, centres, wanted, subsample, x.dtype.itemsize)
    plan.require()
    order = jax.random.permutation(jax.random.fold_in(key, 0), n)
    z = x[order[:centres]]
    # A jitter above the backward error of the factorisation, n eps |K|, keeps the inverse positive definite.
    solved = factored(kernel.cross(z, z), jnp.zeros(centres, x.dtype), 16 * eps * jnp.sum(kernel.diagonal(z)))
    inverse = cho_solve((solved.factor, True), jnp.eye(centres, dtype=x.dtype))
    jitter = solved.ridge + solved.jitter
    del solved
    precondition = _precondition(kernel, z[:subsample], x[order[-subsample:]], wanted, eps)
    rows = max(1, min(wanted, 1 + int(precondition.largest / precondition.top)))
    descent = _Descent(kernel, z, inverse, precondition, 1 / (precondition.largest + (rows - 1) * precondition.top))
    flat = y.reshape(n, -1).astype(x.dtype)
    alpha, errors, remaining, done = descent.run(x, flat, order, key, rows, epochs, tolerance)
    if tolerance and not done:
        _warn(len(errors), remaining, tolerance)
    alpha = alpha.reshape(centres, *y.shape[1:])
    rate, epochs, level = descent.rate, len(errors), len(precondition.weights)
    time = epochs * (n // rows) * rate
    found = (alpha, epochs, rows, rate, time, level, jitter, np.asarray(errors), plan, remaining, done)
    return CentredSolution(kernel, z, *found)


def _warn(epochs: int, remaining: float, tolerance: float) -> None:
    warnings.warn(
        f"EigenPro is not done after {epochs} epochs: {remaining:.2g} of the targets' root mean square remains that a "
        f"direct solution on some of its centres would remove, or its error still falls (tolerance {tolerance:g}); "
        "allow more epochs, or use subset_of_regressors on fewer centres",
        UnfinishedWarning,
        stacklevel=3,
    )


class _Descent(eqx.Module):
    """The steps of one fit."""

    kernel: AbstractKernel
    centres: Float[Array, "p d"]
    inverse: Float[Array, "p p"]
    precondition: _Precondition
    rate: float = eqx.field(static=True)

    def run(
        self, x: Float[Array, "n d"], y: Float[Array, "n k"], drawn: Array, key: Array, rows: int, epochs: int,
        tolerance: float,
    ) -> tuple[Float[Array, "p k"], list[float], float, bool]:  # fmt: skip
        """The mean iterate of the last epoch, the error of each epoch, what remains, and whether it is done."""
        n, few = len(x), min(ROWS, len(self.centres), len(x) // 2)
        scale = float(jnp.mean(jnp.sum(y**2, axis=1)))
        # the order of the centres: the first rows are centres, the last ones none of those
        a, b = drawn[:few], drawn[-min(ROWS, n - few) :]
        remainder = remainder_of(self.kernel, x[a], x[b], scale)
        left = lambda rows, alpha: y[rows] - kernel_product(self.kernel, x[rows], self.centres, alpha)
        alpha, errors, remaining, done = jnp.zeros((len(self.centres), y.shape[1]), x.dtype), [], math.nan, False
        mean = alpha
        for epoch in range(epochs):
            order = jax.random.permutation(jax.random.fold_in(key, epoch + 1), n)
            mean, total, batches = jnp.zeros_like(alpha), jnp.zeros((), x.dtype), n // rows
            for i in range(batches):
                chosen = order[i * rows : (i + 1) * rows]
                step = (self.kernel, self.centres, self.inverse, self.precondition, self.rate, alpha)
                alpha, error = _step(*step, x[chosen], y[chosen])
                mean, total = mean + alpha / batches, total + error / batches
            errors.append(float(total))
            if not errors[-1] <= 4 * scale:
                raise SolverError(
                    "EigenPro",
                    found=f"mean squared error {errors[-1]:.3g} in epoch {epoch + 1}",
                    rule="a training error that falls",
                    remedy="use more centres, or a smaller batch",
                )
            remaining = remainder(left(a, mean), left(b, mean))
            fell = errors[-2] - errors[-1] if epoch else math.inf
            done = remaining <= tolerance and (fell <= tolerance**2 * scale)
            if done and tolerance:
                break
        return mean, errors, remaining, done


@eqx.filter_jit
def _step(kernel, z, inverse, precondition, rate, alpha, x, y):
    matrix = kernel.cross(x, z)
    residual = matrix @ alpha - y
    ascent = matrix.T @ residual  # at the centres, the sum over the batch of its residuals times K(., x_i)
    vectors = precondition.vectors
    leading = vectors @ (precondition.weights[:, None] * (vectors.T @ ascent[: len(vectors)]))
    step = (inverse @ ascent).at[: len(vectors)].add(-leading)
    return alpha - rate * step, jnp.mean(jnp.sum(residual**2, axis=1))


def _precondition(
    kernel: AbstractKernel, seen: Float[Array, "s d"], unseen: Float[Array, "t d"], batch: int, eps: float
) -> _Precondition:
    """The smallest number q of eigenfunctions for which a batch pays, with beta and the top eigenvalue as measured."""
    values, vectors = jnp.linalg.eigh(kernel.cross(seen, seen))
    values, vectors, size = values[::-1], vectors[:, ::-1], len(seen)
    most = int(jnp.sum(values > 16 * size * eps * values[0]))
    if most < 1 or bool(jnp.all(seen == seen[0])):
        raise DataError(
            "centres",
            found=f"a Gram matrix of rank {most}, which happens if all points are equal",
            rule="rank at least 1, and centres that differ",
            remedy="use kernel_ridge on a few rows, or centres that differ",
        )
    if most == 1:  # one eigenfunction: nothing to damp
        diagonal = kernel.diagonal(unseen)
        top = float(jnp.linalg.eigvalsh(kernel.cross(unseen, unseen))[-1]) / len(unseen)
        return _Precondition(vectors[:, :0], values[:0], float(jnp.max(diagonal)), top)
    most = max(1, min(most - 1, size // 2))  # tail eigenvalues of a subsample say little of the operator's
    values, vectors = values[: most + 1], vectors[:, :most]
    squares = (kernel.cross(unseen, seen) @ vectors) ** 2 / values[:most]  # the eigenfunctions, squared
    damped = jnp.cumsum(squares, axis=1) - values[1:] * jnp.cumsum(squares / values[:most], axis=1)
    largest = jnp.max(kernel.diagonal(unseen)[:, None] - damped, axis=0)
    pays = np.asarray(largest * size / values[1:] >= batch)
    level = int(pays.argmax()) + 1 if pays.any() else most
    vectors, weights = vectors[:, :level], (1 - values[level] / values[:level]) / values[:level]
    features = kernel.cross(unseen, seen) @ vectors
    rest = kernel.cross(unseen, unseen) - (features * weights) @ features.T
    top = float(jnp.linalg.eigvalsh(rest)[-1]) / len(unseen)
    return _Precondition(vectors, weights, float(jnp.max(jnp.diagonal(rest))), top)
