"""Margins of trained classifiers, against libsvm, hand computations and bad input."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, LinearSVC

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.implicit import margins


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    high = x @ [1, 2, 0, -1.0] > 0
    return x + np.where(high, 0.5, -0.5)[:, None] * np.array([1, 2, 0, -1]) / 6**0.5, np.where(high, "b", "a")


def test_support_vector_machine_attains_the_margin(rows):
    x, y = rows
    centred = np.concatenate([x, -x]), np.concatenate([y, np.where(y == "a", "b", "a")])
    found = margins(SVC(kernel="linear", C=1e9, tol=1e-8).fit(*centred), *centred)
    machine = SVC(kernel="linear", C=1e9, tol=1e-8).fit(*centred)
    assert found.attained == pytest.approx(1.0, rel=1e-4)
    assert found.cosine == pytest.approx(1.0, rel=1e-6)
    assert found.largest == pytest.approx(1 / np.linalg.norm(machine.coef_), rel=1e-4)
    assert found.errors == 0.0


def test_scores_by_hand():
    """Scores 3, 1, -2 of classes 1, 0, 0 have the margins 3, -1, 2; the layer (0, 2) has the norm 2."""
    found = margins(lambda x: x[:, 0], [[3.0], [1.0], [-2.0]], [1, 0, 0], layers=[[[0.0, 2.0]]])
    np.testing.assert_allclose(found.values, [3.0, -1.0, 2.0])
    np.testing.assert_allclose(found.normalised, [1.5, -0.5, 1.0])
    assert found.errors == pytest.approx(1 / 3)
    assert found.attained is None
    assert "fails" in str(found)


def test_several_classes_by_hand():
    """Two classes as two scores: the differences are those of one score, with |(w, -w)| = sqrt(2) |w|."""
    x = np.array([[2.0, 0.5], [1.0, -1.0], [-1.0, 0.2]])
    model = LogisticRegression(C=1e8, fit_intercept=False, max_iter=10_000).fit(x, [1, 1, 0])
    one = margins(model, x, [1, 1, 0])
    model.coef_, model.intercept_ = np.concatenate([-model.coef_, model.coef_]) / 2, np.zeros(2)
    two = margins(model, x, [1, 1, 0])
    np.testing.assert_allclose(two.values, one.values)
    assert (two.attained, two.cosine) == pytest.approx((one.attained, one.cosine))
    assert two.largest == pytest.approx(one.largest * 2**0.5)


def test_network_of_scikit_learn(rows):
    x, y = rows
    labels = np.argmax(x[:, :3], axis=1)
    model = MLPClassifier((20,), max_iter=3000, random_state=0).fit(x, labels)
    found = margins(model, x, labels, optimiser="adam")
    chance = model.predict_proba(x)
    own = chance[np.arange(60), labels]
    others = np.where(np.arange(3) == labels[:, None], 0.0, chance).max(axis=1)
    np.testing.assert_allclose(found.values, np.log(own / others), rtol=1e-6)
    assert found.norm == "l_inf"
    assert 0 < found.attained <= 1
    assert found.norms == pytest.approx([np.linalg.norm(layer, 2) for layer in model.coefs_])
    two = MLPClassifier((9,), random_state=0, max_iter=3000).fit(x, y)
    assert margins(two, x, y).errors == pytest.approx(1 - two.score(x, y))


def test_network_of_torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2)).double()
    x = np.random.default_rng(0).normal(size=(8, 2)) * 3
    scores = model(torch.as_tensor(x)).detach().numpy()
    found = margins(model, x, scores.argmax(axis=1))
    np.testing.assert_allclose(found.values, np.abs(scores[:, 0] - scores[:, 1]))
    assert found.norms == pytest.approx([float(torch.linalg.matrix_norm(model[k].weight.detach(), 2)) for k in (0, 2)])
    assert 0 < found.attained <= 1
    assert model.training


def test_features_that_cannot_be_separated():
    x, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    found = margins(LogisticRegression().fit(x, y), x, y)
    assert found.attained is None
    assert "can be separated: fails" in str(found)


LAYER = [[[1.0]]]


@pytest.mark.parametrize(
    ("model", "y", "options", "error", "words"),
    [
        (lambda x: x[:, 0], [0, 1], {}, SettingError, "pass layers"),
        (lambda x: x[:, 0], [0, 1], {"layers": LAYER, "optimiser": "lion"}, SettingError, "one of sgd"),
        (lambda x: x[:, 0], [0], {"layers": LAYER}, ShapeError, "one class for each row"),
        (lambda x: x[:, 0], [0, 3], {"layers": LAYER}, DataError, "whole numbers from 0 to 1"),
        (lambda x: x[:1, 0], [0, 1], {"layers": LAYER}, ShapeError, "scores of model"),
        (lambda x: x[:, 0], [0, 1], {"layers": [[1.0]]}, ShapeError, "matrices"),
        (lambda x: x[:, 0], [0, 1], {"layers": [[[0.0]]]}, DataError, "norm above 0"),
        (3, [0, 1], {"layers": LAYER}, SettingError, "model"),
    ],
)
def test_bad_input(model, y, options, error, words):
    with pytest.raises(error, match=words):
        margins(model, np.array([[1.0], [2.0]]), y, **options)


def test_one_score_for_each_pair_of_classes_is_refused():
    """Three classes have three pairs: the rows of coef_ were taken for classes, with 88 % errors of a perfect model."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    x = rng.normal(size=(60, 3)) + 9 * np.eye(3)[y]
    with pytest.raises(SettingError, match="use LinearSVC"):
        margins(SVC(kernel="linear").fit(x, y), x, y)
    assert margins(LinearSVC().fit(x, y), x, y).errors == 0


