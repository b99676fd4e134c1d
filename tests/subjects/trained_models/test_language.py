"""Language models: losses of documents against full logits, and every product against dense derivatives."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.trained_models import (
    Objective,
    language_model,
    leave_rows_out,
    polish,
    read_documents,
    read_model,
    read_trained,
    training_outputs,
)
from lemmata.subjects.trained_models._contract import rows_at_once

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
V, T, WIDTH, HEADS, LAYERS = 11, 6, 8, 2, 2
RNG = np.random.default_rng(0)
X = RNG.integers(0, V, (7, T))
PADDED = np.where(np.arange(T) < RNG.integers(3, T + 1, (7, 1)), X, -1)


def transformer_weights(scale=1.0):
    rng = np.random.default_rng(1)
    draw = lambda *shape: scale * rng.normal(size=shape) / math.sqrt(shape[-2])
    blocks = [
        {"attention": draw(WIDTH, 3 * WIDTH), "out": draw(WIDTH, WIDTH), "up": draw(WIDTH, 2 * WIDTH),
         "down": draw(2 * WIDTH, WIDTH)} for _ in range(LAYERS)
    ]  # fmt: skip
    return {"embedding": rng.normal(size=(V, WIDTH)), "place": rng.normal(size=(T, WIDTH)) / 2, "blocks": blocks,
            "readout": draw(WIDTH, V)}  # fmt: skip


def transformer(own, tokens, ahead=False):
    """Two layers of attention in JAX; with `ahead` tokens see those that follow."""
    norm = lambda h: (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
    n, length = tokens.shape
    h = own["embedding"][tokens] + own["place"][:length]
    mask = jnp.ones((length, length), bool) if ahead else jnp.tril(jnp.ones((length, length), bool))
    for block in own["blocks"]:
        query, key, value = jnp.moveaxis((norm(h) @ block["attention"]).reshape(n, length, 3, HEADS, -1), 2, 0)
        scores = jnp.einsum("nqhd,nkhd->nhqk", query, key) / math.sqrt(WIDTH / HEADS)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
        h = h + jnp.einsum("nhqk,nkhd->nqhd", weights, value).reshape(n, length, WIDTH) @ block["out"]
        h = h + jnp.tanh(norm(h) @ block["up"]) @ block["down"]
    return norm(h) @ own["readout"]


def own_jax():
    return transformer, transformer_weights()


def own_torch():
    torch = pytest.importorskip("torch")

    class Transformer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(V, WIDTH)
            layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, "gelu", batch_first=True)
            self.blocks = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
            self.readout = torch.nn.Linear(WIDTH, V)

        def forward(self, tokens):
            mask = torch.nn.Transformer.generate_square_subsequent_mask(
                tokens.shape[1], dtype=self.readout.weight.dtype
            )
            return self.readout(self.blocks(self.embedding(tokens), mask=mask))

    torch.manual_seed(0)
    return Transformer().double().eval()


def logits_of(model, x):
    """The user's own call on documents, padding replaced by another token than the model is fed."""
    tokens = np.where(x < 0, 3, x)
    if isinstance(model, tuple):
        return np.asarray(model[0](model[1], tokens))
    import torch

    with torch.no_grad():
        return model(torch.from_numpy(tokens)).numpy()


def naive_losses(model, x):
    """Token by token, from all logits at once."""
    f, losses = logits_of(model, x), np.zeros(len(x))
    for i, document in enumerate(x):
        for place in range(1, x.shape[1]):
            if document[place] >= 0:
                row = f[i, place - 1]
                losses[i] -= row[document[place]] - math.log(sum(math.exp(value) for value in row))
    return losses


FACES = [own_jax, own_torch]


@pytest.mark.parametrize("make", FACES)
@pytest.mark.parametrize("x", [X, PADDED], ids=["whole", "padded"])
def test_losses_are_those_of_all_logits_at_once(make, x):
    trained = read_trained(make(), x, None)
    np.testing.assert_allclose(training_outputs(trained)[:, 0], naive_losses(make(), x), rtol=1e-12)
    assert trained.y[:, 0].tolist() == [int((row[1:] >= 0).sum()) for row in x]
    np.testing.assert_allclose(
        trained.task.errors(training_outputs(trained), trained.y) * trained.y[:, 0],
        training_outputs(trained)[:, 0],
        rtol=1e-14,
    )


