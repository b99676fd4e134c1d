"""A calibration counts verifications with the required result, and passes what its limits do not contradict."""

import dataclasses
import math

import numpy as np
import pytest

from lemmata.engine.claims import AtLeast, AtMost, Equal, Relation
from lemmata.engine.claims._calibrate import HIGH, LOW, Calibration, _calibrated, _level, as_asked, calibrate
from lemmata.engine.claims._families import FAMILIES, Family
from lemmata.engine.claims._laws import bound, failing, floor
from lemmata.engine.claims._relations import Sample
from lemmata.engine.claims._statistics import failure_limits

HOLDS, FAILS = bound(1.0), bound(0.5)


SURE = AtMost()


def family(draw, asked, relation: Relation = SURE, trials=132, **more):
    return Family(relation, "a bound", asked, trials, draw, **more)


def test_levels_are_those_of_rates_and_of_power():
    assert (LOW, HIGH) == (0.05, 0.001)
    assert [_level(family(HOLDS, asked)) for asked in ("refuted", "not refuted", "covered")] == [HIGH, LOW, LOW]


@pytest.mark.parametrize(
    ("draw", "asked", "wanted"),
    [
        (HOLDS, "refuted", False), (HOLDS, "not refuted", True), (HOLDS, "not supported", False),
        (FAILS, "refuted", True), (FAILS, "not refuted", False), (FAILS, "not supported", True),
    ],
)  # fmt: skip
def test_a_verification_has_the_required_result_or_not(draw, asked, wanted):
    own = family(draw, asked)
    assert as_asked(own, own.sample(np.random.default_rng(0)), 1e-3) is wanted


def test_a_vacuous_bound_is_not_supported():
    for trivial, wanted in ((5.0, False), (3.0, False), (2.0, True), (0.9, True)):
        own = family(bound(1.0), "not supported", trivial=trivial)
        sample = own.sample(np.random.default_rng(0))
        assert as_asked(own, sample, 1e-3) is wanted


@pytest.mark.parametrize(("truth", "wanted"), [(0.05, True), (0.3, False), (0.0, False)])
def test_an_interval_covers_the_truth_or_not(truth, wanted):
    own = family(failing(0.05), "covered", AtMost(delta=0.05), 400, truth=truth)
    assert as_asked(own, own.sample(np.random.default_rng(1)), 0.05) is wanted


def test_an_interval_holds_its_ends():
    sample = Sample(np.ones(20), np.where(np.arange(20) < 2, 2.0, 0.5), np.ones(20))
    low, high = AtMost(delta=0.05).judge(sample, 0.05).interval
    for truth, wanted in ((low, True), (high, True), (low - 1e-9, False), (high + 1e-9, False)):
        assert as_asked(family(HOLDS, "covered", AtMost(delta=0.05), truth=truth), sample, 0.05) is wanted


def test_the_limits_are_those_of_the_share_of_right_verifications():
    flip = lambda rng, trials: (bound(1.0) if rng.uniform() < 0.75 else bound(0.5))(rng, trials)
    found = _calibrated(family(flip, "not refuted"), 3, 40, 5)
    assert (found["level"], found["repeats"]) == (LOW, 40)
    right = round(found["rate"] * 40)
    assert 20 < right < 40
    assert found["rate"] == right / 40
    low, high = failure_limits(40 - right, 40, 1e-3)
    assert found["limits"] == (1 - high, 1 - low)
    assert found["limits"][0] < found["rate"] < found["limits"][1]
    assert _calibrated(family(flip, "not refuted"), 3, 40, 5) == found
    assert any(_calibrated(family(flip, "not refuted"), number, 40, 5) != found for number in (4, 5, 6))
    assert any(_calibrated(family(flip, "not refuted"), 3, 40, seed) != found for seed in (6, 7, 8))


@pytest.mark.parametrize(
    ("asked", "relation", "least"),
    [
        ("refuted", AtMost(), 0.95), ("not refuted", AtMost(), 0.95), ("not supported", AtLeast(), 0.95),
        ("covered", AtMost(), 0.9), ("covered", AtLeast(), 0.9), ("covered", Equal(), 0.95),
    ],
)  # fmt: skip
def test_the_required_share_counts_the_sides_of_an_interval(asked, relation, least):
    draw = floor(1.0) if isinstance(relation, AtLeast) else bound(1.0)
    found = _calibrated(family(draw, asked, relation, 20, truth=0.0), 0, 1, 0)
    assert found["least"] == pytest.approx(least, rel=1e-12)


def test_a_family_in_the_catalogue_is_sent_by_its_number():
    assert _calibrated(5, 5, 2, 0) == _calibrated(FAMILIES[5], 5, 2, 0)


@pytest.mark.parametrize(
    ("limits", "error", "passed"),
    [((0.9, 0.95), "", True), ((0.9, 0.9499), "", False), ((0.99, 1.0), "", True), ((0.99, 1.0), "lost", False)],
)
def test_a_calibration_passes_what_its_limits_do_not_contradict(limits, error, passed):
    own = Calibration(family(HOLDS, "not refuted"), LOW, 10, 0.9, limits, 0.95, error)
    assert own.passed is passed
    assert not dataclasses.replace(own, limits=(0.0, math.nan)).passed


def test_families_are_judged_in_order_and_told():
    told = []
    own = [family(HOLDS, "not refuted"), family(FAILS, "refuted"), family(FAILS, "not refuted")]
    found = calibrate(3, 1, own, lambda done, total: told.append((done, total)))
    assert [each.family for each in found] == own
    assert [each.rate for each in found] == [1.0, 1.0, 0.0]
    assert [each.repeats for each in found] == [3, 3, 3]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
