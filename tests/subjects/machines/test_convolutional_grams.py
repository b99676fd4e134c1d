"""Layers of convolutional machines by loops over features, joint covariances and SciPy's densities; bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, LemmataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.subjects.machines import (
    ConvolutionalGrams,
    PooledGrams,
    convolve_grams,
    induced_posterior,
    normalise_grams,
    patch_grams,
    pool_grams,
    rectify_grams,
    replace_gram,
)

DRAW = np.random.default_rng(0)
SITES = DRAW.normal(size=(2, 4, 3, 6))  # six features of the sites of two images of 4 x 3
INDUCING = DRAW.normal(size=(3, 6))


def grams_of(sites, inducing):
    found = inducing @ inducing.T, sites @ inducing.T, (sites**2).sum(-1)
    return ConvolutionalGrams(*map(jnp.asarray, found))


GRAMS = grams_of(SITES, INDUCING)


def same(found, expected, tolerance=1e-12):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)


def test_patches_by_loops():
    images, patches = DRAW.normal(size=(2, 4, 3, 2)), DRAW.normal(size=(5, 3, 3, 2))
    found = patch_grams(jnp.asarray(images), jnp.asarray(patches), bias=0.5)
    seen = np.zeros((2, 4, 3, 3, 3, 2))
    for i, j, y, x in np.ndindex(4, 3, 3, 3):
        if 0 <= i + y - 1 < 4 and 0 <= j + x - 1 < 3:
            seen[:, i, j, y, x] = images[:, i + y - 1, j + x - 1]
    expected = grams_of(seen.reshape(2, 4, 3, 18) / np.sqrt(18), patches.reshape(5, 18) / np.sqrt(18))
    same(found, [part + 0.5 for part in expected])


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_makes_grams_of_windows_of_features(stride):
    """Rows of nine blocks, what each place of a window sees, divided by 3."""
    mixing = DRAW.normal(size=(3, 3, 4, 3))
    seen, made = np.zeros((2, 4, 3, 9, 6)), np.zeros((4, 9, 6))
    for y, x in np.ndindex(3, 3):
        made[:, 3 * y + x] = mixing[y, x] @ INDUCING
        for i, j in np.ndindex(4, 3):
            if 0 <= i + y - 1 < 4 and 0 <= j + x - 1 < 3:
                seen[:, i, j, 3 * y + x] = SITES[:, i + y - 1, j + x - 1]
    expected = grams_of(seen.reshape(2, 4, 3, 54)[:, ::stride, ::stride] / 3, made.reshape(4, 54) / 3)
    same(convolve_grams(GRAMS, jnp.asarray(mixing), stride=stride), expected)


def test_a_relu_by_its_mean_over_normal_features():
    weights = DRAW.normal(size=(6, 100_000))
    active = [np.sqrt(2) * np.maximum(rows.reshape(-1, 6) @ weights, 0) for rows in (SITES[0, 0], INDUCING)]
    found = rectify_grams(GRAMS, weight=2.0, bias=0.5)
    np.testing.assert_allclose(found.cross[0, 0], 0.5 + 2 * active[0] @ active[1].T / 100_000, rtol=0.05)
    np.testing.assert_allclose(found.inducing, 0.5 + 2 * active[1] @ active[1].T / 100_000, rtol=0.05)
    np.testing.assert_allclose(found.variance, 0.5 + 2 * GRAMS.variance, rtol=1e-12)


def test_a_gram_layer_changes_inducing_features_and_what_follows_from_them():
    """Each site's feature is a sum of inducing ones plus a rest: replace the former by others, keep the rest."""
    other = DRAW.normal(size=(3, 5))
    weights = SITES @ np.linalg.pinv(INDUCING)
    rest = SITES - weights @ INDUCING
    expected = grams_of(np.concatenate([weights @ other, rest], axis=3), np.concatenate([other, np.zeros((3, 6))], 1))
    same(replace_gram(GRAMS, jnp.asarray(other @ other.T)), expected, 1e-10)
    same(replace_gram(GRAMS, GRAMS.inducing), GRAMS, 1e-12)


