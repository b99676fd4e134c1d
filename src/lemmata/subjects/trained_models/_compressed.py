"""The Gauss-Newton curvature of many outputs within the span of the most important rows, with the error of this
restriction.

Let J be the Jacobian and R the roots of the losses' curvatures. Rows of R J are chosen in blocks. A block has the rows
whose parts outside the span of the earlier rows are longest. The squared lengths of these parts are on the diagonal of
R J J' R, reduced by the span. This choice is a pivoted partial Cholesky factorisation by blocks. Only the chosen
columns of the whole matrix are computed. With J_w = R J and the projection Q onto the span, J_w' J_w + ridge is
replaced by H' = Q J_w' J_w Q + ridge. As quadratic forms, the two differ by at most l + l^1/2, relative to H'. Here l
is the largest eigenvalue of the rest of R J J' R, divided by the ridge. In the results, the error of order l^1/2 mostly
cancels, and an error of order l remains.
"""

import dataclasses
import math

import numpy as np
import scipy.linalg
from jaxtyping import Float

from ._factors import Factor
from ._sharpness import largest_eigenvalue

_AT_ONCE = 256
# factor of the ridge; with it, outputs without a row were right to 0.0005 of their spread, and the loss to 0.0003
_LEFT = 3.0
MOST = 6000
_ROUNDING = 1e-9  # share of the largest square; a smaller value counts as no direction
_NEAR = 0.1  # to which the largest eigenvalue is found
_SMALL = 0.05  # share of the largest pivot of a block; smaller pivots wait for a later block


@dataclasses.dataclass(frozen=True)
class Compressed:
    """The rows of J and of R J in an orthonormal basis of the span.

    Args:
        rows: the rows of J, one column for each, output after output.
        weighted: the rows of R J.
        own: J_i J_i' for each row of data.
        chosen: the indices of the rows of R J that span the space.
        lower: the Cholesky factor of the Gram matrix of the chosen rows.
        left: the squared length of the part of R J that is outside the span.
    """

    rows: Float[np.ndarray, "k nC"]
    weighted: Float[np.ndarray, "k nC"]
    own: Float[np.ndarray, "n C C"]
    chosen: np.ndarray
    lower: Float[np.ndarray, "k k"]
    left: float

    def curvature(self, ridge: float) -> Float[np.ndarray, "k k"]:
        """Return Q J_w' J_w Q + ridge in the basis of the span."""
        found = self.weighted @ self.weighted.T
        found[np.diag_indices_from(found)] += ridge
        return found


def compress(
    found: tuple[Factor, ...], root: Float[np.ndarray, "n C C"], ridge: float, left: float = _LEFT, most: int = MOST
) -> Compressed:
    """Return a span outside which the squared length of R J is at most 3 times the ridge, or a span of 6000 rows.

    Args:
        found: the Jacobian J as factors from `joined`.
        root: the symmetric root R of each row.
        ridge: n times the decay, above 0.
        left: the squared length outside the span, in units of the ridge, at which the choice of rows ends.
        most: the largest number of chosen rows.
    """
    n, width = root.shape[:2]
    size, most = n * width, min(most, n * width)
    own = np.zeros(root.shape)
    for part in found:
        own += (part.taken**2).sum(1)[:, None, None] * (part.pushed @ part.pushed.transpose(0, 2, 1))
    outside = np.einsum("iab,ibc,iac->ia", root, own, root).ravel()
    rows, weighted = np.empty((2, most, size))
    lower, chosen, k = np.zeros((most, most)), np.empty(most, int), 0
    least = _ROUNDING * outside.max()
    while outside.sum() > left * ridge and outside.max() > least and k < most:
        tried = np.argsort(-outside, kind="stable")[: min(2 * _AT_ONCE, size)]
        pairs, known = _weighted(found, root, tried), weighted[:k, tried]
        block = np.sum([(a @ a.T) * (b @ b.T) for a, b in pairs], axis=0) - known.T @ known
        factor, order = _pivoted(block, min(_AT_ONCE, most - k))
        if not len(order):
            break
        taken, end = tried[order], k + len(order)
        fresh = _columns(found, [(a[order], b[order]) for a, b in pairs])
        fresh -= known[:, order].T @ rows[:k]
        rows[k:end] = solved(factor, fresh)
        each = lambda own, few=end - k: own.reshape(few, n, width).transpose(1, 0, 2)
        np.matmul(each(rows[k:end]), root, out=each(weighted[k:end]))
        lower[k:end, :k], lower[k:end, k:end], chosen[k:end] = known[:, order].T, factor, taken
        outside = np.maximum(outside - np.einsum("ki,ki->i", weighted[k:end], weighted[k:end]), 0.0)
        outside[taken] = 0.0
        k = end
    return Compressed(rows[:k], weighted[:k], own, chosen[:k], lower[:k, :k], float(outside.sum()))


