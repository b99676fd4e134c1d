import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, NotPositiveDefiniteError, PrecisionError, SettingError, ShapeError
from lemmata.solvers import kernel_ridge, leave_one_out_residuals, predict, require_positive_semidefinite, ridge_path
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps


def problem(seed, n, d):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    return jnp.asarray(z @ z.T), jnp.asarray(rng.normal(size=(n, 2)))


def test_the_solution_solves_the_system_and_says_so():
    K, y = problem(0, 30, 50)
    solution = kernel_ridge(K, y, 0.5)
    condition = float(jnp.linalg.cond(K + 0.5 * jnp.eye(30)))
    np.testing.assert_allclose(
        solution.coefficients, np.linalg.solve(K + 0.5 * np.eye(30), y), rtol=0, atol=30 * EPS * condition
    )
    assert float(solution.jitter) == 0
    assert float(solution.residual) < 30 * EPS * condition
    assert predict(solution, K[:4]).shape == (4, 2)
    assert kernel_ridge(K, y[:, 0], 0.5).coefficients.shape == (30,)


def test_a_singular_matrix_gets_a_small_jitter_that_is_reported():
    K, y = problem(1, 40, 5)
    solution = kernel_ridge(K, K @ y, 0.0)
    assert 0 < float(solution.jitter) <= 1e5 * EPS * float(jnp.trace(K))
    # y lies in the range of K, so the residual is of the order jitter / smallest positive eigenvalue
    smallest = np.sort(np.linalg.eigvalsh(np.asarray(K)))[-5]
    assert float(solution.residual) < 10 * float(solution.jitter) / smallest


def test_a_jitter_never_hides_an_indefinite_matrix():
    K = jnp.diag(jnp.array([1.0, 1.0, -1e-9]))
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue -1e-09"):
        kernel_ridge(K, jnp.ones(3), 0.0)


def test_wrong_arguments_are_refused():
    K, y = problem(2, 10, 20)
    with pytest.raises(SettingError, match="ridge"):
        kernel_ridge(K, y, -1.0)
    with pytest.raises(ShapeError, match="targets"):
        kernel_ridge(K, y[:-1], 1.0)
    with jax.enable_x64(False), pytest.raises(PrecisionError):
        kernel_ridge(K, y, 1.0)
    with pytest.raises(PrecisionError, match="float16"):
        kernel_ridge(K.astype(jnp.float16), y, 1.0)
    with pytest.raises(ShapeError, match="square"):
        kernel_ridge(K[:5], y[:5], 1.0)
    with pytest.raises(ShapeError, match="symmetric"):
        leave_one_out_residuals(K.at[0, 1].add(1e-6), y, 1.0)
    with pytest.raises(DataError, match="Gram matrix K"):
        kernel_ridge(K.at[0, 0].set(jnp.nan), y, 1.0)
    with pytest.raises(ShapeError, match="symmetric"):
        require_positive_semidefinite(K.at[0, 1].add(1e-6))
    with pytest.raises(SettingError, match=r"spectrum; found an array of shape \(10, 10\).*spectrum\(K\)"):
        inspect.unwrap(ridge_path)(K, y, [0.1])  # as without checks of types


def test_leave_one_out_residuals_are_those_of_refits():
    K, y = problem(3, 20, 40)
    found = leave_one_out_residuals(K, y, 0.3)
    bound = 20**2 * EPS * float(jnp.linalg.cond(K + 0.3 * jnp.eye(20)))
    for i in range(20):
        others = np.arange(20) != i
        solution = kernel_ridge(K[np.ix_(others, others)], y[others], 0.3)
        np.testing.assert_allclose(found[i], y[i] - predict(solution, K[i : i + 1, others])[0], rtol=bound, atol=bound)
    np.testing.assert_allclose(leave_one_out_residuals(K, y[:, 1], 0.3), found[:, 1], rtol=bound)


def test_a_path_of_ridges_is_each_solution_and_its_refits():
    K, y = problem(4, 20, 8)
    ridges = [0.01, 0.3, 5.0]
    for targets in (y, y[:, 0]):
        path = ridge_path(spectrum(K), targets, ridges)
        for i, ridge in enumerate(ridges):
            bound = 20**2 * EPS * float(jnp.linalg.cond(K + ridge * jnp.eye(20))) / ridge
            alone = kernel_ridge(K, targets, ridge)
            np.testing.assert_allclose(path.coefficients[i], alone.coefficients, rtol=0, atol=bound)
            np.testing.assert_allclose(path.residuals[i], targets - K @ alone.coefficients, rtol=0, atol=bound)
            refits = leave_one_out_residuals(K, targets, ridge)
            np.testing.assert_allclose(path.leave_one_out[i], refits, rtol=bound, atol=bound)
    errors = [float(jnp.sum(leave_one_out_residuals(K, y[:, 0], ridge) ** 2)) for ridge in ridges]
    assert float(path.best) == ridges[int(np.argmin(errors))]
    with pytest.raises(SettingError, match="ridges"):
        ridge_path(spectrum(K), y, [0.1, 0.0])
    with pytest.raises(DataError, match="targets"):
        ridge_path(spectrum(K), y.at[0, 0].set(jnp.nan), ridges)


def test_the_solution_can_be_differentiated():
    K, y = problem(5, 12, 20)

    def held_out(ridge):
        solution = kernel_ridge(K[:9, :9], y[:9], ridge)
        return jnp.sum((predict(solution, K[9:, :9]) - y[9:]) ** 2)

    slope, step = float(jax.jit(jax.grad(held_out))(0.7)), 1e-5
    difference = (float(held_out(0.7 + step)) - float(held_out(0.7 - step))) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-6)  # step² in the slope, eps/step from rounding


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_the_best_ridge_does_not_depend_on_the_unit_of_the_targets(unit):
    K, y = problem(4, 20, 5)
    ridges = [0.01, 0.1, 1.0, 10.0]
    best = ridge_path(spectrum(K), y, ridges).best
    assert best != ridges[0]
    assert ridge_path(spectrum(K), unit * y, ridges).best == best
