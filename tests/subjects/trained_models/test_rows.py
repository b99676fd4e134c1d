"""Rows and targets as users have them: tokens, images, words, and what is refused in a line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from lemmata.errors import DataError, LemmataError, ShapeError
from lemmata.subjects.trained_models import held_rows, read_model, read_task, read_trained, training_outputs

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.arange(60) % 3
LINEAR = (lambda own, x: x @ own), jnp.asarray(RNG.normal(size=(4, 3)))


def test_tokens_are_not_cast():
    torch = pytest.importorskip("torch")
    tokens = RNG.integers(0, 11, (60, 5))
    net = torch.nn.Sequential(torch.nn.Embedding(11, 4), torch.nn.Flatten(), torch.nn.Linear(20, 3)).double()
    trained = read_trained(net, tokens, Y, held=(tokens[:9].astype(float), Y[:9]))
    assert trained.x.dtype.kind == held_rows(trained)[0].dtype.kind == "i"
    expected = net(torch.from_numpy(tokens)).detach().numpy()
    np.testing.assert_allclose(training_outputs(trained), expected, atol=1e-12)
    v = RNG.normal(size=len(trained.model.theta))
    step = 1e-6
    moved = [trained.model.at(trained.model.theta + sign * step * v).outputs(tokens) for sign in (1, -1)]
    np.testing.assert_allclose(trained.model.jvp(v, tokens), (moved[0] - moved[1]) / (2 * step), atol=1e-6)
    assert trained.model.jacobian(tokens[:2]).shape == (2, 3, len(v))
    with pytest.raises(ShapeError, match="fractions; rule: whole numbers, as in training"):
        read_trained(net, tokens, Y, held=(tokens[:9] + 0.5, Y[:9]))


def test_tokens_of_a_jax_model_and_whole_numbers_that_are_numbers():
    table = jnp.asarray(RNG.normal(size=(11, 3)))
    tokens = RNG.integers(0, 11, (60, 5))
    assert read_trained((lambda own, x: own[x].mean(1), table), tokens, Y).x.dtype.kind == "i"
    pixels = RNG.integers(0, 17, (60, 4)).astype(np.uint8)
    assert read_trained(LINEAR, pixels, Y).x.dtype == np.float64
    torch = pytest.importorskip("torch")
    assert read_trained(torch.nn.Linear(4, 3), pixels, Y).x.dtype == np.float64


def test_images():
    torch = pytest.importorskip("torch")
    images = RNG.normal(size=(60, 1, 6, 6)).astype(np.float32)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 3))
    trained = read_trained(net, images, Y)
    assert training_outputs(trained).shape == (60, 3)
    assert trained.model.input_vjp(np.ones((2, 3)), images[:2]).shape == (2, 1, 6, 6)
    with pytest.raises(
        ShapeError,
        match=r"rows; found shape \(36,\) each; rule: rows that the model accepts; it raised RuntimeError: Expected",
    ):
        read_trained(net, images.reshape(60, 36), Y)


def voting():
    """It has no probabilities and no scores: only classes are seen."""
    return VotingClassifier([("tree", DecisionTreeClassifier(random_state=0))])


@pytest.mark.parametrize("make", [DecisionTreeClassifier, SVC, voting, LogisticRegression])
def test_classes_of_an_estimator_are_its_own(make):
    words = np.array(["c", "a", "b"])[Y]
    trained = read_trained(make().fit(X, words), X, words, held=(X[:9], words[:9]))
    assert trained.task.labels == ("a", "b", "c")
    predicted = np.array(trained.task.labels)[training_outputs(trained).argmax(1)]
    assert np.mean(predicted == make().fit(X, words).predict(X)) == 1.0
    two = make().fit(X, Y > 0)
    assert np.mean(training_outputs(read_trained(two, X, Y > 0)).argmax(1) == two.predict(X)) == 1.0


def test_probabilities_are_read_as_such_without_derivatives():
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    trained = read_trained(tree, X, Y)
    assert trained.task.outputs == "probabilities"
    np.testing.assert_allclose(trained.task.means(training_outputs(trained)), tree.predict_proba(X), atol=1e-9)


BAD = {
    "a vector": (X[:, 0], Y, {}, r"x; found shape \(60,\)"),
    "no rows": (X[:0], Y[:0], {}, r"x; found shape \(0, 4\)"),
    "words": (X.astype(str), Y, {}, "cells of type <U32; rule: numbers"),
    "complex": (X + 1j, Y, {}, "cells of type complex128"),
    "nan": (np.where(X[7, 2] == X, np.nan, X), Y, {}, "not finite in row 7, counted from 0"),
    "ragged": ([[1.0], [1.0, 2.0]], Y, {}, "x; found a list"),
    "fewer targets": (X, Y[:-1], {}, "found 59 targets; rule: one target for each of the 60 rows"),
    "one target": (X, 3, {}, "found no targets"),
    "target missing": (X, np.where(Y == 1, np.nan, Y), {}, "target in row 1, counted from 0; found nan"),
    "target None": (X, [None, *Y[1:].tolist()], {}, "target in row 0, counted from 0; found None"),
    "mixed": (X, np.array(["a", *Y[1:].tolist()], object), {}, "words and numbers"),
    "fractions": (
        X,
        X[:, 0],
        {},
        "3 outputs for one target value.*pass the classes as whole numbers or texts",
    ),
    "loss of values": (
        X,
        Y,
        {"loss": "huber 1"},
        "3 outputs for one target value in each row.*the huber loss needs one output for each value",
    ),
    "dates": (X, np.zeros(60, "M8[D]"), {}, "type datetime64"),
    "five classes": (
        X,
        np.arange(60) % 5,
        {},
        r"class 3 in row 3, counted from 0.*other classes than 0, 1, 2, .*labels=.*Otherwise leave out",
    ),
    "two words": (
        X,
        np.array(["a", "b"])[Y % 2],
        {},
        "found 3 for 2 classes; rule: one output for each class; remedy: .*labels=",
    ),
    "held of another width": (X, Y, {"held": (X[:, :3], Y)}, r"held-out rows; found shape \(3,\)"),
    "held targets short": (X, Y, {"held": (X, Y[:5])}, r"held-out targets; found shape \(5,\)"),
    "held alone": (X, Y, {"held": X}, "held; found a ndarray; rule: two arrays"),
    "held class": (
        X,
        Y,
        {"held": (X, Y + 1)},
        "class 3 in held-out row 2.*leave out the held-out rows of such classes",
    ),
    "negative decay": (X, Y, {"decay": -1.0}, "decay; found -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_in_a_line(case):
    x, y, rest, message = BAD[case]
    with pytest.raises(LemmataError, match=message) as caught:
        read_trained(LINEAR, x, y, **rest)
    assert "\n" not in str(caught.value)


def test_one_output_for_two_classes_is_a_logit_unless_it_is_a_value():
    one = (lambda own, x: x @ own, jnp.ones((4, 1)))
    for y, second in ((Y % 2, 1), (Y % 2 == 1, True), (np.array(["a", "b"])[Y % 2], "b")):
        own = read_trained(one, X, y)
        assert own.task.labels[1] == second
        assert own.task.outputs == "logits"
        np.testing.assert_allclose(own.task.means(own.model.outputs(X))[:, 1], 1 / (1 + np.exp(-X.sum(1))), rtol=1e-12)
    far = X.sum(1)
    assert np.abs(far).max() > 2
    assert read_trained(one, X, (far > 0).astype(float)).task.is_classification
    with pytest.raises(ShapeError, match=r"1 for 2 classes.*two logits, plus and minus half of it"):
        read_task(read_model(one), X, Y % 2)  # which is not told that the output is a logit
    shrunk = (lambda own, x: 0.5 + x @ own, jnp.full((4, 1), 0.5 / np.abs(far).max()))
    assert read_trained(shrunk, X, (Y % 2).astype(float)).task.loss == "squared"


def test_columns_of_targets_are_values_or_one_class_a_row():
    two = (lambda own, x: x @ own, jnp.ones((4, 2)))
    assert read_trained(two, X, np.stack([Y, 3 * Y], axis=1)).task.loss == "squared"  # whole numbers, too
    assert read_trained(two, X, np.eye(2, dtype=int)[Y % 2]).task.is_classification
    with pytest.raises(DataError, match="found rows with several classes or none; rule: one class per row"):
        read_trained(two, X, np.stack([Y % 2, Y > 0], axis=1).astype(int))
    with pytest.raises(DataError, match=r"found shares of classes; rule: one class per row; remedy: y.argmax\(1\)"):
        read_trained(two, X, 0.8 * np.eye(2)[Y % 2] + 0.1)
    with pytest.raises(DataError, match="targets of held-out rows"):
        read_trained(two, X, np.eye(2)[Y % 2], held=(X, np.ones((60, 2))))


def test_values_are_checked_too():
    one = (lambda own, x: x @ own, jnp.ones((4, 1)))
    with pytest.raises(DataError, match="target in row 2,"):
        read_trained(one, X, np.where(np.arange(60) == 2, np.inf, X[:, 0]))
    with pytest.raises(DataError, match="targets of held-out rows"):
        read_trained(one, X, X[:, 0], held=(X, np.full(60, "a")))


def test_whole_numbers_are_told_apart_by_the_model():
    """A model that rounds says the same of fractions that are whole, so it is a function of numbers."""
    assert read_trained((lambda own, x: jnp.round(x) @ own, LINEAR[1]), np.ones((60, 4), int), Y).x.dtype.kind == "f"
    with jax.enable_x64(True):
        assert read_trained((lambda own, x: own[x[:, 0]], LINEAR[1]), np.ones((60, 4), int), Y).x.dtype.kind == "i"


def test_several_labels_of_a_row_are_values_if_the_loss_says_so():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    y = (x[:, :2] > 0).astype(float)
    model = lambda x: 1 / (1 + np.exp(-x[:, :2]))
    trained = read_trained(model, x, y, loss="squared")
    assert not trained.task.is_classification
    for targets, loss in ((y, None), (y.astype(int), "squared"), (y.astype(int), None)):
        with pytest.raises(DataError, match=r"one class k at a time.*floating-point targets"):
            read_trained(model, x, targets, loss=loss)
    logits = lambda x: np.stack([-x[:, 0], x[:, 0]], 1) / 2
    assert read_trained(logits, x, y[:, 0].astype(int)).task.is_classification


def test_complex_rows_are_refused_with_their_own_remedy():
    with pytest.raises(DataError, match="its real and imaginary part in two columns"):
        read_trained(lambda x: abs(x[:, 0]), np.ones((9, 2), complex), np.ones(9))
