"""Iterative solvers against dense algebra, and low-rank approximations against their defining laws."""

import inspect
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from lemmata.errors import DataError, NotPositiveDefiniteError, PrecisionError, SettingError, ShapeError, SolverError
from lemmata.kernels import RBF, gram
from lemmata.solvers import (
    KernelOperator,
    Preconditioner,
    conjugate_gradient_path,
    conjugate_gradients,
    kernel_product,
    nystrom_approximation,
    randomly_pivoted_cholesky,
)

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(150, 2)), RNG.normal(size=(150, 2))
K = gram(RBF(1.0), jnp.asarray(X))


def test_products_in_blocks_are_the_product():
    x, other, v = jnp.asarray(X), jnp.asarray(RNG.normal(size=(40, 2))), jnp.asarray(RNG.normal(size=(40, 3)))
    whole = np.asarray(gram(RBF(1.0), x, other)) @ np.asarray(v)
    for block in (1, 64, 150, 1000, None):
        found = kernel_product(RBF(1.0), x, other, v, block=block)
        np.testing.assert_allclose(found, whole, rtol=0, atol=40 * EPS * np.abs(v).sum())
    assert kernel_product(RBF(1.0), x, other, v[:, 0]).shape == (150,)


@pytest.mark.parametrize("shape", [(150,), (150, 2)])
def test_solves_the_dense_system_and_reports_the_true_residual(shape):
    y, ridge = Y[:, 0] if len(shape) == 1 else Y, 0.3
    A = np.asarray(K) + ridge * np.eye(150)
    for operator in (K, KernelOperator(RBF(1.0), jnp.asarray(X), 64), lambda v: K @ v):
        found = conjugate_gradients(operator, jnp.asarray(y), ridge, tolerance=1e-10)
        assert found.coefficients.shape == shape
        gap = np.linalg.norm(found.coefficients - np.linalg.solve(A, y), axis=0)
        assert np.all(gap <= 1e-10 / ridge * np.linalg.norm(y, axis=0))  # |A^-1| <= 1 / ridge
        missed = np.linalg.norm(A @ np.asarray(found.coefficients) - y, axis=0) / np.linalg.norm(y, axis=0)
        assert float(found.residual) == pytest.approx(missed.max(), rel=1e-3)
        assert len(found.residuals) == found.iterations + 1
        assert found.residuals[0] == 1


def test_the_path_is_the_textbook_loop():
    A, y = np.asarray(K)[:30, :30] + 0.1 * np.eye(30), Y[:30, :1]
    path = conjugate_gradient_path(lambda v: jnp.asarray(A) @ v, jnp.asarray(y), 6)
    x, r = np.zeros((30, 1)), y.copy()
    p = r.copy()
    for i in range(6):
        np.testing.assert_allclose(path[i], x, rtol=0, atol=1e3 * EPS * np.linalg.cond(A))
        length = (r.T @ r) / (p.T @ A @ p)
        x, new = x + length * p, r - length * A @ p
        p, r = new + (new.T @ new) / (r.T @ r) * p, new


@pytest.mark.parametrize("kind", [randomly_pivoted_cholesky, nystrom_approximation])
def test_a_preconditioner_saves_iterations_and_keeps_its_bound(kind, key):
    ridge, operator = 1e-3, KernelOperator(RBF(1.0), jnp.asarray(X))
    low = kind(operator, 40, key)
    preconditioner = Preconditioner(low, ridge)
    plain = conjugate_gradients(operator, jnp.asarray(Y), ridge)
    fast = conjugate_gradients(operator, jnp.asarray(Y), ridge, preconditioner=preconditioner)
    gap = np.linalg.norm(fast.coefficients - plain.coefficients, axis=0)
    assert np.all(gap <= 2e-8 / ridge * np.linalg.norm(Y, axis=0))
    A = np.asarray(K) + ridge * np.eye(150)
    values = np.linalg.eigvals(np.asarray(preconditioner(jnp.asarray(A)))).real
    condition, bound = values.max() / values.min(), float(preconditioner.condition)
    assert condition <= bound * (1 + 150 * EPS * np.linalg.cond(A))
    # 2 ((sqrt c - 1)/(sqrt c + 1))^i of the energy norm reaches 1e-8 of the residual after at most this many steps
    contraction = (np.sqrt(condition) - 1) / (np.sqrt(condition) + 1)
    assert fast.iterations <= np.log(1e-8 / 2 / np.sqrt(np.linalg.cond(A))) / np.log(contraction) + 1
    assert fast.iterations < plain.iterations / 3


