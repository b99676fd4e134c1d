"""Kernels as series in the angle against the recursion over layers that they stand for."""

import functools
import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    AbstractLayer,
    AngularKernel,
    Dense,
    Elementwise,
    Erf,
    Gelu,
    LeakyRelu,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    fully_connected,
    homogeneous_steps,
    is_homogeneous,
    relu_network,
)
from lemmata.architectures._angular import angular_push
from lemmata.architectures._homogeneous import homogeneous_profile
from lemmata.architectures._state import matrix_state
from lemmata.errors import SettingError
from lemmata.kernels import gram

EPS = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}
DEPTHS = (1, 3, 10, 30)
SLOPES = (0.0, 0.3, -0.4, -1.0, 1.0, (1.3, -0.4))
KERNELS = {"nngp": NNGPKernel, "ntk": TangentKernel}
both_faces = pytest.mark.parametrize("face", KERNELS)


def network(depth, slope=0.0, parameterization="ntk"):
    below, above = slope if isinstance(slope, tuple) else (slope, 1.0)
    layer = LeakyRelu(below) if above == 1.0 else ABRelu(below, above)
    weight_std = (2 / (below**2 + above**2)) ** 0.5
    return fully_connected(layer, depth, 7, weight_std=weight_std, parameterization=parameterization)


def points(dtype="float64"):
    """Random points, and among them equal, opposite and nearly equal ones, one of another length, and zero."""
    x = np.random.default_rng(3).normal(size=(12, 5))
    rows = [x, x[:1], -x[1:2], 3.0 * x[2:3], np.zeros((1, 5)), x[3:4] + 1e-3 * x[4:5], -x[3:4] + 1e-3 * x[5:6]]
    return jnp.asarray(np.concatenate(rows), dtype)


def recursion(layers, face, x, y):
    return getattr(layers.push(matrix_state(x, y)), face)


def allowed(face, depth, c, dtype):
    """Relative to the kernel at angle 0: the rounding of every layer, and that of the angle times the kernel's slope.

    A correlation c is known to a few units, the angle to that over its sine; a unit of angle changes the nngp kernel
    by the sine at most, and the tangent kernel by the number of layers, relatively.
    """
    eps = EPS[dtype]
    sine = np.sqrt(np.maximum(1 - c**2, 0))
    sensitivity = 1.0 if face == "nngp" else depth / np.maximum(sine, np.sqrt(8 * eps))
    # In float32 the series also ends at coefficients of 2 eps, and Clenshaw's recurrence rounds.
    return 32 * eps * depth * sensitivity + (0.0 if dtype == "float64" else 8 * eps)


@pytest.mark.parametrize(("depth", "slope"), list(itertools.product(DEPTHS, SLOPES)))
@both_faces
def test_profile_is_the_recursion(depth, slope, face):
    layers = network(depth, slope, "standard" if depth == 3 else "ntk")
    theta = np.concatenate([np.linspace(0.0, np.pi, 101), [1e-4, np.pi - 1e-4]])
    x = np.sqrt(2.0) * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    expected = np.asarray(recursion(layers, face, jnp.asarray(x[:1]), jnp.asarray(x)))[0]
    profile = homogeneous_profile(homogeneous_steps(layers), 2, theta)[face == "ntk"]
    error = np.abs(profile - expected) / abs(expected[0])
    assert (error <= allowed(face, depth, np.cos(theta), "float64")).all()


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize(("depth", "slope"), list(itertools.product(DEPTHS, SLOPES)))
@both_faces
def test_all_pairs_are_those_of_the_recursion(depth, slope, face, dtype):
    layers, x = network(depth, slope), points(dtype)
    kernel, y = KERNELS[face](layers), x[::-1]
    expected = np.asarray(recursion(layers, face, x, y), np.float64)
    norms = np.linalg.norm(np.asarray(x, np.float64), axis=1) / np.sqrt(x.shape[1])
    scale = np.outer(norms, norms[::-1]) * float(kernel.diagonal(x[:1])[0]) / norms[0] ** 2
    c = np.asarray(x @ y.T, np.float64) / x.shape[1] / np.maximum(np.outer(norms, norms[::-1]), 1e-30)
    with jax.disable_jit():  # single operations are compiled once for all networks
        result = np.asarray(kernel.cross(x, y))
    assert result.dtype == dtype
    assert (np.abs(result - expected) <= allowed(face, depth, np.minimum(np.abs(c), 1.0), dtype) * scale).all()
    assert (result[15] == 0).all()
    assert (result[:, -16] == 0).all()


@both_faces
def test_a_series_stands_in_for_deep_networks_and_only_where_it_is_right(face):
    used = lambda layers, dtype="float64": angular_push(layers, face, 5, np.dtype(dtype)) is not None
    assert all(used(relu_network(depth), dtype) for depth in (10, 30) for dtype in EPS)
    assert used(Serial([Serial(network(10, 0.3).layers[:3]), Serial(network(10, 0.3).layers[3:])]))
    assert not used(relu_network(1))
    assert not used(relu_network(10), "float16")
    assert not used(relu_network(10, bias_std=0.1))
    assert not used(fully_connected(Erf(), 10))
    # slope -0.999 has a branch point next to pi, and the kernel of weights 0 has no size to be relative to
    assert not used(network(10, -0.999))
    assert not used(fully_connected(Relu(), 10, weight_std=0.0))
    # finite in float64 and beyond the range of float32
    assert used(relu_network(10, weight_std=1e4))
    assert not used(relu_network(10, weight_std=1e4), "float32")


