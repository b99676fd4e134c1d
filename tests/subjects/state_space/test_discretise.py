"""Discretisations against SciPy's, which forms them from dense matrices, for every structure of the state matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

from lemmata.subjects.state_space import (
    METHODS,
    ContinuousSystem,
    DenseMatrix,
    DiagonalMatrix,
    DiagonalPlusLowRank,
    discretise,
    impulse_response,
    run,
)

NAMES = {"zero_order_hold": "zoh", "bilinear": "bilinear", "first_order_hold": "foh", "euler": "euler"}


def matrices(n=5):
    rng = np.random.default_rng(3)
    square = rng.normal(size=(n, n))
    poles = -rng.uniform(0.1, 2.0, n) + 1j * rng.normal(size=n)
    left, right = (0.5 * (rng.normal(size=(n, 2)) + 1j * rng.normal(size=(n, 2))) for _ in range(2))
    return {
        "dense": DenseMatrix(square - square.T - np.eye(n)),
        "real": DiagonalMatrix(-rng.uniform(0.1, 2.0, n)),
        "complex": DiagonalMatrix(poles),
        "rank 1": DiagonalPlusLowRank(poles, left[:, :1], right[:, :1]),
        "rank 2": DiagonalPlusLowRank(poles, left, right),
    }


def system_of(matrix, seed=4):
    rng = np.random.default_rng(seed)
    n = matrix.size
    return ContinuousSystem(
        matrix, rng.normal(size=(n, 2)), rng.normal(size=(3, n)), jnp.asarray(rng.normal(size=(3, 2)))
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", matrices())
def test_the_response_is_that_of_the_textbook(name, method):
    """Of a complex system SciPy is asked about the real form, whose outputs are the real parts."""
    system, step = system_of(matrices()[name]), 0.3
    a, b, c = np.asarray(system.matrix.dense()), np.asarray(system.input), np.asarray(system.output)
    if np.iscomplexobj(a):
        a = np.block([[a.real, -a.imag], [a.imag, a.real]])
        b, c = np.vstack([b, 0 * b]), np.hstack([c, 0 * c])
    ad, bd, cd, dd, _ = signal.cont2discrete((a, b, c, np.asarray(system.passed)), step, NAMES[method])
    expected = [dd, *(cd @ np.linalg.matrix_power(ad, k) @ bd for k in range(11))]
    found = impulse_response(discretise(system, step, method), 12)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["complex", "rank 1", "rank 2"])
def test_the_bilinear_rule_keeps_the_structure(name):
    matrix = matrices()[name]
    found = discretise(system_of(matrix), 0.2, "bilinear").matrix
    assert type(found) is type(matrix)
    inside = np.eye(5) - 0.1 * np.asarray(matrix.dense())
    assert np.allclose(found.dense(), np.linalg.solve(inside, 2 * np.eye(5) - inside), atol=1e-13)


def test_a_pole_at_zero_integrates():
    """(e^z - 1)/z and (e^z - 1 - z)/z² at z = 0, near it and on both sides of where their series begins."""
    poles = np.array([0.0, 1e-9, -1e-4, -0.99, -1.01, 6.0])
    ones = jnp.ones((6, 1))
    system = ContinuousSystem(DiagonalMatrix(poles), ones, ones.T)
    with np.errstate(invalid="ignore"):
        exact = np.where(poles == 0, 1.0, np.expm1(poles) / np.where(poles == 0, 1, poles))
    assert np.allclose(discretise(system, 1.0).input[:, 0], exact, rtol=1e-14)
    dense = ContinuousSystem(DenseMatrix(np.diag(poles)), ones, ones.T)
    moved, plain = (discretise(s, 1.0, "first_order_hold").input for s in (system, dense))
    assert np.allclose(moved, plain, rtol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_gradients_reach_the_poles(method):
    poles = jnp.array([0.0, -0.5, -2.0])

    def last(poles):
        system = ContinuousSystem(DiagonalMatrix(poles), jnp.ones((3, 1)), jnp.ones((1, 3)))
        return impulse_response(discretise(system, 0.1, method), 9)[-1, 0, 0]

    found = np.asarray(jax.grad(last)(poles))
    step = 1e-6 * np.eye(3)
    differences = [(last(poles + row) - last(poles - row)) / 2e-6 for row in step]
    assert np.allclose(found, differences, rtol=1e-6)


@pytest.mark.parametrize("method", ["first_order_hold", "bilinear"])
@pytest.mark.parametrize(("phase", "order"), [(0.0, 2), (np.pi / 2, 1)])
def test_rules_that_look_ahead_lose_an_order_where_the_input_jumps_at_the_start(method, phase, order):
    pole, errors = -0.5 + 3j, []
    system = ContinuousSystem(DiagonalMatrix(jnp.array([pole])), jnp.ones((1, 1)), jnp.ones((1, 1)))
    for steps in (256, 512):
        t = np.arange(steps + 1) * 4 / steps
        both = [s * np.exp(1j * s * phase) * (np.exp(2j * s * t) - np.exp(pole * t)) / (2j * s - pole) for s in (1, -1)]
        found = run(discretise(system, 4 / steps, method), jnp.sin(2 * t + phase)[:, None])[:, 0]
        errors.append(np.sqrt(np.mean((found - (sum(both) / 2j).real) ** 2)))
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.1


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("pole", [-50.0, -1e3, -1e9, -1e25, -0.5 + 200j, -3.0 - 1e4j])
def test_fast_poles_keep_their_digits(pole, kind):
    """Here e^z is 0 or known, so f_1 = (e^z - 1) / z is exact: B' = f_1 for a hold and f_1² for the first order."""
    poles = jnp.asarray([pole], kind if np.isrealobj(pole) else {"f4": "c8", "f8": "c16"}[kind])
    ones = jnp.ones((1, 1), kind)
    system = ContinuousSystem(DiagonalMatrix(poles), ones, ones)
    z = complex(np.asarray(poles)[0])
    first = np.expm1(z) / z
    tolerance = 40 * np.finfo(kind).eps
    assert np.allclose(discretise(system, 1.0).input[0, 0], first, rtol=tolerance, atol=0)
    found = discretise(system, 1.0, "first_order_hold")
    assert np.allclose(found.input[0, 0], first**2, rtol=tolerance, atol=1e-44)
    assert np.allclose(found.direct[0, 0], ((first - 1) / z).real, rtol=tolerance, atol=0)
