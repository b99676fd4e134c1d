"""Distances of samples: against SciPy, POT, linear programs and closed forms, calibration of the test, bad input."""

import importlib.util
import types
import warnings

import numpy as np
import pandas
import polars
import pytest
from scipy import stats
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.generation import _transport, wasserstein
from lemmata.subjects.generation._wasserstein import permutation_p_value

RNG = np.random.default_rng
X, Y = RNG(0).normal(size=(60, 3)), RNG(1).normal(size=(60, 3)) + 1.0


@pytest.fixture(params=["POT", "SciPy"])
def library(request, monkeypatch):
    if request.param == "POT":
        pytest.importorskip("ot", reason="the extra `transport` is not installed")
    else:
        monkeypatch.setattr(_transport, "library", lambda: None)


@pytest.mark.usefixtures("library")
def test_it_is_the_cost_of_the_best_assignment():
    costs = cdist(X, Y)
    rows, columns = linear_sum_assignment(costs)
    found = wasserstein(X, Y)
    assert found.value == pytest.approx(costs[rows, columns].mean(), rel=1e-9)
    assert found.gap < 1e-9
    assert found.interval[0] <= 3**0.5 <= found.interval[1]
    assert found.distinguishable
    assert found.value * 1e-200 == pytest.approx(wasserstein(X * 1e-200, Y * 1e-200).value, rel=1e-9)


@pytest.mark.usefixtures("library")
def test_potentials_are_feasible_and_the_critic_is_lipschitz():
    plan = _transport.transport(X, Y[:40] if importlib.util.find_spec("ot") else Y)
    other = Y[: len(plan.right)]
    assert (plan.left[:, None] + plan.right <= cdist(X, other) + 1e-12).all()
    assert plan.left.mean() + plan.right.mean() == pytest.approx(plan.cost, rel=1e-9)
    assert plan.critic is not None
    points = RNG(2).normal(size=(200, 3)) * 3
    values = plan.critic(points)
    assert (np.abs(values[:, None] - values) <= cdist(points, points) + 1e-12).all()
    np.testing.assert_allclose(plan.critic(X), plan.left, atol=1e-12)


@pytest.mark.parametrize("columns", [16, 50, 300])
def test_distances_of_many_columns_do_not_cancel(columns):
    x, y = RNG(3).normal(size=(120, columns)), RNG(4).normal(size=(150, columns))
    y[:20] = x[:20]
    y[20:40] = x[20:40] + 1e-9 * y[20:40]
    for place in (0.0, 1e3):
        exact = cdist(x + place, y + place)
        np.testing.assert_allclose(_transport.distances(x + place, y + place), exact, rtol=1e-12)
    assert np.count_nonzero(exact == 0) == 20


def test_unequal_sizes_against_another_route(monkeypatch):
    ot = pytest.importorskip("ot", reason="the extra `transport` is not installed")
    costs = cdist(X, Y[:25])
    exact = ot.emd2([], [], costs)
    assert wasserstein(X, Y[:25]).value == pytest.approx(exact, rel=1e-9)
    monkeypatch.setattr(_transport, "library", lambda: None)
    assert wasserstein(X, Y[:25]).value == pytest.approx(exact, rel=1e-9)
    with pytest.raises(DataError, match=r"remedy: install POT with pip install 'lemmata\[transport\]'"):
        wasserstein(RNG(0).normal(size=(600, 2)), RNG(0).normal(size=(500, 2)))


def test_one_column_against_scipy():
    x, y = RNG(0).exponential(size=(5000, 1)), RNG(1).exponential(size=(300, 1)) * 1.5
    found = wasserstein(x, y)
    assert found.value == pytest.approx(stats.wasserstein_distance(x[:, 0], y[:, 0]), rel=1e-9)
    assert found.blocks == 1
    assert found.interval[0] <= 0.5 <= found.interval[1]


def test_the_test_is_calibrated_and_finds_what_differs():
    laws = {
        "normal": lambda rng, n: rng.normal(size=(n, 5)),
        "cauchy": lambda rng, n: rng.standard_cauchy(size=(n, 2)),
        "bits": lambda rng, n: rng.integers(0, 2, (n, 6)).astype(float),
        "counts": lambda rng, n: rng.poisson(2, (n, 1)).astype(float),
    }
    for law in laws.values():
        rng = RNG(3)
        p = np.array([permutation_p_value(law(rng, 30), law(rng, 40), rng) for _ in range(200)])
        # With 200 pairs, more than 19 at level 0.05 have probability below 0.003.
        assert (p <= 0.05 + 1e-9).sum() <= 19
        assert 0.35 < np.mean(p <= 0.5) < 0.65
    rng = RNG(4)
    wide = [permutation_p_value(rng.normal(size=(200, 3)), 1.5 * rng.normal(size=(200, 3)), rng) for _ in range(20)]
    assert np.mean(np.array(wide) <= 0.05) > 0.9


