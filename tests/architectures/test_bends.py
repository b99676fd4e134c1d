"""Networks of dense layers and bends with biases: the loop over layers against the pushes, at hard points."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from lemmata.architectures import ABRelu, Dense, LeakyRelu, Relu, Serial, absolute, fully_connected
from lemmata.architectures._bends import is_bent
from lemmata.architectures._correlation import angle_and_bow
from lemmata.architectures._entries import NetworkEntries
from lemmata.architectures._state import matrix_state

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
