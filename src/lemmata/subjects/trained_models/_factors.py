"""The Jacobian of a dense network as factors: the inputs of each matrix, and derivatives with respect to its outputs.

If a row enters a product with a matrix W once, as W h, the derivative of output c with respect to W is b_c h^T. Here
b_c is the derivative of the output with respect to W h. For two rows with (h, b) and (k, a), the Gram matrix of the
derivatives is the sum over matrices of <h, k> <b_c, a_d>. This method never stores a vector of all P parameters. For n
rows and C outputs, the cost is (n C)² times the sum of widths instead of (n C)² P.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel
from ._once import once
from ._trained import Trained

_CHECKED = 4
_ROUNDING = 1e-10
_BLOCK = 2**28  # bytes of a block of rows of a Gram matrix
_FEW = 4


@dataclasses.dataclass(frozen=True)
class Factor:
    """The derivatives of the outputs with respect to one parameter array.

    For output c of row i, the derivative is the outer product pushed[i, c] taken[i]', times a scale.

    Args:
        taken: the inputs of the layer, or 1 for biases.
        pushed: the derivatives of the model's outputs with respect to the outputs of the layer.
        turned: whether the array has the shape (in, out) instead of (out, in).
        scale: the number by which the derivatives are multiplied.
    """

    taken: Float[np.ndarray, "n b"]
    pushed: Float[np.ndarray, "n C a"]
    turned: bool = False
    scale: float = 1.0

    def jacobian(self) -> Float[np.ndarray, "n C Q"]:
        """Return the derivatives as a matrix, one column for each of the Q = a b entries of the array."""
        n, width, _ = self.pushed.shape
        letters = "nb,nca->ncba" if self.turned else "nca,nb->ncab"
        both = (self.taken, self.pushed) if self.turned else (self.pushed, self.taken)
        return (self.scale * np.einsum(letters, *both)).reshape(n, width, -1)

    def slope(self, u: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "a b"]:
        """Return sum_i sum_c u_ic df_ic/dW without the scale, where f_ic is output c at row i and W is the array."""
        return np.einsum("nc,nca->na", u, self.pushed).T @ self.taken

    def pushed_along(self, v: Float[np.ndarray, "a b"]) -> Float[np.ndarray, "n C"]:
        """Return the derivative of each output along the direction v of the array W, without the scale."""
        return np.einsum("nca,na->nc", self.pushed, self.taken @ v.T)

    def rows(self, part: slice) -> "Factor":
        """Return the factor for some of the rows."""
        return dataclasses.replace(self, taken=self.taken[part], pushed=self.pushed[part])


def factors(
    model: AbstractModel, x: np.ndarray, prior: Float[np.ndarray, " P"] | None = None
) -> tuple[Factor, ...] | None:
    """Return the Jacobian as factors, one for each array, or None if the model is not a dense network.

    A factor is accepted if it equals the Jacobian on four of the rows, up to a relative error of 1e-10. An array that
    is used more than once has no factor.

    Args:
        model: the model at its parameters.
        x: the rows.
        prior: the numbers by which the derivatives with respect to the parameters are multiplied. If these numbers
            differ within an array, the result is None.
    """
    found = model.matrix_factors(x)
    if not found or len(model.layers) > 2 * len(found):
        return None
    few = np.unique(np.linspace(0, len(x) - 1, _CHECKED).astype(int))
    jacobian = model.jacobian(x[few])
    size = float(np.abs(jacobian).max())
    ends = np.cumsum([layer.size for layer in model.layers])
    factored: list[Factor] = []
    for layer, end in zip(model.layers, ends, strict=True):
        part = slice(end - layer.size, end)
        own = _believed(found, layer.name, layer.shape, jacobian[:, :, part], few, _ROUNDING * size)
        scales = np.ones(1) if prior is None else prior[part]
        if own is None or np.ptp(scales) > 0:
            return None
        factored.append(dataclasses.replace(own, scale=float(scales[0])))
    return tuple(factored)


def joined(found: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """Return fewer factors of the same Jacobian. Scales are applied, and biases are joined to matrices.

    If biases are added to the outputs of a matrix, the inputs of the matrix get one more entry. Sums over factors stay
    the same. But the columns of the Jacobian no longer belong to single arrays.

    Args:
        found: the result of `factors`.
    """
    same: dict[int, list[Factor]] = {}
    for own in found:
        same.setdefault(id(own.pushed), []).append(own)
    return tuple(
        Factor(np.concatenate([own.scale * own.taken for own in group], axis=1), group[0].pushed)
        for group in same.values()
    )


def _believed(
    found: dict[str, tuple[np.ndarray, np.ndarray]], name: str, shape: tuple[int, ...],
    jacobian: Float[np.ndarray, "k C Q"], few: np.ndarray, most: float,
) -> Factor | None:  # fmt: skip
    """Return a factor that reproduces an array's Jacobian on a few rows, or None. For biases, try each layer."""
    if name in found:
        tried = [Factor(*found[name], turned) for turned in (False, True)]
    else:
        ones = np.ones((len(next(iter(found.values()))[0]), 1))
        tried = [Factor(ones, pushed) for _, pushed in found.values() if shape == pushed.shape[2:]]
    for own in tried:
        sizes = (own.pushed.shape[2], own.taken.shape[1])
        if len(shape) == 2 and shape != (sizes[::-1] if own.turned else sizes):
            continue
        if np.abs(Factor(own.taken[few], own.pushed[few], own.turned).jacobian() - jacobian).max() <= most:
            return own
    return None


