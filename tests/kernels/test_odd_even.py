"""The odd-even kernel against its definition in plain Python, in scikit-learn, and with bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge

from lemmata.errors import SettingError
from lemmata.estimators import KernelRegressor, SklearnKernel
from lemmata.kernels import RBF, OddEvenKernel, gram

NUCLEI = np.array(list(itertools.product(range(20, 24), range(20, 25))), float)


def plain(x, y, lengthscale, second, weight, places=(0, 1)):
    """The definition, with integers."""
    square = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    same = all((int(x[k]) - int(y[k])) % 2 == 0 for k in places)
    return np.exp(-square / (2 * lengthscale**2)) + weight * same * np.exp(-square / (2 * second**2))


def plain_gram(points):
    """Of one kernel, for points that may be moved together: only differences count."""
    return [[plain(a, b, 1.3, 2.1, 0.4) for b in points] for a in points]


@pytest.mark.parametrize("places", [(0, 1), (0,), (1,)])
def test_the_definition(places):
    kernel = OddEvenKernel(1.3, 2.1, 0.4, None if places == (0, 1) else places)
    truth = [[plain(a, b, 1.3, 2.1, 0.4, places) for b in NUCLEI] for a in NUCLEI]
    assert np.allclose(gram(kernel, jnp.asarray(NUCLEI)), truth, rtol=1e-14)
    assert np.allclose(jax.jit(lambda x: kernel.cross(x, x))(jnp.asarray(NUCLEI)), truth, rtol=1e-14)
    assert np.array_equal(kernel.diagonal(jnp.asarray(NUCLEI)), np.full(20, 1.4))


@pytest.mark.parametrize("second", [jnp.array([1.0, 1.5]), 2.1])
def test_a_length_scale_for_each_coordinate(second):
    kernel = OddEvenKernel(jnp.array([1.0, 7.0]), second, 0.3, (1,))
    truth = [
        [
            np.exp(-((a[0] - b[0]) ** 2) / 2 - (a[1] - b[1]) ** 2 / 98)
            + 0.3 * ((a[1] - b[1]) % 2 == 0) * np.exp(-np.sum(((a - b) / np.array(second)) ** 2) / 2)
            for b in NUCLEI
        ]
        for a in NUCLEI
    ]
    x = jnp.asarray(NUCLEI)
    assert np.allclose(gram(kernel, x), truth, rtol=1e-13)
    assert np.allclose(kernel(x[0], x[3]), truth[0][3], rtol=1e-13)
    with pytest.raises(SettingError, match=r"OddEvenKernel\.lengthscale.*one for each column"):
        gram(OddEvenKernel(jnp.array([1.0, 2.0, 3.0])), x)
    with pytest.raises(SettingError, match="finite and positive"):
        OddEvenKernel(jnp.array([1.0, -2.0]))


def test_whole_numbers_of_any_sign():
    kernel = OddEvenKernel(1.3, 2.1, 0.4)
    assert np.allclose(gram(kernel, jnp.asarray(NUCLEI) - 31), plain_gram(NUCLEI), rtol=1e-14)


def test_weight_nought_is_the_gaussian_and_parities_are_products_of_signs():
    x = jnp.asarray(NUCLEI)
    assert np.array_equal(gram(OddEvenKernel(1.3, 2.1, 0.0), x), gram(RBF(1.3), x))
    signs = (-1.0) ** NUCLEI
    classes = np.prod((1 + signs[:, None] * signs[None]) / 2, axis=-1)
    second = gram(OddEvenKernel(1.3, 2.1, 1.0), x) - gram(RBF(1.3), x)
    assert np.allclose(second, classes * gram(RBF(2.1), x), atol=1e-15)


def test_in_scikit_learn():
    target = NUCLEI[:, 0] / 10 + 0.3 * (NUCLEI[:, 1] % 2)
    kernel = OddEvenKernel(3.0, 3.0, 0.5)
    peer = KernelRidge(alpha=0.1, kernel="precomputed").fit(np.asarray(gram(kernel, jnp.asarray(NUCLEI))), target)
    own = KernelRegressor(kernel, ridge=0.1).fit(NUCLEI, target - target.mean())
    shifted = KernelRidge(alpha=0.1, kernel="precomputed").fit(peer.X_fit_, target - target.mean())
    assert np.allclose(own.predict(NUCLEI), shifted.predict(peer.X_fit_), atol=1e-10)
    learned = SklearnKernel(kernel, learn=["weight", "lengthscale"], value_bounds=(1e-3, 1e3))
    process = GaussianProcessRegressor(learned, alpha=1e-3).fit(NUCLEI, target)
    assert process.log_marginal_likelihood_value_ > GaussianProcessRegressor(
        SklearnKernel(kernel), alpha=1e-3
    ).fit(NUCLEI, target).log_marginal_likelihood()  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lengthscale": 0.0}, "OddEvenKernel.lengthscale"),
        ({"odd_even_lengthscale": -1.0}, "OddEvenKernel.odd_even_lengthscale"),
        ({"weight": -0.1}, "OddEvenKernel.weight"),
        ({"parities": (0, 0)}, "each only once"),
        ({"parities": ()}, "at least one"),
        ({"parities": (-1,)}, "at least 0"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(SettingError, match=words):
        OddEvenKernel(**settings)


def test_a_coordinate_that_is_not_there_is_named():
    with pytest.raises(SettingError, match="coordinate 2 for points with 2"):
        gram(OddEvenKernel(parities=(2,)), jnp.asarray(NUCLEI))
