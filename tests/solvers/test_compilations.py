"""What is compiled: nothing for kernels of the distance, one program for others; the same answers by both ways."""

import jax
import numpy as np
import pytest

from lemmata.architectures import Gelu, NNGPKernel, TangentKernel, erf_network, fully_connected, relu_network
from lemmata.estimators import KernelRegressor
from lemmata.kernels import RBF, AbstractKernel, Laplace, Matern
from lemmata.solvers import centred_modes, subset_of_regressors
from tests.compiled import compiled

RNG = np.random.default_rng(0)
EPS = np.finfo(float).eps
DISTANCES = [RBF(1.5), Laplace(2.0), 0.5 * Matern(2.5, 1.0) + RBF(3.0)]
NETWORKS = [TangentKernel(relu_network(2, bias_std=0.1)), NNGPKernel(relu_network(1)), TangentKernel(erf_network(2))]


class Compiled(AbstractKernel):
    """A kernel without its form in NumPy."""

    kernel: AbstractKernel

    def __call__(self, x, y):
        return self.kernel(x, y)

    def cross(self, x, y):
        return self.kernel.cross(x, y)


def programs(run):
    """The programs that a call compiles, without single operations on arrays."""
    return [name for name in compiled(run) if name not in ("jit(stage)", "jit(convert_element_type)")]


def problem(rows):
    x = RNG.normal(size=(rows, 3))
    return x, np.sin(x[:, 0])


@pytest.mark.parametrize("kernel", DISTANCES + NETWORKS, ids=str)
def test_kernels_with_a_form_in_numpy_compile_nothing(kernel):
    x, y = problem(317)
    # The first call of a process compiles operations that have nothing to do with the problem.
    subset_of_regressors(kernel, x[:9], y[:9], x[:3], 0.1)(x[:2])
    assert not programs(lambda: subset_of_regressors(kernel, x, y, x[:29], 0.1, tolerance=1e-6)(x[:11]))
    x, y = problem(2003)  # so many that the factor takes the place of the matrix
    assert not programs(lambda: KernelRegressor(kernel).fit(x, y))


def test_other_kernels_compile_one_program_for_all_rows():
    x, y = problem(331)
    kernel = NNGPKernel(fully_connected(Gelu(), 2))
    found = programs(lambda: subset_of_regressors(kernel, x, y, x[:37], 0.1)(x[:13]))
    assert found.count("jit(_tile)") == 1
    # beside it the diagonal alone, layer by layer: the number of rows makes no difference
    assert len(found) <= 6
    assert not programs(lambda: subset_of_regressors(kernel, *problem(457), x[:37], 0.1)(x[:13]))


@pytest.mark.parametrize("kernel", DISTANCES, ids=str)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_both_ways_are_one_solution(kernel, tolerance):
    x, y = problem(700)
    z, ridge = x[:300], 0.1
    one, other = (
        subset_of_regressors(k, x, y, z, ridge, block=128, tolerance=tolerance) for k in (kernel, Compiled(kernel))
    )
    traced = jax.jit(lambda *given: subset_of_regressors(kernel, *given)(given[0]))(x, y, z, ridge)
    # Entries differ by 100 eps, as squares of distances do; whitened, by that over the root of the jitter; and a fit
    # moves by the rows' error times |y| over the root of the ridge at most.
    moved = 100 * EPS * (700 * 300) ** 0.5 / (float(one.jitter) * ridge) ** 0.5
    allowed = (moved + tolerance) * np.linalg.norm(y)
    assert allowed < 1e-2 * np.linalg.norm(y)
    assert np.linalg.norm(one(x) - other(x)) <= allowed
    assert np.linalg.norm(one(x) - traced) <= allowed + tolerance * np.linalg.norm(y)


@pytest.mark.parametrize("seed", range(4))
def test_weighted_fits_on_centres_are_those_of_the_compiled_kernel(seed):
    rng = np.random.default_rng(seed)
    x, roots, aside = rng.normal(size=(900, 3)), rng.uniform(0.5, 2.0, size=900), np.arange(0, 900, 9)
    y, ridge = np.sin(x[:, 0]) * roots, 0.1
    with jax.enable_x64(True):
        found = [
            centred_modes(kernel, x, y[:, None], x[:50], aside, roots=roots, ridge=ridge)
            for kernel in (RBF(1.5), Compiled(RBF(1.5)))
        ]
    fits = [own.modes.features @ (own.modes.filtered(ridge)[:, None] * own.modes.moments) for own in found]
    # If all errors of entries pointed the same way, a fit would move by 7e-5 of the targets, as in
    # `test_both_ways_are_one_solution`. They do not: in twelve draws, fits differed by 3e-8 at most.
    np.testing.assert_allclose(fits[0], fits[1], rtol=0, atol=1e-7)
