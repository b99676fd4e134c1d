"""Rows of a comparison are split as they are asked to be, and no row trains and is held out at once."""

import numpy as np
import pytest

from lemmata.workflows.comparisons._splits import FEWEST_TRAINING, splits


@pytest.mark.parametrize(
    ("total", "test", "held", "sizes"),
    [
        (100, 0.5, 50, (8, 12, 25, 50)), (100, 0.3, 30, (8, 17, 35, 70)), (1000, 0.25, 250, (93, 187, 375, 750)),
        (10, 0.5, 2, (8,)), (20, 0.9, 12, (8,)), (40, 0.01, 2, (8, 9, 19, 38)), (20, 0.5, 10, (8, 10)),
    ],
)  # fmt: skip
def test_so_many_rows_are_held_out_and_the_sizes_are_halved(total, test, held, sizes):
    found = splits(total, test, 5, seed=1)
    assert found.tests.shape == (5, held)
    assert found.orders.shape == (5, total - held)
    assert found.sizes == sizes
    assert min(sizes) >= FEWEST_TRAINING
    for trained, tested, permuted in zip(found.orders, found.tests, found.permuted, strict=True):
        assert sorted([*trained, *tested]) == sorted(permuted) == list(range(total))
    assert len({tuple(row) for row in found.tests}) > 1
    np.testing.assert_array_equal(found.orders, splits(total, test, 5, seed=1).orders)
    assert not np.array_equal(found.orders, splits(total, test, 5, seed=2).orders)
