"""Bias and variance from pairs of fits: exact cases, the truth on average, noise where it is known, what is refused."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.stability import bias_variance


def mean(x, y):
    level = y.mean(axis=0)
    return lambda new: np.broadcast_to(level, (len(new), *y.shape[1:]))


def zero(x, y):
    return lambda new: np.zeros((len(new), *y.shape[1:]))


def polynomial(degree):
    return lambda x, y: np.poly1d(np.polyfit(x, y, degree))


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 100)
    return x, np.sin(3 * x) + 0.3 * rng.normal(size=100)


def test_the_parts_add_up_and_a_constant_has_no_variance(rows):
    x, y = rows
    found = bias_variance([zero, mean, polynomial(5)], x, y)
    assert found.error == pytest.approx(found.variance + found.rest)
    assert found.variance[0] == 0
    assert found.rows == 40
    assert found.names == ("0", "1", "2")
    assert found.excess_bias.min() == 0
    assert found.best == "2"
    # of rows that are left out at random, the mean square is that of all
    assert found.rest[0] == pytest.approx(np.mean(y**2), rel=0.1)
    assert found.noise is None
    assert found.bias is None


def test_a_mean_has_variance_over_n_and_the_rest_is_noise():
    rng, found = np.random.default_rng(0), []
    for seed in range(40):
        result = bias_variance(mean, np.zeros((30, 1)), rng.normal(size=30), 15, rows=8, seed=seed, noise=1.0)
        found.append((result.variance[0], result.rest[0], result.error[0]))
    average, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(40)
    assert np.all(np.abs(average - [1 / 8, 1, 9 / 8]) < 4 * error)
    assert error[0] < 0.03


def test_the_parts_of_two_splits_by_hand(rows):
    x, y = rows
    found = bias_variance(polynomial(3), x, y, 2, rows=30, seed=9)
    rng, parts = np.random.default_rng(9), []
    for _ in range(2):
        order = rng.permutation(100)
        new = order[60:]
        pair = [polynomial(3)(x[part], y[part])(x[new]) for part in (order[:30], order[30:60])]
        mean_error = np.mean([(y[new] - one) ** 2 for one in pair])
        parts.append((mean_error, np.mean(np.var(pair, axis=0, ddof=1))))
    error, variance = np.mean(parts, axis=0)
    assert found.error[0] == pytest.approx(error)
    assert found.variance[0] == pytest.approx(variance)
    assert found.rest[0] == pytest.approx(error - variance)


def test_two_outputs_are_added_up(rows):
    x, y = rows
    one = bias_variance(mean, x, y, seed=3)
    two = bias_variance(mean, x, np.stack([y, 2 * y], axis=1), seed=3)
    assert two.error[0] == pytest.approx(5 * one.error[0])
    assert two.variance[0] == pytest.approx(5 * one.variance[0])


def test_noise_that_is_given_or_repeated(rows):
    x, y = rows
    given = bias_variance(polynomial(5), x, y, noise=0.09)
    assert given.bias is not None
    assert given.bias[0] == pytest.approx(max(given.rest[0] - 0.09, 0))
    rng = np.random.default_rng(1)
    twice = np.concatenate([x, x])
    repeated = bias_variance(polynomial(5), twice, np.sin(3 * twice) + 0.3 * rng.normal(size=200))
    # 100 spare rows tell a variance of 0.09 to 0.09 sqrt(2/100)
    assert repeated.noise == pytest.approx(0.09, abs=4 * 0.09 * np.sqrt(2 / 100))
    assert "noise" in str(repeated)
    assert "cannot be distinguished from bias" in str(bias_variance(polynomial(5), x, y))
    copies = bias_variance(polynomial(5), twice, np.concatenate([y, y]))
    assert copies.noise is None
    assert any("duplicates" in condition.name and condition.holds is False for condition in copies.conditions)


def test_the_curve_of_figure_8_15(rows):
    """Bias falls and variance rises with the depth of a tree."""
    x, y = rows

    def tree(depth):
        def fit(x, y):
            model = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(x[:, None], y)
            return lambda new: model.predict(new[:, None])

        return fit

    found = bias_variance({depth: tree(depth) for depth in (1, 3, 12)}, x, y, 30)
    assert found.names == ("1", "3", "12")
    assert found.rest[0] > 1.2 * found.rest[1]
    assert found.variance[2] > 1.2 * found.variance[0]
    assert str(found).count("\n") == 6
    assert str(found).endswith("- the noise is given, or repeated inputs show it (degrees of freedom): fails (0)")


def test_intervals_hold_a_mean_and_the_order_does_not_matter():
    rng, held = np.random.default_rng(8), np.zeros(3)
    for seed in range(40):
        found = bias_variance(mean, np.zeros((40, 1)), rng.normal(size=40), 20, seed=seed)
        limits = (found.error_interval[0], found.variance_interval[0], found.rest_interval[0])
        held += [low <= truth <= high for (low, high), truth in zip(limits, (17 / 16, 1 / 16, 1.0), strict=True)]
    assert np.all(held >= 31)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"fit": []}, SettingError, "no function"),
        ({"fit": {"deep": 3}}, SettingError, "fit"),
        ({"fit": {"deep": mean, "wide": DecisionTreeRegressor()}}, SettingError, "fit wide"),
        ({"y": np.array(["a"] * 100)}, DataError, "numbers"),
        ({"y": np.zeros(99)}, ShapeError, "100 and 99"),
        ({"x": np.zeros(9), "y": np.zeros(9)}, DataError, "at least 10"),
        ({"draws": 1}, SettingError, "draws"),
        ({"rows": 50}, SettingError, "at most"),
        ({"rows": 0}, SettingError, "rows"),
        ({"noise": -1.0}, SettingError, "noise"),
        ({"noise": "0.1"}, SettingError, "noise"),
        ({"level": 0.0}, SettingError, "level"),
        ({"fit": lambda x, y: lambda new: np.zeros(2)}, ShapeError, "predictions"),
        ({"fit": {"deep": mean, "wide": lambda x, y: x @ y[:3]}}, SettingError, "fit wide; found ValueError: "),
        ({"fit": lambda x, y: lambda new: new[:, 9]}, SettingError, "the model of fit; found IndexError: "),
    ],
)
def test_what_is_refused(rows, arguments, error, match):
    given = {"fit": mean, "x": rows[0], "y": rows[1], **arguments}
    with pytest.raises(error, match=match) as caught:
        bias_variance(**given)
    assert "\n" not in str(caught.value)
