"""Deployment rows: estimates by hand, what the page says with and without a shift, and when a gauge is silent."""

import dataclasses

import jax
import numpy as np
import pytest

from lemmata.engine.claims import registry
from lemmata.subjects.trained_models import Trained, held_outputs, shift_in_use
from lemmata.subjects.trained_models._deployed_rows import Deployed, DeployedRows
from lemmata.subjects.trained_models.shift import (
    ErrorInUseByConfidence,
    ErrorInUseByThreshold,
    RowsInUseAreAlike,
    by_confidence,
    by_threshold,
    error_in_use,
)
from lemmata.workflows.examinations._findings import signs
from lemmata.workflows.examinations._gauges import gauge

KINDS = (RowsInUseAreAlike, ErrorInUseByConfidence, ErrorInUseByThreshold)
CLAIMS = [next(claim for claim in registry().values() if isinstance(claim, kind)) for kind in KINDS]


def problem(seed=0, **shift):
    population = DeployedRows(hidden=0, **shift)
    return population.sample(population.settings().resolve(None), jax.random.key(seed))


def as_a_user_has_it(own):
    """The same model and rows without the classes of the deployment rows."""
    return Trained(**{field.name: getattr(own, field.name) for field in dataclasses.fields(Trained)})


@pytest.fixture(scope="module")
def alike():
    return problem(1)


@pytest.fixture(scope="module")
def moved():
    return problem(moved=2.0)


def test_estimates_by_hand(alike):
    f, y = alike.model.outputs(alike.held[0]), alike.held[1].argmax(1)
    p = np.exp(f) / np.exp(f).sum(1, keepdims=True)
    used = np.exp(alike.model.outputs(alike.deployed))
    used = (used / used.sum(1, keepdims=True)).max(1)
    wrong = f.argmax(1) != y
    assert by_confidence(alike)[1] == pytest.approx(wrong.mean() + p.max(1).mean() - used.mean())
    reach = 1.96 * np.sqrt((np.var(wrong + p.max(1)) + 1 / 200) * (1 / 200 + 1 / 200))
    assert by_confidence(alike)[2] - by_confidence(alike)[1] == pytest.approx(reach, rel=1e-3)
    threshold = np.sort(p.max(1))[wrong.sum()]  # as many held-out rows are below it as are wrong
    assert by_threshold(alike)[1] == pytest.approx((used < threshold).mean())
    in_use = alike.model.outputs(alike.deployed).argmax(1) != alike.answers.argmax(1)
    assert error_in_use(alike)[1] == pytest.approx(in_use.mean())


def test_without_errors_the_next_row_may_be_wrong(alike):
    right = dataclasses.replace(alike, held=(alike.held[0], np.eye(3)[held_outputs(alike).argmax(1)]))
    low, value, high = by_threshold(right)
    assert (low, value) == (0.0, 0.0)
    assert high == pytest.approx(1.96 * np.sqrt(1 / 200 * 2 / 200), rel=1e-3)


def test_no_shift_the_error_in_use_is_given(alike):
    found = [gauge(claim, alike, 0) for claim in CLAIMS]
    assert [own.status for own in found] == ["agrees"] * 3
    assert [sign.name for sign in signs(alike, found, None) if sign.name == "shift"] == []
    stranger = [gauge(claim, as_a_user_has_it(alike), 0) for claim in CLAIMS]
    assert [own.status for own in stranger] == ["agrees", "unscored", "unscored"]
    assert stranger[1].predicted == found[1].predicted
    assert stranger[1].reason == "without these rows the error in deployment is predicted but not measured"


def test_a_shift_is_named_and_nothing_is_said_of_the_error(moved):
    found = [gauge(claim, as_a_user_has_it(moved), 0) for claim in CLAIMS]
    assert [own.status for own in found] == ["disagrees", "inapplicable", "inapplicable"]
    assert found[1].predicted is None
    assert "p-value of no shift = 0.005, required > 0.05" in found[1].reason
    assert "classes of 404 deployment rows would give the error" in next(
        own.why for own in found[1].hypotheses if own.holds is False
    )
    texts = {sign.name: sign.finding.text for sign in signs(moved, found, None)}
    assert f"an area of {shift_in_use(moved).area:.2f}" in texts["shift"]
    assert "To measure this error to within 0.05, find the classes of 404 deployment rows." in texts["shift"]
    assert "predictions that failed" not in texts


def test_relabelled_rows_are_not_seen_and_the_error_is_missed():
    """What inputs do not show: the same deployment rows, three quarters of them called the next class."""
    found = problem(1, relabelled=0.75)
    assert not shift_in_use(found).seen
    assert error_in_use(found)[0] > by_confidence(found)[2]
    assert error_in_use(found)[0] > by_threshold(found)[2]


@pytest.mark.parametrize("said", ["deployment rows are given", "duplicate", "no held-out rows"])
def test_when_gauges_are_silent(alike, said):
    if said == "deployment rows are given":
        own = dataclasses.replace(alike, deployed=None)
        expected = ["inapplicable"] * 3
    elif said == "duplicate":
        own = dataclasses.replace(alike, deployed=np.concatenate([alike.held[0][:20], alike.deployed[:100]]))
        expected = ["inapplicable"] * 3
    else:
        own = dataclasses.replace(alike, held=None)
        expected = ["agrees", "unscored", "unscored"]
        said = "the prediction of this check needs more held-out rows"
    found = [gauge(claim, own, 0) for claim in CLAIMS]
    assert [one.status for one in found] == expected
    assert said in found[1].reason
    assert isinstance(own, Deployed)
    assert [claim.passes(own) for claim in CLAIMS] == [0.0 if own.deployed is None else 1.0] * 3
