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
