"""Three evaluations against a plain loop, powers against products, states of many sequences against one at a time."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.subjects.state_space import (
    ContinuousSystem,
    convolve,
    discretise,
    final_states,
    impulse_response,
    legs_low_rank,
    oscillators,
    reach,
    resolvent_response,
    run,
    scan,
)

from .test_discretise import matrices, system_of


def looped(system, u):
    a, b, c, d = (np.asarray(x) for x in (system.matrix.dense(), system.input, system.output, system.passed))
    state, outputs = np.zeros(len(a), complex), []
    for row in u:
        outputs.append((c @ state).real + d @ row)
        state = a @ state + b @ row
    return np.array(outputs), state


@pytest.mark.parametrize("length", [1, 2, 7, 300])
@pytest.mark.parametrize("name", matrices())
def test_the_three_ways_are_the_loop(name, length):
    system = discretise(system_of(matrices()[name]), 0.1, "bilinear")
    u = jnp.asarray(np.random.default_rng(length).normal(size=(length, 2)))
    expected, state = looped(system, np.asarray(u))
    tolerance = 1e-12 * np.abs(expected).max()
    for found in (run(system, u), scan(system, u), convolve(impulse_response(system, length), u)):
        assert np.abs(found - expected).max() <= tolerance
    assert np.allclose(final_states(system, u[None])[0], state, atol=1e-12)
    assert np.allclose(jnp.einsum("tm,tnm->n", u, reach(system, length)), state, atol=1e-12)


@pytest.mark.parametrize("name", matrices())
def test_powers_and_resolvents_are_those_of_the_dense_matrix(name):
    matrix = matrices()[name]
    dense, right = np.asarray(matrix.dense()), np.random.default_rng(0).normal(size=(5, 2))
    for count in (1, 2, 6, 9):
        expected = [np.linalg.matrix_power(dense, k) @ right for k in range(count)]
        found = matrix.powers(jnp.asarray(right), count)
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    point = 0.7 + 0.4j
    expected = np.linalg.solve(point * np.eye(5) - dense, right)
    assert np.allclose(matrix.resolvent(point, jnp.asarray(right)), expected)
    assert np.allclose(matrix.transpose().dense(), dense.T)
    assert np.allclose(matrix.times(jnp.asarray(right)), dense @ right)
    assert np.allclose(np.sort_complex(matrix.eigenvalues()), np.sort_complex(np.linalg.eigvals(dense)))


@pytest.mark.parametrize("length", [7, 8])
@pytest.mark.parametrize("name", ["rank 1", "rank 2"])
def test_the_generating_function_gives_the_response(name, length):
    """At even lengths z = -1 is a node, where the form with 1/(1 + z) has no value."""
    matrix, step = matrices()[name], 0.2
    rng = np.random.default_rng(1)
    b, c = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((5, 1), (1, 5)))
    inside = np.eye(5) - step / 2 * np.asarray(matrix.dense())
    power, start = np.linalg.solve(inside, 2 * np.eye(5) - inside), np.linalg.solve(inside, step * b)
    truncated = c @ (np.eye(5) - np.linalg.matrix_power(power, length))
    found = resolvent_response(matrix, jnp.asarray(truncated), jnp.asarray(b), step, length)
    expected = [(c @ np.linalg.matrix_power(power, s) @ start)[0, 0] for s in range(length)]
    assert np.allclose(found, expected, rtol=1e-11)


def test_long_sequences_agree_to_ten_digits():
    rng = np.random.default_rng(5)
    u = jnp.asarray(rng.normal(size=(4096, 1)))
    for matrix in (oscillators(64), legs_low_rank(64)[0]):
        b, c = rng.normal(size=(64, 1)), rng.normal(size=(1, 64))
        system = discretise(ContinuousSystem(matrix, b, c), 0.01, "bilinear")
        outputs = run(system, u)
        bound = 1e-10 * np.abs(outputs).max()
        assert np.abs(convolve(impulse_response(system, 4096), u) - outputs).max() < bound
        # a scan of dense matrices would hold 4096 of them
        first = run(system, u[:200]), scan(system, u[:200])
        assert np.abs(first[0] - first[1]).max() < bound


@pytest.mark.parametrize("point", [1j, 0.5, 2, jnp.asarray(0.3 + 1j), np.complex64(1j), jnp.float32(0.5)], ids=repr)
@pytest.mark.parametrize("name", matrices())
def test_a_point_is_any_real_or_complex_number(name, point):
    """Numbers of Python are the usual ones: response(1j w) is the frequency response."""
    system, z = system_of(matrices()[name]), complex(point)
    dense, found = np.asarray(system.matrix.dense()), system.response(point)
    expected = np.asarray(system.output) @ np.linalg.solve(z * np.eye(5) - dense, np.asarray(system.input))
    assert np.allclose(found, expected + np.asarray(system.passed))
    cayley = np.linalg.solve(z * np.eye(5) - dense, z * np.eye(5) + dense)
    assert np.allclose(system.matrix.cayley(point).dense(), cayley)


@pytest.mark.parametrize("point", [math.nan, 1j * math.inf, jnp.ones(2), np.ones((1, 1))], ids=repr)
@pytest.mark.parametrize("name", matrices())
def test_a_point_that_is_not_one_finite_number_is_refused(name, point):
    system = system_of(matrices()[name])
    for question in (system.response, system.matrix.cayley):
        with pytest.raises(SettingError, match=r"point; found .*one finite number"):
            question(point)
