"""How the number of labellings grows with the number of points: Sauer's lemma, products of classes and sign networks.

This theory bounds how many labellings of N points a class can produce, by the VC dimension or unit by unit through a
network. It does not explain networks that generalise from fewer rows than they have weights, because the count then
gives no bound.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Kind, Source
from lemmata.engine.problems.set_systems import (
    BinomialSum,
    BinomialSums,
    ClassPair,
    ClassPairs,
    SetSystem,
    SetSystems,
    SignArchitecture,
    SignArchitectures,
)
from lemmata.subjects.generalisation._labelled_points import GeneralPoints, GeneralPositions

from ._labellings import cover_count, halfspace_labellings, shattered_points

ABOUT = {"tool": "combinatorics", "architecture": "dense network", "object": "function class"}

_UNITS = 3


def _sauer(points: int, dimension: int) -> float:
    return float(sum(math.comb(points, i) for i in range(dimension + 1)))


class SauerShelah(Claim[SetSystem]):
    """Consider a family of labellings of N points. Let k be the size of the largest set of points on which the family
    realises all labellings. Then the family has at most

        sum_{i<=k} binom(N, i)

    members. Equality holds for the family of all labellings that differ from a given labelling at k or fewer points.
    """

    title = "The Sauer-Shelah lemma: the VC dimension of a class bounds its number of labellings of N points"
    source = Source("emergence2026", "Lemma 7.9", note="for each set of points")
    population = SetSystems()
    relation = AtMost()
    control = Control(
        "the bound holds with k - 1 instead of k",
        lambda count, problem: _sauer(problem.points, shattered_points(_members(problem), problem.points) - 1),
    )
    controls = "how many labellings a class of known dimension can produce"
    unexplained = "which of the labellings training finds"
    traced = False

    def predict(self, problem: SetSystem) -> Array:
        return jnp.asarray(_sauer(problem.points, shattered_points(_members(problem), problem.points)))

    def measure(self, problem: SetSystem, key: Key[Array, ""]) -> Array:
        return problem.member.sum().astype(float)

    def trivial(self, problem: SetSystem) -> Array:
        """Return 2^N, the number of labellings of N points."""
        return jnp.asarray(2.0**problem.points)


def _members(problem: SetSystem) -> np.ndarray:
    return np.flatnonzero(np.asarray(problem.member))


class SauerPolynomial(Claim[BinomialSum]):
    """Let N >= k >= 1 be whole numbers. Then

        sum_{i<=k} binom(N, i) <= (e N / k)^k.

    So a class of VC dimension k labels N points in only polynomially many ways.
    """

    title = "The sum of the binomial coefficients C(N, i) up to i = k is at most (eN/k)^k"
    source = Source("emergence2026", "Lemma 7.9", note="the polynomial form")
    population = BinomialSums()
    relation = AtMost()
    control = Control("the sum is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "the order at which labellings grow"
    unexplained = "the factor of about sqrt(2 pi k) by which the bound exceeds the sum"

    def predict(self, problem: BinomialSum) -> Array:
        return (math.e * problem.points / problem.chosen) ** problem.chosen

    def measure(self, problem: BinomialSum, key: Key[Array, ""]) -> Array:
        """Sum term by term, with binom(N, i) = binom(N, i - 1) (N - i + 1)/i."""
        i = jnp.arange(1.0, 101.0)
        factors = jnp.where(i <= problem.chosen, (problem.points - i + 1) / i, 0.0)
        return 1 + jnp.sum(jnp.cumprod(factors))

    def trivial(self, problem: BinomialSum) -> Array:
        """Return 2^N, the number of labellings of N points. At N = k the bound is larger than this number."""
        return 2.0**problem.points


def majority_labellings(points: Float[np.ndarray, "n d"]) -> Int[np.ndarray, " labellings"]:
    """Return all labellings by a sign unit on three halfspace units. The labellings by one unit are among them."""
    units = halfspace_labellings(points)
    first, second = (units[i] for i in np.triu_indices(len(units)))
    both, either = first & second, first | second
    return np.unique(both[:, None] | (either[:, None] & units))


def _growth(values: np.ndarray, rows: int) -> int:
    """Return the largest number of patterns on any `rows` points. Each row of values is one function."""
    subsets = itertools.combinations(range(values.shape[1]), rows)
    return max(len({tuple(row) for row in values[:, chosen].tolist()}) for chosen in subsets)


class ProductGrowth(Claim[ClassPair]):
    """For a class H of functions, let G_H(N) be the largest number of patterns (h(x_1), ..., h(x_N)) that functions h
    in H produce on any N points. Let H1 × H2 be the class of pairs x -> (h1(x), h2(x)). Then

        G_{H1 × H2}(N) <= G_{H1}(N) G_{H2}(N).

    Equality holds if the same points give both classes their largest number of patterns.
    """

    title = "The growth function of a product of classes is at most the product of their growth functions"
    source = Source("emergence2026", "Lemma 7.12")
    population = ClassPairs()
    relation = AtMost()
    control = Control("the growth function is at most 3/4 of the product", lambda product, problem: 0.75 * product)
    controls = "how many patterns a layer of units produces"
    unexplained = "units that share weights, which produce fewer"
    traced = False

    def predict(self, problem: ClassPair) -> Array:
        first, second = np.asarray(problem.first), np.asarray(problem.second)
        return jnp.asarray(float(_growth(first, problem.rows) * _growth(second, problem.rows)))

    def measure(self, problem: ClassPair, key: Key[Array, ""]) -> Array:
        """Count the patterns that pairs of functions produce on each set of points, and return the largest count. A
        pattern is coded as one number.
        """
        pairs = 3 * np.asarray(problem.first)[:, None] + np.asarray(problem.second)[None]
        seen = [
            len(np.unique(pairs[..., chosen] @ 6 ** np.arange(problem.rows)))
            for chosen in itertools.combinations(range(pairs.shape[2]), problem.rows)
        ]
        return jnp.asarray(float(max(seen)))

    def trivial(self, problem: ClassPair) -> Array:
        """Return the smaller of 6^N, a bound on the number of patterns, and the number of pairs of functions."""
        return jnp.asarray(min(6.0**problem.rows, len(problem.first) * len(problem.second)))


class SignNetworkGrowth(Claim[GeneralPoints]):
    """Consider a network of k sign units on d inputs and a sign unit on top, all without thresholds. Such networks
    label N points in at most

        C(N, d)^k C(N, k),   C(N, d) = 2 sum_{i<d} binom(N - 1, i),

    ways. Each unit of the first layer has C(N, d) patterns. For each combination of these patterns, the last unit has
    at most C(N, k) patterns. The test counts the labellings of all networks for d = 2 and k = 3.
    """

    title = (
        "The product of Cover's counts for its units bounds the number of ways in which a sign network labels N points"
    )
    source = Source("emergence2026", "Figure 7.9", note="with Cover's counts of the units")
    population = GeneralPositions(2, 28, 32, 0)
    relation = AtMost()
    control = Control(
        "the number is at most C(N, k), the count of the last unit",
        lambda count, problem: float(cover_count(len(problem.points), _UNITS)),
        loose="many combinations of first and last layers label the points alike, so the product is far above the "
        "count",
    )
    controls = "how many labellings a network can produce"
    unexplained = "how far the product is above the true number, and other activations"
    traced = False

    def hypotheses(self, problem: GeneralPoints) -> list[Hypothesis]:
        n = len(problem.points)
        return [Hypothesis("number of points", n, "<=", 60, "a labelling is stored in 64 bits")]

    def predict(self, problem: GeneralPoints) -> Array:
        n, d = problem.points.shape
        return jnp.asarray(float(cover_count(n, d) ** _UNITS * cover_count(n, _UNITS)))

    def measure(self, problem: GeneralPoints, key: Key[Array, ""]) -> Array:
        """Count majorities. On three signs, a unit without threshold repeats a sign or its opposite, or takes a
        majority.
        """
        return jnp.asarray(float(len(majority_labellings(np.asarray(problem.points)))))

    def trivial(self, problem: GeneralPoints) -> Array:
        """Return 2^N, the number of labellings of N points."""
        return jnp.asarray(2.0 ** len(problem.points))


class SignNetworkInThePlane(Claim[GeneralPoints]):
    """Consider a network of three sign units on two inputs and a sign unit on top, all without thresholds. Consider N
    points of the plane such that no two of them lie on a line through the origin. The network labels them in exactly

        2 (N + binom(N, 3))

    ways. Along a half circle of directions, the label changes one or three times. The reason is that each of the three
    units of the first layer changes its sign once. Opposite directions have opposite labels, so the number of changes
    is odd. Every choice of places for these changes occurs. The product of the numbers of patterns of all units is of
    the order N^5, which is much larger than the exact number.
    """

    title = "A small sign network labels N points in the plane in exactly 2 (N + binom(N, 3)) ways"
    source = Source("emergence2026", "Figure 7.9", note="an exact count in addition to the product")
    stated = Kind.OWN
    population = GeneralPositions(2, 10, 14, 0)
    relation = Equal()
    control = Control(
        "the number is 2 N, as if the label changed at most once", lambda count, problem: 2.0 * len(problem.points)
    )
    controls = "how many labellings a network can produce"
    unexplained = "more units, and more inputs"
    traced = False

    def predict(self, problem: GeneralPoints) -> Array:
        n = len(problem.points)
        return jnp.asarray(2.0 * (n + math.comb(n, 3)))

    def measure(self, problem: GeneralPoints, key: Key[Array, ""]) -> Array:
        """Count the labellings of all combinations of three units."""
        return jnp.asarray(float(len(majority_labellings(np.asarray(problem.points)))))


class CountBelowParameters(Claim[SignArchitecture]):
    """Consider a network of sign units without thresholds, with W weights in all. For a unit with d inputs, Cover's
    count C(N, d) bounds the number of patterns of the unit on N points. The product of Cover's counts of all units
    bounds the number of labellings of N points by the network. This product is at least

        2^{min(N, W)},

    with equality for one unit. So for N <= W rows, the product does not exclude any labelling. A bound on the error
    that uses this product is vacuous (no better than the trivial bound 1) until there are more rows than weights.
    """

    title = "Counting labellings of a sign network gives no error bound unless there are more rows than weights"
    source = Source("emergence2026", "Figure 7.10", note="for the logarithm of the count, in bits")
    stated = Kind.OWN
    population = SignArchitectures()
    relation = AtLeast()
    control = Control("the exponent is min(N, W) + 1", lambda bits, problem: bits + 1)
    controls = "from how many rows a count of labellings can bound an error"
    unexplained = "why networks with more weights than rows generalise"
    traced = False
    trivial = 0.0  # there is one labelling at least

    def predict(self, problem: SignArchitecture) -> Array:
        return jnp.asarray(float(min(problem.rows, problem.weights)))

    def measure(self, problem: SignArchitecture, key: Key[Array, ""]) -> Array:
        layers = itertools.pairwise(problem.widths)
        product = math.prod(cover_count(problem.rows, before) ** after for before, after in layers)
        return jnp.asarray(math.log2(product))
