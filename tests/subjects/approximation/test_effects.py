"""Covers of rich classes are not supported where they do not see the class, or shrink with its normalisation."""

import itertools

import numpy as np

from lemmata.subjects.approximation import _covered_classes, covering_numbers
from lemmata.subjects.approximation._covered_classes import ClassesOfCosines, RichClasses
from tests.subjects.effects import supported


def test_halves_are_all_functions_with_such_coefficients(key):
    problem = RichClasses().sample({}, key)
    for m in (1, 2):
        coefficients = [own for own in itertools.product((-1, -0.5, 0, 0.5, 1), repeat=2 * m) if np.abs(own).sum() <= 1]
        found = np.asarray(problem.halves(m))
        assert len(found) == len(coefficients) == 8 * m**2 + 4 * m + 1
        wanted = np.asarray(coefficients) @ np.asarray(problem.waves[:, :m]).reshape(2 * m, -1)
        order = lambda rows: rows[np.lexsort(np.round(rows, 9).T)]
        assert np.allclose(order(found), order(wanted), atol=1e-12)
        assert np.allclose(np.abs(found).max(axis=0), problem.largest(m))


def test_a_class_that_shrinks_with_its_frequencies_is_noticed(monkeypatch):
    claim, largest = covering_numbers.PairCoverOfRichClasses(), ClassesOfCosines.largest
    assert supported(claim, 138)
    monkeypatch.setattr(_covered_classes.ClassesOfCosines, "largest", lambda self, m: largest(self, m) / m)
    assert not supported(claim, 138)


def test_a_class_that_does_not_become_richer_is_noticed(monkeypatch):
    claim, halves = covering_numbers.ClassCoverOfRichClasses(), ClassesOfCosines.halves
    assert supported(claim, 16)
    monkeypatch.setattr(_covered_classes.ClassesOfCosines, "halves", lambda self, m: halves(self, 2))
    assert not supported(claim, 16)
