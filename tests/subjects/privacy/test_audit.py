"""Audits: how often their limits are wrong where the truth is known, what they find, and what they refuse."""

import math
import sys

import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.privacy import gaussian_eps, privacy_audit, threshold_attack

ROWS = np.random.default_rng(0).normal(size=(30, 4))
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)


def released(sigma):
    return lambda x, y, seed: x.sum(axis=0) + sigma * np.random.default_rng(seed).normal(size=x.shape[1])


def product(total, row, target):
    return total @ row


def too_many(wrong: int, runs: int, alpha: float) -> bool:
    """Whether so many wrong limits are rarer than 1e-4 at the stated level."""
    return stats.binom.sf(wrong - 1, runs, alpha) < 1e-4


@pytest.mark.parametrize(("ratio", "delta"), [(1.0, 1e-5), (2.0, 0.1), (0.3, 0.05)])
def test_limits_for_a_gaussian_mean_are_too_large_at_most_as_often_as_they_say(ratio, delta):
    draw, truth = np.random.default_rng(2), gaussian_eps(delta, ratio, 1.0)
    found = np.array([
        threshold_attack(draw.normal(ratio, 1, 400), draw.normal(0, 1, 400), delta).eps for _ in range(200)
    ])  # fmt: skip
    assert not too_many(int((found > truth).sum()), len(found), 0.05)
    if ratio >= 1.0:
        assert np.median(found) > 0.15 * truth


@pytest.mark.parametrize("alpha", [0.05, 0.4])
def test_limits_for_randomised_response_are_near_its_eps(alpha):
    """One threshold shows all of it: limits are wrong at most as often as they say, and close."""
    draw, eps = np.random.default_rng(3), 1.5
    keeps = 1 / (1 + math.exp(-eps))
    found = np.array([
        threshold_attack(draw.random(2000) < keeps, draw.random(2000) < 1 - keeps, 1e-9, alpha).eps for _ in range(300)
    ])  # fmt: skip
    assert not too_many(int((found > eps).sum()), len(found), alpha)
    assert np.median(found) > (1.3 if alpha == 0.05 else 1.38)


def test_the_bound_is_that_of_exact_limits_on_the_second_half():
    present, absent = np.r_[np.ones(50), np.ones(45), np.zeros(5)], np.r_[np.zeros(50), np.ones(3), np.zeros(47)]
    found = threshold_attack(present, absent, 0.01, 0.1)
    assert (found.threshold, found.above, found.member) == (0.0, True, True)
    assert (found.hits, found.trials, found.false_hits, found.false_trials) == (45, 50, 3, 50)
    low = stats.binomtest(45, 50).proportion_ci(0.9).low
    high = stats.binomtest(3, 50).proportion_ci(0.9).high
    assert found.eps == pytest.approx(math.log((low - 0.01) / high), rel=1e-9)
    assert found.at(0.3) == pytest.approx(math.log((low - 0.3) / high), rel=1e-9)
    assert found.at(0.999) == 0.0
    assert found.ceiling == pytest.approx(math.log((0.05 ** (1 / 50) - 0.01) / (1 - 0.05 ** (1 / 50))), rel=1e-9)


def test_scores_that_fall_with_the_canary_and_leaks_without_it_are_found():
    draw = np.random.default_rng(4)
    low, high = draw.normal(0, 1, 800), draw.normal(3, 1, 800)
    assert threshold_attack(low, high, 1e-5).eps > 2.0
    rare = np.where(draw.random(800) < 0.4, 9.0, 0.0)
    assert threshold_attack(np.zeros(800), rare, 1e-5).eps > 3.0
    assert threshold_attack(rare, np.zeros(800), 1e-5).eps > 3.0
    assert threshold_attack(np.zeros(800), -rare, 1e-5).eps > 3.0
    assert threshold_attack(-rare, np.zeros(800), 1e-5).eps > 3.0
    assert threshold_attack(low, draw.normal(0, 1, 800), 1e-5).eps < 0.3


def test_noise_that_was_halved_silently_is_detected_and_right_noise_is_not():
    for share, broken in ((0.5, True), (1.0, False)):
        found = privacy_audit(released(share), ROWS, score=product, noise=1.0, trainings=1500, seed=1)
        assert found.broken is broken
        assert found.lower < found.upper
        assert ("BROKEN" in str(found)) is broken
        assert (found.contradicted is not None) is broken
        assert found.upper == gaussian_eps(1e-5, 1.0, 1.0)


def test_right_noise_is_seldom_called_broken(monkeypatch):
    """A release with exactly the noise that it says, at a level at which wrong limits are common."""
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    settings = {"score": product, "noise": 1.0, "trainings": 100, "alpha": 0.3}
    wrong = sum(privacy_audit(released(1.0), ROWS[:2], seed=seed, **settings).broken for seed in range(60))
    assert not too_many(wrong, 60, 0.3)


