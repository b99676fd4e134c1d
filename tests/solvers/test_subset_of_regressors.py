"""Least squares on centres, solved directly: against explicit matrices, and its plan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import (
    DataError,
    MemoryPlanError,
    NotPositiveDefiniteError,
    PrecisionError,
    SettingError,
    ShapeError,
)
from lemmata.kernels import RBF, AbstractKernel, Linear, Matern, gram
from lemmata.solvers import (
    centred_regression,
    centres_plan,
    kernel_ridge,
    subset_of_regressors,
)
from lemmata.solvers._normal_equations import _symmetric, moved_by_rounding, normal_equations

RNG = np.random.default_rng(0)
X = jnp.asarray(RNG.normal(size=(257, 3)))
F = jnp.stack([jnp.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1)
Z, KERNEL, EPS = X[:40], Matern(1.5, 1.5), np.finfo(float).eps


class Negative(AbstractKernel):
    """-<x, y>, no kernel at all."""

    def __call__(self, x, y):
        return -jnp.sum(x * y)


def matrices(kernel=KERNEL, z=Z):
    return np.asarray(gram(kernel, X, z)), np.asarray(gram(kernel, z))


def stacked(cross, own, ridge):
    """The least-squares rows [K_nz; sqrt(ridge) L^T], without normal equations."""
    values, vectors = np.linalg.eigh(own)
    return np.concatenate([cross, np.sqrt(ridge * np.maximum(values, 0))[:, None] * vectors.T])


@pytest.mark.parametrize("block", [1, 40, 100, 256, 257, 1000])
def test_it_is_the_explicit_least_squares_whatever_the_block(block):
    cross, own = matrices()
    targets = np.concatenate([F, np.zeros((40, 2))])
    rows = stacked(cross, own, 0.1)
    best = np.linalg.lstsq(rows, targets, rcond=None)[0]
    found = subset_of_regressors(KERNEL, X, F, Z, 0.1, block=block)
    # The coefficients carry the conditions of K_zz's factor, twice, and of the system that is solved.
    tolerance = 10 * EPS * np.linalg.cond(rows) ** 2 * np.abs(best).max()
    assert tolerance < 1e-8 * np.abs(best).max()
    np.testing.assert_allclose(found.coefficients, best, rtol=0, atol=tolerance)
    assert found.plan.block == min(block, 257)
    assert float(found.shift) == 0
    assert float(found.residual) <= 40 * EPS * float(found.condition)


def test_what_it_says_of_itself_is_so():
    cross, own = matrices()
    found = subset_of_regressors(KERNEL, X, F, Z, 0.1, block=100)
    assert float(found.jitter) == pytest.approx(16 * EPS * 40, rel=1e-12)  # the kernel is 1 on the diagonal
    whitened = np.linalg.solve(np.linalg.cholesky(own), cross.T)
    exact = np.linalg.cond(whitened @ whitened.T + 0.1 * np.eye(40))
    # Power iteration sees the ends of the spectrum from inside; thirty steps come within a tenth of each here.
    assert 0.8 * exact <= float(found.condition) <= exact * (1 + 1e-6)
    error = np.sum((cross @ np.asarray(found.coefficients) - np.asarray(F)) ** 2) / 257
    assert float(found.error) == pytest.approx(error, rel=1e-9)


def test_a_path_of_ridges_is_each_ridge_alone():
    ridges = jnp.array([1e-3, 0.1, 10.0])
    path = subset_of_regressors(KERNEL, X, F, Z, ridges, block=64)
    assert path(X[:5]).shape == (3, 5, 2)
    for i, ridge in enumerate(ridges):
        alone = subset_of_regressors(KERNEL, X, F, Z, float(ridge), block=64)
        assert alone(X[:5]).shape == (5, 2)
        np.testing.assert_array_equal(path.coefficients[i], alone.coefficients)
        # One product serves all ridges, so sums are in another order.
        bound = 40 * EPS * float(jnp.sum(jnp.abs(alone.coefficients)))
        np.testing.assert_allclose(path(X[:5])[i], alone(X[:5]), rtol=0, atol=bound)
        for name in ("shift", "residual", "condition", "error"):
            assert float(getattr(path, name)[i]) == pytest.approx(float(getattr(alone, name)), rel=1e-13)
    assert np.all(np.diff(path.error) > 0)


@pytest.mark.parametrize(("kernel", "ridge"), [(KERNEL, 0.1), (RBF(4.0), 1e-6)])
def test_on_all_training_points_it_is_kernel_ridge_regression(kernel, ridge):
    # The Gram matrix of the second has eigenvalues below its rounding: condition 1e17 and more.
    found = subset_of_regressors(kernel, X, F, X, ridge, block=100)
    K = np.asarray(gram(kernel, X))
    exact = kernel_ridge(jnp.asarray(K), F, ridge)
    fit = K @ np.asarray(exact.coefficients)
    # (K + ridge) alpha = y loses eps |K| / ridge; the penalty's jitter moves a mode a by ridge j / (a² + ridge a) of
    # itself at most, hence the fit by j / ridge.
    allowed = (EPS * np.linalg.norm(K, 2) * 257**0.5 + float(found.jitter)) / ridge * np.linalg.norm(F)
    assert allowed < 1e-3 * np.linalg.norm(F)
    assert np.linalg.norm(np.asarray(found(X)) - fit) <= allowed


def test_an_ill_conditioned_kernel_keeps_small_errors():
    # On repeated centres of a very smooth kernel K_zz is singular; targets in its span are still fitted.
    kernel, z = RBF(5.0), jnp.concatenate([X[:60], X[:60]])
    target = gram(kernel, X, X[:60]) @ jnp.asarray(RNG.normal(size=60))
    found = subset_of_regressors(kernel, X, target, z, 0.0, block=50)
    own = np.asarray(gram(kernel, z))
    assert np.linalg.cond(own) > 1e15
    error = float(jnp.linalg.norm(found(X) - target) / jnp.linalg.norm(target))
    # What K'K accumulated as it stands forgets: singular values of K_nz below sqrt(eps) of the largest.
    cross = np.asarray(gram(kernel, X, z))
    square = cross.T @ cross
    plain = np.linalg.lstsq(square, cross.T @ np.asarray(target), rcond=EPS * 120)[0]
    naive = np.linalg.norm(cross @ plain - np.asarray(target)) / np.linalg.norm(target)
    assert error < 0.1 * naive


def test_float32_blocks_are_summed_in_float64():
    # On these whole numbers the kernel is exact in single precision, and the sums of its squares are not.
    points = jnp.asarray(RNG.integers(-100, 100, size=(257, 3)), jnp.float32)
    found = subset_of_regressors(Linear(), points, F.astype(jnp.float32), points[:3], 0.1, block=100)
    assert found.coefficients.dtype == found.condition.dtype == jnp.float64
    assert found.centres.dtype == jnp.float32
    exact = np.asarray(points, float)
    cross, own = exact @ exact[:3].T, exact[:3] @ exact[:3].T
    assert np.abs(cross.T @ cross).max() > 2**24
    assert float(found.jitter) == pytest.approx(16 * 2**-23 * np.trace(own), rel=1e-6)
    rows = stacked(cross, own + float(found.jitter) * np.eye(3), 0.1)
    best = np.linalg.lstsq(rows, np.concatenate([F.astype(jnp.float32), np.zeros((3, 2))]), rcond=None)[0]
    tolerance = 100 * EPS * np.linalg.cond(rows) ** 2 * np.abs(best).max()
    assert tolerance < 2**-23 * 1e-2 * np.abs(best).max()
    np.testing.assert_allclose(found.coefficients, best, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kernel", [RBF(1.5), RBF(3.0), KERNEL, Matern(0.5, 1.0)], ids=str)
@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_sums_that_are_whitened_last_move_the_fit_as_little_as_is_said(kernel, ridge):
    factor, z, y = jnp.linalg.cholesky(gram(kernel, Z) + 1e-12 * jnp.eye(40)), Z, F / jnp.linalg.norm(F)
    first, last = (normal_equations(kernel, factor, z, X, y, 100, last=late) for late in (False, True))
    alphas = [np.linalg.solve(factor.T, kernel_ridge(*sums, ridge).coefficients) for sums in (first, last)]
    moved = np.linalg.norm(np.asarray(gram(kernel, X, z)) @ (alphas[1] - alphas[0]))
    said = float(moved_by_rounding(factor, last[0], y, jnp.asarray(alphas[1]), jnp.asarray(ridge)))
    # Both routes round, and the one that is whitened first by a few eps of |y|.
    assert moved <= said + 100 * EPS
    assert said < 1e-4


def test_rows_are_summed_again_where_rounding_would_move_the_fit_beyond_the_tolerance(monkeypatch):
    orders = []

    def noted(*given, last):
        orders.append(last)
        return normal_equations(*given, last=last)

    monkeypatch.setattr("lemmata.solvers._subset_of_regressors.normal_equations", noted)
    exact = subset_of_regressors(RBF(3.0), X, F, Z, 1e-6)
    assert orders == [False]
    loose = subset_of_regressors(RBF(3.0), X, F, Z, 1e-6, tolerance=1e-2)
    tight = subset_of_regressors(RBF(3.0), X, F, Z, 1e-6, tolerance=1e-12)
    assert orders == [False, True, True, False]
    np.testing.assert_array_equal(tight.coefficients, exact.coefficients)
    assert 0 < float(jnp.linalg.norm(loose(X) - exact(X))) <= 1e-2 * float(jnp.linalg.norm(F))
    orders.clear()
    subset_of_regressors(RBF(3.0), X.astype(jnp.float32), F, Z, [0.0, 1.0], tolerance=1.0)  # no ridge, no bound
    subset_of_regressors(RBF(3.0), X.astype(jnp.float32), F, Z, 1e-3)
    assert orders == [False, True]
    with pytest.raises(SettingError, match="tolerance"):
        subset_of_regressors(RBF(3.0), X, F, Z, 1.0, tolerance=-1.0)


def test_float32_points_cost_their_jitter():
    single = subset_of_regressors(KERNEL, X.astype(jnp.float32), F.astype(jnp.float32), Z, 0.1, block=100)
    exact = subset_of_regressors(KERNEL, X, F, Z, 0.1, block=100)
    # The jittered objective is at least the exact one, and larger by ridge j |alpha|² at the exact minimiser; it
    # exceeds the minimum by the squared distance of fits. The rounding of points and kernel may cost as much again.
    allowed = 2 * (0.1 * float(single.jitter)) ** 0.5 * float(jnp.linalg.norm(exact.coefficients))
    assert float(jnp.linalg.norm(single(X.astype(jnp.float32)) - exact(X))) < allowed
    assert allowed < 0.05 * float(jnp.linalg.norm(exact(X)))


def test_no_rows_by_centres_matrix_is_formed_and_the_plan_says_the_bytes(monkeypatch):
    plan = centres_plan(KERNEL, X, Z, outputs=2, block=50)
    assert plan.square_bytes == 5 * 8 * 40**2
    assert plan.bytes == plan.square_bytes + plan.block_bytes + 8 * 2 * (257 + 5 * 40)
    small = centres_plan(KERNEL, X, Z, outputs=2, working_set=plan.bytes)
    assert 40 <= small.block <= 50
    assert small.bytes <= plan.bytes
    found = subset_of_regressors(KERNEL, X, F, Z, 0.1, working_set=plan.bytes)
    np.testing.assert_allclose(found(X), subset_of_regressors(KERNEL, X, F, Z, 0.1)(X), rtol=0, atol=1e-10)
    with pytest.raises(MemoryPlanError, match="one row of this kernel"):
        subset_of_regressors(KERNEL, X, F, Z, 0.1, working_set=5 * 8 * 40**2)
    monkeypatch.setattr("lemmata.solvers._centres_plan.free_bytes", lambda near: 2**15)
    with pytest.raises(MemoryPlanError, match=r"5 square matrices .* GiB .*use at most \d+ centres") as refused:
        subset_of_regressors(KERNEL, X, F, Z, 0.1)
    assert "0.00 GiB that are free" in str(refused.value)


def test_centres_are_random_rows_solved_for_directly():
    key = jax.random.key(4)
    found = centred_regression(KERNEL, X, F, 5, key, ridge=0.5)
    np.testing.assert_array_equal(
        found.coefficients, subset_of_regressors(KERNEL, X, F, found.centres, 0.5).coefficients
    )
    rows = {tuple(row) for row in np.asarray(X).tolist()}
    assert len({tuple(row) for row in np.asarray(found.centres).tolist()} & rows) == 5
    np.testing.assert_array_equal(found.centres, centred_regression(KERNEL, X, F, 5, key).centres)
    for wrong in ({"centres": 258}, {"centres": 0}, {"centres": True}, {"working_set": 0}, {"ridge": -1.0}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            centred_regression(KERNEL, X, F, **({"centres": 5, "key": key} | wrong))


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize("zero", [slice(None), slice(0, 1)], ids=["all columns", "one of two"])
def test_targets_of_zeros_have_the_solution_zero(zero, tolerance):
    x = np.random.default_rng(3).normal(size=(40, 3))
    y = np.random.default_rng(4).normal(size=(40, 2))
    y[:, zero] = 0.0
    found = subset_of_regressors(
        RBF(1.0), jnp.asarray(x), jnp.asarray(y), jnp.asarray(x[:10]), 0.1, tolerance=tolerance
    )
    assert np.all(np.asarray(found.coefficients)[:, zero] == 0.0)
    assert 0.0 <= float(found.residual) < 1e-12


def test_wrong_arguments_are_refused():
    with pytest.raises(SettingError, match="ridge"):
        subset_of_regressors(KERNEL, X, F, Z, -1.0)
    with pytest.raises(SettingError, match="shape"):
        subset_of_regressors(KERNEL, X, F, Z, jnp.ones((2, 2)))
    with pytest.raises(SettingError, match="both"):
        subset_of_regressors(KERNEL, X, F, Z, 1.0, block=2, working_set=10**9)
    with pytest.raises(SettingError, match="block"):
        subset_of_regressors(KERNEL, X, F, Z, 1.0, block=0)
    with pytest.raises(ShapeError, match="centres"):
        subset_of_regressors(KERNEL, X, F, Z[:, :2], 1.0)
    with pytest.raises(ShapeError, match="targets"):
        subset_of_regressors(KERNEL, X, F[1:], Z, 1.0)
    with pytest.raises(DataError, match="centres"):
        subset_of_regressors(KERNEL, X, F, Z.at[0, 0].set(jnp.nan), 1.0)
    with pytest.raises(PrecisionError, match="float16"):
        subset_of_regressors(KERNEL, X.astype(jnp.float16), F, Z, 1.0)
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalue"):
        subset_of_regressors(Negative(), X, F, Z, 1.0)


def test_a_square_is_completed_from_its_lower_half():
    lower = np.tril(np.random.default_rng(3).normal(size=(4, 4)))
    wanted = np.where(np.tri(4, dtype=bool), lower, lower.T)
    found = _symmetric(jnp.asarray(lower + np.triu(np.ones((4, 4)), 1)))
    np.testing.assert_array_equal(found, wanted)