@pytest.mark.parametrize("kind", [randomly_pivoted_cholesky, nystrom_approximation])
def test_a_low_rank_approximation_is_below_the_matrix_and_counts_what_it_missed(kind, key):
    low = kind(K, 25, key)
    approximate = np.asarray(low.eigenvectors * low.eigenvalues) @ np.asarray(low.eigenvectors).T
    gap = np.linalg.eigvalsh(np.asarray(K) - approximate)
    floor = 16 * 150 * EPS * np.linalg.norm(K, 2)
    assert gap.min() >= -floor
    assert float(low.missed) == pytest.approx(gap.sum(), abs=150 * floor)
    best = np.sort(np.linalg.eigvalsh(K))[:-25].sum()
    assert best <= float(low.missed) <= 10 * best
    np.testing.assert_allclose(low.eigenvectors.T @ low.eigenvectors, np.eye(25), rtol=0, atol=150 * EPS)


def test_the_pivots_give_the_nystrom_approximation_of_their_columns(key):
    low = randomly_pivoted_cholesky(KernelOperator(RBF(1.0), jnp.asarray(X)), 12, key)
    columns = np.asarray(K)[:, low.pivots]
    expected = columns @ np.linalg.solve(columns[low.pivots], columns.T)
    approximate = np.asarray(low.eigenvectors * low.eigenvalues) @ np.asarray(low.eigenvectors).T
    np.testing.assert_allclose(approximate, expected, rtol=0, atol=150 * EPS * np.linalg.cond(columns[low.pivots]))
    assert len(set(low.pivots)) == 12
    assert low.columns >= 12


def test_pivots_follow_their_law():
    factor = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.5], [0.4, -0.3]])
    A, count, seen = factor @ factor.T + np.diag([0.0, 0.2, 0.1, 0.5]), 1200, {}
    operator = jnp.asarray(A)
    for i in range(count):
        pair = tuple(randomly_pivoted_cholesky(operator, 2, jax.random.key(i), block=3).pivots.tolist())
        seen[pair] = seen.get(pair, 0) + 1
    statistic = 0.0
    for i, j in itertools.permutations(range(4), 2):
        first = A[i, i] / np.trace(A)
        rest = np.diag(A) - A[:, i] ** 2 / A[i, i]
        expected = count * first * rest[j] / rest.sum()
        statistic += (seen.get((i, j), 0) - expected) ** 2 / expected
    assert statistic < chi2.ppf(1 - 1e-4, 11)


def test_an_exact_rank_is_found_and_solved_in_one_step(key):
    z = RNG.normal(size=(60, 5))
    A = jnp.asarray(z @ z.T)
    low = randomly_pivoted_cholesky(A, 30, key)
    assert len(low.pivots) == 5
    found = conjugate_gradients(A, jnp.asarray(Y[:60]), 0.1, preconditioner=Preconditioner(low, 0.1))
    assert found.iterations == 1
    assert conjugate_gradients(A, jnp.zeros(60), 0.1).iterations == 0


def test_failures_are_said():
    y = jnp.asarray(Y)
    with pytest.raises(SolverError, match=r"after 3 iterations.*limit of 3.*at most 1e-08") as ended:
        conjugate_gradients(K, y, 1e-6, tolerance=1e-8, most=3)
    assert "allow more iterations, or use a preconditioner" in str(ended.value)
    with pytest.raises(SolverError, match=r"rounding|limit") as rounded:
        conjugate_gradients(K, y, 1e-9, tolerance=1e-16, most=2000)
    assert "larger tolerance" in str(rounded.value) or "allow more iterations" in str(rounded.value)
    indefinite = K - 0.01 * jnp.eye(150)
    with pytest.raises(NotPositiveDefiniteError, match="direction"):
        conjugate_gradients(indefinite, y, 0.02)
    with pytest.raises(NotPositiveDefiniteError, match="diagonal"):
        randomly_pivoted_cholesky(jnp.array([[1.0, 2.0], [2.0, 1.0]]), 2, jax.random.key(0), block=1)
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue"):
        nystrom_approximation(jnp.diag(jnp.array([1.0, 1.0, -0.5])), 3, jax.random.key(0))


