"""Memorisation and speciation: brute force, closed forms of normal rows, predictions that come true, refusals."""

import numpy as np
import pandas
import polars
import pytest
from scipy import special

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.generation import memorisation, speciation
from lemmata.subjects.generation._speciation import _divided, _normal_agreement

from .tables import TABLES, refused

RNG = np.random.default_rng
X = RNG(0).normal(size=(200, 3)) * [3.0, 1.0, 0.5] + 5.0


def mean_weight(x, sigma, draws, seed):
    """The mean posterior weight of the true row, by its definition."""
    rng, total = RNG(seed), 0.0
    for _ in range(draws):
        noisy = x + sigma * rng.normal(size=x.shape)
        logs = -((noisy[:, None] - x) ** 2).sum(axis=2) / (2 * sigma**2)
        total += float(np.mean(np.exp(np.diag(logs) - special.logsumexp(logs, axis=1))))
    return total / draws


def test_half_of_the_posterior_is_on_the_true_row():
    found = memorisation(X)
    assert mean_weight(X, found.sigma, 60, 1) == pytest.approx(0.5, abs=0.02)
    low, high = found.sigma_interval
    assert mean_weight(X, low / 1.1, 60, 2) > 0.5 > mean_weight(X, high * 1.1, 60, 3)
    assert found.scale == pytest.approx(X.var(axis=0).mean() ** 0.5)
    assert found.time == pytest.approx(0.5 * np.log1p((found.sigma / found.scale) ** 2))
    assert (np.diff(found.weights) <= 1e-9).all()


def test_the_interval_holds():
    exact = memorisation(X, probes=200, seed=1000)
    exact = np.mean([memorisation(X, probes=200, seed=seed).sigma for seed in range(1000, 1020)])
    held = 0
    for seed in range(60):
        low, high = memorisation(X, probes=60, level=0.9, seed=seed).sigma_interval
        held += low <= exact <= high
    assert held >= 47  # 54 of 60 are expected


def test_normal_rows_in_many_dimensions():
    n, d = 403, 20  # log n / d is 0.3
    found = memorisation(RNG(0).normal(size=(n, d)))
    theory = 0.5 * np.log(1 + 1 / (n ** (2 / d) - 1))
    assert theory <= found.time <= 1.5 * theory


def test_the_number_of_rows_comes_true():
    curve = lambda u: np.stack([np.cos(6 * u[:, 0]), np.sin(6 * u[:, 0]), u[:, 1], 0 * u[:, 1] + 2], axis=1)
    found = memorisation(curve(RNG(0).uniform(size=(500, 2))))
    assert found.dimension == pytest.approx(2, abs=0.3)
    larger = memorisation(curve(RNG(1).uniform(size=(4000, 2))))
    asked = memorisation(curve(RNG(0).uniform(size=(500, 2))), larger.time)
    assert asked.rows_interval[0] <= asked.rows_needed <= asked.rows_interval[1]
    assert asked.rows_needed == pytest.approx(4000, rel=0.25)
    assert asked.rows_needed < asked.rows_normal
    assert "stops before copying starts" in str(memorisation(X, 5.0))


def test_units_tables_and_repeated_rows():
    found = memorisation(X)
    for unit in (1e-300, 1e-3, 1e290):
        other = memorisation(X * unit)
        assert other.sigma == pytest.approx(found.sigma * unit, rel=1e-3)
        assert other.time == pytest.approx(found.time, rel=1e-3)
    for make in TABLES:
        assert memorisation(make(X)).sigma == pytest.approx(found.sigma, rel=1e-9)
    assert memorisation(np.repeat(X, 2, axis=0)).sigma == pytest.approx(found.sigma, rel=0.05)
    some = memorisation(np.concatenate([X, X[:50]]))
    assert [c.holds for c in some.conditions if "repeat" in c.name] == [False]
    assert memorisation(X[:, :1]).dimension == pytest.approx(1, abs=0.3)
    assert memorisation(X > 5).sigma > 0
    assert found.plot().to_dict()
    assert "copies" in found._repr_html_()


