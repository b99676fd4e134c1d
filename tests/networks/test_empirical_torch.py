"""Empirical kernels of PyTorch modules: the same network in JAX, and what a user may get wrong."""

import copy

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import MemoryPlanError, PrecisionError, SettingError, ShapeError, SolverError
from lemmata.networks import EmpiricalKernel, TorchEmpiricalKernel, torch_monte_carlo_kernel

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


@pytest.mark.parametrize("working_set", [2**28, 9000])
def test_further_methods_are_those_of_the_same_network_in_jax(twins, working_set):
    module, ours, x, y = twins
    theirs, at = TorchEmpiricalKernel(module, working_set), (jnp.asarray(x.numpy()), jnp.asarray(y.numpy()))
    targets = torch.randn(5, 3, dtype=torch.float64)
    goal = jnp.asarray(targets.numpy())
    pairs = [(theirs.values(x), ours.values(at[0])), (theirs.values(x.numpy()), ours.values(at[0]))]
    for outputs in ("all", "each", "mean", 1):
        pairs += [
            (theirs.diagonal(x, outputs=outputs), ours.diagonal(at[0], outputs=outputs)),
            (theirs.velocity(x, targets, outputs=outputs), ours.velocity(at[0], goal, outputs=outputs)),
        ]
    pairs.append((theirs.velocity(x, targets.numpy(), y, x[:2]), ours.velocity(at[0], goal, at[1], at[0][:2])))
    pairs.append((theirs.product(x, targets.numpy()), ours.product(at[0], goal)))
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_relative_change_is_that_of_two_modules(twins):
    module, ours, x, _ = twins
    moved = copy.deepcopy(module)
    with torch.no_grad():
        for leaf in moved.parameters():
            leaf.mul_(1.1)
    expected = ours.relative_change([tuple(1.1 * p for p in layer) for layer in ours.params], jnp.asarray(x.numpy()))
    found = TorchEmpiricalKernel(module).relative_change(moved, x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ShapeError, match=r"outputs of shape \(9,\)"):
        TorchEmpiricalKernel(module).relative_change(module[:2], x)


def make(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)).double()


def test_averages_over_seeds():
    x = torch.eye(2, dtype=torch.float64)
    for nngp in (False, True):
        kernels = [TorchEmpiricalKernel(make(seed)) for seed in range(6)]
        drawn = np.stack([one.nngp(x) if nngp else one.gram(x, outputs="mean") for one in kernels])
        found = torch_monte_carlo_kernel(make, x, draws=6, nngp=nngp)
        np.testing.assert_allclose(found.mean, drawn.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(found.standard_error, drawn.std(axis=0, ddof=1) / 6**0.5, rtol=1e-13)
    assert torch_monte_carlo_kernel(make, x, draws=2, outputs="all").mean.shape == (2, 2, 3, 3)
    with pytest.raises(SettingError, match="whole number of draws"):
        torch_monte_carlo_kernel(make, x, draws=1)
    with pytest.raises(SettingError, match="nngp"):
        torch_monte_carlo_kernel(make, x, draws=2, outputs="all", nngp=True)


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), x


def test_modules_without_an_output_of_each_point_are_refused():
    x = torch.ones(3, 2)
    with pytest.raises(ShapeError, match="found tuple"):
        TorchEmpiricalKernel(Pair(2, 2)).gram(x)
    with pytest.raises(ShapeError, match=r"found \(2,\)"):
        TorchEmpiricalKernel(nn.Sequential(nn.Linear(2, 2), nn.Flatten(0))).gram(x)
    for layer in (nn.Dropout(0.5), nn.BatchNorm1d(2)):
        kernel = TorchEmpiricalKernel(nn.Sequential(nn.Linear(2, 2), layer))
        for call in (kernel.gram, kernel.values, kernel.nngp, kernel.diagonal):
            with pytest.raises(SettingError, match=r"training mode.*module\.eval"):
                call(x)
        kernel.module.eval()
        assert kernel.gram(x).shape == (3, 3, 2, 2)
    kernel.module.train()
    harmless = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0))
    assert TorchEmpiricalKernel(harmless).diagonal(x, outputs=0).shape == (3,)


def test_results_that_do_not_fit_are_refused():
    kernel = TorchEmpiricalKernel(nn.Linear(4, 2))
    points = torch.zeros(3_000_000, 4)
    for call in (kernel.gram, lambda x: kernel.velocity(x[:2], torch.zeros(2, 2), x)):
        with pytest.raises(MemoryPlanError, match=r"3000000 x 3000000 x 2 x 2 .*GiB that are free.*remedy"):
            call(points)


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
    with pytest.raises(SettingError, match=r"working_set.*whole number"):
        TorchEmpiricalKernel(module, 0)
    with pytest.raises(ShapeError, match="found list"):
        theirs.gram([[1.0]])
    with pytest.raises(SettingError, match="batch"):
        theirs.product(x, torch.ones(5, 3), batch=0)
    with pytest.raises(ShapeError, match="at least one"):
        theirs.product(x[:0], torch.ones(0, 3))
    with pytest.raises(ShapeError, match="targets"):
        theirs.velocity(x, torch.ones(5, 2))
