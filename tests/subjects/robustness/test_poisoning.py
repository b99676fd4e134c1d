"""Votes against exhaustive search; spectra of classes against planted shifts and drawn matrices."""

import itertools

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import backdoor_report, bulk_median, partition_certificate, rows_to_see, spiked_overlap


def exhaustive(votes, classes):
    votes = np.asarray(votes)
    winner = np.bincount(votes, minlength=classes).argmax()
    fewest = len(votes) + 1
    for other in itertools.product(range(classes), repeat=len(votes)):
        if np.bincount(other, minlength=classes).argmax() != winner:
            fewest = min(fewest, int((votes != other).sum()))
    return fewest - 1


@pytest.mark.parametrize("votes", [[0, 0, 1], [1, 1, 0], [0, 1], [1, 1, 1, 1], [2, 2, 2, 1, 0], [0, 0, 0, 0, 1, 2]])
def test_votes_by_exhaustive_search(votes):
    assert partition_certificate(votes, 3).rows == exhaustive(votes, 3)


def test_ties_cost_a_class_with_a_larger_number():
    """Without the term for ties both would be 1."""
    assert partition_certificate([0, 0, 0, 1]).rows == 1
    assert partition_certificate([1, 1, 1, 0]).rows == 0


@pytest.mark.parametrize("gamma", [0.2, 0.8, 2.0])
def test_median_of_the_bulk(gamma):
    n = 800
    rows = np.random.default_rng(0).normal(size=(n, int(gamma * n)))
    values = np.linalg.svd(rows, compute_uv=False) ** 2 / n
    assert np.median(values) == pytest.approx(bulk_median(gamma), rel=0.02)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_a_planted_backdoor_is_found(scale):
    draw = np.random.default_rng(1)
    rows, labels = scale * draw.normal(size=(1500, 100)), np.repeat([0, 1, 2], 500)
    planted = np.arange(500, 530)
    rows[planted] += scale * 8.0 * np.ones(100) / 10
    report = backdoor_report(rows, labels)
    assert [own.visible for own in report.classes] == [False, True, False]
    one = report.classes[1]
    assert len(set(one.suspicious) & set(planted)) >= 25
    assert len(set(one.suspicious) - set(planted)) <= 5
    assert one.spike == pytest.approx(0.06 * 0.94 * 64, rel=0.25)
    assert one.noise == pytest.approx(scale**2, rel=0.1)
    assert one.overlap == pytest.approx(spiked_overlap(0.06 * 0.94 * 64, 0.2), abs=0.05)
    assert "nothing stands out" in str(report)


def test_pure_noise_is_left_alone():
    draw = np.random.default_rng(2)
    wrong = sum(backdoor_report(draw.normal(size=(200, 60)), np.zeros(200, int)).classes[0].visible for _ in range(60))
    assert wrong <= 3


def test_structure_is_not_called_a_backdoor_without_a_doubt():
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(400, 40)) * np.where(np.arange(40) < 5, 4.0, 1.0)
    report = backdoor_report(rows, np.zeros(400, int))
    assert report.classes[0].conditions[0].holds is False
    assert "not isotropic" in str(report)


def test_rows_to_see_is_the_threshold():
    needed = rows_to_see(0.1, 3.0, 300)
    spike = 0.09 * 9.0
    assert spiked_overlap(spike, 300 / (1.01 * needed)) > 0 == spiked_overlap(spike, 300 / (0.99 * needed))
    assert rows_to_see(0.0, 3.0, 300) == float("inf")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: partition_certificate([]), ShapeError, "votes"),
        (lambda: partition_certificate([0.5, 1.0]), DataError, "whole numbers"),
        (lambda: partition_certificate([-1, 1]), DataError, "start at 0"),
        (lambda: partition_certificate([0, 5], classes=3), DataError, "classes below 3"),
        (lambda: backdoor_report(np.ones((20, 3)), np.zeros(19, int)), ShapeError, "labels"),
        (lambda: backdoor_report(np.ones(20), np.zeros(20, int)), ShapeError, "features"),
        (lambda: backdoor_report(np.ones((4, 3)), np.zeros(4, int)), DataError, "at least 8"),
        (lambda: backdoor_report(np.ones((20, 3)), np.zeros(20, int)), SettingError, "without variance"),
        (lambda: backdoor_report(np.full((20, 3), np.nan), np.zeros(20, int)), DataError, "features"),
        (lambda: rows_to_see(1.5, 3.0, 10), SettingError, "between 0 and 1"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
