"""Tables in two norms and the angle: against the recursion, in the type of the points, and where there is none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import Dense, Erf, Gelu, LayerNorm, Serial, TangentKernel, fully_connected, relu_network
from lemmata.architectures import _norm_table as tables
from lemmata.architectures._entries import NetworkEntries
from lemmata.architectures._state import matrix_state
from lemmata.kernels import gram

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
