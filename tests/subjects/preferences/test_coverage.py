"""Coverage of a policy by its reference: exact sums, simulated truth, errors that attain the bound."""

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.preferences import coverage


def policies(rng, k=12, distance=0.7):
    ref, move = rng.normal(size=k), distance * rng.normal(size=k)
    ref, policy = ref - np.log(np.exp(ref).sum()), ref + move
    return policy - np.log(np.exp(policy).sum()), ref


def exact(policy, ref):
    p, q = np.exp(policy), np.exp(ref)
    return np.sum(p * (policy - ref)), np.sum(p**2 / q) - 1


def test_draws_in_their_exact_shares_give_the_exact_values():
    policy, ref = np.log([0.5, 0.25, 0.25]), np.log([0.25, 0.25, 0.5])
    drawn = np.repeat([0, 1, 2], [20, 10, 10])
    found, (kl, chi) = coverage(policy[drawn], ref[drawn]), exact(policy, ref)
    assert found.divergence == pytest.approx(kl, rel=1e-12)
    assert found.nonnegative == pytest.approx(kl, rel=1e-12)
    assert found.chi_squared == pytest.approx(chi, rel=1e-12)
    assert found.effective_share == pytest.approx(1 / (1 + chi), rel=1e-12)
    assert found.seen == pytest.approx(1.0, rel=1e-12)
    assert found.vacuous is None


def test_intervals_cover_simulated_truth():
    rng, hits = np.random.default_rng(0), []
    for _ in range(400):
        policy, ref = policies(rng)
        kl, chi = exact(policy, ref)
        drawn = rng.choice(12, 400, p=np.exp(policy))
        found = coverage(policy[drawn], ref[drawn])
        ends = (found.divergence_interval, found.nonnegative_interval, found.chi_squared_interval)
        hits.append([low <= truth <= high for (low, high), truth in zip(ends, (kl, kl, chi), strict=True)])
    covered = np.mean(hits, axis=0)
    print("coverage of KL, of the non-negative estimate, of chi²:", covered.round(3).tolist())
    # four standard errors over 400 runs are 0.044
    assert (np.abs(covered - 0.95) <= 0.044).all()


def test_the_bound_is_attained_by_an_error_like_the_ratio():
    rng = np.random.default_rng(1)
    policy, ref = policies(rng)
    error = np.exp(policy - ref)
    q = np.exp(ref)
    spread = np.sqrt(np.sum(q * error**2) - np.sum(q * error) ** 2)
    gain = np.sum((np.exp(policy) - q) * error)
    drawn = rng.choice(12, 200_000, p=np.exp(policy))
    found = coverage(policy[drawn], ref[drawn], error_sd=spread)
    assert gain <= found.overestimation
    assert found.overestimation == pytest.approx(gain, rel=0.05)


def test_a_policy_far_away_makes_the_bound_vacuous():
    rng = np.random.default_rng(2)
    policy, ref = np.log([0.98, 0.01, 0.01]), np.log([0.01, 0.49, 0.5])
    drawn = rng.choice(3, 500, p=np.exp(policy))
    assert coverage(policy[drawn], ref[drawn], error_range=1.0).vacuous is True
    near = coverage(ref[drawn], ref[drawn], error_range=1.0)
    assert near.vacuous is False
    assert near.overestimation == 0.0


def test_missing_reference_mass_and_lonely_draws_are_said():
    policy = np.full(100, np.log(0.01))
    found = coverage(policy, np.full(100, np.log(0.002)))
    assert found.seen == pytest.approx(0.2)
    assert found.conditions[1].holds is False
    lonely = np.full(100, np.log(0.01))
    lonely[0] = np.log(1e-6)
    found = coverage(np.full(100, np.log(0.01)), lonely)
    assert found.conditions[0].holds is False


def test_texts_so_far_apart_that_ratios_overflow_are_infinite_and_vacuous():
    rng = np.random.default_rng(3)
    policy, ref = -500 - 10 * rng.random(50), -1500 - 10 * rng.random(50)
    found = coverage(policy, ref, error_range=1.0)
    assert found.divergence == pytest.approx(np.mean(policy - ref))
    assert found.chi_squared == found.overestimation == np.inf
    assert found.effective_share == 0.0
    assert found.vacuous is True
    assert found.seen == pytest.approx(0.0, abs=1e-300)
    assert found.conditions[1].holds is False
    other = coverage(ref, policy)
    assert other.nonnegative == np.inf
    assert other.chi_squared == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        (([-1.0] * 10, [-1.0] * 11), {}, ShapeError, "logp 10, logp_ref 11"),
        (([-1.0] * 9, [-1.0] * 9), {}, ShapeError, "at least 10"),
        (([1.0] * 10, [-1.0] * 10), {}, DataError, "none of them above 0"),
        (([-1.0] * 10, [-np.inf] * 10), {}, DataError, "not finite"),
        (([-1.0] * 10, [-1.0] * 10), {"error_sd": 0.0}, SettingError, "error_sd"),
        (([-1.0] * 10, [-1.0] * 10), {"error_range": np.nan}, SettingError, "error_range"),
        (([-1.0] * 10, [-1.0] * 10), {"level": 0.0}, SettingError, "level"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, options, error, said):
    with pytest.raises(error, match=said) as caught:
        coverage(*arguments, **options)
    assert "\n" not in str(caught.value)
