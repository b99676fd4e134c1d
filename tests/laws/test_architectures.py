"""Laws of layers: the finite twin approaches the limit at its rate, and every form of a push agrees."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata.architectures as rooms
from lemmata.architectures import (
    AbstractLayer,
    Dense,
    Elementwise,
    NNGPKernel,
    Serial,
    TangentKernel,
    fully_connected,
    tangent_gram,
    with_masks,
)
from lemmata.architectures._state import matrix_state
from lemmata.kernels import gram
from tests.laws.architectures_cases import ACTIVATIONS, FORMS, LAYERS, NETWORKS

EPS = np.finfo(np.float64).eps
# The ends of a ladder carry its slope; one width between them is enough to see a bend.
WIDTHS = {1: (256, 1024, 4096), 2: (32, 128, 512)}
KEYS = {1: 96, 2: 96}
# A two-sided normal quantile of 4 standard errors fails a true statement once in 16 000.
QUANTILE = 4.0
# Two hidden layers have a bias and a variance of higher order in 1/width; at these widths it bends the slope by less.
BEND = {1: 0.0, 2: 0.05}
RESOLUTION = 0.25

by_name = pytest.mark.parametrize("case", NETWORKS, ids=lambda case: case.name)
by_form = pytest.mark.parametrize("case", FORMS, ids=lambda case: case.name)
both_kernels = pytest.mark.parametrize("kernel", [NNGPKernel, TangentKernel])


@pytest.fixture(autouse=True)
def operation_by_operation():
    """Single operations are compiled once for all layers, whole networks once each: this takes a tenth of the time."""
    with jax.disable_jit():
        yield


def points(n=4, d=3, seed=5):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, d)))


def test_registry_holds_every_public_layer():
    public = {c for _, c in inspect.getmembers(rooms, inspect.isclass) if issubclass(c, AbstractLayer)}
    assert public - {AbstractLayer} == {type(layer) for layer in LAYERS}
    assert len({case.name for case in NETWORKS}) == len(NETWORKS) == 45


def finite_kernels(network, key, x):
    """The kernel of the last hidden layer's activations, pushed through the readout, and Theta_00."""
    readout, hidden = network.layers[-1], Serial(network.layers[:-1])
    params = network.init(key, 3)[0]
    features = jax.vmap(lambda a: hidden.apply(params[:-1], a))(x)
    # given the hidden layers, the variance of an output is that of a sum over independent weights
    own_std = readout.scales(features.shape[1])
    weight_std = own_std.multiplier * own_std.deviation
    nngp = weight_std**2 * features @ features.T + readout.bias_std**2
    return nngp, tangent_gram(network, params, x, output=0)


def kernels_of_passes(network, key, x):
    """The same between two random passes, with a mask of its own for every point and pass."""
    readout, hidden = network.layers[-1], Serial(network.layers[:-1])
    params = network.init(key, 3)[0]
    masks = jax.random.split(jax.random.fold_in(key, 1), (2, len(x)))
    features = jax.vmap(jax.vmap(lambda key, a: with_masks(hidden, key).apply(params[:-1], a)), (0, None))(masks, x)
    nngp = readout.weight_std**2 * features[0] @ features[1].T / features.shape[2] + readout.bias_std**2
    gradient = lambda key, a: jax.grad(lambda p: with_masks(network, key).apply(p, a)[0])(params)
    left, right = (jax.vmap(gradient)(side, x) for side in masks)
    product = lambda a, b: a.reshape(len(x), -1) @ b.reshape(len(x), -1).T
    return nngp, sum(jax.tree.leaves(jax.tree.map(product, left, right)))


def kernels_of_keys(case, width, x):
    """Both kernels of a network for each key, compiled as one function, eight networks at a time."""
    network = case.network(width)
    kernels = kernels_of_passes if case.passes else finite_kernels
    keys = jax.random.split(jax.random.key(width), KEYS[case.depth])
    with jax.disable_jit(False):
        return jax.jit(lambda keys: jax.lax.map(lambda key: kernels(network, key, x), keys, batch_size=8))(keys)


def limits(network, x):
    """Both kernels at infinite width from one push."""
    state = network.push(matrix_state(x, x))
    return state.nngp, state.ntk