@pytest.mark.parametrize("make", FACES)
def test_chunks_of_documents_and_their_order_change_nothing(make):
    own = read_trained(make(), PADDED, None)
    few = dataclasses.replace(own, model=dataclasses.replace(own.model, batch=2))
    order = np.random.default_rng(3).permutation(len(X))
    other = read_trained(make(), PADDED[order], None)
    np.testing.assert_allclose(training_outputs(few), training_outputs(own), rtol=1e-12)
    np.testing.assert_allclose(training_outputs(other), training_outputs(own)[order], rtol=1e-12)
    loss = own.task.loss
    value, slope = own.model.loss_slope(own.x, own.y, loss)
    np.testing.assert_allclose(value, training_outputs(own).sum(), rtol=1e-12)
    v = np.random.default_rng(4).normal(size=len(slope))
    for mine in (few, other):
        np.testing.assert_allclose(mine.model.loss_slope(mine.x, mine.y, loss)[1], slope, atol=1e-11)
        np.testing.assert_allclose(
            mine.model.hvp(v, mine.x, mine.y, loss), own.model.hvp(v, own.x, own.y, loss), atol=1e-10
        )
        np.testing.assert_allclose(
            mine.model.gauss_newton(v, mine.x, loss), own.model.gauss_newton(v, own.x, loss), atol=1e-10
        )


@pytest.mark.parametrize("make", FACES)
def test_products_are_those_of_differences(make):
    trained = read_trained(make(), PADDED[:3], None)
    model, x, y = trained.model, trained.x, trained.y
    v = np.random.default_rng(5).normal(size=len(model.theta))
    ends = [model.at(model.theta + sign * 1e-6 * v) for sign in (1, -1)]
    slopes = [end.loss_slope(x, y, "documents")[1] for end in ends]
    np.testing.assert_allclose(model.jvp(v, x), (ends[0].outputs(x) - ends[1].outputs(x)) / 2e-6, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.hvp(v, x, y, "documents"), (slopes[0] - slopes[1]) / 2e-6, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.vjp(np.ones((3, 1)), x), model.loss_slope(x, y, "documents")[1], atol=1e-12)


@pytest.mark.parametrize("make", FACES)
def test_the_gauss_newton_product_is_that_of_dense_logits(make):
    x = PADDED[:2]
    model = language_model(read_model(make()), x)
    theta, count = model.theta, (x[:, 1:] >= 0)
    v = np.random.default_rng(6).normal(size=len(theta))
    # logits as a model of (n, T V) outputs, whose own products were tested elsewhere
    plain = dataclasses.replace(model, link="identity")
    tokens = np.where(x < 0, -1 - x, x)
    f, pushed = (part.reshape(2, T, V)[:, :-1] for part in (plain.outputs(tokens), plain.jvp(v, tokens)))
    p = np.exp(f - f.max(2, keepdims=True))
    p /= p.sum(2, keepdims=True)
    weights = np.zeros((2, T, V))
    weights[:, :-1] = count[..., None] * p * (pushed - (p * pushed).sum(2, keepdims=True))
    np.testing.assert_allclose(
        model.gauss_newton(v, x, "documents"), plain.vjp(weights.reshape(2, -1), tokens), rtol=1e-9, atol=1e-10
    )


def test_padding_is_whatever_the_user_says():
    filled = np.where(PADDED < 0, 4, PADDED)
    whole = read_documents(filled, padding=4)
    keeps = np.where(filled == 4, -5, filled)
    np.testing.assert_array_equal(whole, keeps)
    assert (read_trained(own_jax(), filled, None, padding=4).x == whole).all()
    # fed as token 4 and as token 0: the same loss, since no later token counts
    ends = np.where(PADDED < 0, -1, np.where(PADDED == 4, 5, PADDED))
    fed = np.where(ends < 0, -5, ends)
    np.testing.assert_allclose(
        training_outputs(read_trained(own_jax(), ends, None)),
        training_outputs(read_trained(own_jax(), fed, None)),
        rtol=1e-12,
    )


def test_few_rows_of_a_large_model_pass_at_once(monkeypatch):
    monkeypatch.setattr("lemmata.subjects.trained_models._contract._KEPT", 2**15)
    small = read_model((lambda own, x: jnp.tanh(x @ own["w"]), {"w": np.ones((4, 3))}))
    assert rows_at_once(small, np.ones((5, 4))) == 256
    wide = read_model((lambda own, x: jnp.tanh(x @ own["w"]), {"w": np.zeros((4, 100))}))
    # tanh keeps its 100 outputs, 800 bytes a row, once or twice; the parameters do not count
    assert rows_at_once(wide, np.ones((5, 4))) in (16, 32)
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 200), torch.nn.Tanh())
    assert rows_at_once(read_model(module), np.ones((5, 4))) in (16, 32)


