"""Rules that a claim's verdict must obey, at their limits: made verdicts, of which one figure is changed at a time."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    Corner,
    EqualInMean,
    Hypothesis,
    Integer,
    Outcome,
    Real,
    Space,
    Status,
    Verdict,
)
from lemmata.engine.claims._check import _pinned, check_ranges, check_verdict
from lemmata.engine.claims._controls import ControlVerdict
from lemmata.engine.claims._faults import Fault, faults, undefined_hypotheses
from lemmata.engine.claims._problems import keys_in, stored_measurement
from lemmata.engine.claims._settings import _between, _region
from lemmata.engine.claims._trials import trial_key
from lemmata.engine.claims._verdict import plain_json
from lemmata.errors import ClaimError, SettingError
from tests.engine.claims import synthetic

CLAIM = synthetic.SureBound()
CONTROL = ControlVerdict(Status.REFUTED, 0.5, 2.0, 2.0)
GOOD = Verdict(
    CLAIM.name, CLAIM.source, {"n": 40}, 0, 1e-3, 100, 100, 1.0, Status.SUPPORTED, "said", judged=100, control=CONTROL,
    slack=(1.0, 2.0, 4.0),
)  # fmt: skip


def refused(claim: Claim = CLAIM, control=None, **more):
    """What a verdict is refused for; empty if it is not."""
    control = CONTROL if control is None else dataclasses.replace(CONTROL, **control)
    try:
        check_verdict(claim, dataclasses.replace(GOOD, control=control, **more))
    except ClaimError as error:
        return str(error)
    return ""


def corners(*statuses):
    return tuple(Corner({"n": 2}, status, "") for status in statuses)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""), ({"judged": 0}, "no trial was judged"),
        ({"status": Status.REFUTED}, "verdict refuted at seed 0: said"),
        ({"status": Status.VACUOUS}, "verdict vacuous"),
        ({"corners": corners(Status.INAPPLICABLE, Status.SUPPORTED)}, ""),
        ({"corners": corners(Status.INAPPLICABLE, Status.SUPPORTED, Status.INAPPLICABLE)}, "at 2 of the 3 extra"),
        ({"corners": corners(Status.INAPPLICABLE)}, "at 1 of the 1 extra settings"),
    ],
)  # fmt: skip
def test_a_verdict_is_as_expected_and_rests_on_trials(more, said):
    assert said in refused(**more)
    assert bool(refused(**more)) is bool(said)


def test_no_more_trials_are_dropped_than_the_population_declares():
    most = math.floor(100 * CLAIM.population.drops + 1e-9)
    assert refused(judged=100 - most) == "", "exactly the declared share"
    found = refused(judged=99 - most, dropped={"a": most + 1, "b": 2})
    assert f"that {most + 1}% of the trials were dropped" in found
    assert f"'a' in {most + 1}, 'b' in 2" in found


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ({"status": Status.INCONCLUSIVE}, "that the control was inconclusive"),
        ({"status": Status.SUPPORTED}, "that the control was supported"), ({"violating": 0.1}, ""),
        ({"violating": 0.0999}, "control refuted by 10% of the trials"), ({"violating": None}, ""),
        ({"farthest": 4.0}, ""), ({"farthest": 4.01}, "control at a distance of 4.01"), ({"farthest": None}, ""),
        ({"nearest": 1.0}, "a component that the control does not change"), ({"nearest": 1.01}, ""),
        ({"nearest": None}, ""),
    ],
)  # fmt: skip
def test_a_control_is_near_and_refuted_in_every_component(control, said):
    found = refused(control=control)
    assert said in found
    assert bool(found) is bool(said)


class Loose(synthetic.SureBound):
    """A bound with a control that may be far."""

    control = Control("half of it", lambda value, problem: value / 2, loose="it is loose")


@pytest.mark.parametrize(
    ("violating", "slack", "status", "said"),
    [
        (0.1, (99.0, 99.0, 99.0), Status.SUPPORTED, ""), (0.09, (16.0, 99.0, 99.0), Status.SUPPORTED, ""),
        (0.09, (16.1, 99.0, 99.0), Status.SUPPORTED, "refuted by 9% of the trials, and a bound that is 16.1 times"),
        (None, (16.1, 99.0, 99.0), Status.SUPPORTED, ""), (0.09, None, Status.SUPPORTED, ""),
    ],
)  # fmt: skip
def test_a_loose_control_is_refuted_by_a_tenth_unless_the_bound_comes_near(violating, slack, status, said):
    found = refused(Loose(), {"violating": violating, "farthest": 1e9, "nearest": 1.0}, slack=slack, status=status)
    assert said in found
    assert bool(found) is bool(said)


class Even(synthetic.SkewedMean):
    """A mean whose resolution and margin can be changed."""


@pytest.mark.parametrize(
    ("resolution", "margin", "nearest", "said"),
    [
        (0.25, 0.1, 2.0, ""), (0.26, 0.1, 2.0, "resolution 0.26, and a control at distance 0.5"),
        (0.1, 0.26, 2.0, "margin 0.26, and a control at distance 0.5"), (0.375, 0.1, 4.0, ""),
        (0.376, 0.1, 4.0, "0.75"),
        (0.376, 0.1, 400.0, "distance 0.75"), (0.376, 0.1, None, ""),
    ],
)  # fmt: skip
def test_margin_and_resolution_are_half_of_the_way_to_the_control(resolution, margin, nearest, said):
    relation = EqualInMean(resolution=resolution, margin=margin)
    claim = type("Even", (Even,), {"__doc__": "Even.", "relation": relation})()
    found = refused(claim, {"nearest": nearest, "farthest": 2.0, "violating": None})
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("variable", "only"),
    [
        (Integer(4, 1, 9), None), (Integer(4, 1, 9, corners=(4, 4)), 4), (Integer(4, 4, 4, corners=(4, 4)), None),
        (Integer(4, 1, 9, corners=(3, 4)), None), (Real(0.5, 0.0, 1.0, corners=(0.5, 0.5)), 0.5),
        (Choice("a", ("a", "b")), None), (Choice("a", ("a", "b"), corners=("b",)), "b"),
        (Choice("a", ("a",), corners=("a",)), None), (Choice("a", ("a", "b"), corners=("a", "b")), None),
    ],
)  # fmt: skip
def test_extra_settings_are_spread_over_a_range(variable, only):
    assert _pinned(variable) == only


class Fixed(synthetic.Numbers):
    """Numbers at one size alone."""

    def settings(self) -> Space:
        return Space(n=Integer(40, 2, 1000, corners=(40, 40)))


def test_a_range_that_is_never_visited_is_refused():
    check_ranges(CLAIM)
    claim = type("Pinned", (synthetic.SureBound,), {"__doc__": "Pinned.", "population": Fixed()})()
    with pytest.raises(ClaimError, match="extra settings that all have n=40"):
        check_ranges(claim)


@pytest.mark.parametrize(
    ("variable", "region"),
    [
        (Integer(40, 2, 1000), (20.0, 80.0)), (Integer(40, 30, 60), (30.0, 60.0)),
        (Integer(40, 2, 99, corners=(3, 5)), (3.0, 5.0)),
        (Real(-4.0, -9.0, 9.0), (-8.0, -2.0)), (Real(0.0, -9.0, 9.0), (0.0, 0.0)),
    ],
)  # fmt: skip
def test_extra_settings_are_half_to_twice_the_default(variable, region):
    assert _region(variable) == region


def test_numbers_between_two_ends_are_even_on_their_scale():
    rng = np.random.default_rng(0)
    for low, high, turned in ((1.0, 100.0, np.log), (-1.0, 3.0, lambda x: x), (0.0, 2.0, lambda x: x)):
        drawn = turned(np.array([_between(rng, low, high) for _ in range(2000)]))
        ends = turned(np.array([low, high])) if low > 0 else np.array([low, high])
        assert ends[0] <= drawn.min() < drawn.max() <= ends[1]
        assert abs(drawn.mean() - ends.mean()) < 5 * (ends[1] - ends[0]) / np.sqrt(12 * 2000)


@pytest.mark.parametrize(
    ("variable", "found"),
    [
        (Integer(10, 1, 99), set(range(5, 21))), (Integer(10, 2, 99, step=4), {8, 12, 16, 20}),
        (Integer(8, 1, 99, step=4, corners=(5, 9)), {8}), (Choice("a", ("a", "b", "c")), {"a", "b", "c"}),
        (Choice("a", ("a", "b", "c"), corners=("b", "c")), {"b", "c"}),
    ],
)  # fmt: skip
def test_extra_settings_are_all_that_the_variable_allows(variable, found):
    rng = np.random.default_rng(0)
    assert {variable.corner(rng) for _ in range(400)} == found


def test_extra_real_numbers_have_three_digits():
    rng, variable = np.random.default_rng(0), Real(0.5, 0.1, 9.0)
    drawn = [variable.corner(rng) for _ in range(200)]
    assert all(value == float(f"{value:.3g}") for value in drawn)
    assert 0.25 <= min(drawn) < 0.28 < 0.9 < max(drawn) <= 1.0


def test_values_of_settings_are_checked_at_the_ends_of_their_ranges():
    for variable, good, bad in (
        (Integer(4, 2, 8), [2, "8", 5], [1, 9, 2.5, "a", True, None]),
        (Integer(4, 2, 8, step=2), [2, 4, 8], [3, 0, 10]),
        (Real(0.5, 0.0, 1.0), [0, "1", 0.25], [-1e-9, 1.1, "nan", "x"]),
        (Choice("a", ("a", "b")), ["a", "b"], ["c", "", None]),
    ):  # fmt: skip
        for value in good:
            found = variable.check("s", value)
            assert found == (value if isinstance(variable, Choice) else float(value))
        for value in bad:
            with pytest.raises(SettingError, match="setting s"):
                variable.check("s", value)


def test_extra_settings_obey_the_rules_and_are_not_the_default():
    space = Space(n=Integer(4, 1, 99), d=Integer(4, 1, 99)).where("n is above d", lambda s: s["n"] > s["d"])
    found = space.corners(5, 3)
    assert len(found) == 5
    assert all(own["n"] > own["d"] for own in found)
    assert len({tuple(own.values()) for own in found}) == 5
    assert found == space.corners(5, 3) != space.corners(5, 4)
    assert space.corners(0, 3) == Space().corners(5, 3) == []
    few = Space(n=Integer(2, 1, 3, corners=(1, 3)))
    assert sorted(own["n"] for own in few.corners(9, 0)) == [1, 3]


def outcome(**more):
    count = 4
    own = {
        "hypotheses": [], "holds": np.ones(count, bool), "undefined": np.zeros(count, bool),
        "predicted": np.ones(count), "false": np.ones(count) / 2, "measured": np.ones(count) / 2,
        "condition": np.ones(count), "trivial": np.full(count, np.nan),
    }  # fmt: skip
    return Outcome(**(own | more))


def at(place, value, size=4):
    array = np.ones(size)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("more", "what", "word"),
    [
        ({"condition": at(2, -1.0)}, "the condition number", "out of its range"),
        ({"condition": at(2, np.inf)}, "the condition number", "infinite"), ({"condition": at(2, 0.0)}, "", ""),
        ({"measured": at(2, np.nan)}, "the measurement", "NaN"),
        ({"measured": at(2, np.inf)}, "the measurement", "infinite"),
        ({"predicted": at(2, np.nan)}, "the prediction", "NaN"),
        ({"predicted": at(2, -np.inf)}, "the prediction", "infinite"),
        ({"false": at(2, np.nan)}, "the control", "NaN"), ({"false": at(2, np.inf)}, "the control", "infinite"),
        ({"false": at(2, np.inf), "predicted": at(2, np.inf)}, "", ""),
        ({"measured": at(2, np.nan), "holds": np.arange(4) != 2}, "", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_told_with_its_first_trial(more, what, word):
    found = list(faults(CLAIM, outcome(**more)))
    if not what:
        assert found == []
        return
    fault = found[0]
    assert fault.where.tolist() == [False, False, True, False]
    assert fault.told(np.array([5, 6, 8, 9])) == f"{what} is {word} in 1 of 4 trials; first: trial 8"


class Known(synthetic.SureBound):
    """A bound with a trivial value."""

    def trivial(self, problem):
        return problem


@pytest.mark.parametrize(
    ("trivial", "holds", "wrong"),
    [
        (np.ones(4), np.ones(4, bool), False), (np.full(4, np.inf), np.ones(4, bool), False),
        (at(1, np.inf), np.ones(4, bool), True), (np.full(4, -np.inf), np.ones(4, bool), True),
        (np.array([np.inf, np.inf, np.inf, 1.0]), np.arange(4) < 3, False), (at(1, np.nan), np.ones(4, bool), True),
    ],
)  # fmt: skip
def test_a_trivial_value_is_infinite_in_every_trial_or_in_none(trivial, holds, wrong):
    found = list(faults(Known(), outcome(trivial=trivial, holds=holds)))
    assert [fault.what for fault in found] == ["the trivial value"] * wrong


def test_hypotheses_without_a_number_are_faults_and_missing_ones_are_not():
    rows = lambda *values: np.array(values, float)
    undefined = np.array([False, True, True, False])
    known = Hypothesis("a", rows(1, np.nan, np.nan, np.nan), ">", np.zeros(4))
    infinite = Hypothesis("b", rows(1, 1, np.inf, 1), ">", np.zeros(4))
    beyond = Hypothesis("c", rows(np.inf, 1, 1, 1), "<", np.full(4, np.inf))
    threshold = Hypothesis("d", np.zeros(4), "<", rows(1, 1, np.nan, 1))
    results = outcome(
        hypotheses=[known, infinite, beyond, threshold, Hypothesis.unchecked("e", "")], undefined=undefined
    )
    found = {fault.what: fault.where.tolist() for fault in undefined_hypotheses(results)}
    assert found == {
        "'a'": [False, True, True, False], "'b'": [False, False, True, False], "'d'": [False, False, True, False]
    }  # fmt: skip
    both = Fault("x", np.array([[np.inf], [np.nan]]), np.array([True, True]))
    assert both.told(np.array([3, 4])) == "x is NaN in 2 of 2 trials; first: trial 3"


def test_a_problem_holds_no_key():
    key = jax.random.key(0)
    assert keys_in(synthetic.Numbers()) == []
    assert keys_in((1.0, "a", None)) == []
    assert keys_in(key) == ["the problem itself"]
    assert keys_in({"a": jax.random.PRNGKey(0)}) == ["['a']"]
    assert len(keys_in([key, np.random.default_rng(0), np.random.RandomState(0), np.random.PCG64(0)])) == 4
    assert keys_in(jnp.zeros(2, "uint32")) == ["the problem itself"]
    assert keys_in((jnp.zeros(3, "uint32"), jnp.zeros(2, "int32"))) == []

    @dataclasses.dataclass
    class Held:
        own: object

    assert keys_in(Held(Held(key))) == ["['own']['own']"]


def test_a_problem_does_not_hold_what_is_measured():
    setting = CLAIM.population.settings().default
    problem = lambda number: np.asarray(
        CLAIM.population.sample(setting, jax.random.split(trial_key(CLAIM, 0, number))[0])
    )
    stored = lambda values: stored_measurement(CLAIM, setting, 0, [np.asarray(value) for value in values])
    measured = [problem(number) for number in range(3)]
    assert stored(measured) == "the problem itself"
    assert stored(1.001 * value for value in measured) is None
    assert stored(measured[:1]) is None, "once may be chance"
    assert stored([measured[0]] * 3) is None, "the setting may decide it"
    assert stored(np.floor(value) + number for number, value in enumerate(measured)) is None
    assert stored([number + 0.5, float(value)] for number, value in enumerate(measured)) == "the problem itself"


def test_plain_values_of_a_record_are_those_of_json():
    given = {"a": (1, np.int64(2), np.float64(0.5)), "b": [math.inf, math.nan, "x", None, True]}
    assert plain_json(given) == {"a": [1, 2, 0.5], "b": [None, None, "x", None, True]}
    assert [type(value) for value in plain_json(given)["a"]] == [int, int, float]


def test_the_worst_setting_is_refuted_then_failed_then_of_the_largest_gap():
    corner = lambda status, gap: Corner({"n": int(gap)}, status, "", gap=gap)
    of = lambda *own: dataclasses.replace(GOOD, corners=own).worst_corner
    fine, near = corner(Status.SUPPORTED, 3.0), corner(Status.INCONCLUSIVE, 9.0)
    failed, refuted, beyond = corner(Status.FAILED, 1.0), corner(Status.REFUTED, 0.0), corner(Status.FAILS_OUTSIDE, 2.0)
    assert of() is None
    assert of(fine, near) == near
    assert of(fine, near, failed) == failed
    assert of(failed, refuted, near) == refuted
    assert of(failed, refuted, beyond, near) == beyond


def test_what_to_do_next_follows_from_the_verdict():
    assert "finished trials" in dataclasses.replace(GOOD, interrupted=True).remedy
    weak = dataclasses.replace(GOOD, status=Status.INCONCLUSIVE, reason="no power: said")
    assert "raise the budget until the control is refuted" in weak.remedy
    assert dataclasses.replace(weak, status=Status.SUPPORTED).remedy == Status.SUPPORTED.remedy
    assert dataclasses.replace(weak, reason="said").remedy == Status.INCONCLUSIVE.remedy
