"""What the test for signal says it would have found is what it finds; and of many rows it uses many."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._answers import answers
from lemmata.workflows.studies._signal import Signal, signal
from lemmata.workflows.studies._signal_held import of_held_out
from lemmata.workflows.studies._signal_power import ALL, ONE, PRODUCT, SEVERAL, _with_ties, bent, either, hardest
from lemmata.workflows.studies._unfound import predicted
from tests.workflows.studies.candidates import question

WIDE = np.random.default_rng(8).normal(size=(120, 40))


def mixed(rows, share, rng):
    """A target of which a part of the variance comes from the rows."""
    return math.sqrt(share) * (rows - rows.mean()) / rows.std() + math.sqrt(1 - share) * rng.normal(size=len(rows))


def unseen(x, y=None):
    """The first test of noise that finds nothing."""
    for seed in range(9):
        rng = np.random.default_rng([seed, 31])
        found = signal(load_dataset((x, rng.normal(size=len(x)) if y is None else rng.permutation(y))), seed)
        if not found.found:
            return found
    raise AssertionError("the test finds noise")


@pytest.mark.parametrize("kind", [ONE, SEVERAL, ALL])
def test_a_signal_of_the_told_share_is_found_in_most_cases(kind):
    """13 % was told of 120 rows of 60 columns, where 13 % in five columns were found 4 times of 26."""
    share, hits, count = unseen(WIDE).powers[kind], 0, 16
    assert share < 0.6
    for seed in range(count):
        rng = np.random.default_rng([seed, 4])
        columns = rng.choice(40, {ONE: 1, SEVERAL: 5, ALL: 40}[kind], replace=False)
        hits += signal(load_dataset((WIDE, mixed(WIDE[:, columns] @ rng.normal(size=len(columns)), share, rng)))).found
    assert hits >= 10, f"{hits} of {count}"


def test_a_signal_of_several_columns_is_harder_to_see_and_said_so():
    found = unseen(WIDE)
    assert found.powers[ALL] > 1.2 * found.powers[ONE]
    assert found.visible == max(found.powers[kind] for kind in (ONE, SEVERAL, ALL))
    said = answers(found, [], question()).sentences[1]
    assert "fraction of the target's variance: " in said
    assert "% (linear in one column)" in said
    assert "% (linear in five columns)" in said
    assert "in all columns" in said
    assert "product of two columns" in said


def test_of_eight_classes_no_share_is_told_that_is_not_seen():
    """1 % was told of 400 rows of 8 classes: a model that explains 3.5 % was found in 4 of 10 draws."""
    rng = np.random.default_rng(6)
    found = unseen(rng.normal(size=(400, 12)), np.arange(400) % 8)
    assert set(found.powers) == {ONE, SEVERAL, ALL}
    assert min(found.powers.values()) > 0.01
    assert found.visible >= 0.02


def test_a_test_that_can_see_nothing_says_so():
    blind = Signal(False, 0.4, 1.0, 1.0, 25, visible=math.inf, powers={ONE: math.inf, ALL: math.inf})
    said = answers(blind, [], question()).sentences
    assert said[0].startswith("It is open whether the columns predict the target")
    assert said[1].startswith("This test has little power here")
    assert not any("100 %" in text or "inf" in text for text in said)
    half = Signal(False, 0.4, 1.0, 1.0, 60, visible=0.3, powers={ONE: 0.2, ALL: 0.3, PRODUCT: math.inf})
    said = answers(half, [], question()).sentences[1]
    assert "20 % (linear in one column) and 30 % (linear in all columns). It often misses " in said
    assert "It often misses even strong signals of these kinds: product of two columns." in said


@pytest.mark.parametrize("classes", [False, True])
def test_a_weak_signal_of_many_rows_is_found(classes):
    """On 7,150 rows boosting was ten standard errors ahead of guessing, and 400 of them left it open."""
    hits = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, 12])
        x = rng.normal(size=(6000, 6))
        y = mixed(np.abs(x[:, 0]) + np.sin(2 * x[:, 1]), 0.05, rng)
        found = signal(load_dataset((x, np.digitize(y, [-1, 0, 1]).astype(str) if classes else np.exp(2 * y))), seed)
        hits += found.found and found.kind == "held-out rows" and found.rows == 3000
    assert hits == 3


def test_of_held_out_rows_the_p_value_is_uniform_without_signal():
    values = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 13])
        y = np.exp(1.5 * rng.normal(size=200)) if seed % 2 else rng.integers(0, 4, 200).astype(str)
        values.append(of_held_out(load_dataset((rng.standard_t(2, (200, 4)), y)), rng, 1.0).p_value)
    assert stats.kstest(values, "uniform").pvalue > 1e-3


def test_copies_on_both_sides_of_the_halves_are_no_evidence():
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(2600, 3)), rng.normal(size=2600)
    order = np.r_[np.arange(2600), np.repeat(np.arange(100), 12)]
    found = signal(load_dataset((x[order], y[order])))
    assert found.copies == 1200
    assert found.kind != "held-out rows"


def test_what_was_tested_is_said():
    seen = Signal(True, 0.002, 1.0, 1.0, 3000, kind="held-out rows", least=0.002, shuffles=999, held=3000)
    blind = Signal(False, 0.3, 1.0, 1.0, 800, kind="both", least=0.002, shuffles=999, held=3000, visible=0.02)
    assert predicted(seen) == (
        "The columns predict the target (permutation test on 3,000 held-out rows, "
        "p ≤ 0.002, the smallest value that this test can give)."
    )
    said = answers(blind, [], question()).sentences[0]
    assert re.match("No signal was found: .* 800 rows, .* 3,000 held-out rows.", said)


COLUMNS = np.random.default_rng(0).normal(size=(200, 3))


def amounts(effect, rng):
    """Mostly zeros. The first column changes the probability of an amount."""
    chance = 1 / (1 + np.exp(2.2 - effect * COLUMNS[:, 0]))
    return np.where(rng.random(200) < chance, rng.exponential(1, 200), 0.0)


def grades(effect, rng):
    return np.digitize(effect * COLUMNS[:, 0] + rng.logistic(size=200), [-1, 1]).astype(float)


def one_hot(effect, rng):
    return np.eye(3)[grades(effect, rng).astype(int)]


@pytest.mark.parametrize(
    ("make", "effect", "explained"), [(amounts, 1.7, 0.1), (grades, 0.6, 0.1), (one_hot, 0.75, 0.06)]
)
def test_of_a_target_with_ties_no_share_is_told_that_is_not_seen(make, effect, explained):
    """0.1 % was told, because a signal that is added to a target breaks its ties. 0.8 % was seen in 1 table of 14."""
    tables = [make(effect, np.random.default_rng([seed, 5])).reshape(200, -1) for seed in range(12)]
    x = COLUMNS[:, 0] - COLUMNS[:, 0].mean()
    shares = [((x @ (y - y.mean(axis=0))) ** 2).sum() / (x @ x) / y.var(axis=0).sum() / 200 for y in tables]
    assert np.mean(shares) - 1 / 200 == pytest.approx(explained, abs=0.02)
    nothing = lambda seed: load_dataset((COLUMNS, make(0.0, np.random.default_rng([seed, 31]))), task="regression")
    told = next(found for seed in range(9) if not (found := signal(nothing(seed), seed)).found).powers[ONE]
    assert explained / 2 < told <= 1.25 * explained
    hits = sum(signal(load_dataset((COLUMNS, y), task="regression"), seed).found for seed, y in enumerate(tables))
    assert hits >= 10, f"{hits} of 12"


def test_a_table_with_ties_has_the_values_of_its_noise_and_the_share_of_its_signal():
    rng = np.random.default_rng(3)
    noise = np.where(rng.random((4000, 8, 1)) < 0.9, 0.0, rng.exponential(1, (4000, 8, 1)))
    shown, ways = rng.normal(size=(4000, 8)), np.full((8, 1), noise.std())
    made = _with_ties(shown, ways, noise, rng)(np.full((8, 1), 0.05))
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(noise, axis=0))
    shares = [np.corrcoef(shown[:, t], made[:, t, 0])[0, 1] ** 2 for t in range(8)]
    assert np.mean(shares) == pytest.approx(0.05, abs=0.008)


def test_many_held_out_rows_with_ties_do_not_show_how_a_signal_breaks_ties():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(1200) < 0.9, 0.0, rng.exponential(1, 1200))
    found = signal(load_dataset((rng.normal(size=(1200, 3)), y), task="regression"))
    assert (found.kind, found.powers[ONE] > 0.008) == ("both", True)


def test_the_hardest_kind_is_the_one_that_needs_the_largest_share_and_is_no_product():
    assert hardest({ONE: 0.1, SEVERAL: 0.2, ALL: 0.3, PRODUCT: 0.9}) == 0.3
    assert hardest({ONE: 0.3, SEVERAL: 0.2, ALL: 0.1}) == 0.3
    assert math.isnan(hardest({PRODUCT: 0.9}))
    assert either({ONE: 0.1, ALL: 0.5}, {ONE: 0.2, ALL: 0.4, PRODUCT: 0.1}) == {ONE: 0.1, ALL: 0.4}
    assert either({ONE: 0.1}, {}) == {ONE: 0.1}
    assert bent({ONE: 0.99}) == {ONE: math.inf}