@pytest.mark.parametrize("d", [1, 2, 20])
def test_the_interval_holds(d):
    shift, held = np.full(d, 0.8 / d**0.5), 0
    for seed in range(60):
        rng = RNG(seed)
        low, high = wasserstein(rng.normal(size=(80, d)), rng.normal(size=(80, d)) + shift, level=0.9).interval
        held += low <= 0.8 <= high
    assert held >= 50


def test_blocks_and_equal_laws():
    rng = RNG(0)
    x, y = rng.normal(size=(900, 4)), rng.normal(size=(700, 4))
    found = wasserstein(x, y, rows=300)
    assert (found.blocks, found.rows) == (3, (900, 700))
    assert found.value > wasserstein(x, y).value
    assert not found.distinguishable
    assert "indistinguishable from sampling" in str(found)
    assert wasserstein(x, x).value == pytest.approx(0, abs=1e-12)
    copied = [c for c in wasserstein(x, x).conditions if "copies" in c.name]
    assert [c.holds for c in copied] == [False]


def test_tables_of_all_kinds():
    value = wasserstein(X, Y).value
    for make in (list, lambda x: x.tolist(), pandas.DataFrame, np.asfortranarray,
                 lambda x: pandas.DataFrame(x, index=range(7, 67)), lambda x: polars.DataFrame(x)):  # fmt: skip
        assert wasserstein(make(X), make(Y)).value == pytest.approx(value, rel=1e-12)
    fixed = X.copy()
    fixed.flags.writeable = False
    assert wasserstein(fixed, Y).value == pytest.approx(value, rel=1e-12)
    assert wasserstein(X > 0, Y > 0).value >= 0
    assert wasserstein(np.zeros((30, 2)), np.zeros((30, 2))).value == 0
    assert wasserstein(np.zeros((30, 2)), np.ones((30, 2))).value == pytest.approx(2**0.5)
    big = RNG(0).integers(0, 256, (40, 3)).astype(np.uint8)
    assert wasserstein(big, 255 - big).value == wasserstein(big.astype(float), 255.0 - big).value
    repeated = np.repeat(X[:10], 6, axis=0)
    assert wasserstein(repeated, Y).value > 0
    for unit in (1e-300, 1e299):
        assert wasserstein(X * unit, Y * unit).value == pytest.approx(value * unit, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y", "settings", "words", "kind"),
    [
        (X, Y[:, :2], {}, "y; found 2 columns; rule: 3 columns", ShapeError),
        (X[:19], Y, {}, "x; found 19 rows; rule: at least 20 rows", DataError),
        (X[:0], Y, {}, "x; found 0 rows", DataError),
        (X[:, 0], Y, {}, r"x; found shape \(60,\).*remedy: pass a single column", ShapeError),
        (np.zeros((30, 0)), Y, {}, "no axis of length 0", ShapeError),
        (X, np.where(Y > 2, np.nan, Y), {}, "not finite", DataError),
        (X, np.ma.masked_greater(Y, 2), {}, "masked", DataError),
        (X * 1e305, Y, {}, "as the largest absolute value", DataError),
        (X + 1j, Y, {}, "real numbers", DataError),
        (X.astype(np.float16), Y, {}, "float16", PrecisionError),
        ([["a"]] * 30, Y, {}, "the entry 'a'", DataError),
        (X, Y, {"level": 1}, "level; found 1", SettingError),
        (X, Y, {"rows": 5000}, "rows; found 5000", SettingError),
        (X, Y, {"rows": 10}, "rows; found 10", SettingError),
        (X, Y, {"seed": -1}, "seed; found -1", SettingError),
    ],
)
def test_refusals(x, y, settings, words, kind):
    with pytest.raises(kind, match=words) as caught:
        wasserstein(x, y, **settings)
    assert "\n" not in str(caught.value)


def test_it_is_drawn():
    found = wasserstein(X, Y)
    assert found.plot().to_dict()
    assert "W1 =" in found._repr_html_()


@pytest.mark.parametrize("kind", [SyntaxWarning, DeprecationWarning, UserWarning])
def test_what_python_warns_of_while_it_compiles_the_library_is_no_error(kind, monkeypatch):
    def load(name):
        warnings.warn("invalid escape sequence", kind, stacklevel=1)
        return name

    monkeypatch.setattr(_transport, "importlib", types.SimpleNamespace(import_module=load))
    assert _transport.library() == "ot"
