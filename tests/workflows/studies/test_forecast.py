import math

import numpy as np
import pytest

from lemmata.errors import DataError
from lemmata.subjects.forecasts import Interval, forecast
from lemmata.subjects.forecasts._curve_smoothing import smooth

SIZES = np.array([25.0, 50, 100, 200, 400, 800])


def law(n, exponent=0.5, floor=0.0):
    return 2.0 * np.asarray(n, float) ** -exponent + floor


def noisy(random, exponent=0.5, floor=0.0, noise=0.03):
    truth = law(SIZES, exponent, floor)
    return forecast(SIZES, truth * (1 + noise * random.normal(size=len(SIZES))), noise * truth)


@pytest.mark.parametrize(
    ("exponent", "share"), [(0.2, 0.0), (0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (0.2, 0.1), (0.5, 0.1), (1.0, 0.1)]
)
def test_exact_power_laws_are_continued(exponent, share):
    floor = share * float(law(800, exponent))
    found = forecast(SIZES, law(SIZES, exponent, floor), 0 * SIZES)
    for factor in (2, 4, 8):
        truth = float(law(800 * factor, exponent, floor))
        interval = found.error(800 * factor)
        assert interval.lower < truth < interval.upper
        # 2 % of the error per octave: the prior was learned from noisy curves
        assert abs(math.log(interval.value / truth)) < 0.02 * math.log2(factor)


def test_samples_of_an_exact_power_law():
    found = forecast(SIZES, law(SIZES), 0 * SIZES)
    for factor in (0.1, 2, 4):
        n = 800 * factor
        interval = found.samples(float(law(n)))
        assert interval.lower < n < interval.upper
        assert interval.value == pytest.approx(n, rel=0.03)


@pytest.mark.parametrize("factor", [0.5, 4])
def test_coverage_on_noisy_power_laws(factor):
    random = np.random.default_rng(int(10 * factor))
    covered = 0
    for _ in range(60):
        exponent, share = random.uniform(0.15, 1.0), random.choice([0.0, 0.3])
        floor = share * float(law(800, exponent))
        interval = noisy(random, exponent, floor).error(800 * factor)
        covered += interval.lower <= float(law(800 * factor, exponent, floor)) <= interval.upper
    # a binomial of 60 and 0.9 is below 46 with probability 0.0006
    assert covered >= 46


def test_intervals_are_no_wider_than_they_need_be():
    random = np.random.default_rng(0)
    inside = [noisy(random).error(200) for _ in range(20)]
    # at most half again as wide as the normal interval of a single measurement
    assert np.median([interval.upper / interval.lower for interval in inside]) < math.exp(1.5 * 2 * 1.645 * 0.03)
    beyond = [noisy(random).error(3200) for _ in range(20)]
    assert np.median([interval.upper / interval.lower for interval in beyond]) < 2.0


def test_quantiles_increase_with_the_level():
    levels = np.array([0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999])
    sizes = np.geomspace(1, 1e6, 40)
    for seed in range(5):
        found = noisy(np.random.default_rng(seed), noise=0.1).quantiles(sizes, levels)
        assert found.shape == (40, 7)
        assert np.all(np.diff(found, axis=1) >= 0)
        assert np.all(found >= 0)


def test_intervals_widen_with_the_distance():
    found = noisy(np.random.default_rng(3))
    quantiles = found.quantiles(800 * 2.0 ** np.arange(7), [0.05, 0.95])
    assert np.all(np.diff(np.log(quantiles[:, 1] / quantiles[:, 0])) > 0)


def test_no_jump_at_the_last_size():
    found = noisy(np.random.default_rng(4))
    before, after = found.quantiles([800 * (1 - 1e-6), 800 * (1 + 1e-6)], [0.05, 0.5, 0.95])
    np.testing.assert_allclose(before, after, rtol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_samples_are_where_the_quantiles_cross(seed):
    found = noisy(np.random.default_rng(seed), 0.4, 0.05)
    for error in (0.5, 0.3, 0.15, 0.12):
        interval = found.samples(error)
        assert 1 <= interval.lower <= interval.value <= interval.upper
        for n, level in ((interval.lower, 0.05), (interval.value, 0.5), (interval.upper, 0.95)):
            if 1 < n < math.inf and not np.isclose(SIZES, n).any():  # there the measurements may say it
                # the grid is 0.03 wide in ln n: straight between its points is off by its square
                assert float(found.quantiles([n], [level])[0, 0]) == pytest.approx(error, rel=1e-3)
    floor = found.floor()
    for end in ("value", "lower", "upper"):
        least = getattr(floor, end)
        assert math.isfinite(getattr(found.samples(least * 1.001), end))
        if least > 0:
            assert math.isinf(getattr(found.samples(least * 0.999), end))


def test_an_error_that_was_measured_is_in_reach_though_the_curve_rises_again():
    measured = np.array([0.5, 0.3, 0.171, 0.22, 0.3, 0.35])
    found = forecast(SIZES, measured, 0.003 * np.ones(6))
    assert found.error(100).value < 0.24
    assert found.samples(0.24).value < 100
    assert found.floor().value < 0.2


def test_from_where_on_every_measurement_is_better_the_value_is_reached():
    measured = np.array([0.5, 0.45, 0.4, 0.05, 0.04, 0.03])
    found = forecast(SIZES, measured, np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1]))
    assert found.samples(0.06).value <= SIZES[3]
    assert found.samples(0.045).value <= SIZES[4]
    assert found.floor().value <= 0.03