def test_rows_in_close_pairs_fail_a_condition():
    x = RNG(3).normal(size=(100, 2))
    found = memorisation(np.concatenate([x, x + 1e-7]))
    assert False in [c.holds for c in found.conditions]
    assert np.isfinite([found.sigma, *found.sigma_interval]).all()


@pytest.mark.parametrize("tool", [memorisation, speciation])
def test_refusals(tool):
    refused(tool, "x", X)
    for table, words in ((np.ones((30, 2)), "30 of 30 rows that are equal"),
                         (np.repeat(X[:2], [5, 20], axis=0), "20 of 25 rows that are equal")):  # fmt: skip
        with pytest.raises(DataError, match=words):
            tool(table)
    for settings in ({"level": 0}, {"probes": 5}, {"seed": -1}):
        with pytest.raises(SettingError, match=next(iter(settings))):
            tool(X, **settings)


@pytest.mark.parametrize("t", [0, -1, np.nan, "1", True])
def test_refused_times(t):
    with pytest.raises(SettingError, match=r"^t; found"):
        memorisation(X, t)


def classes(n, d, size, seed):
    rng = RNG(seed)
    sides = rng.choice([-1, 1], size=n)
    return rng.normal(size=(n, d)) + size / d**0.5 * sides[:, None], sides


def test_speciation_of_two_normal_classes():
    x, sides = classes(3000, 30, 6.0, 0)
    found = speciation(x, sides)
    # The covariance has the eigenvalue 1 + 36, and the mean variance 1 + 36/30.
    assert found.time == pytest.approx(0.5 * np.log(37 / (1 + 36 / 30)), abs=0.02)
    assert found.interval[0] <= found.time <= found.interval[1]
    assert found.at_time == pytest.approx(0.775, abs=0.001)
    assert found.measured == pytest.approx(found.time, abs=0.15)
    np.testing.assert_allclose(found.agreement, found.predicted, atol=0.08)
    assert speciation(x).measured == pytest.approx(found.measured, abs=0.02)
    assert all(c.holds is not False for c in found.conditions)
    assert found.plot().to_dict()
    assert "decided" in found._repr_html_()


def test_the_agreement_of_normal_classes_by_simulated_draws():
    z = RNG(0).normal(size=400_000)
    for u in (0.3, 1.0, 2.0):
        p = special.expit(2 * u * (u + z))
        assert _normal_agreement(np.array([u]))[0] == pytest.approx(np.mean(p**2 + (1 - p) ** 2), abs=0.002)


def test_rows_without_classes_fail_a_condition():
    found = speciation(RNG(0).normal(size=(500, 10)))
    assert False in [c.holds for c in found.conditions]
    clear = speciation(np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0))
    assert np.isfinite(clear.time)


def test_the_division_has_the_least_variance():
    scores = RNG(1).normal(size=25)
    parts = _divided(scores)
    within = lambda side: sum(((own - own.mean()) ** 2).sum() for own in (scores[side], scores[~side]))
    best = min(within(scores > cut) for cut in np.sort(scores)[:-1])
    assert within(parts == 1) == pytest.approx(best)


def test_labels_of_all_kinds():
    x, sides = classes(300, 5, 5.0, 1)
    names = np.where(sides > 0, "a", "b")
    time = speciation(x, sides).measured
    for labels in (names, names.tolist(), pandas.Series(names, index=range(5, 305)), polars.Series(names), sides > 0):
        assert speciation(x, labels).measured == pytest.approx(time, rel=1e-6)
    for labels, words, kind in ((sides[:10], r"labels; found shape \(10,\)", ShapeError),
                                (np.ones(300), "1 different labels", DataError),
                                (np.arange(300), "300 different labels", DataError),
                                (np.where(sides > 0, np.nan, 1.0), "not finite", DataError),
                                (np.array(["a", 1] * 150, object), "several types", DataError)):  # fmt: skip
        with pytest.raises(kind, match=words):
            speciation(x, labels)
