import math

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.spectra import LearningCurve
from lemmata.study._answers import answers, coverage, default_error, measured_crossing, samples
from lemmata.study._curves import Curve
from lemmata.study._power_law import EXPONENTS, fit_power_law


def law_curve(name="rbf", scale=3.0, exponent=0.5, floor=0.0, total=400, width=0.1, seed=0, noise=0.0, measured=None):
    """A curve whose prediction is scale n^-exponent + floor with an interval of +-width, as if from a spectrum."""
    error = lambda n: scale * np.asarray(n, float) ** -exponent + floor
    sizes = np.unique(np.geomspace(8, total // 2, 10).astype(int))
    seen = (error(sizes) if measured is None else measured(sizes)) * np.exp(
        noise * np.random.default_rng(seed).normal(size=len(sizes))
    )

    def predict(n):
        found = jnp.asarray(error(n))
        other = 0 * found
        lower, upper = found * math.exp(-width), found * math.exp(width)
        return LearningCurve(jnp.asarray(n), found, other, other, other, other, lower, upper)

    parts = {
        "name": name,
        "title": f"{name} kernel",
        "sizes": sizes,
        "predicted": error(sizes),
        "measured": seen,
        "measured_se": 0.01 * seen,
        "total": total,
        "baseline": float(error(1)),
        "leave_one_out": float(error(total)),
        "predict": predict,
    }
    stand_in = object.__new__(_Stand)
    stand_in.__dict__.update(parts)
    return stand_in


class _Stand(Curve):
    """A curve with every field given."""

    total = baseline = None


@pytest.mark.parametrize(("exponent", "error"), [(0.5, 0.4), (0.8, 0.1), (0.3, 1.0)])
def test_both_routes_find_the_crossing_of_a_power_law(exponent, error):
    curve = law_curve(exponent=exponent)
    truth = (3.0 / error) ** (1 / exponent)
    found = samples(curve, error)
    # the curve is a straight line in log-log, which interpolation reproduces
    np.testing.assert_allclose(found["theory"]["n"], truth, rtol=1e-9)
    np.testing.assert_allclose(found["measured"], truth, rtol=1e-9)
    assert found["power_law"]["lower"] <= truth <= found["power_law"]["upper"]
    # an interval of +-0.1 in the logarithm of the error is one of +-0.1 / exponent in that of n
    np.testing.assert_allclose(found["theory"]["lower"], truth * math.exp(-0.1 / exponent), rtol=1e-9)
    np.testing.assert_allclose(found["theory"]["upper"], truth * math.exp(0.1 / exponent), rtol=1e-9)
    assert found["agree"] is True
    assert found["theory"]["extrapolates"] is False
    assert "agree" in found["text"]


def test_beyond_the_data_it_extrapolates_and_says_so():
    found = samples(law_curve(), 0.1)
    np.testing.assert_allclose(found["theory"]["n"], 900, rtol=1e-9)
    assert found["theory"]["extrapolates"] is True
    assert found["power_law"]["extrapolates"] is True
    # at N = 400 the error is 0.15; from the ends of its interval it falls with slopes 0.5 / 3 and 0.5 * 2
    np.testing.assert_allclose(found["theory"]["upper"], 400 * (1.5 * math.exp(0.1)) ** 6, rtol=1e-9)
    np.testing.assert_allclose(found["theory"]["lower"], 400 * (1.5 * math.exp(-0.1)), rtol=1e-9)
    assert "extrapolated beyond the 400 rows" in found["text"]
    assert found["measured"] is None


def test_a_plateau_above_the_error_is_said_to_be_out_of_reach():
    curve = law_curve(floor=0.5, exponent=1.5)
    found = samples(curve, 0.2)
    assert found["theory"]["n"] is None
    assert found["power_law"]["n"] is None
    assert found["agree"] is True  # both say never
    assert "not in reach" in found["text"]
    assert "levels off at 0.5" in found["text"]
    whole = answers([curve], 0.2, "given")
    assert whole["best"] == "rbf"
    assert whole["sentences"][0].startswith("No architecture")


def test_an_error_above_the_baseline_asks_for_nothing():
    assert "predicting the mean" in samples(law_curve(), 3.5)["text"]


def test_routes_that_contradict_each_other_are_said_to_disagree():
    found = samples(law_curve(measured=lambda n: 9.0 * n**-0.5), 0.8)
    assert found["agree"] is False
    assert "disagree" in found["text"]


def test_the_measured_crossing_is_the_last_one_and_none_outside_the_range():
    curve = law_curve(measured=lambda n: np.where(n == n.max(), 1.0, 2.0 * n**-0.5))
    assert measured_crossing(curve, 0.9) is None  # it rose above again at the end
    assert measured_crossing(curve, 100.0) is None


def test_coverage_counts_misses_as_well_as_hits():
    hit, missed = law_curve(noise=0.02), law_curve(measured=lambda n: 9.0 * n**-0.5)
    assert coverage([hit])[:2] == (4, 4)
    assert coverage([missed])[:2] == (0, 4)
    assert coverage([hit, missed])[:2] == (4, 8)


def test_the_architecture_that_needs_fewest_samples_is_named_with_its_rivals():
    curves = [law_curve("linear", exponent=0.3), law_curve("rbf", exponent=0.6), law_curve("laplace", exponent=0.59)]
    whole = answers(curves, 0.3, "given")
    assert whole["best"] == "rbf"
    assert "the rbf kernel with 46" in whole["sentences"][0]
    assert "laplace" in whole["sentences"][1]
    assert "linear" not in whole["sentences"][1]


def test_the_default_error_is_that_of_the_median_architecture_at_a_quarter():
    curves = [law_curve(exponent=e) for e in (0.3, 0.5, 0.9)]
    error, origin = default_error(curves)
    assert error == 0.3  # 3 * 100^-0.5
    assert "quarter of the rows (100)" in origin


def test_the_fit_recovers_a_law_with_a_floor_and_its_uncertainty():
    sizes = np.unique(np.geomspace(10, 1000, 12).astype(int)).astype(float)
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        clean = 4.0 * sizes**-0.7 + 0.05
        law = fit_power_law(sizes, clean * np.exp(0.03 * rng.normal(size=len(sizes))), 0.03 * clean, seed=1)
        truth = (4.0 / 0.1) ** (1 / 0.7)
        _, low, high = law.samples(0.15)
        covered += low <= truth <= high
    # nominally 0.9 or more (the law is allowed a misfit that is not here); 60 draws with at least 0.9 give 48 or more
    assert covered >= 48
    exact = fit_power_law(sizes, 4.0 * sizes**-0.7 + 0.05, 0.01 + 0 * sizes)
    assert abs(exact.exponent - 0.7) <= np.diff(EXPONENTS)[0]
    assert abs(exact.floor - 0.05) < 0.01


def test_a_law_never_fits_a_negative_floor():
    sizes = np.geomspace(10, 1000, 8)
    law = fit_power_law(sizes, 2.0 - 0.25 * np.log(sizes), 0.01 + 0 * sizes)
    assert law.floor == 0.0
    assert np.all(law.draws[:, 2] >= 0)


def test_a_prediction_far_from_its_measurements_is_not_trusted_and_not_best():
    good = law_curve(name="good", exponent=0.5)
    bad = law_curve(name="bad", exponent=0.8, measured=lambda n: 2.0 * n**-0.1)
    told = answers([good, bad], 0.3, "given")
    assert told["best"] == "good"
    assert any("Do not trust the prediction for the bad kernel" in sentence for sentence in told["sentences"])
    assert answers([bad], 0.3, "given")["best"] == "bad"
    assert not any("trust" in sentence for sentence in answers([good], 0.3, "given")["sentences"])
