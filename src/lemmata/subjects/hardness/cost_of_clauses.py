"""The cost of the larger class: a fast learner that returns clauses against a slow learner that returns terms.

This theory compares two learners of a disjunction of three terms on the same examples. One deletes clauses, which is
fast. The other searches for three terms that fit, which is slow. The comparison assumes uniform examples without noise.
It does not explain how many examples the best fast learner needs.
"""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Kind, Order, Source
from lemmata.engine.problems.drawn import Drawn
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import rows
from lemmata.subjects.hardness._formulas import clause_values, drawn_terms, points_of, short_clauses, term_values

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_TARGETS = 8


class Examples(eqx.Module):
    """The number m of training examples."""

    m: int = eqx.field(static=True)


def searched_terms(
    values: Bool[np.ndarray, "terms points"], positive: np.ndarray, negative: np.ndarray, rng: np.random.Generator
) -> Bool[np.ndarray, " points"]:
    """Return the values of a disjunction that fits the examples with as few terms as possible.

    A term is only tried under two conditions. The term must be false on the negative examples. There must be no second
    term that is also false on the negative examples, and true on the same positive examples and more. Such a second
    term could replace the first.
    """
    fitting = rng.permutation(values[~values[:, negative].any(axis=1)])
    covered, first = np.unique(fitting[:, positive], axis=0, return_index=True)
    kept: list[int] = []
    for place in np.argsort(-covered.sum(axis=1)):
        if not (covered[place] <= covered[kept]).all(axis=1).any():
            kept.append(int(place))
    order = rng.permutation(np.asarray(kept, int))
    for count in range(1, len(order) + 1):
        for chosen in itertools.combinations(order, count):
            if covered[list(chosen)].any(axis=0).all():
                return np.logical_or.reduce(fitting[first[list(chosen)]])
    return np.zeros(values.shape[1], bool)


def cost_of_clauses(variables: int, terms: int, m: int, rng: np.random.Generator) -> float:
    """Return the difference between the errors of two learners. The first deletes clauses of up to `terms` literals,
    and the second searches for `terms` terms.
    """
    points, clauses = points_of(variables), short_clauses(variables, terms)
    true = clause_values(clauses, points)
    every = np.asarray(list(itertools.product((-1, 0, 1), repeat=variables)))
    values = every @ np.where(points, 1, -1).T == np.abs(every).sum(axis=1)[:, None]
    excess = []
    for _ in range(_TARGETS):
        target = term_values(drawn_terms(terms, variables, rng), points)
        seen = np.unique(rng.integers(0, len(points), m))
        positive, negative = seen[target[seen]], seen[~target[seen]]
        deletion = true[true[:, positive].all(axis=1)].all(axis=0)
        search = searched_terms(values, positive, negative, rng)
        excess.append(np.mean(deletion != target) - np.mean(search != target))
    return float(np.mean(excess))


class ClausesCostExamples(Claim[Examples]):
    """Let a random disjunction of three terms with two or three literals label m uniform examples of n variables. The
    first learner starts with all clauses of up to three literals, and deletes every clause that a positive example
    contradicts. The second learner searches for the smallest number of terms that fit the examples. The first learner
    is fast, but it has the larger mean error. The difference between the two mean errors grows with the number n of
    variables.

    The test subtracts a baseline from this difference. The baseline is the difference of the mean errors for targets of
    one term, where the first learner uses clauses of one literal. In the baseline both learners return a single term,
    and their errors are nearly equal. The test uses n = 5, 6, 7 and m from 40 to 80.
    """

    title = "Learning a DNF by clauses (CNF) instead of terms costs an error that grows with the number of variables"
    source = Source("emergence2026", "Figure 9.13", "Figure 9.18", note="an example of what the captions call possible")
    stated = Kind.OWN
    population = Drawn(
        Examples,
        lambda own: Hypothesis("examples", own.m, ">=", 40, "with few examples both learners err on most points"),
        m=rows(60, 40, 80, corners=(40, 80)),
    )
    relation = Order(along="variables", rungs=(5.0, 6.0, 7.0))
    control = Control("the difference falls", lambda sign, problem: -sign)
    controls = "how many more examples an efficient learner needs that returns another representation"
    unexplained = "whether another fast learner would need fewer examples"
    traced = False
    trials = 32
    predict = 1.0

    def measure_at(self, problem: Examples, key: Key[Array, ""], variables: float) -> Float[Array, ""]:
        rng = generator_of(key)
        return jnp.asarray(
            cost_of_clauses(int(variables), 3, problem.m, rng) - cost_of_clauses(int(variables), 1, problem.m, rng)
        )