@pytest.mark.parametrize(("over", "axes"), [("global", (0, 1, 2)), ("image", (1, 2)), ("location", 0), ("local", ())])
def test_norms_are_divided_by_and_correlations_stay(over, axes):
    found = normalise_grams(GRAMS, over)
    np.testing.assert_allclose(np.mean(found.variance, axis=axes), 1.0, rtol=1e-12)
    assert float(jnp.trace(found.inducing)) == pytest.approx(3.0)

    def correlation(grams):
        return grams.cross / jnp.sqrt(grams.variance[..., None] * jnp.diagonal(grams.inducing))

    np.testing.assert_allclose(correlation(found), correlation(GRAMS), rtol=1e-12)


def test_pools_by_features():
    basis = np.linalg.qr(INDUCING.T)[0]
    pooled = SITES.mean(axis=(1, 2))
    told = ((pooled @ basis) ** 2).sum(-1)
    rest = ((SITES - SITES @ basis @ basis.T) ** 2).sum(-1).mean(axis=(1, 2))
    for word, expected in {"dropped": told, "independent": told + rest / 12, "dependent": told + rest}.items():
        found = pool_grams(GRAMS, residuals=word)
        np.testing.assert_allclose(found.variance, expected, rtol=1e-10)
        np.testing.assert_allclose(found.cross, pooled @ INDUCING.T, rtol=1e-10)


def test_the_bound_is_titsias_and_exact_where_inducing_points_are_all():
    x, y = DRAW.normal(size=(7, 3)), DRAW.normal(size=(7, 2))
    z = DRAW.normal(size=(2, 3))
    top = PooledGrams(*map(jnp.asarray, (z @ z.T, x @ z.T, (x**2).sum(1))))
    told = x @ z.T @ np.linalg.solve(z @ z.T, z @ x.T)
    law = stats.multivariate_normal(np.zeros(7), told + 0.3 * np.eye(7))
    expected = law.logpdf(y.T).sum() - 2 * np.trace(x @ x.T - told) / 0.6
    assert float(induced_posterior(top, jnp.asarray(y), 0.3).bound) == pytest.approx(expected, rel=1e-10)
    full = PooledGrams(jnp.eye(3), jnp.asarray(x), jnp.asarray((x**2).sum(1)))
    found = induced_posterior(full, jnp.asarray(y), 0.3)
    exact = stats.multivariate_normal(np.zeros(7), x @ x.T + 0.3 * np.eye(7)).logpdf(y.T).sum()
    assert float(found.bound) == pytest.approx(exact, rel=1e-10)
    mean = x @ x.T @ np.linalg.solve(x @ x.T + 0.3 * np.eye(7), y)
    np.testing.assert_allclose(x @ np.asarray(found.weights), mean, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: patch_grams(jnp.ones((2, 3, 3, 1)), jnp.ones((1, 3, 3, 2))), ShapeError, "1 channels"),
        (lambda: patch_grams(jnp.ones((2, 3, 3, 1)), jnp.ones((1, 2, 2, 1))), SettingError, "window"),
        (lambda: patch_grams(jnp.full((2, 3, 3, 1), jnp.nan), jnp.ones((1, 3, 3, 1))), DataError, "images"),
        (lambda: convolve_grams(GRAMS, jnp.ones((3, 3, 2, 4))), ShapeError, "mixing"),
        (lambda: convolve_grams(GRAMS, jnp.ones((3, 3, 2, 3)), stride=0), SettingError, "stride"),
        (lambda: rectify_grams(GRAMS._replace(cross=GRAMS.cross[..., :2])), ShapeError, "cross"),
        (lambda: rectify_grams(GRAMS._replace(variance=GRAMS.variance[:, :2])), ShapeError, "variance"),
        (lambda: replace_gram(GRAMS, jnp.eye(2)), ShapeError, "learned"),
        (lambda: induced_posterior(pool_grams(GRAMS), jnp.ones((3, 1)), 1.0), ShapeError, "targets"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, word):
    with pytest.raises(error, match=word) as found:
        call()
    assert isinstance(found.value, LemmataError)


