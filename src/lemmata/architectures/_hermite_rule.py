"""Quadrature rules for Hermite expansions: one for the coefficients of a function, and one for sums over high orders.

The h_j are the Hermite polynomials that are orthonormal under the standard normal distribution. Let psi_j(x) = h_j(x)
exp(-x²/4). For every real order j >= 0, let psi_j be the even or the odd solution of psi'' + (j + 1/2 - x²/4) psi = 0.
Signs are left out, because only products of two coefficients of one order are needed.
"""

import functools
from typing import NamedTuple

import numpy as np
from scipy.special import erfc

# Beyond x = 14, only functions that grow fast contribute to a mean. Panels halve towards 0. The innermost panel is
# shorter than a quarter of the distance to an activation's nearest poles, at standard deviations up to 1000.
_BULK, _STEP, _FAR, _HALVINGS = 14.0, 4.5, {"float32": 14.0, "float64": 36.5}, 13
_NEAR = 13  # nodes of a panel from a to 2 a
# Each block of high orders reaches from J to 4 J, for J = degree, 4 degree, ... The last orders are about 1e11, which a
# step function needs.
_BLOCKS, _ORDERS, _RATIO = 15, 16, 4
# The coefficients of orders of at least J are integrals over |x| sqrt(J) below about 70. Beyond this range, a function
# that is smooth in x contributes nothing to so high an order. Neither does the smooth edge of the window, whose width
# is about 10.
_FLAT, _EDGE, _PANEL, _NODES = 27.0, 9.5, 4.0, 10
# Up to this block, sums over integers are computed term by term; later blocks are integrals to 1e-11.
_SUMS = 5


class Rule(NamedTuple):
    """The nodes and weights for one expansion. All nodes x are positive, and each node represents x and -x.

    Attributes:
        nodes: the nodes of the rule for low orders.
        density: weights at these nodes for means under the standard normal distribution, (nodes, 2). The first column
            gives the whole mean, and the second column gives the part of the mean from the outermost nodes.
        even: weights of the coefficients of even orders, (nodes, orders), which multiply f(x) + f(-x).
        odd: weights of the coefficients of odd orders, which multiply f(x) - f(-x).
        far_nodes: the nodes of every block of high orders, (blocks, nodes).
        far_even: weights of even coefficients, times the square root of the weight in the sum over orders.
        far_odd: the same weights of odd coefficients.
        orders: the real orders that represent the whole block, (blocks, orders).
    """

    nodes: np.ndarray
    density: np.ndarray
    even: np.ndarray
    odd: np.ndarray
    far_nodes: np.ndarray
    far_even: np.ndarray
    far_odd: np.ndarray
    orders: np.ndarray


@functools.lru_cache(maxsize=8)
def hermite_rule(degree: int, dtype: str) -> Rule:
    """Return the rule whose low orders go from 0 to the even number `degree`. The last order has half of its weight.

    The high orders, from `degree` on, are divided into blocks [J, 4 J]. The sums over even and over odd orders are then
    the trapezoidal rule and the midpoint rule for an integral over a block. If a function is smooth in the square root
    of the order, Gauss's rule in this root computes its sum over a block.
    """
    nodes, weights = _graded(dtype)
    weights = weights * np.exp(-0.25 * nodes**2) / np.sqrt(2.0 * np.pi)
    table = _polynomials(nodes, degree) * weights[:, None]
    table[:, -1] *= np.sqrt(0.5)
    far = _far(degree)
    density = weights * np.exp(-0.25 * nodes**2)
    density = np.stack([density, np.where(nodes > 0.9 * _FAR[dtype], density, 0.0)], axis=1)
    parts = Rule(nodes, density, table[:, ::2], table[:, 1::2], *far)
    return Rule(*(part.astype(dtype) for part in parts))


def _graded(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    near = 0.5 * 0.5 ** np.arange(_HALVINGS - 1, -1, -1.0)
    bulk = np.linspace(near[-1], _BULK, 19)
    far = np.linspace(_BULK, _FAR[dtype], 1 + round((_FAR[dtype] - _BULK) / _STEP))
    return _joined(_legendre(np.concatenate([[0.0], near]), _NEAR), _legendre(bulk, 13), _legendre(far, 8))


def _legendre(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss's rule with `count` nodes on each panel between two neighbouring edges."""
    z, w = np.polynomial.legendre.leggauss(count)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + z)).reshape(-1), (half * w).reshape(-1)


