"""Lattices in exact integers: reduction of a basis, and search for the shortest vector by enumeration."""

import numpy as np

Basis = list[list[int]]


def _dot(first: list[int], second: list[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))


class _Reduction:
    """A basis with Gram-Schmidt vectors b*_i and coefficients mu_kj, which are stored as the integers d_k = prod_{i<k}
    |b*_i|² and lambda_kj = d_{j+1} mu_kj.
    """

    def __init__(self, basis: Basis):
        n = len(basis)
        self.basis, self.d, self.scaled = [list(row) for row in basis], [1] + [0] * n, [[0] * n for _ in range(n)]
        for k in range(n):
            for j in range(k + 1):
                value = _dot(self.basis[k], self.basis[j])
                for i in range(j):
                    value = (self.d[i + 1] * value - self.scaled[k][i] * self.scaled[j][i]) // self.d[i]
                if j < k:
                    self.scaled[k][j] = value
                else:
                    self.d[k + 1] = value

    def shorten(self, k: int, j: int) -> None:
        """Subtract from vector k the multiple of vector j that leaves |mu_kj| <= 1/2."""
        size = self.d[j + 1]
        times = (2 * self.scaled[k][j] + size) // (2 * size)
        if 2 * abs(self.scaled[k][j]) <= size or times == 0:
            return
        self.basis[k] = [a - times * b for a, b in zip(self.basis[k], self.basis[j], strict=True)]
        self.scaled[k][j] -= times * size
        for i in range(j):
            self.scaled[k][i] -= times * self.scaled[j][i]

    def swapped(self, k: int) -> bool:
        """Exchange vectors k - 1 and k if |b*_k|² < (3/4 - mu_{k,k-1}²) |b*_{k-1}|². Return whether they were
        exchanged.
        """
        d, scaled, n = self.d, self.scaled, len(self.basis)
        own = scaled[k][k - 1]
        if 4 * (d[k + 1] * d[k - 1] + own**2) >= 3 * d[k] ** 2:
            return False
        self.basis[k - 1], self.basis[k] = self.basis[k], self.basis[k - 1]
        for j in range(k - 1):
            scaled[k - 1][j], scaled[k][j] = scaled[k][j], scaled[k - 1][j]
        new = (d[k - 1] * d[k + 1] + own**2) // d[k]
        for i in range(k + 1, n):
            old = scaled[i][k]
            scaled[i][k] = (d[k + 1] * scaled[i][k - 1] - own * old) // d[k]
            scaled[i][k - 1] = (new * old + own * scaled[i][k]) // d[k + 1]
        d[k] = new
        return True


def reduced(basis: Basis) -> Basis:
    """Return an LLL-reduced basis of the same lattice, with the constant 3/4; the rows must be independent.

    >>> reduced([[1, 0], [1000, 1]])
    [[1, 0], [0, 1]]
    """
    own, k = _Reduction(basis), 1
    while k < len(basis):
        own.shorten(k, k - 1)
        if own.swapped(k):
            k = max(k - 1, 1)
            continue
        for j in range(k - 2, -1, -1):
            own.shorten(k, j)
        k += 1
    return own.basis


def shortest(basis: Basis) -> int:
    """Return |v|² for a shortest nonzero vector v, by trying all vectors that are not longer than the shortest basis
    vector.

    >>> shortest([[5, 0], [3, 4]])
    20
    """
    vectors = np.asarray(basis, float)
    triangle = np.linalg.qr(vectors.T)[1]
    n, best = len(basis), min(_dot(row, row) for row in basis)
    place = [0] * n

    def descend(k: int, spent: float) -> None:
        nonlocal best
        if k < 0:
            own = [sum(place[i] * basis[i][j] for i in range(n)) for j in range(len(basis[0]))]
            best = min(best, _dot(own, own) or best)
            return
        size = triangle[k, k]
        shift = -sum(triangle[k, i] * place[i] for i in range(k + 1, n)) / size
        reach = np.sqrt(max(best * (1 + 1e-9) - spent, 0.0)) / abs(size)
        own = range(int(np.ceil(shift - reach)), int(np.floor(shift + reach)) + 1)
        for value in sorted(own, key=lambda value: abs(value - shift)):
            place[k] = value
            descend(k - 1, spent + (size * (value - shift)) ** 2)
        place[k] = 0

    descend(n - 1, 0.0)
    return best
