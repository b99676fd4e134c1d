"""Operators, parameters and errors of kernels."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.kernels import (
    RBF,
    AbstractKernel,
    Compose,
    ExponentialDotProduct,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Power,
    Product,
    Scale,
    SoftmaxTangent,
    Sum,
    TorusSobolev,
    gram,
)

EPS = float(np.finfo(np.float64).eps)
X = jnp.asarray(np.random.default_rng(4).normal(size=(5, 3)))


def test_operators_build_the_classes():
    k1, k2 = RBF(), Linear()
    assert isinstance(k1 + k2, Sum)
    assert isinstance(k1 * k2, Product)
    assert isinstance(k1**2, Power)
    for factor in (2, 2.0, np.float64(2), np.array(2.0), jnp.array(2.0)):
        assert isinstance(factor * k1, Scale)
        assert isinstance(k1 * factor, Scale)
        assert float((factor * k1)(X[0], X[0])) == 2.0


@pytest.mark.parametrize("build", [lambda k: k + 1.0, lambda k: 1.0 + k, lambda k: k * "two", lambda k: k - k])
def test_operators_reject_what_is_no_kernel(build):
    with pytest.raises(TypeError):
        build(RBF())


@pytest.mark.parametrize("factory", [
    lambda: Linear(scale=0.0),
    lambda: Polynomial(degree=0),
    lambda: Polynomial(degree=2.0),
    lambda: Polynomial(degree=2, offset=-0.1),
    lambda: Polynomial(degree=2, scale=-1.0),
    lambda: ExponentialDotProduct(scale=-1.0),
    lambda: RBF(lengthscale=0.0),
    lambda: RBF(lengthscale=float("nan")),
    lambda: RBF(lengthscale=float("inf")),
    lambda: Laplace(lengthscale=-1.0),
    lambda: Matern(1.5, lengthscale=-1.0),
    lambda: Matern(0.0),
    lambda: Matern(-1.5),
    lambda: Matern(float("nan")),
    lambda: Matern(float("inf")),
    lambda: Matern("3/2"),
    lambda: RBF(lengthscale=[1.0, 0.0]),
    lambda: Laplace(lengthscale=[1.0, float("nan")]),
    lambda: Matern(0.8, lengthscale=[-1.0, 1.0]),
    lambda: Periodic(period=[1.0, -1.0]),
    lambda: TorusSobolev(order=0),
    lambda: TorusSobolev(order=1.5),
    lambda: TorusSobolev(order=True),
    lambda: Periodic(period=-1.0),
    lambda: Periodic(lengthscale=0.0),
    lambda: SoftmaxTangent(sigma=-0.5),
    lambda: -1.0 * RBF(),
    lambda: RBF() * 0,
    lambda: RBF() ** 0,
    lambda: RBF() ** -1,
    lambda: Power(RBF(), 1.5),
])  # fmt: skip
def test_setting_outside_its_bounds_is_an_error(factory):
    with pytest.raises(SettingError, match=r"rule: .*; remedy"):
        factory()


def test_a_kernel_can_be_built_while_traced():
    value = jax.jit(lambda scale: RBF(lengthscale=scale)(X[0], X[1]))(0.9)
    assert abs(float(value - RBF(lengthscale=0.9)(X[0], X[1]))) <= 8 * EPS


PARAMETRIC = [
    Linear(scale=1.3),
    Polynomial(degree=3, offset=0.7, scale=2.0),
    ExponentialDotProduct(scale=2.0),
    RBF(lengthscale=0.9),
    Laplace(lengthscale=0.9),
    Matern(0.5, lengthscale=0.9),
    Matern(1.5, lengthscale=0.9),
    Matern(2.5, lengthscale=0.9),
    Periodic(period=1.7, lengthscale=0.9),
    SoftmaxTangent(sigma=0.6),
    1.7 * RBF(lengthscale=0.9) + (Linear(scale=2.0) * Laplace(lengthscale=2.0)) ** 2,
    Compose(RBF(), eqx.nn.Linear(3, 2, key=jax.random.key(0))),
]


@pytest.mark.parametrize("kernel", PARAMETRIC, ids=repr)
@pytest.mark.parametrize("d", [3, 12])
def test_gradient_in_the_parameters(kernel, d):
    if isinstance(kernel, Compose) and d != 3:
        kernel = Compose(RBF(), eqx.nn.Linear(d, 2, key=jax.random.key(0)))
    x = jnp.asarray(0.5 * np.random.default_rng(5).normal(size=(6, d)))
    weights = jnp.asarray(np.random.default_rng(6).normal(size=(6, 6)))
    loss = jax.jit(lambda k: jnp.sum(weights * gram(k, x)))
    gradient = jax.grad(loss)(kernel)
    leaves, structure = jax.tree.flatten(kernel)
    # each parameter by a factor of its own: a common one of weights and lengthscale changes nothing
    factors = range(1, len(leaves) + 1)
    slopes = jax.tree.leaves(gradient)
    along = sum(factor * jnp.sum(p * g) for factor, p, g in zip(factors, leaves, slopes, strict=True))

    def difference(h):
        up, down = ([p * (1 + s * factor * h) for factor, p in zip(factors, leaves, strict=True)] for s in (1, -1))
        return float(loss(structure.unflatten(up)) - loss(structure.unflatten(down))) / (2 * h)

    # Central differences at h and 2h: their gap is three times the error of the first, plus rounding.
    h = EPS**0.25
    size = float(jnp.sum(jnp.abs(weights) * jnp.abs(gram(kernel, x))))
    allowed = abs(difference(h) - difference(2 * h)) + 64 * d * EPS * size / h
    assert abs(float(along) - difference(h)) <= allowed
    assert float(along) != 0


def test_product_keeps_the_fast_forms_of_its_parts():
    class Counted(AbstractKernel):
        """A kernel whose matrix form is not its pointwise form."""

        def __call__(self, x, y):
            raise NotImplementedError("pointwise form used")

        def cross(self, x, y):
            return jnp.ones((len(x), len(y)))

        def diagonal(self, x):
            return jnp.ones(len(x))

    fast = Counted()
    kernel = 2.0 * (fast * fast + Compose(fast, jnp.sin)) ** 2
    assert np.all(np.asarray(kernel.cross(X, X)) == 8.0)
    assert np.all(np.asarray(kernel.diagonal(X)) == 8.0)
