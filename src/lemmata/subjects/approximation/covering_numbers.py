"""Covering numbers of the ball, of pairs (f, x), and of classes in the supremum norm.

Theorem 1, Lemma 1 and equation (23), which defines the cover of pairs (function f, point x), are those of
li2025incontext. This theory describes how many cases a union bound has, and therefore how many features suffice. It
assumes a finite Barron parameter. It does not count covers in the supremum norm of classes with infinitely many
parameters.

The cover (23) of pairs counts only values, so its size does not depend on the class. The proof of Lemma 1 needs one
function of the cover that is near f at all x. A cover of pairs does not give such a function. A cover of the class in
the supremum norm, combined with a cover of the ball, does. So `lemmata.functions.required_features` counts the product
of these two covers. The section `approximation.features_without_covers` states what holds for a whole class without any
cover.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Order, Source
from lemmata.functions import log_pair_cover
from lemmata.subjects.approximation._covered_classes import (
    RICHNESS,
    ClassesOfCosines,
    FunctionsAtPoints,
    RichClasses,
    SinesAtPoints,
)

ABOUT = {"tool": "empirical processes", "architecture": "random features", "object": "function class"}


def greedy_cover(close: Bool[Array, "m m"]) -> Float[Array, ""]:
    """Go through m elements, and keep each element that is not close to any kept element. Return the number of kept
    elements.

    The kept elements cover all elements, and no two of them are close.

    Args:
        close: a matrix that says whether elements i and j are within the precision of each other.
    """

    def visit(i: int | Array, kept: Array) -> Array:
        return kept.at[i].set(~jnp.any(kept & close[i]))

    return jax.lax.fori_loop(0, len(close), visit, jnp.zeros(len(close), bool)).sum().astype(float)


def close_pairs(x: Float[Array, "m d"], values: Float[Array, " m"], epsilon: float | Array) -> Bool[Array, "m m"]:
    """Return a matrix that says which pairs (f, x) cover each other in the sense of (23).

    Args:
        x: one point for each pair.
        values: the number (f(x) - f(0)) / C_F for each pair.
        epsilon: the largest distance at which two pairs cover each other.
    """
    near = jnp.sum((x[:, None] - x) ** 2, axis=2) <= epsilon**2
    return near & (jnp.abs(values[:, None] - values) <= epsilon)


class PairCover(Claim[FunctionsAtPoints]):
    """Let f range over a class with the Barron parameter C_F, and x over the unit ball of d dimensions. As in equation
    (23) of the source, two pairs (f, x) and (f', x') cover each other if both |x - x'| and |f(x) - f(0) - f'(x') +
    f'(0)| / C_F are at most epsilon. Here f' is another function of the class, not a derivative. A smallest set of
    pairs that covers all pairs has at most

        (1 + 4/epsilon)^d (1 + 2/epsilon)

    elements, whatever the class. The reason is that the bound holds for every set of pairs in which no pair covers
    another pair. A cover that is built greedily is such a set, and a smallest cover is not larger.
    """

    title = "The size of covers of pairs (function f, point x) has a bound that does not depend on the Barron class"
    source = Source("li2025incontext", "(23)")
    population = SinesAtPoints()
    relation = AtMost()
    control = Control(
        "one eighth of the bound",
        lambda bound, problem: bound / 8,
        loose="the bound counts cells of half the precision, and values reach C_F only at the boundary",
    )
    controls = "the covering number of Theorem 1"
    unexplained = "which cover the proof of Lemma 1 needs"

    def predict(self, problem: FunctionsAtPoints) -> Array:
        return jnp.exp(log_pair_cover(problem.dimension, problem.epsilon))

    def measure(self, problem: FunctionsAtPoints, key: Key[Array, ""]) -> Array:
        """Return the size of a greedy cover of the drawn pairs."""
        return greedy_cover(close_pairs(problem.x, problem.values, problem.epsilon))

    def trivial(self, problem: FunctionsAtPoints) -> Array:
        """Return the number of all pairs, because the pairs cover themselves."""
        return jnp.asarray(float(len(problem.values)))


class PairCoverOfRichClasses(Claim[ClassesOfCosines]):
    """Let w be a frequency, and let x be a number. Consider the class of all sums of the terms a_k sin(k w x)/(k w) and
    b_k (cos(k w x) - 1)/(k w) for k = 1, ..., m, in which the sum of all |a_k| and |b_k| is at most 1. The Barron
    parameter of this class is C_F = 1 for every m. Cover all pairs (f, x) of a function and a point as in equation (23)
    of the source, which compares only the points x and the values f(x) - f(0). The number of elements of this cover is
    the same for m = 1, 2, 4 and 8. The reason is that, at every point x, the largest value f(x) - f(0) is the same in
    all these classes. The test divides the points into cells of length 2 epsilon. In each cell, the test divides the
    values up to the largest value into intervals of length 2 epsilon, and counts these intervals. For m = 1, the
    largest value at x is max(|sin(w x)|, 1 - cos(w x))/w.
    """

    title = "The size of covers of pairs (function f, point x) does not grow with the class's number of frequencies"
    source = Source("li2025incontext", "(23)", "Section 3, complexity of classes")
    stated = Kind.OWN
    reading = "C_F is 1 for every m; a first version divided all function values by 2 m, which made the covers smaller"
    population = RichClasses()
    relation = Equal()
    control = Control("10 % more elements", lambda count, problem: 1.1 * count)
    controls = "covering numbers of classes of functions"
    unexplained = "the size of the smallest covers"

    def predict(self, problem: ClassesOfCosines) -> Array:
        phase = problem.frequency * problem.x
        largest = jnp.maximum(jnp.abs(jnp.sin(phase)), 1 - jnp.cos(phase)) / problem.frequency
        return jnp.full(3, _columns(problem, largest))

    def measure(self, problem: ClassesOfCosines, key: Key[Array, ""]) -> Array:
        """Compute the largest value at each point from single waves of the class, one of which attains this value."""
        return jnp.stack([_columns(problem, problem.largest(int(m))) for m in RICHNESS[1:]])


def _columns(problem: ClassesOfCosines, largest: Float[Array, " n"]) -> Float[Array, ""]:
    """Count the intervals of length 2 epsilon that are needed to cover [-h, h], and add the counts of all cells.

    Here h is the largest value in a cell of length 2 epsilon.

    Cells without a point have h = 0 and count as one.
    """
    cells = round(1 / problem.epsilon)
    cell = jnp.clip(jnp.floor((problem.x + 1) / (2 * problem.epsilon)).astype(int), 0, cells - 1)
    highest = jax.ops.segment_max(largest, cell, cells)
    return jnp.sum(jnp.maximum(jnp.ceil(highest / problem.epsilon - 1e-9), 1.0))


class ClassCoverOfRichClasses(Claim[ClassesOfCosines]):
    """Consider the sums of sines and cosines of m frequencies with the Barron parameter C_F = 1. Choose functions of
    this class such that any two of them are more than epsilon apart in the supremum norm. Any cover of the class by
    balls of radius epsilon/2 has at least as many balls as there are chosen functions. The test chooses greedily among
    the sums of at most two waves whose coefficients are multiples of 1/2. The number of chosen functions grows with m =
    1, 2, 4.
    """

    title = "The size of covers of a function class in the supremum norm grows with the class's number of frequencies"
    source = Source("li2025incontext", "Section 3, complexity of classes", note="with a cover of functions")
    stated = Kind.OWN
    reading = "a first version drew 128 functions of each class, which is fewer than a cover has for m = 4"
    population = RichClasses()
    relation = Order("m", RICHNESS[:3])
    control = Control("the number of elements falls as m grows", lambda sign, problem: -sign)
    controls = "covering numbers of classes of functions"
    unexplained = "the size of the smallest covers"
    trials = 32
    predict = 1.0

    def measure(self, problem: ClassesOfCosines, key: Key[Array, ""]) -> Array:
        """Return the number of functions that a greedy choice finds, for each m. It looks at the points only."""
        sizes = []
        for m in self.relation.rungs:
            values = problem.halves(int(m))
            apart = jnp.abs(values[:, None] - values).max(axis=2)
            sizes.append(greedy_cover(apart <= problem.epsilon))
        return jnp.stack(sizes)
