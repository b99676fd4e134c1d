"""Finite tangent kernels in closed form against automatic differentiation of the networks."""

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.architectures import relu_network
from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.rows import Rows
from lemmata.kernels import RBF
from lemmata.subjects.tangent import finite_width as section

EPS = float(np.finfo(float).eps)


def jacobian_gram(network, params, x):
    """The Gram matrix of the gradients of the one output."""

    def flat(point):
        gradient = jax.grad(lambda p: network.apply(p, point)[0])(params)
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(gradient)])

    features = jax.vmap(flat)(x)
    return features @ features.T


def regression(kernel, key):
    x = 5 * jax.random.normal(key, (30, 3))
    return Regression(x, x[:, :1], x, x[:, :1], kernel, jnp.asarray(0.0), jnp.asarray(jnp.nan))


def test_relu_kernel_is_the_networks(key):
    x, width = jax.random.normal(key, (5, 3)), 64
    network = relu_network(depth=1, width=width)
    params, _ = network.init(key, 3)
    weights, readout = (leaf for leaf in jax.tree.leaves(params))
    expected = jacobian_gram(network, params, x)
    ours = section.relu_tangent_gram(x, weights, readout[0])
    assert jnp.max(jnp.abs(ours - expected)) <= 8 * width * EPS * jnp.max(expected)


def test_examination_of_relu(key):
    claim = section.ReluTangentWidth()
    found = examine(claim, regression(RBF(), key), key)
    assert found.applies
    assert found.measured < -0.1
    zero = Rows(jnp.zeros((3, 2)))
    assert not bool(claim.population.hypotheses(zero)[0].holds)
    assert claim.population.pose(None) is None
