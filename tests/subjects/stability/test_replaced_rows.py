"""Stability of any fit: changes by hand and in closed form, intervals that hold the truth, what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.stability import replace_one, stability
from lemmata.subjects.stability._stability import efron_stein


def mean(x, y):
    level = y.mean(axis=0)
    return lambda new: np.broadcast_to(level, (len(new), *y.shape[1:]))


def nearest(x, y):
    return lambda new: y[((new[:, None] - x) ** 2).sum(axis=2).argmin(axis=1)]


def squares(predicted, y):
    return (predicted - y) ** 2


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 2)), rng.normal(size=40)


def test_changes_of_a_mean_by_hand(rows):
    x, y = rows
    found = replace_one(mean, (x[:30], y[:30]), (x[30:], y[30:]), 30, squares, np.random.default_rng(0))
    assert sorted(found.rows) == list(range(30))
    level = y[:30].mean()
    for row, new, change, own, largest, others, unseen in zip(
        found.rows, found.by, found.changes, found.new, found.largest, found.others, found.unseen, strict=True
    ):
        moved = level + (y[30 + new] - y[row]) / 30
        assert change == pytest.approx((y[row] - moved) ** 2 - (y[row] - level) ** 2)
        assert own == pytest.approx((y[30 + new] - level) ** 2 - (y[30 + new] - moved) ** 2)
        assert largest == pytest.approx(np.abs((y - moved) ** 2 - (y - level) ** 2).max())
        kept = np.delete(y[:30], row)
        assert others == pytest.approx(((kept - moved) ** 2 - (kept - level) ** 2).sum() / 30)
        new_rows = np.delete(y[30:], new)
        assert unseen == pytest.approx(((new_rows - moved) ** 2 - (new_rows - level) ** 2).mean())
    assert np.bincount(found.by).tolist() == [3] * 10


def test_the_sample_itself_is_left_alone(rows):
    x, y = rows[0].copy(), rows[1].copy()
    stability(nearest, x, y)
    assert np.array_equal(x, rows[0])
    assert np.array_equal(y, rows[1])


def test_the_gap_of_least_squares_is_the_exact_one_on_average():
    rng = np.random.default_rng(1)
    n, p = 26, 5
    found = []
    for seed in range(40):
        x = rng.normal(size=(n + 4, p))
        y = x.sum(axis=1) + rng.normal(size=n + 4)
        fit = lambda x, y: LinearRegression(fit_intercept=False).fit(x, y)
        found.append(stability(fit, x, y, seed=seed).gap)
    exact = p / (n - p - 1) + p / n
    assert abs(np.mean(found) - exact) < 4 * np.std(found) / np.sqrt(40)
    assert np.std(found) / np.sqrt(40) < exact / 6


def test_intervals_of_the_gap_of_a_mean_hold_it():
    """2/n is the gap of a mean of numbers of variance 1; the nominal level is 0.8."""
    rng, held = np.random.default_rng(2), 0
    for seed in range(40):
        found = stability(mean, np.zeros((60, 1)), rng.exponential(size=60) - 1, 20, level=0.8, seed=seed)
        held += found.interval[0] <= 2 / found.n <= found.interval[1]
    assert 27 <= held < 40  # of 40 at 0.8, 26 or fewer have a probability of 0.02


def test_the_variance_of_the_estimate_is_not_underrated():
    """Efron and Stein's is an upper one; that of the mean of the changes alone is about a half."""
    rng, found = np.random.default_rng(5), []
    for seed in range(80):
        x = rng.normal(size=(26, 2))
        y = np.tanh(x[:, 0]) + rng.normal(size=26)
        one = replace_one(nearest, (x[:20], y[:20]), (x[20:], y[20:]), 20, squares, np.random.default_rng(seed))
        found.append((one.changes.mean(), efron_stein(one), one.changes.var() / 20))
    gaps, upper, plain = np.array(found).T
    assert 0.9 < np.mean(upper) / np.var(gaps) < 3.5
    assert np.mean(plain) < 0.8 * np.var(gaps)


