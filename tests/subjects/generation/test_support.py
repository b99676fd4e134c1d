"""The birthday test: counts by hand and by brute force, coverage of the interval, samples of all kinds, bad input."""

import itertools

import numpy as np
import pandas
import polars
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.generation import effective_support

RNG = np.random.default_rng
LABELS = RNG(0).integers(0, 30, 100)


def test_pairs_by_brute_force():
    found = effective_support(LABELS)
    same = sum(a == b for a, b in itertools.combinations(LABELS.tolist(), 2))
    assert (found.collisions, found.pairs) == (same, 4950)
    assert found.value == pytest.approx(4950 / same)
    assert found.largest == np.bincount(LABELS).max()
    low, high = found.interval
    assert low <= 30 <= high
    x = RNG(1).normal(size=(80, 2))
    near = sum(np.linalg.norm(a - b) <= 0.3 for a, b in itertools.combinations(x, 2))
    assert effective_support(x, 0.3).collisions == near
    assert effective_support(x, lambda a, b: np.linalg.norm(a - b) <= 0.3).collisions == near
    np.testing.assert_array_equal(
        effective_support(x, 0.3).degrees,
        [np.sum(np.linalg.norm(x - own, axis=1) <= 0.3) - 1 for own in x],
    )


LAWS = {
    "uniform": np.full(300, 1 / 300),
    "zipf": 1 / np.arange(1, 2001),
    "zipf2": 1 / np.arange(1, 301.0) ** 2,
    "geometric": 0.9 ** np.arange(100),
    "one frequent": np.r_[0.03, np.full(100_000, 0.97 / 100_000)],
    "frequent and uniform": np.r_[0.02, np.full(1000, 0.98 / 1000)],
    "ten frequent": np.r_[np.full(10, 0.005), np.full(100_000, 0.95 / 100_000)],
    "two": np.array([0.5, 0.5]),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("s", [40, 300])
def test_the_interval_holds(law, s):
    p = LAWS[law] / LAWS[law].sum()
    true, rng, held = 1 / np.sum(p**2), RNG(2), 0
    for _ in range(150):
        low, high = effective_support(rng.choice(len(p), s, p=p)).interval
        held += low <= true <= high
    # Of 150 intervals with level 0.95, fewer than 135 hold with probability below 0.01.
    assert held >= 135


def test_no_pair_and_all_pairs():
    found = effective_support(np.arange(100))
    assert np.isinf(found.value)
    assert np.isinf(found.interval[1])
    # One sample with probability q among rare ones is seen at most once with probability 0.025.
    q = found.interval[0] ** -0.5
    assert (1 - q) ** 100 + 100 * q * (1 - q) ** 99 == pytest.approx(0.025, rel=1e-6)
    assert "the effective support is above" in str(found)
    alike = effective_support(["x"] * 50)
    assert alike.value == alike.interval[0] == 1
    assert alike.interval[1] == pytest.approx(0.025 ** (-1 / 25))
    assert found.plot().to_dict()
    assert "pairs" in found._repr_html_()


def test_samples_of_all_kinds():
    count = effective_support(LABELS).collisions
    names = np.array([f"s{label}" for label in LABELS])
    table = np.stack([LABELS, LABELS * 2.0], axis=1)
    for samples in (LABELS.tolist(), names, names.tolist(), names.astype(object), table, table.tolist(),
                    pandas.Series(names), pandas.DataFrame(table), polars.Series(names), polars.DataFrame(table),
                    LABELS.astype(np.uint8), table.reshape(-1, 2, 1) * 1e-300, LABELS * 1e300):  # fmt: skip
        assert effective_support(samples).collisions == count
    assert effective_support(LABELS > 10).value < 3
    assert effective_support(table * 1e290, 1e288).collisions == count
    assert effective_support(np.r_[np.zeros(20), -np.zeros(20)]).value == 1


@pytest.mark.parametrize(
    ("samples", "same", "words", "kind"),
    [
        (LABELS[:19], None, "19 samples; rule: at least 20", DataError),
        ([], None, "0 samples", DataError),
        (3, None, "no list", DataError),
        (np.zeros((30, 0)), None, "no axis of length 0", ShapeError),
        (np.r_[LABELS.astype(float), np.nan], None, "1 entries that are not finite", DataError),
        (["a", None] * 20, None, "20 missing entries", DataError),
        (np.ma.masked_equal(LABELS, 3), None, "masked", DataError),
        (LABELS, 0.1, r"samples; found shape \(100,\)", ShapeError),
        (LABELS, "near", "same; found a str", SettingError),
        (LABELS, True, "same; found a bool", SettingError),
        (LABELS, -1.0, "same; found -1", SettingError),
        (LABELS, np.nan, "same; found nan", SettingError),
        (LABELS, lambda a, b: 1 / 0, "ZeroDivisionError", SettingError),
        (LABELS, lambda a, b: 0.5, "the answer 0.5", SettingError),
        (np.zeros((30, 2)), lambda a, b: a == b, "the answer", SettingError),
        (np.arange(4000), lambda a, b: False, "4000 samples; rule: at most 3000", DataError),
    ],
)
def test_refusals(samples, same, words, kind):
    with pytest.raises(kind, match=words) as caught:
        effective_support(samples, same)
    assert "\n" not in str(caught.value)
    with pytest.raises(SettingError, match="level"):
        effective_support(LABELS, level=0)
