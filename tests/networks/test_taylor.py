"""Taylor expansions of networks in their parameters: remainder, polynomials, modules of other libraries, training."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import erf_network
from lemmata.errors import SettingError, ShapeError
from lemmata.networks import (
    EmpiricalKernel,
    equinox_function,
    flax_function,
    linearize,
    stable_learning_rate,
    taylor_expand,
    torch_function,
    train,
)
from lemmata.solvers import gradient_descent
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps
RNG = np.random.default_rng(3)
X, Y = jnp.asarray(RNG.normal(size=(5, 3))), jnp.asarray(RNG.normal(size=(5, 1)))


def plain():
    f = lambda params, x: params["out"] @ jnp.tanh(params["in"] @ x)
    return f, {"in": jnp.asarray(RNG.normal(size=(4, 3))), "out": jnp.asarray(RNG.normal(size=(2, 4)))}


def layer():
    network = erf_network(1, 6, outputs=2)
    return network, network.init(jax.random.key(0), 3)[0]


def equinox_module():
    return equinox_function(eqx.nn.MLP(3, 2, 5, 1, jnp.sin, key=jax.random.key(1)))


def flax_module():
    linen = pytest.importorskip("flax.linen", reason="the extra `oracles` is not installed")
    module = linen.Sequential([linen.Dense(4, param_dtype=float), jnp.sin, linen.Dense(2, param_dtype=float)])
    return flax_function(module, module.init(jax.random.key(2), X[0]))


def torch_module():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lemmata[torch]'")
    torch.manual_seed(0)
    return torch_function(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double())


def along(params, direction, distance):
    """The parameters at a distance, tensors or arrays."""
    if isinstance(params, dict) and hasattr(next(iter(params.values())), "detach"):
        return {name: leaf + distance * leaf.new_tensor(direction[name]) for name, leaf in params.items()}
    return jax.tree.map(lambda leaf, part: leaf + distance * part, params, direction)


def remainders(f, params, order, distances):
    tensors = isinstance(params, dict) and hasattr(next(iter(params.values())), "detach")
    point = next(iter(params.values())).new_tensor(np.array(X[0])) if tensors else X[0]
    rng = np.random.default_rng(5)
    if tensors:
        direction = {name: rng.normal(size=tuple(leaf.shape)) for name, leaf in params.items()}
    else:
        direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), params)
    expansion, found = taylor_expand(f, params, order), []
    for distance in distances:
        moved = along(params, direction, distance)
        true = (f.apply if hasattr(f, "apply") else f)(moved, point)
        gap = expansion(moved, point) - true
        found.append(np.linalg.norm(gap.detach().numpy() if tensors else np.asarray(gap)))
    return np.array(found)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("make", [plain, layer, equinox_module, flax_module, torch_module])
def test_the_remainder_falls_at_the_rate_of_the_next_order(make, order):
    f, params = make()
    # Halving the distance h: rate -> order + 1 with an error of order h; rounding, 1e-15 of values near 1, stays away.
    gaps = remainders(f, params, order, [0.02, 0.01])
    assert gaps[1] > 1e3 * EPS
    assert abs(math.log2(gaps[0] / gaps[1]) - (order + 1)) < 0.15


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_polynomials_of_that_degree_in_the_parameters_have_no_remainder(order):
    f = lambda params, x: {"value": sum(params["w"] ** j * (j + 1) for j in range(order + 1)) * x, "next": params["w"]}
    w = jnp.asarray([0.7, -1.3])
    expansion, far = taylor_expand(f, {"w": w, "whole": 3}, order), {"w": w + jnp.array([5.0, -8.0]), "whole": 3}
    exact = f(far, 2.0)
    for name in exact:
        np.testing.assert_allclose(expansion(far, 2.0)[name], exact[name], rtol=1e3 * EPS)
    if order > 1:
        lower = taylor_expand(f, {"w": w, "whole": 3}, order - 1)(far, 2.0)["value"]
        assert np.abs(lower - exact["value"]).min() > 1


@pytest.mark.parametrize("make", [plain, layer, equinox_module, flax_module])
def test_the_linearised_network_keeps_its_tangent_kernel(make):
    f, params = make()
    line = linearize(f, params)
    moved = jax.tree.map(lambda leaf: 1.5 * leaf + 0.1, params)
    kernel = EmpiricalKernel(f, params).gram(X)
    np.testing.assert_allclose(
        EmpiricalKernel(line, moved).gram(X), kernel, rtol=0, atol=1e-13 * float(jnp.abs(kernel).max())
    )
    assert EmpiricalKernel(f, params).relative_change(moved, X) > 0.1
    slope = lambda own, x: jax.jvp(lambda p: (f.apply if hasattr(f, "apply") else f)(p, x), (params,), (own,))[1]
    found = line(moved, X[0]) - line(params, X[0])
    expected = slope(jax.tree.map(jnp.subtract, moved, params), X[0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * EPS * np.abs(expected).max())
    np.testing.assert_array_equal(line(moved, X[0]), taylor_expand(f, params, 1)(moved, X[0]))


def test_train_on_the_linearised_network_is_descent_in_its_kernel():
    f, params = plain()
    single = lambda p, x: f(p, x)[:1]
    kernel = EmpiricalKernel(single, params).gram(X, outputs=0)
    rate, start = float(stable_learning_rate(kernel)), jax.vmap(lambda x: single(params, x))(X)
    run = train(linearize(single, params), params, X, Y, learning_rate=rate, steps=60, record_at=[0, 7, 60])
    expected = start + gradient_descent(spectrum(kernel), Y - start, rate, [0, 7, 60]).train
    np.testing.assert_allclose(run.train, expected, rtol=0, atol=60 * 100 * EPS)
    full = train(taylor_expand(single, params, 2), params, X, Y, learning_rate=rate / 9, steps=20, record_at=[20])
    assert float(jnp.sum((full.train[0] - Y) ** 2)) < float(jnp.sum((start - Y) ** 2))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_an_optimiser_of_pytorch_trains_the_linearised_module():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lemmata[torch]'")
    f, params = torch_module()
    first = {name: leaf.detach().clone() for name, leaf in params.items()}
    line, x, y = linearize(f, params), torch.tensor(np.array(X)), torch.tensor(np.array(Y))
    start = f(params, x).detach()
    twin = lambda p, x: p["2.weight"] @ jnp.tanh(p["0.weight"] @ x + p["0.bias"]) + p["2.bias"]
    arrays = {name: jnp.asarray(leaf.numpy()) for name, leaf in first.items()}
    theta = np.asarray(EmpiricalKernel(twin, arrays).gram(X)).transpose(0, 2, 1, 3).reshape(10, 10)
    rate = 1 / np.linalg.eigvalsh(theta)[-1]
    optimiser = torch.optim.SGD(params.values(), rate)
    for _ in range(30):
        optimiser.zero_grad()
        (0.5 * (line(params, x) - y).square().sum()).backward()
        optimiser.step()
    gap = (start - y).numpy().reshape(10)
    expected = np.linalg.matrix_power(np.eye(10) - rate * theta, 30) @ gap
    np.testing.assert_allclose((line(params, x) - y).detach().numpy().reshape(10), expected, rtol=0, atol=1e-13)
    assert (f(params, x) - line(params, x)).abs().max() > 1e-3  # the module itself is not linear


def test_wrong_arguments_are_refused():
    f, params = plain()
    for order in (0, -1, 1.0, 2.5, True):
        with pytest.raises(SettingError, match="order; found"):
            taylor_expand(f, params, order)
    with pytest.raises(SettingError, match="f; found outputs of type int"):
        linearize(lambda p, x: jnp.argmax(f(p, x)), params)(params, X[0])
    with pytest.raises(SettingError, match="f; found 3"):
        linearize(3, params)
    with pytest.raises(SettingError, match="params; found no floating-point number"):
        linearize(f, {"w": jnp.arange(3)})
    with pytest.raises(ShapeError, match="params; found the tree"):
        linearize(f, params)({"in": params["in"]}, X[0])
    with pytest.raises(ShapeError, match=r"params; found an array of shape \(3,\)"):
        linearize(f, params)({**params, "in": jnp.ones(3)}, X[0])
    with pytest.raises(SettingError, match="flax_function"):
        linearize(f, {"params": params, "batch_stats": {}})


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_wrong_tensors_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lemmata[torch]'")
    f, params = torch_module()
    with pytest.raises(SettingError, match="order; found 0"):
        taylor_expand(f, params, 0)
    with pytest.raises(SettingError, match=r"f; found outputs of type torch\.int64"):
        linearize(lambda p, x: f(p, x).argmax(), params)(params, torch.ones(1, 3).double())
    with pytest.raises(ShapeError, match="params; found tensors"):
        linearize(f, params)({**params, "0.bias": torch.ones(1)}, torch.ones(1, 3).double())
    with pytest.raises(SettingError, match="params; found no floating-point number"):
        linearize(f, {"w": torch.arange(3)})
    with pytest.raises(SettingError, match="module; found dict"):
        torch_function(params)
