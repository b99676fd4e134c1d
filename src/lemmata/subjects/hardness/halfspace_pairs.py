"""The AND of two halfspaces: a network with three units that is easy to evaluate, but hard to fit.

This theory turns a question about a family of sets (can its items be divided into two parts that split every set?) into
a training sample for the AND of two halfspaces. So an efficient algorithm that fits the sample would also answer the
question, which is NP-hard. The theory assumes that the algorithm must return two halfspaces. It does not explain
algorithms that may return other functions.
"""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.optimize import nnls

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "complexity",
    "architecture": "dense network",
    "object": "training",
    "AndGate": {"object": "construction"},
}

_FANO = ((0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5))
_TRIPLES = tuple(itertools.combinations(range(5), 3))


class Hypergraph(eqx.Module):
    """Sets of items: entry (s, i) is 1 if set s contains item i."""

    sets: Int[Array, "sets items"]


class Hypergraphs(Population[Hypergraph]):
    """Random sets of two or three items.

    Half of the families also contain sets that cannot all be split by one division of the items into two parts.
    """

    settings = Space(
        items=Integer(7, 5, 7, "items", corners=(6, 7)), sets=Integer(9, 1, 20, "random sets", corners=(6, 12))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Hypergraph:
        rng, items = generator_of(key), setting["items"]
        chosen = [rng.choice(items, rng.integers(2, 4), replace=False) for _ in range(setting["sets"])]
        if rng.random() < 0.5:
            planted = _FANO if items == 7 and rng.random() < 0.5 else _TRIPLES
            chosen = [*chosen[:2], *rng.permutation(items)[np.asarray(planted)]]
        table = np.zeros((len(chosen), items), int)
        for row, own in zip(table, chosen, strict=True):
            row[own] = 1
        return Hypergraph(jnp.asarray(table))

    def hypotheses(self, problem: Hypergraph) -> list[Hypothesis]:
        least = problem.sets.sum(axis=1).min()
        return [Hypothesis("the number of items in the smallest set", least, ">=", 2, "one item cannot be split")]


def splits(sets: Int[np.ndarray, "sets items"], parts: int) -> bool:
    """Whether the items can be divided into this number of parts so that no set is inside one part."""
    for places in itertools.product(range(parts), repeat=sets.shape[1]):
        inside = np.stack([sets @ (np.asarray(places) == part) for part in range(parts)])
        if (inside < sets.sum(axis=1)).all():
            return True
    return False


def halfspace_excludes(positive: Float[np.ndarray, "p d"], negative: Float[np.ndarray, "q d"]) -> bool:
    """Whether a halfspace contains the positive points and none of the negative points.

    Such a halfspace exists if 0 is not a convex combination of the points (x, 1), with a minus sign for positive
    points.
    """
    signed = np.concatenate([-np.c_[positive, np.ones(len(positive))], np.c_[negative, np.ones(len(negative))]])
    signed = signed / np.linalg.norm(signed, axis=1, keepdims=True)
    return bool(nnls(np.r_[signed.T, np.ones((1, len(signed)))], np.r_[np.zeros(signed.shape[1]), 1.0])[1] > 1e-8)


def two_halfspaces_fit(sets: Int[np.ndarray, "sets items"]) -> bool:
    """Whether two halfspaces exist that both contain 0 and all sets, while each unit vector is outside one of them."""
    items = sets.shape[1]
    positive, negative = np.r_[np.zeros((1, items)), sets].astype(float), np.eye(items)
    known: dict[tuple[int, ...], bool] = {}

    def excluded(own: tuple[int, ...]) -> bool:
        if own not in known:
            known[own] = halfspace_excludes(positive, negative[list(own)])
        return known[own]

    subsets = (own for size in range(items + 1) for own in itertools.combinations(range(items), size))
    return any(
        excluded(own) and excluded(tuple(i for i in range(items) if i not in own)) for own in subsets if 0 in own
    )


class BlumRivest(Claim[Hypergraph]):
    """Let a family of sets over n items be given, each with at least two items. Make a training sample in R^n: the
    vector 0 and the 0-1 vector of each set are positive, and the n unit vectors are negative. A split divides the items
    into two parts so that every set has items in both parts. The AND of two halfspaces fits the sample if and only if a
    split exists. It is NP-hard to decide whether a split exists, even for sets of at most three items.
    """

    title = (
        "The AND of two halfspaces fits the sample built from a family of sets if and only if the family has a split"
    )
    source = Source("emergence2026", "Theorem 9.4", "Figure 9.8", "Figure 9.9", note="the reduction")
    population = Hypergraphs()
    relation = Equal()
    control = Control(
        "two halfspaces fit if three parts split the sets",
        lambda value, problem: jnp.asarray(float(splits(np.asarray(problem.sets), 3))),
    )
    controls = "whether a network with two threshold units and an AND can fit a sample"
    unexplained = "how long the best algorithms take, and learners that may return another function"
    traced = False

    def predict(self, problem: Hypergraph) -> Array:
        return jnp.asarray(float(splits(np.asarray(problem.sets), 2)))

    def measure(self, problem: Hypergraph, key: Key[Array, ""]) -> Array:
        """Try every division of the negative points between the halfspaces, and solve a convex program for each."""
        return jnp.asarray(float(two_halfspaces_fit(np.asarray(problem.sets))))


class HalfspaceTests(eqx.Module):
    """Halfspaces <w_j, x> > b_j and points."""

    weights: Float[Array, "m d"]
    thresholds: Float[Array, " m"]
    points: Float[Array, "n d"]


class AndGate(Claim[HalfspaceTests]):
    """Let m threshold units output g_j(x) = sgn(<w_j, x> - b_j), which is -1 or 1. The unit

        F(x) = sgn(sum_j g_j(x) - (m - 1))

    computes the AND of the m units: F(x) = 1 on the intersection of the m halfspaces, and F(x) = -1 everywhere else.
    Every threshold strictly between m - 2 and m works too, because the sum falls by 2 with each unit that outputs -1.
    """

    title = "One threshold unit computes the AND of halfspaces"
    source = Source("emergence2026", "Figure 9.14", "Figure 9.15")
    population = Drawn(
        HalfspaceTests,
        m=Integer(3, 1, 12, "halfspaces", corners=(2, 5)),
        d=dimension(3),
        n=rows(200, 20, 2000, corners=(150, 400)),
        weights=normal("m", "d"),
        thresholds=normal("m", times=0.5),
        points=normal("n", "d"),
    )
    relation = Equal(block=1)
    control = Control("the threshold is m - 3", lambda labels, problem: _labels(problem, 1))
    controls = "which functions a network with one hidden layer of threshold units can compute"
    unexplained = "how to find the halfspaces from examples"

    def predict(self, problem: HalfspaceTests) -> Array:
        return _labels(problem, 0)

    def measure(self, problem: HalfspaceTests, key: Key[Array, ""]) -> Array:
        """Return F(x) at each point, by evaluating the network of depth two layer by layer."""
        hidden = jnp.sign(problem.points @ problem.weights.T - problem.thresholds)
        return jnp.sign(hidden.sum(axis=1) - (len(problem.thresholds) - 1))


def _labels(problem: HalfspaceTests, failing: int) -> Array:
    """Return 1 for each point at which at most `failing` tests fail, and -1 otherwise."""
    failed = jnp.einsum("nd,md->mn", problem.points, problem.weights) <= problem.thresholds[:, None]
    return jnp.where(failed.sum(axis=0) <= failing, 1.0, -1.0)
