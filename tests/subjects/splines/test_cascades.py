"""Cascades by other routes: automatic derivatives, least squares in all values, one cascade among several, depth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import NotPositiveDefiniteError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.splines import Cascade, Hyperoctahedron, Package, SplineCovariance, initial_cascade

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def naive(values, z, b=5.0, c=400.0):
    """A cascade on hyperoctahedra by differences and dense solves, in NumPy."""
    for own in values:
        p = (len(own) - 1) // 2
        points = np.concatenate([np.zeros((1, p)), np.eye(p), -np.eye(p)])
        r = lambda a, t=points: np.linalg.norm(a[:, None] - t, axis=2)
        k = lambda r: np.where(r > 0, r**2 * (np.log(np.where(r > 0, r, 1.0)) - b) + c, c)
        z = k(r(z)) @ np.linalg.solve(k(r(points)), own)
    return z[:, 0]


def moved_cascade():
    """A small cascade whose values are none of the initial ones."""
    values = [RNG.normal(size=shape) / 2 for shape in ((7, 2), (5, 2), (5, 1))]
    packages = [Package(Hyperoctahedron((len(v) - 1) // 2), SplineCovariance(), jnp.asarray(v)) for v in values]
    return Cascade(tuple(packages)), values, RNG.normal(size=(6, 3)) / 2


def finite_jacobian(values, z):
    """Derivatives of the outputs in all values by central differences."""
    columns = []
    for own in values:
        for index in np.ndindex(own.shape):
            kept = own[index]
            own[index] = kept + 1e-5
            ahead = naive(values, z)
            own[index] = kept - 1e-5
            columns.append((ahead - naive(values, z)) / 2e-5)
            own[index] = kept
    return np.stack(columns, axis=1)


def test_outputs_gradients_and_tangent_kernel():
    cascade, values, z = moved_cascade()
    np.testing.assert_allclose(cascade(jnp.asarray(z)), naive(values, z), atol=1e-11)
    jacobian = finite_jacobian(values, z)
    np.testing.assert_allclose(cascade.tangent_gram(jnp.asarray(z)), jacobian @ jacobian.T, rtol=1e-5, atol=1e-6)
    step = 1e-5 * np.eye(3)[1]
    slope = (naive(values, z + step) - naive(values, z - step)) / 2e-5
    np.testing.assert_allclose(cascade.gradient(jnp.asarray(z))[:, 1], slope, atol=1e-6)


def test_a_step_is_damped_least_squares_in_all_values():
    cascade, values, z = moved_cascade()
    y, damping = RNG.normal(size=6), 0.7
    jacobian = finite_jacobian(values, z)
    stacked = np.concatenate([jacobian, damping**0.5 * np.eye(jacobian.shape[1])])
    wanted = np.concatenate([y - naive(values, z), np.zeros(jacobian.shape[1])])
    expected = np.linalg.lstsq(stacked, wanted, rcond=None)[0]
    moved = cascade.step(jnp.asarray(z), jnp.asarray(y), damping)
    pairs = zip(moved.packages, values, strict=True)
    found = np.concatenate([np.asarray(package.values - own).ravel() for package, own in pairs])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_cascades_side_by_side_are_cascades_alone():
    z, y = jnp.asarray(RNG.normal(size=(8, 3)) / 2), jnp.asarray(np.sign(RNG.normal(size=(2, 8))))
    many = initial_cascade(jax.random.key(0), (3, 2, 2), outputs=2)
    alone = [
        Cascade(tuple(Package(p.constellation, p.covariance, p.values[k]) for p in many.packages)) for k in range(2)
    ]
    for _ in range(3):
        many = many.step(z, y, 0.5)
        alone = [own.step(z, y[k], 0.5) for k, own in enumerate(alone)]
    for k in range(2):
        np.testing.assert_allclose(many(z)[k], alone[k](z), atol=1e-9)
        np.testing.assert_allclose(many.gradient(z)[k], alone[k].gradient(z), atol=1e-9)
    assert float(jnp.mean((many(z) - y) ** 2)) < 0.5


def test_the_start():
    cascade = initial_cascade(jax.random.key(0), (5, 3, 3))
    first, second, last = (package.values for package in cascade.packages)
    assert float(jnp.linalg.norm(first, axis=1).max()) <= 1
    np.testing.assert_array_equal(second, Hyperoctahedron(3).points)
    np.testing.assert_array_equal(last, jnp.zeros((7, 1)))
    z = jnp.asarray(RNG.normal(size=(4, 5)))
    np.testing.assert_array_equal(cascade(z), jnp.zeros(4))
    # Only the last package has a gradient at first: the kernel is that of one package on what it reads
    influence = cascade.packages[-1].influence(cascade.states(z)[-2])
    np.testing.assert_allclose(cascade.tangent_gram(z), influence @ influence.T, atol=1e-10)


def test_a_hundred_packages_keep_the_gradient_and_nine_tenths_of_them_lose_it():
    h, found = Hyperoctahedron(128), []
    z, readout = jnp.asarray(np.random.default_rng(3).normal(size=(2, 4, 128)))
    z = 0.8 * z / jnp.linalg.norm(z, axis=1, keepdims=True)
    for scale in (1.0, 0.9):
        package, states = Package(h, SplineCovariance(), scale * h.points), [z]
        forward, back = jax.jit(lambda z, own=package: own(z)), jax.jit(lambda z, g, own=package: own.pull_back(z, g))
        for _ in range(100):
            states.append(forward(states[-1]))
        end = states[-1] / jnp.linalg.norm(states[-1], axis=1, keepdims=True)
        along = readout - jnp.sum(readout * end, axis=1, keepdims=True) * end  # the sphere, at the end
        g = along
        for state in states[-2::-1]:
            g = back(state, g)
        found.append(np.asarray(jnp.linalg.norm(g, axis=1) / jnp.linalg.norm(along, axis=1)))
        norms = np.asarray(jnp.linalg.norm(states[-1], axis=1))
    np.testing.assert_allclose(found[0], (4 / np.e - 1) ** 0.5 / 0.8, rtol=0.1)
    assert found[1].max() < 0.01
    assert norms.max() < 0.01


def test_bad_cascades_are_refused():
    h = Hyperoctahedron(2)
    package = Package(h, SplineCovariance(), h.points)
    with pytest.raises(ShapeError, match="package 1"):
        Cascade((package, package))
    with pytest.raises(ShapeError, match="no package"):
        Cascade(())
    cascade = initial_cascade(jax.random.key(0), (2,))
    with pytest.raises(SettingError, match="damping"):
        cascade.step(jnp.ones((3, 2)), jnp.ones(3), 0.0)
    with pytest.raises(ShapeError, match="one target for each of the 3 rows"):
        cascade.step(jnp.ones((3, 2)), jnp.ones(4), 1.0)
    with pytest.raises(SettingError, match="widths"):
        initial_cascade(jax.random.key(0), ())
    with pytest.raises(NotPositiveDefiniteError, match="level c"):
        initial_cascade(jax.random.key(0), (2,), SplineCovariance(5.0, 10.0))
    with jax.enable_x64(False), pytest.raises(PrecisionError, match="float64"):
        initial_cascade(jax.random.key(0), (2,))