def test_before_the_first_size_nothing_was_measured():
    found = forecast(SIZES, law(SIZES), 0.01 * law(SIZES))
    assert found.samples(2 * law(SIZES[0])) == Interval(SIZES[0], 1.0, SIZES[0])


def test_an_error_that_all_sizes_share_stays_in_the_interval():
    """Of six measurements with an error of 10 % each, the level is known to 10 % where that is in common."""
    se = 0.1 * law(SIZES)
    alone, together = (forecast(SIZES, law(SIZES), se, shared=share).error(SIZES[-1]) for share in (0.0, 0.1))
    assert math.log(together.upper / together.lower) > 2 * 1.645 * 0.1
    assert math.log(together.upper / together.lower) > 1.2 * math.log(alone.upper / alone.lower)


def test_a_flat_curve_goes_on_flat_and_its_floor_is_above_zero():
    found = forecast(SIZES, np.full(6, 0.7), np.full(6, 0.005))
    assert found.error(3200).value == pytest.approx(0.7, rel=0.03)
    assert math.isinf(found.samples(0.3).value)
    assert found.floor().lower > 0.2


def test_a_floor_is_seen():
    floor = 0.3
    found = forecast(SIZES, law(SIZES, 1.0, floor), 1e-4 * np.ones(6)).floor()
    assert found.lower < floor < found.upper
    assert found.lower > 0.5 * floor


@pytest.mark.parametrize(
    "measured",
    [
        [0, 0, 0, 0, 0, 0],
        [0.5, 0.2, 0.05, 0, 0, 0],
        [0, 0, 0.1, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [0.1, 0.2, 0.3, 0.5, 0.8, 1.0],
        [1e-12, 1e-3, 1e3, 1e-9, 1.0, 1e9],
    ],
)
@pytest.mark.parametrize("se", [0.0, math.nan, 0.01, 1e3])
@pytest.mark.parametrize("points", [3, 6])
def test_odd_curves_give_numbers(measured, se, points):
    found = forecast(SIZES[:points], measured[:points], np.full(points, se), baseline=0.0)
    quantiles = found.quantiles([1, 60, 3200, 1e9], [0.05, 0.5, 0.95])
    assert not np.any(np.isnan(quantiles))
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    for error in (0.0, 0.1, 1.0):
        interval = found.samples(error)
        assert 1 <= interval.lower <= interval.value <= interval.upper


def test_thirty_sizes_with_noise():
    sizes = np.geomspace(20, 2000, 30)
    measured = law(sizes) * (1 + 0.05 * np.random.default_rng(5).normal(size=30))
    found = forecast(sizes, measured, 0.05 * law(sizes))
    for n in (200, 8000):
        interval = found.error(n)
        assert interval.lower < float(law(n)) < interval.upper


def test_scale_of_the_loss_does_not_matter():
    one, many = (forecast(SIZES, scale * law(SIZES), 0.02 * scale * law(SIZES)).error(3200) for scale in (1.0, 1e4))
    # the normal equations of the power laws lose half of the 16 digits, and their features are amplified
    assert many.value == pytest.approx(1e4 * one.value, rel=1e-5)
    assert many.upper == pytest.approx(1e4 * one.upper, rel=1e-5)


def test_padding_changes_nothing():
    measured, se = law(SIZES), 0.02 * law(SIZES)
    padded = [
        np.concatenate([np.full(4, fill), part]) for part, fill in ((SIZES, 25.0), (measured, law(25)), (se, np.inf))
    ]
    plain, longer = smooth(SIZES[None], measured[None], se[None]), smooth(*(part[None] for part in padded))
    at = np.log([[30.0, 800.0, 5000.0]])
    for a, b in zip(plain.at(at), longer.at(at), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        ([10, 20], [0.5, 0.4]),
        ([10, 10, 20], [0.5, 0.5, 0.4]),
        ([20, 10, 40], [0.5, 0.6, 0.4]),
        ([10, 20, 40], [0.5, -0.1, 0.4]),
        ([10, 20, 40], [0.5, math.nan, 0.4]),
        ([10, 20, 40], [0.5, 0.4]),
    ],
)
def test_what_is_no_curve_is_refused(sizes, measured):
    with pytest.raises(DataError):
        forecast(sizes, measured, np.zeros(len(sizes)))
