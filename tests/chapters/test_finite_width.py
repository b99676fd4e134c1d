"""Finite tangent kernels in closed form against automatic differentiation of the networks."""

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.architectures import relu_network
from lemmata.chapters.tangent import finite_width as section
from lemmata.claims import examine
from lemmata.kernels import RBF, Compose, SoftmaxTangent
from lemmata.networks import SoftmaxNetwork
from lemmata.problems import Regression

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


def test_softmax_kernel_is_the_networks_over_its_width(key):
    x, width = jax.random.normal(key, (5, 3)) / 3, 64
    network = SoftmaxNetwork(width=width, sigma=0.7)
    params, _ = network.init(key, 3)
    expected = jacobian_gram(network, params, x) / width
    ours = section.softmax_tangent_gram(x, params["weight"].T, params["sign"][0])
    assert jnp.max(jnp.abs(ours - expected)) <= 64 * width * EPS * jnp.max(jnp.abs(expected))


def test_softmax_kernel_off_the_symmetric_initialisation(key):
    # <v_r, S> = a_r - <a, S> has its second term here.
    x, width = jax.random.normal(key, (4, 3)) / 3, 16
    network = SoftmaxNetwork(width=width)
    params = {"weight": jax.random.normal(key, (3, width)), "sign": jnp.ones((1, width)).at[0, :5].set(-1.0)}
    expected = jacobian_gram(network, params, x) / width
    ours = section.softmax_tangent_gram(x, params["weight"].T, params["sign"][0])
    assert jnp.max(jnp.abs(ours - expected)) <= 64 * width * EPS * jnp.max(jnp.abs(expected))


def test_examination_scales_inputs_or_takes_them_as_the_kernel_does(key):
    claim = section.SoftmaxTangentWidth()
    plain = claim.pose(regression(RBF(), key))
    assert float(jnp.linalg.norm(plain.x, axis=1).max()) <= 1 + 4 * EPS
    halved = claim.pose(regression(Compose(SoftmaxTangent(sigma=0.3), lambda point: point / 2), key))
    assert float(halved.sigma) == np.float64(0.3)
    assert jnp.array_equal(halved.x, regression(RBF(), key).x[:16] / 2)
    found = examine(claim, regression(SoftmaxTangent(sigma=1.0), key), key)
    names = {finding.name for finding in found.hypotheses if finding.holds is False}
    assert names == {"inputs lie in the unit ball", "the smallest width averages its lognormal terms"}
    assert examine(claim, regression(RBF(), key), key).applies


def test_examination_of_relu(key):
    claim = section.ReluTangentWidth()
    found = examine(claim, regression(RBF(), key), key)
    assert found.applies
    assert found.measured < -0.1
    zero = section.NetworkPoints(jnp.zeros((3, 2)), jnp.asarray(1.0))
    assert not bool(claim.hypotheses(zero)[0].holds)
    assert claim.pose(None) is None
