"""Models as chains of affine maps: what is read, what is refused, and that the norms are those of the maps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from lemmata.subjects.trained_models import read_chain, read_model
from tests.subjects.trained_models import test_faces as faces

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, faces.D))
IMAGES = RNG.normal(size=(6, 1, 6, 6))


def torch_image_network(stride=1, activation="ReLU"):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    nn = torch.nn
    side = (6 - 3) // stride + 1
    layers = [nn.Conv2d(1, 4, 3, stride=stride), getattr(nn, activation)(), nn.Flatten(), nn.Linear(4 * side**2, 3)]
    return nn.Sequential(*layers).double()


@pytest.mark.parametrize("stride", [1, 2])
def test_the_norm_of_a_convolution_is_that_of_what_it_does_to_all_positions(stride):
    net = torch_image_network(stride)
    torch = pytest.importorskip("torch")
    chain = read_chain(read_model(net), IMAGES)
    with torch.no_grad():
        units = torch.eye(36, dtype=torch.float64).reshape(36, 1, 6, 6)
        columns = (net[0](units) - net[0](torch.zeros_like(units))).reshape(36, -1).numpy()
    assert chain.norms[0] == pytest.approx(np.sqrt(np.linalg.eigvalsh(columns @ columns.T)[-1]), rel=1e-10)
    kernel = np.linalg.norm(net[0].weight.detach().numpy().reshape(4, -1), 2)
    assert abs(chain.norms[0] / kernel - 1) > 0.1, "the reshaped kernel is another matrix"
    assert chain.norms[1] == pytest.approx(np.linalg.norm(net[3].weight.detach().numpy(), 2), rel=1e-10)


def test_every_face_of_the_same_network_has_the_same_norms():
    pytest.importorskip("torch")
    found = [read_chain(read_model(make()), X).norms for make in (faces.own_function, faces.own_equinox,
                                                                 faces.own_linen, faces.own_torch)]  # fmt: skip
    assert len(found[0]) == 2
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6)


def test_outputs_move_no_more_than_the_product_of_the_norms_and_for_a_linear_model_as_much():
    model = read_model(faces.own_function())
    slope = read_chain(model, X).slope
    away = 1e-3 * RNG.normal(size=(200, faces.D))
    moved = np.linalg.norm(model.outputs(X[:1] + away) - model.outputs(X[:1]), axis=1) / np.linalg.norm(away, axis=1)
    assert moved.max() <= slope
    weights = RNG.normal(size=(faces.D, 3))
    linear = read_model((lambda own, x: x @ own + 1.0, jnp.asarray(weights)))
    chain = read_chain(linear, X)
    worst = np.linalg.svd(weights)[0][:, :1].T
    assert chain.slope == pytest.approx(np.linalg.norm(linear.outputs(worst) - linear.outputs(0 * worst)), rel=1e-9)


def test_the_parameters_are_those_of_the_model_and_not_of_the_module():
    model = read_model(torch_image_network())
    twice = read_chain(model.at(2 * model.theta), IMAGES)
    np.testing.assert_allclose(twice.norms, 2 * np.array(read_chain(model, IMAGES).norms), rtol=1e-10)


def test_activations_of_slope_at_most_1_are_read_and_others_are_not():
    for name in ("Tanh", "Hardtanh", "ReLU6", "Softshrink"):
        assert read_chain(read_model(torch_image_network(activation=name)), IMAGES).network is not None
    for name in ("GELU", "Sigmoid", "Softplus", "SiLU"):
        assert name in read_chain(read_model(torch_image_network(activation=name)), IMAGES).refused
    weights = {"a": jnp.asarray(RNG.normal(size=(faces.D, 4))), "b": jnp.asarray(RNG.normal(size=(4, 3)))}
    for activation, known in ((jnp.tanh, True), (jax.nn.relu, True), (jax.nn.gelu, False), (jnp.sin, False)):
        f = lambda own, x, activation=activation: activation(x @ own["a"]) @ own["b"]
        assert (read_chain(read_model((f, weights)), X).network is not None) == known


def test_what_goes_around_a_layer_is_carried_through_it():
    square = jnp.asarray(RNG.normal(size=(faces.D, faces.D)))
    f = lambda own, x: x + jnp.tanh(x @ own)
    found = read_chain(read_model((f, square)), X)
    assert len(found.norms) == 2
    steepest = max(np.linalg.norm(jax.jacobian(lambda row: f(square, row[None])[0])(row), 2) for row in X)
    at_zero = np.linalg.norm(np.eye(faces.D) + np.asarray(square), 2)
    assert max(steepest, at_zero) <= found.slope


def test_what_is_no_chain_is_refused_in_words():
    square = jnp.asarray(RNG.normal(size=(faces.D, faces.D)))
    gated = read_chain(read_model((lambda own, x: x * jnp.tanh(x @ own), square)), X)
    assert "mul" in gated.refused
    assert np.isnan(gated.slope)
    assert gated.norms == ()
    tree = DecisionTreeClassifier().fit(X, np.arange(40) % 3)
    assert "DecisionTreeClassifier" in read_chain(read_model(tree), X).refused
    assert "whole numbers" in read_chain(read_model(faces.own_function()), np.ones((3, faces.D), int)).refused
    wide = jnp.zeros((faces.D, 5000))
    refused = read_chain(read_model((lambda own, x: jnp.maximum(x @ own, 0) @ own.T, wide)), X).refused
    assert "5000 numbers between two layers" in refused
    deep = pytest.importorskip("torch").nn.Sequential(pytest.importorskip("torch").nn.Conv2d(1, 100, 3))
    assert "numbers between" not in read_chain(read_model(deep), IMAGES).refused
    assert "numbers between" in read_chain(read_model(deep), np.ones((2, 1, 9, 9))).refused


def test_linear_models_and_perceptrons_of_scikit_learn():
    y = np.arange(40) % 3
    model = LogisticRegression().fit(X, y)
    assert read_chain(read_model(model), X).norms == pytest.approx([np.linalg.norm(model.coef_, 2)])
    two = LogisticRegression().fit(X, y > 0)  # two outputs, half of the one with either sign
    assert read_chain(read_model(two), X).norms == pytest.approx([np.linalg.norm(two.coef_) / np.sqrt(2)])
    for activation in ("relu", "tanh"):
        net = MLPClassifier((5,), activation=activation, max_iter=20, random_state=0)
        with pytest.warns(match="Maximum iterations"):
            net.fit(X, y)
        expected = [np.linalg.norm(own, 2) for own in net.coefs_]
        assert read_chain(read_model(net), X).norms == pytest.approx(expected)
