"""Training in closed form against gradients by automatic differentiation; hypotheses of lazy training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import TangentKernel, relu_network
from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import RBF, gram
from lemmata.subjects.tangent import lazy_training as section
from lemmata.subjects.tangent._training_sets import TrainingSet, trace_step

EPS = float(np.finfo(float).eps)


def regression(key, scale=1.0):
    x = jax.random.normal(key, (40, 3))
    y = scale * jnp.sin(2 * x[:, :2])
    return Regression(x, y, x, y, RBF(), jnp.asarray(0.0), jnp.asarray(jnp.nan))


def test_training_is_gradient_descent_of_the_network(key):
    x, width, steps = jax.random.normal(key, (6, 3)), 32, 5
    y = jnp.sin(x[:, 0])
    network = relu_network(depth=1, width=width)
    params, _ = network.init(key, 3)
    weights, readout = jax.tree.leaves(params)
    ours = section.train_relu(x, y, weights, readout[0], steps)

    def loss(p):
        outputs = jax.vmap(lambda point: network.apply(p, point)[0])(x)
        return jnp.sum((outputs - y) ** 2) / 2

    for _ in range(steps):
        gradient = jax.grad(loss)(params)
        params = jax.tree.map(lambda p, g: p - trace_step(x) * g, params, gradient)
    theirs = jax.tree.leaves(params)
    for one, two in zip(ours, (theirs[0], theirs[1][0]), strict=True):
        assert jnp.max(jnp.abs(one - two)) <= 64 * steps * width * EPS * jnp.max(jnp.abs(two))
    assert jnp.max(jnp.abs(ours[0] - weights)) > 1e-3


def test_step_is_one_over_the_trace_of_the_limiting_kernel(key):
    x = jax.random.normal(key, (7, 3))
    theta = gram(TangentKernel(relu_network(depth=1)), x)
    assert float(trace_step(x)) == pytest.approx(float(1 / jnp.trace(theta)), rel=1e-12)


def test_examination_takes_32_rows_and_the_first_output(key):
    claim = section.LazyKernelMovement()
    posed = claim.population.pose(regression(key))
    assert posed.x.shape == (32, 3)
    assert posed.y.shape == (32,)
    found = examine(claim, regression(key), key)
    assert found.applies
    assert found.measured < 0
    assert claim.population.pose(1.0) is None


def test_large_targets_and_zero_inputs_are_found(key):
    claim = section.LazyKernelMovement()
    large = claim.population.hypotheses(claim.population.pose(regression(key, scale=20.0)))
    assert [bool(h.holds) for h in large] == [True, False]
    assert not bool(claim.population.hypotheses(TrainingSet(jnp.zeros((3, 2)), jnp.zeros(3)))[0].holds)
