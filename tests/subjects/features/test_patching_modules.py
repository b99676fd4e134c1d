"""Patching of modules of PyTorch: against hooks by hand, after errors, and on bad input."""

import jax
import numpy as np
import pytest

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError, UnknownNameError
from lemmata.subjects.features import patching_report

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


def test_units_and_functions_of_torch():
    tiny = patching_report(lambda x, site: site("h", x) * 1e-300, 1.0, -1.0, ["h"])
    assert "2e-300" in str(tiny)
    assert tiny.reading == "single effects add up to the joint effect"
    with pytest.raises(DataError, match="change the unit"):
        patching_report(lambda x, site: site("h", x) * 1e307, 1.0, -1.0, ["h"])
    weights = torch.ones(3, 1, requires_grad=True)
    found = patching_report(lambda x, site: (site("h", x @ weights))[:, 0], torch.ones(2, 3), torch.zeros(2, 3), ["h"])
    assert found.restore.tolist() == [3.0]


def test_two_names_of_one_module():
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(SettingError, match="sites '0' and '1'; found one module"):
        patching_report(torch.nn.Sequential(layer, layer), ONE, TWO, ["0", "1"], metric=lambda out: out[:, 0])
    found = patching_report(torch.nn.Sequential(layer, layer), ONE, TWO, ["0"], metric=lambda out: out[:, 0])
    assert found.restore_all == pytest.approx(found.clean - found.corrupt)


def test_inputs_in_half_precision():
    model = torch.nn.Linear(4, 1)
    clean, corrupt = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float16)
    found = patching_report(torch.nn.Sequential(model), clean, corrupt, ["0"])
    expected = patching_report(torch.nn.Sequential(model), clean.astype(float), corrupt.astype(float), ["0"])
    assert np.allclose(found.restore, expected.restore)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_another_precision_than_the_parameters(kind):
    model = torch.nn.Sequential(torch.nn.Linear(4, 1)).to(kind)
    clean, corrupt = np.random.default_rng(0).normal(size=(2, 3, 4))
    expected = patching_report(model, clean, corrupt, ["0"])
    for other in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        found = patching_report(model, *(torch.tensor(own, dtype=other) for own in (clean, corrupt)), ["0"])
        assert np.allclose(found.restore, expected.restore, rtol=0.05, atol=0.05)


def test_a_module_of_two_precisions_keeps_each():
    """What a tensor of a precision of some parameters is for, only the module can tell."""

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 2).double(), torch.nn.Linear(2, 1)

        def forward(self, x, y):
            return self.first(x).float() * y + self.second(y)

    x, y = torch.ones(3, 2, dtype=torch.float64), torch.ones(3, 2)
    found = patching_report(Mixed(), (x, y), (0 * x, 0 * y), ["second"], metric=lambda out: out[:, 0])
    assert found.rows == 3