def test_leaving_documents_out_is_training_without_them():
    from lemmata.subjects.trained_models import documents as small

    rng = np.random.default_rng(2)
    moves = rng.dirichlet(np.full(small.TOKENS, 0.7), size=small.TOKENS)
    x = small.walk(rng, moves, 30)
    trained = read_trained((small.next_token, small.initial(rng, 3)), x, None, decay=0.1)
    objective = Objective(trained.model, trained.x, trained.y, trained.task, 0.1)
    whole = dataclasses.replace(objective, model=polish(objective, 3000, 1e-6).model)
    rows = np.array([0, 7, 12, 21])
    found = leave_rows_out(whole, rows, tolerance=1e-6)
    assert found.residual <= 1e-6
    for row, loss, seen in zip(rows, found.losses, found.seen, strict=True):
        rest = np.arange(30) != row
        without = Objective(whole.model, trained.x[rest], trained.y[rest], trained.task, 0.1 * 30 / 29)
        again = float(polish(without, 3000, 1e-6).model.outputs(trained.x[~rest])[0, 0])
        assert seen < again
        assert abs(loss - again) < 0.25 * (again - seen) + 0.02


@pytest.fixture(scope="module")
def examined():
    rng = np.random.default_rng(8)
    model = own_jax()
    x, held = rng.integers(0, V, (24, T)), rng.integers(0, V, (120, T))
    return lemmata.study_model(model, x, None, held=held, decay=0.01, time_limit=None), (model, held)


def test_an_examination_of_a_language_model(examined):
    record, (model, held) = examined[0].record, examined[1]
    assert record.model.task == "language"
    assert all(check.holds for check in record.preflight)
    assert "each token is predicted only from earlier tokens" in [check.name for check in record.preflight]
    assert record.held_error.value == pytest.approx(naive_losses(model, held).mean() / (T - 1), rel=1e-9)
    assert "nats per token" in examined[0].answer
    own = record.gauge("limit_on_document_losses")
    assert own.status == "agrees"
    others = [
        gauge for gauge in record.gauges if gauge.reason.startswith("a language model gives one loss for each document")
    ]
    assert {"held_out_error_from_training_rows", "conformal_coverage"} <= {
        gauge.name.split(".")[-1] for gauge in others
    }
    assert all(gauge.status == "inapplicable" for gauge in others)
    assert not [gauge for gauge in record.gauges if gauge.status == "failed"]


def test_a_model_that_looks_ahead_is_refused():
    ahead = (lambda own, tokens: transformer(own, tokens, ahead=True)), transformer_weights()
    record = lemmata.study_model(ahead, X, None).record
    failed = [check for check in record.preflight if check.holds is False]
    assert [check.name for check in failed] == ["each token is predicted only from earlier tokens"]
    assert record.gauges == []


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda x: x + 0.5, DataError, "fractions"),
        (lambda x: np.where(x == x.max(), V, x), DataError, f"document .*token {V}; rule: below {V}|below {V}"),
        (lambda x: x[:, :1], ShapeError, "at least two"),
        (lambda x: x[:, :, None], ShapeError, "tokens"),
        (lambda x: np.where(np.arange(T) > 0, -1, x), DataError, "only padding after the first token"),
        (lambda x: np.concatenate([x, x], axis=1), ShapeError, "tokens each|that the model accepts|shape"),
    ],
)
def test_documents_that_are_none(change, error, words):
    with pytest.raises(error, match=words) as raised:
        read_trained(own_jax(), change(X), None)
    assert len(str(raised.value).splitlines()) == 1


def test_models_that_give_no_logits_of_tokens():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(ShapeError, match="outputs of a language model"):
        read_trained((lambda own, tokens: own["w"][tokens].sum(1), {"w": np.ones((V, 3))}), X, None)
    with pytest.raises(SettingError, match="language model"):
        read_trained(DecisionTreeClassifier().fit(X, X[:, 0]), X, None)
    with pytest.raises(DataError, match=r"held-out document 1.*token"):
        read_trained(own_jax(), X, None, held=np.full((2, T), V))