@by_name
def test_finite_kernels_approach_the_limit_at_rate_one_half(case):
    x, widths, keys = points(n=3), WIDTHS[case.depth], KEYS[case.depth]
    squares, last = {NNGPKernel: [], TangentKernel: []}, {}
    for width in widths:
        finite = kernels_of_keys(case, width, x)
        for kind, values, limit in zip(squares, finite, limits(case.network(width), x), strict=True):
            deviation = np.asarray((values - limit) / jnp.linalg.norm(limit))
            squares[kind].append(np.sum(deviation**2, axis=(1, 2)))
            last[kind] = deviation
    for kind, ladder in squares.items():
        mean = np.array([np.mean(s) for s in ladder])
        # log RMS = log(mean square) / 2, its standard error by the delta method from the spread over keys
        error = np.array([np.std(s, ddof=1) / np.sqrt(keys) for s in ladder]) / (2 * mean)
        t = np.log(widths) - np.mean(np.log(widths))
        slope = t @ np.log(mean) / 2 / (t @ t)
        interval = QUANTILE * np.sqrt((t**2) @ error**2) / (t @ t)
        assert interval < RESOLUTION, (kind, interval)
        assert abs(slope + 0.5) <= interval + BEND[case.depth], (kind, slope, interval)
        bias = np.mean(last[kind], axis=0)
        spread = np.std(last[kind], axis=0, ddof=1) / np.sqrt(keys)
        # one hidden layer is an average of independent terms, hence unbiased; two are biased by O(1/width)
        allowed = QUANTILE * spread + (case.depth - 1) * 4.0 / widths[-1] + 100 * EPS
        assert (np.abs(bias) <= allowed).all(), (kind, bias, spread)


@by_form
@both_kernels
def test_pair_matrix_and_diagonal_agree(case, kernel):
    x = points(6)
    k = kernel(case.network(64))
    matrix = k.cross(x, x + 0.0)
    pairs = jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(x))(x)
    # Rounding of a correlation c changes the angle by delta / sin(theta), largest for the closest pair.
    unit = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    c = jnp.where(jnp.eye(6, dtype=bool), 0.0, unit @ unit.T)
    tolerance = 100 * EPS * jnp.max(jnp.abs(matrix)) / jnp.sqrt(1 - jnp.max(jnp.abs(c)))
    off = ~np.eye(6, dtype=bool)
    assert jnp.max(jnp.abs(matrix - pairs)[off]) <= tolerance
    diagonal = k.diagonal(x)
    np.testing.assert_allclose(jnp.diag(pairs), diagonal, rtol=100 * EPS)
    np.testing.assert_array_equal(jnp.diag(gram(k, x)), diagonal)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
def test_compiled_is_the_same(activation):
    x, k = points(6), TangentKernel(fully_connected(activation.layer, 1, 8, bias_std=0.3))
    with jax.disable_jit(False):
        compiled, diagonal = gram(k, x), k.diagonal(x)
    np.testing.assert_allclose(compiled, gram(k, x), rtol=1000 * EPS)
    np.testing.assert_array_equal(jnp.diag(compiled), diagonal)


@pytest.mark.parametrize("size", [(1100, 1030)], ids=str)
def test_tiles_are_the_same_matrix(size):
    # Long enough to be computed in tiles, the last one moved back; in float32 and against the form without tiles.
    n, m = size
    x, y = (points(rows, seed=rows).astype(jnp.float32) for rows in (n, m + 1))
    k = TangentKernel(fully_connected(ACTIVATIONS[3].layer, 1, 8, bias_std=0.3))
    with jax.disable_jit(False):
        whole, symmetric, few = k.cross(x, y), k.cross(x, x), k.cross(x[:1000], x)
        strip = jax.jit(k.cross)
        strips = jnp.concatenate([strip(x[i : i + 550], y) for i in range(0, n, 550)])
    tolerance = 100 * np.finfo(np.float32).eps * float(jnp.max(jnp.abs(strips)))
    np.testing.assert_allclose(whole, strips, atol=tolerance, rtol=0)
    np.testing.assert_allclose(symmetric[:1000], few, atol=tolerance, rtol=0)
    np.testing.assert_allclose(symmetric, symmetric.T, atol=tolerance, rtol=0)


