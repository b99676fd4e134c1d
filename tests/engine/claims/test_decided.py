"""How a judgement, its control, trivial values and hypotheses decide a status, on tables that are written here."""

import math

import numpy as np
import pytest

from lemmata.engine.claims import AtLeast, AtMost, Equal, EqualInMean, Rate, Sample, Status, Witness
from lemmata.engine.claims._advice import MOST_TRIALS, advice_on
from lemmata.engine.claims._controls import _moved, _weak, _weak_mean, control_of, status_of
from lemmata.engine.claims._estimates import Estimate
from lemmata.engine.claims._evidence import count_e_value, joined, p_e_value, p_of, shared
from lemmata.engine.claims._judge import _empty, _slack, decide
from lemmata.engine.claims._relations import Judgement
from lemmata.engine.claims._together import at_family_level
from lemmata.engine.claims._verdict import ControlVerdict, Verdict
from tests.engine.claims import synthetic

S = Status


def judgement(holds):
    return Judgement(holds, 0.0, (0.0, 1.0), "said")


ALL, NONE = np.ones((200, 2), bool), np.zeros((200, 2), bool)
ONE = np.stack([np.ones(200, bool), np.zeros(200, bool)], axis=1)


@pytest.mark.parametrize(
    ("holds", "weak", "beyond", "status", "said"),
    [
        (True, "", None, S.SUPPORTED, "said"), (False, "", None, S.REFUTED, "said"),
        (None, "", None, S.INCONCLUSIVE, "said"),
        (True, "weak", None, S.INCONCLUSIVE, "said; but weak, so these trials have no power"),
        (False, "weak", ALL, S.REFUTED, "said"), (None, "weak", None, S.INCONCLUSIVE, "said"),
        (True, "", ALL, S.VACUOUS, "said; beyond the trivial value in 100% of the components"),
        (True, "", ONE, S.VACUOUS, "said; component 1 of 2 is beyond the trivial value in 100% of the trials"),
        (True, "", NONE, S.SUPPORTED, "said"), (None, "", NONE, S.INCONCLUSIVE, "said"),
        (None, "", ONE[:, ::-1], S.VACUOUS, "said; component 2 of 2 is beyond the trivial value in 100% of the trials"),
    ],
)  # fmt: skip
def test_a_status_is_decided_by_the_first_that_applies(holds, weak, beyond, status, said):
    assert decide(judgement(holds), weak, beyond, ()) == (status, said)


@pytest.mark.parametrize(
    ("holds", "status", "said"),
    [
        (True, S.OUTSIDE, "the conclusion holds"), (False, S.FAILS_OUTSIDE, "the conclusion fails"),
        (None, S.INCONCLUSIVE, "undecided"),
    ],
)  # fmt: skip
def test_outside_the_hypotheses_a_status_has_another_name(holds, status, said):
    assert decide(judgement(holds), "", None, ("a", "b")) == (status, f"{said}, although 'a' is false here; said")


@pytest.mark.parametrize(
    ("count", "sure", "empty"), [(100, False, False), (140, False, True), (200, True, True), (199, True, False)]
)
def test_a_bound_is_vacuous_in_most_trials_or_for_an_undecided_one_in_all(count, sure, empty):
    single = (np.arange(200) < count)[:, None]
    assert bool(_empty(single, sure)) is empty
    assert not empty or "of the trials" in _empty(single, sure)


def test_one_component_is_vacuous_only_beyond_chance():
    beyond = np.zeros((40, 2), bool)
    beyond[:22, 0] = True  # 22 of 40 may be half of them
    assert _empty(beyond, sure=False) == ""
    beyond[:38, 0] = True
    assert _empty(beyond, sure=False) == "component 1 of 2 is beyond the trivial value in 95% of the trials"


def test_slack_leaves_out_what_cannot_be_divided():
    of = lambda predicted, measured: _slack(Sample(np.array(predicted), np.array(measured), np.ones(len(measured))))
    assert of([1.0, 2.0, 0.0, 3.0, np.inf], [1.0, 1.0, 0.0, 0.0, 1.0]) == pytest.approx((1.05, 1.5, 1.95))
    assert of([1.0], [0.0]) is None
    assert of([1.0], [[1.0, 2.0]]) is None


def sample(predicted, measured):
    return Sample(np.asarray(predicted, float), np.asarray(measured, float), np.ones(len(measured)))


