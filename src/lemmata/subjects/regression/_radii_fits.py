"""Kernel fits of the errors of base models of charge radii, and the errors of these fits at left-out nuclei.

Let K be the Gram matrix of all nuclei, let Q = (K + ridge I)^-1, and let y be the targets. Fit all nuclei except the
nuclei of a set S. The errors of this fit at S are Q_SS^-1 (Q y)_S. The inverse for the nuclei outside S is their block
of Q - Q_S Q_SS^-1 Q_S'. So the inverse for all nuclei is enough for every set S.
"""

import functools
import itertools
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs

from lemmata.kernels import RBF, OddEvenKernel, gram
from lemmata.subjects.regression._charge_radii import BASES, RadiiTable, radii_table

_RIDGES = (0.0005, 0.0016, 0.005, 0.016)
# Neighbouring length scales differ by a factor of about 3/2, and neighbouring weights and ridges by about 3. The last
# number is the ridge. The Gaussian ("smooth") has two hyper-parameters, and the Gaussian with separate length scales
# for Z and N has three. The odd-even kernel has four, and with the parity of N six.
GRIDS = {
    "smooth": list(itertools.product((2.0, 3.0, 4.5), _RIDGES)),
    "odd-even": list(itertools.product((1.5, 2.25), (2.25, 3.0), (0.1, 0.3, 1.0), _RIDGES[:3])),
    "two scales": list(itertools.product((0.67, 1.0, 1.5), (4.5, 7.0), _RIDGES[1:])),
    # the odd-even kernel with the parity of Z only: the same hyper-parameters, without the parity of the neutron number
    "parity of Z": list(itertools.product((1.5, 2.25), (2.25, 3.0), (0.1, 0.3, 1.0), _RIDGES[:3])),
    # two length scales for Z and N, and two further length scales for the parity of N
    "parity of N": list(itertools.product((1.0,), (7.0,), (0.67, 1.0), (1.5,), (0.03, 0.1), (0.0016, 0.005))),
}

# For the isospin formula, the setting of each grid with the least leave-one-out error over all nuclei.
CHOSEN = {"smooth": (3.0, 0.005), "odd-even": (2.25, 3.0, 0.3, 0.0016), "two scales": (1.0, 7.0, 0.016)}


def matrix(kind: str, setting: tuple[float, ...], points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n n"]:
    """Return the Gram matrix of a kind of kernel, one of the keys of `GRIDS`, at the nuclei (Z, N). The last number of
    the setting is the ridge, which is not added.
    """
    if kind == "two scales":
        return np.asarray(gram(RBF(1.0), jnp.asarray(points / np.array(setting[:2]))))
    if kind == "parity of N":
        first, second = jnp.asarray(setting[:2]), jnp.asarray(setting[2:4])
        return np.asarray(gram(OddEvenKernel(first, second, setting[4], parities=(1,)), jnp.asarray(points)))
    parities = (0,) if kind == "parity of Z" else None
    kernel = RBF(setting[0]) if kind == "smooth" else OddEvenKernel(*setting[:3], parities=parities)
    return np.asarray(gram(kernel, jnp.asarray(points)))


def inverse(kernel: Float[np.ndarray, "n n"], ridge: float) -> Float[np.ndarray, "n n"]:
    """Return (K + ridge I)^-1 by a Cholesky factorisation."""
    shifted = kernel + ridge * np.eye(len(kernel))
    factorise, invert = get_lapack_funcs(("potrf", "potri"), (shifted,))
    factor, failed = factorise(shifted, lower=1)
    lower, also = invert(factor, lower=1)
    if failed or also:
        raise np.linalg.LinAlgError("K + ridge I has no Cholesky factor")
    return np.tril(lower) + np.tril(lower, -1).T


def _inverses(kind: str, points: Float[np.ndarray, "n 2"]) -> Iterator[Float[np.ndarray, "n n"]]:
    """Yield (K + ridge I)^-1 of all nuclei, for each setting in the grid of this kind of kernel."""
    for lengths, settings in itertools.groupby(GRIDS[kind], key=lambda setting: setting[:-1]):
        kernel = matrix(kind, (*lengths, 0.0), points)
        for setting in settings:
            yield inverse(kernel, setting[-1])


@functools.cache
def _kept(table: RadiiTable, kind: str) -> list[tuple[Float[np.ndarray, "n n"], Float[np.ndarray, " n"]]]:
    return [(own, own @ table.rest) for own in _inverses(kind, table.points)]


@functools.cache
def _left_out(kind: str, count: int) -> dict[str, Float[np.ndarray, "settings n"]]:
    """Return the leave-one-out errors for each base model with `count` nuclei, for every setting of the grid.

    Base models with the same number of nuclei have the same nuclei.
    """
    tables = [table for table in map(radii_table, BASES) if len(table.radius) == count]
    rests = np.stack([table.rest for table in tables], axis=1)
    errors = np.stack([own @ rests / np.diagonal(own)[:, None] for own in _inverses(kind, tables[0].points)])
    return {table.name: errors[:, :, place] for place, table in enumerate(tables)}


def left_out(table: RadiiTable, kind: str) -> Float[np.ndarray, "settings n"]:
    """Return the error at each nucleus of the fit to all other nuclei, for every setting of the grid."""
    return _left_out(kind, len(table.radius))[table.name]


def judged_error(table: RadiiTable, kind: str, choose: Bool[np.ndarray, " n"]) -> float:
    """Return the root mean square of leave-one-out errors at the nuclei outside `choose`.

    Among the settings of the grid, the kernel has the setting with the least leave-one-out error at the nuclei
    `choose`.
    """
    errors = left_out(table, kind)
    setting = np.argmin(np.mean(errors[:, choose] ** 2, axis=1))
    return float(np.sqrt(np.mean(errors[setting, ~choose] ** 2)))


@functools.cache
def _best_inverse(table: RadiiTable, kind: str) -> Float[np.ndarray, "n n"]:
    """Return (K + ridge I)^-1 of all nuclei, with the hyper-parameters in `CHOSEN`."""
    return inverse(matrix(kind, CHOSEN[kind], table.points), CHOSEN[kind][-1])


def missed(table: RadiiTable, kind: str, hidden: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " hidden"]:
    """Return the errors at the hidden nuclei of a fit to all other nuclei."""
    own = _best_inverse(table, kind)
    return np.linalg.solve(own[np.ix_(hidden, hidden)], (own @ table.rest)[hidden])


def chosen_on_known(
    table: RadiiTable, kind: str, hidden: Bool[np.ndarray, " n"]
) -> tuple[tuple[float, ...], Float[np.ndarray, " hidden"]]:
    """Fit the nuclei that are not hidden. Return the setting, and the errors of the fit at the hidden nuclei.

    This setting of the grid has the least leave-one-out error over the nuclei that are not hidden.
    """
    found = []
    for (own, fitted), setting in zip(_kept(table, kind), GRIDS[kind], strict=True):
        both = own[np.ix_(hidden, ~hidden)]
        factor = cho_factor(own[np.ix_(hidden, hidden)])
        errors = cho_solve(factor, fitted[hidden])
        diagonal = np.diagonal(own)[~hidden] - np.sum(both * cho_solve(factor, both), axis=0)
        known = (fitted[~hidden] - both.T @ errors) / diagonal
        found.append((float(np.mean(known**2)), setting, errors))
    return min(found, key=lambda one: one[0])[1:]
