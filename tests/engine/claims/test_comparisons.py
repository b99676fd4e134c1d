"""Relations at the edges of what they accept, by hand: a comparison, a constant or a sign that is off fails here."""

import math

import numpy as np
import pytest

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Equal,
    EqualInMean,
    Estimate,
    Limit,
    Order,
    Rate,
    Witness,
)
from lemmata.engine.claims._statistics import failure_limits
from tests.engine.claims.by_hand import EPS, LEVEL, RUNGS, alike, sample


@pytest.mark.parametrize(("relation", "sign"), [(AtMost(), 1.0), (AtLeast(), -1.0), (Witness(), -1.0)], ids=str)
def test_a_bound_is_violated_from_beyond_rounding_on(relation, sign):
    within, beyond = 1.0 + 30 * sign * EPS, 1.0 + 40 * sign * EPS
    assert relation.judge(alike(1.0, within, 132), LEVEL).holds is True
    assert relation.judge(alike(1.0, beyond, 132), LEVEL).holds is False
    assert relation.compare(alike(1.0, 1.0, 1)) is True
    assert relation.compare(alike(1.0, beyond, 1)) is False
    assert relation.compare(sample([1.0], [beyond], [2.0])) is True, "a condition number widens what rounding explains"


@pytest.mark.parametrize("relation", [AtMost(), AtLeast(), Witness(), Equal()], ids=str)
def test_what_is_0_on_both_sides_holds_although_it_has_no_tolerance(relation):
    assert relation.judge(alike(0.0, 0.0, 132), LEVEL).holds is True
    assert relation.compare(alike([0.0, 1.0], [0.0, 1.0], 1)) is True
    assert relation.judge(alike([0.0, 1.0], [0.0, 1.0], 132), LEVEL).estimate == (1.0 if relation == Witness() else 0.0)


def test_a_gap_as_large_as_its_tolerance_holds():
    below, above = alike(1.0 - 32 * EPS, 1.0, 132), alike(1.0, 1.0 - 32 * EPS, 132)
    for relation, edge in (
        (AtMost(), below),
        (AtLeast(), above),
        (Witness(), above),
        (Equal(), below),
        (Equal(), above),
    ):
        assert relation.judge(edge, LEVEL).holds is True, relation
        assert relation.compare(edge) is True


@pytest.mark.parametrize(("relation", "sign"), [(AtMost(), 1.0), (AtLeast(), -1.0), (Witness(), -1.0)], ids=str)
def test_one_component_of_one_trial_refutes(relation, sign):
    measured = np.ones((132, 3))
    measured[7, 2] += sign * 1e-6
    judged = relation.judge(sample(np.ones((132, 3)), measured), LEVEL)
    assert judged.holds is False
    assert judged.violating == pytest.approx(1 / 132)
    assert judged.estimate == pytest.approx(1 / 132 if not isinstance(relation, Witness) else 131 / 132)


@pytest.mark.parametrize("relation", [AtMost(), AtLeast(), Witness()], ids=str)
def test_support_needs_as_many_trials_as_the_budget_says(relation):
    needed = relation.budget(LEVEL)
    assert needed == math.ceil(math.log(LEVEL) / math.log(0.9)) == 66
    assert relation.judge(alike(1.0, 1.0, needed), LEVEL).holds is True
    judged = relation.judge(alike(1.0, 1.0, needed - 1), LEVEL)
    assert judged.holds is None
    assert judged.needed == (needed if not isinstance(relation, Witness) else 2 * (needed - 1))
    assert relation.judge(alike(1.0, 1.0, needed), LEVEL).needed is None


def test_a_bound_that_may_fail_is_refuted_where_the_lower_limit_is_above_its_rate():
    relation, trials = AtMost(delta=0.1), 200
    lower = [failure_limits(failures, trials, LEVEL)[0] for failures in range(trials)]
    first = next(failures for failures, low in enumerate(lower) if low > 0.1)
    told = {}
    for failures in (0, 1, first - 1, first):
        measured = np.zeros(trials)
        measured[:failures] = 2.0
        told[failures] = relation.judge(sample(np.ones(trials), measured), LEVEL)
    assert [told[failures].holds for failures in (0, 1, first - 1, first)] == [True, True, None, False]
    assert told[first - 1].needed == 2 * trials
    assert told[first].band == (0.0, 0.1)
    assert told[0].interval == failure_limits(0, trials, LEVEL)
    assert relation.aim == 0.1
    assert (AtMost(resolution=0.2).aim, AtMost(delta=0.05, resolution=0.2).aim) == (0.2, 0.05)


