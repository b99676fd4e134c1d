"""Fits of what base models miss of charge radii: four kinds of kernels, their grids, and nuclei that are left out.

With Q = (K + ridge I)^-1 of all nuclei, what a fit to the others misses at the nuclei of a set S is Q_SS^-1 (Q y)_S:
one inverse answers for every set.
"""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg.lapack import dpotrf, dpotri

from lemmata.kernels import RBF, OddEvenKernel, gram
from lemmata.problems._charge_radii import RadiiTable

_RIDGES = (0.0005, 0.0016, 0.005, 0.016)
# Length scales in steps of about 3/2, weights and ridges of about 3. The odd-even kernel has four hyper-parameters, the
# Gaussian with length scales of its own for Z and N three, the Gaussian two.
GRIDS = {
    "smooth": list(itertools.product((2.0, 3.0, 4.5), _RIDGES)),
    "odd-even": list(itertools.product((1.5, 2.25), (2.25, 3.0), (0.1, 0.3, 1.0), _RIDGES[:3])),
    "two scales": list(itertools.product((0.67, 1.0, 1.5), (4.5, 7.0), _RIDGES[1:])),
}

# What of each grid has the least left-out error over all nuclei, for the isospin formula.
CHOSEN = {"smooth": (3.0, 0.005), "odd-even": (2.25, 3.0, 0.3, 0.0016), "two scales": (1.0, 7.0, 0.016)}


def matrix(kind: str, setting: tuple[float, ...], points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n n"]:
    """The Gram matrix of a kind of kernel; the last number of a setting is the ridge, which is not in it."""
    if kind == "two scales":
        return np.asarray(gram(RBF(1.0), jnp.asarray(points / np.array(setting[:2]))))
    kernel = RBF(setting[0]) if kind == "smooth" else OddEvenKernel(*setting[:3])
    return np.asarray(gram(kernel, jnp.asarray(points)))


def inverse(kernel: Float[np.ndarray, "n n"], ridge: float) -> Float[np.ndarray, "n n"]:
    """(K + ridge I)^-1 by a Cholesky factor."""
    factor, failed = dpotrf(kernel + ridge * np.eye(len(kernel)), lower=1)
    upper, also = dpotri(factor, lower=1)
    if failed or also:
        raise np.linalg.LinAlgError("K + ridge I has no Cholesky factor")
    return np.tril(upper) + np.tril(upper, -1).T


@functools.cache
def left_out(table: RadiiTable, kind: str) -> Float[np.ndarray, "settings n"]:
    """What fits to all other nuclei miss of each nucleus, for every setting of the grid."""
    found = []
    for setting in GRIDS[kind]:
        own = inverse(matrix(kind, setting, table.points), setting[-1])
        found.append(own @ table.rest / np.diagonal(own))
    return np.stack(found)


@functools.cache
def best_inverse(table: RadiiTable, kind: str) -> Float[np.ndarray, "n n"]:
    """(K + ridge I)^-1 of all nuclei, with the hyper-parameters that suit the isospin formula."""
    return inverse(matrix(kind, CHOSEN[kind], table.points), CHOSEN[kind][-1])


def missed(table: RadiiTable, kind: str, hidden: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " hidden"]:
    """What a fit to the nuclei that are not hidden misses of those that are."""
    own = best_inverse(table, kind)
    return np.linalg.solve(own[np.ix_(hidden, hidden)], (own @ table.rest)[hidden])


def judged_error(table: RadiiTable, kind: str, choose: Bool[np.ndarray, " n"]) -> float:
    """The root mean square left-out error over one part of the nuclei, hyper-parameters by that over the other."""
    errors = left_out(table, kind)
    setting = np.argmin(np.mean(errors[:, choose] ** 2, axis=1))
    return float(np.sqrt(np.mean(errors[setting, ~choose] ** 2)))
