"""Rows near training rows: as far from them as the nearest other row, in directions that the seed draws."""

import numpy as np
import pytest

from lemmata.subjects.trained_models import nearby_rows


@pytest.mark.parametrize("shape", [(40, 7), (25, 3, 4), (6, 1)])
def test_each_row_moves_by_the_distance_to_its_nearest_neighbour(shape):
    x = np.random.default_rng(len(shape)).normal(size=shape)
    moved = nearby_rows(x, seed=3)
    flat = x.reshape(len(x), -1)
    nearest = [np.sort(np.linalg.norm(flat - row, axis=1))[1] for row in flat]
    np.testing.assert_allclose(np.linalg.norm((moved - x).reshape(len(x), -1), axis=1), nearest)
    np.testing.assert_array_equal(moved, nearby_rows(x, seed=3))
    assert (moved != nearby_rows(x, seed=4)).any()


def test_precision_is_kept_and_what_cannot_be_moved_stays():
    x = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    assert nearby_rows(x).dtype == np.float32
    for rows in (np.arange(6).reshape(3, 2), x[:1]):
        np.testing.assert_array_equal(nearby_rows(rows), rows)
    assert nearby_rows(np.random.default_rng(0).normal(size=(600, 2))).shape == (512, 2)
