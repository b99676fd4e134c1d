"""Votes against exhaustive search; spectra of classes against planted shifts and drawn matrices."""

import ast
import dataclasses
import itertools
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import backdoor_report, bulk_median, partition_certificate, rows_to_see, spiked_overlap
from lemmata.subjects.robustness._bulk import bulk_of
from lemmata.subjects.robustness._class_comparison import compared_classes


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


def test_conditions_that_fail_are_printed():
    rows = np.random.default_rng(0).normal(size=(200, 20))
    said = str(backdoor_report(np.concatenate([rows, rows[:3]]), np.zeros(203, int)))
    assert said.endswith("\n- rows that repeat another row of the class: fails (3)")


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


def relu_features(draw, n, d):
    return np.maximum(draw.normal(size=(n, d)) @ draw.normal(size=(d, d)), 0)


@pytest.mark.parametrize(("n", "d"), [(400, 40), (200, 60), (300, 100)])
def test_clean_relu_features_raise_no_alarm(n, d):
    """One class of them has no reference: it is undecided, and the report says which hypothesis fails."""
    draw = np.random.default_rng([n, d])
    for _ in range(10):
        one = backdoor_report(relu_features(draw, n, d), np.zeros(n, int)).classes[0]
        assert one.visible is None
        assert not one.suspicious
        assert one.spike is None
        assert one.conditions[0].holds is False
        assert one.conditions[0].value > 5
        assert "not isotropic" in str(one)
        assert "remedy" in str(one)


