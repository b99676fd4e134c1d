"""Packages by other routes: SciPy's interpolator in the limit, finite differences, dense inverses, eigenvalues."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from lemmata.errors import DataError, NotPositiveDefiniteError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.splines import Hyperoctahedron, Package, Scattered, SplineCovariance

RNG = np.random.default_rng(0)
EPS = np.finfo(float).eps


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def dense(points: np.ndarray, b: float, c: float) -> np.ndarray:
    """K entry by entry from the printed formula r² (ln r - b) + c."""
    r = np.linalg.norm(points[:, None] - points, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(r > 0, r**2 * (np.log(r) - b) + c, c)


@pytest.mark.parametrize("p", [1, 2, 5, 17])
def test_the_closed_inverse_is_the_dense_one(p):
    h, b, c = Hyperoctahedron(p), 3.0, 50.0
    matrix, values = dense(np.asarray(h.points), b, c), RNG.normal(size=(2 * p + 1, 3))
    expected = np.linalg.solve(matrix, values)
    allowed = 8 * EPS * np.linalg.cond(matrix) * np.abs(expected).max()
    np.testing.assert_allclose(h.solve(SplineCovariance(b, c), jnp.asarray(values)), expected, atol=allowed, rtol=0)


@pytest.mark.parametrize(("p", "b", "c"), [(1, 5.0, 400.0), (2, 1.0, 4.0), (9, 5.0, 36.5), (9, 0.7, 400.0)])
def test_eigenvalues_and_where_there_is_a_covariance(p, b, c):
    h, covariance = Hyperoctahedron(p), SplineCovariance(b, c)
    found = np.linalg.eigvalsh(dense(np.asarray(h.points), b, c))
    stated = np.asarray(h.eigenvalues(covariance))
    assert np.abs(found[:, None] - stated).min(axis=1).max() < 32 * EPS * found[-1]
    assert stated.min() == pytest.approx(found[0], abs=32 * EPS * found[-1])
    assert found[0] > 0
    h.require_positive_definite(covariance)


@pytest.mark.parametrize(("p", "b", "c"), [(9, 0.69, 400.0), (9, 5.0, 32.0), (1, 5.0, 18.0)])
def test_where_there_is_none(p, b, c):
    h = Hyperoctahedron(p)
    assert np.linalg.eigvalsh(dense(np.asarray(h.points), b, c))[0] < 0
    with pytest.raises(NotPositiveDefiniteError, match="slope b"):
        h.solve(SplineCovariance(b, c), jnp.ones((2 * p + 1, 1)))


def test_distances_and_sums_of_both_constellations_agree():
    h = Hyperoctahedron(4)
    points, z, weights = Scattered(h.points), jnp.asarray(RNG.normal(size=(6, 4))), jnp.asarray(RNG.normal(size=(6, 9)))
    np.testing.assert_allclose(h.squared_distances(z), points.squared_distances(z), atol=1e-13)
    np.testing.assert_allclose(h.combine(weights), points.combine(weights), atol=1e-14)
    assert h.dimension == points.dimension == 4


def test_derivatives_by_finite_differences_and_at_a_point_of_the_constellation():
    h = Hyperoctahedron(3)
    package = Package(h, SplineCovariance(), jnp.asarray(RNG.normal(size=(7, 2))))
    z, g = np.vstack([RNG.normal(size=(4, 3)) / 2, np.eye(3)[:1]]), RNG.normal(size=(5, 2))
    found = np.asarray(package.pull_back(jnp.asarray(z), jnp.asarray(g)))
    for i, step in enumerate(1e-5 * np.eye(3)):
        ahead, behind = (np.asarray(package(jnp.asarray(z + s))) for s in (step, -step))
        np.testing.assert_allclose(found[:, i], ((ahead - behind) * g).sum(axis=1) / 2e-5, atol=1e-6)


def test_values_are_taken_and_the_limit_is_the_thin_plate_spline():
    points, values = RNG.normal(size=(12, 2)) / 3, RNG.normal(size=(12, 2))
    z = RNG.normal(size=(5, 2)) / 3
    spline = RBFInterpolator(points, values, kernel="thin_plate_spline")(z)
    errors = []
    for b in (30.0, 300.0):
        package = Package(Scattered(jnp.asarray(points)), SplineCovariance(b, b**3), jnp.asarray(values))
        np.testing.assert_allclose(package(jnp.asarray(points)), values, atol=1e-5)
        errors.append(np.abs(np.asarray(package(jnp.asarray(z))) - spline).max())
    assert errors[1] / errors[0] == pytest.approx(0.1, rel=0.3)  # like 1/b


def test_where_level_over_squared_slope_stays_finite_the_limit_is_another_spline():
    """An intercept of finite variance c beside a slope b leaves -(b²/c) |z|² |t|² in the kernel."""
    rng = np.random.default_rng(0)
    points, values = rng.normal(size=(12, 2)) / 3, rng.normal(size=(12, 1))
    z = rng.normal(size=(5, 2)) / 3

    def spline(share):
        def bends(a, b):
            squared = ((a[:, None] - b) ** 2).sum(axis=2)
            product = np.outer((a**2).sum(axis=1), (b**2).sum(axis=1))
            return 0.5 * squared * np.log(np.where(squared > 0, squared, 1.0)) - share * product

        affine = lambda a: np.column_stack([np.ones(len(a)), a])
        system = np.block([[bends(points, points), affine(points)], [affine(points).T, np.zeros((3, 3))]])
        solved = np.linalg.solve(system, np.concatenate([values, np.zeros((3, 1))]))
        return np.column_stack([bends(z, points), affine(z)]) @ solved

    np.testing.assert_allclose(spline(0), RBFInterpolator(points, values, kernel="thin_plate_spline")(z), atol=1e-9)
    package = Package(Scattered(jnp.asarray(points)), SplineCovariance(300.0, 16 * 300.0**2), jnp.asarray(values))
    found = np.asarray(package(jnp.asarray(z)))
    assert np.abs(found - spline(1 / 16)).max() < 0.2 * np.abs(found - spline(0)).max()


def test_influence_is_the_derivative_in_the_values():
    h = Hyperoctahedron(3)
    values, z = jnp.asarray(RNG.normal(size=(7, 2))), jnp.asarray(RNG.normal(size=(4, 3)))
    package = Package(h, SplineCovariance(), values)
    np.testing.assert_allclose(package.influence(z) @ values, package(z), atol=1e-11)
    by_values = jax.jacobian(lambda own: Package(h, SplineCovariance(), own)(z)[:, 0])(values)[:, :, 0]
    np.testing.assert_allclose(package.influence(z), by_values, atol=1e-11)


def test_several_packages_side_by_side():
    h, z = Hyperoctahedron(3), jnp.asarray(RNG.normal(size=(4, 3)))
    values, g = jnp.asarray(RNG.normal(size=(5, 7, 2))), jnp.asarray(RNG.normal(size=(5, 4, 2)))
    many = Package(h, SplineCovariance(), values)
    for k in range(5):
        alone = Package(h, SplineCovariance(), values[k])
        np.testing.assert_allclose(many(z)[k], alone(z), atol=1e-12)
        np.testing.assert_allclose(many.pull_back(z, g)[k], alone.pull_back(z, g[k]), atol=1e-11)


def test_the_gain_of_the_identity_at_the_centre():
    h = Hyperoctahedron(2)
    found = Package(h, SplineCovariance(2.0, 64.0), h.points).pull_back(jnp.zeros((1, 2)), jnp.ones((1, 2)))
    np.testing.assert_allclose(found, 1.5 / (2 - math.log(2)), rtol=1e-12)


def test_bad_packages_are_refused():
    h = Hyperoctahedron(2)
    with pytest.raises(ShapeError, match="one row for each point"):
        Package(h, SplineCovariance(), jnp.ones((4, 1)))
    with pytest.raises(DataError, match="not finite"):
        Package(h, SplineCovariance(), jnp.full((5, 1), jnp.nan))
    with pytest.raises(ShapeError, match=r"points of R\^2"):
        Package(h, SplineCovariance(), jnp.ones((5, 1)))(jnp.ones((3, 3)))
    with pytest.raises(SettingError, match="size"):
        Hyperoctahedron(0)
    with pytest.raises(SettingError, match="slope"):
        SplineCovariance(-1.0)
    with pytest.raises(SettingError, match="level"):
        SplineCovariance(1.0, math.inf)
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue"):
        Scattered(jnp.ones((2, 2))).solve(SplineCovariance(), jnp.ones((2, 1)))
    with jax.enable_x64(False), pytest.raises(PrecisionError, match="float64"):
        Package(h, SplineCovariance(), jnp.ones((5, 1)))
