"""The floor of the robust error against a linear program and brute force; every kind of bad input."""

import itertools

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import robust_floor

NORMS = {"linf": "chebyshev", "l2": "euclidean", "l1": "cityblock"}


def rows(n=40, classes=2, seed=0, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.arange(n) % classes


def conflicts(x, y, radius, norm):
    apart = cdist(x, x, NORMS[norm])
    return [(i, j) for i, j in itertools.combinations(range(len(y)), 2) if y[i] != y[j] and apart[i, j] <= 2 * radius]


def program(n, pairs):
    """The least fractional cover."""
    if not pairs:
        return 0.0
    meets = np.zeros((len(pairs), n))
    for place, pair in enumerate(pairs):
        meets[place, list(pair)] = -1
    return linprog(np.ones(n), meets, -np.ones(len(pairs)), bounds=(0, 1), method="highs").fun


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_floor_is_that_of_a_linear_program(norm, classes):
    x, y = rows(classes=classes)
    radii = [0.0, 0.05, 0.1, 0.2, 0.3, 0.8]
    found = robust_floor(x, y, radii, norm)
    for place, radius in enumerate(radii):
        pairs = conflicts(x, y, radius, norm)
        assert found.conflicts[place] == len(pairs)
        assert round(found.floors[place] * 40) == int(np.ceil(program(40, pairs) - 1e-6))
        cover = set(found.covers[place].tolist())
        assert all(cover & {i, j} for i, j in pairs)
        assert {tuple(sorted(pair)) for pair in found.pairs[place].tolist()} <= set(pairs)
        most = np.bincount(found.pairs[place].ravel(), minlength=1).max(initial=0)
        assert most <= (1 if classes == 2 else 2)
    assert found.exact or classes > 2
    assert (np.diff(found.floors) >= 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_no_labelling_of_regions_beats_the_floor(classes):
    """Brute force over the rows that are given up."""
    x, y = rows(10, classes, seed=3)
    pairs = conflicts(x, y, 0.3, "linf")
    least = min(
        len(out) for k in range(11) for out in itertools.combinations(range(10), k)
        if all(i in out or j in out for i, j in pairs)
    )  # fmt: skip
    found = robust_floor(x, y, 0.3)
    assert found.floors[0] <= least / 10 <= found.reached[0]
    assert classes > 2 or found.floors[0] == least / 10


def test_the_nearest_row_outside_the_cover_is_robust():
    x, y = rows(60)
    radius, rng = 0.2, np.random.default_rng(1)
    found = robust_floor(x, y, radius)
    kept = np.setdiff1d(np.arange(60), found.covers[0])
    moved = x[kept, None] + radius * rng.choice([-1, 1, 0.3], size=(len(kept), 200, 2))
    nearest = cdist(moved.reshape(-1, 2), x[kept], "chebyshev").argmin(axis=1)
    assert (y[kept][nearest].reshape(len(kept), 200) == y[kept][:, None]).all()


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
def test_reached_is_the_error_of_the_nearest_row_outside_the_cover(classes):
    """Each row of the cover is an error, none outside is, and predicting the most frequent class is not better."""
    for seed in range(6):
        x, y = rows(48, classes, seed)
        radii = [0.05, 0.2, 0.4, 0.8, 10.0]
        found = robust_floor(x, y, radii)
        for place, radius in enumerate(radii):
            pairs, cover = conflicts(x, y, radius, "linf"), set(found.covers[place].tolist())
            assert all(i in cover or j in cover for i, j in pairs)
            met = {own for i, j in pairs for own, other in ((i, j), (j, i)) if other not in cover}
            assert cover <= met
            assert found.reached[place] <= 2 * (1 - 1 / classes) * program(48, pairs) / 48 + 1e-9
        assert found.reached[-1] == pytest.approx(1 - 1 / classes)


def test_units_types_and_order_do_not_matter():
    x, y = rows()
    plain = robust_floor(x, y, [0.1, 0.3], "l2")
    names = np.array(["cat", "dog"])[y]
    frame = pd.DataFrame(x, index=np.arange(40)[::-1])
    tables = [x.tolist(), np.asfortranarray(x), frame, pl.DataFrame(x), jnp.asarray(x)]
    labels = [y.tolist(), y.astype(bool), names, pd.Series(names, index=range(40, 0, -1)), pl.Series(y), y * 1.5]
    for table in tables:
        for label in labels:
            assert np.array_equal(robust_floor(table, label, [0.1, 0.3], "l2").floors, plain.floors)
    for unit in (1e-300, 1e-160, 1e150, 1e300):
        found = robust_floor(x * unit, y, np.array([0.1, 0.3]) * unit, "l2")
        assert np.array_equal(found.floors, plain.floors)
        assert found.separation == pytest.approx(plain.separation * unit)
    frozen = x.copy()
    frozen.setflags(write=False)
    assert robust_floor(frozen, y, 0.3, "l2").floors[0] == plain.floors[1]
    assert np.array_equal(robust_floor(x, y, [0.3, 0.1], "l2").floors, plain.floors[::-1])


def test_repeated_rows_and_touching_balls():
    assert robust_floor([[0.0], [0.0], [0.0]], [0, 1, 1], 0).floors[0] == pytest.approx(1 / 3)
    assert robust_floor([[0.0], [1.0]], [0, 1], [0.5, 0.4999]).floors.tolist() == [0.5, 0.0]
    assert robust_floor([[0.1], [0.3]], [0, 1], [0.1]).floors.tolist() == [0.5]
    small = robust_floor([[1.0, 0.0], [0.0, 1e-200], [0.0, 2e-200]], [0, 0, 1], [0.0, 1e-200], "l2")
    assert small.floors.tolist() == [0.0, pytest.approx(1 / 3)]
    twice = robust_floor([[0.0], [0.0], [5.0]], [0, 1, 0], 0.1)
    assert twice.conditions[0].holds is False
    assert robust_floor([[3], [3]], [0, 1], 0).separation == 0
    assert robust_floor([[1e308], [-1e308]], [0, 1], [9e307, 1e308]).floors.tolist() == [0.0, 0.5]
    assert robust_floor([[1e-300], [-1e-300]], [0, 1], 1e300).floors.tolist() == [0.5]


@pytest.mark.parametrize(
    ("x", "y", "radius", "norm", "said"),
    [
        ([[0.0], [1.0]], [0, 1], -0.1, "linf", "radius; found -0.1"),
        ([[0.0], [1.0]], [0, 1], float("nan"), "linf", "radius; found nan"),
        ([[0.0], [1.0]], [0, 1], "big", "linf", "radius; found 'big'"),
        ([[0.0], [1.0]], [0, 1], [], "linf", r"radius; found \[\]"),
        ([[0.0], [1.0]], [0, 1], True, "linf", "radius; found True"),
        ([[0.0], [1.0]], [0, 1], 0.1, "l3", "norm; found 'l3'; rule: one of linf, l2, l1"),
        ([[0.0], [1.0]], [0, 0], 0.1, "linf", "y; found one class"),
        ([[0.0]], [0], 0.1, "linf", "y; found one class"),
        ([[0.0], [1.0]], [0, 1, 1], 0.1, "linf", "y; found 3 classes; rule: 2 classes"),
        ([[0.0], [1.0]], [[0], [1]], 0.1, "linf", r"y; found shape \(2, 1\)"),
        ([0.0, 1.0], [0, 1], 0.1, "linf", r"x; found shape \(2,\)"),
        (np.zeros((2, 3, 3)), [0, 1], 0.1, "linf", r"remedy: use x.reshape\(len\(x\), -1\)"),
        (np.zeros((0, 3)), [], 0.1, "linf", r"x; found shape \(0, 3\)"),
        ([[0.0], [np.nan]], [0, 1], 0.1, "linf", "x; found 1 entries that are not finite"),
        ([[0.0], ["a"]], [0, 1], 0.1, "linf", "x; found the entry"),
        ([[0.0], [1.0, 2.0]], [0, 1], 0.1, "linf", "x; found a list that is not an array"),
        (np.ma.masked_array([[0.0], [1.0]], [[True], [False]]), [0, 1], 0.1, "linf", "x; found 1 masked"),
        ([[0.0], [1.0]], [0.0, np.nan], 0.1, "linf", "y; found 1 missing"),
        ([[0.0], [1.0]], np.array([0, "a"], object), 0.1, "linf", "y; found classes of several types"),
        ([[0.0], [1.0]], np.array([None, "a"], object), 0.1, "linf", "y; found 1 missing"),
        (np.array([[2**60], [2**60 + 1]]), [0, 1], 0.1, "linf", "x; found whole numbers above"),
        ([[0.0], [1.0]], np.array([pd.NA, "a"], object), 0.1, "linf", "y; found 1 missing"),
        ([[1j], [0]], [0, 1], 0.1, "linf", "x; found entries of type complex128"),
    ],
)
def test_bad_input_is_refused_in_one_line(x, y, radius, norm, said):
    with pytest.raises((DataError, SettingError, ShapeError), match=said) as caught:
        robust_floor(x, y, radius, norm)
    assert "\n" not in str(caught.value)


def test_the_record_prints_and_draws():
    x, y = rows(classes=3)
    found = robust_floor(x, y, [0.05, 0.2, 0.8])
    assert "bound" in str(found)
    assert "lower bounds" in found._repr_html_()
    assert found.plot().to_dict()["mark"]["type"] == "line"
    two = robust_floor(*rows(), 0.2)
    assert "floor" in str(two)
    assert two.claims == ("robustness.floors.floor_of_robust_error",)


def test_a_missing_class_in_a_list_of_texts_is_no_class():
    with pytest.raises(DataError, match="1 missing entries"):
        robust_floor([[0.0], [1.0], [2.0]], ["a", "b", float("nan")], 1)
    with pytest.raises(DataError, match="several types"):
        robust_floor([[0.0], [1.0]], ["1", 1], 1)
