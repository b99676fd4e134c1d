"""Lookups among random keys, against simulations and closed forms."""

import numpy as np
import pytest
from scipy import optimize, special

from lemmata.errors import SettingError
from lemmata.subjects.routing import retrieval


def _simulated(n: int, d: int, weight: float, draws: int) -> np.ndarray:
    """The inverse temperatures that random keys need."""
    rng, found = np.random.default_rng(n + d), []
    for _ in range(draws):
        keys = rng.normal(size=(n - 1, d))
        behind = 1 - keys[:, 0] / np.linalg.norm(keys, axis=1)
        left = lambda log, own=behind: special.logsumexp(-np.exp(log) * own) - np.log(1 / weight - 1)
        found.append(np.exp(optimize.brentq(left, -8, 25)))
    return np.array(found)


@pytest.mark.parametrize(
    ("n", "d", "weight"), [(100, 3, 0.5), (1000, 10, 0.7), (1000, 64, 0.5), (3, 40, 0.9), (200, 2, 0.2)]
)
def test_random_keys_need_what_is_said(n, d, weight):
    found, needed = retrieval(n, d, weight=weight), _simulated(n, d, weight, 200)
    own = found.sharpness
    assert 0.84 <= np.mean((needed >= own.lower) & (needed <= own.upper)) <= 0.99
    assert 0.4 <= np.mean(needed <= own.value) <= 0.62
    assert (needed >= found.least).all()


def test_a_circle_by_brute_force():
    for n in (3, 8, 101):
        behind = 1 - np.cos(2 * np.pi * np.arange(1, n) / n)
        beta = retrieval(n, 2).spread
        assert np.exp(-beta * behind).sum() == pytest.approx(1)
    assert retrieval(5, 7).spread == pytest.approx(np.log(4) * 4 / 5)
    assert retrieval(50, 7).spread is None
    n = 300_000
    assert retrieval(n, 2).spread == pytest.approx(n**2 / (8 * np.pi), rel=1e-4)


@pytest.mark.parametrize("name", ["float16", "float8_e4m3"])
def test_a_format_that_holds_keeps_the_weight(name):
    """Rounded logits of random keys, with the sharpness of the format, in at least 9 of 10 draws."""
    bits = {"float16": 11, "float8_e4m3": 4}[name]
    found = retrieval(300, 24, name)
    (form,) = found.formats
    rng, held = np.random.default_rng(0), 0
    for _ in range(200):
        keys = rng.normal(size=(300, 24))
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        mantissa, power = np.frexp(form.sharpness * keys @ keys[0])
        rounded = np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, power)
        if bits == 11:
            half = (form.sharpness * keys @ keys[0]).astype(np.float16).astype(float)
            assert np.allclose(rounded, half, rtol=0, atol=1e-7)  # which has subnormal numbers
        held += special.softmax(rounded)[0] >= 0.5
    assert form.holds
    assert held >= 180


def test_few_bits_cannot_hold_near_keys():
    found = retrieval(30, 2)
    assert [form.holds for form in found.formats] == [True, False, False, False, False]
    assert not retrieval(10**6, 2, 24).formats[0].holds
    assert "may never reach this weight" in str(found)
    assert retrieval(2, 2, 53, weight=0.9).formats[0].holds


def test_extremes_of_retrieval():
    for n, d, weight in [
        (2, 2, 0.5 + 1e-9),
        (2, 10**5, 0.999999),
        (10**15, 2, 0.5),
        (10**15, 10**5, 0.01),
        (10, 3, 0.1 + 1e-9),
    ]:
        found = retrieval(n, d, weight=weight)
        assert 0 < found.least <= found.sharpness.upper * (1 + 1e-9)
        assert found.sharpness.lower <= found.sharpness.value <= found.sharpness.upper
        assert np.isfinite(found.sharpness.upper)
    assert retrieval(100.0, 8.0).sharpness == retrieval(100, 8).sharpness


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((1, 8), {}), "n; found 1; rule: a whole number of at least 2"),
        (((10.5, 8), {}), "n; found 10.5"),
        (((10, 1), {}), "d; found 1"),
        (((10, 8), {"weight": 0.1}), "weight; found 0.1; rule: above 1/n"),
        (((10, 8), {"weight": 1.0}), "strictly between 0 and 1"),
        (((10, 8), {"weight": float("nan")}), "weight; found nan"),
        (((10, 8, "float17"), {}), "bits; found 'float17'"),
        (((10, 8, 54), {}), "at most 53"),
        (((10, 8, 0), {}), "bits; found 0"),
        (((10**16, 8), {}), "n; found a number of 17 digits; rule: at most 1e[+]15"),
    ],
)
def test_refusals_of_retrieval(arguments, words):
    given, settings = arguments
    with pytest.raises(SettingError, match=words):
        retrieval(*given, **settings)


@pytest.mark.parametrize(("n", "d", "weight"), [(100, 2, 0.5), (5, 3, 0.5), (70, 2, 0.9), (1000, 50, 0.00101)])
def test_quantiles_of_random_keys(n, d, weight):
    """Also in few dimensions, where a few near keys decide, and near the weight of equal logits."""
    own, drawn = retrieval(n, d, weight=weight).sharpness, _simulated(n, d, weight, 1000)
    below = [np.mean(drawn <= end) for end in (own.lower, own.value, own.upper)]
    assert np.allclose(below, [0.05, 0.5, 0.95], atol=[0.025, 0.06, 0.025])


@pytest.mark.parametrize(("n", "d"), [(2, 2), (3, 2), (1000, 2), (1000, 50), (10**6, 3)])
def test_weights_just_above_equal_ones(n, d):
    with pytest.raises(SettingError, match=r"weight; found .*; rule: above 1/n"):
        retrieval(n, d, weight=float(np.nextafter(1 / n, 1)))
    for more in (1e-9, 1e-5, 1e-2):
        found = retrieval(n, d, weight=(1 + more) / n)
        assert found.gap == pytest.approx(more / (1 - 1 / n), rel=2e-2 if more == 1e-2 else 1e-3)
        assert found.sharpness.value == pytest.approx(found.gap, rel=0.4)
        found.plot().to_dict()
