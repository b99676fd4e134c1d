"""The Gauss-Newton curvature of many outputs, restricted to the span of a few rows, and the error of this restriction.

Let J be the Jacobian of all outputs, and let R be the symmetric square roots of the Hessians of the losses with respect
to the outputs. Rows of R J are chosen in blocks. A block has the rows whose parts outside the span of the earlier rows
are longest. The squared lengths of these parts are the diagonal of R J J' R minus its part in the span. This choice is
a pivoted partial Cholesky factorisation of R J J' R by blocks. Only the chosen columns of R J J' R are computed. Let
J_w = R J, let Q be the projection onto the span, and let ridge be the number of rows of data times the decay. Then J_w'
J_w + ridge is replaced by H' = Q J_w' J_w Q + ridge. As quadratic forms, the two matrices differ by at most l + l^1/2,
relative to H'. Here l is the largest eigenvalue of the part of R J J' R outside the span, divided by the ridge. In
outputs that are computed from H', the error of order l^1/2 mostly cancels, and an error of order l remains.
"""

import dataclasses
import math

import numpy as np
import scipy.linalg
from jaxtyping import Float

from ._factors import Factor
from ._sharpness import largest_eigenvalue

_AT_ONCE = 256
# The default limit of the squared length outside the span, as a multiple of the ridge. Results with this limit were
# accurate: the error was 0.0005 of the spread for outputs without a row, and 0.0003 for the loss.
_LEFT = 3.0
MOST = 6000
_ROUNDING = 1e-9  # share of the largest squared length; a smaller squared length counts as 0
_NEAR = 0.1  # the tolerance of the largest eigenvalue
_SMALL = 0.05  # share of the largest pivot of a block; smaller pivots wait for a later block


@dataclasses.dataclass(frozen=True)
class Compressed:
    """The rows of J and of R J in an orthonormal basis of the span of chosen rows.

    Args:
        rows: the rows of J in this basis. Each column is one row of J, for one output at one row of data.
        weighted: the rows of R J, in the same order.
        own: J_i J_i' for each row of data, where J_i is the Jacobian of the outputs at row i.
        chosen: the indices of the rows of R J that span the space.
        lower: the Cholesky factor of the Gram matrix of the chosen rows.
        left: the squared length of the part of R J that is outside the span, summed over all rows of R J.
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
    """Return a span of rows such that the squared length of R J outside the span is at most `left` times the ridge.

    The choice of rows also ends after `most` rows, or if the remaining parts of the rows are rounding errors.

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
    """Return L^-1 X for a lower triangular L. The transposed equation is solved, so no transposed copy is needed."""
    (solve,) = scipy.linalg.get_blas_funcs(("trsm",), (lower, rows))
    return solve(1.0, lower, rows.T, side=1, lower=1, trans_a=1).T


def form_error(span: Compressed, found: tuple[Factor, ...], root: Float[np.ndarray, "n C C"], ridge: float) -> float:
    """Return the largest relative error l + l^1/2 of H' as a quadratic form, with l from Lanczos' method.

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
    """Return some rows of R J as a pair for each layer: inputs, and derivatives with respect to the layer's outputs."""
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
    """Return the Cholesky factor of a block and the indices of its pivots.

    The pivots come in descending order. Pivots that are small relative to the first are left out.
    """
    (pivoted,) = scipy.linalg.get_lapack_funcs(("pstrf",), (block,))
    factor, order, rank, _ = pivoted(block, lower=1)
    pivots = np.diagonal(factor)[:rank]
    count = min(int((pivots**2 >= _SMALL * pivots[0] ** 2).sum()) if rank else 0, most)
    return np.tril(factor[:count, :count]), order[:count] - 1
