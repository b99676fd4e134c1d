"""Estimate the largest eigenvalues of a symmetric operator from its products with vectors, with upper bounds."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from lemmata.answers import Condition, inside, whole
from lemmata.core import available_bytes, key_from
from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.printable import preformatted

from ._krylov import RitzValues, dense, ritz_values, three_term, with_basis
from ._products import Product, check_product, check_vector

_CLAIMS = ("optimisers.curvature.lanczos_from_random_start",)
_COPIES = 4  # the copies of the basis in memory: itself, its transpose, the pytrees made of it, and one by the compiler


@dataclasses.dataclass(frozen=True, eq=False)
class LargestEigenvalues:
    """The result of `largest_eigenvalues`.

    Args:
        values: the estimates of the eigenvalues, the largest first. Up to rounding, the i-th estimate is at most the
            i-th largest eigenvalue.
        upper: an upper bound on the largest eigenvalue. Over the random start, the bound fails with probability at most
            `failure`.
        failure: the largest probability that `upper` is too small.
        residuals: the length of A x - value x for each value and its vector x. Some eigenvalue is at most this far
            from the value.
        smallest: the smallest value that was found. The smallest eigenvalue is at most this value.
        products: the number of products that were computed.
        dimension: the dimension of the vectors.
        vectors: unit eigenvectors in the structure of the operator's vectors, with a first axis for the rank; None if
            no basis was stored.
        conditions: the conditions under which the results hold, and whether they were checked.
        claims: the names of the claims of lemmata that state the results.
    """

    values: tuple[float, ...]
    upper: float
    failure: float
    residuals: tuple[float, ...]
    smallest: float
    products: int
    dimension: int
    vectors: PyTree | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def largest(self) -> float:
        """The estimate of the largest eigenvalue."""
        return self.values[0]

    def __str__(self) -> str:
        lines = [
            f"largest eigenvalue {self.largest:.6g}, at most {self.upper:.6g} with probability {1 - self.failure:g}",
            f"residual {self.residuals[0]:.2g}, {self.products} products in {self.dimension:,} dimensions",
        ]
        if len(self.values) > 1:
            lines.append("then " + ", ".join(f"{value:.6g}" for value in self.values[1:]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return preformatted(self)


def largest_eigenvalues(
    product: Product,
    like: PyTree,
    count: int = 1,
    *,
    tolerance: float = 0.01,
    failure: float = 0.01,
    products: int | None = None,
    vectors: bool = False,
    seed: int = 0,
) -> LargestEigenvalues:
    """Estimate the largest eigenvalues of a symmetric operator A from its products, by Lanczos' method.

    The method starts at a random vector, uniform on the sphere in n dimensions. Let the width of the spectrum be the
    difference of its largest and smallest eigenvalue. Except with probability p, the value from k products is below the
    largest eigenvalue by at most e times this width, where

        e = ( log(1.648 sqrt(n) / p) / (2 k - 1) )²

    (Kuczynski and Wozniakowski 1992). The bound holds for every spectrum. Most estimates are far more accurate than
    this bound, and `residuals` gives their accuracy. The same bound at the other end of the spectrum limits the width,
    so

        value <= lambda_max <= value + e/(1 - 2 e) (value - smallest),

    where the bound at each end of the spectrum may fail with half of the probability `failure`. One eigenvalue needs
    three vectors in memory. Several eigenvalues, or eigenvectors, need a stored orthogonal basis of k vectors. An
    eigenvalue that is repeated counts once. If there are no more dimensions than products, the matrix is formed, and
    all results are exact up to rounding. The computation has the precision of the arrays in `like`.

    Args:
        product: the function v -> A v, linear and symmetric, in JAX. Compiled code is reused for equal functions, and
            for products that `hessian_product` returns for the same loss.
        like: a vector or a pytree of floating-point arrays, of the shapes of v; its values do not matter.
        count: the number of eigenvalues.
        tolerance: the distance of `upper` from the largest value, as a share of the observed width of the spectrum. The
            tolerance determines the number of products.
        failure: the probability with which the largest eigenvalue may be above `upper`.
        products: the number of products. None means the number that the tolerance needs.
        vectors: whether to return eigenvectors.
        seed: the seed of the random start.

    Raises:
        DataError: for numbers that are not real, or products that are not finite or not symmetric.
        ShapeError: for products whose shapes differ from those of the vectors.
        SettingError: for a product that JAX cannot compute, or if a setting is out of its bounds.
        MemoryPlanError: if the basis does not fit into memory.

    >>> A = jnp.diag(jnp.linspace(0.0, 5.0, 400))
    >>> found = largest_eigenvalues(lambda v: A @ v, jnp.zeros(400))
    >>> bool(found.largest <= 5.0 <= found.upper <= 5.1), found.products
    (True, 45)
    """
    check_vector("like", like)
    n = ravel_pytree(like)[0].size
    inside("tolerance", tolerance, 0.0, 1.0)
    inside("failure", failure, 0.0, 1.0)
    whole("count", count, 1)
    whole("seed", seed)
    if count > n:
        raise SettingError("count", found=count, rule=f"at most {n}, the dimension")
    k = max(_needed(n, tolerance, failure), count + 1) if products is None else whole("products", products, count + 1)
    check_product(product, like)
    if n <= k:
        return _exact(product, like, count, failure, n)
    key, eps = key_from(seed, "lanczos"), float(jnp.finfo(ravel_pytree(like)[0].dtype).eps)
    if count == 1 and not vectors:
        diagonal, beside, skews = (np.asarray(part, float) for part in three_term(product, like, key, k))
        ritz, basis = ritz_values(diagonal, beside, skews, eps), None
    else:
        ritz, basis = _stored(product, like, key, k, n, eps)
    return _answer(ritz, basis, count, k, n, failure, eps)


def _needed(n: int, tolerance: float, failure: float) -> int:
    """The number of products after which the relative width e/(1 - 2e) of the bound is at most the tolerance."""
    share = tolerance / (1 + 2 * tolerance)
    return math.ceil((_logarithm(n, failure) / math.sqrt(share) + 1) / 2)


def _logarithm(n: int, failure: float) -> float:
    return math.log(1.648 * math.sqrt(n) / (failure / 2))  # half of the probability for each end


def _stored(product: Product, like: PyTree, key, k: int, n: int, eps: float) -> tuple[RitzValues, PyTree]:
    needed = _COPIES * k * n * ravel_pytree(like)[0].dtype.itemsize
    if needed > available_bytes():
        raise MemoryPlanError(
            f"a basis of {k} vectors with {n} numbers",
            found=f"{needed / 2**30:.1f} GiB are needed, but only {available_bytes() / 2**30:.1f} GiB are free",
            rule="a basis that fits into memory",
            remedy="use fewer products, or ask for one eigenvalue without its vector, which needs no basis",
        )
    basis, matrix, out = with_basis(product, like, key, k)
    matrix = np.asarray(matrix, float)
    beside = np.append(np.diag(matrix, -1), float(out))
    skews = np.abs(np.triu(matrix, 1) - np.tril(matrix, -1).T).max(axis=0)
    return ritz_values(np.diag(matrix), beside, skews, eps), basis


def _answer(
    ritz: RitzValues, basis: PyTree, count: int, k: int, n: int, failure: float, eps: float
) -> LargestEigenvalues:
    _check(ritz.values, ritz.asymmetry, eps)
    share = (_logarithm(n, failure) / (2 * k - 1)) ** 2
    width = float(ritz.values[0] - ritz.values[-1])
    upper = float(ritz.values[0]) + (share / (1 - 2 * share) * width if share < 0.5 else math.inf)
    if ritz.whole:
        upper = float(ritz.values[0] + ritz.residuals[0])
    vectors = None
    if basis is not None:
        weights = ritz.weights[:, :count]
        combine = lambda leaf: jnp.tensordot(jnp.asarray(weights, leaf.dtype).T, leaf[: len(weights)], axes=1)
        vectors = jax.tree.map(combine, basis)
    return LargestEigenvalues(
        values=tuple(map(float, ritz.values[:count])),
        upper=upper,
        failure=failure,
        residuals=tuple(map(float, ritz.residuals[:count])),
        smallest=float(ritz.values[-1]),
        products=min(k, len(ritz.values)) if ritz.whole else k,
        dimension=n,
        vectors=vectors,
        conditions=_conditions(ritz.asymmetry),
    )


def _exact(product: Product, like: PyTree, count: int, failure: float, n: int) -> LargestEigenvalues:
    matrix = np.asarray(dense(product, like), float)
    eps = float(jnp.finfo(ravel_pytree(like)[0].dtype).eps)
    _check(matrix, float(np.abs(matrix - matrix.T).max()), eps)
    values, columns = np.linalg.eigh((matrix + matrix.T) / 2)
    rounding = 8 * eps * float(np.abs(values).max())
    unravel = ravel_pytree(like)[1]
    rows = jnp.asarray(columns[:, ::-1][:, :count].T, ravel_pytree(like)[0].dtype)
    return LargestEigenvalues(
        values=tuple(map(float, values[::-1][:count])),
        upper=float(values[-1]) + rounding,
        failure=failure,
        residuals=(rounding,) * count,
        smallest=float(values[0]),
        products=n,
        dimension=n,
        vectors=jax.vmap(unravel)(rows),
        conditions=_conditions(float(np.abs(matrix - matrix.T).max())),
    )


def _check(numbers: np.ndarray, asymmetry: float, eps: float) -> None:
    if not np.isfinite(numbers).all() or not np.isfinite(asymmetry):
        raise DataError(
            "products",
            found="NaN or infinity",
            rule="finite products",
            remedy="check the operator for entries that are not finite",
        )
    scale = float(np.abs(numbers).max())
    if asymmetry > 4 * math.sqrt(eps) * scale:
        raise DataError(
            "product",
            found=f"|u'Av - v'Au| = {asymmetry:.2g} for vectors u and v, which should be near 0 compared with "
            f"{scale:.2g}",
            rule="a symmetric operator",
        )


def _conditions(asymmetry: float) -> tuple[Condition, ...]:
    return (
        Condition("products are symmetric", asymmetry, True, "|u'Av - v'Au| for the unit vectors of the iteration"),
        Condition(
            "the start is uniform on the sphere", None, True, "drawn from the seed; the bound averages over the starts"
        ),
    )
