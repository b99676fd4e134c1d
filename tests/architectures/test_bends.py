"""Networks of dense layers and bends with biases: the loop over layers against the pushes, at hard points."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    Dense,
    Erf,
    LeakyRelu,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    absolute,
    fully_connected,
)
from lemmata.architectures._bends import BentLayer, Rows, _bend, _rows, _step, is_bent
from lemmata.architectures._correlation import angle_and_bow
from lemmata.architectures._entries import NetworkEntries
from lemmata.architectures._state import matrix_state
from lemmata.architectures._versine import _settled

NETWORKS = {
    "relu": fully_connected(Relu(), 3, 8, weight_std=1.4, bias_std=0.1),
    "one layer": fully_connected(Relu(), 1, 8, weight_std=1.4, bias_std=0.3, parameterization="maximal-update"),
    "standard": fully_connected(Relu(), 2, 8, weight_std=1.4, bias_std=0.3, parameterization="standard"),
    "leaky": fully_connected(LeakyRelu(0.3), 3, 8, weight_std=1.4, bias_std=0.1),
    "nearly linear": fully_connected(LeakyRelu(0.98), 2, 8, bias_std=0.01),
    "absolute": fully_connected(absolute(), 3, 8, bias_std=0.1),
    "of other layers": Serial([Dense(8), Dense(8, 0.7, 0.1), Relu(), Dense(8), ABRelu(0.4, -0.2), Dense(1, 1.0, 2.0)]),
}


def points(spread):
    """Rows whose norms spread over exp(-spread) to exp(spread); equal, near, opposite ones, and zero."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 6)) * np.exp(rng.uniform(-spread, spread, size=(20, 1)))
    shift = rng.normal(size=(4, 6))
    x[1:10] = [x[0], -x[0], x[0] * (1 + 1e-7), 1.5 * x[0], 0 * x[0], *(s * x[0] for s in (1, 1, -1, -2))]
    x[6:10] += np.array([1e-6, 1e-2, 1e-6, 1e-3])[:, None] * np.linalg.norm(x[0]) * shift
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [0.3, 7.0])
@pytest.mark.parametrize("face", ["nngp", "ntk"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_loop_is_the_recursion(name, face, spread, dtype):
    entries = NetworkEntries(NETWORKS[name], face)
    x = jnp.asarray(points(spread), dtype)
    assert is_bent(entries.network, 6)
    exact = jnp.asarray(x, "float64")
    expected = entries.exact(matrix_state(exact, exact))
    scale = np.sqrt(np.asarray(entries.diagonal(exact)))
    error = np.abs(np.asarray(entries(x, x), np.float64) - np.asarray(expected))
    # an angle is known to a few units and changes the kernel of each of up to four layers by as much
    assert (error <= 24 * float(jnp.finfo(dtype).eps) * np.outer(scale, scale)).all()


@pytest.mark.parametrize(("dtype", "edge"), [("float32", 2.0**-40), ("float64", 2.0**-98)])
def test_a_versine_of_a_few_rounding_errors_squared_is_that_of_equal_points(dtype, edge):
    below, edge, above = (np.nextafter(np.array(edge, dtype), np.array(to, dtype)) for to in (0.0, edge, 1.0))
    found = _settled(jnp.asarray([0.0, 2.0**-110, below, edge, above, 1e-8, 1.0], dtype))
    assert found.tolist() == [0.0, 0.0, 0.0, 0.0, above, np.array(1e-8, dtype), 1.0]


@pytest.mark.parametrize(("dtype", "units"), [("float32", 3), ("float64", 4)])
def test_angle_and_bow_of_every_versine(dtype, units):
    v = np.concatenate([np.geomspace(1e-12, 1.0, 30), np.linspace(0.01, 0.99, 30)]).astype(dtype)
    found = angle_and_bow(jnp.asarray(v))
    with mpmath.workdps(60):
        u = [2 * mpmath.asin(mpmath.sqrt(mpmath.mpf(float(one)) / 2)) for one in v]
        bow = [(mpmath.sin(one) - one * mpmath.cos(one)) / mpmath.pi for one in u]
        expected = [np.array([float(one) for one in values]) for values in (u, bow)]
    for values, true in zip(found, expected, strict=True):
        assert (np.abs(np.asarray(values, np.float64) / true - 1) <= units * np.finfo(dtype).eps).all()


def test_which_networks_are_bent():
    assert not is_bent(Serial([Relu(), Dense(1)]), 3)  # no Dense before the bend
    assert not is_bent(Serial([Dense(4), Relu()]), 3)
    assert not is_bent(Serial([Dense(4), Dense(4, 0.0, 1.0), Relu(), Dense(1)]), 3)
    assert not is_bent(Serial([Dense(4, jnp.asarray(1.0)), Relu(), Dense(1)]), 3)
    assert is_bent(Serial([Serial([Dense(4), Relu()]), Dense(1)]), 3)


def dense(angle, bias):
    """The shares of weights and biases where the biases have the share sin² of an angle."""
    half = jnp.asarray(angle / 2)
    return Rows(jnp.cos(2 * half), jnp.sin(half), jnp.cos(half), jnp.asarray(bias))


def test_a_step_is_a_dense_layer_after_a_bend():
    layer = BentLayer(share=0.5, line=0.3, both=0.8, half=0.2, variance=1.9, gradient=0.7, bias=0.6, bias_gradient=0.4)
    alpha, beta = np.array([0.3, 1.2]), np.array([0.9, 0.1])
    correlation, slope, before = np.array([0.8, -0.4]), np.array([0.6, 0.25]), np.array([1.7, 0.45])
    at = layer, dense(alpha, np.array([0.2, 1.1])), dense(beta, np.array([1.3, 0.8]))
    bent = jnp.asarray(1.0 - correlation), jnp.asarray(slope)
    both = np.cos(alpha) * np.cos(beta)
    own = 0.7 * both * correlation + np.array([0.26, 0.88])
    s, t = _step(at, bent, jnp.asarray(before))
    assert t is not None
    np.testing.assert_allclose(1.0 - np.asarray(s), both * correlation + np.sin(alpha) * np.sin(beta), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(t), own + both * slope * before, rtol=1e-13)
    alone, nothing = _step(at, bent, None)
    assert nothing is None
    np.testing.assert_array_equal(np.asarray(alone), np.asarray(s))


def test_rows_are_the_shares_in_the_variance_of_each_layer():
    first = BentLayer(0.0, 1.0, 2.0, half=1.0, variance=1.5, gradient=1.0, bias=0.25, bias_gradient=4.0)
    second = BentLayer(0.5, 0.3, 0.8, half=0.6, variance=0.7, gradient=1.0, bias=0.0, bias_gradient=0.0)
    layers = BentLayer(*(jnp.asarray(part, "float64") for part in zip(first, second, strict=True)))
    rows, last = _rows(layers, jnp.array([2.0, 0.0]))
    after = np.array([[3.25, 0.25], [0.42 * 3.25, 0.42 * 0.25]])
    weights = np.sqrt(np.array([[3.0, 0.0], after[1]]) / after)
    np.testing.assert_allclose(np.asarray(last), after[1], rtol=1e-13)
    np.testing.assert_allclose(np.asarray(rows.weights), weights, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(rows.cosine**2 - rows.sine**2), weights, atol=1e-13)
    np.testing.assert_allclose(np.asarray(rows.cosine**2 + rows.sine**2), np.ones((2, 2)), rtol=1e-13)
    np.testing.assert_allclose(np.asarray(rows.bias), np.sqrt(np.array([4.0, 0.0]))[:, None] / np.sqrt(after))
    nothing, last = _rows(BentLayer(*(part[1:] for part in layers)), jnp.zeros(1))
    assert [float(own.sum()) for own in (last, nothing.weights, nothing.bias)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("angle", [0.4, 2.3])
def test_a_bend_of_an_angle_or_of_its_supplement(angle):
    below, above = 0.3, -0.8
    even = below**2 + above**2
    layer = BentLayer((above - below) ** 2 / even, 2 * below * above / even, (below + above) ** 2 / even, *[1.0] * 5)
    kappa0 = 1 - angle / np.pi
    kappa1 = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    share, line = float(layer.share), float(layer.line)
    obtuse = jnp.asarray(angle > np.pi / 2)
    for told, v in [(None, 1 - np.cos(angle)), (obtuse, 1 - abs(np.cos(angle)))]:
        if told is not None or angle < np.pi / 2:
            near, slope = _bend(layer, told, jnp.asarray(v))
            assert 1 - float(near) == pytest.approx(share * kappa1 + line * np.cos(angle), rel=1e-12)
            assert float(slope) == pytest.approx(share * kappa0 + line, rel=1e-12)


@pytest.mark.parametrize("kernel", [NNGPKernel, TangentKernel])
def test_a_point_is_cheap_where_a_series_or_one_loop_replaces_the_layers(kernel):
    cheap = {name: kernel(network).cheap_points for name, network in NETWORKS.items()}
    assert all(cheap.values()), cheap
    assert kernel(fully_connected(Relu(), 2, 8)).cheap_points
    assert not kernel(fully_connected(Erf(), 2, 8, bias_std=0.1)).cheap_points
