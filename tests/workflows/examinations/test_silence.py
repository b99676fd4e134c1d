"""What no check looks for is said for a model that it could concern, and only where no check spoke."""

import inspect
import types

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import _findings, run_examination


@pytest.mark.parametrize("status", ["agrees", "disagrees", "unscored", "inapplicable", "unaffordable", "failed", None])
@pytest.mark.parametrize("classifies", [True, False])
def test_triggers_of_backdoors(classifies, status, monkeypatch):
    trained = types.SimpleNamespace(task=types.SimpleNamespace(is_classification=classifies))
    own = None if status is None else types.SimpleNamespace(status=status)
    monkeypatch.setattr(_findings, "of_claim", lambda claim, gauges: own)
    found = inspect.unwrap(_findings._triggers_unseen)(trained, [])  # without the types
    spoke = status in ("agrees", "disagrees", "unscored")
    assert bool(found) is (classifies and not spoke)
    assert all("trigger of a backdoor" in line for line in found)


@pytest.fixture
def spots(monkeypatch):
    """`blind_spots` of a model of which nothing else is to be said, by the error of its curvature; None: not asked."""
    monkeypatch.setattr(_findings, "loss_read", lambda trained: [])
    for name in ("seen_by_outputs", "_stopped", "_triggers_unseen"):
        monkeypatch.setattr(_findings, name, lambda trained, gauges: [])

    def found(error, scored=True):
        monkeypatch.setattr(_findings, "is_known", lambda function, trained: error is not None)
        monkeypatch.setattr(_findings, "rows_left_out", lambda trained: types.SimpleNamespace(error=error))
        trained = types.SimpleNamespace(task=types.SimpleNamespace(scored=scored))
        return inspect.unwrap(_findings.blind_spots)(trained, [])  # without the types

    return found


def test_an_approximate_curvature_is_told_with_its_error_and_an_exact_one_is_not(spots):
    (line,) = spots(0.03)
    assert "differs from the exact curvature by at most 3 %" in line
    assert spots(0.0) == spots(None) == []


def test_a_model_without_scores_has_checks_that_are_left_out(spots):
    (line,) = spots(None, scored=False)
    assert "predicts a class without scores" in line


def test_what_is_examined_without_derivatives_is_not_said_to_be_left_out():
    """A forest judges the labels, and held-out losses show the attack; the example had both as findings, too."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = (x[:, 0] + 0.7 * rng.normal(size=300) > 0).astype(int)
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(x[:150], y[:150])
    whole = run_examination(read_trained(tree, x[:150], y[:150], held=(x[150:], y[150:])))
    few = run_examination(read_trained(tree, x[:80], y[:80]))
    labels, attack = "which training labels are wrong", "how well an attacker recognises training rows"
    for word, left_out in ((labels, False), (attack, False), ("attacks by gradients", True), ("curvature", True)):
        assert (word in whole.notes[0]) is left_out
        assert word in few.notes[0]
