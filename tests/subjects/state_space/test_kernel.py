"""The kernel of final states: laws of a kernel, random readouts, rank, and that nothing of size T x T is formed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, ShapeError
from lemmata.kernels import gram
from lemmata.subjects.state_space import ContinuousSystem, StateSpaceKernel, discretise

from .test_discretise import matrices, system_of
from .test_evaluation import looped


def kernel_of(name, step=0.1):
    return StateSpaceKernel(discretise(system_of(matrices()[name]), step, "bilinear"))


@pytest.mark.parametrize("name", matrices())
def test_the_gram_matrix_is_that_of_looped_states(name):
    kernel, x = kernel_of(name), np.random.default_rng(0).normal(size=(6, 50, 2))
    states = np.array([looped(kernel.system, row)[1] for row in x])
    expected = (states.conj() @ states.T).real
    found = gram(kernel, jnp.asarray(x))
    assert np.allclose(found, expected, rtol=1e-11)
    assert np.allclose(gram(kernel, jnp.asarray(x), block=2), expected, rtol=1e-11)
    assert np.allclose(gram(kernel, jnp.asarray(x), jnp.asarray(x[:2])), expected[:, :2], rtol=1e-11)
    assert np.allclose(kernel.diagonal(jnp.asarray(x)), np.diag(expected), rtol=1e-11)
    assert np.isclose(kernel(jnp.asarray(x[0]), jnp.asarray(x[1])), expected[0, 1])
    assert np.linalg.eigvalsh(found)[0] > -1e-12 * np.trace(found)


def test_random_readouts_have_this_covariance():
    kernel = kernel_of("complex")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 30, 2))
    states = np.array([looped(kernel.system, row)[1] for row in x])
    readouts = rng.normal(size=(200_000, 5)) + 1j * rng.normal(size=(200_000, 5))
    outputs = (readouts @ states.T).real
    expected, found = outputs.T @ outputs / len(outputs), np.asarray(gram(kernel, jnp.asarray(x)))
    spread = np.sqrt((np.outer(np.diag(found), np.diag(found)) + found**2) / len(outputs))
    assert np.all(np.abs(expected - found) < 5 * spread)


def test_the_rank_is_that_of_the_state():
    x = np.random.default_rng(1).normal(size=(40, 60, 2))
    for name, states in (("real", 5), ("complex", 10)):
        values = np.linalg.eigvalsh(gram(kernel_of(name), jnp.asarray(x)))[::-1]
        assert values[states] < 1e-13 * values[0] < values[states - 1]


def test_nothing_is_quadratic_in_the_length():
    """The compiler's own count: memory and operations of the states grow like T."""
    kernel = kernel_of("complex")
    used = []
    for length in (512, 4096):
        points = jax.ShapeDtypeStruct((10, length, 2), float)
        program = jax.jit(lambda k, a, b: k.cross(a, b)).lower(kernel, points, points).compile()
        memory = program.memory_analysis()
        used.append(memory.temp_size_in_bytes)
    assert used[1] < 12 * used[0]


def test_gradients_reach_the_poles_through_the_gram_matrix():
    x = jnp.asarray(np.random.default_rng(3).normal(size=(3, 20, 2)))
    kernel = kernel_of("real")
    slope = jax.grad(lambda k: k.cross(x, x).sum())(kernel).system.matrix.poles
    moved = lambda by: jax.tree.map(lambda leaf: leaf, kernel).system.matrix.poles + by
    value = lambda poles: float(
        StateSpaceKernel(
            type(kernel.system)(type(kernel.system.matrix)(poles), kernel.system.input, kernel.system.output)
        )
        .cross(x, x)
        .sum()
    )
    step = 1e-6 * np.eye(5)
    differences = [(value(moved(row)) - value(moved(-row))) / 2e-6 for row in step]
    assert np.allclose(slope, differences, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "error", "found"),
    [((3, 5, 1), ShapeError, r"\(5, 1\)"), ((3, 5), ShapeError, r"\(5,\)"), ((3, 0, 2), ShapeError, "shape")],
)
def test_what_is_no_sequence_is_refused(shape, error, found):
    with pytest.raises(error, match=found) as caught:
        gram(kernel_of("real"), jnp.ones(shape))
    assert "\n" not in str(caught.value)


def test_cells_that_are_not_finite_are_refused():
    x = np.ones((3, 5, 2))
    x[1, 2, 0] = np.nan
    with pytest.raises(DataError, match="finite"):
        gram(kernel_of("real"), jnp.asarray(x))


def test_a_complex_system_in_single_precision_stays_there():
    modes = ContinuousSystem(matrices()["complex"], jnp.ones((5, 1)), jnp.ones((1, 5)))
    system = jax.tree.map(
        lambda leaf: leaf.astype(jnp.complex64 if jnp.iscomplexobj(leaf) else jnp.float32), discretise(modes, 0.1)
    )
    assert gram(StateSpaceKernel(system), jnp.ones((2, 9, 1), jnp.float32)).dtype == jnp.float32
