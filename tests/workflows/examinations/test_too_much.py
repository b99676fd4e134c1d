"""Gauges that are not begun, because memory or time does not suffice."""

import pytest

from lemmata.errors import MemoryPlanError
from lemmata.workflows.examinations import _run

GIB = 2**30


@pytest.fixture
def asked(monkeypatch, unchecked):
    def answer(size=GIB, left=2 * GIB, seconds=1.0, now=0.0, deadline=10.0):
        monkeypatch.setattr(_run, "memory", lambda claim, trained: size)
        monkeypatch.setattr(_run, "available_bytes", lambda: left)
        monkeypatch.setattr(_run.time, "monotonic", lambda: now)
        return _run._too_much(None, None, seconds, deadline)

    return answer


def test_what_fits_is_begun(asked):
    assert asked() is None
    assert asked(size=2 * GIB) is None
    assert asked(seconds=3.0, now=7.0) is None


def test_memory_that_is_not_there_is_told(asked):
    assert asked(size=3 * GIB) == "it needs 3 GiB of memory, but only 2 GiB are free"
    assert asked(size=2 * GIB + 1) is not None


def test_time_that_is_not_there_is_told(asked):
    told = asked(seconds=3.001, now=7.0)
    assert told.startswith("it takes ")
    assert told.endswith(_run.TOO_LATE)


def test_a_plan_of_the_library_that_is_refused_is_told_in_its_words(asked, monkeypatch):
    asked()

    def refuse(claim, trained):
        raise MemoryPlanError("gram needs 9 GiB")

    monkeypatch.setattr(_run, "memory", refuse)
    assert "gram needs 9 GiB" in _run._too_much(None, None, 0.0, 10.0)
