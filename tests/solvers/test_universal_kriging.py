"""Universal kriging and the polyharmonic spline against SciPy's interpolator, closed forms, and limits."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import PolyharmonicCovariance, gram
from lemmata.solvers import polyharmonic_spline, universal_kriging

RNG = np.random.default_rng(5)


def data(n, d, columns=()):
    draw = lambda *shape: jnp.asarray(RNG.normal(size=shape))
    return draw(n, d), draw(n, *columns), jnp.asarray(RNG.uniform(0.1, 1.0, n)), draw(6, d)


@pytest.mark.parametrize(("d", "columns"), [(1, ()), (2, (3,)), (4, ())])
def test_the_spline_is_scipys(d, columns):
    x, y, noise, z = data(25, d, columns)
    for smoothing in (0.0, np.asarray(noise)):
        peer = RBFInterpolator(x, y, smoothing=smoothing, kernel="thin_plate_spline", degree=1)
        np.testing.assert_allclose(polyharmonic_spline(x, y, jnp.asarray(smoothing))(z), peer(z), atol=1e-8)


@pytest.mark.parametrize("power", [-1000, -530, -400, 1, 400, 508, 1000])
def test_the_unit_of_the_points_does_not_change_the_spline(power):
    x, y, noise, z = data(25, 2)
    unit = 2.0**power
    spline, scaled = polyharmonic_spline(x, y), polyharmonic_spline(unit * x, y)
    np.testing.assert_allclose(scaled(unit * z), spline(z), atol=1e-9)
    if abs(power) < 510:
        noisy, other = polyharmonic_spline(x, y, noise), polyharmonic_spline(unit * x, y, unit**2 * noise)
        np.testing.assert_allclose(other(unit * z), noisy(z), atol=1e-9)
        np.testing.assert_allclose(other.variance(unit * z) / unit**2, noisy.variance(z), rtol=1e-9)


def test_an_offset_of_the_drift_is_named():
    t = np.linspace(0.0, 1.0, 15)
    K, y = -np.abs(t[:, None] - t), np.sin(5 * t)
    fit = lambda offset: universal_kriging(K, np.stack([np.ones(15), t + offset], axis=1), y)
    assert np.all(np.isfinite(fit(1e6).trend))
    for offset in (1e10, 1e12):
        with pytest.raises(DataError, match=r"drift; found column 1 .*subtract one number"):
            fit(offset)


def test_affine_functions_are_reproduced_with_any_noise_and_cost_no_energy():
    x, _, noise, z = data(20, 3)
    affine = lambda points: 2.0 + points @ jnp.array([1.0, -3.0, 0.5])
    spline = polyharmonic_spline(x, affine(x), 10 * noise)
    np.testing.assert_allclose(spline(z), affine(z), rtol=1e-11)
    assert float(spline.kriging.energy) < 1e-20


def test_the_energy_is_the_bending_energy_in_the_plane():
    """alpha' K alpha = (1/8 pi) of the integral of f_xx² + 2 f_xy² + f_yy², here by polar quadrature to radius 400."""
    x, y = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), jnp.array([0.0, 1.0, 1.0, 0.0])
    spline = polyharmonic_spline(x, y)
    alpha, centres = np.asarray(spline.kriging.coefficients), np.asarray(x)
    radius, angle = np.exp(np.linspace(-6, 6, 600)), 2 * np.pi * (np.arange(200) + 0.37) / 200
    points = 0.5 + radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    u = points[:, :, None] - centres
    squares = np.sum(u**2, axis=3)
    # the second derivatives of r² ln r are (ln r² + 1) I + 2 u u'/r²
    log = np.einsum("rak,k->ra", np.log(squares) + 1, alpha)
    outer = np.einsum("rakp,rakq,rak,k->rapq", u, u, 2 / squares, alpha)
    hessian = outer + log[:, :, None, None] * np.eye(2)
    ring = 2 * np.pi * np.mean(np.sum(hessian**2, axis=(2, 3)), axis=1) * radius**2
    integral = np.trapezoid(ring, np.log(radius))
    np.testing.assert_allclose(integral / (8 * np.pi), spline.kriging.energy, rtol=2e-3)


def test_the_process_with_large_slope_and_level_tends_to_it_in_mean_and_variance():
    x, y, noise, z = data(15, 2)
    spline, kernel = polyharmonic_spline(x, y, noise), PolyharmonicCovariance(1e3, 1e9)
    matrix, cross = gram(kernel, x) + jnp.diag(noise), gram(kernel, z, x)
    weights = jnp.linalg.solve(matrix, cross.T)
    np.testing.assert_allclose(spline(z), weights.T @ y, atol=2e-2)
    np.testing.assert_allclose(spline.variance(z), 1e9 - jnp.sum(cross.T * weights, axis=0), rtol=2e-2)


def test_the_weights_are_the_fit_and_annihilate_nothing_of_the_drift():
    x, y, noise, z = data(12, 1)
    K, drift = -jnp.abs(x - x.T), jnp.ones((12, 1))
    fit, cross = universal_kriging(K, drift, y, noise), -jnp.abs(z - x.T)
    weights = fit.weights(cross, jnp.ones((6, 1)))
    np.testing.assert_allclose(weights @ y, fit.predict(cross, jnp.ones((6, 1))), rtol=1e-10)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(("K", "words"), [
    (np.zeros((5, 5)), "which is 0 up to the rounding error"), (np.full((5, 5), 7.0), "which is 0 up to the rounding"),
    (-np.eye(5), r"a smallest eigenvalue of -1 on the complement of the drift;"),
])  # fmt: skip
def test_a_sign_that_cannot_be_determined_is_told_from_a_negative_one(K, words):
    with pytest.raises(NotPositiveDefiniteError, match=words):
        universal_kriging(K, np.ones((5, 1)), np.arange(5.0))


def test_bad_input_is_refused():
    x, y, _, _ = data(10, 2)
    with pytest.raises(DataError, match="hyperplane"):
        polyharmonic_spline(x.at[:, 1].set(2 * x[:, 0]), y)
    with pytest.raises(NotPositiveDefiniteError, match="complement"):
        polyharmonic_spline(x.at[3].set(x[2]), y)
    assert np.all(np.isfinite(polyharmonic_spline(x.at[3].set(x[2]), y, 0.1)(x)))
    with pytest.raises(ShapeError, match="more points than the 3 columns"):
        polyharmonic_spline(x[:3], y[:3])
    with pytest.raises(ShapeError, match="targets"):
        polyharmonic_spline(x, y[:4])
    with pytest.raises(SettingError, match="noise"):
        polyharmonic_spline(x, y, -1.0)
    with pytest.raises(SettingError, match=r"noise; found .* too large.*multiply the points"):
        polyharmonic_spline(1e-160 * x, y, 0.1)
