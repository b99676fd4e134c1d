"""Learning by deletion: start with all short clauses, and delete the clauses that a positive example contradicts.

This theory is about a fast learner for disjunctions of three terms, which returns clauses instead of terms. It predicts
which of the learner's two answers can be wrong, and the mean error. It assumes that the labels have no noise. It does
not explain which classes have such a learner.
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Kind, Source
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.hardness._formulas import (
    LabelledSample,
    LabelledSamples,
    clause_values,
    points_of,
    short_clauses,
    term_values,
)

ABOUT = {
    "tool": "combinatorics",
    "architecture": "any",
    "object": "estimator",
    "DeletionError": {"tool": "statistics", "object": "generalisation"},
}


def kept_clauses(
    clauses: Int[np.ndarray, "c v"], examples: Bool[np.ndarray, "m v"], labels: Bool[np.ndarray, " m"]
) -> Bool[np.ndarray, " c"]:
    """Return for each clause whether deletion keeps it, which means that it is true on every positive example."""
    return np.logical_and.reduce(clause_values(clauses, examples[labels]), axis=1)


def target_clauses(literals: Int[np.ndarray, "3 v"]) -> set[tuple[int, ...]]:
    """Return the clauses that choose one literal from each term, except clauses with a literal and its negation."""
    found = set()
    for places in itertools.product(*(np.nonzero(term)[0] for term in literals)):
        row = np.zeros(literals.shape[1], int)
        signs = [(place, literals[term, place]) for term, place in enumerate(places)]
        for place, sign in signs:
            row[place] = sign
        if all(row[place] == sign for place, sign in signs):
            found.add(tuple(row.tolist()))
    return found


def _seen_together(examples: Bool[np.ndarray, "m v"], size: int) -> Bool[np.ndarray, " points"]:
    """Return for each point whether every `size` of its coordinates occur together in some example."""
    points = points_of(examples.shape[1])
    accepted = np.ones(len(points), bool)
    for own in itertools.combinations(range(points.shape[1]), size):
        weights = 2 ** np.arange(size)
        accepted &= np.isin(points[:, own] @ weights, examples[:, own] @ weights)
    return accepted


def _one_sided_counts(problem: LabelledSample, size: int) -> Float[Array, "2"]:
    literals, examples = np.asarray(problem.literals), np.asarray(problem.examples)
    right = term_values(literals, points_of(literals.shape[1]))
    accepted = _seen_together(examples[term_values(literals, examples)], size)
    return jnp.asarray([right.sum() - accepted.sum(), len(target_clauses(literals))], float)


class DeletionIsOneSided(Claim[LabelledSample]):
    """Let a disjunction of three terms label m examples. Start with all clauses of up to three literals, and delete
    every clause that is false on a positive example. The hypothesis h is the conjunction of the clauses that are left.
    For every sample, three statements hold:

        none of the clauses that choose one literal from each term of the target is deleted;
        h = 1 at x if and only if every three coordinates of x occur together in some positive example;
        h implies the target f, so the number of points with h != f is the number of points with f = 1, minus the
        number of points with h = 1.

    The negated clauses are terms of the complement of f. So for the complement, deletion never removes a term of the
    target.
    """

    title = "Learning a CNF by deletion never removes a target clause, so only negative answers can be wrong"
    source = Source("emergence2026", "Lemma 9.12", "Figure 9.12", "Theorem 9.10", note="with the accepted points")
    population = LabelledSamples(60)
    relation = Equal()
    control = Control(
        "it is enough that every two coordinates occur together, and one target clause is deleted",
        lambda counts, problem: jnp.asarray([_one_sided_counts(problem, 2)[0], counts[1] - 1]),
    )
    controls = "which errors a learner by deletion can make"
    unexplained = "labels with noise: a single wrong label can delete a clause of the target"
    traced = False

    def predict(self, problem: LabelledSample) -> Float[Array, "2"]:
        return _one_sided_counts(problem, 3)

    def measure(self, problem: LabelledSample, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Run the learner, and compare its hypothesis with the target at all points."""
        literals, examples = np.asarray(problem.literals), np.asarray(problem.examples)
        points, clauses = points_of(literals.shape[1]), short_clauses(literals.shape[1], 3)
        kept = kept_clauses(clauses, examples, term_values(literals, examples))
        wrong = clause_values(clauses[kept], points).all(axis=0) != term_values(literals, points)
        left = target_clauses(literals) & {tuple(row) for row in clauses[kept].tolist()}
        return jnp.asarray([wrong.sum(), len(left)], float)


class DeletionError(Claim[LabelledSample]):
    """Let a disjunction of three terms label m + 1 independent examples. Learn from m of these examples by deletion:
    keep all clauses of up to three literals that no positive example contradicts. Call the mean error on a new example
    E error_m. It satisfies

        E error_m = E (number of the m + 1 examples that alone contradict some clause) / (m + 1).

    A positive example contradicts a clause alone if the clause is false on this example and true on all other positive
    examples. Count the examples that do so for some clause. This count, divided by m + 1, is an unbiased estimate of
    the error from the m + 1 examples themselves. The count is at most the number of clauses, which gives the usual,
    loose bound.
    """

    title = "The training sample gives an unbiased estimate of the error of learning a CNF by deletion of clauses"
    source = Source("emergence2026", "Theorem 9.10", "Figure 9.12", note="with the mean error, by exchangeability")
    stated = Kind.OWN
    population = LabelledSamples(60)
    relation = EqualInMean(resolution=0.02, relative=False, over="problems")
    control = Control("the number is divided by 4 (m + 1)/5", lambda share, problem: 1.25 * share)
    controls = "the error of a learner by deletion on new examples"
    unexplained = "how the error falls with the number of examples"
    traced = False
    trials = 400

    def predict(self, problem: LabelledSample) -> Array:
        literals, examples = np.asarray(problem.literals), np.asarray(problem.examples)
        positive = examples[term_values(literals, examples)]
        false = ~clause_values(short_clauses(literals.shape[1], 3), positive)
        alone = false[false.sum(axis=1) == 1].any(axis=0)
        return jnp.asarray(alone.sum() / len(examples))

    def measure(self, problem: LabelledSample, key: Key[Array, ""]) -> Array:
        """Learn from m other examples, and return the exact error of the hypothesis over all points."""
        literals, (rows, variables) = np.asarray(problem.literals), problem.examples.shape
        examples = generator_of(key).random((rows - 1, variables)) < 0.5
        points, clauses = points_of(variables), short_clauses(variables, 3)
        kept = kept_clauses(clauses, examples, term_values(literals, examples))
        return jnp.asarray(np.mean(clause_values(clauses[kept], points).all(axis=0) != term_values(literals, points)))