@pytest.mark.parametrize(("relation", "empty"), [(AtMost(), np.inf), (AtLeast(), -np.inf)], ids=str)
def test_infinite_bounds_count_for_nothing(relation, empty):
    predicted = np.ones(132)
    predicted[:67] = empty
    judged = relation.judge(sample(predicted, np.ones(132)), LEVEL)
    assert judged.holds is None, "65 trials are left, and 66 are needed"
    assert "67 infinite bounds" in judged.reason
    predicted[66] = 1.0
    assert relation.judge(sample(predicted, np.ones(132)), LEVEL).holds is True
    nothing = relation.judge(sample(np.full(132, empty), np.ones(132)), LEVEL)
    assert (nothing.holds, nothing.estimate, nothing.interval) == (None, 0.0, (0.0, 1.0))
    assert "infinite" not in relation.judge(sample(np.ones(132), np.ones(132)), LEVEL).reason
    wrong = relation.judge(sample(np.full(132, -empty), np.ones(132)), LEVEL)
    assert wrong.holds is False


@pytest.mark.parametrize("relation", [AtMost(), AtLeast(), Witness(), Equal()], ids=str)
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_the_same_infinity_on_both_sides_holds(relation, infinity):
    with np.errstate(invalid="ignore"):  # NumPy warns of the difference of equal infinities
        assert relation.compare(sample([infinity], [infinity])) is True
        assert relation.compare(sample([[infinity, 1.0]], [[infinity, 2.0]])) is (relation in (AtLeast(), Witness()))
        assert relation.compare(sample([[infinity, 2.0]], [[infinity, 1.0]])) is (relation == AtMost())


def test_which_values_a_relation_cannot_judge():
    values = [1.0, np.nan, np.inf, -np.inf]
    everywhere = [False, True, True, True]
    bounds = {AtMost(): [False, True, False, True], AtLeast(): [False, True, True, False]}
    for relation in (*bounds, Witness(), Equal(), EqualInMean(over="problems"), Rate("n", RUNGS)):
        assert relation.broken(sample(np.ones(4), values)).tolist() == everywhere, relation
        assert relation.broken(sample(values, np.ones(4))).tolist() == bounds.get(relation, everywhere), relation
    pair = sample(np.ones((2, 2)), [[1.0, np.nan], [1.0, 1.0]])
    for relation in (AtMost(), Witness(), Equal()):
        assert relation.broken(pair).tolist() == [True, False]
    zero = sample([[0.0, 1.0], [1.0, 1.0]], np.ones((2, 2)))
    assert EqualInMean(over="problems").broken(zero).tolist() == [True, False]
    assert EqualInMean(over="problems", relative=False).broken(zero).tolist() == [False, False]


def test_a_bound_at_its_trivial_value_is_vacuous():
    trivial = np.ones(3)
    assert AtMost().vacuous(np.array([0.9, 1.0, 1.1]), trivial).ravel().tolist() == [False, True, True]
    for relation in (AtLeast(), Witness()):
        assert relation.vacuous(np.array([0.9, 1.0, 1.1]), trivial).ravel().tolist() == [True, True, False]
    ends = np.array([[0.0, 0.5, 0.9], [0.0, 0.5, 1.0], [0.0, 0.5, 1.1]])
    assert Estimate().vacuous(ends, trivial).ravel().tolist() == [False, True, True]
    assert Estimate().vacuous(ends, np.array([[1.0, 9.0, 9.0]] * 3)).tolist() == [[False], [True], [True]]
    for relation in (Equal(), EqualInMean(), Rate("n", RUNGS)):
        assert relation.vacuous(np.ones(3), trivial) is None


