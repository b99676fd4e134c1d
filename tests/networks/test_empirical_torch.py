"""Empirical kernels of PyTorch modules: the same network in JAX, and what a user may get wrong."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import PrecisionError, SettingError, ShapeError, SolverError
from lemmata.networks import EmpiricalKernel, TorchEmpiricalKernel

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lemmata[torch]'")
nn = torch.nn
# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


def f(params, x):
    """The module below in JAX."""
    (w, b), (v, c) = params
    return v @ jnp.tanh(w @ x.reshape(-1) + b) + c


@pytest.fixture(scope="module")
def twins():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3)).double()
    params = [tuple(jnp.asarray(p.detach().numpy()) for p in layer.parameters()) for layer in (module[1], module[3])]
    x, y = torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(4, 2, 3, dtype=torch.float64)
    return module, EmpiricalKernel(f, params), x, y


@pytest.mark.parametrize("working_set", [2**28, 9000])
@pytest.mark.parametrize("outputs", ["all", "each", "mean", 2])
def test_the_same_network_in_jax(twins, outputs, working_set):
    module, ours, x, y = twins
    theirs = TorchEmpiricalKernel(module, working_set)
    for other in (None, y):
        found = theirs.gram(x, other, outputs=outputs)
        twin = None if other is None else jnp.asarray(other.numpy())
        expected = ours.gram(jnp.asarray(x.numpy()), twin, outputs=outputs)
        # A relative error of rounding in sums of 100 products, relative to the largest entry.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_products_and_outputs(twins):
    module, ours, x, y = twins
    theirs, at = TorchEmpiricalKernel(module), (jnp.asarray(x.numpy()), jnp.asarray(y.numpy()))
    v = torch.randn(4, 3, dtype=torch.float64)
    expected = ours.product(at[0], jnp.asarray(v.numpy()), at[1])
    np.testing.assert_allclose(theirs.product(x, v, y, batch=3), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(theirs.nngp(x, y), ours.nngp(*at), rtol=0, atol=1e-12)


def test_bad_input(twins):
    module, _, x, y = twins
    theirs = TorchEmpiricalKernel(module)
    with pytest.raises(SettingError, match=r"torch\.nn\.Module"):
        TorchEmpiricalKernel(f)
    with pytest.raises(SettingError, match="requires a gradient"):
        TorchEmpiricalKernel(nn.Tanh())
    with pytest.raises(PrecisionError, match=r"module\.float"):
        TorchEmpiricalKernel(nn.Linear(2, 2).half())
    with pytest.raises(ShapeError, match=r"\(5, 2, 3\) and \(4, 3\)"):
        theirs.gram(x, y[:, 0])
    with pytest.raises(ShapeError, match="at least one"):
        theirs.gram(x[:0])
    with pytest.raises(ShapeError, match=r"points of shape \(3,\)"):
        theirs.gram(x[:, 0])
    with pytest.raises(ShapeError, match="vector v"):
        theirs.product(x, torch.ones(5, 2, dtype=torch.float64))
    with pytest.raises(SettingError, match="between 0 and 2"):
        theirs.gram(x, outputs=3)
    with pytest.raises(SolverError, match="not finite"):
        theirs.gram(x * torch.inf)