def test_wrong_arguments_are_refused(key):
    x, y = jnp.asarray(X), jnp.asarray(Y)
    with pytest.raises(ShapeError, match="targets"):
        conjugate_gradients(K, y[:-1], 0.1)
    with pytest.raises(ShapeError, match="points x"):
        KernelOperator(RBF(), x[:0])
    with pytest.raises(PrecisionError, match="float16"):
        KernelOperator(RBF(), x.astype(jnp.float16))
    with pytest.raises(DataError, match="not finite"):
        conjugate_gradients(K, y.at[3, 0].set(jnp.nan), 0.1)
    with pytest.raises(DataError, match="product with K"):
        conjugate_gradients(lambda v: v * jnp.nan, y, 0.1)
    with pytest.raises(SettingError, match="ridge"):
        conjugate_gradients(K, y, -0.1)
    with pytest.raises(SettingError, match="tolerance"):
        conjugate_gradients(K, y, 0.1, tolerance=0.0)
    with pytest.raises(SettingError, match="rank"):
        nystrom_approximation(K, 151, key)
    with pytest.raises(SettingError, match="rank"):
        randomly_pivoted_cholesky(K, 0, key)
    with pytest.raises(SettingError, match="block"):
        KernelOperator(RBF(), x, 0)
    with pytest.raises(ShapeError, match="factors"):
        kernel_product(RBF(), x, x, y[:-1])
    with pytest.raises(SettingError, match="matrix; found a str"):
        inspect.unwrap(conjugate_gradients)("rbf", y, 0.1)  # as without checks of types
    for solve in (conjugate_gradients, lambda matrix, y, ridge: randomly_pivoted_cholesky(matrix, 3, key)):
        with pytest.raises(ShapeError, match="symmetric"):
            solve(K.at[0, 1].add(1e-6), y, 0.1)
        with pytest.raises(ShapeError, match="square"):
            solve(K[:10], y[:10], 0.1)
        with pytest.raises(PrecisionError, match="float16"):
            solve(K.astype(jnp.float16), y, 0.1)


def test_operators_and_preconditioners_of_another_size_are_refused(key):
    y = jnp.asarray(Y)
    low = randomly_pivoted_cholesky(K[:40, :40], 5, key)
    for wrong in (Preconditioner(low, 0.1), lambda v: v[:40], lambda v: v.sum()):
        with pytest.raises(ShapeError, match="the preconditioner"):
            conjugate_gradients(K, y, 0.1, preconditioner=wrong)
    for wrong in (lambda v: K[:40, :40] @ v, lambda v: K[:40] @ v):
        with pytest.raises(ShapeError, match="the product with K"):
            conjugate_gradients(wrong, y, 0.1)


def test_numpy_and_single_precision():
    found = conjugate_gradients(np.asarray(K), Y, 0.3)
    expected = conjugate_gradients(K, jnp.asarray(Y), 0.3)
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)
    single = conjugate_gradients(K.astype(jnp.float32), jnp.asarray(Y, jnp.float32), 0.3)
    assert single.coefficients.dtype == jnp.float32
    A = np.asarray(K) + 0.3 * np.eye(150)
    missed = np.linalg.norm(A @ np.asarray(single.coefficients, float) - Y, axis=0) / np.linalg.norm(Y, axis=0)
    # K itself is rounded to eps, and |alpha| <= |y| / ridge
    assert missed.max() <= 2e-4 + 16 * 150 * np.finfo(np.float32).eps * np.linalg.norm(K, 2) / 0.3
    assert expected.residuals[-1] <= 1e-8 < single.residuals[-1] <= 2e-4
    with jax.enable_x64(False):
        assert float(conjugate_gradients(np.float32(K), np.float32(Y), 0.3).residual) <= 2e-4


@pytest.mark.parametrize(("kind", "exponents"), [("f4", (-120, -70, 70, 110)), ("f8", (-1000, -560, 530, 1000))])
def test_targets_of_every_size_take_the_same_steps(kind, exponents):
    """Powers of 2 do not round, so the coefficients have the same bits; columns of different sizes do not mix."""
    x, y = jnp.asarray(X[:30], kind), Y[:30].astype(kind)
    matrix = gram(RBF(1.0), x)
    one = conjugate_gradients(matrix, y, 0.1)
    for exponent in exponents:
        found = conjugate_gradients(matrix, np.ldexp(y, [exponent, 0]), 0.1)
        assert (found.iterations, float(found.residual)) == (one.iterations, float(one.residual))
        np.testing.assert_array_equal(found.coefficients, np.ldexp(np.asarray(one.coefficients), [exponent, 0]))


def test_matrices_of_every_size_are_solved():
    matrix = gram(RBF(1.0), jnp.asarray(X[:20]))
    one = conjugate_gradients(matrix, Y[:20], 0.1)
    for unit in (1e-200, 1e200):
        found = conjugate_gradients(lambda v, unit=unit: unit * (matrix @ v), Y[:20], 0.1 * unit)
        np.testing.assert_allclose(unit * np.asarray(found.coefficients), one.coefficients, rtol=1e-6)


def test_coefficients_that_overflow_are_refused():
    with pytest.raises(DataError, match=r"targets; found entries near .*coefficients below 2e\+308"):
        conjugate_gradients(1e-4 * np.eye(2), np.full(2, 1e307), 0.0)
