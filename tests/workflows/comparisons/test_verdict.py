"""Sentences of a comparison: a winner by the variance, a winner by a factor, and none."""

import dataclasses
import re

from lemmata.intervals import Interval
from lemmata.workflows.comparisons._verdict import sentences
from lemmata.workflows.records.comparisons import PairResult
from tests.interfaces.report.test_families import DATA, family


def pair(first, second, ratio):
    interval = Interval(ratio, 0.8 * ratio, 1.25 * ratio)
    return PairResult(first, second, Interval(0.0, 0.0, 0.0), 5e-4, 5e-4, True, interval)


def verdict(errors, leaders, compared=()):
    families = [family(name, name, error) for name, error in errors.items()]
    data = dataclasses.replace(DATA, classes=None)
    return sentences(data, families, leaders, None, compared)[0]


def test_a_winner_by_a_factor_says_that_both_errors_are_small():
    errors = {"attention": 1e-5, "convolution": 8.7e-4}
    text = verdict(errors, ["attention"], [pair("attention", "convolution", 1 / 87)])
    assert re.match(
        r"Attention wins: it leaves 0\.000010 .*, convolution, leaves 0\.00087, 87 times as much \(70 to 109\)\. Both "
        r"errors are small: convolution also explains all but 0\.087 % ",
        text,
    )
    assert verdict(errors, ["attention"], [pair("convolution", "attention", 87.0)]) == text


def test_a_winner_by_the_variance_is_told_as_before():
    text = verdict({"attention": 0.01, "convolution": 0.4}, ["attention"], [pair("attention", "convolution", 0.025)])
    assert text.startswith("Attention wins: it leaves 0.01 (0.009 to 0.011) of the target's variance")
    assert text.endswith("leaves 0.400, 40 times as much.")


def test_no_winner_says_both_rules():
    text = verdict({"attention": 1e-3, "convolution": 1.1e-3}, ["attention", "convolution"])
    assert text.startswith("No winner between attention and convolution")
    assert "below 5 % of the variance, and no error is significantly more than twice another" in text
