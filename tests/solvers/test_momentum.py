from decimal import Decimal, localcontext

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from lemmata.errors import SettingError
from lemmata.solvers import gradient_descent, gradient_flow, momentum_descent, momentum_flow
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(17, 6)) / 2
K, CROSS, Y = Z[:12] @ Z[:12].T, Z[12:] @ Z[:12].T, RNG.normal(size=(12, 2))
FOUND, LARGEST = spectrum(jnp.asarray(K)), float(np.linalg.eigvalsh(K)[-1])


def loop(rate, momentum, steps, nesterov):
    joint = np.concatenate([K, CROSS])
    now = before = np.zeros((17, 2))
    for _ in range(steps):
        ahead = now + momentum * (now - before)
        moved = ahead - rate * joint @ ((ahead if nesterov else now)[:12] - Y)
        now, before = moved, now
    return now


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("scaled", [0.7, 4.5])
def test_descent_is_the_loop_of_its_steps_and_diverges_with_it(nesterov, scaled):
    rate, counts = scaled / LARGEST, [0, 1, 2, 3, 57]
    path = momentum_descent(FOUND, jnp.asarray(Y), rate, 0.8, counts, jnp.asarray(CROSS), nesterov=nesterov)
    for i, steps in enumerate(counts):
        expected = loop(rate, 0.8, steps, nesterov)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(path.train[i], expected[:12], rtol=0, atol=60 * 17**2 * EPS * size)
        np.testing.assert_allclose(path.test[i], expected[12:], rtol=0, atol=60 * 17**2 * EPS * size)
    assert (np.abs(expected).max() > 1e3) == (scaled > 4)


def test_without_momentum_it_is_gradient_descent():
    rate, counts = 0.9 / LARGEST, [1, 30, 10**9]
    plain = gradient_descent(FOUND, jnp.asarray(Y), rate, counts, jnp.asarray(CROSS))
    for nesterov in (False, True):
        path = momentum_descent(FOUND, jnp.asarray(Y), rate, 0.0, counts, jnp.asarray(CROSS), nesterov=nesterov)
        np.testing.assert_allclose(path.test, plain.test, rtol=0, atol=1e4 * EPS)
        np.testing.assert_allclose(path.train, plain.train, rtol=0, atol=1e4 * EPS)


@pytest.mark.parametrize("kind", ["over", "critical", "nearly", "under", "mixed"])
def test_flow_is_the_exponential_of_its_first_order_system(kind):
    values = np.linalg.eigvalsh(K)[-6:]
    damping = {"over": 10.0, "critical": 2 * values[3] ** 0.5, "nearly": 2 * values[3] ** 0.5 * (1 + 1e-7)}
    damping = damping | {"under": 0.1, "mixed": 2 * values[3] ** 0.5 * 1.004}
    damping, times = damping[kind], [0.0, 1e-3, 0.4, 1.5, 20.0]
    path = momentum_flow(FOUND, jnp.asarray(Y), damping, times, jnp.asarray(CROSS))
    joint = np.zeros((17, 17))
    joint[:, :12] = np.concatenate([K, CROSS])
    generator = np.block([[np.zeros((17, 17)), np.eye(17)], [-joint, -damping * np.eye(17)]])
    start = np.concatenate([-Y, np.zeros((5 + 17, 2))])
    for i, time in enumerate(times):
        moved = (expm(generator * time) @ start)[:17] - start[:17]
        tolerance = 1e3 * 34 * EPS * (1 + time)
        np.testing.assert_allclose(path.train[i], moved[:12], rtol=0, atol=tolerance)
        np.testing.assert_allclose(path.test[i], moved[12:], rtol=0, atol=tolerance)


def test_flow_for_ever_is_the_interpolant_and_strong_damping_is_gradient_flow():
    path = momentum_flow(FOUND, jnp.asarray(Y), 2.0, [1e5, 1e14, float("inf")], jnp.asarray(CROSS))
    limit = gradient_flow(FOUND, jnp.asarray(Y), float("inf"), jnp.asarray(CROSS))
    for row in path.test:
        np.testing.assert_allclose(row, limit.test[0], rtol=0, atol=1e4 * EPS)
    strong, slow = 1e4, gradient_flow(FOUND, jnp.asarray(Y), 0.7, jnp.asarray(CROSS))
    damped = momentum_flow(FOUND, jnp.asarray(Y), strong, 0.7 * strong, jnp.asarray(CROSS))
    gap = np.linalg.norm(damped.train - slow.train)
    assert 0 < gap <= 2 * LARGEST / strong**2 * np.linalg.norm(Y)  # the roots differ by a relative a / damping²


def test_wrong_arguments_are_refused():
    y = jnp.asarray(Y)
    with pytest.raises(SettingError, match="momentum"):
        momentum_descent(FOUND, y, 0.1, 1.0, 3)
    with pytest.raises(SettingError, match="steps"):
        momentum_descent(FOUND, y, 0.1, 0.5, np.array([1.5]))
    with pytest.raises(SettingError, match="damping"):
        momentum_flow(FOUND, y, 0.0, 1.0)


def recursion(a, rate, momentum, nesterov, steps):
    """Phi after the steps by squares of the recursion's matrix, in 60 digits."""
    with localcontext(prec=60):
        a, rate, momentum = (Decimal(value) for value in (a, rate, momentum))
        shrink = 1 - rate * a
        row = [(1 + momentum) * shrink, -momentum * shrink] if nesterov else [momentum + shrink, -momentum]
        power = np.array([[*row, rate], [1, 0, 0], [0, 0, 1]], object)
        state = np.array([Decimal(0), Decimal(0), Decimal(1)], object)
        for bit in bin(steps)[:1:-1]:
            state = power @ state if bit == "1" else state
            power = power @ power
        return float(state[0])


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9, 0.999])
def test_slow_modes_keep_their_digits(momentum, nesterov):
    # 1 - rate a rounds a of 1e-12 in its fourth digit; the power of the recursion did, at 1e12 steps.
    values, counts, rate = np.array([1.0, 1e-3, 1e-6, 1e-9, 1e-12]), [1, 10, 1000, 10**6, 10**12], 0.7
    path = momentum_descent(
        spectrum(jnp.diag(values)), jnp.ones(5), rate, momentum, counts, jnp.eye(5), nesterov=nesterov
    )
    expected = [[recursion(a, rate, momentum, nesterov, count) for a in values] for count in counts]
    # Before 1 / (1 - momentum) steps the power of the recursion is taken, which rounds once a step.
    np.testing.assert_allclose(path.test, expected, rtol=1e4 * EPS / (1 - momentum))
