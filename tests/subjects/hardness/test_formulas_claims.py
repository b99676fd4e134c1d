"""Colourings and terms by hand and by trying all formulas; clauses by Quine's definition."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.hardness import formulas
from lemmata.subjects.hardness._formulas import Terms, clause_values, points_of, short_clauses, term_values


def _graph(edges, vertices):
    table = np.zeros((vertices, vertices), bool)
    for i, j in edges:
        table[i, j] = table[j, i] = True
    return table


WHEEL = formulas._NEEDS_FOUR[1]


@pytest.mark.parametrize(
    ("edges", "vertices", "colours"),
    [
        (list(itertools.combinations(range(4), 2)), 4, 4),
        (WHEEL, 6, 4),
        (WHEEL[1:], 6, 3),
        ([(i, (i + 1) % 5) for i in range(5)], 5, 3),
        ([(i, (i + 1) % 6) for i in range(6)], 6, 2),
    ],
)
def test_known_graphs(edges, vertices, colours, key):
    graph = _graph(edges, vertices)
    assert [formulas.colourable(graph, count) for count in (2, 3, 4)] == [colours <= count for count in (2, 3, 4)]
    claim, problem = formulas.ThreeTermDnf(), formulas.Graph(jnp.asarray(graph))
    assert float(claim.measure(problem, key)) == float(claim.predict(problem)) == float(colours <= 3)


def test_terms_are_those_of_a_search_over_all_formulas():
    rng, seen = np.random.default_rng(1), []
    points = points_of(4)
    terms = np.asarray(list(itertools.product([-1, 0, 1], repeat=4)))
    values = np.stack([term_values(term[None], points) for term in terms])
    for _ in range(30):
        order = rng.permutation(16)
        positive, negative = order[:6], order[6:12]
        allowed = np.unique(values[~values[:, negative].any(axis=1)][:, positive], axis=0)
        pairs = np.unique((allowed[:, None] | allowed).reshape(-1, 6), axis=0)
        seen.append(bool((pairs[:, None] | allowed).all(axis=2).any()))
        assert formulas.three_terms_fit(points[positive], points[negative]) == seen[-1]
    assert 3 < sum(seen) < 27


def test_prime_clauses_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    clauses, points = short_clauses(4, 4), points_of(4)
    for _ in range(20):
        values = rng.random(16) < 0.6
        implied = {tuple(own) for own in clauses[clause_values(clauses, points)[:, values].all(axis=1)].tolist()}
        prime = [
            own for own in implied
            if not any((*own[:i], 0, *own[i + 1 :]) in implied for i in range(4) if own[i])
        ]  # fmt: skip
        empty = not values.any()
        assert formulas.prime_clauses(values) == (1 if empty else len(prime))


def test_the_clauses_of_two_terms_by_hand(key):
    """x1 x2 or (not x3) x4 x5: six clauses, whose conjunction is the function."""
    literals = np.asarray([[1, 1, 0, 0, 0], [0, 0, -1, 1, 1]])
    assert formulas.prime_clauses(term_values(literals, points_of(5))) == 6
    clauses = np.asarray(
        [literals[0] * (np.arange(5) == i) + literals[1] * (np.arange(5) == j) for i in (0, 1) for j in (2, 3, 4)]
    )
    together = clause_values(clauses, points_of(5)).all(axis=0)
    assert np.array_equal(together, term_values(literals, points_of(5)))
    assert float(formulas.DnfIsCnf().predict(Terms(jnp.asarray(literals)))) == 6


def test_no_clause_can_be_left_out():
    """For each prime clause some point contradicts it alone."""
    literals = np.asarray(formulas.DisjointTerms().sample({"terms": 3, "longest": 2}, jax.random.key(3)).literals)
    places = [np.nonzero(term)[0] for term in literals]
    clauses = np.stack(
        [np.where(np.isin(np.arange(6), own), literals.sum(axis=0), 0) for own in itertools.product(*places)]
    )
    false = ~clause_values(clauses, points_of(6))
    assert false[:, false.sum(axis=0) == 1].any(axis=1).all()


def test_common_variables_give_fewer_clauses():
    literals = np.asarray([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    assert formulas.prime_clauses(term_values(literals, points_of(3))) == 3 < 8
