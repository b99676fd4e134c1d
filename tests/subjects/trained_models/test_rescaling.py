"""Rescalings of units: found whatever the names and the order of axes, and what descent does to their charges."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import Objective, Task, find_rescalings, read_model

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 4))
Y = np.eye(3)[RNG.integers(0, 3, 50)]


def draw(*shape):
    return jnp.asarray(RNG.normal(size=shape))


def shallow(params, x):
    return jax.nn.relu(x @ params["in"] + params["b"]) @ params["out"] + params["c"]


def transposed(params, x):
    return jax.nn.relu(x @ params["in"].T) @ params["out"].T


def deep(params, x):
    for name in ("1", "2"):
        x = jax.nn.relu(x @ params[name])
    return x @ params["3"]


def bent(params, x):
    return jnp.tanh(x @ params["in"]) @ params["out"]


def pictures(params, x):
    """A convolution on pictures of 2 x 2 pixels with kernels of 1 x 1."""
    hidden = jax.nn.relu(jnp.einsum("nhwc,co->nhwo", x.reshape(-1, 2, 2, 1), params["k"][0, 0]) + params["b"])
    return hidden.mean((1, 2)) @ params["out"]


def test_units_with_constants():
    model = read_model((shallow, {"in": draw(4, 6), "b": draw(6), "out": draw(6, 3), "c": draw(3)}))
    (found,) = find_rescalings(model, X)
    assert found.names == ("in", "b", "out")
    scaled = model.split(model.theta)
    factors = np.exp(RNG.normal(size=6))
    other = {"in": scaled["in"] * factors, "b": scaled["b"] * factors, "out": scaled["out"] / factors[:, None]}
    assert shallow({**scaled, **other}, X) == pytest.approx(model.outputs(X), rel=1e-9)
    expected = (scaled["in"] ** 2).sum(0) + scaled["b"] ** 2 - (scaled["out"] ** 2).sum(1)
    assert found.charges(model.theta) == pytest.approx(expected)
    into, out = found.sizes(model.theta)
    assert into - out == pytest.approx(expected)
    assert out == pytest.approx((scaled["out"] ** 2).sum(1))


def test_the_order_of_axes_does_not_matter():
    first, last = draw(6, 4), draw(3, 6)
    (found,) = find_rescalings(read_model((transposed, {"in": first, "out": last})), X)
    own = read_model((transposed, {"in": first, "out": last})).theta
    assert np.abs(found.charges(own)) == pytest.approx(np.abs((first**2).sum(1) - (last**2).sum(0)))


def test_square_layers_are_told_apart():
    model = read_model((deep, {"1": draw(4, 4), "2": draw(4, 4), "3": draw(4, 3)}))
    assert sorted(tuple(sorted((own.names[0], own.names[2]))) for own in find_rescalings(model, X)) == [
        ("1", "2"), ("2", "3"),
    ]  # fmt: skip


def test_channels_of_a_convolution():
    model = read_model((pictures, {"k": draw(1, 1, 1, 5), "b": draw(5), "out": draw(5, 3)}))
    (found,) = find_rescalings(model, X)
    assert found.names == ("k", "b", "out")


def test_units_that_bend_have_none():
    assert find_rescalings(read_model((bent, {"in": draw(4, 6), "out": draw(6, 3)})), X) == []


def test_a_step_of_descent_changes_the_charge_by_squared_gradients_exactly():
    model = read_model((shallow, {"in": draw(4, 6), "b": draw(6), "out": draw(6, 3), "c": draw(3)}))
    (found,) = find_rescalings(model, X)
    objective = Objective(model, X, Y, Task("softmax", "logits", (0, 1, 2)), 0.0)
    for rate in (1e-3, 0.3):
        slope = objective.value(model.theta)[1]
        change = found.charges(model.theta - rate * slope) - found.charges(model.theta)
        assert change == pytest.approx(rate**2 * found.charges(slope), rel=1e-6, abs=1e-12)


def test_the_whole_matrix_is_conserved_by_linear_units_and_not_by_rectified_ones():
    drifts = {}
    for name, unit in (("linear", lambda z: z), ("rectified", jax.nn.relu)):
        params = {"in": draw(4, 6), "out": draw(6, 3)}
        loss = lambda own, unit=unit: jnp.mean((unit(X @ own["in"]) @ own["out"] - Y) ** 2)
        slope = jax.jit(jax.grad(loss))
        matrix = lambda own: np.asarray(own["in"].T @ own["in"] - own["out"] @ own["out"].T)
        before = matrix(params)
        for _ in itertools.repeat(None, 1200):
            params = jax.tree.map(lambda own, push: own - 2e-4 * push, params, slope(params))
        change = np.abs(matrix(params) - before)
        drifts[name] = (np.diag(change).max(), (change - np.diag(np.diag(change))).max())
    assert max(drifts["linear"]) < 0.01
    assert drifts["rectified"][0] < 0.01
    assert drifts["rectified"][1] > 0.1  # only the diagonal stays
