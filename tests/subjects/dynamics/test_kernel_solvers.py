"""Solvers for the kernels of fine-tuning against scikit-learn, parameter space and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.errors import SettingError, ShapeError
from lemmata.subjects.dynamics import asymmetric_fit, fine_tune, logistic_descent, offset_regression


@pytest.fixture
def rows(key):
    keys = jax.random.split(key, 3)
    y = jnp.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    return jax.random.normal(keys[0], (6, 4)), y, jax.random.normal(keys[1], (3, 4)), jax.random.normal(keys[2], (9,))


def test_least_squares_from_an_offset_is_ridge_regression_of_what_is_left(rows):
    x, y, new, start = rows
    kernel, largest = x @ x.T, np.linalg.norm(x, 2) ** 2
    found = offset_regression(kernel, y, new @ x.T, ridge=0.1, start=start[:6], start_at=start[6:])
    known = KernelRidge(alpha=0.1 * largest, kernel="precomputed").fit(np.asarray(kernel), np.asarray(y - start[:6]))
    np.testing.assert_allclose(found, start[6:] + known.predict(np.asarray(new @ x.T)), rtol=1e-10)


def test_a_kernel_of_another_scale_gives_the_same(rows):
    x, y, new, _ = rows
    one, other = (offset_regression(c * x @ x.T, y, c * new @ x.T, ridge=0.3) for c in (1.0, 1e6))
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_logistic_descent_is_fine_tuning_of_a_linear_function(rows):
    x, y, new, _ = rows
    w = jnp.array([0.3, -0.2, 0.1, 0.5])
    path = fine_tune(lambda p, point: p @ point, w, x, y, optax.sgd(0.2), steps=[40], until=0.35)
    known = {"rate": 0.2, "steps": 40, "until": 0.35, "start": x @ w, "start_at": new @ w}
    np.testing.assert_allclose(logistic_descent(x @ x.T, y, new @ x.T, **known), new @ path[1], rtol=1e-10)


def test_a_symmetric_kernel_gives_the_machine_without_a_constant(rows):
    x, y, new, _ = rows
    fit = asymmetric_fit(x @ x.T, y, gamma=2.0)
    single = jnp.linalg.solve(jnp.eye(6) / 2 + y[:, None] * (x @ x.T) * y, jnp.ones(6))
    np.testing.assert_allclose(fit.alpha, single, rtol=1e-9)
    np.testing.assert_allclose(fit.beta, single, rtol=1e-9)
    cross = new @ x.T
    np.testing.assert_allclose(fit.predict(cross, cross.T, 0.3), cross @ (single * y), rtol=1e-9)


def test_the_functions_of_an_asymmetric_kernel_are_stationary_in_features_and_no_minimum(rows):
    x, y, new, _ = rows
    phi, psi, gamma = x, jnp.sign(x) + 0.2 * x, 0.7
    fit = asymmetric_fit(phi @ psi.T, y, gamma)
    w, v = (fit.beta * y) @ psi, (fit.alpha * y) @ phi

    def objective(both):
        own = jnp.split(both, 2)
        left = sum(jnp.sum((1 - y * (rows @ part)) ** 2) for rows, part in zip((phi, psi), own, strict=True))
        return jnp.vdot(*own) + gamma / 2 * left

    at = jnp.concatenate([w, v])
    np.testing.assert_allclose(jax.grad(objective)(at), 0.0, atol=1e-10)
    np.testing.assert_allclose(fit.predict(new @ psi.T, phi @ new.T, 0.0), new @ psi.T @ (fit.beta * y))
    small = asymmetric_fit(phi @ psi.T, y, 1e-3)
    assert small.alpha.shape == (6,)
    weak = jax.hessian(lambda both: objective(both) / gamma * 1e-3 + (1 - 1e-3 / gamma) * jnp.vdot(*jnp.split(both, 2)))
    assert jnp.linalg.eigvalsh(weak(at))[0] < 0


def test_bad_input_is_named(rows):
    x, y, new, _ = rows
    with pytest.raises(SettingError, match="ridge; found 0"):
        offset_regression(x @ x.T, y, new @ x.T, ridge=0.0)
    with pytest.raises(ShapeError, match=r"\(n, n\), \(m, n\) and \(n,\)"):
        offset_regression(x @ x.T, y[:5], new @ x.T, ridge=0.1)
    with pytest.raises(SettingError, match="gamma"):
        asymmetric_fit(x @ x.T, y, gamma=0.0)
    with pytest.raises(SettingError, match="-1 and 1"):
        asymmetric_fit(x @ x.T, 2 * y, gamma=1.0)