@pytest.mark.parametrize("model", [LinearRegression(), MLPRegressor(max_iter=3000, random_state=0)])
def test_a_regression_is_not_a_classifier(model):
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    with pytest.raises(SettingError, match="a fitted classifier"):
        margins(model.fit(x, y), x, y)


def test_a_sparse_last_layer(rows):
    x, y = rows
    model = LogisticRegression().fit(x, y)
    plain = margins(model, x, y)
    np.testing.assert_allclose(margins(model.sparsify(), x, y).values, plain.values)


def test_a_margin_that_rounding_decides():
    """The second column separates; its margin over the scale of the first is too small for double precision."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    model = LogisticRegression().fit(np.stack([rng.normal(size=60), y - 0.5], axis=1), y)
    model.coef_, model.intercept_ = np.array([[0.0, 1.0]]), np.zeros(1)
    for scale in (1e5, 1e6, 1e9):
        found = margins(model, np.stack([scale * rng.normal(size=60), (y - 0.5) / 10], axis=1), y)
        assert (found.errors, found.attained) == (0.0, None)
        assert "can be separated: fails" not in str(found)
        assert "the largest margin can be computed: fails" in str(found)


def test_modules_of_torch_and_tensors():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, y = torch.randn(8, 3, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1] * 4)
    inner = torch.nn.Linear(3, 2).double()
    for model in (inner, torch.nn.Sequential(inner, torch.nn.Identity()), torch.nn.Sequential(inner)):
        scores = inner(x).detach().numpy()
        expected = (scores[:, 1] - scores[:, 0]) * np.array([-1, 1] * 4)
        np.testing.assert_allclose(margins(model, x, y).values, expected)
    function = margins(lambda own: inner(torch.tensor(own)), x, y, layers=[inner.weight])
    np.testing.assert_allclose(function.values, expected)
    assert function.norms == margins(inner, x, y).norms
    with pytest.raises(ShapeError, match="model and x"):
        margins(inner, x[:, :2], y)
    with pytest.raises(ShapeError, match="Flatten"):
        margins(torch.nn.Sequential(inner), x[:, None], y)
    frozen = torch.nn.Sequential(torch.nn.Dropout().eval(), inner)
    margins(frozen, x, y)
    assert (frozen.training, frozen[0].training) == (True, False)


def test_many_classes_with_many_features():
    rng = np.random.default_rng(0)
    y, x = np.arange(400) % 20, rng.normal(size=(400, 1500))
    model = LinearSVC()
    model.classes_, model.coef_, model.intercept_ = np.arange(20), rng.normal(size=(20, 1500)), np.zeros(20)
    found = margins(model, x, y)
    assert found.attained is None
    assert "pass fewer rows" in found.conditions[-1].why


def test_objects_are_classes_and_numbers():
    x = np.array([[1.0], [2.0], [-1.0]], dtype=object)
    found = margins(lambda own: own[:, 0], x, np.array([1, 1, 0], dtype=object), layers=LAYER)
    np.testing.assert_allclose(found.values, [1.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("model", "y", "options", "error", "words"),
    [
        (lambda x: x[:, 0], [1, 1], {"layers": LAYER}, DataError, "class 1 in every row"),
        (lambda x: x[:, 0], ["0", "1"], {"layers": LAYER}, DataError, "classes '0', '1'"),
        (lambda x: x[:, 5], [0, 1], {"layers": LAYER}, SettingError, "model; found IndexError"),
        (lambda x: x[:, 0], [0, 1], {"layers": 3}, SettingError, "a list of weight matrices"),
        (lambda x: x[:, 0], [0, 1], {"layers": ["a"]}, DataError, "the entry 'a'"),
        (lambda x: x[:, 0], [0, 1], {"layers": LAYER, "optimiser": ["sgd"]}, SettingError, "one of sgd"),
    ],
)
def test_more_bad_input(model, y, options, error, words):
    with pytest.raises(error, match=words):
        margins(model, np.array([[1.0], [2.0]]), y, **options)


def test_columns_that_the_model_does_not_have(rows):
    x, y = rows
    model = LogisticRegression().fit(x, y)
    for wrong in (x[:, :2], x[:, :, None]):
        with pytest.raises(ShapeError, match="the columns of the model"):
            margins(model, wrong, y)


def test_columns_of_a_frame_in_another_order():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [5.0, 1.0, 4.0, 2.0]})
    model = LogisticRegression().fit(frame, [0, 0, 1, 1])
    assert margins(model, frame, [0, 0, 1, 1]).errors == 0
    with pytest.raises(DataError, match="columns 'b', 'a'; rule: the columns of the model in its order: 'a', 'b'"):
        margins(model, frame[["b", "a"]], [0, 0, 1, 1])


def test_rows_of_which_only_a_part_can_be_separated():
    """The first rows decide nothing: their margin is tiny, and a later row contradicts them."""
    x = np.concatenate([np.random.default_rng(0).normal(size=(60, 1)) * 1e7, [[0.0], [0.0]]])
    x = np.concatenate([x, np.tile([-0.5, 0.5], 31)[:, None]], axis=1)
    x[-1, 1] = -0.5
    y = np.tile([0, 1], 31)
    model = LogisticRegression(fit_intercept=False).fit(x / [1e7, 1.0], y)
    found = margins(model, x, y)
    assert found.attained is None
    assert "can be separated: fails" in str(found)