def test_what_is_known_to_be_homogeneous():
    class Shifted(Relu):
        def push(self, state):
            return state

    assert is_homogeneous(Serial([]))
    assert is_homogeneous(Serial([Dense(3), ABRelu(-0.4, 1.3)]))
    assert is_homogeneous(Serial([Dense(3), Serial([LeakyRelu(-2.0), Dense(2, 1.5, parameterization="standard")])]))
    others = [Dense(3, bias_std=0.1), Erf(), Gelu(), Elementwise(lambda u: u), Shifted()]
    for layer in others:
        assert not is_homogeneous(layer)
        assert not is_homogeneous(Serial([Dense(3), layer]))


class Negated(AbstractLayer):
    """A homogeneous layer that lemmata does not know: its moments are those of its input."""

    def apply(self, params, x):
        return -x

    def push(self, state):
        return state


class Steady(NamedTuple):
    bends = False

    def carry(self, at):
        return at


def test_a_layer_of_another_room_is_homogeneous_once_it_is_registered():
    layers = Serial([*itertools.chain(*([Dense(7, 2**0.5), Relu(), Negated()] for _ in range(8))), Dense(1)])
    x, shape = points(), (5, np.dtype("float64"))
    assert not is_homogeneous(layers)
    assert angular_push(layers, "ntk", *shape) is None
    homogeneous_steps.register(Negated, lambda layer: (Steady(),))
    assert is_homogeneous(layers)
    push = angular_push(layers, "ntk", *shape)
    expected = recursion(layers, "ntk", x, x)
    # points of length 0, and one that is longer, among them
    np.testing.assert_allclose(push(matrix_state(x, x)), expected, rtol=0, atol=1e-9 * float(jnp.max(expected)))


@pytest.mark.parametrize("dtype", EPS)
@both_faces
def test_gram_is_symmetric_and_positive_semidefinite(face, dtype):
    x, kernel = points(dtype), KERNELS[face](relu_network(10))
    matrix = gram(kernel, x)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(jnp.diag(matrix), kernel.diagonal(x))
    eigenvalues = np.linalg.eigvalsh(np.asarray(matrix, np.float64))
    # at the diagonal of the tangent kernel the square root of a rounding shows, once a layer
    tolerance = 10 * len(x) * (10 * np.sqrt(EPS[dtype]) if face == "ntk" else 10 * EPS[dtype])
    assert eigenvalues[0] >= -tolerance * eigenvalues[-1]


@pytest.mark.parametrize("depth", [4])
@both_faces
def test_derivatives_are_those_of_the_recursion(face, depth):
    layers, x = network(depth, 0.2), points()
    kernel = KERNELS[face](layers)
    # random points, and rows of x, so that these meet themselves, their opposites, their neighbours and zero
    y = jnp.concatenate([jnp.asarray(np.random.default_rng(6).normal(size=(3, 5))), x[:4], x[15:17]])
    weights = jnp.asarray(np.random.default_rng(5).normal(size=(len(x), len(y))))
    kernels = (kernel.cross, lambda x, y: recursion(layers, face, x, y))
    values = [lambda y, k=k: jnp.sum(weights * k(x, y)) for k in kernels]
    for derivative in (jax.grad, jax.jacfwd):
        ours, theirs = (jax.jit(derivative(value))(y) for value in values)
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, atol=1e-10 * float(jnp.max(jnp.abs(theirs))), rtol=0)


@both_faces
def test_second_derivatives_are_those_of_the_recursion(face):
    layers, x = network(3, 0.2), points()[:3]
    kernels = (lambda y: KERNELS[face](layers).cross(x, y), lambda y: recursion(layers, face, x, y))
    y = jnp.asarray(np.random.default_rng(6).normal(size=(2, 5)))
    ours, theirs = (jax.jit(jax.hessian(lambda y, k=k: jnp.sum(k(y))))(y) for k in kernels)
    np.testing.assert_allclose(ours, theirs, atol=1e-10 * float(jnp.max(jnp.abs(theirs))), rtol=0)


@both_faces
def test_gradient_is_the_slope_of_the_values(face):
    # independently of the recursion: central differences of the entries, which err by h² and by eps / h
    kernel, x, h = KERNELS[face](relu_network(10)), points()[:4], 1e-5
    y, direction = points()[5:9], jnp.asarray(np.random.default_rng(7).normal(size=(4, 5)))
    slope = jax.jvp(lambda y: kernel.cross(x, y), (y,), (direction,))[1]
    difference = (kernel.cross(x, y + h * direction) - kernel.cross(x, y - h * direction)) / (2 * h)
    np.testing.assert_allclose(slope, difference, atol=1e-8 * float(jnp.max(jnp.abs(slope))), rtol=0)