def test_gaps_are_largest_where_a_trial_speaks_most_against_the_statement():
    measured = np.array([[1.0, 3.0], [2.0, 2.0]])
    assert AtMost().gaps(sample(np.full((2, 2), 2.0), measured)) == pytest.approx([1 / 3, 0.0])
    assert AtLeast().gaps(sample(np.full((2, 2), 2.0), measured)) == pytest.approx([0.5, 0.0])
    assert Witness().gaps(sample(np.full((2, 2), 2.0), measured)) == pytest.approx([1.0, 0.0])
    assert AtMost().gaps(sample([[np.inf], [0.0]], [[1.0], [0.0]])) == pytest.approx([-1.0, -1.0])
    assert Equal().gaps(sample([2.0], [2.0 + 96 * EPS])) == pytest.approx([1.5])
    assert EqualInMean(over="problems").gaps(sample([2.0], [3.0])) == pytest.approx([0.5])
    twice = sample([[2.0]], [[[3.0], [2.0]]])
    assert EqualInMean().gaps(twice) == pytest.approx([0.25])
    ladder = np.asarray(RUNGS) ** -0.4
    assert Rate("n", RUNGS).gaps(alike(-0.5, ladder, 1)) == pytest.approx([0.1])
    assert Rate("n", RUNGS, upper=True).gaps(alike(-0.3, ladder, 1)) == pytest.approx([-0.1])
    assert Order("n", RUNGS).gaps(alike(1.0, [0.0, 1.0, 0.5, 3.0], 1)) == pytest.approx([0.5])
    assert Limit("n", RUNGS).gaps(alike(2.0, [9.0, 9.0, 9.0, 1.0], 1)) == pytest.approx([0.5])


def test_one_number_stands_for_a_trial():
    pair = sample([[1.0, 1.0]], [[0.5, 0.9]])
    assert AtMost().shown(pair) == (1.0, 0.9)
    assert AtLeast().shown(pair) == Witness().shown(pair) == (1.0, 0.5)
    assert Equal().shown(pair) == (1.0, 0.9)
    assert EqualInMean().shown(sample([[1.0, 1.0]], [[[0.5, 2.0], [0.5, 4.0]]])) == (1.0, 3.0)
    assert EqualInMean(over="problems").shown(pair) == (1.0, 0.9)
    assert Estimate().shown(sample([[0.0, 1.0, 2.0]], [[0.5, 1.5, 2.5]])) == (1.0, 1.5)
    ladder = alike(-0.5, np.asarray(RUNGS) ** -0.4, 1)
    assert Rate("n", RUNGS).shown(ladder) == pytest.approx((-0.5, -0.4))
    assert Order("n", RUNGS).shown(alike(1.0, [0.0, 1.0, 2.0, 3.0], 1)) == (1.0, 3.0)
    assert Limit("n", RUNGS).shown(alike(2.0, [0.0, 1.0, 2.0, 3.0], 1)) == (2.0, 3.0)


def test_which_shapes_fit():
    for relation in (Rate("n", RUNGS), Order("n", RUNGS)):
        assert relation.misfit((), (4,)) is None
        assert "one number" in str(relation.misfit((1,), (4,)))
        assert "each of the 4 sizes" in str(relation.misfit((), (3,)))
    assert Limit("n", RUNGS).misfit((), (4,)) is None
    assert Limit("n", RUNGS).misfit((), ()) is not None
    for relation in (AtMost(), Witness(), Equal(), EqualInMean(over="problems")):
        assert relation.misfit((2,), (2,)) is None
        assert relation.misfit((2,), (3,)) is not None
    assert EqualInMean().misfit((2,), (2, 2)) is None
    assert EqualInMean().misfit((2,), (2,)) is not None


# Constructions and intervals


def tried_twice(successes, trials, again):
    """The first tries of the first problems attain the value; second tries are what `again` says of the first."""
    first = np.arange(trials) < successes
    return sample(np.ones(trials), np.stack([first, again(first)], axis=1))


def test_a_construction_with_a_probability():
    relation, trials = Witness(probability=0.5, resolution=0.1), 400
    assert relation.budget(LEVEL) is None
    told = {}
    for successes in range(0, trials + 1, 4):
        judged = relation.judge(tried_twice(successes, trials, np.ones_like), LEVEL)
        low, high = failure_limits(trials - successes, trials, LEVEL / 2)
        assert judged.interval == pytest.approx((1 - high, 1 - low))
        assert judged.estimate == pytest.approx(successes / trials)
        assert judged.holds is (False if 1 - low < 0.5 else True if 1 - high >= 0.4 else None)
        told[judged.holds] = judged
    assert set(told) == {True, False, None}
    assert told[True].band == (0.4, 1.0)
    assert told[None].needed >= 2 * trials


def test_a_construction_that_succeeds_on_some_problems_alone_does_not():
    relation, trials = Witness(probability=0.5, resolution=0.1), 400
    told = {}
    for successes in range(200, trials + 1, 4):
        judged = relation.judge(tried_twice(successes, trials, np.copy), LEVEL)
        low, high = failure_limits(trials - successes, trials, LEVEL / 2)
        assert judged.holds is (False if low > 0.25 else True if high <= 0.35 else None), successes
        told[judged.holds] = judged
    assert set(told) == {True, False, None}
    assert "both measurements fail in" in told[False].reason