def solved(lower: Float[np.ndarray, "k k"], rows: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "k m"]:
    """Return L^-1 X for a lower triangular L. X' is solved from the right, so LAPACK needs no transposed copy of X."""
    (solve,) = scipy.linalg.get_blas_funcs(("trsm",), (lower, rows))
    return solve(1.0, lower, rows.T, side=1, lower=1, trans_a=1).T


def form_error(span: Compressed, found: tuple[Factor, ...], root: Float[np.ndarray, "n C C"], ridge: float) -> float:
    """Return the largest relative error of H' as a quadratic form, l + l^1/2, with l by Lanczos' method.

    Args:
        span: the result of `compress`.
        found: the Jacobian J as factors from `joined`.
        root: the symmetric root R of each row.
        ridge: n times the decay, above 0.
    """
    shape = root.shape[:2]

    def rest(v: np.ndarray) -> np.ndarray:
        u = np.einsum("iab,ib->ia", root, v.reshape(shape))
        moved = sum(part.pushed_along(part.slope(u)) for part in found)
        return np.einsum("iab,ib->ia", root, moved).ravel() - span.weighted.T @ (span.weighted @ v)

    if span.left <= 1e-12 * ridge:
        return 0.0
    start = np.random.default_rng(0).normal(size=root[..., 0].size)
    largest = max(largest_eigenvalue(rest, start, _NEAR)[0], 0.0) / ridge
    return largest + math.sqrt(largest)


def _weighted(
    found: tuple[Factor, ...], root: Float[np.ndarray, "n C C"], places: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows of R J as one pair for each factor: inputs, and derivatives with respect to the layer's outputs."""
    row, output = np.divmod(places, root.shape[1])
    return [(part.taken[row], (root[row, output][:, None, :] @ part.pushed[row])[:, 0, :]) for part in found]


def _columns(found: tuple[Factor, ...], pairs: list[tuple[np.ndarray, np.ndarray]]) -> Float[np.ndarray, "k nC"]:
    """Return the inner products of some rows of R J with the rows of J."""
    n, width, _ = found[0].pushed.shape
    total = np.zeros((len(pairs[0][0]), n, width))
    for part, (taken, pushed) in zip(found, pairs, strict=True):
        term = (pushed @ part.pushed.reshape(n * width, -1).T).reshape(total.shape)
        term *= (taken @ part.taken.T)[:, :, None]
        total += term
    return total.reshape(len(total), -1)


def _pivoted(block: Float[np.ndarray, "b b"], most: int) -> tuple[Float[np.ndarray, "k k"], np.ndarray]:
    """Return the Cholesky factor of a block and the indices of its pivots, largest first and without small pivots."""
    (pivoted,) = scipy.linalg.get_lapack_funcs(("pstrf",), (block,))
    factor, order, rank, _ = pivoted(block, lower=1)
    pivots = np.diagonal(factor)[:rank]
    count = min(int((pivots**2 >= _SMALL * pivots[0] ** 2).sum()) if rank else 0, most)
    return np.tril(factor[:count, :count]), order[:count] - 1