def test_derivatives_by_a_setting_of_the_network():
    # a traced setting is not a plain number, so the recursion is differentiated
    x = points()
    std = lambda layers: [layer.weight_std for layer in layers.layers[:-1:2]]

    def total(w):
        return jnp.sum(NNGPKernel(eqx.tree_at(std, relu_network(10), [w] * 10)).cross(x, x[:3]))

    # w^(2 depth) is a factor
    np.testing.assert_allclose(jax.grad(total)(1.3), 20 * total(1.3) / 1.3, rtol=1e-12)


def on_sphere(dtype="float64"):
    x = points()[jnp.asarray([*range(15), 16, 17])]
    return jnp.asarray(2.0 * x / jnp.linalg.norm(x, axis=1, keepdims=True), dtype)


SPHERE = {
    "erf": fully_connected(Erf(), 2, bias_std=0.3, parameterization="standard"),
    "relu-bias": relu_network(10, bias_std=0.2),
    "tanh": fully_connected(Elementwise(jnp.tanh, degree=32), 2),
}


@functools.cache
def spherical(name, face):
    return AngularKernel(KERNELS[face](SPHERE[name]), norm=2.0, dimension=5)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", SPHERE)
@both_faces
def test_any_network_on_a_sphere(name, face, dtype):
    kernel, x = KERNELS[face](SPHERE[name]), on_sphere(dtype)
    ours = spherical(name, face)
    assert ours.series is not None
    # the accuracy promised; beside it the square root of a rounding where equal points meet in a kinked tangent kernel
    kinked = name == "relu-bias" and face == "ntk"
    tolerance = 1e-10 + 100 * (10 * np.sqrt(EPS[dtype]) if kinked else EPS[dtype])
    expected = kernel.cross(x, x[::-1])
    error = jnp.abs(ours.cross(x, x[::-1]) - expected)
    assert jnp.max(error) <= tolerance * jnp.max(jnp.abs(expected))
    assert jnp.max(jnp.where(jnp.abs(x @ x[::-1].T) < 3.99, error, 0.0)) <= 1e-9 + 1000 * EPS[dtype] * jnp.max(expected)
    np.testing.assert_array_equal(jnp.diag(gram(ours, x)), kernel.diagonal(x))
    np.testing.assert_array_equal(ours(x[0], x[1]), kernel(x[0], x[1]))


def test_gradient_on_a_sphere_is_that_of_the_kernel():
    kernel, x = TangentKernel(SPHERE["erf"]), on_sphere()
    ours = spherical("erf", "ntk")
    slopes = [jax.jit(jax.grad(lambda y, k=k: jnp.sum(k.cross(x[:7], y))))(x[7:11]) for k in (ours, kernel)]
    np.testing.assert_allclose(*slopes, atol=1e-11 * float(jnp.max(jnp.abs(slopes[1]))), rtol=0)
    # and it is the slope of the series' values, along the sphere
    h, y = 1e-5, x[7:11]
    along = x[2:6] - y * jnp.sum(x[2:6] * y, axis=1, keepdims=True) / 4.0
    turned = [2.0 * z / jnp.linalg.norm(z, axis=1, keepdims=True) for z in (y + h * along, y - h * along)]
    difference = (ours.cross(x[:7], turned[0]) - ours.cross(x[:7], turned[1])).sum() / (2 * h)
    np.testing.assert_allclose(jnp.sum(slopes[0] * along), difference, rtol=1e-7)


def test_a_sphere_where_no_series_reaches_the_accuracy():
    kernel, x = TangentKernel(network(3, -0.999)), on_sphere()
    ours = AngularKernel(kernel, norm=2.0, dimension=5)
    assert ours.series is None
    np.testing.assert_array_equal(ours.cross(x, x[:3]), kernel.cross(x, x[:3]))


def test_points_off_the_sphere_are_refused():
    kernel, x = NNGPKernel(SPHERE["erf"]), on_sphere()
    ours = spherical("erf", "nngp")
    with pytest.raises(SettingError, match="norm"):
        ours.cross(x, 1.001 * x)
    with pytest.raises(SettingError, match="norm"):
        ours.diagonal(points())
    with pytest.raises(SettingError, match="coordinates"):
        ours.cross(x[:, :4], x[:, :4])
    with pytest.raises(SettingError, match="positive"):
        AngularKernel(kernel, norm=0.0, dimension=5)


def test_rows_and_columns_of_a_sphere_are_not_exchanged():
    ours = AngularKernel(NNGPKernel(fully_connected(Erf(), 1)), norm=2.0, dimension=5)
    assert ours.series is not None
    x, y = on_sphere()[:4], on_sphere()[4:6]
    found = ours.cross(x, y)
    assert found.shape == (4, 2)
    one_by_one = [[ours(a, b) for b in y] for a in x]
    np.testing.assert_allclose(found, jnp.asarray(one_by_one), rtol=1e-9, atol=1e-10)
