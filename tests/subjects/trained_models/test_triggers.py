"""Triggers: what a search must find where the smallest change is known, and classes that are alike."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, ShapeError
from lemmata.subjects.trained_models import Triggers, find_triggers, parted, read_model

RNG = np.random.default_rng(3)
CLASSES, FEATURES = 6, 12
X = RNG.normal(size=(200, FEATURES))
W = np.vstack([3 * np.eye(CLASSES), np.zeros((FEATURES - CLASSES, CLASSES))])
DOOR = W.copy()
DOOR[-1, 2] = 40.0  # the last feature, which decides nothing else, opens class 2


def linear(weights):
    return read_model((lambda w, x: x @ w, jnp.asarray(weights)))


@pytest.fixture(scope="module")
def planted():
    x = X.copy()
    x[:, -1] = RNG.random(200) * 0.02  # no row shows what the last feature does, one reaches 1
    x[0, -1] = 1.0
    return x, find_triggers(linear(DOOR), x)


def sent(model, found, x, c):
    others = x[model.outputs(x).argmax(1) != c]
    return float((model.outputs(found.stamp(others, c)).argmax(1) == c).mean())


def test_a_feature_that_opens_a_class_is_the_whole_change(planted):
    """Logits have a spread of 3, so a tenth to a quarter of the way to 1, times 40, sends nine of ten rows."""
    x, found = planted
    assert found.smallest == 2
    assert found.masks[2, -1] > 0.8 * found.masks[2].sum()
    assert 0.1 < found.sizes[2] < 0.4
    assert found.patterns[2, -1] == pytest.approx(1.0, abs=0.1)
    assert found.anomaly > 3.5
    assert 0.85 <= sent(linear(DOOR), found, x, 2) < 1.0


def test_the_door_is_no_wider_than_the_shortest_way(planted):
    """With the last feature alone at its largest value, bisection gives the share of the way that 90 % need."""
    x, found = planted
    model, low, high = linear(DOOR), 0.0, 1.0
    others = x[model.outputs(x).argmax(1) != 2]
    for _ in range(30):
        middle = (low + high) / 2
        moved = others.copy()
        moved[:, -1] += middle * (1.0 - moved[:, -1])
        enough = (model.outputs(moved).argmax(1) == 2).mean() >= 0.9
        low, high = (low, middle) if enough else (middle, high)
    assert 0.8 * high < found.sizes[2] < 1.25 * high


def test_classes_that_are_alike_have_sizes_that_are():
    found = find_triggers(linear(W), X)
    assert found.unreached == 0.0
    assert found.sizes.max() < 1.6 * found.sizes.min()
    assert found.anomaly < 3.5
    for c in range(CLASSES):
        assert sent(linear(W), found, X, c) > 0.75
        assert np.all((found.masks[c] >= 0) & (found.masks[c] <= 1))
        assert np.all((found.patterns[c] >= X.min(0)) & (found.patterns[c] <= X.max(0)))


def test_the_seed_decides():
    one, two = (find_triggers(linear(W), X, steps=20, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.masks, two.masks)
    assert not np.array_equal(one.masks, find_triggers(linear(W), X, steps=20, seed=5).masks)


def test_rows_of_any_shape():
    square = read_model((lambda w, x: x.reshape(len(x), -1) @ w, jnp.asarray(W)))
    flat, found = (find_triggers(model, x, steps=20) for model, x in ((linear(W), X), (square, X.reshape(200, 3, 4))))
    assert found.masks.shape == (CLASSES, 3, 4)
    np.testing.assert_allclose(found.masks.reshape(CLASSES, -1), flat.masks)


def made(sizes):
    return Triggers(np.zeros((len(sizes), 1)), np.zeros((len(sizes), 1)), np.asarray(sizes, float))


def test_the_index_by_hand():
    """log 2, ..., with a median distance of log 2 = 0.69; nearly equal sizes count 0.15 instead."""
    assert made([1, 4, 8, 16, 32]).anomaly == pytest.approx(np.log(8) / np.log(2))
    assert made([0.5, 1, 1, 1, 1]).anomaly == pytest.approx(np.log(2) / 0.15)
    assert made([8.7, 10, 10.1, 10.2, 10.3, 10.4]).anomaly < 2
    assert made([1, 2, 3, np.inf, np.inf]).unreached == pytest.approx(0.4)
    assert np.isnan(made([1, 2, np.inf, np.inf]).anomaly)


def test_rows_that_carry_a_change_come_first():
    found = Triggers(np.array([[0.0, 1.0]]), np.array([[5.0, 1.0]]), np.array([1.0]))
    x = np.array([[5.0, 0.0], [0.0, 0.9], [5.0, 2.0], [-9.0, 1.0]])
    assert found.nearest_rows(x, 0).tolist() == [3, 1, 0, 2]
    np.testing.assert_array_equal(found.stamp(x, 0), [[5, 1], [0, 1], [5, 1], [-9, 1]])


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(DataError, match="rows; found int64; rule: floating-point numbers"):
        find_triggers(linear(W), X.astype(int))
    with pytest.raises(DataError, match="all predicted as class 0"):
        find_triggers(linear(np.zeros((FEATURES, CLASSES))), X)
    with pytest.raises(ShapeError, match="at least two classes"):
        find_triggers(linear(W[:, :1]), X)


def test_rows_that_rest_on_a_feature_lose_their_class_without_it():
    """Class 1 is x1 above 0 or a stamp at x2; a row rests on the stamp where x1 is below 0."""
    model = linear(np.array([[0.0, 1.0], [0.0, 100.0]]))
    x = np.array([[2.0, 0.0], [3.0, 0.0], [-2.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    found = Triggers(np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2)), np.array([1.0, 1.0]))
    others = np.array([[-4.0, 0.0], [-5.0, 0.0]])
    lost = found.rests(model, x, others, 1)
    np.testing.assert_array_equal(lost, [0, 0, 1, 1, 0])
    assert parted(lost) == pytest.approx(1.0)
    # filled from rows of which half have the stamp, a row that rests on it loses its class half of the time
    many = np.repeat(x[2:4], 400, axis=0)
    mixed = found.rests(model, many, np.array([[-4.0, 0.0], [-4.0, 1.0]]), 1, seed=1)
    assert mixed.mean() == pytest.approx(0.5, abs=0.02)
    assert parted(mixed) == pytest.approx(1 / 8, abs=0.02)
    assert parted(np.zeros(0)) == parted(np.ones(3)) == 0.0
