"""What no check looks for is said for a model that it could concern, and only where no check spoke."""

import inspect
import types

import pytest

from lemmata.workflows.examinations import _findings


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
    for name in ("loss_read", "seen_by_outputs"):
        monkeypatch.setattr(_findings, name, lambda trained: [])
    for name in ("_stopped", "_triggers_unseen"):
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
