"""Splines and kriging on points of any scale and place against SciPy, and on points that are equal or nearly so."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from lemmata.errors import DataError, NotPositiveDefiniteError, ShapeError
from lemmata.solvers import polyharmonic_spline, universal_kriging


def case(seed):
    draw = np.random.default_rng(seed)
    n, d = 20, 1 + seed % 2  # few shapes: compiling each takes longer than all else
    scale, place = 10.0 ** draw.uniform(-12, 12), draw.choice([0.0, 1.0, 1e3])
    points = draw.normal(size=(n, d)) + place * draw.normal(size=d)
    return draw, scale, points, draw.uniform(-1, 1, n)


@pytest.mark.parametrize("seed", range(12))
def test_a_spline_is_the_same_at_every_scale_and_scipys(seed):
    draw, scale, points, y = case(seed)
    x = scale * points
    z = x[:5] + 0.1 * scale * draw.normal(size=(5, x.shape[1]))
    spline = polyharmonic_spline(x, y)
    np.testing.assert_allclose(spline(x), y, atol=1e-9)
    peer = RBFInterpolator((x - x.mean(axis=0)) / scale, y, kernel="thin_plate_spline", degree=1)
    there = peer((z - x.mean(axis=0)) / scale)
    size = 1 + np.abs(there).max()
    np.testing.assert_allclose(spline(z), there, atol=1e-7 * size)
    noise = draw.uniform(0.1, 1)
    plain, moved = polyharmonic_spline(points, y, noise), polyharmonic_spline(x, y, scale**2 * noise)
    at = z / scale
    np.testing.assert_allclose(moved(z), plain(at), atol=1e-8 * size)
    np.testing.assert_allclose(moved.variance(z) / scale**2, plain.variance(at), rtol=1e-6, atol=1e-9)
    # the coefficients are the user's: alpha' K alpha for r² ln r of the points as they are
    r = np.linalg.norm(points[:, None] - points, axis=2)
    K, alpha = r**2 * np.log(np.where(r > 0, r, 1.0)), np.asarray(plain.kriging.coefficients)
    np.testing.assert_allclose(plain.kriging.energy, alpha @ K @ alpha, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_kriging_takes_columns_of_any_scales(seed):
    draw, scale, points, y = case(seed)
    K = -np.linalg.norm(points[:, None] - points, axis=2)
    drift = np.column_stack([np.ones(len(points)), points])
    units = 10.0 ** draw.uniform(-14, 14, drift.shape[1])
    plain, scaled = universal_kriging(K, drift, y), universal_kriging(scale * K, drift * units, y)
    np.testing.assert_allclose(scaled.predict(scale * K, drift * units), y, atol=1e-8)
    np.testing.assert_allclose(scaled.trend * units, plain.trend, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(scaled.coefficients * scale, plain.coefficients, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_two_rows_at_one_point_are_refused_always(seed):
    _, scale, points, y = case(seed)
    x = scale * points
    x[1] = x[0]
    with pytest.raises(NotPositiveDefiniteError, match="rows 0 and 1 at the same point, with different targets"):
        polyharmonic_spline(x, y)
    y[1] = y[0]
    with pytest.raises(NotPositiveDefiniteError, match="with equal targets"):
        polyharmonic_spline(x, y)
    assert np.isfinite(polyharmonic_spline(x, y, scale**2)(x)).all()
    once = np.zeros(len(y))
    once[1] = scale**2
    np.testing.assert_allclose(polyharmonic_spline(x, y, once)(x)[0], y[0], atol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_a_fit_meets_its_targets_or_is_refused(seed):
    """Rows that come nearer and nearer to each other, with targets that differ, by matrix and by points."""
    draw, _, points, y = case(seed)
    for distance in 10.0 ** draw.uniform(-17, -3, 6):
        near = points.copy()
        near[1] = near[0] + distance * draw.normal(size=points.shape[1])
        K = -np.linalg.norm(near[:, None] - near, axis=2)
        for fit in (
            lambda x=near: polyharmonic_spline(x, y)(x),
            lambda K=K: universal_kriging(K, np.ones((len(y), 1)), y).predict(jnp.asarray(K), jnp.ones((len(y), 1))),
        ):
            try:
                found = fit()
            except NotPositiveDefiniteError:
                continue
            np.testing.assert_allclose(found, y, atol=1e-5)


def test_what_rounding_has_taken_from_a_covariance_is_said():
    x = np.random.default_rng(0).normal(size=(12, 1))
    drift = np.ones((12, 1))
    with pytest.raises(NotPositiveDefiniteError, match="0 up to the rounding error"):
        universal_kriging(1 - 1e-18 * np.abs(x - x.T), drift, x[:, 0])
    with pytest.raises(NotPositiveDefiniteError, match="a smallest eigenvalue of -"):
        universal_kriging(np.abs(x - x.T), drift, x[:, 0])


TABLE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: polyharmonic_spline([["a", "b"]] * 4, [0, 0, 0, 1]), DataError, "points"),
        (lambda: polyharmonic_spline(TABLE, ["0", "0", "0", "1"]), DataError, "targets"),
        (lambda: polyharmonic_spline([0.0, 1.0, 2.0], [0, 0, 1]), ShapeError, "points"),
        (lambda: polyharmonic_spline(TABLE, [0, 0, 0, 1])([0.5, 0.5]), ShapeError, "points"),
        (lambda: polyharmonic_spline(TABLE, [0, 0, 0, 1])([[0.5]]), ShapeError, "2 coordinates"),
        (lambda: universal_kriging(np.eye(3), np.ones(3), np.ones(3)), ShapeError, "drift"),
        (lambda: universal_kriging(np.eye(3), [["x"]] * 3, np.ones(3)), DataError, "drift"),
        (lambda: universal_kriging(np.eye(3), np.ones((3, 1)), np.ones(3), [1.0, 2.0]), ShapeError, "noise"),
        (lambda: universal_kriging(np.eye(3), np.ones((3, 1)), np.ones(3), "much"), DataError, "noise"),
        (lambda: universal_kriging(np.eye(3) * 1j, np.ones((3, 1)), np.ones(3)), DataError, "covariance"),
    ],
)
def test_what_is_no_array_is_refused_in_our_words(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_lists_and_frames_are_arrays():
    polars = pytest.importorskip("polars")
    y = [0, 0, 0, 1]
    expected = np.asarray(polyharmonic_spline(np.array(TABLE), np.array(y, float))(np.array(TABLE)))
    for table in (TABLE, polars.DataFrame(np.array(TABLE)), tuple(map(tuple, TABLE))):
        np.testing.assert_array_equal(polyharmonic_spline(table, y)(table), expected)
    K = [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    np.testing.assert_allclose(
        universal_kriging(K, [[1]] * 3, [0, 2, 0]).predict(jnp.array(K), jnp.ones((3, 1))), [0, 2, 0], atol=1e-12
    )
