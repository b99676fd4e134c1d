"""Exact finite deep Gaussian processes on two rows, whose Gram matrix has only three different entries."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

_NODES, _STEP = 24, 1e-4


class Posterior(NamedTuple):
    """A posterior distribution of a 2 x 2 Gram matrix, as matrices at integration nodes with weights that sum to 1.

    Attributes:
        grams: the entries 11, 12 and 22 of the Gram matrix at each node, (3, nodes).
        weights: the weight of each node, (nodes,).
    """

    grams: Float[np.ndarray, "3 q"]
    weights: Float[np.ndarray, " q"]

    @property
    def mean(self) -> Float[np.ndarray, "3"]:
        """The posterior mean of the three entries."""
        return self.grams @ self.weights

    def kurtosis(self, along: Float[np.ndarray, "2"], width: float) -> float:
        """Return E[f⁴]/E[f²]² for f, the combination `along` of one feature's values at the two rows.

        The layer has `width` features. Given their Gram matrix G, the values of the features are a square root of G
        times a random 2 x width matrix with orthonormal rows, times sqrt(width). With a = `along`, f is distributed
        like a coordinate of a random vector of squared length width a'G a in `width` dimensions. So f has E[f²] = a'G a
        and E[f⁴] = 3 width (a'G a)²/(width + 2).
        """
        a, b = along
        squares = np.array([a * a, 2 * a * b, b * b]) @ self.grams
        return 3 * width / (width + 2) * float(squares**2 @ self.weights) / float(squares @ self.weights) ** 2


def arc_cosine(grams: Float[np.ndarray, "3 *q"]) -> Float[np.ndarray, "3 *q"]:
    """Return 2 E[max(u, 0) max(v, 0)] for normal pairs u, v of two rows.

    Covariance and result are given by their entries 11, 12 and 22.
    """
    first, cross, second = grams
    scale = np.sqrt(first * second)
    angle = np.arccos(np.clip(cross / scale, -1, 1))
    return np.stack([first, scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi, second])


def rectified(gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """Return K(G) = 2 E[max(u, 0) max(v, 0)] for all pairs of rows, where u and v are normal with the covariance G."""
    own = np.diagonal(gram)
    left, right = np.broadcast_arrays(own[:, None], own)
    return arc_cosine(np.stack([left, gram, right]))[1]


def posterior(
    prior: Float[np.ndarray, "2 2"], y: Float[np.ndarray, "2 C"], noise: float, width: float, copies: float
) -> Posterior:
    """Return the posterior of G = F F'/width, where F has `width` columns from N(0, prior).

    The columns of y are drawn from N(0, K(G) + noise I), where K is the covariance of ReLU features. Their likelihood
    enters `copies` times. Coordinates u are defined by G = R T T' R', with R R' = prior and T = [[e^u0, 0], [u1,
    e^u2]]. In these coordinates, the Gauss-Hermite nodes are placed about the mode. The second derivatives at the mode
    determine the spread of the nodes.
    """
    root = np.linalg.cholesky(prior)
    seen = y @ y.T

    def log_density(u: np.ndarray) -> tuple:
        a, b, c = np.exp(u[..., 0]), u[..., 1], np.exp(u[..., 2])
        # Wishart density of T T', times the volume 4 a² c of (a, b, c), times a c for logarithms
        wishart = (width - 3) * (u[..., 0] + u[..., 2]) - width / 2 * (a * a + b * b + c * c)
        left, right, low = root[0, 0] * a, root[1, 0] * a + root[1, 1] * b, root[1, 1] * c
        grams = np.stack([left**2, left * right, right**2 + low**2])
        p, q, r = arc_cosine(grams) + np.array([noise, 0, noise]).reshape(3, *[1] * (grams.ndim - 1))
        det = p * r - q * q
        fit = (r * seen[0, 0] - 2 * q * seen[0, 1] + p * seen[1, 1]) / det
        return wishart + 3 * u[..., 0] + 2 * u[..., 2] - copies / 2 * (y.shape[1] * np.log(det) + fit), grams

    value = lambda u: -log_density(u)[0] / width
    mode = minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    steps = _STEP * np.eye(3)
    mixed = lambda i, j: value(mode + i + j) - value(mode + i - j) - value(mode - i + j) + value(mode - i - j)
    second = np.array([[mixed(i, j) for j in steps] for i in steps]) / (4 * _STEP**2) * width
    spread = np.linalg.cholesky(np.linalg.inv(second))
    z, w = np.polynomial.hermite_e.hermegauss(_NODES)
    nodes = np.stack(np.meshgrid(z, z, z, indexing="ij"), axis=-1).reshape(-1, 3)
    logs, grams = log_density(mode + nodes @ spread.T)
    logs = logs + 0.5 * np.sum(nodes**2, axis=1)
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel() * np.exp(logs - logs.max())
    return Posterior(grams, weights / weights.sum())
