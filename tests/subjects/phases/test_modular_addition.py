"""Modular addition: the action from sums over the table, the kernel at infinite width, minima by search."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from lemmata.errors import SettingError
from lemmata.subjects.phases import ModularAddition, modular_action

PAPER = ModularAddition(prime=401, width=1000, readout_variance=2e-6, decay=1e-4)


SMALL = ModularAddition(prime=5, width=10, readout_variance=1e-6, decay=0.5)


def table(prime):
    n, m = np.divmod(np.arange(prime**2), prime)
    return n, m


def test_the_action_from_the_table_of_pairs():
    """|w|²/2 and the field of all outputs, for the teacher itself, are one modular action for each pair ±k."""
    prime, noise, model = 7, 0.3, ModularAddition(prime=7, width=50, readout_variance=0.02, decay=1e-9)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(2, prime))
    n, m = table(prime)
    y = (np.arange(prime)[:, None] == (n + m) % prime) - 1 / prime
    fields = y @ (w[n] + v[m]) ** 2
    s = model.readout_variance
    whole = (w @ w + v @ v) / 2 - s / (2 * model.width * noise**2) * np.sum(fields**2)
    first, second = (np.abs(np.fft.fft(x) / prime) ** 2 for x in (w, v))
    pairs = modular_action(first[1:4], second[1:4], model.interaction(noise), 0.0)
    assert whole == pytest.approx(prime * (pairs.sum() + (first[0] + second[0]) / 2), rel=1e-10)


def test_the_teacher_s_eigenvalue_at_infinite_width_is_four():
    """E (w_n + v_m)² (w_n' + v_m')² = K K + 2 K² with K = [n = n'] + [m = m']; powers have mean 1/P."""
    prime = 5
    n, m = table(prime)
    k = (n[:, None] == n) * 1.0 + (m[:, None] == m)
    wave = np.exp(2j * np.pi * 2 * (n + m) / prime) / prime
    found = wave.conj() @ (np.outer(np.diag(k), np.diag(k)) + 2 * k**2) @ wave
    assert found.real == pytest.approx(4 * prime**2 * (1 / prime) ** 2)


@pytest.mark.parametrize("decay", [1e-4, 0.5])
def test_the_critical_action_has_a_second_zero(decay):
    model = ModularAddition(prime=5, width=1, readout_variance=1.0, decay=decay)
    f = model.power
    action = lambda x: float(modular_action(x[0] * f, x[1] * f, model.critical_interaction, decay)) / f
    found = minimize(action, [0.9, 1.2], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14})
    assert found.x == pytest.approx([1, 1], abs=1e-5)
    assert found.fun == pytest.approx(0, abs=1e-9)
    grid = np.linspace(0, 3, 301) * f
    assert modular_action(*np.meshgrid(grid, grid), model.critical_interaction, decay).min() > -1e-9 * f


def test_numbers_of_the_paper():
    """By an eigenvalue of s F² at most, all have turned where sigma² + s F² is the critical noise."""
    assert PAPER.interaction(PAPER.critical_noise) == pytest.approx(np.sqrt(4e-4 / 3))
    assert PAPER.critical_noise == pytest.approx(0.236, abs=5e-4)
    end = PAPER.critical_noise - PAPER.readout_variance * PAPER.power**2
    assert end == pytest.approx(0.176, abs=5e-4)
    assert PAPER.amplitude(end) == pytest.approx(0.75, abs=5e-3)
    assert PAPER.droplets(0.0) == pytest.approx(6.1e-6, abs=5e-8)


def test_a_balance_of_the_amplitude():
    """a = sigma²/(sigma² + lambda) with lambda from the droplets alone; before the transition nothing is learned."""
    noise = 0.1
    eigenvalue = 4 * PAPER.prime**2 * PAPER.readout_variance * PAPER.power**2 * PAPER.droplets(noise)
    assert PAPER.amplitude(noise) == pytest.approx(noise / (noise + eigenvalue))
    assert (PAPER.amplitude(0.3), PAPER.droplets(0.3)) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ModularAddition(prime=5, width=1, readout_variance=1.0, decay=0.0), "decay; found 0"),
        (
            lambda: ModularAddition(prime=4, width=1, readout_variance=1.0, decay=1.0),
            "prime; found 4; rule: an odd number",
        ),
        (lambda: ModularAddition(prime=1, width=1, readout_variance=1.0, decay=1.0), "prime; found 1; .*at least 3"),
        (lambda: ModularAddition(prime=5, width=math.inf, readout_variance=1.0, decay=1.0), "width; found inf"),
        (lambda: PAPER.interaction(0.0), r"noise; found 0\.0; rule: finite, above 0"),
        (lambda: PAPER.interaction(-1.0), "noise; found -1"),
        (lambda: PAPER.amplitude(-1.0), "noise; found -1"),
        (lambda: PAPER.amplitude(math.nan), "noise; found nan"),
        (lambda: PAPER.droplets(math.nan), "noise; found nan"),
        (lambda: PAPER.droplets(-1.0), "noise; found -1"),
        (lambda: SMALL.amplitude(1e-3), r"noise; found 0\.001, for which droplets is 2\.46"),
        (lambda: modular_action(-1.0, 1.0, 1.0, 1.0), "first; found -1"),
        (lambda: modular_action(1.0, np.array([0.5, -2.0]), 1.0, 1.0), "second; found -2"),
        (lambda: modular_action(1.0, 1.0, math.nan, 1.0), "interaction; found nan"),
        (lambda: modular_action(1.0, 1.0, 1.0, -1.0), "decay; found -1"),
    ],
)
def test_bad_settings_are_refused(call, named):
    with pytest.raises(SettingError, match=named):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: ModularAddition(prime=2.5, width=1, readout_variance=1.0, decay=1.0),
        lambda: PAPER.amplitude("a"),
        lambda: PAPER.interaction("a"),
    ],
)
def test_types_that_are_refused(call):
    """By the library, or before it by the checker of types."""
    with pytest.raises((SettingError, TypeError)):
        call()


def test_without_noise_nothing_is_left():
    assert PAPER.amplitude(0.0) == 0.0
