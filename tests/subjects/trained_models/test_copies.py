"""Copies of rows: the same as all distances find, without looking at all pairs."""

import numpy as np
import pytest

from lemmata.errors import ShapeError
from lemmata.subjects.trained_models import find_copies
from lemmata.subjects.trained_models._copies import _NEAR, _SAMPLE, _Search


def all_distances(x, held):
    """Every row against every training row, one difference at a time."""
    x, held = (np.asarray(rows, float).reshape(len(rows), -1) for rows in (x, held))
    distinct = np.unique(x, axis=0)
    nearest = np.array([np.sort(np.linalg.norm(distinct - row, axis=1))[1] for row in distinct])
    limit = _NEAR * np.median(nearest) if len(distinct) > 2 else 0.0
    near = lambda row, rows: (np.linalg.norm(rows - row, axis=1) < limit) | (rows == row).all(1)
    within = np.array([near(row, np.delete(x, i, axis=0)).any() for i, row in enumerate(x)])
    return within, np.array([near(row, x).any() for row in held], bool)


def drawn(seed, n, m, d, scale=1.0, offset=0.0):
    """Rows of which some repeat, some nearly, at distances below and above the limit."""
    rng = np.random.default_rng([seed, n, d])
    x, held = (offset + scale * rng.normal(size=(count, d)) for count in (n, m))
    apart = np.median([np.sort(np.linalg.norm(x - row, axis=1))[1] for row in x])
    for size, rows in ((0.0, 5), (0.2, 5), (0.9, 5), (1.1, 5), (3.0, 5)):
        for into in (x[n // 2 :], held):
            way = rng.normal(size=(rows, d))
            way *= size * _NEAR * apart / np.linalg.norm(way, axis=1, keepdims=True)
            into[rng.choice(len(into), rows, replace=False)] = x[rng.choice(n // 2, rows, replace=False)] + way
    return x, held


SIZES = [(60, 40, 1, 1, 0), (80, 50, 2, 1e-6, 0), (120, 60, 5, 1, 1e4), (300, 90, 9, 1, 0), (400, 30, 64, 1e3, 5)]


@pytest.mark.parametrize(("n", "m", "d", "scale", "offset"), SIZES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_as_all_distances(n, m, d, scale, offset, seed):
    assert n <= _SAMPLE  # above it the median is of some rows
    x, held = drawn(seed, n, m, d, scale, offset)
    found = find_copies(x, held)
    within, across = all_distances(x, held)
    np.testing.assert_array_equal(found.within, within)
    np.testing.assert_array_equal(found.held, across)
    assert 0 < found.exact_within < within.sum() or d == 1  # rows of one number are near already
    assert 0 < found.exact_held <= across.sum() < len(held)


def test_digits_on_a_grid():
    """Rows of few values, of which some differ in one pixel by little."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 17, (200, 4, 4)) / 16
    held = np.concatenate([x[:10] + 1e-5, x[10:20], rng.integers(0, 17, (20, 4, 4)) / 16])
    found = find_copies(x, held)
    assert found.held[:20].all()
    assert not found.held[20:].any()
    assert (found.exact_held, found.exact_within, found.share) == (10, 0, 0.0)


def test_rows_that_share_their_projections_nearly():
    """Clusters of near rows: the nearest in projection need not be the near one."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(12, 30))
    x = (centres[:, None] + 4e-3 * rng.normal(size=(12, 9, 30))).reshape(-1, 30)
    x = np.concatenate([x, rng.normal(size=(160, 30))])
    found = find_copies(x, x[:5] + 1e-9)
    within, across = all_distances(x, x[:5] + 1e-9)
    np.testing.assert_array_equal(found.within, within)
    np.testing.assert_array_equal(found.held, across)


@pytest.mark.parametrize("itself", [True, False])
def test_a_row_that_only_projects_near_does_not_hide_the_near_one(itself):
    """A row far away along a direction that no projection sees is nearer in the tree than the copy is."""
    x = np.random.default_rng(6).normal(size=(40, 20))
    seen = _Search(x, 0.1).directions
    unseen = np.linalg.svd(seen.T)[2][-1]
    np.testing.assert_allclose(unseen @ seen, 0, atol=1e-12)
    rows = np.concatenate([x, x[:1] + 3 * unseen, x[:1] + 0.05 * seen[:, 0]])
    found = _Search(rows, 0.1).has_near(rows if itself else x[:3] + 1e-3 * seen[:, 1], itself=itself)
    assert found[:3].tolist() == ([True, False, False] if itself else [True] * 3)
    if itself:
        assert np.flatnonzero(found).tolist() == [0, 41]


def test_nothing_to_compare():
    assert not find_copies(np.zeros((1, 3))).within.any()
    assert find_copies(np.zeros((2, 3))).exact_within == 2
    two = find_copies(np.array([[0.0], [1.0]]), np.array([[1e-9], [0.0]]))
    assert two.held.tolist() == [False, True]  # of two rows nothing says what is near
    assert find_copies(np.array([[-0.0], [0.0], [1.0]])).within.tolist() == [True, True, False]
    with pytest.raises(ShapeError, match="2 numbers; rule: 3, as in training"):
        find_copies(np.zeros((4, 3)), np.zeros((4, 2)))


def test_few_pairs_are_looked_at(monkeypatch):
    """Of all pairs of rows the tree leaves a few: one a row at most, where no rows stand in clusters."""
    looked, apart = [], _Search._apart

    def counted(a, b):
        looked.append(len(b))
        return apart(a, b)

    monkeypatch.setattr(_Search, "_apart", staticmethod(counted))
    for n in (500, 4000):
        x = np.random.default_rng(n).normal(size=(n, 16))
        x[-50:] = x[:50] + 1e-6
        looked.clear()
        assert find_copies(x, x[100:200]).within.sum() == 100
        assert 100 <= sum(looked) < n