def gram_of(left: tuple[Factor, ...], right: tuple[Factor, ...] | None = None) -> Float[np.ndarray, "nC mC"]:
    """Return the inner products of the derivatives of outputs at some rows with the derivatives at other rows.

    Args:
        left: the factors of the rows.
        right: the factors of the other rows; None for the same rows.
    """
    other, width = joined(left if right is None else right), left[0].pushed.shape[1]
    left = joined(left)
    n, m = len(left[0].taken), len(other[0].taken)
    gram = np.empty((n * width, m * width))
    step = max(_BLOCK // (8 * width**2 * max(m, 1)), 1)
    for start in range(0, n, step):
        end = min(start + step, n)
        first = 0 if right is not None else start
        block = np.zeros((end - start, width, m - first, width))
        for a, b in zip(left, other, strict=True):
            inner = (
                a.pushed[start:end].reshape(-1, a.pushed.shape[2]) @ b.pushed[first:].reshape(-1, b.pushed.shape[2]).T
            )
            inner = inner.reshape(block.shape)
            inner *= (a.taken[start:end] @ b.taken[first:].T)[:, None, :, None]
            block += inner
        rows, columns = slice(start * width, end * width), slice(first * width, m * width)
        gram[rows, columns] = block.reshape((end - start) * width, -1)
        if right is None:
            gram[columns, rows] = gram[rows, columns].T
    return gram


def mean_gram(left: tuple[Factor, ...], right: tuple[Factor, ...]) -> Float[np.ndarray, "n m"]:
    """Return for each pair of rows the mean over outputs of the inner product of an output's derivatives at both rows.

    Args:
        left: the factors of the rows.
        right: the factors of the other rows.
    """
    width = left[0].pushed.shape[1]
    flat = lambda own: own.pushed.reshape(len(own.pushed), -1)
    pairs = zip(joined(left), joined(right), strict=True)
    return np.sum([(a.taken @ b.taken.T) * (flat(a) @ flat(b).T) for a, b in pairs], axis=0) / width


@once
def is_factored(trained: Trained) -> bool:
    """Return whether the Jacobian has factors, as for a dense network."""
    return trained.model.differentiable and factors(trained.model.in_double(), trained.x[:_FEW]) is not None
