"""Doubts about labels: the planted share is found, planted rows come first, and right labels are left alone."""

import numpy as np
import pytest
from scipy.special import softmax

from lemmata.errors import ShapeError
from lemmata.subjects.trained_models import label_doubts


def rows(seed: int, share: float, scale: float = 1.0, n: int = 400, classes: int = 5) -> tuple[np.ndarray, ...]:
    """Logits, labels drawn from their softmax of which a share is replaced by another class, and which those are."""
    rng = np.random.default_rng(seed)
    f = 3.0 * rng.normal(size=(n, classes))
    labels = np.array([rng.choice(classes, p=p) for p in softmax(f, axis=1)])
    hit = rng.random(n) < share
    labels = np.where(hit, (labels + rng.integers(1, classes, n)) % classes, labels)
    return scale * f, np.eye(classes)[labels], hit


@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_the_planted_share_is_in_the_interval_at_any_temperature(share, scale):
    inside = 0
    for seed in range(5):
        f, y, hit = rows(seed, share, scale)
        doubts = label_doubts(f, y)
        inside += 0.9 * doubts.low <= hit.mean() <= 1.1 * doubts.high  # ends lie on a grid
        assert doubts.low <= doubts.share <= doubts.high
        assert doubts.evidence > (0 if share == 0.05 else 5)
        assert doubts.area(hit) > 0.8
    assert inside >= 4  # 5 % each: two or more of five miss in 2 % of all fives


def test_right_labels_are_not_accused():
    """Twice the log likelihood's gain is a mixture of 0 and chi squared: above 10 in less than one of a thousand."""
    found = [label_doubts(*rows(seed, 0.0)[:2]) for seed in range(20)]
    assert max(doubts.evidence for doubts in found) < 5
    assert sum(doubts.low == 0.0 for doubts in found) >= 17
    assert np.mean([doubts.share for doubts in found]) < 0.01


def test_labels_by_chance_are_not_called_wrong():
    rng = np.random.default_rng(3)
    f, y = rng.normal(size=(300, 10)), np.eye(10)[rng.integers(0, 10, 300)]
    assert label_doubts(f, y).evidence < 5


def test_probabilities_are_those_of_bayes():
    """Among rows that are called wrong with probability near p a share near p is."""
    parts = [(label_doubts(f, y).wrong, hit) for f, y, hit in (rows(seed, 0.2) for seed in range(20))]
    wrong, hit = (np.concatenate(part) for part in zip(*parts, strict=True))
    for low, high in ((0.05, 0.3), (0.3, 0.7), (0.7, 1.0)):
        some = (wrong > low) & (wrong <= high)
        assert some.sum() > 100
        assert hit[some].mean() == pytest.approx(wrong[some].mean(), abs=0.08)


def test_area_is_that_of_all_pairs():
    f, y, hit = rows(1, 0.2, n=60)
    doubts = label_doubts(f, y)
    gap = doubts.wrong[hit][:, None] - doubts.wrong[~hit][None]
    assert doubts.area(hit) == pytest.approx(float(((gap > 0) + 0.5 * (gap == 0)).mean()))


def test_what_cannot_be_answered_is_refused():
    f, y, _ = rows(0, 0.1)
    with pytest.raises(ShapeError, match="one-hot"):
        label_doubts(f[:, :1], y[:, :1])  # other numbers of rows are refused by their types
    for planted in (np.zeros(400, bool), np.ones(400, bool), np.ones(3, bool)):
        with pytest.raises(ShapeError, match="at least one row, but not all"):
            label_doubts(f, y).area(planted)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_the_ends_of_an_interval_are_those_of_the_likelihood_ratio(share):
    """Against a loop over shares and temperatures; ends lie inside by a step of the grid at most, a factor 1.122."""
    f, y, _ = (np.concatenate(parts) for parts in zip(*(rows(seed, share) for seed in range(25)), strict=True))
    doubts = label_doubts(f, y)
    q = lambda t: (softmax(f / t, axis=1) * y).sum(1)
    known = {t: q(t) for t in np.linspace(0.85, 1.15, 31)}
    best = lambda e: max(np.log((1 - e) * own + e * (1 - own) / 4).sum() for own in known.values())
    grid = doubts.share * np.linspace(0.3, 1.9, 161)
    values = np.array([best(e) for e in grid])
    inside = grid[values >= values.max() - 3.8415 / 2]
    assert 0.98 * inside[0] <= doubts.low <= 1.14 * inside[0]
    assert inside[-1] / 1.14 <= doubts.high <= 1.02 * inside[-1]


def test_many_rows_are_judged_by_a_part_of_them_and_all_are_judged():
    f, y, hit = (np.concatenate(parts) for parts in zip(*(rows(seed, 0.1) for seed in range(100)), strict=True))
    assert len(f) > 25_000
    doubts = label_doubts(f, y)
    assert doubts.fitted == 20_000
    assert doubts.low <= hit.mean() <= doubts.high
    assert 0.005 < doubts.high - doubts.low < 0.03, "no interval is a point of the grid"
    assert doubts.wrong.shape == doubts.own.shape == (len(f),)
    assert doubts.area(hit) > 0.8
    assert label_doubts(f[:300], y[:300]).fitted == 300
