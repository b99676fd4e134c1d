"""The divergence of two coins and its inverses, against root finding and exact rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.bounds import binary_kl, gaussian_error, kl_lower, kl_moment, kl_upper, pac_bayes_budget


def divergence(q: float, p: float) -> float:
    terms = [(q, p), (1 - q, 1 - p)]
    return sum(a * math.log(a / b) for a, b in terms if a)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("budget", [0.002, 0.1, 1.5])
def test_the_inverses_are_the_roots(q, budget):
    upper = brentq(lambda p: divergence(q, p) - budget, q or 1e-15, 1 - 1e-15, xtol=1e-15)
    assert float(kl_upper(q, budget)) == pytest.approx(upper, abs=1e-12)
    if q:
        lower = brentq(lambda p: divergence(q, p) - budget, 1e-300, q, xtol=1e-15)
        assert float(kl_lower(q, budget)) == pytest.approx(lower, abs=1e-12)
    assert float(binary_kl(q, upper)) == pytest.approx(budget, rel=1e-9)


def test_the_ends_of_the_inverses():
    assert float(kl_upper(1.0, 0.5)) == 1.0
    assert float(kl_lower(0.0, 0.5)) == 0.0
    assert float(kl_upper(0.2, 0.0)) == pytest.approx(0.2, abs=1e-15)
    assert float(kl_upper(0.2, math.inf)) == 1.0
    assert np.allclose(kl_upper(np.array([0.1, 0.2]), 0.1), [kl_upper(0.1, 0.1), kl_upper(0.2, 0.1)])


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_moment_is_that_of_the_definition_in_rationals(n):
    share = [Fraction(k, n) for k in range(n + 1)]
    exact = sum(math.comb(n, k) * share[k] ** k * (1 - share[k]) ** (n - k) for k in range(n + 1))
    assert kl_moment(n) == pytest.approx(float(exact), rel=1e-13)
    assert math.sqrt(n) <= kl_moment(n) <= 2 * math.sqrt(n)


def test_the_moment_of_many_rows_is_near_its_limit():
    assert kl_moment(10**6) == pytest.approx(math.sqrt(math.pi * 10**6 / 2) + 2 / 3, rel=1e-6)


def test_the_budget_is_the_formula():
    assert pac_bayes_budget(3.0, 50, 0.1, 7) == pytest.approx((3 + math.log(kl_moment(50) * 7 / 0.1)) / 50, rel=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda: kl_upper(1.2, 0.1),
        lambda: kl_upper(0.2, -0.1),
        lambda: kl_upper(math.nan, 0.1),
        lambda: kl_moment(0),
        lambda: kl_moment(10**8),
        lambda: pac_bayes_budget(-1.0, 10, 0.05),
        lambda: pac_bayes_budget(math.nan, 10, 0.05),
        lambda: pac_bayes_budget(1.0, 0, 0.05),
        lambda: pac_bayes_budget(1.0, 10, 1.0),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(call):
    with pytest.raises(SettingError) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [binary_kl, kl_upper, kl_lower])
@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("x", "found the entry 'x'"),
        ([0.1, "x"], "found the entry 'x'"),
        (-0.1, "found -0.1"),
        (math.nan, "found nan"),
        ([0.1, 0.2, 0.3], r"shape \(2,\) and shape \(3,\)"),
        (np.datetime64("2020"), "entries of type"),
    ],
)
def test_a_wrong_second_argument_is_named(function, second, words):
    with pytest.raises((SettingError, DataError, ShapeError), match=words) as caught:
        function([0.1, 0.2], second)
    assert not str(caught.value).startswith("q;")


@pytest.mark.parametrize(("q", "p"), [(-0.1, 0.5), (0.5, 2.0), (math.nan, 0.5), (0.5, math.inf)])
def test_a_divergence_of_numbers_outside_0_and_1_is_refused(q, p):
    with pytest.raises(SettingError, match="numbers from 0 to 1"):
        binary_kl(q, p)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_the_error_of_gaussian_outputs_is_that_of_draws(k):
    generator = np.random.default_rng(k)
    outputs, spread = 2 * generator.normal(size=(6, k)), np.array([0.01, 0.3, 1.0, 1.0, 3.0, 30.0])
    labels = generator.integers(max(k, 2), size=6)
    drawn = outputs + spread[:, None] * generator.normal(size=(200_000, 6, k))
    classes = drawn[..., 0] > 0 if k == 1 else drawn.argmax(axis=-1)
    share = (classes != labels).mean(axis=0)
    error = gaussian_error(outputs, spread, labels)
    assert np.all(np.abs(error - share) <= 5 * np.sqrt(np.maximum(share * (1 - share), 1e-5) / 200_000))


def test_two_outputs_are_one_of_their_difference():
    generator = np.random.default_rng(0)
    outputs, spread, labels = (
        generator.normal(size=(50, 2)),
        generator.uniform(0.1, 3, 50),
        generator.integers(2, size=50),
    )
    one = gaussian_error(outputs[:, 1:] - outputs[:, :1], np.sqrt(2) * spread, labels)
    assert np.allclose(gaussian_error(outputs, spread, labels), one, atol=1e-11)


def test_without_noise_the_error_is_that_of_the_rule():
    outputs, labels = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0, 0, 0])
    assert gaussian_error(outputs, np.zeros(3), labels) == pytest.approx([0.0, 1.0, 1.0], abs=1e-14)
