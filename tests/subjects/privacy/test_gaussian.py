"""The exact Gaussian curve against mpmath, dp-accounting and sampling, and its inverses."""

import math

import mpmath
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.subjects.privacy import gaussian_delta, gaussian_eps, gaussian_sigma


def exact(eps: float, ratio: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        eps, ratio = mpmath.mpf(eps), mpmath.mpf(ratio)
        first, second = (mpmath.ncdf(sign * ratio / 2 - eps / ratio) for sign in (1, -1))
        return first - mpmath.exp(eps) * second


@pytest.mark.parametrize("ratio", [1e-5, 0.3, 2.0, 30.0])
def test_at_an_eps_of_0_the_curve_is_the_total_variation(ratio):
    with mpmath.workdps(60):
        truth = mpmath.erf(mpmath.mpf(ratio) / mpmath.sqrt(8))
    delta = gaussian_delta(0.0, ratio, 1.0)
    assert truth <= delta <= truth * (1 + 1e-9)
    if delta < 1.0:
        assert gaussian_eps(delta, ratio, 1.0) == 0.0
        assert gaussian_sigma(0.0, delta, ratio) == pytest.approx(1.0, rel=1e-6)


def test_the_curve_is_right_from_1e_minus_290_to_1():
    draw = np.random.default_rng(0)
    seen = 0
    for _ in range(400):
        ratio = 10 ** draw.uniform(-8, 3)
        eps = ratio * draw.uniform(0.01, 36) + (ratio**2 / 2 if draw.random() < 0.5 else 0.0)
        truth = exact(eps, ratio)
        if truth > 1e-290:
            seen += 1
            tolerance = 1e-9 if ratio < 0.1 else 2e-12
            assert abs(gaussian_delta(eps, ratio, 1.0) / truth - 1) < tolerance, (eps, ratio)
    assert seen > 250


def test_only_the_ratio_of_sensitivity_to_noise_counts():
    assert gaussian_delta(0.7, 3.0, 2.0) == pytest.approx(gaussian_delta(0.7, 1.5, 1.0), rel=1e-14)
    assert gaussian_eps(1e-6, 3.0, 2.0) == pytest.approx(gaussian_eps(1e-6, 1.5, 1.0), rel=1e-12)
    assert gaussian_sigma(0.7, 1e-6, 3.0) == pytest.approx(3 * gaussian_sigma(0.7, 1e-6), rel=1e-12)


@pytest.mark.parametrize("eps", [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("delta", [1e-200, 1e-30, 1e-5, 0.1, 0.9])
def test_the_inverses_are_inverse_and_round_to_the_safe_side(eps, delta):
    sigma = gaussian_sigma(eps, delta)
    assert delta * (1 - 1e-5) < exact(eps, 1 / sigma) <= delta * (1 + 1e-9)
    spent = gaussian_eps(delta, 1.0, sigma)
    assert spent == pytest.approx(eps, rel=1e-6, abs=1e-9)
    assert spent <= eps * (1 + 1e-6) + 1e-9
    assert gaussian_eps(delta, 1.0, 0.9 * sigma) > spent > gaussian_eps(delta, 1.0, 1.1 * sigma) >= 0


def test_eps_is_0_from_the_total_variation_on():
    total = math.erf(0.5 / math.sqrt(8))
    assert gaussian_eps(total * (1 + 1e-9), 0.5, 1.0) == 0.0
    assert 0 < gaussian_eps(total * (1 - 1e-6), 0.5, 1.0) < 1e-5


def test_it_is_that_of_dp_accounting():
    mechanism = pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")
    for eps, delta in ((0.3, 1e-6), (1.0, 1e-5), (8.0, 1e-3)):
        other = mechanism.get_sigma_gaussian(eps, delta)
        assert gaussian_sigma(eps, delta) == pytest.approx(other, rel=1e-6)
        assert gaussian_eps(delta, 1.0, other) == pytest.approx(eps, rel=1e-6)


def test_the_curve_is_what_draws_of_the_loss_show():
    draw = np.random.default_rng(1)
    loss = 1.5 * (draw.normal(1.5, 1.0, 400_000) - 0.75)
    gains = np.maximum(-np.expm1(1.0 - loss), 0.0)
    assert abs(gains.mean() - gaussian_delta(1.0, 1.5, 1.0)) < 4 * gains.std() / math.sqrt(len(gains))


def test_extreme_numbers_end_where_they_tend_to():
    assert 0 < gaussian_delta(1e300, 1e-300, 1.0) <= 1e-300  # rounded up
    assert gaussian_delta(1e-300, 1e300, 1e-300) == 1.0
    assert 0 < gaussian_delta(1.0, 1e-300, 1e300) <= 1e-300
    assert 0 < gaussian_sigma(1e300, 1e-300) < 1e-149
    assert gaussian_eps(1e-5, 1e200, 1e-200) == math.inf


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_numbers_that_are_not_positive_are_refused_in_one_line(wrong):
    for call in (
        lambda: gaussian_delta(wrong or -1.0, 1.0, 1.0),
        lambda: gaussian_delta(1.0, wrong, 1.0),
        lambda: gaussian_delta(1.0, 1.0, wrong),
        lambda: gaussian_eps(1e-5, wrong, 1.0),
        lambda: gaussian_eps(1e-5, 1.0, wrong),
        lambda: gaussian_sigma(wrong or -1.0, 1e-5),
        lambda: gaussian_sigma(1.0, 1e-5, wrong),
    ):
        with pytest.raises(SettingError) as said:
            call()
        assert "\n" not in str(said.value)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(SettingError, match="delta"):
        gaussian_eps(delta, 1.0, 1.0)
    with pytest.raises(SettingError, match="delta"):
        gaussian_sigma(1.0, delta)
