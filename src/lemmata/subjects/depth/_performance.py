"""The exact worst case of gradient descent with given steps: a semidefinite program, solved by a barrier method.

Let f be B-smooth and mu-strongly convex, with the minimiser 0 and the least value 0, and let G(x) = grad f(x) - mu x.
The values f_i and vectors G_i at points x_i belong to such an f if and only if, for all i and j,

    f_i - f_j >= <G_j, x_i - x_j> + |G_i - G_j|²/(2 (B - mu)) + mu (|x_i|² - |x_j|²)/2.

The largest f_n under |x_0| <= 1 is then the value of a semidefinite program in the inner products of x_0 and all G_i.
This module solves the dual program: find the least T for which non-negative multipliers of these inequalities prove f_n
<= T |x_0|². Therefore every feasible T is a certificate, even if rounding affects the search. In this module, B is 1.

The norms of the points may shrink or grow by many orders of magnitude along the iteration. Therefore point i is
measured in a unit s_i, where |x_i| <= s_i |x_0|. The program uses the vectors G_i - (1 - mu) x_i/2. Their lengths are
at most (1 - mu) s_i/2 times |x_0|.
"""

import dataclasses

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from lemmata.core import one_blas_thread

_MARGIN = 1e-3
_CENTRED = 1e-8  # the square of the Newton decrement at which the search stops
_ROUGH = 1.0  # above this squared decrement, an inaccurate step is sufficient
_NEAR = 1 / 16  # below this squared decrement, full Newton steps converge quadratically
_MOST = 400


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A proof of f(x_n) - f* <= bound |x_0 - x*|², for B = 1.

    Args:
        bound: the proved bound, called T in the docstring of the module.
        attained: the value of f(x_n) - f* at |x_0 - x*| = 1 for a function f from the primal program.
        multipliers: the multipliers of the inequalities of all ordered pairs of points; the last point is the
            minimiser.
        least: the smallest eigenvalue of the dual matrix, which must be positive semidefinite, in the units s_i.
    """

    bound: float
    attained: float
    multipliers: np.ndarray
    least: float


def _reach(steps: np.ndarray, convexity: float) -> np.ndarray:
    """Return s_0 = 1, ..., s_n such that |x_i| <= s_i |x_0|, if the minimiser is 0."""
    return np.cumprod(np.append(1.0, np.maximum(np.abs(1 - steps), np.abs(1 - convexity * steps))))


def inequalities(steps: np.ndarray, convexity: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of the inequalities in x_0 and n + 1 other vectors, and the factors of f_0, ..., f_n.

    The other vectors are G_i - (1 - mu) x_i/2 in units of their largest lengths, where mu is `convexity`.
    """
    n, middle, half = len(steps), (1 + convexity) / 2, (1 - convexity) / 2
    points, turned = np.zeros((2, n + 2, n + 2))
    points[0, 0] = 1.0
    turned[:-1, 1:] = np.diag(half * _reach(steps, convexity))
    for i, step in enumerate(steps):
        points[i + 1] = (1 - middle * step) * points[i] - step * turned[i]
    points[n + 1] = 0.0
    gradients = half * points + turned
    matrices, factors = [], []
    outer = lambda a, b: (np.outer(a, b) + np.outer(b, a)) / 2
    for i in range(n + 2):
        for j in range(n + 2):
            if i == j:
                continue
            apart, bent = points[i] - points[j], gradients[i] - gradients[j]
            squares = convexity * outer(apart, points[i] + points[j]) / 2
            matrices.append(outer(gradients[j], apart) + outer(bent, bent) / (4 * half) + squares)
            factors.append(np.eye(n + 2)[i] - np.eye(n + 2)[j])
    return np.asarray(matrices), np.asarray(factors)[:, :-1]


def _descend(cost: np.ndarray, at: np.ndarray, parts: tuple, weight: float, until=None) -> tuple[np.ndarray, list]:
    """Take Newton steps for weight cost'y - log det(S(y)) - sum log l(y), where S and l are affine in y.

    Return y and matrices of inner products for the primal program. Let L be the Cholesky factor of S, d the Newton step
    and I the identity. Then a matrix is L^-T (I - L^-1 S(d) L^-T) L^-1, with the linear part S(d) of S. These matrices
    satisfy the linear equations of the primal program even if y is not the minimiser.
    """
    constant, matrices, start, rows = parts
    dim = len(constant)
    flat, upper = matrices.reshape(len(at), -1), np.triu_indices(dim)
    twice = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))

    def barrier(y: np.ndarray) -> float:
        sides = start + rows @ y
        if sides.min() <= 0:
            return np.inf
        try:
            factor = np.linalg.cholesky(constant + (y @ flat).reshape(dim, dim))
        except np.linalg.LinAlgError:
            return np.inf
        return weight * cost @ y - 2 * np.log(np.diag(factor)).sum() - np.log(sides).sum()

    found, nearest = [], np.inf
    for _ in range(_MOST):
        inverse = np.linalg.inv(np.linalg.cholesky(constant + (at @ flat).reshape(dim, dim)))
        pulled, scaled = inverse @ matrices @ inverse.T, rows / (start + rows @ at)[:, None]
        gradient = weight * cost - np.trace(pulled, axis1=1, axis2=2) - scaled.sum(axis=0)
        move, decrement = _newton(np.vstack([(pulled[:, *upper] * twice).T, scaled]), gradient)
        length = 1.0
        if not 0 < decrement < _NEAR or not np.isfinite(barrier(at + move)):
            value = barrier(at)
            while not barrier(at + length * move) <= value - length * decrement / 4 and length > 1e-9:
                length /= 2
        else:
            found.append((decrement, inverse.T @ (np.eye(dim) - np.tensordot(move, pulled, 1)) @ inverse))
        # Below _NEAR, exact steps divide the decrement by 5 at least. If the decrement does not fall by half, the rest
        # is rounding.
        if not (decrement > 0 and length > 1e-9) or decrement > nearest / 2:
            break
        nearest = decrement if decrement < _NEAR else np.inf
        at = at + length * move
        if decrement < _CENTRED or (until is not None and until(at)):
            break
    return at, [inner for _, inner in sorted(found, key=lambda pair: pair[0])[:2]]


