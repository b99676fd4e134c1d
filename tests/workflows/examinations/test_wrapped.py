"""What people wrap models and rows in goes through as what is inside, or its refusal names the wrapper."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import lemmata
from lemmata.errors import LemmataError, MemoryPlanError, SettingError
from lemmata.subjects.trained_models import bare_model, bare_rows, read_trained
from lemmata.workflows.examinations import _pipelines, as_last_step_reads

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(90, 3)), RNG.normal(size=(110, 3))
Y, TARGETS = (X[:, 0] + 0.5 * RNG.normal(size=90) > 0).astype(int), (NEW[:, 0] > 0).astype(int)
LINE = LogisticRegression().fit(X, Y)


def outputs(model, x=X, y=Y, **facts):
    own = read_trained(model, x, y, **facts)
    return own.task.means(own.model.outputs(own.x))


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_its_best_estimator(search):
    told = {} if search is GridSearchCV else {"n_iter": 2}
    found = search(LogisticRegression(), {"C": [0.1, 1.0]}, **told).fit(X, Y)
    own = read_trained(found, X, Y)
    assert own.model.differentiable
    np.testing.assert_allclose(outputs(found), found.predict_proba(X), rtol=1e-6)
    steps = search(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, **told)
    record = lemmata.study_model(steps.fit(X, Y), X, Y, held=(NEW, TARGETS)).record
    assert record.held_error.value == pytest.approx(1 - steps.score(NEW, TARGETS))
    assert record.left_out.predicted is not None
    with pytest.raises(SettingError, match=r"without a best estimator.*refit=True"):
        read_trained(search(LogisticRegression(), {"C": [0.1, 1.0]}, refit=False, **told).fit(X, Y), X, Y)


PLACES = RNG.integers(0, 5, (200, 3))
OFTEN = (PLACES[:, 0] > 2) ^ (RNG.random(200) < 0.1)
TEXTS = [" ".join(f"word{place}" for place in row) for row in PLACES]
STEPS = {
    "categories": (make_pipeline(OneHotEncoder(), LogisticRegression()), PLACES),
    "words": (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS),
    "trees": (make_pipeline(OneHotEncoder(), RandomForestClassifier(10, random_state=0)), PLACES),
    "a search": (GridSearchCV(make_pipeline(TfidfVectorizer(), LogisticRegression()), {}, cv=2), TEXTS),
    "a pipeline in a pipeline": (
        make_pipeline(OneHotEncoder(), make_pipeline(MaxAbsScaler(), LogisticRegression())), PLACES,
    ),
    "a pipeline of one step": (make_pipeline(LogisticRegression()), PLACES),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_pipelines_that_encode_categories_and_words_are_examined(name):
    """Their encoders make sparse matrices; the error is that of the pipeline itself."""
    model, rows = STEPS[name]
    model.fit(rows[:90], OFTEN[:90])
    record = lemmata.study_model(model, rows[:90], OFTEN[:90], held=(rows[90:], OFTEN[90:])).record
    assert all(check.holds is not False for check in record.preflight)
    assert record.held_error.value == pytest.approx(1 - model.score(rows[90:], OFTEN[90:]))
    assert record.train_error.value == pytest.approx(1 - model.score(rows[:90], OFTEN[:90]))


def test_sparse_rows_are_examined():
    """Of a model that was trained on the sparse matrix of a vectorizer; rows of that kind in a list stay a pair."""
    words = TfidfVectorizer().fit(TEXTS)
    x, new = words.transform(TEXTS[:90]), words.transform(TEXTS[90:])
    model = LogisticRegression().fit(x, OFTEN[:90])
    for held in ((new, OFTEN[90:]), [new, OFTEN[90:]]):
        record = lemmata.study_model(model, x, OFTEN[:90], held=held).record
        assert record.held_error.value == pytest.approx(1 - model.score(new, OFTEN[90:]))
        assert record.model.layers == ["bias 2", "weights 2x5"] or "weights 1x5" in record.model.layers


def test_sparse_rows_that_would_fill_the_memory_are_refused(monkeypatch):
    model = STEPS["words"][0].fit(TEXTS, OFTEN)
    monkeypatch.setattr(_pipelines, "available_bytes", lambda: 4 * 8 * 200 * 5 - 1)
    with pytest.raises(MemoryPlanError, match=r"200 rows of 5 columns.*max_features"):
        lemmata.study_model(model, TEXTS, OFTEN)
    monkeypatch.setattr(_pipelines, "available_bytes", lambda: 4 * 8 * 200 * 5)
    np.testing.assert_array_equal(as_last_step_reads(model, TEXTS), model[0].transform(TEXTS).todense())


def test_a_function_of_a_batch_is_seen_by_its_outputs():
    p = LINE.predict_proba(X)
    np.testing.assert_allclose(outputs(lambda x: LINE.predict_proba(x)), p)
    np.testing.assert_allclose(outputs(lambda x: LINE.predict_proba(x)[:, 1]), p)
    np.testing.assert_allclose(outputs(lambda x: LINE.predict_proba(x)[:, 1], y=np.array(["a", "b"])[Y]), p)
    np.testing.assert_allclose(outputs(lambda x: x @ [1.0, 0.0, 0.0], y=X[:, 0] + 0.1)[:, 0], X[:, 0])
    with pytest.raises(LemmataError, match="1 for 2 classes"):  # scores are no probabilities
        read_trained(LINE.decision_function, X, Y)
    record = lemmata.study_model(LINE.predict_proba, X, Y, held=(NEW, TARGETS)).record
    assert record.held_error.value == pytest.approx(1 - LINE.score(NEW, TARGETS))


def test_equinox_modules_with_a_state_predict_at_it():
    class Normed(eqx.Module):
        first: eqx.nn.Linear
        norm: eqx.nn.BatchNorm
        last: eqx.nn.Linear

        def __init__(self, key):
            self.first, self.last = eqx.nn.Linear(3, 5, key=key), eqx.nn.Linear(5, 2, key=key)
            self.norm = eqx.nn.BatchNorm(5, "batch", mode="batch")

        def __call__(self, x, state):
            h, state = self.norm(self.first(x), state)
            return self.last(jnp.tanh(h)), state

    module, state = eqx.nn.make_with_state(Normed)(jax.random.key(0))
    several = jax.vmap(module, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    _, state = several(jnp.asarray(X, jnp.float32), state)
    own = read_trained((module, state), X.astype(np.float32), Y)
    still = eqx.nn.inference_mode(module)
    expected = jax.vmap(lambda row: still(row, state)[0])(jnp.asarray(X, jnp.float32))
    np.testing.assert_allclose(own.model.outputs(own.x), expected, atol=1e-5)
    assert own.model.differentiable


def test_a_state_of_flax_is_its_function_and_parameters():
    train_state = pytest.importorskip("flax.training.train_state")
    linen, optax = pytest.importorskip("flax.linen"), pytest.importorskip("optax")
    module = linen.Dense(2)
    params = module.init(jax.random.key(0), jnp.ones((1, 3)))["params"]
    state = train_state.TrainState.create(apply_fn=module.apply, params=params, tx=optax.sgd(0.1))
    f, own = bare_model(state)
    np.testing.assert_allclose(f(own, jnp.asarray(X)), module.apply({"params": params}, jnp.asarray(X)), rtol=1e-6)
    assert read_trained(state, X.astype(np.float32), Y).model.differentiable


def test_loaders_and_datasets_of_pytorch_are_their_rows():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    for rows in (data, torch.utils.data.DataLoader(data, 16, shuffle=True)):
        x, y = bare_rows(rows)
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(y, Y)
    held = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.tensor(NEW), torch.tensor(TARGETS)))
    own = read_trained(LINE, torch.utils.data.DataLoader(data), None, held=held)
    np.testing.assert_array_equal(own.held[0], NEW)
    alone = torch.utils.data.TensorDataset(torch.tensor(X))
    with pytest.raises(SettingError, match="yields no pairs"):
        bare_rows(alone)


def test_what_cannot_be_unwrapped_is_named():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 2)
    rows = X.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated, and people have its scripts
        scripts = torch.jit.script(module), torch.jit.trace(module, torch.tensor(rows[:2]))
    for script in scripts:
        with pytest.raises(SettingError, match=r"torch\.jit.*nn\.Module that was scripted"):
            read_trained(script, rows, Y)

    class Named(torch.nn.Linear):
        def forward(self, x):
            return {"logits": super().forward(x)}

    class Pair(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x), x

    class Turned(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x).T

    for several, entry in ((Named(3, 2), r"\['logits'\]"), (Pair(3, 2), r"\[0\]")):
        with pytest.raises(LemmataError, match=rf"returns only the logits .* model.register_forward_hook\(.*{entry}\)"):
            read_trained(several, rows, Y)
    several = Named(3, 2)
    several.register_forward_hook(lambda module, x, found: found["logits"])  # the line of the remedy
    np.testing.assert_allclose(
        read_trained(several, rows, Y).model.outputs(rows), several(torch.from_numpy(rows)).detach(), rtol=1e-6
    )
    with pytest.raises(LemmataError, match=r"such as lambda x: model\(x\)\['values'\]"):
        read_trained(lambda x: {"values": x[:, :2]}, rows, Y)
    with pytest.raises(LemmataError, match=r"2 output rows for 90 input rows.*transposes"):
        read_trained(Turned(3, 2), rows, Y)
    with pytest.raises(SettingError, match=r"dictionary of input_ids, attention_mask"):
        read_trained(module, {"input_ids": rows, "attention_mask": rows}, Y)
    with pytest.raises(LemmataError, match="segmentation"):
        read_trained(torch.nn.Conv2d(1, 3, 3, padding=1), np.zeros((9, 1, 4, 4), np.float32), np.zeros((9, 4, 4), int))


@pytest.mark.parametrize(
    ("place", "words"), [("xgboost.core", "Booster"), ("keras.src.models.model", "stateless_call")]
)
def test_other_programs_models_are_refused_with_the_line_that_unwraps_them(place, words):
    model = type("Model", (), {"__module__": place})()
    with pytest.raises(SettingError, match=words):
        read_trained(model, X, Y)


FIRST, SECOND = X[:, :1], X[:, 1:]


def module_of_two():
    torch = pytest.importorskip("torch")

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(3, 2).double()

        def forward(self, first, second):
            return self.line(torch.cat([first, second], 1))

    return Two()


class TwoOfEquinox(eqx.Module):
    line: eqx.nn.Linear

    def __call__(self, first, second):
        return self.line(jnp.concatenate([first, second]))


LINEAR = np.arange(6.0).reshape(3, 2)
OF_TWO = {
    "torch": module_of_two,
    "equinox": lambda: TwoOfEquinox(eqx.nn.Linear(3, 2, key=jax.random.key(0), dtype=jnp.float64)),
    "a function and its parameters": lambda: (lambda own, u, v: jnp.concatenate([u, v], 1) @ own, jnp.array(LINEAR)),
    "a function": lambda: lambda u, v: np.concatenate([u, v], 1) @ LINEAR,
}


@pytest.mark.parametrize("name", OF_TWO)
def test_models_of_two_inputs_are_refused_with_a_line_that_wraps_them(name):
    """The line is run, and the wrapped model gives the outputs for the joined rows."""
    with jax.enable_x64(True):
        model = OF_TWO[name]()
        with pytest.raises(SettingError, match=r"model; found a call that needs 2 inputs: (u, v|first, second)"):
            read_trained(model, X, Y)
        with pytest.raises(SettingError, match=r"x; found a tuple of 2 arrays of shapes \(90, 1\), \(90, 2\)") as error:
            read_trained(model, (FIRST, SECOND), Y)
        own = {"model": model, "jax": jax, "eqx": eqx, "x": (FIRST, SECOND), "np": np}
        own |= dict(zip(("f", "params"), model, strict=True)) if isinstance(model, tuple) else {}
        joined, line = error.value.remedy.removeprefix("join the arrays, ").split(", and split x in the model: ")
        before, _, passed = line.rpartition("pass ")
        exec("\n".join([joined, *before.replace(", and", "").split("; then ")]).strip("; "), own)
        wrapped = eval(passed, own)
        found = read_trained(wrapped, own["x"], Y).model.outputs(X)
        if name == "torch":
            weights, bias = (own.detach().numpy() for own in model.line.parameters())
            expected = X @ weights.T + bias
        else:
            expected = jax.vmap(model.line)(X) if name == "equinox" else X @ LINEAR
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_several_arrays_of_other_shapes_and_dictionaries_are_refused_with_their_line():
    with pytest.raises(SettingError, match=r"x\[:, :4\].reshape\(-1, 2, 2\), x\[:, 4:\].reshape\(-1, 3\)"):
        read_trained(lambda a, b: b, (np.zeros((90, 2, 2)), X), Y)
    with pytest.raises(SettingError, match=r"list\(x.values\(\)\).*\{'a': x\[:, :1\], 'b': x\[:, 1:\]\}"):
        read_trained(lambda rows: rows["b"], {"a": FIRST, "b": SECOND}, Y)
    with pytest.raises(LemmataError, match=r"it raised IndexError.*call the model on x\[:2\]"):
        read_trained(lambda rows: rows["b"], X, Y)
    assert read_trained(lambda rows: rows[:, :2], list(X), Y).x.shape == X.shape  # a list of rows is no list of inputs


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_keras_on_torch_is_differentiated_in_the_weights_that_it_uses():
    """A stand-in with what Keras has: variables that PyTorch cannot replace in a call, and a stateless call."""
    torch = pytest.importorskip("torch")

    class Variable:
        def __init__(self, path, value):
            self.path, self.value = path, value

    class Keras(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own = torch.nn.Parameter(torch.ones(3, 2))
            self.trainable_variables = [Variable("dense/kernel", self.own)]
            self.non_trainable_variables = [Variable("norm/mean", torch.full((3,), 0.5))]

        def stateless_call(self, weights, rest, x, training):
            assert not training
            return (x - rest[0]) @ weights[0], rest

    model = type("Sequential", (Keras,), {"__module__": "keras.src.models.model"})()
    own = read_trained(model, X.astype(np.float32), Y).model
    assert [layer.name for layer in own.layers] == ["dense_kernel"]
    own = own.in_double()
    np.testing.assert_allclose(own.outputs(X[:5]), (X[:5] - 0.5) @ np.ones((3, 2)))
    v = RNG.normal(size=6)
    np.testing.assert_allclose(own.jvp(v, X[:5]), (X[:5] - 0.5) @ v.reshape(3, 2))
    assert float(model.own.detach().sum()) == 6.0