@by_form
@both_kernels
def test_symmetric_and_positive_semidefinite(case, kernel):
    x = jnp.concatenate([points(4), points(2)])  # two points twice: the matrix is singular
    matrix = gram(kernel(case.network(64)), x)
    np.testing.assert_array_equal(matrix, matrix.T)
    eigenvalues = jnp.linalg.eigvalsh(matrix)
    # the tangent kernel of a kinked activation moves by the square root of a rounding at its diagonal
    kinked = kernel is TangentKernel and case.kinked
    tolerance = 10 * len(x) * (np.sqrt(EPS) if kinked else 10 * EPS)
    assert eigenvalues[0] >= -tolerance * eigenvalues[-1]


@by_form
def test_gradient_at_equal_points_is_half_that_of_the_diagonal(case):
    # K is symmetric, so d/dy K(x, y) at y = x is half the gradient of K(x, x); a kink is split evenly.
    # (The tangent kernel contains the other one as its last term.)
    k, x = TangentKernel(case.network(64)), points(1)[0]
    zero = jnp.zeros_like(x)
    with jax.disable_jit(False):  # a scan is differentiated as a whole
        slope = jax.jit(jax.grad(lambda y, z: k(z, y)))
        gradient, half = slope(x, x), jax.grad(lambda y: k.diagonal(y[None])[0])(x) / 2
        at_zero = slope(zero, x), slope(zero, zero)
        forward = jax.jit(jax.jacfwd(lambda y, z: k(z, y)))(x, x)
    # A kernel with a kink loses half the digits where rounding moves the correlation off 1.
    np.testing.assert_allclose(gradient, half, rtol=1e3 * np.sqrt(EPS))
    np.testing.assert_allclose(forward, half, rtol=1e3 * np.sqrt(EPS))
    assert np.isfinite(k(x, zero))
    assert np.isfinite(at_zero).all()


@pytest.mark.parametrize("activation", [a for a in ACTIVATIONS if a.analytic is not None], ids=lambda a: a.name)
def test_quadrature_agrees_with_the_closed_form(activation):
    x, degree = points(6), 160
    network = lambda layer: fully_connected(layer, 2, 8, weight_std=1.0, bias_std=0.3)
    quadrature = limits(network(Elementwise(activation.fn, degree=degree)), x)
    for exact, approximate in zip(limits(network(activation.layer), x), quadrature, strict=True):
        largest = float(jnp.max(jnp.abs(exact)))
        if activation.analytic:
            # erf is the slowest: its coefficients fall as (2a / (1 + 2a))^(j/2), a the largest variance of a layer
            variance = float(jnp.max(jnp.sum(x**2, axis=1)) / 3 + 0.3**2)
            tolerance = 1000 * EPS + 10 * (2 * variance / (1 + 2 * variance)) ** degree
        else:
            # at a kink the rule is of first order in its node spacing, pi / sqrt(2 degree), twice over
            tolerance = np.pi**2 / (2 * degree)
        assert jnp.max(jnp.abs(exact - approximate)) <= tolerance * largest


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
def test_layer_applies_its_function(activation):
    x = jnp.linspace(-3.0, 3.0, 41)
    params, width = activation.layer.init(jax.random.key(0), 41)
    assert width == 41
    np.testing.assert_allclose(activation.layer.apply(params, x), jax.vmap(activation.fn)(x), atol=100 * EPS)


@by_form
@both_kernels
def test_serial_of_serials_is_the_flat_composition(case, kernel):
    flat = case.network(32)
    nested = Serial([Serial(flat.layers[:1]), Serial([]), Serial(flat.layers[1:])])
    x = points(6)
    np.testing.assert_array_equal(gram(kernel(flat), x), gram(kernel(nested), x))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_standard_parameterization_is_the_ntk_one_with_wider_gradients(depth):
    # without biases a layer of d inputs has d / w² times the gradient product: the layer's own term scales by that
    x, width, w = points(6), 32, 1.3
    ntk, standard = (
        fully_connected(ACTIVATIONS[0].layer, depth, width, weight_std=w, readout_std=w, parameterization=p)
        for p in ("ntk", "standard")
    )
    np.testing.assert_allclose(gram(NNGPKernel(ntk), x), gram(NNGPKernel(standard), x), rtol=100 * EPS)
    first = Serial([Dense(width, w, parameterization="standard")])
    np.testing.assert_allclose(gram(TangentKernel(first), x), x @ x.T, rtol=100 * EPS, atol=100 * EPS)
