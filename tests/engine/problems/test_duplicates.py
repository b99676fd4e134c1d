"""Equal rows against a comparison of every pair, and what is said of a singular matrix."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.duplicates import duplicate_rows
from lemmata.engine.problems.singular import singular_cause


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_those_of_all_comparisons(seed):
    x = np.random.default_rng(seed).integers(0, 3, (30, 3)).astype(float)
    first = [next(i for i in range(30) if (x[i] == x[j]).all()) for j in range(30)]
    wanted = [(i, j) for j, i in enumerate(first) if i != j]
    assert wanted
    assert duplicate_rows(x) == duplicate_rows(jnp.asarray(x)) == wanted
    assert len(np.unique(x, axis=0)) == 30 - len(wanted)


def test_zeros_of_both_signs_are_equal_and_nan_is_not():
    assert duplicate_rows(np.array([[0.0], [-0.0]])) == [(0, 1)]
    assert duplicate_rows(np.array([[np.nan], [np.nan]])) == []
    assert duplicate_rows(np.zeros((0, 2))) == []


def test_one_pair_and_full_rank_and_no_inputs():
    x = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    gram = x @ x.T
    wanted = (
        "1 pair of equal rows (training rows 0 and 2, counted from 0) makes the smallest eigenvalue of the kernel "
        "matrix zero"
    )
    assert singular_cause(gram, x) == wanted
    assert singular_cause(gram, None) == "the kernel matrix of the 3 rows has rank 2"
    assert singular_cause(gram + jnp.eye(3), x) is None
    assert singular_cause(jnp.full((2, 2), jnp.nan), None) is None