def test_components_that_no_control_can_change_are_left_out():
    own = sample([[1.0, 0.0, np.inf, 2.0]] * 3, np.ones((3, 4)))
    touched, moved = _moved(AtMost(), own, np.array([[2.0, 0.0, np.inf, 2.0]] * 3))
    assert touched.tolist() == [True, False, False, True]
    assert moved.tolist() == [True, False, False, False]
    touched, moved = _moved(AtMost(), own, np.array([[1.0, 0.5, 1.0, 2.0]] + [[1.0, 0.0, np.inf, 2.0]] * 2))
    assert touched.tolist() == [True, True, True, True]
    assert moved.tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("relation", "count", "weak"),
    [
        (AtMost(), 1, False), (AtMost(), 0, True), (AtMost(delta=0.1), 10, True), (AtMost(delta=0.1), 40, False),
        (Equal(), 1, False), (Witness(probability=0.5), 80, False), (Witness(probability=0.5), 50, True),
    ],
)  # fmt: skip
def test_a_control_is_refuted_beyond_what_the_relation_allows(relation, count, weak):
    found = _weak(relation, np.arange(100) < count, 1e-3)
    assert found == ("the control is not refuted" if weak else "")


def test_each_component_of_a_mean_refutes_its_control():
    rng = np.random.default_rng(0)
    measured = 1 + 0.1 * rng.normal(size=(200, 2, 2))
    relation = EqualInMean()
    of = lambda *false: _weak_mean(relation, sample([false] * 200, measured), 1e-3)
    assert of(2.0, 3.0) == ""
    assert of(1.0, 3.0) == "the control is not refuted in component 1 of 2"
    assert of(3.0, 1.0) == "the control is not refuted in component 2 of 2"
    assert _weak_mean(relation, sample(np.ones(200), measured[..., 0]), 1e-3) == "", "the whole has been judged"


def test_a_control_is_told_with_its_share_and_its_distances():
    claim = synthetic.SureBound()
    own = sample([[1.0, 1.0]] * 100, np.stack([np.full(100, 0.9), np.where(np.arange(100) < 30, 0.9, 0.3)], axis=1))
    false = np.array([[0.5, 0.25 * 2]] * 100)
    told, weak = control_of(claim, own, false, 1e-3, each=True)
    assert (told, weak) == (ControlVerdict(S.REFUTED, 0.3, 2.0, 2.0), "")
    told, weak = control_of(claim, own, np.array([[0.5, 1.0]] * 100), 1e-3, each=True)
    assert told == ControlVerdict(S.REFUTED, 0.0, 1.0, 2.0)
    assert weak == "the control is not refuted in component 2 of 2, a component that the control does not change"
    told, weak = control_of(claim, own, np.array([[0.5, 1.0]] * 100), 1e-3, each=False)
    assert (told.violating, weak) == (1.0, "")
    told, weak = control_of(claim, own, np.array([[2.0, 3.0]] * 100), 1e-3, each=True)
    assert (told.status, told.nearest, told.farthest) == (S.SUPPORTED, 2.0, 3.0)
    assert weak == "the control is not refuted by 100 trials"
    assert [status_of(judgement(holds)) for holds in (True, False, None)] == [S.SUPPORTED, S.REFUTED, S.INCONCLUSIVE]


def advised(reason, status=S.INCONCLUSIVE, requested=100, control=S.INCONCLUSIVE, **more):
    claim = synthetic.SureBound()
    own = Verdict(claim.name, claim.source, {}, 0, 1e-3, requested, requested, 1.0, status, reason,
                  control=ControlVerdict(control), **more)  # fmt: skip
    return advice_on(own), own


def test_more_trials_are_advised_where_they_can_help():
    for reason, control, said in (
        ("one case, drawn 9 times, and no power", S.SUPPORTED, "All trials are the same case"),
        ("control does not change it, no power", S.SUPPORTED, "Change the control so that it differs"),
        ("no power", S.SUPPORTED, "they support the control too"),
        ("no power", S.INCONCLUSIVE, "Raise the budget until"),
        ("open", S.INCONCLUSIVE, "Sample more informative problems. The reason says"),
        ("101 trials could settle it", S.INCONCLUSIVE, "Raise the budget to 101 trials."),
        ("100 trials could settle it", S.INCONCLUSIVE, "with another seed"),
        ("50 trials could settle it, 2000 trials could settle it", S.INCONCLUSIVE, "Raise the budget to 2,000 trials."),
        (f"{MOST_TRIALS} trials could settle it", S.INCONCLUSIVE, "Raise the budget to 10,000,000 trials."),
        (f"{MOST_TRIALS + 1} trials could settle it", S.INCONCLUSIVE, "more trials than the 10,000,000"),
    ):  # fmt: skip
        assert said in advised(reason, control=control)[0], reason
    for found, own in (advised("no power", S.SUPPORTED), advised("no power", interrupted=True)):
        assert found == own.remedy


