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
    limit, perhaps, closer = _limits(distinct, len(held)) if len(distinct) > 2 else (0.0, 0.0, 0.0)

    def near(row, rows, others):
        if (rows == row).all(1).any():
            return True
        distances = np.sort(np.linalg.norm(others[(others != row).any(1)] - row, axis=1))
        if not len(distances):
            return False
        fifth = distances[min(4, len(distances) - 1)]
        return distances[0] < limit or (distances[0] < perhaps and distances[0] < closer * fifth)

    within = np.array([near(row, np.delete(x, i, axis=0), distinct) for i, row in enumerate(x)])
    return within, np.array([near(row, x, distinct) for row in held], bool)


def _limits(distinct, others):
    """A hundredth and a tenth of the median distance, and the ratio to the fifth that chance hardly reaches."""
    ranked = np.array([np.sort(np.linalg.norm(distinct - row, axis=1))[1:3] for row in distinct])
    unit, ratio = np.median(ranked[:, 0]), np.median(ranked[:, 1] / ranked[:, 0])
    dimension = np.log(2) / np.log(ratio) if ratio > 1 else np.inf
    closer = (0.01 / (4 * (len(distinct) + others))) ** (1 / dimension) if dimension >= 3 and len(distinct) > 6 else 0.0
    return _NEAR * unit, 0.1 * unit, closer


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
    with pytest.raises(ShapeError, match="2 numbers per row; rule: 3 numbers per row, as in training"):
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


@pytest.mark.parametrize(("dimension", "noise"), [(5, 0.02), (13, 0.005), (13, 0.05), (30, 0.02), (30, 0.05)])
def test_copies_with_a_little_noise_are_found(dimension, noise):
    """Noise of up to a twentieth of the distance between neighbours, where that cannot be chance."""
    random = np.random.default_rng([dimension, int(1000 * noise)])
    x = random.normal(size=(300, dimension))
    unit = np.median(np.sort(np.linalg.norm(x[:, None] - x[None], axis=2), axis=1)[:, 1])
    moved = lambda rows: rows + noise * unit * random.normal(size=rows.shape) / dimension**0.5
    found = find_copies(
        np.concatenate([x, moved(x[:20])]), np.concatenate([moved(x[20:30]), random.normal(size=(50, dimension))])
    )
    assert np.flatnonzero(found.within).tolist() == [*range(20), *range(300, 320)]
    assert np.flatnonzero(found.held).tolist() == list(range(10))
    assert (found.exact_within, found.exact_held) == (0, 0)


def test_rows_that_only_stand_close_are_no_copies():
    """Of rows in a plane, in clusters of unlike density, and on a grid, at most a row is taken for a copy by chance."""
    random = np.random.default_rng(2)
    plane = random.normal(size=(400, 2)) @ random.normal(size=(2, 20))
    dense = np.concatenate([random.normal(size=(260, 10)), 20 + 0.05 * random.normal(size=(140, 10))])
    grid = random.permutation(np.stack(np.meshgrid(*[np.arange(5.0)] * 4), -1).reshape(-1, 4))[:400]
    tails = random.standard_t(1.5, size=(400, 8))
    for rows in (plane, grid, tails):
        found = find_copies(rows[:300], rows[300:])
        assert found.within.sum() + found.held.sum() <= 2
    assert find_copies(dense[random.permutation(400)]).within.sum() <= 2


def test_no_held_out_rows_are_no_copies():
    assert find_copies(np.eye(4), np.zeros((0, 4))).held.shape == (0,)