def _newton(jacobian: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
    """Return Newton's step for the Hessian J'J, and the square of the Newton decrement.

    The QR factor of the Jacobian J keeps twice as many digits as the Cholesky factor of J'J, but takes five times as
    long. Therefore the function uses the Cholesky factor for large decrements. Then a descent direction is sufficient.
    """
    unit = 1 / np.linalg.norm(jacobian, axis=0)
    jacobian, gradient = jacobian * unit, unit * gradient
    solved = lambda factor: -solve_triangular(factor, solve_triangular(factor, gradient, trans=1))
    try:
        move = solved(cholesky(jacobian.T @ jacobian))
    except LinAlgError:
        move = np.zeros(len(unit))
    if not -gradient @ move > _ROUGH:
        move = solved(np.linalg.qr(jacobian, mode="r"))
    return unit * move, float(-gradient @ move)


def certificate(steps: np.ndarray, convexity: float = 0.0, accuracy: float = 1e-9) -> Certificate:
    """Return the least bound for steps in units of 1/B and for the ratio mu/B.

    Args:
        steps: the numbers h_0, ..., h_(n-1) of the iteration x_(i+1) = x_i - h_i grad f(x_i)/B.
        convexity: the ratio mu/B, which is below 1.
        accuracy: the relative accuracy of the bound.
    """
    with one_blas_thread():  # on a busy machine, two threads can wait minutes for each other in small factorisations
        return _searched(np.asarray(steps, float), convexity, accuracy)


def _searched(steps: np.ndarray, convexity: float, accuracy: float) -> Certificate:
    matrices, factors = inequalities(steps, convexity)
    size, dim = len(matrices), len(matrices[0])
    # A multiplier of the points i and j is of the order (s_n/s)², where s is the larger of s_i and s_j.
    reach = np.append(_reach(steps, convexity), 0.0)
    sizes = (reach[-2] / np.maximum.outer(reach, reach)[~np.eye(dim, dtype=bool)]) ** 2
    scaled = sizes[:, None, None] * matrices / reach[-2] ** 2
    # All multipliers equal 1, plus 1 more for the pair of the minimiser and x_n. The factors of f then prove f_n <= T.
    first = np.ones(size)
    first[-1] += 1.0 / sizes[-1]
    values, basis = np.linalg.svd((sizes[:, None] * factors).T)[1:]
    free = basis[len(values) :].T
    corner = np.zeros((dim, dim))
    corner[0, 0] = 1.0
    along = np.einsum("kf,kab->fab", free, scaled)
    constant = np.einsum("k,kab->ab", first, scaled)
    both = np.concatenate([along, corner[None], np.eye(dim)[None]])
    rows = np.hstack([free, np.zeros((size, 2))])
    at = np.zeros(free.shape[1] + 2)
    at[-2], at[-1] = 1.0, 1.0 - np.linalg.eigvalsh(constant)[0]
    cost = np.zeros(len(at))
    cost[-1] = 1.0
    weight = 1.0
    while at[-1] > -_MARGIN and weight < 1e12:
        at, _ = _descend(cost, at, (constant, both, first, rows), weight, until=lambda y: y[-1] < -_MARGIN)
        weight *= 4
    at, parts = at[:-1], (constant, both[:-1], first, rows[:, :-1])
    cost, weight = cost[1:], len(at) / at[-1]  # with this weight, the centre has a bound of the order of at[-1]
    best = Certificate(np.inf, 0.0, first, -np.inf)
    for _ in range(25):
        at, inners = _descend(cost, at, parts, weight)
        least = float(np.linalg.eigvalsh(constant + np.tensordot(at, both[:-1], 1))[0])
        bound = float(at[-1] * reach[-2] ** 2)
        if not (least > 0 and bound <= best.bound):
            break  # rounding
        attained = max([best.attained, *(_attained(inner, matrices) for inner in inners)])
        best = Certificate(bound, attained, sizes * (first + rows[:, :-1] @ at), least)
        if best.bound - best.attained < accuracy * best.bound:
            break
        weight *= 8
    return best


def _attained(inner: np.ndarray, matrices: np.ndarray) -> float:
    """Return the largest f_n for given inner products, from a shortest path, or 0 if no function has these products."""
    points = len(inner)
    lengths = np.zeros((points, points))
    lengths[~np.eye(points, dtype=bool)] = -np.tensordot(matrices, inner / inner[0, 0], 2)
    for middle in range(points):
        lengths = np.minimum(lengths, lengths[:, [middle]] + lengths[[middle], :])
    return float(lengths[-1, -2]) if np.diag(lengths).min() >= 0 else 0.0
