"""The Matérn kernel of every order, against the Bessel functions of mpmath in 40 digits."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.kernels import RBF, Matern, gram

EPS = float(np.finfo(np.float64).eps)
DRAWN = [round(float(nu), 4) for nu in np.exp(np.random.default_rng(46).uniform(np.log(0.05), np.log(50), 4))]
ORDERS = [0.05, 0.3, 0.999999, 1.0, 1.0 + 1e-9, 1.5 - 1e-7, 3.5, 12.25, 31.99, 50.0, *DRAWN]
DISTANCES = [*10.0 ** np.linspace(-8, 3, 12), 0.7, 1.3, 2.0, 3.0]


def truth(nu, r):
    """M_nu and its derivative by r, with s = sqrt(2 nu) r and (s^nu K_nu)' = -s^nu K_(nu-1)."""
    with mpmath.workdps(40):
        nu, r = mpmath.mpf(nu), mpmath.mpf(r)
        s = mpmath.sqrt(2 * nu) * r
        factor = 2 ** (1 - nu) / mpmath.gamma(nu) * s**nu
        return factor * mpmath.besselk(nu, s), -factor * mpmath.besselk(nu - 1, s) * mpmath.sqrt(2 * nu)


@pytest.mark.parametrize("nu", ORDERS)
def test_values_and_slopes_are_right_to_rounding(nu):
    of_distance = jax.jit(jax.vmap(jax.value_and_grad(lambda r: Matern(nu)(r[None], jnp.zeros(1)))))
    values, slopes = map(np.asarray, of_distance(jnp.asarray(DISTANCES)))
    compared = 0
    for r, value, slope in zip(DISTANCES, values, slopes, strict=True):
        exact, derivative = truth(nu, r)
        # A distance that is off by a rounding moves K by s eps in relative terms, for large s; 16 operations beside.
        floor = (16 + 4 * (2 * nu) ** 0.5 * r) * EPS
        assert abs(value - exact) <= floor * exact + 1e-300, (r, float(exact))
        assert abs(slope - derivative) <= floor * abs(derivative) + 1e-290, (r, float(derivative))
        compared += exact > 1e-290
    assert compared >= 10


@pytest.mark.parametrize("nu", [0.2, 0.8, 1.0, 2.3, 3.5, 40.0])
def test_derivatives_by_the_lengthscale_and_at_distance_0(nu):
    at = jnp.array([0.4, -0.3])
    other = jnp.array([1.0, 0.9])
    length = jnp.array([0.6, 3.0])
    found = jax.grad(lambda own: Matern(nu, own)(at, other))(length)
    r = jnp.sqrt(jnp.sum(((at - other) / length) ** 2))
    expected = -float(truth(nu, float(r))[1]) * (at - other) ** 2 / length**3 / r
    assert np.allclose(found, expected, rtol=1e-13)
    assert float(Matern(nu)(at, at)) == 1
    assert np.array_equal(jax.grad(Matern(nu, length))(at, at), np.zeros(2))
    assert np.array_equal(jax.grad(lambda own: Matern(nu, own)(at, at))(length), np.zeros(2))
    if nu > 1:  # K = 1 - nu/(nu - 1) r²/2 + ...
        assert np.allclose(jax.hessian(Matern(nu))(at, at), -nu / (nu - 1) * np.eye(2), rtol=1e-13, atol=1e-13)


def test_second_derivatives_are_those_of_the_differential_equation():
    for nu in (0.3, 1.0, 1.7):  # s K'' = (2 nu - 1) K' + s K for s^nu K_nu(s)
        of_s = lambda s, nu=nu: Matern(nu)(s[None] / (2 * nu) ** 0.5, jnp.zeros(1))
        s = jnp.array([0.01, 0.5, 1.9, 2.1, 9.0])
        value, first, second = (jax.vmap(f)(s) for f in (of_s, jax.grad(of_s), jax.grad(jax.grad(of_s))))
        assert np.allclose(s * second, (2 * nu - 1) * first + s * value, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.9, 1.0, 7.3, 29.5, 33.0, 1e4])
def test_ends_of_the_range(nu):
    line = jnp.array([[0.0], [1e-200], [1e-4], [1.0], [3e2], [1e8], [1e30]])
    for points in (line, line.astype(jnp.float32)):
        matrix = gram(Matern(nu), points)
        assert matrix.dtype == points.dtype
        row = np.asarray(matrix[0], float)
        assert row[0] == 1
        assert np.isfinite(row).all()
        assert (np.diff(row) <= EPS).all()
        assert row[-1] == 0
    assert np.isnan(Matern(nu)(jnp.array([jnp.nan]), jnp.zeros(1)))
    single = np.asarray(gram(Matern(nu), jnp.linspace(0, 5, 9, dtype=jnp.float32)[:, None]))
    assert np.allclose(single, gram(Matern(nu), jnp.linspace(0, 5, 9)[:, None]), atol=3e-6)


def test_large_orders_are_the_gaussian_kernel_and_small_ones_the_identity():
    x = jnp.linspace(0, 6, 13)[:, None]
    smooth = np.asarray(gram(RBF(), x))
    for nu in (1e6, 1e12, 1e300):
        assert np.abs(gram(Matern(nu), x) - smooth).max() <= 1 / nu + 8 * EPS
    assert np.abs(gram(Matern(100.0), x) - smooth).max() > 1e-4
    for nu in (5e-324, 1e-200, 1e-20):  # and small ones the identity
        for points in (x, x.astype(jnp.float32)):
            assert np.abs(gram(Matern(nu), points) - np.eye(13)).max() <= 1e-15
        assert float(jax.grad(lambda r, nu=nu: Matern(nu)(r, jnp.zeros(1)))(jnp.ones(1))[0]) == pytest.approx(
            0, abs=1e-18
        )


@pytest.mark.parametrize("transform", [jax.grad, jax.jit, jax.vmap])
def test_a_traced_order_is_refused(transform):
    kernel = lambda nu: Matern(nu)(jnp.zeros(1), jnp.ones(1))
    with pytest.raises(
        SettingError, match=r"Matern\.nu; found a value that JAX traces.*derivative with respect.*evidence"
    ):
        transform(kernel)(1.3 if transform is not jax.vmap else jnp.array([1.3]))
