"""Code lengths: entropies in closed form for best denoisers, bounds for others, coverage, tables, refusals."""

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.generation import bits

from .tables import TABLES, refused

RNG = np.random.default_rng
X = RNG(0).normal(size=(400, 2)) * [2.0, 0.5] + 3.0


def of_normal(variances, mean):
    """The best denoiser of a normal distribution."""
    return lambda noisy, sigma: mean + (noisy - mean) * variances / (variances + sigma**2)


def of_values(values, p):
    """The best denoiser of independent entries with some values."""

    def denoise(noisy, sigma):
        logs = np.log(p) - (noisy[..., None] - values) ** 2 / (2 * sigma**2)
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return weights @ values / weights.sum(axis=-1)

    return denoise


def entropy(p):
    return float(-np.sum(p * np.log2(p)))


@pytest.mark.parametrize("noise", [0.01, 0.3, 1.0])
def test_normal_rows(noise):
    exact = np.mean([0.5 * np.log2(2 * np.pi * np.e * (s**2 + noise**2)) for s in (2.0, 0.5)])
    found = bits(of_normal(np.array([4.0, 0.25]), 3.0), X, noise=noise)
    assert found.interval[0] <= exact <= found.interval[1]
    assert found.per_row == pytest.approx(2 * found.value)
    # The best denoiser is linear, and the difference is the noise of the draws and of the covariance of the sample.
    assert abs(found.value - found.linear) < 3 * (found.interval[1] - found.interval[0])
    worse = bits(of_normal(np.array([1.0, 1.0]), 3.0), X, noise=noise)
    assert worse.value > exact


@pytest.mark.parametrize("p", [np.array([0.5, 0.5]), np.array([0.9, 0.1]), np.array([0.2, 0.5, 0.0001, 0.2999])])
def test_entries_on_a_grid(p):
    values = np.arange(len(p)) * 0.25 - 1.0
    x = RNG(1).choice(values, size=(1500, 3), p=p)
    found = bits(of_values(values, p), x, spacing=0.25)
    assert found.interval[0] - 0.01 <= entropy(p) <= found.interval[1] + 0.01
    assert found.value <= found.linear + 0.02
    # A denoiser without any knowledge is replaced by the mean row and by rounding, and a bound is left.
    useless = bits(lambda noisy, sigma: 0 * noisy, x, spacing=0.25)
    assert entropy(p) < useless.value < np.inf
    told = len(set(p)) > 1  # equally likely values need as many bits without a denoiser
    assert [c.holds for c in found.conditions] == [None, True, told]
    assert useless.conditions[-1].holds is False


def test_the_interval_holds():
    p, held = np.array([0.7, 0.3]), 0
    for seed in range(60):
        x = RNG(seed).choice(2, size=(60, 2), p=p)
        low, high = bits(of_values(np.arange(2), p), x, spacing=1, nodes=24, level=0.9, seed=seed).interval
        held += low <= entropy(p) <= high
    assert held >= 46  # 54 of 60 are expected


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.7, 0.3], [0.2, 0.5, 0.3]])
def test_the_interval_of_few_rows_holds(p):
    """At 95 % and 30 rows of one entry; one draw of noise a row and Student's interval hold in 48 or 49 of 60."""
    p, held = np.array(p), 0
    for seed in range(60):
        x = RNG(seed).choice(len(p), size=(30, 1), p=p)
        low, high = bits(of_values(np.arange(len(p)), p), x, spacing=1, nodes=24, seed=seed).interval
        held += low <= entropy(p) <= high
    assert held >= 54  # 57 are expected


def test_units_tables_and_one_column():
    best = of_normal(np.array([4.0, 0.25]), 3.0)
    found = bits(best, X, noise=0.1)
    for make in TABLES:
        assert bits(best, make(X), noise=0.1).value == pytest.approx(found.value, rel=1e-12)
    for unit in (1e-100, 1e100):
        scaled = lambda noisy, sigma, unit=unit: unit * best(noisy / unit, sigma / unit)
        assert bits(scaled, X * unit, noise=0.1 * unit).value == pytest.approx(found.value + np.log2(unit), rel=1e-9)
    one = bits(of_normal(4.0, 3.0), X[:, :1], noise=0.1)
    assert one.interval[0] <= 0.5 * np.log2(2 * np.pi * np.e * 4.01) <= one.interval[1]
    repeated = bits(lambda noisy, sigma: noisy, np.repeat(X[:20], 3, axis=0), noise=0.1)
    assert np.isfinite(repeated.value)
    far = RNG(0).choice([0, 1000], size=(2000, 1))
    coarse = bits(of_values(np.array([0.0, 1000.0]), np.array([0.5, 0.5])), far, spacing=1, nodes=16)
    assert False in [c.holds for c in coarse.conditions]
    assert found.plot().to_dict()
    assert "bits for each entry" in found._repr_html_()


def test_refusals():
    same = lambda noisy, sigma: noisy
    refused(lambda x: bits(same, x, noise=0.1), "x", X)
    for denoiser, x, settings, words, kind in (
        (same, X, {}, "spacing and noise; found neither", SettingError),
        (same, X, {"spacing": 1, "noise": 1}, "spacing and noise; found both", SettingError),
        (same, X, {"spacing": 1}, "steps from the grid", DataError),
        (same, X, {"noise": 0}, "noise; found 0", SettingError),
        (same, X, {"noise": 1e5}, "noise; found 100000; rule: below", SettingError),
        (same, np.ones((30, 2)), {"noise": 1}, "all equal", DataError),
        (same, X * 1e200, {"noise": 1}, "x; found numbers as large as", DataError),
        (None, X, {"noise": 1}, "denoiser; found a NoneType", SettingError),
        (lambda x: x, X, {"noise": 1}, "denoiser; found TypeError", SettingError),
        (lambda x, s: x[0], X, {"noise": 1}, r"values of denoiser; found shape \(2,\)", ShapeError),
        (lambda x, s: x / 0 if s < 1 else x, X, {"noise": 0.1}, "denoiser", (DataError, SettingError)),
        (lambda x, s: 1e200 + x, X, {"noise": 0.1}, "an error above 1e308", DataError),
        (same, X, {"noise": 1, "nodes": 4}, "nodes; found 4", SettingError),
        (same, X, {"noise": 1, "level": 1}, "level; found 1", SettingError),
    ):
        with pytest.raises(kind, match=words) as caught:
            bits(denoiser, x, **settings)
        assert "\n" not in str(caught.value)
