"""Tangent kernels by NumPy: the values of the compiled kernels, in every corner that those keep exact."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    NNGPKernel,
    TangentKernel,
    cross_on_host,
    erf_network,
    fully_connected,
    relu_network,
)

NETWORKS = {
    "relu-1": relu_network(1),
    "relu-3": relu_network(3),
    "relu-6 without a gain": relu_network(6, weight_std=1.0),
    "leaky": fully_connected(ABRelu(-0.3, 1.2), 2, weight_std=1.3),
    "erf-1": erf_network(1),
    "erf-2": erf_network(2),
    "wide erf-3": erf_network(3, weight_std=2.0),
    "standard": relu_network(2, 64),
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
    if kind == "one column":
        x, y = x[:, :1], y[:, :1]
    return x, y


@pytest.mark.parametrize("kind", ["plain", "near", "equal", "zero", "large", "one column"])
@pytest.mark.parametrize("name", NETWORKS)
def test_numpy_and_the_compiled_kernel_agree(name, kind):
    x, y = _rows(kind, np.random.default_rng([len(name), len(kind)]))
    kernel = TangentKernel(NETWORKS[name])
    found, known = cross_on_host(kernel, x, y), np.asarray(kernel.cross(jnp.asarray(x), jnp.asarray(y)))
    assert found is not None
    # A matrix product of d terms and a dozen operations a layer, each a few roundings; ReLU's angle is known to eps.
    # A series that stands for three ReLU layers is off by 1e-10 of the kernel at angle 0, at the most.
    np.testing.assert_allclose(found, known, rtol=0, atol=2e-13 * abs(known).max())


@pytest.mark.parametrize("kernel", [NNGPKernel(relu_network(1)), TangentKernel(relu_network(2, bias_std=0.1)),
                                    TangentKernel(erf_network(1, bias_std=1.0)), math.sin])  # fmt: skip
def test_other_kernels_are_left_to_their_own_code(kernel):
    assert cross_on_host(kernel, np.ones((2, 2)), np.ones((1, 2))) is None