def _joined(*rules: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = zip(*rules, strict=True)
    return np.concatenate(nodes), np.concatenate(weights)


def _polynomials(nodes: np.ndarray, degree: int) -> np.ndarray:
    """Return psi_j at the nodes for j from 0 to `degree`."""
    columns = [np.exp(-0.25 * nodes**2)]
    columns.append(nodes * columns[0])
    for j in range(1, degree):
        columns.append((nodes * columns[j] - np.sqrt(j) * columns[j - 1]) / np.sqrt(j + 1))
    return np.stack(columns, axis=1)


def _far(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the tables of the blocks of high orders: nodes, weights of even and odd coefficients, and orders.

    A block has the orders from J to 4 J. In the variable t = sqrt(J) x, all blocks have the same nodes. Their orders
    are v² J, with the same v in [1, 2] for all blocks.
    """
    starts = degree * float(_RATIO) ** np.arange(_BLOCKS)
    z, gauss = np.polynomial.legendre.leggauss(_ORDERS)
    v = 1.5 + 0.5 * z
    halvings = int(np.ceil(np.log2(_PANEL / (1e-4 * np.sqrt(degree)))))
    end = _FLAT + 9.6 * _EDGE
    near = np.concatenate([[0.0], _PANEL * 0.5 ** np.arange(halvings, -1, -1.0)])
    beyond = np.linspace(_PANEL, end, 1 + int(np.ceil((end - _PANEL) / _PANEL)))
    t, weights = _joined(_legendre(near, _NEAR), _legendre(beyond, _NODES))
    even, odd = _solutions(t, v * v, starts)
    weights = weights * 0.5 * erfc((t - _FLAT - 4.8 * _EDGE) / _EDGE) / np.sqrt(2.0 * np.pi)
    nodes = t / np.sqrt(starts)[:, None]
    weights = weights * np.exp(-0.25 * nodes**2) / np.sqrt(starts)[:, None]
    of_even, of_odd = (np.stack([0.5 * gauss * v * j for j in starts]) for _ in range(2))  # half of dj = 2 v J dv
    for block in range(_SUMS):
        of_even[block], of_odd[block] = _weights_of_sums(v, starts[block])
    sides = (
        weights[:, :, None] * table * np.sqrt(shares)[:, None, :] for table, shares in ((even, of_even), (odd, of_odd))
    )
    return nodes, *sides, starts[:, None] * v * v


def _weights_of_sums(v: np.ndarray, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights at the orders v² J, for sums over the even orders from J to 4 J and over the odd orders.

    Both ends of the even orders have half of their weight.
    """
    basis = lambda root: np.polynomial.legendre.legvander(2.0 * root - 3.0, len(v) - 1)
    even, odd = np.arange(start, _RATIO * start + 1, 2.0), np.arange(start + 1, _RATIO * start, 2.0)
    ends = np.ones_like(even)
    ends[[0, -1]] = 0.5
    sums = [counts @ basis(np.sqrt(orders / start)) for counts, orders in ((ends, even), (np.ones_like(odd), odd))]
    found = np.linalg.solve(basis(v).T, np.stack(sums, axis=1))
    return found[:, 0], found[:, 1]


def _solutions(t: np.ndarray, squares: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the even and the odd solution psi of order `squares * J` at the points `t / sqrt(J)`.

    Each array has the shape (blocks, nodes, orders).

    In t the equation is psi'' + (squares + 1/(2 J) - t²/(4 J²)) psi = 0. The equation is solved by Taylor series from
    node to node.
    """
    j = starts[:, None]
    orders, constant, square = j * squares, squares + 0.5 / j, 0.25 / j**2
    zero = np.zeros_like(orders)
    value = np.stack([np.exp(0.5 * _log_square_at_0(orders)), zero])
    slope = np.stack([zero, np.sqrt(squares) * np.exp(0.5 * _log_square_at_0(orders - 1.0))])
    found, at = np.empty((len(t), *value.shape)), 0.0
    for i, node in enumerate(t):
        pieces = max(1, int(np.ceil(node - at)))
        h = (node - at) / pieces
        for _ in range(pieces):
            # potential a - b y - c y² in y = (distance from `at`) / h
            a, b, c = (constant - at * at * square) * h * h, 2.0 * at * square * h**3, square * h**4
            terms = [value, slope * h]
            for n in range(20):
                known = a * terms[n] - (b * terms[n - 1] if n else 0.0) - (c * terms[n - 2] if n > 1 else 0.0)
                terms.append(-known / ((n + 1) * (n + 2)))
            value = functools.reduce(np.add, terms[::-1])
            slope = functools.reduce(np.add, [n * terms[n] for n in range(len(terms) - 1, 0, -1)]) / h
            at += h
        at, found[i] = node, value
    return np.moveaxis(found[:, 0], 0, 1), np.moveaxis(found[:, 1], 0, 1)


def _log_square_at_0(order: np.ndarray) -> np.ndarray:
    """Return the logarithm of h_j(0)² = (2n)! / (4^n n!²), n = j / 2, by Stirling's series, to 1e-13 from j = 60 on."""
    n = order / 2.0
    return -0.5 * np.log(np.pi * n) - 1.0 / (8.0 * n) + 1.0 / (192.0 * n**3) - 1.0 / (640.0 * n**5)
