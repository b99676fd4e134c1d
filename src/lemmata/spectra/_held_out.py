"""Held-out errors of kernel ridge regression on given splits, by direct solves with the Gram matrix."""

import itertools
import math

import numpy as np
from jaxtyping import Float, Int

from ._eigensystem import Spectrum

# Up to this condition number, held-out residuals are computed from the inverse of the whole regularised matrix. The
# relative error of the results is then at most about eps times this number, 1e-6.
_CONDITION = 1e10
_ENTRIES = 2_000_000  # the number of entries in a batch of systems; 16 MB
_CALL = 2e5  # the fixed cost of a split, in operations
_SMALL = 100  # the number of rows below which a call for each system would cost more than the arithmetic


class HeldOut:
    """Computes the squared error of kernel ridge regression on held-out rows, for splits of N rows into two parts.

    Let n rows be used for training, and h = N - n rows be held out. For h < n, the h x h system of the held-out rows is
    solved, and otherwise the n x n system of the training rows. If A + ridge is ill-conditioned, the n x n system is
    solved for h < n, too. For the h x h system, let R be the inverse of A + ridge I over all N rows, and alpha = R y.
    Then the residuals of rows H in a fit to all other rows are (R_HH)^-1 alpha_H. An intercept is an unpenalised
    constant. With an intercept, the kernel's rows and columns and the targets are centred in each training part. R then
    becomes R - R 1 1^T R / (1^T R 1). This matrix is a block of the inverse of A + ridge bordered by a row and a column
    of ones.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all rows.
        y: targets, one row for each point.
        intercept: whether a constant is learned together with the kernel.
    """

    def __init__(self, spectrum: Spectrum, y: Float[np.ndarray, "rows k"], intercept: bool):
        self.values, self.vectors = np.asarray(spectrum.eigenvalues), np.asarray(spectrum.eigenvectors)
        self.largest, self.smallest = float(self.values[0]), float(self.values[-1])
        self.floor, self.y, self.intercept = float(spectrum.floor), np.asarray(y), intercept
        scaled = self.vectors[:, self.values > 0] * np.sqrt(self.values[self.values > 0])
        self.matrix = scaled @ scaled.T
        self._inverse: tuple[float, np.ndarray, np.ndarray] | None = None

    def singular(self, ridge: float) -> bool:
        """Whether A is singular and the ridge cannot be distinguished from 0.

        If so, the limit ridge -> 0 is used.
        """
        return ridge <= self.floor and self.smallest <= self.floor

    def leaves_out(self, n: int, ridge: float) -> bool:
        """Whether the system of the held-out rows is solved instead of the system of the training rows."""
        well_posed = ridge + self.smallest > (ridge + self.largest) / _CONDITION
        return len(self.y) - n < n and well_posed

    def cost(self, n: int, ridge: float) -> float:
        """The approximate number of floating-point operations for one split."""
        rest = len(self.y) - n
        if self.leaves_out(n, ridge):
            return _CALL / 10 + rest**3 / 2 + 10 * rest**2
        system = 20.0 * n**3 if self.singular(ridge) else n**3 / 2
        return _CALL + system + 5 * n**2 + (5 + 2 * self.y.shape[1]) * n * len(self.y)

    def errors(
        self, train: Int[np.ndarray, "splits n"], rest: Int[np.ndarray, "splits h"], ridge: float
    ) -> Float[np.ndarray, " splits"]:
        """The held-out squared error of each split, summed over outputs and averaged over the held-out rows."""
        out = self.leaves_out(train.shape[1], ridge)
        batch = max(1, _ENTRIES // (rest.shape[1] ** 2 if out else train.shape[1] * len(self.y)))
        found = []
        for start in range(0, len(train), batch):
            part = slice(start, start + batch)
            residuals = self._leave_out(rest[part], ridge) if out else self._fit(train[part], rest[part], ridge)
            found.append(np.sum(residuals**2, axis=2).mean(axis=1))
        return np.concatenate(found)

    def _leave_out(self, rest: np.ndarray, ridge: float) -> np.ndarray:
        if self._inverse is None or self._inverse[0] != ridge:
            scaled = self.vectors / np.sqrt(self.values + ridge)
            inverse = scaled @ scaled.T
            if self.intercept:
                ones = inverse.sum(axis=1)
                inverse -= np.outer(ones, ones / ones.sum())
            self._inverse = ridge, inverse, inverse @ self.y
        _, inverse, coefficients = self._inverse
        return _solve(inverse[rest[:, :, None], rest[:, None, :]], coefficients[rest])

    def _fit(self, train: np.ndarray, rest: np.ndarray, ridge: float) -> np.ndarray:
        rows, target = self.matrix[train], self.y[train]  # whole rows are contiguous in memory
        system = np.take_along_axis(rows, train[:, None, :], axis=2)
        if self.intercept:
            system -= system.mean(axis=1, keepdims=True)
            system -= system.mean(axis=2, keepdims=True)
            target = target - target.mean(axis=1, keepdims=True)
        if self.singular(ridge):
            weights = self._least_norm(system, target, ridge)
        else:
            # Centred targets are orthogonal to the vector of ones. So a constant that is added to the system does not
            # change the solution, and makes the system positive definite.
            constant = self.largest / train.shape[1] if self.intercept else 0.0
            weights = _solve(system + ridge * np.eye(train.shape[1]) + constant, target)
        if self.intercept:  # exact weights sum to 0, but rounding errors do not
            weights = weights - weights.mean(axis=1, keepdims=True)
        residuals = self.y - (weights.transpose(0, 2, 1) @ rows).transpose(0, 2, 1)
        left = np.take_along_axis(residuals, rest[:, :, None], axis=1)
        if self.intercept:
            left -= np.take_along_axis(residuals, train[:, :, None], axis=1).mean(axis=1, keepdims=True)
        return left

    def _least_norm(self, system: np.ndarray, target: np.ndarray, ridge: float) -> np.ndarray:
        values, vectors = np.linalg.eigh(system)
        kept = values > self.floor
        inverse = np.where(kept, 1 / np.where(kept, values + ridge, 1.0), 0.0)
        return vectors @ (inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ target))


