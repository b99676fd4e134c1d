"""Descent in NumPy against automatic differentiation and lemmata's own networks; the linearisation by its steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import gram
from lemmata.subjects.tangent import kernel_movement as section
from lemmata.subjects.tangent._two_layers import Units

JAX = {
    "gelu": lambda t: jax.nn.gelu(t, approximate=False),
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "tanh": jnp.tanh,
}


def network(activation, x):
    return lambda w, a: JAX[activation](x @ w.T / np.sqrt(x.shape[1])) @ a / np.sqrt(len(a))


@pytest.mark.parametrize("activation", JAX)
def test_units_are_what_automatic_differentiation_says(activation):
    rng = np.random.default_rng(0)
    x, y, w, a = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 7))
    units, f = Units(activation, w, a), network(activation, x)
    gradients = jax.jacobian(f, argnums=(0, 1))(w[1], a[1])
    wide = np.concatenate([np.asarray(part).reshape(5, -1) for part in gradients], axis=1)
    np.testing.assert_allclose(units.outputs(x)[1], f(w[1], a[1]), rtol=1e-12)
    np.testing.assert_allclose(units.tangent_gram(x)[1], wide @ wide.T, rtol=1e-12)
    loss = lambda both: jnp.sum((3.0 * (f(*both) - 0.2) - y) ** 2) / 18
    both = (jnp.asarray(w[1]), jnp.asarray(a[1]))
    for _ in range(3):
        both = jax.tree.map(lambda now, slope: now - slope / np.trace(wide @ wide.T), both, jax.grad(loss)(both))
    after = units.descended(x, y, np.full((2, 5), 0.2), 3, 3.0)
    np.testing.assert_allclose(after.weights[1], both[0], rtol=1e-10)
    np.testing.assert_allclose(after.readout[1], both[1], rtol=1e-10)


def test_wide_units_have_the_limiting_kernel():
    rng = np.random.default_rng(1)
    x, m = rng.normal(size=(4, 3)), 200_000
    units = Units("relu", np.sqrt(2) * rng.normal(size=(1, m, 3)), rng.normal(size=(1, m)))
    limit = np.asarray(gram(TangentKernel(relu_network(depth=1)), jnp.asarray(x)))
    hidden = units.hidden(x)[0][0]
    slopes = units.hidden(x)[1][0] * units.readout[0]
    found = (hidden @ hidden.T + 2 / 3 * (x @ x.T) * (slopes @ slopes.T)) / m
    assert np.linalg.norm(found - limit) <= 0.03 * np.linalg.norm(limit)


def test_only_active_units_switch_on_one_point():
    rng = np.random.default_rng(2)
    x, w, a = rng.normal(size=(1, 5)), rng.normal(size=(1, 4096, 5)), rng.normal(size=(1, 4096))
    units = Units("relu", w, a)
    after = units.descended(x, np.array([2.0]), units.outputs(x), 20)
    before, now = units.hidden(x)[1][0, 0], after.hidden(x)[1][0, 0]
    assert np.all(now <= before)
    assert np.sum(now < before) > 5
    assert np.all(a[0][now < before] < 0)


def test_movements_of_a_quarter_of_the_width(key):
    problem = section.Training(jax.random.normal(key, (5, 4)), jnp.ones(5), "gelu")
    kernel, gap = section.movements(problem, key, (256.0, 4096.0))
    assert 8 < kernel[0] / kernel[1] < 32
    assert 6 < gap[0] / gap[1] < 40
    kernel, gap = section.movements(problem, key, (256.0, 4096.0), equal=True, centred=True)
    assert 2.5 < kernel[0] / kernel[1] < 6.5
    assert 2.5 < gap[0] / gap[1] < 6.5
