"""The law of tolerances: they are shares, so that what is refused does not depend on the unit of the numbers."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import LemmataError
from lemmata.kernels import AbstractKernel
from lemmata.kernels._tiles import checked_symmetric
from lemmata.solvers import require_positive_semidefinite
from lemmata.solvers._host_solution import own_gram
from lemmata.solvers._universal_kriging import _refuse_dependent

EPS = float(np.finfo(float).eps)
POINTS = np.zeros((4, 3))


def gap(unit, share):
    """A matrix that is not symmetric by a share of its largest entry, which it allows up to 2 sqrt(d eps)."""
    most = 7 * unit
    checked_symmetric(
        jnp.asarray(POINTS), jnp.eye(4) * unit, jnp.asarray(share * 2 * (3 * EPS) ** 0.5 * most), jnp.asarray(most)
    )


class Leaning(AbstractKernel):
    """A kernel whose matrix is given, by the number that a point is."""

    matrix: jnp.ndarray

    def __call__(self, x, y):
        return self.matrix[x[0].astype(int), y[0].astype(int)]


class Rows:
    """The rows of a matrix as a solver asks for them."""

    by_numpy = True

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, z):
        return self.matrix.copy()


def host_gap(unit, share):
    """The same where a solver computes the matrix by itself."""
    matrix = np.diag([7.0, 1.0, 2.0]) * unit
    matrix[0, 1] += share * 2 * EPS**0.5 * 7 * unit
    found = own_gram(Rows(matrix), Leaning(jnp.asarray(matrix)), np.arange(3.0)[:, None])
    np.testing.assert_array_equal(found, (matrix + matrix.T) / 2)


def eigenvalue(unit, share):
    """A matrix with a negative eigenvalue of a share of 16 n eps of the largest one."""
    require_positive_semidefinite(jnp.diag(jnp.array([1.0, 0.5, 0.25, -share * 64 * EPS])) * unit)


def drift(unit, share):
    """A column of a drift that adds hardly anything to the first, in units of its own."""
    columns = np.array([[1.0, 3.0], [1.0, -2.0], [1.0, 1.0]]) * [1.0, unit]
    _refuse_dependent(jnp.asarray(columns), jnp.diag(jnp.array([1.7, 16 * 3 * EPS * 3 * unit / share])))


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("made", [gap, host_gap, eigenvalue, drift], ids=lambda made: made.__name__)
@pytest.mark.usefixtures("unchecked")
def test_what_is_refused_does_not_depend_on_the_unit(made, unit):
    made(unit, 0.5)
    with pytest.raises(LemmataError):
        made(unit, 2.0)
