"""Calibration after a temperature: its law against loops, at most 5,000 rows of a half, and what one number leaves."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from lemmata.subjects.trained_models import read_trained, temperature
from lemmata.subjects.trained_models.probabilities import (
    CalibrationAfterTemperature,
    binned_error,
    calibrated_errors,
    few_of_each,
    halves,
    resampled_errors,
)


def drawn(n, seed=0, sharper=1.0, classes=3):
    """Logits, and classes drawn from their softmax; those of every other row are drawn from a sharper one."""
    rng = np.random.default_rng(seed)
    f = 2.0 * rng.normal(size=(n, classes))
    p = softmax(f * np.where(np.arange(n) % 2, sharper, 1.0)[:, None], axis=1)
    labels = (rng.random(n)[:, None] > p.cumsum(1)[:, :-1]).sum(1)
    return f, np.eye(classes)[labels]


def test_resampled_errors_are_those_of_a_loop_that_fits_each_temperature():
    f, y = drawn(150)
    rng, right, naive = np.random.default_rng(9), f.argmax(1) == y.argmax(1), []
    for _ in range(200):
        own, new = rng.integers(0, 150, 150), rng.integers(0, 150, 100)
        p = softmax(f[new] / temperature(f[own], y[own]), axis=1).max(1)
        parts = np.array_split(np.argsort(p, kind="stable"), 10)
        naive.append(sum(abs((p - right[new])[part].sum()) for part in parts) / 100)
    found = resampled_errors(f, y, 100, seed=3)
    assert found.shape == (200,)
    assert stats.ks_2samp(found, naive).pvalue > 1e-3
    shorter = resampled_errors(f, y, 40, seed=3)
    assert np.median(shorter) > 1.2 * np.median(found), "fewer rows leave a larger error"


def trained(f, y):
    """A model that gives these logits: its held-out rows are the logits themselves."""
    few, one = f[:40], y[:40].argmax(1)
    return read_trained((lambda own, x: x * own, np.ones(1)), few, one, held=(f[40:], y[40:].argmax(1)), decay=0.1)


@pytest.mark.parametrize(("n", "expected"), [(400, 180), (14_040, 5_000)])
def test_at_most_5000_rows_of_each_half_are_taken(n, expected):
    f, y = drawn(n)
    with jax.enable_x64(True):
        problem, claim = trained(f, y), CalibrationAfterTemperature()
        own, new = few_of_each(problem)
        assert len(own) == len(new) == expected
        assert not set(own) & set(new)
        assert set(own) <= set(halves(problem)[0])
        low, _, high = np.asarray(claim.predict(problem))
        value = float(claim.measure(problem, jax.random.key(0))[1])
    scaled = softmax(f[40:][new] / temperature(f[40:][own], y[40:][own]), axis=1)
    right = (scaled.argmax(1) == y[40:][new].argmax(1)).astype(float)
    assert value == pytest.approx(float(binned_error(scaled.max(1), right)), rel=1e-6)
    assert low <= value <= high


def test_the_upper_end_shows_what_one_number_leaves():
    """Every other row is sharper than its logits: no temperature repairs both kinds."""
    ratios = []
    for sharper in (1.0, 6.0):
        f, y = drawn(4_040, seed=1, sharper=sharper)
        with jax.enable_x64(True):
            problem = trained(f, y)
            own, new = few_of_each(problem)
            high = float(CalibrationAfterTemperature().predict(problem)[2])
        plain = np.quantile(calibrated_errors(f[40:][own], y[40:][own], f[40:][new], problem.seed), 0.99)
        ratios.append(high / plain)
    assert 1.0 <= ratios[0] < 1.6
    assert ratios[1] > 1.2 * ratios[0]
