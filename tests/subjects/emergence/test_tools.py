"""The tools on emergence beside other routes, and on bad input."""

import dataclasses
import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize, special, stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.emergence import emergence_report, plateaus, transition_order

DIGITS = pd.read_csv(pathlib.Path(__file__).with_name("digit_strings.csv"))
SCALE = 10.0 ** np.arange(7, 13)
ACCURACY = [0.0, 0.0, 0.02, 0.22, 0.53, 0.78]


def drawn(rng, alpha, half, chance=0.0, top=1.0, items=400, sizes=8, fall=1.0, after=10.0):
    """Accuracies by a smooth law; the loss of a token falls by the factor `fall` after 10^after."""
    n = np.geomspace(1e7, 1e13, sizes)
    loss = np.log(2) * (n / half) ** -alpha / np.where(n > 10**after, fall, 1.0)
    return n, rng.binomial(items, chance + (top - chance) * np.exp(-loss)) / items


def test_the_fit_is_the_maximum_of_the_likelihood_by_scipy():
    found = emergence_report(SCALE, ACCURACY, 500, length=10)
    k = np.round(500 * np.array(ACCURACY))

    def loss(theta):
        share = np.clip(np.exp(-np.exp(theta[0] - theta[1] * np.log(SCALE / 1e10))), 1e-12, 1 - 1e-12)
        return -stats.binom.logpmf(k, 500, share).sum()

    theta = optimize.minimize(loss, [0.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    assert found.top == 1.0
    assert found.alpha == pytest.approx(theta[1], rel=1e-4)
    assert found.half == pytest.approx(1e10 * np.exp((theta[0] - np.log(np.log(2))) / theta[1]), rel=1e-3)


def test_the_interval_of_the_exponent_is_near_that_of_the_profile_likelihood():
    """All exponents at which SciPy's best shift loses less deviance than a chi-square of one degree allows."""
    found = emergence_report(SCALE, ACCURACY, 500, length=10)
    k = np.round(500 * np.array(ACCURACY))

    def loss(shift, alpha):
        share = np.clip(np.exp(-np.exp(shift - alpha * np.log(SCALE / 1e10))), 1e-12, 1 - 1e-12)
        return -stats.binom.logpmf(k, 500, share).sum()

    profile = lambda alpha: optimize.minimize_scalar(loss, bracket=(-1, 1), args=(alpha,)).fun
    allowed = profile(found.alpha) + stats.chi2.ppf(0.9, 1) / 2
    exact = [
        optimize.brentq(lambda a: profile(a) - allowed, *ends) for ends in ((0.2, found.alpha), (found.alpha, 0.7))
    ]
    reach = (exact[1] - exact[0]) / 2
    assert found.alpha_interval == pytest.approx(exact, abs=0.6 * reach)
    assert found.alpha_interval[0] <= exact[0] + 0.1 * reach  # the tool's interval is the wider one
    assert found.alpha_interval[1] >= exact[1] - 0.1 * reach


def test_smooth_laws_are_seldom_called_sharper_and_jumps_are_found():
    rng = np.random.default_rng(1)
    smooth = [emergence_report(*drawn(rng, 0.4, 3e9), 400).sharper for _ in range(30)]
    sharp = [emergence_report(*drawn(rng, 0.2, 1e11, fall=20.0), 400).sharper for _ in range(10)]
    assert sum(smooth) <= 5  # 1.5 expected
    assert sum(sharp) >= 8


def test_a_floor_is_no_jump_and_chance_is_counted():
    rng = np.random.default_rng(2)
    n, share = drawn(rng, 0.8, 1e9, chance=0.25, top=0.7, items=2000)
    found = emergence_report(n, share, 2000, chance=0.25)
    assert found.top == pytest.approx(0.7, abs=0.05)
    assert not found.sharper
    assert found.half_interval[0] < 1e9 < found.half_interval[1]


def test_measured_accuracies_on_strings_of_digits():
    found = emergence_report(DIGITS.rows, DIGITS.accuracy, DIGITS["items"], length=8)
    assert not found.sharper
    half, (low, high) = found.half_at(1)
    assert low < half < high < found.half
    assert found.predicted(DIGITS.rows) == pytest.approx(DIGITS.accuracy, abs=0.08)
    assert "half of the rise" in str(found)
    assert "hconcat" in found.plot().to_dict()
    assert found._repr_html_().startswith("<pre")


def test_tables_of_every_kind_are_read_and_repeated_sizes_are_pooled():
    plain = emergence_report(SCALE, ACCURACY, 500)
    frame = pl.DataFrame({"n": SCALE[::-1], "a": ACCURACY[::-1]})
    again = emergence_report(frame["n"], frame["a"], [500] * 6)
    assert again.alpha == pytest.approx(plain.alpha, rel=1e-9)
    twice = emergence_report(np.repeat(SCALE, 2), np.repeat(ACCURACY, 2), 250)
    assert twice.alpha == pytest.approx(plain.alpha, rel=1e-6)
    assert emergence_report(SCALE * 1e280, ACCURACY, 500).alpha == pytest.approx(plain.alpha, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"accuracy": [0, 0, 2, 22, 53, 78]}, DataError, "row 2, counted from 0"),
        ({"accuracy": ACCURACY[:-1]}, ShapeError, "one number for each scale"),
        ({"accuracy": [0.0] * 6}, DataError, "clearly above chance"),
        ({"accuracy": [1.0] * 6}, DataError, "every item solved"),
        ({"accuracy": ACCURACY[::-1]}, DataError, "not rise with the scale"),
        ({"accuracy": [np.nan, *ACCURACY[1:]]}, DataError, "accuracy"),
        ({"scale": [0, *SCALE[1:]]}, DataError, "scale in row 0"),
        ({"scale": [1, 1, 1, 2, 2, 3]}, DataError, "3 different sizes"),
        ({"items": 0}, DataError, "whole number"),
        ({"items": [500, 500]}, ShapeError, "items"),
        ({"chance": 1.0}, SettingError, "below 1"),
        ({"level": 90}, SettingError, "level"),
        ({"length": 0}, SettingError, "length"),
    ],
)
def test_bad_tables_are_refused(change, error, words):
    given = {"scale": SCALE, "accuracy": ACCURACY, "items": 500} | change
    with pytest.raises(error, match=words):
        emergence_report(**given)


