"""Models as people write them: precisions that are fixed inside, recurrent layers, dropped axes, wrappers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import ShapeError
from lemmata.subjects.trained_models import read_model, read_trained
from lemmata.workflows.examinations import run_examination

torch = pytest.importorskip("torch")
nn = torch.nn
# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
X = np.random.default_rng(0).normal(size=(90, 6)).astype(np.float32)
Y = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=90) > 0).astype(int)
TRAIN, HELD = (X[:60], Y[:60]), (X[60:], Y[60:])


class Head(nn.Module):
    """Two layers, and what a module does with them."""

    def __init__(self, outputs=2):
        super().__init__()
        self.a, self.b = nn.Linear(6, 5), nn.Linear(5, outputs)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Squeezed(Head):
    def forward(self, x):
        return super().forward(x).squeeze()


class Cast(Head):
    def forward(self, x):
        return super().forward(x.float() if x.shape[1] else x)


class CastTo(Head):
    def forward(self, x):
        return super().forward(x.to(torch.float32)) + torch.tensor([0.5, -0.5]) + torch.arange(2) * torch.ones(2)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a, self.b = kind(2, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x.reshape(-1, 3, 2))[0][:, -1])


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.GRUCell(2, 4), nn.Linear(4, 2)

    def forward(self, x):
        state = torch.zeros(len(x), 4)
        for t in range(3):
            state = self.a(x[:, 2 * t : 2 * t + 2], state)
        return self.b(state)


MODULES = {
    "squeezed": Squeezed, "cast": Cast, "cast-to": CastTo, "cell": Cell,
    "lstm": lambda: Recurrent(nn.LSTM), "gru": lambda: Recurrent(nn.GRU), "rnn": lambda: Recurrent(nn.RNN),
}  # fmt: skip


def made(name):
    torch.manual_seed(3)
    return MODULES[name]().eval()


@pytest.mark.parametrize("name", MODULES)
def test_every_product_of_a_module_is_that_of_its_function(name):
    module = made(name)
    model = read_model(module).in_double()
    with torch.no_grad():
        np.testing.assert_allclose(model.outputs(X), module(torch.as_tensor(X)).numpy(), atol=1e-5)
    few, rng = X[:4].astype(float), np.random.default_rng(2)
    v, step = rng.normal(size=len(model.theta)), 1e-6
    ends = [model.at(model.theta + sign * step * v) for sign in (1, -1)]
    along = (ends[0].outputs(few) - ends[1].outputs(few)) / (2 * step)
    np.testing.assert_allclose(model.jvp(v, few), along, atol=1e-7)
    jacobian = model.jacobian(few)
    np.testing.assert_allclose(jacobian @ v, along, atol=1e-7)
    u = rng.normal(size=along.shape)
    np.testing.assert_allclose(model.vjp(u, few), np.einsum("ncp,nc->p", jacobian, u), atol=1e-9)
    targets = np.eye(2)[Y[:4]]
    slopes = [end.loss_slope(few, targets, "softmax")[1] for end in ends]
    np.testing.assert_allclose(model.hvp(v, few, targets, "softmax"), (slopes[0] - slopes[1]) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(read_model(module).jvp(v.astype(np.float32), X[:4]), along, atol=1e-4)


@pytest.mark.parametrize("name", ["squeezed", "cast", "cell", "lstm"])
def test_no_gauge_of_a_module_fails(name):
    module = made(name)
    best = torch.optim.Adam(module.parameters(), 0.02, weight_decay=1e-2)
    for _ in range(150):
        best.zero_grad()
        nn.functional.cross_entropy(module(torch.as_tensor(TRAIN[0])), torch.as_tensor(TRAIN[1])).backward()
        best.step()
    record = run_examination(read_trained(module, *TRAIN, held=HELD))
    assert all(check.holds is not False for check in record.preflight)
    assert not [own.title for own in record.gauges if own.status == "failed"]
    assert record.left_out.status in ("unscored", "inapplicable"), "there are few held-out rows"


def test_a_row_alone_is_a_row_among_others():
    """A batch of one from which `squeeze` takes the first axis gave two rows of one output."""
    plain, module = Head().eval(), Squeezed().eval()
    module.load_state_dict(plain.state_dict())
    own, twin = read_model(module).in_double(), read_model(plain).in_double()
    np.testing.assert_allclose(own.outputs(X[:1]), twin.outputs(X[:1]), atol=1e-12)
    np.testing.assert_allclose(own.jacobian(X[:3]), twin.jacobian(X[:3]), atol=1e-12)
    single = Squeezed(1).eval()
    assert read_model(single).outputs(X[:1]).shape == (1, 1)
    weights = {"a": jnp.ones((6, 2)) / 3, "b": jnp.eye(2)}
    function = lambda w, x: (jnp.tanh(x @ w["a"]) @ w["b"]).squeeze()
    found = read_model((function, weights))
    np.testing.assert_allclose(found.outputs(X[:1]), found.outputs(X[:2])[:1], atol=1e-6)
    np.testing.assert_allclose(found.jacobian(X[:2])[:1], found.jacobian(X[:1]), atol=1e-6)


@pytest.mark.parametrize("wrapper", [nn.DataParallel, torch.compile])
def test_wrappers_are_taken_off(wrapper):
    plain = Head().eval()
    found = read_model(wrapper(plain))
    assert found.module is plain
    assert [layer.name for layer in found.layers] == ["a.weight", "a.bias", "b.weight", "b.bias"]


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_a_function_that_fixes_its_precision_is_examined_and_says_so(kind):
    low = lambda value: value.astype(kind)
    function = lambda w, x: low(jnp.tanh(low(x @ w["a"])) @ low(w["b"])).astype("float32")
    keys = jax.random.split(jax.random.key(0))
    weights = {"a": 0.5 * jax.random.normal(keys[0], (6, 5)), "b": jax.random.normal(keys[1], (5, 2))}
    record = run_examination(read_trained((function, weights), *TRAIN, held=HELD))
    assert [check for check in record.preflight if check.holds is False] == []
    (check,) = [check for check in record.preflight if check.name.startswith("derivatives")]
    assert "the model rounds to float32 or coarser inside" in check.found
    assert record.gauges
    wrong = lambda w, x: low(jnp.tanh(low(x @ w["a"])) @ low(jax.lax.stop_gradient(w["b"])))
    record = run_examination(read_trained((wrong, weights), *TRAIN, held=HELD))
    assert any(check.holds is False for check in record.preflight), "a wrong derivative is no rounding"


def test_a_state_in_float32_takes_its_parameters_in_float32():
    """As the loops of Flax have it: `lax.scan` refuses a state whose type a step changes."""

    def function(w, x):
        step = lambda state, part: (jnp.tanh(part[:, None] * w["a"] + state @ w["b"]), None)
        state, _ = jax.lax.scan(step, jnp.zeros((len(x), 4), "float32"), x.T)
        return state @ w["c"]

    draw = lambda key, shape: 0.5 * jax.random.normal(jax.random.key(key), shape, "float32")
    weights = {"a": draw(1, (4,)), "b": draw(2, (4, 4)), "c": draw(3, (4, 2))}
    with pytest.raises(TypeError, match="carry"):
        function(jax.tree.map(lambda leaf: leaf.astype("float64"), weights), jnp.asarray(TRAIN[0], "float64"))
    record = run_examination(read_trained((function, weights), *TRAIN, held=HELD))
    assert [check for check in record.preflight if check.holds is False] == []
    assert not [own.title for own in record.gauges if own.status == "failed"]
    (check,) = [check for check in record.preflight if check.name.startswith("derivatives")]
    assert "the model rounds to float32 or coarser inside" in check.found
    model = read_model((function, weights))
    np.testing.assert_allclose(model.in_double().outputs(X), model.outputs(X), atol=1e-6)
    broken = lambda w, x: x @ w["a"] + None
    with pytest.raises(ShapeError, match="NoneType"):
        read_model((broken, {"a": jnp.ones((6, 2))})).in_double().outputs(X)
