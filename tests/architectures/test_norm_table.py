"""Tables in two norms and the angle: against the recursion, in the type of the points, and where there is none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import Dense, Erf, Gelu, LayerNorm, Serial, TangentKernel, fully_connected, relu_network
from lemmata.architectures import _norm_table as tables
from lemmata.architectures import _numpy_smooth as smooth
from lemmata.architectures._entries import NetworkEntries
from lemmata.architectures._serial import through_parts
from lemmata.architectures._state import matrix_state
from lemmata.kernels import gram
from tests.compiled import compiled

SMOOTH = {
    "erf": fully_connected(Erf(), 2, 8, weight_std=1.4, bias_std=0.1),
    "gelu": fully_connected(Gelu(), 2, 8, weight_std=1.4, bias_std=0.3),
    "standard": fully_connected(Erf(), 1, 8, weight_std=1.0, bias_std=0.2, parameterization="standard"),
}


def points(low, high, dtype):
    """Rows of norms from `low` to `high`, some equal, nearly equal or opposite."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 9))
    x[1:5] = [x[0], -x[0], x[0] + 1e-5 * x[9], 1e-3 * x[9] - x[0]]
    x *= np.linspace(low, high, 40)[:, None] * 3.0 / np.linalg.norm(x, axis=1, keepdims=True)
    return jnp.asarray(x, dtype)


@pytest.fixture(autouse=True)
def _few_pairs_are_enough(monkeypatch):
    monkeypatch.setattr(tables, "_PAIRS", 1)
    monkeypatch.setattr(tables, "_PRODUCTS_PER_LAYER", 10**6)


@pytest.mark.parametrize("dtype", tables.ACCURACY)
@pytest.mark.parametrize("norms", [(0.9, 1.1), (0.7, 1.4), (1e-3, 1.2e-3)])
@pytest.mark.parametrize("name", SMOOTH)
def test_a_table_is_the_recursion(name, norms, dtype):
    entries, x = NetworkEntries(SMOOTH[name], "ntk"), points(*norms, dtype)
    table = entries.table(x, x)
    assert table is not None
    exact = jnp.asarray(x, "float64")
    expected = np.asarray(entries.exact(matrix_state(exact, exact)))
    scale = np.sqrt(np.asarray(entries.diagonal(exact)))
    error = np.abs(np.asarray(table(x, x), np.float64) - expected) / np.outer(scale, scale)
    assert np.max(error) <= tables.ACCURACY[dtype]
    off = gram(TangentKernel(entries.network), x, x[:7])
    assert np.allclose(off, table(x, x[:7]), rtol=1e-5 if dtype == "float32" else 1e-13, atol=0)


def test_where_there_is_no_table(monkeypatch):
    entries, x = NetworkEntries(SMOOTH["erf"], "ntk"), points(0.9, 1.1, "float64")
    assert NetworkEntries(relu_network(2, bias_std=0.1), "ntk").table(x, x) is None
    assert NetworkEntries(Serial([LayerNorm(), Dense(4), Erf(), Dense(1)]), "ntk").table(x, x) is None
    assert entries.table(x.at[0].set(0.0), x) is None
    assert entries.table(jnp.concatenate([1e-3 * x, 1e3 * x]), x) is None
    assert jax.eval_shape(lambda x: TangentKernel(SMOOTH["erf"]).cross(x, x), x).shape == (40, 40)
    monkeypatch.setattr(tables, "_PAIRS", 2**20)
    assert entries.table(x, x) is None


def test_a_table_that_is_not_accurate_is_not_used(monkeypatch):
    entries, x = NetworkEntries(fully_connected(Erf(), 2, 8, bias_std=0.15), "ntk"), points(0.9, 1.1, "float32")
    monkeypatch.setitem(tables._LEFT_OUT, "float32", 1e-3)
    assert entries.table(x, x) is None


@pytest.mark.parametrize("face", ["nngp", "ntk"])
@pytest.mark.parametrize("name", SMOOTH)
def test_numpy_and_the_compiled_recursion_agree(name, face):
    a, b = np.geomspace(1e-3, 10.0, 7)[:, None, None], np.geomspace(2e-2, 3.0, 5)[None, :, None]
    theta = np.concatenate([[0.0, np.pi], np.geomspace(1e-9, 1.0, 9), np.pi - np.geomspace(1e-9, 1.5, 9)])
    found = smooth.numpy_smooth(SMOOTH[name], face, 9, a, b, theta)
    assert found is not None
    known = np.asarray(getattr(through_parts(SMOOTH[name], tables._state(a, b, theta, np.float64, 9)), face))
    # The versine that NumPy loses after a layer is worth 1e-13 at these variances, and each layer rounds a dozen times.
    np.testing.assert_allclose(found, known, rtol=0, atol=2e-13 * np.abs(known).max())


@pytest.mark.parametrize("weight_std", [30.0, 1e3, 1e5])
def test_where_numpy_would_lose_the_angle_the_recursion_is_compiled(weight_std):
    network = fully_connected(Gelu(), 2, 8, weight_std=weight_std)
    a, theta = np.ones((1, 1, 1)), np.array([0.0, 1e-4, 1.0])
    found = smooth.numpy_smooth(network, "ntk", 9, a, a, theta)
    assert found is not None
    assert np.isnan(found).any()
    known = np.asarray(through_parts(network, tables._state(a, a, theta, np.float64, 9)).ntk)
    np.testing.assert_array_equal(tables._recursion(network, "ntk", 9, a, a, theta), known)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("near", ["none", "equal", "opposite", "nearly parallel", "all"])
def test_near_pairs_are_those_of_the_recursion(name, near, monkeypatch):
    monkeypatch.setattr(tables, "_LOOKED_AT", 4)
    x = np.random.default_rng(5).normal(size=(30, 40))
    x *= 6.0 / np.linalg.norm(x, axis=1, keepdims=True)
    if near == "all":
        x = 0.01 * x + 1.0
    elif near != "none":
        x[20] = {"equal": x[9], "opposite": -x[9], "nearly parallel": x[9] + 1e-7 * x[8]}[near]
    x = jnp.asarray(x)
    kernel = TangentKernel(SMOOTH[name])
    for found, exact in (
        (kernel.cross(x, x), kernel.entries().exact(matrix_state(x, x))),
        (kernel.cross(x, x[5:]), kernel.entries().exact(matrix_state(x, x[5:]))),
    ):
        # Twice the accuracy of a table of float64, for entries of up to this size.
        np.testing.assert_allclose(found, exact, rtol=0, atol=2e-12 * np.abs(exact).max())


def test_a_table_is_built_and_a_matrix_filled_by_one_program(monkeypatch):
    x = jnp.asarray(np.random.default_rng(6).normal(size=(37, 41)))
    kernel = TangentKernel(fully_connected(Gelu(), 3, 8, weight_std=1.3, bias_std=0.11))
    seen = compiled(lambda: kernel.cross(x, x).block_until_ready())
    assert seen
    assert [name for name in seen if "_through" in name or "diagonal" in name or "_value" in name] == []
