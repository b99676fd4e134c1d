"""The Gauss-Newton matrix of a model on its training rows: eigenvalues, effective dimension and evidence.

The matrix is M = J' Lambda J, where J is the Jacobian of all outputs and Lambda is the Hessian of each row's loss with
respect to its outputs. The eigenvalues of M other than 0 are the eigenvalues other than 0 of the dual matrix Lambda^1/2
J J' Lambda^1/2, of size n C.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from jaxtyping import Float
from scipy import stats

from lemmata.core import one_blas_thread

from ._contract import AbstractModel
from ._leave_one_out import LeftOut, leave_one_out, output_gram, planned_bytes, prior_of, roots
from ._once import once
from ._task import Task
from ._trained import Trained


def gauss_newton_eigenvalues(
    model: AbstractModel, x: np.ndarray, task: Task, y: Float[np.ndarray, "n C"] | None = None
) -> Float[np.ndarray, " k"]:
    """Return the k = min(n C, P) eigenvalues of M that can differ from 0, from the smaller of M and its dual.

    If only some parameters decay, the other parameters are treated as if they had 1/10000 of this decay.

    Args:
        model: a model with derivatives.
        x: the training rows.
        task: the meaning of outputs, with the loss.
        y: the targets, if the curvature of the loss depends on them.

    Raises:
        MemoryPlanError: if the matrix for n C outputs and P parameters does not fit into memory.
    """
    return np.maximum(scipy.linalg.eigvalsh(_smaller(model, x, task, y), overwrite_a=True), 0.0)


def _smaller(
    model: AbstractModel, x: np.ndarray, task: Task, y: Float[np.ndarray, "n C"] | None
) -> Float[np.ndarray, "k k"]:
    """Return M or its dual, whichever is smaller."""
    f = model.outputs(x)
    (n, width), root = f.shape, roots(task.curvatures(f, y))
    planned_bytes(n, width, len(model.theta))
    if len(model.theta) < f.size:
        jacobian = model.jacobian(x) * prior_of(model)
        weighted = np.einsum("iab,ibp->iap", root, jacobian).reshape(f.size, -1)
        return weighted.T @ weighted
    weighted = root @ output_gram(model, x, width).reshape(n, width, -1)
    return (weighted.reshape(f.size, n, width).transpose(1, 0, 2) @ root).transpose(1, 0, 2).reshape(f.size, -1)


_NEAR = 0.05  # relative gap of the two rules at which a probe ends; probes differ by about as much


@dataclasses.dataclass(frozen=True)
class DimensionEstimate:
    """The effective dimension tr M (M + ridge)^-1, computed only from products with M; the ridge is n times the decay.

    Args:
        value: the estimate, halfway between the means of `low` and `high` over the probes.
        low: a lower bound of u' K (K + ridge)^-1 u for each probe u, with K as in `dimension_by_products`.
        high: an upper bound of the same number.
        products: the number of products with M.
    """

    value: float
    low: Float[np.ndarray, " probes"]
    high: Float[np.ndarray, " probes"]
    products: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the lower end of Student's confidence interval for the mean of `low`, and the upper end for `high`."""
        count = len(self.low)
        reach = stats.t.ppf((1 + level) / 2, count - 1) / np.sqrt(count)
        below, above = (float(own.mean() + sign * reach * own.std(ddof=1)) for own, sign in
                        ((self.low, -1), (self.high, 1)))  # fmt: skip
        return max(below, 0.0), above


def dimension_by_products(
    model: AbstractModel, x: np.ndarray, task: Task, ridge: float, *, probes: int, steps: int, seed: int,
    y: Float[np.ndarray, "n C"] | None = None,
) -> DimensionEstimate:  # fmt: skip
    """Estimate the effective dimension as the mean of u' K (K + ridge)^-1 u over random signs u, by quadrature.

    Here K = R J J' R, where R contains the symmetric square roots of the Hessians of the losses. K has the same nonzero
    eigenvalues as M, and so the same effective dimension. Unlike M, it does not depend on the order of the parameters,
    so the estimate does not depend on this order either. After k Lanczos products from u, u' g(K) u for a function g is
    replaced by a weighted sum of g at the eigenvalues of the tridiagonal matrix. The weights are the squares of the
    first entries of its eigenvectors. This sum is exact if g is a polynomial up to degree 2 k - 1 (Gauss' rule). With a
    further node at 0, it is exact up to degree 2 k (Radau's rule). Here g(s) is s/(s + ridge). The derivatives of g
    have alternating signs, which determine the signs of the errors of both rules. So Gauss' rule gives an upper bound
    and Radau's rule gives a lower bound, even if both rules converge slowly. The computation stores k arrays of outputs
    and one vector of parameters.

    Args:
        model: a model with derivatives.
        x: the training rows.
        task: the meaning of the outputs, with the loss.
        ridge: n times the decay, above 0.
        probes: the number of random vectors u.
        steps: the largest number of products per probe. A probe ends earlier if the space is exhausted or the two rules
            agree to 1/20.
        seed: the seed of the probes.
        y: the targets, if the curvature of the loss depends on them.
    """
    values, vectors = np.linalg.eigh(task.curvatures(model.outputs(x), y))
    root = np.einsum("iab,ib,icb->iac", vectors, np.sqrt(np.maximum(values, 0.0)), vectors)
    prior, shape = prior_of(model), root.shape[:2]
    curved = lambda flat: np.einsum("iab,ib->ia", root, flat.reshape(shape))
    push, pull = model.linear(x)
    product = lambda u: curved(push(prior**2 * pull(curved(u)))).ravel()
    rng, size, found = np.random.default_rng([seed, 15]), root[..., 0].size, []
    with one_blas_thread():
        for _ in range(probes):
            found.append(_quadrature(product, rng.choice([-1.0, 1.0], size) / np.sqrt(size), steps, ridge))
    low, high, products = np.array(found).T
    value = size * float(low.mean() + high.mean()) / 2
    return DimensionEstimate(value, size * low, size * high, int(products.sum()))


