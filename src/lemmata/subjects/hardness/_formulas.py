"""Formulas of a few variables, and examples that such formulas label. A formula consists of terms (ANDs of literals) or
clauses (ORs of literals).
"""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class Terms(eqx.Module):
    """A disjunction of terms: entry (t, i) is 1 if term t requires variable i to be true, -1 if the term requires it to
    be false, and 0 otherwise.
    """

    literals: Int[Array, "terms variables"]


class DisjointTerms(Population[Terms]):
    """Random terms of two or more literals each, in which every variable occurs only once."""

    settings = Space(terms=Integer(3, 3, 4, "terms"), longest=Integer(3, 2, 3, "literals in the longest term"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Terms:
        rng = generator_of(key)
        sizes = rng.integers(2, setting["longest"] + 1, setting["terms"])
        of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        table = np.zeros((len(sizes), len(of)), int)
        table[of, np.arange(len(of))] = rng.choice([-1, 1], len(of))
        return Terms(jnp.asarray(table))

    def hypotheses(self, problem: Terms) -> list[Hypothesis]:
        uses = jnp.abs(problem.literals)
        return [
            Hypothesis(
                "the largest number of terms that share a variable",
                uses.sum(axis=0).max(),
                "<=",
                1,
                "then no two terms share a variable",
            ),
            Hypothesis(
                "literals in the shortest term",
                uses.sum(axis=1).min(),
                ">=",
                2,
                "then the clauses of the function are prime",
            ),
        ]


class LabelledSample(eqx.Module):
    """The terms of a target function, and examples that the target function labels."""

    literals: Int[Array, "terms variables"]
    examples: Bool[Array, "m variables"]


class LabelledSamples(Population[LabelledSample]):
    """Three terms of two or three random literals each, and uniform examples.

    Args:
        examples: the default number of examples.
    """

    examples: int = eqx.field(static=True)

    def settings(self) -> Space:
        m = self.examples
        return Space(
            variables=Integer(7, 5, 9, "variables", corners=(6, 8)),
            m=Integer(m, 20, 200, "examples", corners=(m // 2, 2 * m)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledSample:
        rng, variables = generator_of(key), setting["variables"]
        literals = drawn_terms(3, variables, rng)
        return LabelledSample(jnp.asarray(literals), jnp.asarray(rng.random((setting["m"], variables)) < 0.5))

    def hypotheses(self, problem: LabelledSample) -> list[Hypothesis]:
        """Return a hypothesis about the terms, and none about the examples.

        Two statements are about uniform examples, and the other statements are about any examples.
        """
        return [
            Hypothesis(
                "terms of the target",
                len(problem.literals),
                "<=",
                3,
                "then the clauses of the target have at most three literals",
            )
        ]


def points_of(variables: int) -> Bool[np.ndarray, "points variables"]:
    """Return all assignments of true and false to this number of variables."""
    return (np.arange(2**variables)[:, None] >> np.arange(variables) & 1).astype(bool)


def drawn_terms(terms: int, variables: int, rng: np.random.Generator) -> Int[np.ndarray, "t v"]:
    """Draw terms of two or three random literals."""
    literals = np.zeros((terms, variables), int)
    for row in literals:
        row[rng.permutation(variables)[: rng.integers(2, 4)]] = 1
    return literals * rng.choice([-1, 1], literals.shape)


def term_values(literals: Int[np.ndarray, "t v"], points: Bool[np.ndarray, "p v"]) -> Bool[np.ndarray, " p"]:
    """Return the value of a disjunction of terms at each point."""
    wrong = (literals[:, None, :] != 0) & ((literals[:, None, :] > 0) != points)
    return ~wrong.any(axis=2).all(axis=0)


def short_clauses(variables: int, longest: int) -> Int[np.ndarray, "c v"]:
    """Return all disjunctions of 1 to `longest` literals of different variables; -1 stands for a negated variable."""
    found = []
    for size in range(1, longest + 1):
        for own in itertools.combinations(range(variables), size):
            for signs in itertools.product((1, -1), repeat=size):
                row = np.zeros(variables, int)
                row[list(own)] = signs
                found.append(row)
    return np.stack(found)


def clause_values(clauses: Int[np.ndarray, "c v"], points: Bool[np.ndarray, "p v"]) -> Bool[np.ndarray, "c p"]:
    """Return the value of each clause at each point: a literal is true if clause and point have the same sign."""
    return np.maximum(clauses, 0) @ points.T + np.maximum(-clauses, 0) @ ~points.T > 0
