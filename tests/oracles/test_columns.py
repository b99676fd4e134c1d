"""A lengthscale for each column, against scikit-learn: kernels, their gradients, the evidence and its maximum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peer

from lemmata.errors import SettingError
from lemmata.estimators import KernelRegressor, SklearnKernel
from lemmata.kernels import RBF, Laplace, Matern, OddEvenKernel, Periodic, gram
from lemmata.solvers import log_evidence
from lemmata.storage import load, save

EPS = float(np.finfo(np.float64).eps)


def points(columns, rows=30):
    return np.random.default_rng(columns).normal(size=(rows, columns))


KINDS = {
    "rbf": (RBF, peer.RBF),
    "laplace": (Laplace, lambda length: peer.Matern(length, nu=0.5)),
    "matern-5/2": (lambda length: Matern(2.5, length), lambda length: peer.Matern(length, nu=2.5)),
    "matern-0.8": (lambda length: Matern(0.8, length), lambda length: peer.Matern(length, nu=0.8)),
    "matern-6.3": (lambda length: Matern(6.3, length), lambda length: peer.Matern(length, nu=6.3)),
}


@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_and_their_gradients_are_those_of_scikit_learn(kind, columns):
    ours, theirs = KINDS[kind]
    x, length = points(columns), np.geomspace(0.5, 1e3, columns)
    expected, slopes = theirs(length)(x, eval_gradient=True)
    # scikit-learn's product with K_nu loses some digits at small distances, and its slopes there are differences.
    bessel = kind in ("matern-0.8", "matern-6.3")
    allowed = 1e-13 if bessel else 8 * columns * EPS
    assert np.abs(gram(ours(length), jnp.asarray(x)) - expected).max() <= allowed
    by_logarithm = jax.jacfwd(lambda own: gram(ours(jnp.exp(own)), jnp.asarray(x)))(jnp.log(length))
    assert np.abs(by_logarithm - slopes).max() <= (1e-4 if bessel else 64 * columns * EPS)
    weights = np.random.default_rng(1).normal(size=expected.shape)
    backward = jax.grad(lambda own: jnp.sum(weights * gram(ours(own), jnp.asarray(x))))(jnp.asarray(length))
    assert np.allclose(backward * length, np.einsum("ij,ijk->k", weights, by_logarithm), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("build", [RBF, Laplace, lambda own: Matern(1.2, own), lambda own: Periodic(1.7, own)])
def test_equal_lengthscales_are_one_lengthscale(build):
    x = jnp.asarray(points(12))
    one, many = build(1.7), build([1.7] * 12)
    assert np.abs(gram(one, x) - gram(many, x)).max() <= 256 * EPS
    slope = lambda kernel: jax.grad(lambda z: jnp.sum(kernel.cross(z, x) ** 2))(x + 0.1)
    assert np.allclose(slope(one), slope(many), rtol=1e-10, atol=1e-12)
    with pytest.raises(SettingError, match=r"lengthscale; found 12 numbers for points with 3 columns.*each column"):
        gram(many, jnp.asarray(points(3)))


def test_near_points_keep_their_accuracy_among_many_columns():
    x = points(20)
    x[1] = x[0] + 1e-9 * x[2]
    length = np.geomspace(0.5, 30, 20)
    exact = np.sqrt(np.sum(((x[0] - x[1]) / length) ** 2))
    kernel = lambda own: gram(Matern(0.5, own), jnp.asarray(x))[0, 1]
    assert float(1 - kernel(length)) == pytest.approx(exact, rel=1e-6)
    expected = (x[0] - x[1]) ** 2 / length**3 / exact * np.exp(-exact)
    assert np.allclose(jax.grad(kernel)(jnp.asarray(length)), expected, rtol=1e-10)


def irrelevant(seed=0):
    """A function of the first of five columns, with noise of standard deviation 0.1."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(80, 5))
    return x, np.sin(2 * x[:, 0]) + 0.1 * draw.normal(size=80)


