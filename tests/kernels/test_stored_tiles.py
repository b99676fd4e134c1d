"""A finished tile is compared with the kernel in units of its own largest entry, whatever they are."""

import pathlib

import numpy as np
import pytest

from lemmata.errors import DataError
from lemmata.kernels._disk import _compare

FOLDER = pathlib.Path("gram")


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_stored_tile_may_differ_by_rounding_of_its_largest_entry(scale, kind, sign):
    computed = (scale * np.array([[-4.0, 1.0], [2.0, 0.0]])).astype(kind)
    allowed = 4 * scale * np.sqrt(np.finfo(kind).eps)
    for place in np.ndindex(2, 2):
        for share in (0.9, 1.2):
            found = computed.copy()
            found[place] += kind(sign * share * allowed)
            if share < 1:
                _compare(computed, found, FOLDER)
                continue
            with pytest.raises(DataError, match="different values"):
                _compare(computed, found, FOLDER)


def test_a_tile_of_zeros_is_compared_too():
    zeros = np.zeros((2, 2))
    _compare(zeros, zeros, FOLDER)
    for wrong in (1e-300, np.nan):
        with pytest.raises(DataError, match="different values"):
            _compare(zeros, np.array([[0.0, 0.0], [0.0, wrong]]), FOLDER)