def test_steps_on_sampled_rows_are_audited_against_the_accountants():
    pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")

    def train(x, y, seed, noise=0.4):
        draw, weights = np.random.default_rng(seed), np.zeros(4)
        for _ in range(3):
            taken = draw.random(len(x)) < 0.6
            signed = x[taken] * y[taken, None]
            gradients = -signed / (1 + np.exp(signed @ weights))[:, None]
            gradients /= np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True))
            weights = weights - 0.02 * (gradients.sum(axis=0) + noise * draw.normal(size=4))
        return lambda row, target: target * (row @ weights)

    y = np.sign(ROWS[:, 0])
    canary = (10 * ROWS[:1], -y[:1])
    settings = {"rate": 0.6, "steps": 3, "trainings": 300}
    honest = privacy_audit(train, ROWS[:6], y[:6], canary, noise=0.4, **settings)
    assert honest.broken is False
    assert honest.lower > 0.3
    lied = privacy_audit(train, ROWS[:6], y[:6], canary, noise=3.0, **settings)
    assert lied.broken


def test_canaries_are_appended_to_half_of_the_runs_and_made_where_none_are_given():
    seen = []

    def train(x, y, seed):
        seen.append((x, y, seed))
        return lambda row, target: float(seed % 7)

    x, y = np.array([[1.0, 0.0], [0.0, 5.0], [2.0, 2.0]]), np.array([0, 0, 3])
    found = privacy_audit(train, x, y, trainings=10)
    assert [len(rows) for rows, _, _ in seen] == [4, 3] * 5
    assert seen[0][0][-1].tolist() == [0.0, 5.0]
    assert seen[0][1].tolist() == [0, 0, 3, 3]
    assert len({seed for _, _, seed in seen}) == 10
    assert found.upper is None
    assert found.broken is None
    assert "accountant" not in str(found)
    words = privacy_audit(
        lambda x, y, seed: lambda row, word: float(word == "b"), x, np.array(["a", "a", "b"]), trainings=8
    )
    assert words.lower == 0.0


def test_a_seed_repeats_an_audit():
    first, again, other = (
        privacy_audit(released(0.7), ROWS, score=product, trainings=60, seed=seed) for seed in (3, 3, 4)
    )
    assert str(first) == str(again)
    assert first.attack != other.attack


def test_trainings_that_ignore_their_seed_are_named():
    found = privacy_audit(lambda x, y, seed: x.sum(axis=0), ROWS, score=product, trainings=40)
    assert found.conditions[0].holds is False
    assert str(found).endswith("\n- different scores without a canary: fails (1)")
    assert privacy_audit(released(1.0), ROWS, score=product, trainings=40).conditions[0].holds


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"delta": 0.0}, SettingError, "delta"),
        ({"delta": 1.0}, SettingError, "delta"),
        ({"alpha": 0.0}, SettingError, "alpha"),
        ({"trainings": 7}, SettingError, "trainings"),
        ({"seed": -1}, SettingError, "seed"),
        ({"noise": 0.0}, SettingError, "noise"),
        ({"noise": 1.0, "rate": 2.0}, SettingError, "rate"),
        ({"noise": 1.0, "steps": 0}, SettingError, "steps"),
        ({"x": np.zeros((0, 2))}, ShapeError, "x"),
        ({"y": np.zeros(3)}, ShapeError, "y"),
        ({"canaries": (np.zeros((1, 3)), None)}, ShapeError, "canaries"),
        ({"canaries": (np.zeros((1, 4)), np.zeros(1))}, ShapeError, "targets of canaries"),
        ({"score": lambda model, row, target: math.nan}, DataError, "score"),
        ({"score": lambda model, row, target: row[9]}, SettingError, "score; found IndexError: "),
        ({"train": lambda x, y, seed: x @ y}, SettingError, "train; found "),
        ({"score": lambda model, row, target: "good"}, DataError, "score"),
        ({"score": lambda model, row, target: np.zeros(2)}, DataError, "score"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_line(change, error, word):
    asked = {"train": released(1.0), "x": ROWS, "score": product, "trainings": 8} | change
    with pytest.raises(error, match=word) as said:
        privacy_audit(**asked)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((4, 2))])
def test_scores_of_a_wrong_shape_are_refused(scores):
    with pytest.raises(ShapeError, match="with_canary"):
        threshold_attack(scores, np.zeros(10))
    with pytest.raises(ShapeError, match="without"):
        threshold_attack(np.zeros(10), scores)


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="without"):
        threshold_attack(np.zeros(10), np.r_[np.zeros(9), np.inf])
