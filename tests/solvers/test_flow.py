import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from lemmata.errors import SettingError, ShapeError
from lemmata.solvers import gradient_descent, gradient_flow, kernel_ridge, predict
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps


def problem(seed, n, d, t=7):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n + t, d)) / np.sqrt(d)
    return z[:n] @ z[:n].T, z[n:] @ z[:n].T, rng.normal(size=(n, 2))


@pytest.mark.parametrize("d", [30, 6])
def test_flow_is_the_matrix_exponential_on_training_and_other_points(d):
    K, cross, y = problem(0, 15, d)
    path = gradient_flow(spectrum(jnp.asarray(K)), jnp.asarray(y), [0.0, 0.3, 4.0], jnp.asarray(cross))
    for i, time in enumerate([0.0, 0.3, 4.0]):
        np.testing.assert_allclose(path.train[i], y - expm(-K * time) @ y, rtol=0, atol=15**2 * EPS)
        # d(f, g)/dt = (-K, -K_cross)(f - y): the exponential of the joint generator needs no inverse of K
        joint = np.block([[-K, np.zeros((15, 7))], [-cross, np.zeros((7, 7))]])
        start = np.concatenate([-y, np.zeros((7, 2))])
        other = (expm(joint * time) @ start)[15:]
        np.testing.assert_allclose(path.test[i], other, rtol=0, atol=15**2 * EPS * np.exp(0.5))


@pytest.mark.parametrize("d", [30, 6])
@pytest.mark.parametrize("rate", [0.05, 0.9])
def test_descent_is_the_loop_of_its_steps(d, rate):
    K, cross, y = problem(1, 15, d)
    rate = rate * 2 / np.linalg.eigvalsh(K)[-1]
    path = gradient_descent(spectrum(jnp.asarray(K)), jnp.asarray(y), rate, [0, 1, 2, 40], jnp.asarray(cross))
    f, g = np.zeros_like(y), np.zeros((7, 2))
    for step in range(41):
        if step in (0, 1, 2, 40):
            i = [0, 1, 2, 40].index(step)
            np.testing.assert_allclose(path.train[i], f, rtol=0, atol=41 * 15 * EPS * np.abs(y).max())
            np.testing.assert_allclose(path.test[i], g, rtol=0, atol=41 * 15**2 * EPS * np.abs(y).max())
        f, g = f - rate * K @ (f - y), g - rate * cross @ (f - y)


def test_descent_diverges_as_its_loop_does_above_the_critical_rate():
    K, _, y = problem(2, 8, 20)
    rate = 2.5 / np.linalg.eigvalsh(K)[-1]
    f = np.zeros_like(y)
    for _ in range(31):
        f = f - rate * K @ (f - y)
    path = gradient_descent(spectrum(jnp.asarray(K)), jnp.asarray(y), rate, 31)
    np.testing.assert_allclose(path.train[0], f, rtol=0, atol=31 * 64 * EPS * np.abs(f).max())
    assert np.abs(f).max() > 1e3


def test_descent_at_a_small_rate_is_flow():
    K, _, y = problem(3, 10, 20)
    found, y = spectrum(jnp.asarray(K)), jnp.asarray(y)
    largest = float(found.eigenvalues[0])
    gaps = [
        float(jnp.max(jnp.abs(gradient_descent(found, y, 1 / s, s).train - gradient_flow(found, y, 1.0).train)))
        for s in (1000, 2000)
    ]
    assert gaps[0] < largest**2 / 1000 * float(jnp.linalg.norm(y))  # Euler's method: error at most a² t / (2 s) |y|
    assert abs(np.log2(gaps[0] / gaps[1]) - 1) < 0.05


def test_flow_for_ever_is_the_interpolant_of_least_norm():
    K, cross, y = problem(4, 12, 30)
    path = gradient_flow(spectrum(jnp.asarray(K)), jnp.asarray(y), float("inf"), jnp.asarray(cross))
    limit = predict(kernel_ridge(jnp.asarray(K), jnp.asarray(y), 0.0), jnp.asarray(cross))
    bound = 12**2 * EPS * np.linalg.cond(K)
    np.testing.assert_allclose(path.test[0], limit, rtol=0, atol=bound)
    np.testing.assert_allclose(path.train[0], y, rtol=0, atol=bound)
    singular, cross, y = problem(5, 12, 4)
    path = gradient_flow(spectrum(jnp.asarray(singular)), jnp.asarray(y[:, 0]), float("inf"), jnp.asarray(cross))
    np.testing.assert_allclose(
        path.test[0],
        cross @ np.linalg.pinv(singular, rcond=1e-12) @ y[:, 0],
        rtol=0,
        atol=12**2 * EPS * np.linalg.cond(cross @ cross.T + np.eye(7)) * 1e2,
    )


def test_wrong_arguments_are_refused():
    found, y = spectrum(jnp.eye(3)), jnp.ones(3)
    with pytest.raises(SettingError, match="time"):
        gradient_flow(found, y, -1.0)
    with pytest.raises(SettingError, match="steps"):
        gradient_descent(found, y, 0.1, np.array([1.5]))
    with pytest.raises(SettingError, match="learning_rate"):
        gradient_descent(found, y, 0.0, 2)
    with pytest.raises(ShapeError, match="targets"):
        gradient_flow(found, jnp.ones(4), 1.0)
    with pytest.raises(ShapeError, match="cross"):
        gradient_flow(found, y, 1.0, jnp.ones((2, 4)))


