"""Three terms that fit are hard to find, but the clauses that these terms imply are easy to find.

This theory is about disjunctions of three terms. To fit such a disjunction to a sample is as hard as to colour a graph
with three colours. The same functions are conjunctions of clauses with three literals, which are easy to fit. The
theory assumes that the number of terms is fixed. It does not explain how many examples the larger class costs.
"""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.hardness._formulas import DisjointTerms, Terms, points_of, term_values

ABOUT = {
    "tool": "complexity",
    "architecture": "any",
    "object": "training",
    "DnfIsCnf": {"tool": "combinatorics", "object": "function class"},
}

_NEEDS_FOUR = (
    tuple(itertools.combinations(range(4), 2)),
    (*((i, (i + 1) % 5) for i in range(5)), *((i, 5) for i in range(5))),
)


class Graph(eqx.Module):
    """A graph: a symmetric matrix that says which pairs of vertices have an edge, with an empty diagonal."""

    edges: Bool[Array, "v v"]


class Graphs(Population[Graph]):
    """Half of the graphs are random.

    The other graphs contain a complete graph on 4 vertices or a wheel with 5 spokes.
    """

    settings = Space(vertices=Integer(7, 6, 8, "vertices", corners=(6, 7)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Graph:
        rng, size = generator_of(key), setting["vertices"]
        upper = np.triu(rng.random((size, size)) < rng.uniform(0.2, 0.8), 1)
        if rng.random() < 0.5:
            upper &= rng.random((size, size)) < 0.3
            places = rng.permutation(size)
            for i, j in _NEEDS_FOUR[int(rng.integers(2))]:
                upper[min(places[[i, j]]), max(places[[i, j]])] = True
        return Graph(jnp.asarray(upper | upper.T))

    def hypotheses(self, problem: Graph) -> list[Hypothesis]:
        return [Hypothesis("edges from a vertex to itself", jnp.diagonal(problem.edges).sum(), "==", 0, "a graph")]


def colourable(edges: Bool[np.ndarray, "v v"], colours: int) -> bool:
    """Whether the vertices can be coloured so that the ends of every edge differ; all colourings are tried."""
    places = np.asarray(list(itertools.product(range(colours), repeat=len(edges))))
    first, second = np.nonzero(np.triu(edges))
    return bool((places[:, first] != places[:, second]).all(axis=1).any())


def three_terms_fit(positive: Bool[np.ndarray, "p v"], negative: Bool[np.ndarray, "q v"]) -> bool:
    """Whether some disjunction of three terms is true on all positive and false on all negative examples.

    A term that is true on some examples may contain all literals that these examples share, because more literals only
    exclude more points. All ways to share the positive examples between three terms are tried.
    """
    chosen = points_of(len(positive))
    alone = np.empty(len(chosen), bool)
    for mask, own in enumerate(chosen):
        shared = positive[own]
        fixed = (shared == shared[:1]).all(axis=0) if own.any() else np.zeros(positive.shape[1], bool)
        alone[mask] = not own.any() or not (negative[:, fixed] == shared[0, fixed]).all(axis=1).any()
    masks = np.nonzero(alone)[0]
    pairs = np.unique(masks[:, None] | masks)
    return bool((np.unique(pairs[:, None] | masks) == len(chosen) - 1).any())


class ThreeTermDnf(Claim[Graph]):
    """Let a graph with vertices 1, ..., n be given. Make a sample of points in {0, 1}^n. For each vertex i, the point
    with a single 0 at i is positive. For each edge ij, the point with zeros exactly at i and j is negative. Some
    disjunction of three terms (conjunctions of literals) fits the sample if and only if the graph can be coloured with
    three colours. So it is NP-hard to fit three terms, although there are few of them.
    """

    title = (
        "A DNF of three terms fits the sample built from a graph if and only if the graph can be coloured with three "
        "colours"
    )
    source = Source(
        "emergence2026",
        "Figure 9.10",
        "Definition 9.7",
        note="the reduction, which shows why another representation is needed",
    )
    population = Graphs()
    relation = Equal()
    control = Control(
        "three terms fit if two colours are enough",
        lambda value, problem: jnp.asarray(float(colourable(np.asarray(problem.edges), 2))),
    )
    controls = "whether a learner that must return three terms can fit its sample"
    unexplained = "samples of random examples, which may be easier to fit"
    traced = False

    def predict(self, problem: Graph) -> Array:
        return jnp.asarray(float(colourable(np.asarray(problem.edges), 3)))

    def measure(self, problem: Graph, key: Key[Array, ""]) -> Array:
        """Return 1 if three terms fit, else 0, by trying each division of the positive examples between three terms."""
        edges = np.asarray(problem.edges)
        single = np.eye(len(edges), dtype=bool)
        first, second = np.nonzero(np.triu(edges))
        return jnp.asarray(float(three_terms_fit(~single, ~(single[first] | single[second]))))


def prime_clauses(values: Bool[np.ndarray, " points"]) -> int:
    """Return the number of prime clauses: clauses that the function implies, and from which no literal can be left out.

    A clause is false on a subcube, so the function must be 0 there. On axis i of the table of subcubes, the entries 0
    and 1 mean that variable i is fixed, and the entry 2 means that variable i is free.
    """
    variables = len(values).bit_length() - 1
    zero = ~values.reshape((2,) * variables)
    for axis in range(variables):
        zero = np.concatenate([zero, zero.all(axis=axis, keepdims=True)], axis=axis)
    prime = zero.copy()
    for axis in range(variables):
        own, wider = np.moveaxis(prime, axis, 0), np.moveaxis(zero, axis, 0)
        own[:2] &= ~wider[2]
    return int(prime.sum())


class DnfIsCnf(Claim[Terms]):
    """Let a function be the disjunction of k terms T_1, ..., T_k, each with at least two literals. No variable occurs
    in two of the terms. The function is the conjunction of all clauses that choose one literal from each term. There
    are

        |T_1| |T_2| ... |T_k|

    such clauses, where |T| is the number of literals of T. These clauses are exactly the prime clauses of the function.
    That is, the function implies each of these clauses, but it does not imply a clause from which a literal has been
    left out. So every conjunction of clauses that equals the function has at least this number of clauses.
    """

    title = (
        "The CNF of a disjunction of terms without common variables has as many clauses as the product of the term "
        "sizes"
    )
    source = Source(
        "emergence2026", "Figure 9.11", note="with the number of clauses, and the proof that none can be left out"
    )
    population = DisjointTerms()
    relation = Equal()
    control = Control(
        "the number is |T_1| + ... + |T_k|", lambda count, problem: jnp.abs(problem.literals).sum().astype(float)
    )
    controls = "the length of the conjunctive form of a short disjunction"
    unexplained = "terms with common variables, which have fewer clauses"
    traced = False

    def predict(self, problem: Terms) -> Float[Array, ""]:
        return jnp.prod(jnp.abs(problem.literals).sum(axis=1)).astype(float)

    def measure(self, problem: Terms, key: Key[Array, ""]) -> Array:
        """Count the prime clauses of the function from its values at all points."""
        literals = np.asarray(problem.literals)
        return jnp.asarray(float(prime_clauses(term_values(literals, points_of(literals.shape[1])))))
