"""Gramians against SciPy's Bartels-Stewart solver, energies against sums of squares, LegS against its definition."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg

from lemmata.errors import SettingError, SolverError
from lemmata.subjects.state_space import (
    ContinuousSystem,
    DenseMatrix,
    DiagonalMatrix,
    check_stable,
    discretise,
    energy,
    gramian,
    impulse_response,
    legs,
    legs_low_rank,
    legs_skew,
    oscillators,
    transposed,
)

from .test_discretise import matrices, system_of


def stable_system(name):
    system = system_of(matrices()[name])
    entries = np.asarray(system.matrix.dense())
    if np.linalg.eigvals(entries).real.max() < 0:
        return system
    return ContinuousSystem(DenseMatrix(entries - 3 * np.eye(len(entries))), system.input, system.output)


@pytest.mark.parametrize("name", matrices())
def test_gramians_solve_the_lyapunov_equation(name):
    system = stable_system(name)
    entries, b = np.asarray(system.matrix.dense()), np.asarray(system.input)
    expected = linalg.solve_continuous_lyapunov(entries, -(b @ b.conj().T).astype(entries.dtype))
    assert np.allclose(gramian(system), expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())
    assert np.allclose(jax.jit(gramian)(system), expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())


def test_observability_is_the_gramian_of_the_transposed_system():
    system = stable_system("dense")
    entries, c = np.asarray(system.matrix.dense()), np.asarray(system.output)
    expected = linalg.solve_continuous_lyapunov(entries.T, -c.T @ c)
    assert np.allclose(gramian(transposed(system)), expected, rtol=1e-11)
    both = np.trace(energy(system)), np.trace(energy(transposed(system)))
    assert np.isclose(both[0], both[1]), "one H2 norm by two Gramians"


def test_nearly_undamped_and_far_apart_poles():
    poles = np.array([-1e-4, -1.0, -1e3])
    plain = ContinuousSystem(DiagonalMatrix(poles), jnp.ones((3, 1)), jnp.ones((1, 3)))
    dense = ContinuousSystem(DenseMatrix(np.diag(poles)), plain.input, plain.output)
    assert np.allclose(gramian(dense), gramian(plain), rtol=1e-8)


@pytest.mark.parametrize("ratio", [1e8, 1e12, 1e18])
def test_stiff_systems_have_the_gramian_of_their_poles(ratio):
    poles = np.array([-(ratio**-0.5), -1.0, -(ratio**0.5)])
    plain = ContinuousSystem(DiagonalMatrix(poles), jnp.ones((3, 1)), jnp.ones((1, 3)))
    dense = ContinuousSystem(DenseMatrix(np.diag(poles)), plain.input, plain.output)
    for of in (gramian, jax.jit(gramian)):
        assert np.allclose(of(dense), gramian(plain), rtol=1e-12, atol=0)
    assert np.allclose(energy(dense), energy(plain), rtol=1e-12)
    coupled = np.array([[-1.0, 1e8], [0.0, -1.0]])
    found = gramian(ContinuousSystem(DenseMatrix(coupled), jnp.ones((2, 1)), jnp.ones((1, 2))))
    assert np.allclose(found[1], [0.5 + 1e8 / 4, 0.5], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e200])
def test_gramians_of_every_size(size):
    one = jnp.ones((1, 1))
    assert np.allclose(gramian(ContinuousSystem(DenseMatrix(-size * one), one, one)) * size, 0.5, rtol=1e-13)


def test_a_gramian_that_is_not_accurate_is_refused():
    damped = lambda rate: ContinuousSystem(
        DenseMatrix(np.array([[-rate, 1.0], [-1.0, -rate]])), jnp.ones((2, 1)), jnp.ones((1, 2))
    )
    assert np.allclose(jnp.trace(gramian(damped(1e-8))) * 1e-8, 1.0, rtol=1e-6)
    refused = 0
    for rate in (1e-12, 3e-13, 1e-13, 3e-14, 1e-14, 1e-15):
        try:
            gramian(damped(rate))
        except SolverError as error:
            told = re.search(r"Gramian; found an estimated relative error of .*at most 6.1e-06", str(error))
            refused += told is not None
    assert refused >= 5, "the error is estimated by a residual, which may be 0 by chance"


def test_gramians_have_derivatives():
    system = stable_system("dense")
    entries, b = system.matrix.dense(), system.input
    of = lambda entries: gramian(ContinuousSystem(DenseMatrix(entries), b, system.output))
    turn = jnp.asarray(np.random.default_rng(0).normal(size=entries.shape))
    _, slope = jax.jvp(of, (entries,), (turn,))
    assert np.allclose(slope, (of(entries + 1e-6 * turn) - of(entries - 1e-6 * turn)) / 2e-6, rtol=1e-6, atol=1e-7)


def test_energy_is_the_sum_of_squares_of_the_response():
    step = 1e-3
    system = ContinuousSystem(oscillators(3), jnp.ones((3, 1)), jnp.ones((1, 3)))
    # the complex response, from its real and its imaginary part; midpoints through half a step before
    half = discretise(system, step / 2).matrix.poles
    start = ContinuousSystem(system.matrix, half[:, None], system.output)
    turned = ContinuousSystem(system.matrix, -1j * half[:, None], system.output)
    total = 0.0
    for part in (start, turned):
        sampled = discretise(part, step)
        response = impulse_response(type(sampled)(sampled.matrix, part.input, sampled.output), 40_000)[1:, 0, 0]
        total += step * float(jnp.sum(response**2))
    assert np.isclose(energy(system)[0, 0], total, rtol=1e-5)


@pytest.mark.parametrize("states", [1, 2, 5, 64])
def test_legs_is_diagonal_plus_low_rank_in_a_unitary_basis(states):
    matrix, b = legs(states)
    low, basis = legs_low_rank(states)
    n = np.arange(states)
    by_hand = [[-np.sqrt((2 * i + 1) * (2 * k + 1)) if i > k else -(i + 1.0) if i == k else 0.0 for k in n] for i in n]
    assert np.allclose(matrix, by_hand)
    assert np.allclose(b[:, 0] ** 2, 2 * n + 1)
    assert np.allclose(basis.conj().T @ basis, np.eye(states), atol=1e-12)
    assert np.allclose(basis @ low.dense() @ basis.conj().T, matrix, atol=1e-11 * states**2)
    assert np.allclose(legs_skew(states), -np.asarray(legs_skew(states)).T)
    check_stable(ContinuousSystem(low, jnp.ones((states, 1)), jnp.ones((1, states))))


def test_unstable_systems_are_refused_in_one_line():
    growing = ContinuousSystem(DiagonalMatrix(jnp.array([-1.0, 0.5])), jnp.ones((2, 1)), jnp.ones((1, 2)))
    for question in (gramian, energy, check_stable):
        with pytest.raises(SettingError, match=r"unstable system; found Re l = 0\.5; rule: Re l < 0") as caught:
            question(growing)
        assert "\n" not in str(caught.value)
    with pytest.raises(SettingError, match=r"unstable system; found \|a\| = 1\.05"):
        check_stable(discretise(growing, 0.1, "zero_order_hold"))
    check_stable(discretise(ContinuousSystem(oscillators(4), jnp.ones((4, 1)), jnp.ones((1, 4))), 5.0, "bilinear"))