@pytest.mark.parametrize("repeated", ["rows", "rank"])
def test_long_times_are_the_limit_where_modes_are_null(repeated):
    rng = np.random.default_rng(6)
    z = rng.normal(size=(17, 4 if repeated == "rank" else 30)) / 3
    if repeated == "rows":
        z[:5] = z[5:10]
    K, cross, y = z[:12] @ z[:12].T, z[12:] @ z[:12].T, rng.normal(size=12)
    found, times = spectrum(jnp.asarray(K)), [1e6, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, float("inf")]
    path = gradient_flow(found, jnp.asarray(y), times, jnp.asarray(cross))
    smallest = float(found.resolved[found.resolved > 0].min())
    assert np.exp(-smallest * 1e6) < EPS  # what is resolved has converged at all these times
    limit = cross @ np.linalg.pinv(K, rcond=1e-12) @ y
    bound = 16 * 12 * EPS * float(found.eigenvalues[0]) / smallest**2 * np.abs(cross).max() * np.linalg.norm(y)
    for row in path.test:
        np.testing.assert_allclose(row, limit, rtol=0, atol=12 * bound)
    steps = gradient_descent(found, jnp.asarray(y), 0.5 / float(found.eigenvalues[0]), [10**13], jnp.asarray(cross))
    np.testing.assert_allclose(steps.test[0], limit, rtol=0, atol=12 * bound)
    assert 12 * bound < 1e-9


def test_long_times_are_the_limit_where_eigenvalues_fade_into_rounding():
    x = np.linspace(-1, 1, 40)[:, None]
    K, cross = np.exp(-((x - x.T) ** 2) / 2), np.exp(-((x[:5] + 0.01 - x.T) ** 2) / 2)
    found = spectrum(jnp.asarray(K))
    assert found.rank < 20
    path = gradient_flow(found, jnp.sin(3 * jnp.asarray(x[:, 0])), [1e15, float("inf")], jnp.asarray(cross))
    np.testing.assert_array_equal(path.test[0], path.test[1])  # exp(-a t) < exp(-1e3) for all that is resolved


def test_a_mode_that_cannot_be_told_from_null_counts_only_while_it_cannot_have_converged():
    found, cross = spectrum(jnp.diag(jnp.array([1.0, 1e-16]))), jnp.array([[0.0, 1e-8]])  # 1e-8 <= sqrt(1e-16 K(x, x))
    floor = float(found.floor)
    path = gradient_flow(found, jnp.ones(2), [1e6, 1 / floor / 2, 2 / floor, 1e15, float("inf")], cross)
    np.testing.assert_allclose(path.test[:, 0], [1e-2, 1e-8 / floor / 2, 0, 0, 0], rtol=4 * EPS)


def exact_path(features, others, y, filters, digits=60):
    """K_cross phi(K) y in 60 digits, K = Z Z^T of given features Z, whose null space is exactly that of Z^T."""
    with mpmath.workdps(digits):
        z, other, target = (mpmath.matrix(part.tolist()) for part in (features, others, y))
        values, axes = mpmath.eigsy(z.T * z)
        reached = mpmath.diag([filters(value) for value in values])
        return np.array([float(value) for value in other * axes * reached * axes.T * z.T * target])


FILTERS = {
    "flow": lambda a, t: -mpmath.expm1(-a * t) / a,
    "descent": lambda a, t: (1 - (1 - mpmath.mpf(0.5) * a) ** int(2 * t)) / a,
}


@pytest.mark.parametrize("kind", sorted(FILTERS))
@pytest.mark.parametrize("smallest", [1e-1, 1e-3, 1e-5])
def test_null_modes_never_move_other_points_by_more_than_rounding_does(kind, smallest):
    rng = np.random.default_rng(11)
    z = rng.normal(size=(17, 4)) * np.geomspace(1, smallest, 4) / 3  # rank 4 of 12, eigenvalues from 1 to smallest²
    K, cross, y = jnp.asarray(z[:12] @ z[:12].T), jnp.asarray(z[12:] @ z[:12].T), rng.normal(size=12)
    found, times = spectrum(K), [1e3, 1e6, 1e9, 1e11, 1e12, 1e13, 1e15, 1e18]
    assert found.rank == 4
    if kind == "flow":
        path = gradient_flow(found, jnp.asarray(y), times, cross)
    else:
        path = gradient_descent(found, jnp.asarray(y), 0.5, [int(2 * time) for time in times], cross)
    low, values = float(found.resolved[3]), found.resolved[:4]
    for time, outputs in zip(times, path.test, strict=True):
        # K is known to n eps a_1. Through phi(K, t) that moves the outputs by at most its product with t, or 1/a_4 once
        # the mode has converged, and with K_cross phi(K, t).
        phi = jnp.abs(-jnp.expm1(-values * time) / values)
        reach = float(jnp.linalg.norm((cross @ found.eigenvectors[:, :4]) * phi)) * np.linalg.norm(y)
        bound = 12 * EPS * float(found.eigenvalues[0]) * min(time, 1 / low) * reach
        truth = exact_path(z[:12], z[12:], y, lambda a, t=time: FILTERS[kind](a, mpmath.mpf(t)))
        np.testing.assert_allclose(outputs, truth, rtol=0, atol=bound + 100 * EPS * np.abs(truth).max())
        if smallest > 1e-5:
            assert bound < 1e-6 * np.abs(truth).max()