def repeated(name, rows, draw):
    """Rows with the columns or rows that make a covariance singular."""
    return {
        "duplicate columns": lambda: np.hstack([rows, rows]),
        "some duplicate columns": lambda: np.hstack([rows, rows[:, :7]]),
        "rank deficient": lambda: np.hstack([rows, rows @ draw.normal(size=(rows.shape[1], 20))]),
        "constant columns": lambda: np.hstack([rows, np.full((len(rows), 9), 3.0)]),
        "duplicate rows": lambda: np.vstack([rows, rows[: len(rows) // 2]]),
        "single precision": lambda: np.hstack([rows, 2 * rows]).astype(np.float32),
        "large": lambda: 1e160 * rows,
    }[name]()


KINDS = ("duplicate columns", "some duplicate columns", "rank deficient", "constant columns", "duplicate rows",
         "single precision", "large")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [1, 5])
def test_singular_covariances_raise_no_alarm_and_hide_no_backdoor(kind, classes):
    """A paired null: each table without and with the same shift of the same rows."""
    alarms, missed = 0, 0
    for number in range(6):
        draw = np.random.default_rng([number, classes])
        labels = np.repeat(np.arange(classes), 200)
        base = draw.normal(size=(200 * classes, 24))
        base = base if classes == 1 else np.maximum(base @ draw.normal(size=(24, 24)) / 5 + 0.5, 0)
        shifted = base.copy()
        shifted[:20] += 9.0 * np.ones(24) / 24**0.5
        for rows in (base, shifted):
            state = np.random.default_rng(number)
            given = repeated(kind, rows, state)
            own = np.concatenate([labels, labels[: len(labels) // 2]])[: len(given)]
            seen = [one.visible for one in backdoor_report(given, own).classes]
            if rows is base:
                alarms += any(seen)
            else:
                missed += seen[0] is not True
    assert alarms == 0
    # other variances of a single class are no reference: it may be undecided, and is never called clean
    singular = classes == 1 and kind == "rank deficient"
    assert missed == 6 if singular else missed <= 1


def test_a_single_class_without_isotropy_is_never_called_clean():
    draw = np.random.default_rng(4)
    rows = draw.normal(size=(200, 24))
    rows[:20] += 9.0 * np.ones(24) / 24**0.5
    one = backdoor_report(repeated("rank deficient", rows, draw), np.zeros(200, int)).classes[0]
    assert one.visible is None


def test_one_clean_direction_of_large_variance_is_no_backdoor():
    for number in range(10):
        draw = np.random.default_rng(number)
        rows = draw.normal(size=(300, 40))
        rows[:, 0] *= 4
        one = backdoor_report(rows, np.zeros(300, int)).classes[0]
        assert one.spike > 5
        assert one.visible is False
        assert "no two groups" in str(one)


def test_groups_in_every_class_are_no_backdoor():
    draw = np.random.default_rng(5)
    labels = np.repeat(np.arange(6), 100)
    rows = draw.normal(size=(600, 20)) + 3 * draw.normal(size=(6, 2, 20))[labels, draw.integers(0, 2, 600)]
    report = backdoor_report(rows, labels)
    assert not any(own.visible for own in report.classes)
    assert "of 6 classes have two groups" in str(report)


def test_two_classes_with_backdoors_among_ten_are_not_called_clean():
    """Each spoils the reference of the other: both are undecided, and the others stay quiet."""
    for number in range(3):
        draw = np.random.default_rng(number)
        labels = np.repeat(np.arange(10), 150)
        rows = draw.normal(size=(1500, 20))
        rows[:15] += 30 * np.ones(20) / 20**0.5
        rows[150:180, ::2] += 9 / 10**0.5
        rows = np.maximum(rows @ draw.normal(size=(20, 30)) / 4 + 0.3, 0)
        report = backdoor_report(rows, labels)
        assert all(own.visible is not False for own in report.classes[:2])
        assert not any(own.visible for own in report.classes[2:])
        assert "do not have one normal distribution" in str(report.classes[0])


def test_false_alarms_and_power_on_features_of_the_zoo():
    """The rate that the benchmark prints, in small: the same digits without and with the trigger."""
    path = pathlib.Path(__file__).parents[3] / "benchmarks"
    code = f"import sys; sys.path.insert(0, {str(path)!r}); import backdoor_features as own; "
    code += "print(own.counts('pixels', 'clean', range(8)), own.counts('pixels', 'backdoor', range(8)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    clean, planted = ast.literal_eval(done.stdout.replace(") (", "), ("))
    assert clean[:3] == (8, 0, 0)
    assert planted[1] == 0
    assert planted[2] >= 7


@pytest.mark.parametrize(("rows", "columns", "level"), [(400, 60, 0.05), (100, 90, 0.01), (3000, 20, 0.02)])
def test_the_spike_that_is_not_seen_in_isotropic_rows_is_where_noise_has_the_level(rows, columns, level):
    table = np.random.default_rng(4).normal(size=(rows, columns))
    own = backdoor_report(table, np.zeros(rows, int), level=level).classes[0]
    gamma = columns / rows
    bulk = bulk_of(table - table.mean(axis=0), columns)
    predicted = (1 + own.unseen) * (1 + gamma / own.unseen) * bulk.noise
    at = dataclasses.replace(bulk, values=np.array([predicted]))
    assert own.unseen > own.threshold
    assert at.chance(0) == pytest.approx(level, rel=1e-6)


def structured(seed, classes=8, n=90, d=30):
    """Classes with one strong structure, of unlike strength."""
    draw = np.random.default_rng(seed)
    scales = np.where(np.arange(d) < 6, 5.0, 1.0)
    rows = [draw.normal(size=(n, d)) * scales * (1 + 0.1 * draw.normal()) for _ in range(classes)]
    return np.concatenate(rows), np.repeat(np.arange(classes), n)


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_what_a_class_may_gain_unseen_beside_other_classes(seed):
    rows, labels = structured(seed)
    moved = [rows[labels == label] - rows[labels == label].mean(axis=0) for label in np.unique(labels)]
    for own, beside in zip(backdoor_report(rows, labels).classes, compared_classes(moved), strict=True):
        if own.visible is None:
            assert own.unseen is None
            continue
        assert own.unseen > 0
        assert f"below {own.unseen:.3g} would not be detected" in own.found
        gained = np.log(np.exp(beside.value + beside.bulk) + own.unseen) - beside.bulk
        chance = stats.t.sf((gained - beside.mean) / beside.spread, beside.free)
        assert chance == pytest.approx(0.05 / 8, rel=1e-6)


def test_a_smaller_spike_is_not_seen_and_one_class_alone_has_no_power():
    rows, labels = structured(8)
    before = backdoor_report(rows, labels).classes[3]
    assert before.visible is False
    share, last = 20 / 90, np.arange(30) == 29  # the last column has variance 1 in all classes
    for part, seen in ((0.3, False), (30.0, True)):
        moved = rows.copy()
        moved[3 * 90 : 3 * 90 + 20] += np.sqrt(part * before.unseen / (share * (1 - share))) * last
        assert backdoor_report(moved, labels).classes[3].visible is seen
    alone = backdoor_report(rows[:90], labels[:90]).classes[0]
    assert alone.visible is None
    assert alone.unseen is None


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_spikes_ratios_and_medians_of_no_number_are_refused(value):
    for call in (lambda: spiked_overlap(value, 0.25), lambda: spiked_overlap(1.0, value), lambda: bulk_median(value)):
        with pytest.raises(SettingError, match="found"):
            call()


def test_extreme_spikes_and_shifts_end_where_they_tend_to():
    assert spiked_overlap(1e300, 0.25) == 1.0
    assert spiked_overlap(1e-300, 0.25) == spiked_overlap(0.0, 0.25) == 0.0
    assert rows_to_see(0.5, 1e200, 60) == 0.0
    assert rows_to_see(0.5, 1e-200, 60) == rows_to_see(0.0, 1.0, 60) == np.inf
    assert bulk_median(1e-12) == pytest.approx(1.0, abs=1e-12)
    for gamma in (0.0, 1e-300, 1e13):
        with pytest.raises(SettingError, match="gamma"):
            bulk_median(gamma)