def _quadrature(
    product: Callable[[np.ndarray], np.ndarray], start: Float[np.ndarray, " nC"], steps: int, ridge: float
) -> tuple[float, float, int]:
    """Return Radau's and Gauss' values of start' K (K + ridge)^-1 start, and the number of products with K.

    The vector `start` has length 1, and `product` multiplies a vector by K (see `dimension_by_products`).
    """
    basis, vector = np.zeros((min(steps, len(start)), len(start))), start
    diagonal, beside = [], []
    for k in range(len(basis)):
        basis[k] = vector
        vector = product(vector)
        diagonal.append(float(vector @ basis[k]))
        for _ in range(2):  # orthogonalise twice, which is enough against rounding errors
            vector = vector - basis[: k + 1].T @ (basis[: k + 1] @ vector)
        beside.append(float(np.linalg.norm(vector)))
        least, most = _gauss_and_radau(np.array(diagonal), np.array(beside), ridge) if k % 3 == 2 else (0.0, 1.0)
        if beside[-1] <= 1e-10 * max(diagonal) or most - least <= _NEAR * most:
            break
        vector = vector / beside[-1]
    return *_gauss_and_radau(np.array(diagonal), np.array(beside), ridge), len(diagonal)


def _gauss_and_radau(
    diagonal: Float[np.ndarray, " k"], beside: Float[np.ndarray, " k"], ridge: float
) -> tuple[float, float]:
    """Return Radau's and Gauss' values of the integral of s/(s + ridge), from a tridiagonal k x k matrix T.

    The last entry of `beside` is b, the off-diagonal entry after T. For the node 0, Radau's rule appends the diagonal
    entry b² (T^-1)_kk.
    """

    def integral(main: np.ndarray, off: np.ndarray) -> float:
        nodes, weights = scipy.linalg.eigh_tridiagonal(main, off)
        nodes = np.maximum(nodes, 0.0)
        return float(weights[0] ** 2 @ (nodes / (nodes + ridge)))

    most = integral(diagonal, beside[:-1])
    if beside[-1] <= 1e-10 * diagonal.max():
        return most, most
    nodes, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside[:-1])
    if nodes.min() <= 1e-14 * nodes.max():
        return most, most  # T already has a node at 0
    last = beside[-1] ** 2 * float(vectors[-1] ** 2 @ (1 / nodes))
    return min(integral(np.append(diagonal, last), beside), most), most


def damping_of_most_evidence(eigenvalues: Float[np.ndarray, " k"], theta: Float[np.ndarray, " P"], n: int) -> float:
    """Return the decay delta that maximises Laplace's approximation of the log evidence at the current weights.

    The log evidence is -(n delta/2) |theta|² - (1/2) sum log(1 + lambda_i/(n delta)), up to the loss, which does not
    depend on delta.

    Args:
        eigenvalues: the eigenvalues lambda_i of M.
        theta: the decayed parameters.
        n: the number of training rows.
    """
    square = float(theta @ theta)

    def against(log_ridge: float) -> float:
        ridge = np.exp(log_ridge)
        return ridge / 2 * square + np.log1p(eigenvalues / ridge).sum() / 2

    top = max(float(eigenvalues.max()), 1e-300)
    ends = (np.log(top * 1e-12), np.log(top * 1e4))
    found: Any = scipy.optimize.minimize_scalar(against, bounds=ends, method="bounded")
    return float(np.exp(found.x)) / n


@once
def gauss_newton_spectrum(trained: Trained) -> Float[np.ndarray, " k"]:
    """Return the eigenvalues of the Gauss-Newton matrix at the current weights."""
    return gauss_newton_eigenvalues(trained.model.in_double(), trained.x, trained.task, trained.y)


@once
def rows_left_out_at_evidence(trained: Trained) -> LeftOut:
    """Return the results of leaving each row out at the current weights, with the decay that maximises the evidence."""
    model, n = trained.model.in_double(), len(trained.x)
    kept = model.theta if model.decayed is None else model.theta[model.decayed]
    damping = damping_of_most_evidence(gauss_newton_spectrum(trained), kept, n)
    return leave_one_out(model, trained.x, trained.y, trained.task, damping)