def test_what_is_reported(rows):
    x, y = rows
    found = stability(nearest, x, y, replaced=10)
    assert found.n + found.unseen == 40
    assert len(found.rows) == 10
    assert found.train == 0
    assert found.uniform >= found.average >= abs(found.gap)
    assert found.gap == pytest.approx(found.changes.mean())
    assert not {condition.name for condition in found.conditions if condition.holds is False} - {
        "rows that were replaced"
    }
    assert "gap" in str(found)
    assert "rows that were replaced: fails (10)" in str(found)
    assert stability(nearest, x, y, seed=1).gap == stability(nearest, x, y, seed=1).gap


def test_held_rows_are_used(rows):
    x, y = rows
    found = stability(nearest, x[:30], y[:30], held=(x[30:], y[30:]))
    assert (found.n, found.unseen) == (30, 10)
    assert found.held_gap == pytest.approx(squares(nearest(x[:30], y[:30])(x[30:]), y[30:]).mean())
    other_law = stability(mean, x[:30], y[:30], held=(x[30:], y[30:] + 20))
    assert any("agrees" in condition.name and condition.holds is False for condition in other_law.conditions)


def test_labels_and_other_losses(rows):
    x, y = rows
    labels = np.where(x[:, 0] + y > 0, "yes", "no")
    found = stability(lambda x, y: LogisticRegression().fit(x, y), x, labels, loss="zero-one")
    assert 0 <= found.uniform <= 1
    by_hand = stability(mean, x, y, loss=lambda predicted, y: np.abs(predicted - y))
    assert stability(mean, x, y, loss="absolute").gap == pytest.approx(by_hand.gap)


def test_chance_in_the_fit_and_copies_are_seen(rows):
    x, y = rows
    rng = np.random.default_rng(0)
    noisy = lambda x, y: lambda new: np.full(len(new), rng.normal())
    failing = lambda found: [condition.name for condition in found.conditions if condition.holds is False]
    assert any("same fit" in name for name in failing(stability(noisy, x, y)))
    assert any("duplicates" in name for name in failing(stability(mean, np.repeat(x, 2, axis=0), np.repeat(y, 2))))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"fit": LinearRegression()}, SettingError, "clone"),
        ({"fit": LinearRegression}, SettingError, "function of"),
        ({"fit": lambda x, y: 3}, SettingError, "predict"),
        ({"fit": lambda x, y: lambda new: np.zeros(3)}, ShapeError, "predictions"),
        ({"fit": lambda x, y: lambda new: np.full(len(new), np.nan)}, DataError, "not finite"),
        ({"x": np.zeros((39, 2))}, ShapeError, "39 and 40"),
        ({"x": np.full((40, 2), np.inf)}, DataError, "finite"),
        ({"x": 3.0}, ShapeError, "single value"),
        ({"x": np.zeros((9, 2)), "y": np.zeros(9)}, DataError, "at least 10"),
        ({"y": np.zeros((40, 2, 2))}, ShapeError, "outputs"),
        ({"y": np.array(["a"] * 40)}, DataError, "zero-one"),
        ({"loss": "cubic"}, SettingError, "one of"),
        ({"loss": lambda predicted, y: 0.0}, ShapeError, "one number for each row"),
        ({"replaced": 1}, SettingError, "replaced"),
        ({"replaced": 2.5}, SettingError, "replaced"),
        ({"level": 1.0}, SettingError, "level"),
        ({"held": np.zeros(3)}, ShapeError, "pair"),
        ({"held": (np.zeros((8, 3)), np.zeros(8))}, ShapeError, "held x"),
        ({"held": (np.zeros((3, 2)), np.zeros(3))}, DataError, "at least 4"),
    ],
)
def test_what_is_refused(rows, arguments, error, match):
    given = {"fit": mean, "x": rows[0], "y": rows[1], **arguments}
    with pytest.raises(error, match=match) as caught:
        stability(**given)
    assert "\n" not in str(caught.value)
