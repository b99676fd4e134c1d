"""The exact worst case of gradient descent with given steps: a semidefinite program, by a barrier method.

Let f be B-smooth and mu-strongly convex, with its minimiser and least value at 0. The values f_i and gradients g_i at
points x_i belong to such an f if and only if, for all i and j,

    f_i >= f_j + <g_j, x_i - x_j> + (|g_i - g_j|²/B + mu |x_i - x_j|² - 2 (mu/B) <g_j - g_i, x_j - x_i>)/(2 (1 - mu/B)).

The largest f_n under |x_0| <= 1 is then a program in the inner products of x_0 and all g_i. Its dual is solved: the
least T for which there are multipliers of these inequalities, not negative, that prove f_n <= T |x_0|². So every
feasible T is a certificate, with any rounding error of the search. B is 1 here.
"""

import dataclasses

import numpy as np

_MARGIN = 1e-3


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A proof of f(x_n) - f* <= bound |x_0 - x*|², for B = 1.

    Args:
        bound: T.
        attained: the value of f(x_n) - f* at |x_0 - x*| = 1 of a function that was found.
        multipliers: the multipliers of the inequalities of all ordered pairs of points; the last point is the
            minimiser.
        least: the least eigenvalue of the matrix that must be positive semidefinite.
    """

    bound: float
    attained: float
    multipliers: np.ndarray
    least: float


def inequalities(steps: np.ndarray, convexity: float) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of the inequalities in (x_0, g_0, ..., g_n), and their rows of factors of f_0, ..., f_n."""
    n = len(steps)
    gradients = np.vstack([np.eye(n + 2)[1:], np.zeros(n + 2)])
    points = np.zeros((n + 2, n + 2))
    points[0, 0] = 1.0
    for i, step in enumerate(steps):
        points[i + 1] = points[i] - step * gradients[i]
    points[n + 1] = 0.0
    matrices, factors = [], []
    outer = lambda a, b: (np.outer(a, b) + np.outer(b, a)) / 2
    for i in range(n + 2):
        for j in range(n + 2):
            if i == j:
                continue
            apart, bent = points[i] - points[j], gradients[i] - gradients[j]
            curved = outer(bent, bent) + convexity * outer(apart, apart) - 2 * convexity * outer(bent, apart)
            matrices.append(outer(gradients[j], apart) + curved / (2 * (1 - convexity)))
            factors.append(np.eye(n + 2)[i] - np.eye(n + 2)[j])
    return np.asarray(matrices), np.asarray(factors)[:, :-1]


def _descend(cost: np.ndarray, at: np.ndarray, parts: tuple, weight: float, until=None) -> np.ndarray:
    """Newton steps for weight cost'y - log det(S(y)) - sum log l(y), where S and l are affine in y."""
    constant, matrices, start, rows = parts
    dim = len(constant)
    flat = matrices.reshape(len(at), -1)

    def barrier(y: np.ndarray) -> float:
        sides = start + rows @ y
        if sides.min() <= 0:
            return np.inf
        try:
            factor = np.linalg.cholesky(constant + (y @ flat).reshape(dim, dim))
        except np.linalg.LinAlgError:
            return np.inf
        return weight * cost @ y - 2 * np.log(np.diag(factor)).sum() - np.log(sides).sum()

    for _ in range(60):
        inverse = np.linalg.inv(constant + (at @ flat).reshape(dim, dim))
        sides = start + rows @ at
        pulled = inverse @ matrices
        scaled = rows / sides[:, None]
        gradient = weight * cost - np.trace(pulled, axis1=1, axis2=2) - scaled.sum(axis=0)
        swapped = pulled.transpose(0, 2, 1).reshape(len(at), -1)
        hessian = pulled.reshape(len(at), -1) @ swapped.T + scaled.T @ scaled
        unit = 1 / np.sqrt(np.abs(np.diag(hessian)))
        move = -unit * _solved(unit[:, None] * hessian * unit, unit * gradient)
        decrement = -gradient @ move
        length, value = 1.0, barrier(at)
        while not barrier(at + length * move) <= value - length * decrement / 4 and length > 1e-9:
            length /= 2
        if not (decrement > 0 and length > 1e-9):
            break
        at = at + length * move
        if decrement < 1e-4 or (until is not None and until(at)):
            break
    return at


def _solved(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    try:
        found = np.linalg.solve(matrix, vector)
    except np.linalg.LinAlgError:
        found = np.full_like(vector, np.nan)
    return found if vector @ found > 0 else np.linalg.lstsq(matrix, vector, rcond=1e-15)[0]


def certificate(steps: np.ndarray, convexity: float = 0.0, accuracy: float = 1e-9) -> Certificate:
    """The least bound for steps that are given in units of 1/B, and mu/B.

    Args:
        steps: h_0, ..., h_(n-1); the iteration is x_(i+1) = x_i - h_i grad f(x_i)/B.
        convexity: mu/B, below 1.
        accuracy: the accuracy of the bound, relative.
    """
    matrices, factors = inequalities(np.asarray(steps, float), convexity)
    size, dim = len(matrices), len(matrices[0])
    # All multipliers equal 1, and 1 more for the pair of the minimiser and x_n: the factors of f then prove f_n <= T.
    first = np.ones(size)
    first[-1] += 1.0
    values, basis = np.linalg.svd(factors.T)[1:]
    free = basis[len(values) :].T
    corner = np.zeros((dim, dim))
    corner[0, 0] = 1.0
    along = np.einsum("kf,kab->fab", free, matrices)
    constant = np.einsum("k,kab->ab", first, matrices)
    both = np.concatenate([along, corner[None], np.eye(dim)[None]])
    rows = np.hstack([free, np.zeros((size, 2))])
    at = np.zeros(free.shape[1] + 2)
    at[-2], at[-1] = 1.0, 1.0 - np.linalg.eigvalsh(constant)[0]
    cost = np.zeros(len(at))
    cost[-1] = 1.0
    weight = 1.0
    while at[-1] > -_MARGIN and weight < 1e12:
        at = _descend(cost, at, (constant, both, first, rows), weight, until=lambda y: y[-1] < -_MARGIN)
        weight *= 4
    at, parts = at[:-1], (constant, both[:-1], first, rows[:, :-1])
    cost, weight = cost[1:], 1 / at[-1]
    best = Certificate(np.inf, 0.0, first, -np.inf)
    for _ in range(20):
        at = _descend(cost, at, parts, weight)
        matrix = constant + np.tensordot(at, both[:-1], 1)
        least = float(np.linalg.eigvalsh(matrix)[0])
        if not (least > 0 and at[-1] <= best.bound):
            break  # rounding
        attained = max(_attained(np.linalg.inv(matrix), matrices), best.attained)
        best = Certificate(float(at[-1]), attained, first + rows[:, :-1] @ at, least)
        if best.bound - best.attained < accuracy * best.bound:
            break
        weight *= 8
    return best


def _attained(inner: np.ndarray, matrices: np.ndarray) -> float:
    """The largest f_n that inner products allow, or 0 if they belong to no function: a shortest path."""
    points = len(inner)
    lengths = np.zeros((points, points))
    lengths[~np.eye(points, dtype=bool)] = -np.tensordot(matrices, inner / inner[0, 0], 2)
    for middle in range(points):
        lengths = np.minimum(lengths, lengths[:, [middle]] + lengths[[middle], :])
    return float(lengths[-1, -2]) if np.diag(lengths).min() >= 0 else 0.0
