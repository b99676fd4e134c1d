"""Networks whose layers do not stand one after the other: the layers that are read compute the same, and bound it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lemmata.errors import SettingError, ShapeError
from lemmata.subjects.robustness import METHODS, certify, smooth
from lemmata.subjects.robustness._reading import read_network

torch, linen = pytest.importorskip("torch"), pytest.importorskip("flax.linen")
nn = torch.nn


class Residual(nn.Module):
    """Two sums around ReLUs, one of which begins at the input."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = x + torch.relu(self.a(x))
        h = h + self.c(nn.functional.relu(self.b(h)))
        return self.d(torch.relu(h)) + x[:, :3]


class Joined(nn.Module):
    """Methods, constants, slices, shapes and concatenations, as people write them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(14, 3)
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 6))

    def forward(self, x):
        x = (x.double() - 0.1) * self.scale
        x += 0.5 * x.T.T
        h = self.a(x).clamp(min=-0.2, max=0.7)
        h = torch.maximum(h, 0.3 * h.flip(1))
        return self.b(torch.cat([h, x.abs()], dim=1).view(x.size(0), -1)) / 2


def normalised():
    own = nn.BatchNorm1d(8)
    own.running_mean += torch.linspace(-1, 1, 8)
    own.running_var *= 2.0
    return nn.Sequential(nn.Linear(6, 8), own, nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)).eval()


VECTORS = {
    "normalised": normalised,
    "leaky": lambda: nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 3)),
    "prelu": lambda: nn.Sequential(nn.Linear(6, 8), nn.PReLU(8), nn.Linear(8, 3)),
    "clips": lambda: nn.Sequential(
        nn.Linear(6, 8), nn.Hardtanh(-0.3, 0.4), nn.Linear(8, 8), nn.ReLU6(), nn.Linear(8, 3)
    ),
    "residual": Residual,
    "joined": Joined,
}
FIELDS = {
    "after relu": lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)),
    "of signed values": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.MaxPool2d(3, stride=1), nn.Flatten(), nn.Linear(8, 3)
    ),
    "padded": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1), nn.Flatten(), nn.Linear(8, 3)
    ),
}


def same(network, call, shape, params=None):
    """The network that is read beside the module, on inputs of several sizes."""
    own = read_network(network, params, shape)
    x = np.random.default_rng(0).normal(size=(60, *shape)) * np.geomspace(0.01, 10, 60).reshape(-1, *[1] * len(shape))
    np.testing.assert_allclose(own(x.reshape(60, -1)), call(x), atol=1e-10)


def numbers(module):
    whole = module.double()
    return lambda x: whole(torch.from_numpy(x)).detach().numpy()


@pytest.mark.parametrize("name", VECTORS)
def test_modules_of_pytorch(name):
    torch.manual_seed(0)
    module = VECTORS[name]()
    same(module, numbers(module), (6,))


@pytest.mark.parametrize("name", FIELDS)
def test_pooling_by_maxima(name):
    torch.manual_seed(0)
    module = FIELDS[name]()
    same(module, numbers(module), (1, 6, 6))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["leaky", "residual", "clips"])
def test_no_margin_in_the_ball_is_below_the_certified_one(name, method):
    torch.manual_seed(1)
    module, x = VECTORS[name](), np.random.default_rng(1).normal(size=6)
    found = certify(module, x, 0.05, method=method)
    moved = x + np.random.default_rng(2).uniform(-0.05, 0.05, size=(3000, 6))
    moved = np.concatenate([moved, x + 0.05 * np.sign(moved - x)])
    f = numbers(module)(moved)
    others = np.delete(f, found.label, axis=1).max(1)
    assert found.bound <= (f[:, found.label] - others).min() + 1e-9


class Skip(linen.Module):
    """A residual layer, leaky, and pooling by maxima."""

    @linen.compact
    def __call__(self, x):
        h = linen.leaky_relu(linen.Conv(3, (3, 3))(x), 0.1)
        h = h + jax.nn.relu(linen.Conv(3, (3, 3))(h))
        h = linen.max_pool(h, (2, 2), strides=(2, 2))
        return linen.Dense(3)(jnp.minimum(h, 0.5).reshape(len(h), -1))


def test_modules_of_flax():
    module = Skip()
    with jax.enable_x64(True):
        variables = module.init(jax.random.key(0), jnp.zeros((1, 6, 6, 1)))
        same(module, lambda x: np.asarray(module.apply(variables, jnp.asarray(x))), (6, 6, 1), variables)


class Own(eqx.Module):
    """A sum around a ReLU in Equinox."""

    a: eqx.nn.Linear
    b: eqx.nn.Linear

    def __call__(self, x):
        return self.b(x + jax.nn.relu(self.a(x)))


def test_modules_of_equinox():
    with jax.enable_x64(True):
        one, other = jax.random.split(jax.random.key(0))
        module = Own(eqx.nn.Linear(6, 6, key=one), eqx.nn.Linear(6, 3, key=other))
        same(module, lambda x: np.asarray(jax.vmap(module)(jnp.asarray(x))), (6,))


@pytest.mark.parametrize(
    ("layer", "words"),
    [(nn.GELU(), r"\[1\]: GELU"), (nn.Softmax(1), r"\[1\]: Softmax"), (nn.BatchNorm1d(8), "training mode")],
)
def test_what_stops_it_is_named(layer, words):
    module = nn.Sequential(nn.Linear(6, 8), layer, nn.Linear(8, 3))
    with pytest.raises(SettingError, match=words):
        certify(module, np.zeros(6), 0.1)


def test_code_that_looks_at_its_numbers_and_inputs_that_do_not_fit():
    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(SettingError, match="cannot trace"):
        certify(Looks(), np.zeros(6), 0.1)
    with pytest.raises(ShapeError, match="that the network can read"):
        certify(VECTORS["leaky"](), np.zeros(5), 0.1)


@pytest.mark.parametrize("name", ["residual", "of signed values"])
def test_smoothing_takes_modules(name):
    torch.manual_seed(0)
    module = (VECTORS | FIELDS)[name]()
    shape = (6,) if name in VECTORS else (1, 6, 6)
    x = np.random.default_rng(0).normal(size=shape)
    call = lambda rows: module(torch.from_numpy(rows.reshape(-1, *shape)).float()).detach().numpy().argmax(1)
    found, plain = smooth(module, x, 0.3, n=500), smooth(call, x.ravel(), 0.3, n=500)
    assert (found.candidate, found.count, found.radius) == (plain.candidate, plain.count, plain.radius)
    assert found.linf == pytest.approx(found.radius / x.size**0.5)


def test_smoothing_takes_flax_equinox_and_classifiers():
    x = np.random.default_rng(0).normal(size=6)
    with jax.enable_x64(True):
        one, other = jax.random.split(jax.random.key(0))
        own = Own(eqx.nn.Linear(6, 6, key=one), eqx.nn.Linear(6, 3, key=other))
        dense = linen.Dense(3)
        variables = dense.init(jax.random.key(1), jnp.zeros((1, 6)))
        calls = [
            (own, None, lambda rows: np.asarray(jax.vmap(own)(jnp.asarray(rows)))),
            (dense, variables, lambda rows: np.asarray(dense.apply(variables, jnp.asarray(rows)))),
        ]
        for module, params, call in calls:
            found, plain = smooth(module, x, 0.3, n=300, params=params), smooth(call, x, 0.3, n=300)
            assert (found.candidate, found.count) == (plain.candidate, plain.count)
        with pytest.raises(SettingError, match="variables"):
            smooth(dense, x, 0.3)
    rows = np.random.default_rng(1).normal(size=(80, 6))
    classifier = LogisticRegression().fit(rows, np.where(rows[:, 0] > 0, "yes", "no"))
    assert smooth(classifier, np.array([2.0, 0, 0, 0, 0, 0]), 0.3, n=300).label == 1
    with pytest.raises(SettingError, match="training mode"):
        smooth(normalised().train(), x, 0.3)
    with pytest.raises(SettingError, match="a function of a batch"):
        smooth(3, x, 0.3)