def test_an_interval_holds_its_ends_and_nothing_beyond():
    relation = Estimate(delta=0.1)
    ends = np.array([1.0, 2.0, 4.0])
    for value, holds in ((1.0, True), (4.0, True), (1.0 - 1e-9, False), (4.0 + 1e-9, False)):
        assert relation.compare(alike(ends, [np.nan, value, np.nan], 1)) is holds or np.isnan(value)
        assert relation.judge(alike(ends, [0.0, value, 9.0], 200), LEVEL).holds is holds
    empty = relation.judge(alike([-np.inf, 2.0, 4.0], [0.0, 2.0, 9.0], 200), LEVEL)
    assert empty.holds is None
    assert "200 infinite bounds" in empty.reason
    assert relation.excess(ends[None], np.array([[0.0, 5.0, 0.0]])).tolist() == [[1.0]]
    assert relation.excess(ends[None], np.array([[0.0, 0.5, 0.0]])).tolist() == [[0.5]]


# Equalities


def test_an_identity_is_equal_up_to_32_eps():
    relation = Equal()
    assert relation.judge(alike([1.0, 1.0], [1.0, 1.0 + 31 * EPS], 66), LEVEL).holds is True
    judged = relation.judge(alike([1.0, 1.0], [1.0, 1.0 + 34 * EPS], 66), LEVEL)
    assert judged.holds is False
    assert judged.violating == judged.interval[1] == 1.0
    assert judged.estimate == pytest.approx(34 / 32)
    assert relation.compare(alike([1.0, 1.0], [1.0, 1.0 + 31 * EPS], 1)) is True
    assert relation.compare(alike([1.0, 1.0], [1.0, 1.0 - 40 * EPS], 1)) is False
    assert relation.judge(alike(0.0, 0.0, 66), LEVEL).holds is True
    assert relation.judge(alike(0.0, 1e-300, 66), LEVEL).holds is False
    few = relation.judge(alike(1.0, 1.0, 65), LEVEL)
    assert (few.holds, few.needed) == (None, 66)
    assert relation.budget(LEVEL) == 66
    assert few.band == (0.0, 1.0)


def test_entries_of_a_block_share_their_largest_value():
    predicted, measured = np.array([[1.0, 1e-9], [1.0, 1e-9]]), np.array([[1.0, 1.001e-9], [1.0, 1e-9]])
    assert Equal().compare(alike(predicted, measured, 1)) is False
    off = np.array([[1.0, 1e-9 + EPS], [1e-9, 1e-9]])
    for block, equal in ((0, False), (1, True), (2, True), (-1, True)):
        assert Equal(block=block).compare(alike(np.array([[1.0, 1e-9], [1e-9, 1e-9]]), off, 1)) is equal
    apart = np.array([[1.0, 1e-9], [1e-9, 1e-9 + EPS]])
    for block, equal in ((1, False), (2, True), (-1, True)):
        assert Equal(block=block).compare(alike(np.array([[1.0, 1e-9], [1e-9, 1e-9]]), apart, 1)) is equal
    false = np.array([[[2.0, 1.0]]])
    assert Equal().distance(np.array([[[1.0, 1.0]]]), false).ravel() == pytest.approx([0.5, 0.0])
    assert Equal(block=1).distance(np.array([[[1.0, 1.0]]]), false).ravel() == pytest.approx([0.5])
    assert Equal(block=-1).distance(np.array([[[1.0, 4.0]]]), false).ravel() == pytest.approx([0.75])
    rows, other = np.array([[[1.0, 2.0], [8.0, 4.0]]]), np.array([[[1.0, 1.0], [8.0, 3.0]]])
    assert Equal(block=1).distance(rows, other).ravel() == pytest.approx([0.5, 0.125])
    for block in (2, 5, -1):
        assert Equal(block=block).distance(rows, other).ravel() == pytest.approx([0.125])
    assert Equal().distance(rows, other).ravel() == pytest.approx([0.0, 0.5, 0.0, 0.25])
    assert Equal().band.endswith("condition number")
    assert Equal(block=1).band.endswith(" of the largest component in its block")
    assert Equal(block=-1).band.endswith(" of the largest")
