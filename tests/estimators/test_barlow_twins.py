"""The transformer of self-supervised learning: the contract, identity cross-correlations, kernel PCA, bad input."""

import io

import jax
import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.errors import DataError, SettingError
from lemmata.estimators import KernelBarlowTwins
from lemmata.kernels import RBF, Linear


@parametrize_with_checks([KernelBarlowTwins(), KernelBarlowTwins(RBF(2.0), n_components=1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def pairs(rows=40):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    return x, x + 0.3 * rng.normal(size=x.shape)


@pytest.mark.parametrize("kernel", [None, Linear()])
def test_the_cross_correlation_of_views_is_the_identity(kernel):
    x, views = pairs()
    model = KernelBarlowTwins(kernel, n_components=3).fit(x, views=views)
    product = model.transform(x).T @ model.transform(views) / len(x)
    np.testing.assert_allclose((product + product.T) / 2, np.eye(3), atol=1e-9)


def test_without_views_a_linear_kernel_gives_whitened_singular_vectors():
    x, _ = pairs()
    found = KernelBarlowTwins(Linear(), n_components=2).fit(x).transform(x)
    scores = TruncatedSVD(2, algorithm="arpack").fit_transform(x)
    scores *= np.sqrt(len(x)) / np.linalg.norm(scores, axis=0)
    np.testing.assert_allclose(found @ found.T, scores @ scores.T, atol=1e-8)


def test_digits_are_told_apart_better_by_what_shifted_images_share():
    """Five nearest neighbours in ten dimensions, with views moved by a pixel and without."""
    from sklearn.neighbors import KNeighborsClassifier

    digits = load_digits()
    x, labels = digits.images[:300] / 16, digits.target[:300]
    rng = np.random.default_rng(0)
    views = np.stack([np.roll(image, rng.integers(-1, 2, 2), axis=(0, 1)) for image in x])
    model = KernelBarlowTwins(RBF(4.0), n_components=10).fit(x.reshape(300, -1), views=views.reshape(300, -1))
    new = digits.images[300:600].reshape(300, -1) / 16
    neighbours = KNeighborsClassifier(5).fit(model.transform(x.reshape(300, -1)), labels)
    assert neighbours.score(model.transform(new), digits.target[300:600]) > 0.6


def test_step_times_rise_and_a_smaller_start_is_later():
    x, views = pairs()
    model = KernelBarlowTwins(n_components=3).fit(x, views=views)
    early, late = model.step_times(1e-2), model.step_times(1e-4)
    assert np.all(np.diff(early) > 0)
    np.testing.assert_allclose(late - early, np.log(1e4) / (8 * model.eigenvalues_), rtol=1e-3)
    with pytest.raises(SettingError, match="start"):
        model.step_times(10.0)


def test_a_copy_made_without_x64_is_the_same_to_the_last_bit():
    x, views = pairs()
    model = KernelBarlowTwins().fit(x, views=views)
    expected, stored = model.transform(x), io.BytesIO()
    with jax.enable_x64(False):
        joblib.dump(model, stored)
        stored.seek(0)
        assert np.array_equal(joblib.load(stored).transform(x), expected)


@pytest.mark.parametrize("views", [np.ones((3, 3)), "ab", np.full((40, 3), np.nan)])
def test_other_views_are_refused(views):
    with pytest.raises(DataError, match=r"views|inputs"):
        KernelBarlowTwins().fit(pairs()[0], views=views)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"kernel": "rbf"}, "kernel"), ({"n_components": 0}, "dimension"), ({"n_components": 90}, "n_samples = 40")],
)
def test_bad_settings_are_refused(settings, word):
    x, views = pairs()
    with pytest.raises(SettingError, match=word):
        KernelBarlowTwins(**settings).fit(x, views=views)
