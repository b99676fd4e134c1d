"""Patching reports: against truth tables, Shapley values over all orders, hooks by hand, and on bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError, UnknownNameError
from lemmata.subjects.features import patching_report
from lemmata.subjects.features._patching import shapley_values

NAMES = ["a", "b", "c", "d"]


def _circuit(rule):
    """A Boolean function of the entries of the input, one site each."""
    return lambda x, site: rule(*(site(name, value) for name, value in zip(NAMES, x, strict=False)))


def _by_orders(value, sites):
    """Shapley values by all orders in which sites are restored."""
    total = dict.fromkeys(sites, 0.0)
    orders = list(itertools.permutations(sites))
    for order in orders:
        for place, site in enumerate(order):
            total[site] += value(frozenset(order[: place + 1])) - value(frozenset(order[:place]))
    return [total[site] / len(orders) for site in sites]


@pytest.mark.parametrize(
    ("rule", "restore", "ablate", "reading"),
    [
        (lambda a, b, c: max(a, b, c), [1, 1, 1], [0, 0, 0], "stand in for each other"),
        (lambda a, b, c: min(a, b, c), [0, 0, 0], [1, 1, 1], "need each other"),
        (lambda a, b, c: a + b + c, [1, 1, 1], [1, 1, 1], "add up"),
        (lambda a, b, c: max(a, min(b, c)), [1, 0, 0], [0, 0, 0], "stand in"),
        (lambda a, b, c: 0.0 * a, [0, 0, 0], [0, 0, 0], "no effect"),
    ],
)
def test_circuits_by_their_truth_tables(rule, restore, ablate, reading):
    found = patching_report(_circuit(rule), (1.0,) * 3, (0.0,) * 3, NAMES[:3])
    assert found.restore.tolist() == restore
    assert found.ablate.tolist() == ablate
    table = lambda chosen: rule(*(float(name in chosen) for name in NAMES[:3]))
    assert found.shapley == pytest.approx(_by_orders(table, NAMES[:3]))
    assert found.restore_all == found.ablate_all == rule(1.0, 1.0, 1.0)
    assert found.gaps == (found.restore_all - sum(restore), found.ablate_all - sum(ablate))
    assert reading in str(found)
    assert found.intervals == {}
    assert found.claims == ("features.circuits.redundancy",)


def test_shapley_values_of_random_games_are_those_over_all_orders():
    values = np.random.default_rng(0).normal(size=(32, 2))
    found = shapley_values(values)
    for column in range(2):
        value = lambda chosen, column=column: values[sum(1 << site for site in chosen), column]
        assert found[:, column] == pytest.approx(_by_orders(value, range(5)))
    assert found.sum(axis=0) == pytest.approx(values[-1] - values[0])


def _jax_network(key):
    keys = jax.random.split(key, 3)
    first, second, last = (
        jax.random.normal(own, shape) for own, shape in zip(keys, [(4, 6), (4, 6), (6,)], strict=True)
    )

    def model(x, site):
        one = site("tanh", jnp.tanh(x @ first))
        two = site("relu", {"h": jax.nn.relu(x @ second)})["h"]
        return (site("sum", one + two) * one) @ last

    return model


def test_a_function_of_jax(key):
    model = _jax_network(key)
    x, y = jax.random.normal(key, (2, 5, 4))
    found = patching_report(model, x, y, ["tanh", "relu", "sum"])
    stored = {}
    model(x, lambda name, value: stored.setdefault(name, value))
    value = lambda chosen: float(model(y, lambda name, own: stored[name] if name in chosen else own).mean())
    assert found.shapley == pytest.approx(_by_orders(value, ["tanh", "relu", "sum"]), rel=1e-4, abs=1e-5)
    assert found.restore[1] == pytest.approx(value({"relu"}) - value(set()), rel=1e-4, abs=1e-5)
    assert found.clean == pytest.approx(float(model(x, lambda name, own: own).mean()), rel=1e-5)
    assert found.restore_all == pytest.approx(found.clean - found.corrupt, rel=1e-4)
    assert found.rows == 5
    low, high = found.intervals["shapley"].T
    assert ((low < found.shapley) & (found.shapley < high)).all()
    per_row = shapley_values(found.sets)
    reach = 2.776 * per_row[0].std(ddof=1) / np.sqrt(5)
    assert high[0] - found.shapley[0] == pytest.approx(reach, rel=1e-3)
    fewer = patching_report(model, x, y, "relu", shapley=False)
    assert fewer.shapley is None
    assert fewer.sets is None
    assert fewer.restore == pytest.approx(found.restore[1:2], rel=1e-4, abs=1e-5)
    assert "fails" in str(fewer)  # one site does not carry everything
    assert "site" in str(found.plot().to_dict())
    assert "<pre" in found._repr_html_()


torch = pytest.importorskip("torch")


class Attention(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        weights = torch.softmax(self.query(x) @ self.key(x).transpose(-1, -2), dim=-1)
        return weights @ self.value(x), weights


class Transformer(torch.nn.Module):
    def __init__(self, width=8, vocabulary=11):
        super().__init__()
        self.embed, self.out = torch.nn.Embedding(vocabulary, width), torch.nn.Linear(width, vocabulary)
        self.attentions = torch.nn.ModuleList(Attention(width) for _ in range(2))
        self.mlps = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(width, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, width))
            for _ in range(2)
        )
        self.drop, self.norm = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(6)

    def forward(self, tokens, fail=False):
        x = self.embed(tokens)
        for attention, mlp in zip(self.attentions, self.mlps, strict=True):
            x = x + attention(x)[0]
            x += self.drop(mlp(x))  # in place
        if fail:
            raise ValueError("stopped")
        return self.out(self.norm(x))


SITES = ["embed", "attentions.0", "mlps.0", "attentions.1", "mlps.1", "mlps.1.1", "attentions.0.value"]
LAST = lambda output: output[:, -1, 3] - output[:, -1, 5]


def _model():
    torch.manual_seed(0)
    model = Transformer()
    model.mlps[0].eval()  # modes that differ
    return model


def _tokens():
    rng = np.random.default_rng(1)
    return rng.integers(0, 11, (3, 6)), rng.integers(0, 11, (3, 6))


def _unhooked(model):
    return all(len(own._forward_hooks) + len(own._forward_pre_hooks) == 0 for own in model.modules())


def test_a_transformer_against_hooks_by_hand():
    model, (clean, corrupt) = _model(), _tokens()
    before = {name: own.clone() for name, own in model.state_dict().items()}
    modes = [own.training for own in model.modules()]
    found = patching_report(model, clean, corrupt, SITES[:5], metric=LAST)
    assert all(torch.equal(own, before[name]) for name, own in model.state_dict().items())
    assert [own.training for own in model.modules()] == modes
    assert _unhooked(model)
    model.eval()
    one, other = torch.tensor(clean), torch.tensor(corrupt)
    kept, copied = {}, lambda out: tuple(own.clone() for own in out) if isinstance(out, tuple) else out.clone()
    with torch.no_grad():
        for place, name in enumerate(SITES[:5]):
            layer = model.get_submodule(name)
            handle = layer.register_forward_hook(lambda _, __, out, name=name: kept.__setitem__(name, copied(out)))
            reference = LAST(model(one)).numpy()
            handle.remove()
            handle = layer.register_forward_hook(lambda _, __, out, name=name: copied(kept[name]))
            restored = LAST(model(other)).numpy()
            handle.remove()
            base = LAST(model(other)).numpy()
            assert found.restore[place] == pytest.approx((restored - base).mean(), rel=1e-4, abs=1e-6)
    assert found.clean == pytest.approx(reference.mean(), rel=1e-5)
    assert found.rows == 3
    assert found.shapley.sum() == pytest.approx(found.restore_all)
    assert found.restore_all == pytest.approx(found.clean - found.corrupt, rel=1e-4, abs=1e-6)  # embed alone does it


def test_inputs_of_a_module():
    model, (clean, corrupt) = _model(), _tokens()
    expected = patching_report(model, clean, corrupt, SITES[5:], metric=LAST)
    for wrap in (torch.tensor, lambda x: (x,), lambda x: {"tokens": x, "fail": False}, lambda x: x.tolist()):
        found = patching_report(model, wrap(clean), wrap(corrupt), SITES[5:], metric=LAST)
        assert found.shapley == pytest.approx(expected.shapley)


def test_hooks_are_removed_after_errors():
    model, (clean, corrupt) = _model(), _tokens()
    modes = [own.training for own in model.modules()]
    calls = [0]

    def metric(output):
        calls[0] += 1
        if calls[0] > 9:
            raise KeyboardInterrupt
        return LAST(output)

    with pytest.raises(SettingError, match="ValueError: stopped"):
        patching_report(model, {"tokens": clean, "fail": True}, {"tokens": corrupt}, SITES, metric=LAST)
    with pytest.raises(KeyboardInterrupt):
        patching_report(model, clean, corrupt, SITES, metric=metric)
    with pytest.raises(ShapeError, match="equal shapes"):
        patching_report(model, clean, corrupt[:2], SITES, metric=LAST)
    assert _unhooked(model)
    assert [own.training for own in model.modules()] == modes


def test_a_layer_with_a_fused_path_is_patched():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x, y = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
    found = patching_report(layer, x, y, ["linear1", "linear2"], metric=lambda out: out[:, 0, 0])
    assert np.abs(found.restore).min() > 1e-4


def test_random_models_and_states_are_refused():
    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.unused = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

        def forward(self, x):
            return self.inner(x)[:, 0] + torch.randn(len(x))

    with pytest.raises(DataError, match="two runs"):
        patching_report(Noise(), np.ones((4, 2)), np.zeros((4, 2)), ["inner"])
    with pytest.raises(SettingError, match="site 'unused'; found no call"):
        patching_report(Noise(), np.ones((4, 2)), np.zeros((4, 2)), ["unused"])


LINEAR = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2))
ONE, TWO = np.ones((4, 2)), np.zeros((4, 2))
TWICE = lambda x, site: site("h", x) + site("h", x)


@pytest.mark.parametrize(
    ("model", "clean", "sites", "options", "error", "text"),
    [
        (LINEAR, ONE, ["0"], {}, SettingError, "pass a metric"),
        (LINEAR, ONE, ["0"], {"metric": 3}, SettingError, "metric"),
        (LINEAR, ONE, ["0"], {"metric": lambda out: out[:, 7]}, SettingError, "metric; found IndexError"),
        (LINEAR, ONE, ["0"], {"metric": lambda out: out * np.nan}, LemmataError, "metric"),
        (LINEAR, ONE, ["0"], {"metric": lambda out: out[:, 0] * torch.nan}, DataError, "not finite"),
        (LINEAR, ONE[:, :1], ["0"], {}, SettingError, "RuntimeError"),
        (LINEAR, "text", ["0"], {}, SettingError, "model; found TypeError"),
        (LINEAR, [[1.0, 2.0], [1.0]], ["0"], {}, DataError, "input"),
        (LINEAR, ONE, ["0", "0"], {}, SettingError, "'0' twice"),
        (LINEAR, ONE, [], {}, SettingError, "a list of names"),
        (LINEAR, ONE, [0], {}, SettingError, "a list of names"),
        (LINEAR, ONE, [""], {}, UnknownNameError, "no such site"),
        (LINEAR, ONE, ["0", "9"], {}, UnknownNameError, "choose for example 0, 1"),
        (Transformer(), ONE, ["attention.1.valeu"], {}, UnknownNameError, "attentions.1.value"),
        (LINEAR, ONE, [str(i) for i in range(11)], {}, SettingError, "11 sites.*shapley=False"),
        (LINEAR, ONE, ["0"], {"level": 1.0}, SettingError, "level"),
        (LINEAR, ONE, ["0"], {"shapley": "no"}, SettingError, "shapley"),
        (torch.nn.Linear, ONE, ["0"], {}, SettingError, "the class Linear"),
        (None, ONE, ["0"], {}, SettingError, "a NoneType"),
        (lambda x: x, ONE, ["0"], {}, SettingError, "model\\(x, site\\)"),
        (lambda x, site: site("hidden", x)[:, 0], ONE, ["hiden"], {}, UnknownNameError, "hidden"),
        (TWICE, ONE, ["h"], {}, SettingError, "two calls"),
        (jax.jit(lambda x: x, static_argnums=()), ONE, ["h"], {}, SettingError, "model"),
        (lambda x, site: jax.jit(lambda own: site("h", own))(x).sum(), ONE, ["h"], {}, SettingError, "traced value"),
        (lambda x, site: None, ONE, ["h"], {}, LemmataError, "h"),
        (lambda x, site: site("h", x)[:2, 0], ONE[:3], ["h"], {}, ShapeError, "equal shapes"),
    ],
)  # fmt: skip
def test_bad_input(model, clean, sites, options, error, text):
    with pytest.raises(error, match=text) as raised:
        patching_report(model, clean, TWO, sites, **options)
    assert "\n" not in str(raised.value)


def test_two_names_of_one_module():
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(SettingError, match="sites '0' and '1'; found one module"):
        patching_report(torch.nn.Sequential(layer, layer), ONE, TWO, ["0", "1"], metric=lambda out: out[:, 0])
    found = patching_report(torch.nn.Sequential(layer, layer), ONE, TWO, ["0"], metric=lambda out: out[:, 0])
    assert found.restore_all == pytest.approx(found.clean - found.corrupt)
