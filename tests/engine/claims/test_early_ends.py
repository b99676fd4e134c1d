"""Claims in ordinary Python that end their list of hypotheses at one that fails, or measure other shapes each time."""

from typing import Any

import numpy as np
import pytest
from jaxtyping import Array, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Hypothesis,
    Source,
    Status,
    run_trials,
    verify,
)
from lemmata.engine.ledger import recorded_trials
from tests.engine.ledger.slow import Numbers


class RootsOfLargeNumbers(Claim[float]):
    """The square of the root of a number that is not too small is at most the number."""

    title = "Roots"
    source = Source("euclid", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Numbers()
    relation = AtMost()
    control = Control("a third of it", lambda value, problem: value / 3)
    traced = False
    least: float = 0.002

    def hypotheses(self, problem: float) -> list[Hypothesis]:
        found = [Hypothesis("it is not too small", problem, ">=", self.least)]
        if bool(found[0].holds):
            found.append(Hypothesis("its root is larger", problem**0.5, ">=", problem))
        return found

    def predict(self, problem: float) -> Any:
        return problem

    def measure(self, problem: float, key: Key[Array, ""]) -> Any:
        return (problem**0.5) ** 2 * (1 - 1e-9)


class OtherShapes(RootsOfLargeNumbers):
    """A measurement whose shape is another in each trial."""

    title = "Shapes"

    def measure(self, problem: float, key: Key[Array, ""]) -> Any:
        return np.zeros(1 + int(10 * problem))


def test_a_list_that_ends_early_leaves_the_others_where_they_are():
    found = run_trials(RootsOfLargeNumbers(least=0.5), {}, 40, 1).stacked
    by_name = {own.name: own for own in found.hypotheses}
    small = np.asarray(by_name["it is a probability"].value) < 0.5
    assert 5 < small.sum() < 35
    assert (np.isnan(by_name["its root is larger"].value) == small).all()
    assert (found.holds == ~small).all()
    assert not found.undefined.any()


def test_few_such_trials_are_dropped_and_many_are_named():
    assert verify(RootsOfLargeNumbers(), progress=False).status is Status.SUPPORTED
    many = verify(RootsOfLargeNumbers(least=0.6), progress=False)
    assert many.status is Status.INAPPLICABLE
    assert "the median of 'it is not too small' is" in many.reason


def test_a_hypothesis_that_is_not_a_number_is_a_failure_still():
    class Undefined(RootsOfLargeNumbers):
        """A claim whose hypothesis is no number where a problem is small."""

        def hypotheses(self, problem: float) -> list[Hypothesis]:
            return [Hypothesis("it is known", np.nan if problem < 0.5 else problem, "<=", 1.0)]

    verdict = verify(Undefined(), progress=False)
    assert verdict.status is Status.FAILED
    assert "'it is known' is NaN" in verdict.reason


def test_the_ledger_reads_them_as_they_were(tmp_path):
    claim = RootsOfLargeNumbers(least=0.5)
    plain, path = run_trials(claim, {}, 40, 1).stacked, tmp_path / "ledger.sqlite"
    for _ in range(2):
        kept = recorded_trials(path, 1, claim, {}, 40, 1).stacked
        for one, other in zip(plain.hypotheses, kept.hypotheses, strict=True):
            assert one.name == other.name
            np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(plain.holds, kept.holds)


def test_shapes_that_differ_are_a_verdict_and_no_traceback():
    verdict = verify(OtherShapes(), progress=False)
    assert verdict.status is Status.FAILED
    assert "different shapes" in verdict.reason


@pytest.mark.parametrize("least", [0.0, 0.5])
def test_trials_are_the_same_in_any_number(least):
    """A list that ends early in the first trial names the others all the same."""
    claim = RootsOfLargeNumbers(least=least)
    names = [own.name for own in run_trials(claim, {}, 12, 4).stacked.hypotheses]
    assert names == ["it is a probability", "it is not too small", "its root is larger"]
