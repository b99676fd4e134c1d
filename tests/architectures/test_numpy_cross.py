"""Kernels of networks by NumPy: the values of the compiled kernels, in every corner that those keep exact."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    Dense,
    Erf,
    Gelu,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    absolute,
    erf_network,
    fully_connected,
    relu_network,
)
from lemmata.kernels import gram, numpy_gram, takes_numpy

NETWORKS = {
    "relu-1": relu_network(1),
    "relu-3": relu_network(3),
    "relu-6 without a gain": relu_network(6, weight_std=1.0),
    "leaky": fully_connected(ABRelu(-0.3, 1.2), 2, weight_std=1.3),
    "linear": Serial([Dense(8), Dense(4, 1.5, 0.3), Dense(1)]),
    "erf-1": erf_network(1),
    "erf-2": erf_network(2),
    "wide erf-3": erf_network(3, weight_std=2.0),
    "standard": relu_network(2, 64),
    "relu-3 with biases": relu_network(3, bias_std=0.1),
    "relu-10 with large biases": relu_network(10, bias_std=2.0),
    "leaky with biases": fully_connected(ABRelu(0.5, 1.2), 3, weight_std=1.3, bias_std=0.05),
    "absolute with biases": fully_connected(absolute(), 3, bias_std=0.3),
    "standard with biases": fully_connected(Relu(), 2, 64, bias_std=0.2, parameterization="standard"),
    "mean field with biases": fully_connected(Relu(), 2, 64, bias_std=0.2, parameterization="mean-field"),
    "erf-3 with biases": erf_network(3, bias_std=0.2),
    "erf-2 with tiny biases": erf_network(2, bias_std=1e-5),
    "standard erf with biases": fully_connected(Erf(), 2, 64, bias_std=0.2, parameterization="standard"),
}


def _rows(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, y = rng.normal(size=(150, 5)), rng.normal(size=(140, 5))
    if kind == "near":
        y[:50] = x[:50] * 3 + 1e-7 * rng.normal(size=(50, 5))
        y[50:100] = -x[50:100] + 1e-9 * rng.normal(size=(50, 5))
    if kind == "equal":
        y[:100], y[100:] = x[:100], -x[100:140]
    if kind == "zero":
        x[3], y[7] = 0.0, 0.0
    if kind == "large":
        x, y = 1e3 * x, 1e3 * np.concatenate([x[:70] * (1 + 1e-6), y[70:]])
    if kind == "all near":
        x, y = 1.0 + 1e-2 * x, np.concatenate([1.0 + 1e-2 * x[:70], -1.0 - 1e-2 * y[70:]])
    if kind == "one column":
        x, y = x[:, :1], y[:, :1]
    return x, y


@pytest.mark.parametrize("kind", ["plain", "near", "equal", "zero", "large", "all near", "one column"])
@pytest.mark.parametrize("name", NETWORKS)
def test_numpy_and_the_compiled_kernel_agree(name, kind):
    x, y = _rows(kind, np.random.default_rng([len(name), len(kind)]))
    for kernel in (TangentKernel(NETWORKS[name]), NNGPKernel(NETWORKS[name])):
        found, known = kernel.numpy_cross(x, y), np.asarray(kernel.cross(jnp.asarray(x), jnp.asarray(y)))
        assert found is not None
        # A matrix product of d terms and a dozen operations a layer, each a few roundings; ReLU's angle is known to
        # eps. A series that stands for three ReLU layers is off by 1e-10 of the kernel at angle 0, at the most.
        np.testing.assert_allclose(found, known, rtol=0, atol=2e-13 * abs(known).max())


def test_other_networks_and_points_are_left_to_their_own_code():
    x = np.ones((2, 2))
    refused = Serial([Dense(8), Relu(), Relu(), Dense(1)]), Serial([Erf(), Dense(1)])
    for network in (
        *refused,
        fully_connected(Gelu(), 1),
        Serial([Dense(4, bias_std=jnp.array(1.0)), Relu(), Dense(1)]),
    ):
        assert NNGPKernel(network).numpy_cross(x, x) is None
    kernel = TangentKernel(relu_network(1))
    assert kernel.numpy_cross(x.astype(np.float32), x.astype(np.float32)) is None
    assert kernel.numpy_cross(np.ones((2, 3, 3, 1)), np.ones((1, 3, 3, 1))) is None
    assert not takes_numpy(kernel, x, 2**27)
    assert not takes_numpy(2.0 * kernel + kernel**2, x, 2**27)
    assert takes_numpy(2.0 * kernel + kernel**2, x, 2**20)


@pytest.mark.parametrize("name", ["relu-3", "relu-3 with biases", "erf-3 with biases"])
def test_a_gram_matrix_in_strips_is_that_of_the_compiled_kernel(name):
    x = np.random.default_rng(3).normal(size=(700, 6))
    x[600:] = x[:100] * np.where(np.arange(100) % 2, -2.0, 1.0)[:, None]
    for kernel in (TangentKernel(NETWORKS[name]), NNGPKernel(NETWORKS[name])):
        found = numpy_gram(kernel, x)
        assert found is not None
        known = np.asarray(gram(kernel, jnp.asarray(x)))
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, known, rtol=0, atol=2e-13 * abs(known).max())
