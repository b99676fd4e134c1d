"""Networks of three libraries, read into affine maps and ReLUs, compute what they computed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.answers import Condition
from lemmata.architectures import AveragePool, Conv, Dense, Flatten, Relu, Serial
from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import (
    METHODS,
    ReluNetwork,
    backdoor_report,
    certify,
    partition_certificate,
    read_network,
    smooth,
)


def points(shape):
    return np.random.default_rng(0).normal(size=(5, *shape))


def test_convolutions_of_lemmata():
    serial = Serial([Conv(3, (3,), bias_std=0.5), Relu(), Conv(2, (3,)), Relu(), Flatten(), Dense(4)])
    params, _ = serial.init(jax.random.key(0), (6, 2))
    x = points((6, 2))
    expected = jax.vmap(serial.apply, (None, 0))(params, x)
    np.testing.assert_allclose(read_network(serial, params, (6, 2))(x.reshape(5, -1)), expected, rtol=1e-6, atol=1e-6)
    assert certify(serial, x[0], 0.01, params=params).verdict in ("robust", "unknown", "attacked")


def test_equinox():
    keys = jax.random.split(jax.random.key(0), 4)
    x = points((4,))
    mlp = eqx.nn.MLP(4, 3, 8, 2, key=keys[0])
    np.testing.assert_allclose(read_network(mlp, shape=(4,))(x), jax.vmap(mlp)(x), rtol=1e-5, atol=1e-6)
    layers = [eqx.nn.Conv2d(1, 2, 3, key=keys[1]), eqx.nn.Lambda(jax.nn.relu), eqx.nn.AvgPool2d(2)]
    layers += [eqx.nn.Lambda(jax.numpy.ravel), eqx.nn.Linear(18, 3, key=keys[2])]
    net, images = eqx.nn.Sequential(layers), points((1, 6, 6))
    found = read_network(net, shape=(1, 6, 6))(images.reshape(5, -1))
    np.testing.assert_allclose(found, jax.vmap(net)(images), rtol=1e-5, atol=1e-6)
    with pytest.raises(SettingError, match="activation"):
        certify(eqx.nn.MLP(4, 3, 8, 2, activation=jax.nn.tanh, key=keys[0]), x[0], 0.1)
    with pytest.raises(SettingError, match="final_activation"):
        certify(eqx.nn.MLP(4, 3, 8, 2, final_activation=jax.nn.tanh, key=keys[0]), x[0], 0.1)
    with pytest.raises(SettingError, match="LayerNorm"):
        certify(eqx.nn.Sequential([eqx.nn.LayerNorm(4)]), x[0], 0.1)


def test_pytorch():
    torch = pytest.importorskip("torch")
    nn, images = torch.nn, points((2, 6, 6))
    torch.manual_seed(0)
    head = nn.Sequential(nn.Flatten(), nn.Linear(27, 5))
    net = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), head, nn.ReLU(), nn.Linear(5, 3))
    expected = net.double()(torch.from_numpy(images)).detach().numpy()
    np.testing.assert_allclose(read_network(net, shape=(2, 6, 6))(images.reshape(5, -1)), expected, atol=1e-12)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    own = certify(net, images[0], 0.01)
    assert own.label == expected[0].argmax()
    assert own.bound <= own.attack.min()
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    for wrong, words in [(nn.Sequential(nn.Tanh()), r"\[0\]: Tanh"), (nn.Sequential(nn.Dropout()), "eval")]:
        with pytest.raises(SettingError, match=words):
            certify(wrong, np.ones(3), 0.1)
    with pytest.raises(ShapeError, match="x"):
        certify(nn.Sequential(nn.Linear(3, 2)), np.ones(4), 0.1)


def test_pooling_of_lemmata():
    serial = Serial([AveragePool((2,)), Relu(), Flatten(), Dense(2)])
    params, _ = serial.init(jax.random.key(0), (6, 2))
    x = points((6, 2))
    expected = jax.vmap(serial.apply, (None, 0))(params, x)
    np.testing.assert_allclose(read_network(serial, params, (6, 2))(x.reshape(5, -1)), expected, rtol=1e-6, atol=1e-6)


def test_the_claims_that_certificates_name_exist():
    votes, rows = partition_certificate([0, 0, 1]), np.random.default_rng(0).normal(size=(20, 4))
    found = [certify([(np.eye(2), np.zeros(2))], [1.0, 0.0], 0.1, method=method) for method in METHODS]
    found += [votes, backdoor_report(rows, np.zeros(20, int))]
    found.append(smooth(lambda z: np.zeros(len(z), int), np.zeros(2), 1.0, n=10))
    assert {claim for one in found for claim in one.claims} <= set(registry())
    assert all(isinstance(rule, Condition) for one in found for rule in one.conditions)


@pytest.mark.parametrize("form", ["list", "network", "equinox", "serial"])
def test_complex_weights_are_refused(form):
    weight, bias = np.eye(2) * (1 + 5j), np.zeros(2)
    params = None
    if form == "list":
        net = [(np.eye(2), bias), (weight, bias)]
    elif form == "equinox":
        net = eqx.nn.Sequential([eqx.nn.Linear(2, 2, key=jax.random.key(0))])
        net = eqx.tree_at(lambda own: own.layers[0].weight, net, jnp.asarray(weight))
    elif form == "serial":
        net, params = Serial((Dense(2),)), ({"weight": weight, "bias": bias},)
    if form == "network":
        with pytest.raises(SettingError, match="layer 0 of the network; found weights of type complex128"):
            ReluNetwork((weight,), (bias,))
        return
    with pytest.raises(SettingError, match="weights of type complex128; rule: real numbers; remedy: write a complex"):
        read_network(net, params, (2,))


def test_weights_that_are_not_numbers_are_refused():
    with pytest.raises(DataError, match="layer 0 of the network"):
        read_network([([[1.0, 2.0], [3.0]], [0.0, 0.0])])
    assert read_network([(jnp.eye(2, dtype=jnp.bfloat16), np.array([1, 2], ">f8"))]).biases[0].tolist() == [1, 2]
