"""Modules of Flax, and of Equinox with code of their own, are read from what they compute."""

import equinox as eqx
import jax
import numpy as np
import pytest

from lemmata.errors import SettingError, ShapeError
from lemmata.subjects.robustness import certify, largest_radius, read_network

nn = pytest.importorskip("flax.linen", reason="the extra `oracles` is not installed")
nnx = pytest.importorskip("flax.nnx")
SHAPE = (6, 6, 2)
IMAGES = np.random.default_rng(0).normal(size=(5, *SHAPE))
ONES = np.ones(4)


class Linen(nn.Module):
    """Convolution, pooling, flattening, normalisation by known statistics, dense layers."""

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(3, (3, 3), strides=2)(x))
        x = nn.avg_pool(x, (2, 2), strides=(1, 1)).reshape((x.shape[0], -1))
        x = nn.relu(nn.BatchNorm(use_running_average=True)(nn.Dense(7)(x)))
        return 1 - 2 * nn.Dense(4)(x) / 3


class Nnx(nnx.Module):
    """The same in the other of Flax's two forms, with a dropout, and a layer that is given."""

    def __init__(self, last=None):
        rngs = nnx.Rngs(0)
        self.conv, self.known = nnx.Conv(2, 3, (3, 3), rngs=rngs), nnx.BatchNorm(3, rngs=rngs)
        self.dense, self.dropout, self.last = nnx.Linear(27, 4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs), last

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.known(self.conv(x))), (2, 2), (2, 2))
        x = self.dense(self.dropout(x.reshape(x.shape[0], -1)))
        return x if self.last is None else self.last(x)


def test_linen():
    net = Linen()
    variables = net.init(jax.random.key(0), IMAGES)
    read = read_network(net, variables, SHAPE)
    assert [weight.shape for weight in read.weights] == [(27, 72), (7, 27), (4, 7)]
    with jax.enable_x64(True):
        np.testing.assert_allclose(read(IMAGES.reshape(5, -1)), np.asarray(net.apply(variables, IMAGES)), atol=1e-6)
    own = certify(net, IMAGES[0], 0.001, params=variables)
    assert own.label == np.asarray(net.apply(variables, IMAGES[:1]))[0].argmax()
    assert own.bound <= own.attack.min()


@pytest.mark.parametrize("x64", [False, True])
def test_a_sequence_is_read_to_the_last_bit(x64):
    with jax.enable_x64(x64):
        net = nn.Sequential([nn.Dense(6), nn.relu, nn.Dense(5), nn.Dense(3)])
        variables = net.init(jax.random.key(0), ONES[None])
        read = read_network(net, variables["params"], (4,))
        last = [np.asarray(variables["params"][f"layers_{k}"]["kernel"], float) for k in (0, 2, 3)]
    np.testing.assert_array_equal(read.weights[0], last[0].T)
    np.testing.assert_allclose(read.weights[1], (last[1] @ last[2]).T, rtol=1e-12, atol=1e-15)
    assert largest_radius(net, ONES, params=variables, method="crown") > 0


def test_nnx():
    net = Nnx()
    with pytest.raises(SettingError, match=r"network Nnx.*evaluation mode"):
        certify(net, IMAGES[0], 0.1)
    net.eval()
    np.testing.assert_allclose(read_network(net, shape=SHAPE)(IMAGES.reshape(5, -1)), net(IMAGES), atol=1e-5)
    assert certify(net, IMAGES[0], 0.001).label == net(IMAGES[:1])[0].argmax()


class Own(eqx.Module):
    """An Equinox module with code of its own."""

    layers: list

    def __call__(self, x):
        return self.layers[1](jax.numpy.maximum(self.layers[0](x), 0.0))


def test_an_equinox_module():
    keys = jax.random.split(jax.random.key(0))
    net = Own([eqx.nn.Linear(4, 6, key=keys[0]), eqx.nn.Linear(6, 3, key=keys[1])])
    x = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_allclose(read_network(net, shape=(4,))(x), jax.vmap(net)(x), atol=1e-6)


class Normed(nn.Module):
    """A layer that cannot be bounded."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.LayerNorm()(nn.Dense(4)(x)))


class Around(nn.Module):
    """A connection around a ReLU."""

    inside: bool = True

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(3)(x)
        return x + nn.relu(x) if self.inside else (nn.relu(x), x)[1]


class Constant(nn.Module):
    """Nothing of the input."""

    @nn.compact
    def __call__(self, x):
        return jax.numpy.ones((1, 3)) + self.param("bias", nn.initializers.ones, (3,))


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (Normed(), "Normed/LayerNorm_0"),
        (nn.Sequential([nn.Dense(4), nn.tanh]), "tanh"),
        (nn.Sequential([nn.Dense(4), nn.softmax]), "found (reduce_max|exp)"),
        (Constant(), "do not depend"),
        (nn.Sequential([nn.Dense(4), lambda x: x * x]), "found mul"),
        (nn.Sequential([nn.Dense(4), lambda x: 1 / x]), "found div"),
        (nn.Sequential([nn.Dense(4), lambda x: x @ x.T]), "found dot_general"),
        (nn.Sequential([nn.Dense(4), lambda x: x.astype(int)]), "found convert_element_type"),
        (nn.Sequential([nn.Dense(4), nn.Dropout(0.5, deterministic=False)]), "evaluation mode"),
    ],
)
def test_what_cannot_be_bounded_is_named(net, words):
    variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, ONES[None])
    with pytest.raises(SettingError, match=words) as found:
        certify(net, ONES, 0.1, params=variables)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "net",
    [
        nn.Sequential([nn.Dense(4), nn.leaky_relu]),
        Around(),
        Around(inside=False),
        nn.Sequential([nn.Dense(4), lambda x: jax.numpy.maximum(x, 0.1)]),
        nn.Sequential([nn.Dense(4), lambda x: jax.numpy.maximum(x, -x)]),
        nn.Sequential([nn.Dense(4), nn.relu6]),
    ],
    ids=["leaky", "around", "before", "a constant", "a maximum", "a clip"],
)
def test_kinks_and_connections_are_sums_of_relus(net):
    variables = net.init(jax.random.key(0), ONES[None])
    x = np.random.default_rng(0).normal(size=(50, *ONES.shape))
    with jax.enable_x64(True):
        own = read_network(net, variables, ONES.shape)
        np.testing.assert_allclose(own(x), np.asarray(net.apply(variables, x)), atol=1e-6)


def test_refusals():
    net = nn.Sequential([nn.Dense(3)])
    variables = net.init(jax.random.key(0), ONES[None])
    with pytest.raises(SettingError, match="variables of Sequential"):
        certify(net, ONES, 0.1)
    with pytest.raises(SettingError, match=r"network Sequential.*\(1, 5\)"):
        certify(net, np.ones(5), 0.1, params=variables)
    with pytest.raises(SettingError, match="shape"):
        read_network(net, variables)
    with pytest.raises(ShapeError, match="one number for each class"):
        certify(net, np.ones((2, 4)), 0.1, params=variables)
    wrong = Nnx(nnx.LayerNorm(4, rngs=nnx.Rngs(0)))
    wrong.eval()
    with pytest.raises(SettingError, match="last: LayerNorm"):
        certify(wrong, IMAGES[0], 0.1)
