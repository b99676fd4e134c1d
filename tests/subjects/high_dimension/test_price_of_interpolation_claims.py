"""The price of interpolation against integrals, long spectra and special cases."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from lemmata.subjects.high_dimension import price_of_interpolation as price


def _price(variances, n):
    _, shares = price.learned(variances, n)
    return n / (n - np.sum(shares**2))


@pytest.mark.parametrize(("n", "p"), [(10, 40), (30, 50)])
def test_a_flat_spectrum_has_the_isotropic_risk(n, p):
    kappa, shares = price.learned(np.full(p, 2.0), n)
    assert shares.sum() == pytest.approx(n)
    assert kappa == pytest.approx(2.0 * (p / n - 1))
    beta = np.linspace(-1, 1, p)
    problem = price.AnySpectrum(jnp.full(p, 2.0), jnp.asarray(beta), n)
    variance, bias = price.AnisotropicRisk().predict(problem)
    assert float(variance) == pytest.approx(n / (p - n))
    assert float(bias) == pytest.approx(2.0 * beta @ beta * (1 - n / p))


@pytest.mark.parametrize("decay", [1.5, 2.0, 3.0])
def test_the_price_of_a_power_law_is_its_exponent(decay):
    long = np.arange(1.0, 2e6) ** -decay
    assert _price(long, 1000) == pytest.approx(decay, rel=3e-3 if decay >= 2 else 3e-2)


def test_the_integral_behind_the_exponent():
    """n - D is the share n/a for the shares 1/(1 + u^a)."""
    for decay in (1.7, 2.5):
        shares = lambda u, a=decay: 1 / (1 + u**a)
        n = quad(shares, 0, np.inf)[0]
        left = quad(lambda u, own=shares: own(u) * (1 - own(u)), 0, np.inf)[0]
        assert n / left == pytest.approx(decay, rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [(0.5, 2.0), (1.2, 3.0), (2.5, 2.5), (3.0, 1.5)])
def test_a_broken_power_law_is_a_harmonic_mean(first, second):
    m = 1000
    place = np.arange(1.0, 1000.0 * m) / m
    values = np.where(place <= 1, place**-first, place**-second)
    problem = price.BrokenPower(jnp.asarray(first), jnp.asarray(second), m)
    exact = [_price(values, round(ratio * m)) for ratio in price._SHARES]
    found = np.asarray(price.BrokenPowerLaw().predict(problem))
    assert found == pytest.approx(exact, rel=2e-3 if second >= 2 else 3e-2)
    if first == second:
        assert found == pytest.approx([first] * 3, rel=1e-9)


def test_learned_directions_are_integrals():
    problem = price.BrokenPower(jnp.asarray(0.8), jnp.asarray(2.3), 60)
    before, after, at = price._before_and_after(problem, 1.0)
    kappa = 1 / at - 1
    assert before == pytest.approx(quad(lambda u: 1 / (1 + kappa * u**0.8), 0, 1)[0], rel=1e-8)
    assert after == pytest.approx(quad(lambda u: 1 / (1 + kappa * u**2.3), 1, np.inf)[0], rel=1e-8)
    assert before + after == pytest.approx(1.0)


def test_weights_of_any_spectrum_add_up_to_the_rows():
    """Summation by parts: sum_{i <= m} i (s_i - s_{i+1}) + m s_{m+1} = sum_{i <= m} s_i."""
    _, shares = price.learned(np.arange(1.0, 500.0) ** -2.0, 20)
    place = np.arange(1, len(shares))
    assert place @ -np.diff(shares) + len(shares) * shares[-1] == pytest.approx(20)


def test_spikes_are_large_variances():
    n, k, p = 80, 8, 800
    values = np.r_[np.ones(k), np.full(p, 1e-9)]
    predicted = float(price.BenignTail().predict(price.SpikesAndTail(n, k, p)))
    assert predicted == pytest.approx(_price(values, n) - 1, rel=1e-5)
    assert k / n + n / p < predicted < 1.25 * (k / n + n / p)
