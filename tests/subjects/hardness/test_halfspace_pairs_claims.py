"""Splitting and halfspaces by hand and by linear programmes; the AND gate on all patterns."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from lemmata.subjects.hardness import halfspace_pairs as pairs

FANO = [[int(i in line) for i in range(7)] for line in pairs._FANO]


def _table(sets, items):
    return np.asarray([[int(i in own) for i in range(items)] for own in sets])


@pytest.mark.parametrize(
    ("sets", "split"),
    [
        (FANO, False),
        (FANO[1:], True),
        (_table(itertools.combinations(range(5), 3), 5), False),
        (_table(itertools.combinations(range(4), 3), 4), True),
        (_table([(i, (i + 1) % 5) for i in range(5)], 5), False),
        (_table([(i, (i + 1) % 6) for i in range(6)], 6), True),
    ],
)
def test_known_families(sets, split):
    sets = np.asarray(sets)
    assert pairs.splits(sets, 2) == split
    assert pairs.splits(sets, 3)
    assert pairs.two_halfspaces_fit(sets) == split


def _by_programme(positive, negative):
    d = positive.shape[1]
    rows = np.r_[np.c_[positive, -np.ones(len(positive))], np.c_[-negative, np.ones(len(negative))]]
    return linprog(np.zeros(d + 1), rows, -np.ones(len(rows)), bounds=(None, None)).status == 0


def test_halfspaces_are_those_of_linear_programmes():
    rng, seen = np.random.default_rng(0), []
    for _ in range(60):
        points = rng.integers(0, 2, (8, 4)).astype(float)
        seen.append(_by_programme(points[:5], points[5:]))
        assert pairs.halfspace_excludes(points[:5], points[5:]) == seen[-1]
    assert 5 < sum(seen) < 55


def test_a_split_gives_two_halfspaces_that_fit():
    sets = _table([(0, 1, 2), (1, 3), (2, 4), (0, 4)], 5)
    parts = next(
        np.asarray(own) for own in itertools.product([0, 1], repeat=5)
        if all(0 < row @ np.asarray(own) < row.sum() for row in sets)
    )  # fmt: skip
    inside = lambda part, x: x @ np.where(parts == part, 1.0, -5.0) <= 0.5
    positive = np.r_[np.zeros((1, 5)), sets]
    assert inside(0, positive).all()
    assert inside(1, positive).all()
    assert not (inside(0, np.eye(5)) & inside(1, np.eye(5))).any()


def test_both_kinds_of_families_are_drawn():
    claim = pairs.BlumRivest()
    setting = claim.population.settings().default
    values = [float(claim.predict(claim.population.sample(setting, jax.random.key(i)))) for i in range(40)]
    assert 8 < sum(values) < 32


@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_gate_is_the_and_of_all_patterns(m, key):
    signs = np.asarray(list(itertools.product([-1.0, 1.0], repeat=m)))
    problem = pairs.HalfspaceTests(jnp.eye(m), jnp.zeros(m), jnp.asarray(signs))
    labels = np.where((signs > 0).all(axis=1), 1.0, -1.0)
    assert np.array_equal(pairs.AndGate().measure(problem, key), labels)
    assert np.array_equal(pairs.AndGate().predict(problem), labels)