def _solve(systems: Float[np.ndarray, "b m m"], targets: Float[np.ndarray, "b m k"]) -> Float[np.ndarray, "b m k"]:
    """Solve positive definite systems: small ones in one call, others by Cholesky, or by LU if Cholesky fails."""
    if systems.shape[1] < _SMALL:
        return np.linalg.solve(systems, targets)
    from scipy.linalg import cho_factor, cho_solve  # slow to import

    found = []
    for system, target in zip(systems, targets, strict=True):
        try:
            found.append(cho_solve(cho_factor(system, check_finite=False), target, check_finite=False))
        except np.linalg.LinAlgError:
            found.append(np.linalg.solve(system, target))
    return np.stack(found)


def splits(
    total: int, n: int, least: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "splits n"], Int[np.ndarray, "splits h"]]:
    """Draw at least `least` splits into training and held-out rows, which use all rows about equally often.

    The rows are put into a random order, which is cut into blocks. Each block is the smaller part of one split. All
    blocks of an order are used before the next order is drawn, so every row is in the smaller part about equally often.
    For n > N/2, this is K-fold cross-validation. Each single split is uniform over all splits of its size, so the mean
    over splits is unbiased.
    """
    block = min(n, total - n)
    orders = np.stack([rng.permutation(total) for _ in range(-(-least // (total // block)))])
    starts = range(0, total - block + 1, block)
    chosen = np.concatenate([orders[:, start : start + block] for start in starts])
    others = np.concatenate([np.delete(orders, np.s_[start : start + block], axis=1) for start in starts])
    return (chosen, others) if n <= total - n else (others, chosen)


def all_splits(total: int, n: int) -> tuple[Int[np.ndarray, "splits n"], Int[np.ndarray, "splits h"]]:
    """All splits with n training rows."""
    block = min(n, total - n)
    chosen = np.array(list(itertools.combinations(range(total), block)))
    member = np.zeros((len(chosen), total), bool)
    np.put_along_axis(member, chosen, True, axis=1)
    others = np.nonzero(~member)[1].reshape(math.comb(total, block), total - block)
    return (chosen, others) if n <= total - n else (others, chosen)
