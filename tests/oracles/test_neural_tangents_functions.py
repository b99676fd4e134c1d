"""Expansions, training and learning rates against the numbers that `neural_tangents_functions_numbers.py` wrote."""

import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.networks import EmpiricalKernel, linearize, taylor_expand
from lemmata.solvers import largest_learning_rate, loss_flow

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents_functions.json").read_text())
PARAMS, MOVED = ({name: jnp.asarray(part) for name, part in NUMBERS[key].items()} for key in ("params", "moved"))
X, NEW = jnp.asarray(NUMBERS["x"]), jnp.asarray(NUMBERS["new"])
# Its integrator keeps a local error of 1.4e-8, over some hundred steps; ours reports its own.
INTEGRATED = 2e-6


def network(params, x):
    return jnp.tanh(x @ params["in"] + params["bias"]) @ params["out"]


def smooth(f, y):
    return jnp.sum(jnp.sqrt(1 + (f - y) ** 2))


def cross_entropy(f, y):
    return -jnp.sum(jax.nn.log_softmax(f) * y)


LOSSES = {"smooth": smooth, "cross_entropy": cross_entropy}


@pytest.mark.parametrize("order", [1, 2, 3])
def test_expansions(order):
    theirs = np.asarray(NUMBERS["taylor"][str(order)])
    np.testing.assert_allclose(taylor_expand(network, PARAMS, order)(MOVED, X), theirs, rtol=0, atol=1e-13)
    assert np.abs(theirs - np.asarray(NUMBERS["value"])).max() > 1e-3
    if order == 1:
        np.testing.assert_array_equal(theirs, NUMBERS["linear"])
        np.testing.assert_array_equal(linearize(network, PARAMS)(MOVED, X), taylor_expand(network, PARAMS, 1)(MOVED, X))


@pytest.mark.parametrize("kind", ["flow", "momentum"])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_training_under_a_loss(loss, kind):
    kernel = EmpiricalKernel(network, PARAMS)
    theta, cross = kernel.gram(X), kernel.gram(NEW, X)
    np.testing.assert_allclose(theta, NUMBERS["theta"], rtol=0, atol=1e-12)
    rate, times, y = NUMBERS["rate"], np.asarray(NUMBERS["times"]), jnp.asarray(NUMBERS["targets"][loss])
    # Its steps are those of gradient descent, and with momentum of the heavy ball, at a rate of h².
    scale, damping = (rate, None) if kind == "flow" else (math.sqrt(rate), (1 - NUMBERS["momentum"]) / math.sqrt(rate))
    start = network(PARAMS, X), network(PARAMS, NEW)
    found = loss_flow(theta, LOSSES[loss], y, scale * times, cross, start=start, damping=damping)
    for i, (train, test) in enumerate(NUMBERS["trained"][f"{loss}_{kind}"]):
        np.testing.assert_allclose(found.path.train[i], train, rtol=0, atol=INTEGRATED + float(found.error[i]))
        np.testing.assert_allclose(found.path.test[i], test, rtol=0, atol=INTEGRATED + float(found.error[i]))
        assert np.abs(np.asarray(train) - start[0]).max() > 1e-2
    assert float(jnp.max(found.error)) < 1e-5


def test_the_largest_learning_rate():
    theta = jnp.asarray(NUMBERS["theta"])
    for momentum, theirs in NUMBERS["largest_rate"].items():  # of the mean over points and outputs
        ours = largest_learning_rate(theta, momentum=float(momentum), terms=10)
        assert float(ours) == pytest.approx(theirs, rel=1e-11)  # it adds 1e-12 to the eigenvalue
