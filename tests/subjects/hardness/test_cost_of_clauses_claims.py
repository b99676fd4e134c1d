"""The search for terms against all formulas, and errors of both learners on samples that show everything."""

import itertools

import numpy as np
import pytest

from lemmata.subjects.hardness import cost_of_clauses as cost
from lemmata.subjects.hardness._formulas import drawn_terms, points_of, term_values


def _every(variables):
    points = points_of(variables)
    terms = np.asarray(list(itertools.product((-1, 0, 1), repeat=variables)))
    return points, np.stack([term_values(term[None], points) for term in terms])


def test_the_search_finds_the_fewest_terms():
    rng = np.random.default_rng(0)
    points, values = _every(4)
    for _ in range(20):
        target = term_values(drawn_terms(3, 4, rng), points)
        seen = rng.permutation(16)[:10]
        positive, negative = seen[target[seen]], seen[~target[seen]]
        found = cost.searched_terms(values, positive, negative, rng)
        assert found[positive].all()
        assert not found[negative].any()
        fits = lambda own, at=positive: own[:, at].all(axis=1).any()
        allowed = np.unique(values[~values[:, negative].any(axis=1)], axis=0)
        one, two = allowed, (allowed[:, None] | allowed).reshape(-1, 16)
        fewest = 0 if not len(positive) else 1 if fits(one) else 2 if fits(two) else 3
        known = [np.zeros((1, 16), bool), one, two, (np.unique(two, axis=0)[:, None] | one).reshape(-1, 16)][fewest]
        assert (known == found).all(axis=1).any()


@pytest.mark.parametrize("terms", [1, 3])
def test_learners_that_saw_everything_agree(terms):
    assert cost.cost_of_clauses(4, terms, 2000, np.random.default_rng(1)) == 0.0


def test_single_terms_cost_nearly_nothing():
    rng = np.random.default_rng(2)
    single, three = (np.mean([cost.cost_of_clauses(6, k, 50, rng) for _ in range(5)]) for k in (1, 3))
    print(f"excess error of clauses: one term {single:.4f}, three terms {three:.4f}")
    assert abs(single) < 0.02 < 0.05 < three