@pytest.mark.parametrize(("power", "kind"), [(0.0, "metric"), (0.5, "continuous"), (1.0, "switch")])
def test_the_order_of_a_transition_is_told_from_its_widths(power, kind):
    x = np.linspace(-2, 2, 4001)
    found = transition_order({n: (x, 1 / (1 + np.exp(-4 * n**power * x))) for n in (4, 8, 16, 32, 64)})
    assert found.exponent == pytest.approx(-power, abs=0.02)
    assert [kind in own for own in found.kinds] == [True]
    assert "layer" in found.plot().to_dict()


@pytest.mark.parametrize("power", [0.3, 0.6, 1.2])
def test_the_slope_and_its_interval_are_those_of_a_regression_on_widths_in_closed_form(power):
    """Logistic curves with scattered slopes s: from a tenth to nine tenths they take 2 log(9)/s."""
    rng, sizes = np.random.default_rng(4), np.array([4.0, 8, 16, 32, 64, 128])
    steep = 4 * sizes**power * np.exp(0.05 * rng.normal(size=6))
    x = np.linspace(-4, 4, 20_001)
    found = transition_order(
        {n: (x, special.expit(s * x)) for n, s in zip(sizes, steep, strict=True)}, low=0.1, high=0.9
    )
    line = stats.linregress(np.log(sizes), np.log(2 * np.log(9) / steep))
    assert found.exponent == pytest.approx(line.slope, abs=1e-3)
    reach = stats.t.ppf((1 + found.level) / 2, 4) * line.stderr
    assert found.interval == pytest.approx((line.slope - reach, line.slope + reach), abs=2e-3)


@pytest.mark.parametrize(
    ("curves", "error", "words"),
    [
        ({8: 1}, DataError, "1 sizes"),
        ([1, 2], DataError, "mapping"),
        ({n: (np.arange(5), np.array([0, 1, 0, 1, 2.0])) for n in range(1, 5)}, DataError, "several crossings"),
        ({n: (np.arange(5), np.zeros(5)) for n in range(1, 5)}, DataError, "different values at both ends"),
        ({n: np.arange(5) for n in range(1, 5)}, DataError, "pair"),
        ({n: (np.arange(5), np.arange(4)) for n in range(1, 5)}, ShapeError, "same length"),
        ({-n: (np.arange(5), np.arange(5)) for n in range(1, 5)}, DataError, "positive"),
    ],
)
def test_curves_without_a_transition_are_refused(curves, error, words):
    with pytest.raises(error, match=words):
        transition_order(curves)


def test_plateaus_are_the_losses_along_a_path():
    rows = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    found, rng = plateaus(rows), np.random.default_rng(0)
    path = [0]
    for part in rng.random(40000):
        path.append(int(np.searchsorted(np.cumsum(rows[path[-1]])[:-1], part, side="right")))
    path = np.array(path)
    assert -np.log(rows[path[:-1], path[1:]]).mean() == pytest.approx(found.bigram, abs=0.02)
    assert -np.log(found.stationary[path]).mean() == pytest.approx(found.unigram, abs=0.02)
    assert plateaus(np.full((2, 2), 0.5)).bigram == pytest.approx(np.log(2))
    assert plateaus([[0, 1], [1, 0]]).bigram == 0.0
    assert found.regret(1000) == pytest.approx(3 * np.log(1000) / 1000)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([[0.5, 0.4], [0.3, 0.7]], DataError, "row 0, counted from 0"),
        ([[0.5, 0.5], [1.3, -0.3]], DataError, "row 1, counted from 0"),
        ([[0.9, 0.2], [0.1, 0.8]], DataError, "transpose"),
        ([[1.0]], ShapeError, "at least 2"),
        ([[0.5, 0.5]], ShapeError, "shape"),
        (np.eye(2), DataError, "2 closed sets"),
        ([[np.nan, 1], [0, 1]], DataError, "transition_matrix"),
    ],
)
def test_matrices_that_are_no_chains_are_refused(rows, error, words):
    with pytest.raises(error, match=words):
        plateaus(rows)


