"""What a record says of a theorem is all that its examination found, and a failure is told with its reason."""

import dataclasses
import inspect
import math
import types

import pytest

from lemmata.engine.claims import registry
from lemmata.errors import DataError
from lemmata.workflows.studies import _claims


@dataclasses.dataclass(frozen=True)
class Condition:
    name: str
    holds: bool | None


CONDITIONS = tuple(Condition(name, holds) for name, holds in (("first", True), ("second", False), ("third", None)))
CLAIM = next(iter(registry().values()))
NUMBERS = inspect.unwrap(_claims._numbers)
"""Without the types, as nothing here looks into the problem."""


def examined(**changes):
    values = {"applies": True, "hypotheses": CONDITIONS, "predicted": 3.0, "measured": 2.0, "ratio": 1.5,
              "trivial": 9.0, "vacuous": None, "agrees": True, "culprit": None}  # fmt: skip
    return types.SimpleNamespace(**{**values, **changes})


@pytest.mark.parametrize("count", range(len(CONDITIONS) + 1))
def test_every_hypothesis_stands_in_the_record(count, monkeypatch):
    monkeypatch.setattr(_claims, "examine", lambda *_: examined(hypotheses=CONDITIONS[:count]))
    found = NUMBERS(CLAIM, None, 0)
    assert found["hypotheses"] == [dataclasses.asdict(own) for own in CONDITIONS[:count]]
    assert (found["prediction"], found["measurement"], found["ratio"], found["trivial"]) == (3.0, 2.0, 1.5, 9.0)


@pytest.mark.parametrize(
    ("changes", "status", "vacuous"),
    [
        ({}, "applies", None), ({"applies": False}, "inapplicable", None), ({"predicted": math.inf}, "failed", None),
        ({"measured": math.nan}, "failed", None), ({"vacuous": 0.5}, "applies", False),
        ({"vacuous": 0.51}, "applies", True),
        ({"applies": False, "measured": math.nan, "vacuous": 1.0}, "inapplicable", True),
    ],
)  # fmt: skip
def test_the_status_is_that_of_hypotheses_and_numbers(changes, status, vacuous, monkeypatch):
    monkeypatch.setattr(_claims, "examine", lambda *_: examined(**changes))
    found = NUMBERS(CLAIM, None, 0)
    assert (found["status"], found["vacuous"]) == (status, vacuous)


@pytest.mark.parametrize("error", [DataError("rows"), ZeroDivisionError("by 0"), RuntimeError("no memory")])
def test_a_computation_that_fails_is_told_with_its_reason(error, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(_claims, "examine", fails)
    assert NUMBERS(CLAIM, None, 0) == {"status": "failed", "culprit": f"the computation failed: {error}"}
