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
from lemmata.workflows.studies._signal_power import ALL, ONE, PRODUCT, SEVERAL
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
