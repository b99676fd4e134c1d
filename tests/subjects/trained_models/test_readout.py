"""The readout of a model: which layers it is, products with it alone, and leaving out of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import leave_one_out, linear_layers, part_of, polish, read_model, read_task
from lemmata.subjects.trained_models._polish import Objective
from lemmata.subjects.trained_models._trained_networks import begin

RNG = np.random.default_rng(22)
X = RNG.normal(size=(30, 4))
W = {"a": jnp.asarray(RNG.normal(size=(4, 5))), "z": jnp.asarray(RNG.normal(size=(5, 3)))}


def names_in(model, taken):
    ends = np.cumsum([layer.size for layer in model.layers])
    return [layer.name for layer, end in zip(model.layers, ends, strict=True) if taken[end - 1]]


@pytest.mark.parametrize(
    ("f", "params", "expected"),
    [
        (lambda p, x: jnp.tanh(x @ p["a"]) @ p["z"], W, ["z"]),
        (lambda p, x: jax.nn.relu(x @ p["a"]) @ p["z"], W, ["z"]),
        (lambda p, x: x @ p["a"] @ p["z"], W, ["z"]),
        (lambda p, x: jnp.tanh(x @ p["a"] @ p["z"]), W, []),
        (lambda p, x: jax.nn.softmax(jnp.tanh(x @ p["a"]) @ p["z"]), W, []),
    ],
    ids=["tanh", "relu", "product", "bent outputs", "probabilities"],
)
def test_the_layers_in_which_outputs_are_linear(f, params, expected):
    model = read_model((f, params))
    taken = linear_layers(model, X)
    assert names_in(model, taken) == expected
    assert taken.sum() == (15 if expected else 0)


def test_networks_of_the_population():
    net, linear = begin(0, 4, 6), begin(0, 4, 0)
    assert names_in(net, linear_layers(net, X)) == ["b2", "w2"]
    assert linear_layers(linear, X).all()
    single = read_model((lambda p, x: jnp.tanh(x @ p["a"]) @ p["z"], jax.tree.map(jnp.float32, W)))
    assert names_in(single, linear_layers(single, X)) == ["z"]  # judged in double precision


def test_products_of_a_part_are_those_of_the_whole():
    model = begin(1, 4, 6)
    taken = linear_layers(model, X)
    part = part_of(model, taken)
    assert [layer.name for layer in part.layers] == ["b2", "w2"]
    assert part.outputs(X) == pytest.approx(model.outputs(X))
    assert part.jacobian(X) == pytest.approx(model.jacobian(X)[:, :, taken])
    v, u, y = RNG.normal(size=taken.sum()), RNG.normal(size=(30, 3)), np.eye(3)[RNG.integers(0, 3, 30)]
    whole = np.zeros(len(taken))
    whole[taken] = v
    assert part.jvp(v, X) == pytest.approx(model.jvp(whole, X))
    assert part.vjp(u, X) == pytest.approx(model.vjp(u, X)[taken])
    assert part.hvp(v, X, y, "softmax") == pytest.approx(model.hvp(whole, X, y, "softmax")[taken])
    assert part.loss_slope(X, y, "softmax")[1] == pytest.approx(model.loss_slope(X, y, "softmax")[1][taken])
    assert part.input_vjp(u, X) == pytest.approx(model.input_vjp(u, X))
    moved = model.theta.copy()
    moved[taken] += v
    assert part.at(part.theta + v).outputs(X) == pytest.approx(model.at(moved).outputs(X))


def test_leaving_out_of_the_readout_is_that_of_a_linear_model_of_its_features():
    model = begin(2, 4, 6)
    y = RNG.integers(0, 3, 30)
    task = read_task(model, X, y)
    model = polish(Objective(model, X, task.encode(y), task, 0.05)).model
    part = part_of(model, linear_layers(model, X))
    params = model.split(model.theta)
    features = np.concatenate([np.tanh(X @ params["w1"]), np.ones((30, 1))], axis=1)
    readout = jnp.asarray(np.concatenate([params["w2"], params["b2"][None]]))
    linear = read_model((lambda w, x: x @ w, readout))
    ours = leave_one_out(part, X, task.encode(y), task, 0.05)
    assert ours.outputs == pytest.approx(leave_one_out(linear, features, task.encode(y), task, 0.05).outputs)
    assert np.abs(ours.outputs - leave_one_out(model, X, task.encode(y), task, 0.05).outputs).max() > 0.01
