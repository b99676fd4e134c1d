"""Models that name classes: classes that were read as values are named, and texts are refused with a true remedy."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from lemmata.errors import DataError
from lemmata.subjects.trained_models import held_outputs, read_trained
from lemmata.workflows.examinations._as_values import classes_as_values, shares_as_logits
from lemmata.workflows.examinations._findings import signs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
SCORE = X[:, 0] + 0.3 * RNG.normal(size=120)
Y = np.digitize(SCORE, [-0.7, 0.7])
HELD = X[60:], Y[60:]
MODEL = LogisticRegression().fit(X[:60], Y[:60])


def found(model, y=Y, **facts):
    return classes_as_values(read_trained(model, X[:60], y[:60], held=(X[60:], y[60:]), **facts))


@pytest.mark.parametrize("model", [MODEL.predict, KMeans(3, n_init=1, random_state=0).fit(X).predict])
@pytest.mark.parametrize("kind", [int, float])
def test_numbers_of_classes_that_were_read_as_values_are_named(model, kind):
    (finding,) = found(model, Y.astype(kind))
    assert "read the targets 0, 1, 2 as values" in finding.text
    assert "predict_proba" in finding.text
    trained = read_trained(model, X[:60], Y[:60], held=HELD)
    assert signs(trained, [], None)[0].name == "misread outputs"


def test_the_remedies_of_the_finding_work():
    assert not found(MODEL.predict, loss="squared")
    for model in (MODEL, MODEL.predict_proba, lambda x: (MODEL.predict(x)[:, None] == np.unique(Y)).astype(float)):
        trained = read_trained(model, X[:60], Y[:60], held=HELD)
        assert trained.task.is_classification
        assert not classes_as_values(trained)
        np.testing.assert_array_equal(held_outputs(trained).argmax(1), MODEL.predict(X[60:]))
    assert trained.task.outputs == "classes"  # of the last, which has no probabilities


def test_values_are_not_called_classes():
    assert not found(LinearRegression().fit(X[:60], Y[:60]))
    assert not found(DecisionTreeRegressor().fit(X[:60], Y[:60]))  # it states its loss
    assert not found(lambda x: x[:, 0])
    assert not found(lambda x: np.ones(len(x)))
    assert not found(lambda x: np.round(100 * x[:, 0]), np.round(100 * SCORE))
    assert not found(lambda x: np.round(x[:, 0]) / 2, np.round(SCORE) / 2)


def test_two_classes_that_are_only_named_have_no_confidence():
    y = (Y > 0).astype(int)
    model = LogisticRegression().fit(X[:60], y[:60])
    trained = read_trained(model.predict, X[:60], y[:60], held=(X[60:], y[60:]))
    assert trained.task.outputs == "classes"
    np.testing.assert_array_equal(held_outputs(trained).argmax(1), model.predict(X[60:]))
    assert read_trained(lambda x: model.predict_proba(x)[:, 1], X[:60], y[:60]).task.outputs == "probabilities"


def test_a_module_that_names_classes_is_told_so():
    torch = pytest.importorskip("torch")

    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(2, 3)

        def forward(self, x):
            return self.line(x).argmax(1)

    torch.manual_seed(0)  # with other weights, a module may name one class only
    (finding,) = found(Named(), Y)
    assert "may be classes" in finding.text


def test_names_of_classes_are_refused_with_a_remedy_that_works():
    y = np.array(["low", "mid", "top"])[Y]
    model = LogisticRegression().fit(X[:60], y[:60])
    with pytest.raises(DataError, match=r"outputs; found texts, for example '\w+'; .*predict_proba.*np.unique"):
        read_trained(model.predict, X[:60], y[:60])
    predict = model.predict
    named = lambda x: (np.asarray(predict(x))[:, None] == np.unique(y)).astype(float)
    for own in (model, model.predict_proba, named):
        trained = read_trained(own, X[:60], y[:60], held=(X[60:], y[60:]))
        np.testing.assert_array_equal(np.unique(y)[held_outputs(trained).argmax(1)], predict(X[60:]))


@pytest.mark.parametrize("unit", [100.0, 1000.0])
@pytest.mark.parametrize("decimals", [2, 8])
def test_shares_in_another_unit_are_named_and_the_remedy_works(unit, decimals):
    shares = lambda x: np.round(unit * MODEL.predict_proba(x), decimals)
    trained = read_trained(shares, X[:60], Y[:60], held=HELD)
    (finding,) = shares_as_logits(trained)
    assert f"divide them by {unit:.4g}" in finding.text
    assert "misread outputs" in [sign.name for sign in signs(trained, [], None)]
    remedied = read_trained(lambda x: shares(x) / shares(x).sum(1, keepdims=True), X[:60], Y[:60], held=HELD)
    assert remedied.task.outputs == "probabilities"
    assert not shares_as_logits(remedied)


@pytest.mark.parametrize(
    "form", [lambda p: np.clip(p, 0.02, 0.98), lambda p: np.round(p, 2), lambda p: np.round(p, 1).clip(0.05)],
    ids=["clipped", "rounded", "coarse"],
)  # fmt: skip
def test_clipped_and_rounded_probabilities_are_probabilities(form):
    trained = read_trained(lambda x: form(MODEL.predict_proba(x)), X[:60], Y[:60], held=HELD)
    assert trained.task.outputs == "probabilities"
    assert not shares_as_logits(trained)
    own = form(MODEL.predict_proba(X[60:]))
    np.testing.assert_allclose(trained.task.means(held_outputs(trained)), own / own.sum(1, keepdims=True), atol=1e-12)


def test_probabilities_of_single_classes_are_named_and_the_remedy_works():
    each = lambda x: 1 / (1 + np.exp(-3 * MODEL.decision_function(x)))
    trained = read_trained(each, X[:60], Y[:60], held=HELD)
    assert trained.task.outputs == "logits"
    (finding,) = shares_as_logits(trained)
    assert "divide the outputs of each row by their sum" in finding.text
    remedied = read_trained(lambda x: each(x) / each(x).sum(1, keepdims=True), X[:60], Y[:60], held=HELD)
    assert remedied.task.outputs == "probabilities"


def test_logits_probabilities_votes_and_values_are_no_shares():
    for own in (MODEL, MODEL.predict_proba, MODEL.decision_function, lambda x: np.exp(MODEL.decision_function(x))):
        assert not shares_as_logits(read_trained(own, X[:60], Y[:60], held=HELD))
    values = LinearRegression().fit(X[:60], np.stack([SCORE, 1 - SCORE], 1)[:60])
    assert not shares_as_logits(read_trained(values, X[:60], np.stack([SCORE, 1 - SCORE], 1)[:60]))