def test_the_evidence_and_its_gradient_are_those_of_scikit_learn():
    x, y = irrelevant()
    length = np.array([0.7, 2.0, 3.0, 5.0, 9.0])
    model = GaussianProcessRegressor(peer.Matern(length, nu=2.5), alpha=0.01, optimizer=None).fit(x, y)
    expected, slope = model.log_marginal_likelihood(np.log(length), eval_gradient=True)
    evidence = lambda own: log_evidence(gram(Matern(2.5, jnp.exp(own)), jnp.asarray(x)), jnp.asarray(y), 0.01)
    found, gradient = jax.value_and_grad(evidence)(jnp.log(length))
    assert float(found) == pytest.approx(expected, rel=1e-10)
    assert np.allclose(gradient, slope, rtol=1e-8)


@pytest.mark.parametrize("build", [RBF, lambda own: Matern(1.7, own)])
def test_the_largest_evidence_finds_the_columns_that_do_not_matter(build):
    x, y = irrelevant()
    minus = lambda own: -log_evidence(gram(build(jnp.exp(own)), jnp.asarray(x)), jnp.asarray(y), 0.01)
    fitted = minimize(jax.jit(jax.value_and_grad(minus)), np.zeros(5), jac=True, bounds=[(-5, 7)] * 5)
    length = np.exp(fitted.x)
    assert length[0] < 3
    assert (length[1:] > 8 * length[0]).all()
    assert -fitted.fun > -float(minus(jnp.full(5, np.log(length[0])))) + 20


@pytest.mark.filterwarnings("ignore:The optimal value found")  # columns that do not matter end at the upper bound
def test_scikit_learn_fits_a_lengthscale_for_each_column_of_ours():
    x, y = irrelevant()
    bounds = (1e-2, 1e3)
    ours = SklearnKernel(RBF([1.0] * 5), "lengthscale", bounds) * 1.0
    fitted = GaussianProcessRegressor(ours.k1, alpha=0.01).fit(x, y)
    theirs = GaussianProcessRegressor(peer.RBF(np.ones(5), bounds), alpha=0.01).fit(x, y)
    assert fitted.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-4)
    assert fitted.kernel_.values[0] == pytest.approx(theirs.kernel_.length_scale[0], rel=1e-2)
    assert fitted.kernel_.values.shape == (5,)
    assert "lengthscale=[" in repr(fitted.kernel_)
    assert clone(ours.k1) == ours.k1
    tied = SklearnKernel(RBF([1.0, 2.0]) + Laplace([1.0, 2.0]), "left.lengthscale = right.lengthscale")
    assert np.allclose(tied.theta, np.log([1.0, 2.0]))
    assert tied(x[:, :2], eval_gradient=True)[1].shape == (80, 80, 2)
    with pytest.raises(SettingError, match="the shape"):
        SklearnKernel(RBF([1.0, 2.0]) + Laplace(1.0), "left.lengthscale = right.lengthscale").theta  # noqa: B018
    with pytest.raises(SettingError, match=r"'nu'.*have a derivative"):
        SklearnKernel(Matern(1.3), "nu").theta  # noqa: B018


@pytest.mark.parametrize(
    "kernel",
    [
        RBF([0.5, 40.0, 30.0, 50.0, 60.0]),
        Matern(0.8, [0.5, 40.0, 30.0, 50.0, 60.0]),
        Periodic(3.0, [0.5, 40.0, 30.0, 50.0, 60.0]),
        OddEvenKernel([0.5, 40.0, 30.0, 50.0, 60.0]),
    ],
    ids=["rbf", "matern", "periodic", "odd-even"],
)
def test_estimators_and_files_keep_the_columns(kernel, tmp_path):
    x, y = irrelevant()
    model = KernelRegressor(kernel, ridge=1e-2).fit(x[:60], y[:60])
    back = load(save({"kernel": kernel, "model": model}, tmp_path / "file"))
    assert np.array_equal(gram(back["kernel"], jnp.asarray(x)), gram(kernel, jnp.asarray(x)))
    assert np.array_equal(back["model"].predict(x), model.predict(x))
    swapped = x[:, [1, 0, 2, 3, 4]]
    assert not np.allclose(model.predict(swapped), model.predict(x), atol=0.1)
