"""What the records of an examination decide: which conditions fail, what is affordable, on which side a number lies."""

import dataclasses
import itertools
import math
import types

import numpy as np
import pytest

from lemmata.subjects.trained_models import LabelDoubts
from lemmata.workflows.examinations import _findings, _gauges, _prediction_sets, _run, _wrong_labels
from lemmata.workflows.examinations._row_names import Names
from lemmata.workflows.records.examinations import Condition, Gauge, GaugeInterval
from lemmata.workflows.records.model_tables import Interval, PosteriorShown

pytestmark = pytest.mark.usefixtures("unchecked")  # the parts that a function looks at stand for the whole
STATUSES = ("agrees", "disagrees", "unscored", "inapplicable", "unaffordable", "failed")


def gauge(status="disagrees", predicted=None, measured=2.5):
    ends = lambda value: None if value is None else GaugeInterval(value, value, value, 0.95)
    return Gauge(
        name="a.claim", title="title", theory="", controls="", source="", status=status, reason="", hypotheses=[],
        predicted=ends(predicted), measured=ends(measured), route="", trivial=None, control="", unexplained="",
        label="", seconds=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("measured", [None, 2.5])
@pytest.mark.parametrize("statuses", [*itertools.product(("agrees", "disagrees", None), repeat=2)])
def test_each_claim_of_privacy_is_refuted_by_its_own_check(monkeypatch, statuses, measured):
    named = {"ClaimedPrivacyBoundsTheAttack": statuses[0], "ClaimCoversItsSteps": statuses[1]}
    own = {name: None if status is None else gauge(status, measured=measured) for name, status in named.items()}
    monkeypatch.setattr(_findings, "of_claim", lambda kind, gauges: own[kind.__name__])
    found = _findings._privacy(types.SimpleNamespace(claimed=(1.25, 1e-5)), [])
    kinds = ("privacy claim refuted", "privacy claim without cover")
    wanted = [kind for kind, status in zip(kinds, statuses, strict=True) if status == "disagrees" and measured]
    assert [sign.name for sign in found] == wanted
    for sign in found:
        assert "epsilon 1.25 at delta 1e-05" in sign.finding.text
        assert "2.5" in sign.finding.text
    assert _findings._privacy(types.SimpleNamespace(claimed=None), []) == []


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(("predicted", "measured"), [(5.0, 2.5), (None, 2.5), (5.0, None)])
def test_a_prediction_that_failed_is_told_unless_another_sentence_tells_it(status, predicted, measured):
    own = gauge(status, predicted, measured)
    apart = dataclasses.replace(own, name=next(iter(_findings._SAID_APART)))
    found = _findings._disagreements([apart, own, dataclasses.replace(own, name="another")])
    told = ["a.claim", "another"] * (status == "disagrees" and predicted is not None and measured is not None)
    assert [sign.finding.rests_on for sign in found] == [[name] for name in told]
    assert {sign.name for sign in found} <= {"predictions that failed"}


@pytest.mark.parametrize(
    ("label", "said"), [("upper", "at most 5"), ("lower", "at least 5"), ("estimate", "4 to 6 (95 %)")]
)
def test_a_prediction_that_failed_is_told_with_its_ends_and_what_it_may_mean(label, said):
    for level, reading in (
        (0.95, "By chance, one in 20 such intervals does not contain the measured value"),
        (1.0, "The reason may be that a hypothesis that was not checked"),
    ):
        ends = GaugeInterval(5.0, 4.0, 6.0, level)
        own = dataclasses.replace(gauge(), predicted=ends, label=label)
        (sign,) = _findings._disagreements([own])
        said = said if label != "estimate" else f"4 to 6{f' ({ends.at})' if ends.at else ''}"
        assert sign.finding.text.startswith(f"title: predicted {said}, measured 2.5. {reading}")


@pytest.mark.parametrize("scored", [False, True])
def test_conditions_fail_that_do_not_hold_or_have_no_value(scored):
    name = _gauges.TO_BE_SCORED[0] if scored else "small"
    for value, holds in itertools.product((None, 1.0, math.nan), (None, True, False)):
        own = Condition(name, value, "<", 2.0, holds, "")
        fails = (holds is False and not scored) or (value is not None and math.isnan(value))
        assert _gauges._failing([own]) == [own] * fails
    both = [Condition("a", 1.0, "<", 2.0, True, ""), Condition("b", 3.0, "<", 2.0, False, "")]
    assert _gauges._failing(both) == both[1:]


@pytest.mark.parametrize("m", [9, 10, 18, 19, 20, 99, 100])
def test_the_limit_of_a_set_is_the_smallest_that_holds_nine_of_ten(m):
    scores = np.random.default_rng(m).permutation(m) + 1.0
    limit = _prediction_sets._limit(scores)
    assert (scores <= limit).sum() >= 0.9 * (m + 1)
    assert (scores <= limit - 1).sum() < 0.9 * (m + 1)


@pytest.mark.parametrize(
    ("covered", "gain", "status"),
    [
        ((0.8, 0.95), None, "agrees"), ((0.9, 0.95), None, "agrees"), ((0.8, 0.9), None, "agrees"),
        ((0.91, 0.95), None, "disagrees"), ((0.8, 0.89), None, "disagrees"), (None, (-0.2, -0.1), "disagrees"),
        (None, (-0.2, 0.0), "agrees"), (None, (0.1, 0.2), "agrees"), (None, None, "unscored"),
        ((0.8, 0.95), (-0.2, -0.1), "agrees"),
    ],
)  # fmt: skip
def test_the_status_of_a_posterior(covered, gain, status):
    ends = lambda own: None if own is None else Interval(sum(own) / 2, *own)
    assert PosteriorShown(level=0.9, covered=ends(covered), gain=ends(gain)).status == status


def test_predicted_over_measured():
    assert gauge(predicted=5.0, measured=2.5).ratio == 2.0
    for predicted, measured in ((None, 2.5), (5.0, None), (5.0, 0.0)):
        assert gauge(predicted=predicted, measured=measured).ratio is None


class Claim:
    """A check that takes so many gradients, and half of them where its question is answered."""

    def __init__(self, title, passes, size=None):
        self.title, self.name, self.count, self.shared = title, title, passes, [title.partition(" ")[0]]
        self.bytes = None if size is None else lambda trained: size

    def passes(self, trained):
        return self.count / (2 if self.shared[0] in trained.known else 1)


def test_prices_are_gradients_times_seconds_and_what_is_shared_is_paid_once(monkeypatch):
    trained = types.SimpleNamespace(known=frozenset())
    assert _gauges.price(Claim("one", 50), trained, 3.0) == 150.0
    assert _gauges.memory(Claim("one", 50), trained) == 0
    assert _gauges.memory(Claim("one", 50, 7), trained) == 7
    monkeypatch.setattr(_run, "price", lambda claim, own, second: claim.passes(own) * second)
    monkeypatch.setattr(_run, "is_known", lambda question, own: question in own.known)
    monkeypatch.setattr(_run, "keep", lambda question, own, value: setattr(own, "known", own.known | {question}))
    claims = [Claim("one a", 50), Claim("one b", 30), Claim("other", 0.1)]
    lines, total = _run._planned(trained, claims, 2.0)
    assert lines == ["one a: 100 s", "one b: 30 s", "other: less than a second"]
    assert total == pytest.approx(130.2)
    assert trained.known == frozenset()


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(("held", "language"), [(True, False), (False, False), (True, True)])
def test_rows_are_weighed_where_leaving_them_out_has_a_result(monkeypatch, status, held, language):
    done, now = [], 1000.0
    monkeypatch.setattr(_run, "held_influence_passes", lambda trained: 4)
    monkeypatch.setattr(_run, "held_influence", lambda trained: done.append(1))
    monkeypatch.setattr(_run, "time", types.SimpleNamespace(monotonic=lambda: now))
    trained = types.SimpleNamespace(held=(1, 2) if held else None, task=types.SimpleNamespace(is_language=language))
    left_out = dataclasses.replace(gauge(status), name=f"a.{_run.LEFT_OUT}")
    for second, left, affordable in (
        (_run._WEIGHING / 4, _run._WEIGHING, True), (_run._WEIGHING / 3.9, math.inf, False),
        (_run._WEIGHING / 4, _run._WEIGHING / 1.1, False),
    ):  # fmt: skip
        done.clear()
        _run._weigh_rows(trained, [gauge(), left_out], second, now + left)
        assert bool(done) == (affordable and held and not language and status in _run.SPOKE)
    done.clear()
    _run._weigh_rows(trained, [gauge()], 0.0, math.inf)
    assert not done, "leaving rows out was not asked"


def test_an_error_of_the_users_function_is_told_where_the_next_steps_would_stand(monkeypatch):
    def fails(*given):
        raise ValueError("a\n  b" + "c" * 300)

    monkeypatch.setattr(_run, "next_steps", fails)
    found = _run._next_steps(None, [], None, 0.0, 0.0)
    assert found["actions"] == []
    assert found["tried"] == ["No action was tried, because of ValueError: a b" + "c" * 197]
    monkeypatch.setattr(_run, "next_steps", lambda *given: (["do"], ["tried"]))
    assert _run._next_steps(None, [], None, 0.0, 0.0) == {"actions": ["do"], "tried": ["tried"]}


def doubts(**given):
    usual = {
        "share": 0.1,
        "low": 0.05,
        "high": 0.2,
        "evidence": 9.0,
        "wrong": np.zeros(4),
        "own": np.ones(4),
        "fitted": 4,
    }
    return LabelDoubts(**usual | given)


def test_labels_look_wrong_where_the_evidence_is_strong_and_the_least_share_is_not_tiny():
    evidence, low = _wrong_labels._EVIDENCE, _wrong_labels._DOUBTED
    for strong, large in itertools.product((True, False), repeat=2):
        own = doubts(evidence=evidence * (1 if strong else 0.99), low=low * (1 if large else 0.99))
        assert _wrong_labels.stands(own) == (strong and large)


def test_rows_that_are_more_likely_wrong_than_right_are_told_the_surest_first():
    own = doubts(wrong=np.array([0.6, 0.5, 0.9, 0.2]))
    told = _wrong_labels._rows(np.array([10, 20, 30, 40]), own, ". Look at rows", Names())
    assert told == ". Look at rows 30, 10 (counted from 0)"
    assert _wrong_labels._rows(np.arange(4), doubts(), ". Look at rows", Names()) == ""
    assert _wrong_labels._share(own) == "10 %"
    assert _wrong_labels._ends(own) == "5 to 20 %"
    assert _wrong_labels._ends(doubts(fitted=3)) == "5 to 20 %, estimated from 3 of them"