def test_an_interval_that_is_predicted_contains_the_value_or_not():
    relation = Estimate(delta=0.2)
    predicted = np.array([[1.0, 2.0, 3.0]] * 4)
    measured = np.array([[9.0, 0.5, 9.0], [0.0, 1.0, 0.0], [0.0, 2.5, 0.0], [0.0, 3.25, 0.0]])
    assert relation.excess(predicted, measured).tolist() == [[0.5], [0.0], [-0.5], [0.25]]
    assert relation.empty(np.array([[1.0, 2.0, np.inf], [1.0, 2.0, 3.0], [-np.inf, 0, 1]])).tolist() == [
        [True],
        [False],
        [True],
    ]
    found = relation.vacuous(predicted[:2], np.array([2.0, 2.1]))
    assert found is not None
    assert found.tolist() == [[True], [False]]
    assert relation.shown(sample(predicted[:1], measured[:1])) == (2.0, 0.5)
    assert str(relation) == "the predicted interval contains the measured value with probability >= 0.8"
    assert (
        relation.judge(sample(np.repeat(predicted[2:3], 400, 0), np.repeat(measured[2:3], 400, 0)), 1e-3).holds
        is not False
    )
    assert (
        relation.judge(sample(np.repeat(predicted[:1], 400, 0), np.repeat(measured[:1], 400, 0)), 1e-3).holds is False
    )


def test_evidence_is_a_product_and_a_p_value_its_inverse():
    assert joined([]) == 1.0
    assert joined([2.0, 3.0, 0.5]) == pytest.approx(3.0)
    assert joined([1e200, 1e200]) == math.inf
    assert joined([0.0, math.inf]) == 0.0
    assert [p_of(value) for value in (0.5, 1.0, 4.0, math.inf)] == [1.0, 1.0, 0.25, 0.0]
    assert shared(8.0, [2.0, 4.0]) == 4.0 + 6.0 / 4
    assert count_e_value(0, 4, 0.0) == pytest.approx(math.gamma(4.5) / math.gamma(0.5) / math.gamma(5.0))
    for p in (0.001, 0.2, 0.9, 0.9999):
        k = np.linspace(0, 1, 20_001)
        assert p_e_value(p) == pytest.approx(np.trapezoid(k * p ** (k - 1), k), rel=1e-6)
    assert p_e_value(0.0) == p_e_value(-1.0) == math.inf


def verdict(name, status, p):
    claim = synthetic.SureBound()
    return Verdict(name, claim.source, {}, 0, 1e-3, 9, 9, 1.0, status, "said", p_value=p)


def test_a_family_shares_its_level_by_holm():
    found = at_family_level(
        [verdict("a", S.REFUTED, 0.01), verdict("b", S.REFUTED, 0.02), verdict("c", S.FAILED, 0.0)], 0.04
    )
    assert [own.status for own in found] == [S.REFUTED, S.REFUTED, S.FAILED]
    assert [own.level for own in found] == pytest.approx([0.04 / 3, 0.02, 0.04])
    (lost,) = at_family_level([verdict("a", S.REFUTED, 0.01)], 0.04, 5)
    assert (lost.status, lost.level) == (S.INCONCLUSIVE, pytest.approx(0.008))
    assert "refuted (p = 0.01)" in lost.reason
    (kept,) = at_family_level([verdict("a", S.REFUTED, 0.008)], 0.04, 5)
    assert kept.status is S.REFUTED
    (by,) = at_family_level([verdict("a", S.REFUTED, 1e-9)], 0.04, None, {"a": 25.0})
    assert (by.status, by.p_value) == (S.REFUTED, 0.04)
    assert by.reason == "said; the evidence of all sessions is e = 25; the claim is refuted if e is at least 25"
    (less,) = at_family_level([verdict("a", S.REFUTED, 1e-9)], 0.04, None, {"a": 24.9})
    assert less.status is S.INCONCLUSIVE


@pytest.mark.parametrize("relation", [AtLeast(), Rate()])
def test_relations_have_words_for_what_decides(relation):
    assert relation.band
    assert str(relation)