EYE, TOP, ONES = jnp.eye(3), pool_grams(GRAMS), jnp.ones((2, 1))
SINGULAR, INDEFINITE = jnp.ones((3, 3)), jnp.diag(jnp.asarray([1.0, 1.0, -1.0]))
BLACK = patch_grams(jnp.zeros((2, 2, 2, 1)), jnp.ones((1, 1, 1, 1)))


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: replace_gram(GRAMS._replace(inducing=SINGULAR), EYE), NotPositiveDefiniteError, "jitter"),
        (lambda: replace_gram(GRAMS._replace(inducing=INDEFINITE), EYE), DataError, "diagonal"),
        (lambda: replace_gram(GRAMS, INDEFINITE), NotPositiveDefiniteError, "learned"),
        (lambda: replace_gram(GRAMS, EYE.at[0, 1].set(0.5)), ShapeError, "learned"),
        (lambda: replace_gram(GRAMS, EYE.at[0, 0].set(jnp.nan)), DataError, "learned"),
        (lambda: replace_gram(GRAMS, EYE, jitter=-1.0), SettingError, "jitter"),
        (lambda: replace_gram(GRAMS._replace(variance=-GRAMS.variance), EYE), DataError, "variance"),
        (lambda: normalise_grams(BLACK), DataError, "black"),
        (lambda: pool_grams(GRAMS._replace(inducing=SINGULAR)), NotPositiveDefiniteError, "inducing"),
        (lambda: pool_grams(GRAMS, jitter=jnp.nan), SettingError, "jitter"),
        (lambda: convolve_grams(GRAMS, jnp.full((3, 3, 2, 3), jnp.nan)), DataError, "mixing"),
        (lambda: convolve_grams(GRAMS, jnp.ones((3, 3, 2, 3)), stride=1.5), (SettingError, TypeError), "stride"),
        (lambda: rectify_grams(GRAMS, weight=-1.0), SettingError, "weight"),
        (lambda: rectify_grams(GRAMS, bias=jnp.nan), SettingError, "bias"),
        (lambda: patch_grams(ONES[..., None, None], jnp.ones((1, 1, 1, 1)), bias=jnp.nan), SettingError, "bias"),
        (lambda: induced_posterior(TOP, ONES, 0.0), SettingError, "noise"),
        (lambda: induced_posterior(TOP, ONES, -1.0), SettingError, "noise"),
        (lambda: induced_posterior(TOP, ONES, jnp.nan), SettingError, "noise"),
        (lambda: induced_posterior(TOP._replace(inducing=SINGULAR), ONES, 1.0), NotPositiveDefiniteError, "inducing"),
        (lambda: induced_posterior(TOP._replace(inducing=INDEFINITE), ONES, 1.0), DataError, "diagonal"),
        (lambda: induced_posterior(TOP._replace(variance=jnp.ones(3)), ONES, 1.0), (ShapeError, TypeError), "variance"),
        (lambda: induced_posterior(TOP._replace(cross=jnp.ones((2, 2))), ONES, 1.0), (ShapeError, TypeError), "cross"),
    ],
)  # fmt: skip
def test_what_has_no_answer_is_refused(call, error, word):
    with pytest.raises(error, match=word):
        call()


def test_traced_values_pass():
    @jax.jit
    def bound(inducing, noise):
        grams = replace_gram(rectify_grams(GRAMS._replace(inducing=inducing), weight=noise), inducing)
        return induced_posterior(pool_grams(normalise_grams(grams)), ONES, noise).bound

    assert np.isfinite(bound(GRAMS.inducing, 1.0))
    assert np.isnan(bound(INDEFINITE, 1.0))
    assert np.isfinite(jax.vmap(bound, (None, 0))(GRAMS.inducing, jnp.ones(2))).all()
