"""Deletion by hand, the mean error by summing over all samples, and what noise does."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.hardness import deletion
from lemmata.subjects.hardness._formulas import (
    LabelledSample,
    LabelledSamples,
    clause_values,
    points_of,
    short_clauses,
    term_values,
)


def _sample(key, variables=6, m=25):
    return LabelledSamples(60).sample({"variables": variables, "m": m}, key)


@pytest.mark.parametrize("variables", [3, 5, 8])
def test_the_number_of_clauses(variables):
    n = variables
    count = 8 * n * (n - 1) * (n - 2) // 6 + 4 * n * (n - 1) // 2 + 2 * n
    assert len(short_clauses(n, 3)) == count
    assert len(np.unique(short_clauses(n, 3), axis=0)) == count


def test_the_clauses_of_the_target_are_the_target(key):
    for own in jax.random.split(key, 10):
        literals = np.asarray(_sample(own).literals)
        found = np.asarray(sorted(deletion.target_clauses(literals)))
        points = points_of(6)
        assert np.array_equal(clause_values(found, points).all(axis=0), term_values(literals, points))


def test_values_are_those_of_the_words():
    rng = np.random.default_rng(0)
    clauses, points = short_clauses(5, 3), points_of(5)
    values = clause_values(clauses, points)
    for c, p in zip(rng.integers(len(clauses), size=50), rng.integers(32, size=50), strict=True):
        truth = any(points[p, i] == (sign > 0) for i, sign in enumerate(clauses[c]) if sign)
        assert values[c, p] == truth


def test_a_learner_that_saw_nothing_rejects_everything(key):
    problem = _sample(key)
    none = LabelledSample(problem.literals, problem.examples[:0])
    claim, literals = deletion.DeletionIsOneSided(), np.asarray(problem.literals)
    right = term_values(literals, points_of(6)).sum()
    assert float(claim.predict(none)[0]) == float(claim.measure(none, key)[0]) == right


def test_a_wrong_label_deletes_clauses_of_the_target(key):
    problem = _sample(key, m=60)
    literals, examples = np.asarray(problem.literals), np.asarray(problem.examples)
    clauses, labels = short_clauses(6, 3), term_values(literals, examples)
    target = deletion.target_clauses(literals)
    left = lambda labels: (
        target & {tuple(own) for own in clauses[deletion.kept_clauses(clauses, examples, labels)].tolist()}
    )
    wrong = labels.copy()
    wrong[np.nonzero(~labels)[0][0]] = True
    assert left(labels) == target
    assert left(wrong) < target


def test_the_mean_error_is_exact_over_all_samples():
    """All 8³ samples of three examples of three variables, and all 8² samples of two."""
    literals = np.asarray([[1, 1, 0], [0, -1, 1], [-1, 0, -1]])
    points, clauses = points_of(3), short_clauses(3, 3)
    labels, claim = term_values(literals, points), deletion.DeletionError()
    estimates = [
        float(claim.predict(LabelledSample(jnp.asarray(literals), jnp.asarray(points[list(own)]))))
        for own in itertools.product(range(8), repeat=3)
    ]
    errors = []
    for own in itertools.product(range(8), repeat=2):
        kept = deletion.kept_clauses(clauses, points[list(own)], labels[list(own)])
        errors.append(np.mean(clause_values(clauses[kept], points).all(axis=0) != labels))
    assert np.mean(estimates) == pytest.approx(np.mean(errors), rel=1e-12)


def test_how_loose_the_bound_by_counting_is(key):
    claim = deletion.DeletionError()
    errors = [float(claim.measure(_sample(own, 7, 60), own)) for own in jax.random.split(key, 20)]
    bound = len(short_clauses(7, 3)) / 60
    print(f"mean error {np.mean(errors):.3f}, bound {bound:.1f}")
    assert bound > 20 * np.mean(errors)
