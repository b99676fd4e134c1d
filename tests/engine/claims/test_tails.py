"""Rare events, heavy tails and differences between problems: what may not be refuted, and what not supported."""

import numpy as np
import pytest

from lemmata.engine.claims import EqualInMean, Status, verify
from lemmata.engine.claims._draws import draws_nothing
from lemmata.engine.claims._families import FAMILIES
from lemmata.engine.claims._laws import lognormal, pareto
from lemmata.engine.claims._statistics import failure_limits, least_mean, mean_limits, stretch
from tests.engine.claims import synthetic, tails
from tests.engine.claims.synthetic import SkewedMean


def judged(claim):
    return verify(claim, progress=False, corners=0)


@pytest.mark.parametrize("claim", [tails.RareMean(), tails.RareMean(base=1.0, said=1.0), tails.RareShare()], ids=str)
def test_a_sample_that_does_not_vary_decides_nothing(claim):
    verdict = judged(claim)
    assert verdict.status is Status.INCONCLUSIVE
    assert "all measurements are equal" in verdict.reason


def test_a_measurement_that_draws_nothing_has_no_sampling_error():
    assert draws_nothing(tails.Deterministic())
    assert not draws_nothing(tails.RareShare())
    assert not draws_nothing(SkewedMean())
    assert judged(tails.Deterministic()).status is Status.SUPPORTED
    assert judged(tails.Deterministic(shift=0.3)).status is Status.REFUTED


@pytest.mark.parametrize(
    ("claim", "status", "said"),
    [
        (tails.SlopesThatDiffer(), Status.INCONCLUSIVE, "measure each problem twice"),
        (tails.ExactSlopesThatDiffer(), Status.REFUTED, "slopes of problems are off by"),
        (tails.SlopesMeasuredTwice(), Status.REFUTED, "slopes of problems are off by"),
        (tails.LimitsThatDiffer(), Status.INCONCLUSIVE, "differences of problems are off by"),
        (tails.OrdersThatDiffer(), Status.INCONCLUSIVE, "of the problems"),
        (tails.StepsWithinRounding(), Status.INCONCLUSIVE, "2 of 2 steps undecided"),
        (tails.SuccessOfTheProblem(), Status.REFUTED, "both tries fail"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "relation") else None,
)
def test_what_averages_out_over_problems_is_not_supported(claim, status, said):
    verdict = judged(claim)
    assert verdict.status is status, verdict.reason
    assert said in verdict.reason


@pytest.mark.parametrize("law", [lognormal(2.0), lognormal(3.0), pareto(1.5), pareto(2.5)], ids=lambda law: "")
@pytest.mark.parametrize("count", [32, 96, 256])
@pytest.mark.parametrize("level", [0.05, 1e-3])
def test_limits_of_means_hold_for_heavy_tails(law, count, level):
    rng = np.random.default_rng(count)
    repeats = 1000
    missed = 0
    for sample in law(rng, (repeats, count)):
        low, high = mean_limits(sample, level)
        missed += not low <= 1 <= high
    assert failure_limits(missed, repeats, 1e-3)[0] <= level, f"missed {missed} of {repeats}"


def test_limits_of_light_samples_are_hardly_wider():
    rng = np.random.default_rng(1)
    assert np.median([stretch(rng.normal(size=256)) for _ in range(200)]) < 1.05
    assert stretch(np.r_[np.zeros(99), 1.0]) == stretch(np.exp(3 * rng.normal(size=256))) == 200.0


def test_betting_holds_for_every_law_between_its_ends():
    rng = np.random.default_rng(2)
    shares = rng.binomial(1, 0.02, (2000, 64)) / 0.02
    missed = sum(least_mean(own, np.zeros(64), 0.05) > 1 for own in shares)
    assert failure_limits(missed, 2000, 1e-3)[0] <= 0.05
    assert least_mean(rng.uniform(size=400), np.zeros(400), 1e-3) > 0.4


def test_ends_that_bound_no_ratio_over_problems_are_refused():
    with pytest.raises(ValueError, match="relative=False"):
        EqualInMean(ends=(0.0, 1.0), over="problems")


def test_there_are_families_of_rare_events_and_heavy_tails():
    words = " ".join(family.what for family in FAMILIES)
    assert all(each in words for each in ("1e-06", "lognormal, deviation 3", "Pareto, index 1.5", "Pareto, index 2.5"))


FAMILIES_OF_RELATIONS = [
    synthetic.TightBound, synthetic.SureBound, synthetic.SureFloor, SkewedMean, synthetic.Identity, synthetic.PowerLaw,
    synthetic.UpperPowerLaw, synthetic.Convergent, synthetic.Falling, synthetic.Existence, tails.RareMean,
    tails.SlopesThatDiffer, tails.SlopesMeasuredTwice, tails.LimitsThatDiffer,
]  # fmt: skip


@pytest.mark.parametrize("budget", range(1, 9))
@pytest.mark.parametrize("kind", FAMILIES_OF_RELATIONS, ids=lambda kind: kind.__name__)
def test_few_trials_are_judged_and_never_a_defect(kind, budget):
    """Two or three trials of a mean ended in an IndexError, although the words asked for a budget of two."""
    verdict = verify(kind(), budget=budget, progress=False, corners=0)
    assert verdict.status in (Status.SUPPORTED, Status.REFUTED, Status.INCONCLUSIVE, Status.VACUOUS)
    assert verdict.executed <= budget


@pytest.mark.parametrize("count", range(1, 12))
def test_the_limits_of_a_few_numbers_hold_their_mean(count):
    for sample in (
        np.arange(count),
        np.array([0.0] * (count - 1) + [1.0]),
        np.random.default_rng(count).normal(size=count),
    ):
        low, high = mean_limits(sample, 0.01)
        assert low <= sample.mean() <= high
        assert stretch(sample) >= 1