@pytest.mark.parametrize(
    ("accuracy", "words"),
    [
        ([0, 0, 1, 1], "0 at 1e\\+08 and 1 at 1e\\+09"),
        ([0, 0, 0.5, 1, 1], "at most one size inside the rise"),
        ([0, 0, 0.5, 0.5, 0.5], "at most one size inside the rise"),
        ([0.5, 0.51, 0.5, 0.51], "fits many exponents"),
    ],
)
def test_steps_and_flat_tables_leave_the_exponent_open(accuracy, words):
    with pytest.raises(DataError, match=words):
        emergence_report(10.0 ** np.arange(7, 7 + len(accuracy)), accuracy, 500)


def test_a_floor_that_the_sizes_do_not_show_is_told():
    n = np.geomspace(1e7, 1e12, 5)
    share = np.round(100 * 0.56 * np.exp(-np.log(2) * (n / 1.4e11) ** -0.78)) / 100
    found = emergence_report(n, share, 100)
    assert found.top == 1
    assert found.alpha_interval[1] < 0.78 < 1.2 * found.steepest
    assert "with a floor, the exponent could be" in str(found)


def test_a_half_outside_double_precision_has_lengths_too():
    found = emergence_report(SCALE, ACCURACY, 500)
    half, ends = dataclasses.replace(found, half=0.0).half_at(8)
    assert half == 0
    assert ends[0] > 0


def test_widths_of_the_grid_and_of_the_range_are_told():
    x = np.linspace(-1, 1, 201)
    curves = lambda k: {n: (x, 0.5 + 0.5 * np.tanh(n * k * x)) for n in (1, 2, 4, 8)}
    fails = lambda found: [own.name.split()[0] for own in found.conditions if own.holds is False]
    assert "each" in fails(transition_order(curves(0.5)))
    assert "each" in fails(transition_order(curves(500)))
    assert not fails(transition_order(curves(3)))
    with pytest.raises(DataError, match="no point inside the rise"):
        transition_order({n: (x + 0.005, np.where(x < 0, 0.0, 1.0)) for n in (1, 2, 4, 8)})


def test_rare_steps_keep_their_digits_and_passing_symbols_are_told():
    rare = plateaus([[1 - 1e-17, 1e-17], [3e-17, 1]])
    assert rare.stationary == pytest.approx([0.75, 0.25])
    assert "bar" in str(rare.plot().to_dict())
    absorbed = plateaus([[1, 0], [0.5, 0.5]])
    assert "the chain can return to every symbol: fails" in str(absorbed)
    assert "-0" not in str(absorbed)
    rows = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 30)
    values, vectors = np.linalg.eig(rows.T)
    law = np.real(vectors[:, np.argmax(values.real)])
    assert plateaus(rows).stationary == pytest.approx(law / law.sum(), abs=1e-12)
    with pytest.raises(DataError, match="only zeros"):
        plateaus([[0, 0], [0.5, 0.5]])


def test_sizes_that_hardly_differ_have_the_same_law_in_other_units():
    plain = emergence_report(SCALE, ACCURACY, 500)
    close = emergence_report(np.exp(1e-6 * np.log(SCALE / 1e10)), ACCURACY, 500)
    assert close.alpha == pytest.approx(1e6 * plain.alpha, rel=1e-4)
    assert np.log(close.half) == pytest.approx(1e-6 * np.log(plain.half / 1e10), rel=1e-4)
    assert close.p_value == pytest.approx(plain.p_value, abs=0.02)
    assert close.alpha_interval == pytest.approx(1e6 * np.array(plain.alpha_interval), rel=1e-3)


def test_scatter_is_no_jump():
    found = emergence_report(SCALE, [0.1, 0.5, 0.2, 0.7, 0.4, 0.9], 500)
    assert not found.sharper
    assert "the accuracies scatter more than counts of independent items do" in str(found)


def test_a_billion_items_and_very_different_numbers_of_items():
    plain = emergence_report(SCALE, ACCURACY, 500)
    assert emergence_report(SCALE, ACCURACY, 10**9).alpha == pytest.approx(plain.alpha, rel=0.1)
    assert emergence_report(SCALE, ACCURACY, [1, 10, 100, 1000, 10**6, 10**9]).alpha > 0
    with pytest.raises(DataError, match="positive"):
        plain.predicted([1e9, 0])


@pytest.mark.parametrize("level", [0.3, 0.5, 0.8])
def test_accuracies_that_are_equal_do_not_fall(level):
    with pytest.raises(DataError, match=f"found {level:g} at every size; rule: a rise"):
        emergence_report([1, 2, 4, 8, 16], [level] * 5, 100, length=8)
