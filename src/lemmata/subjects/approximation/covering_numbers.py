"""Covering numbers: of the ball, of pairs (f, x) as Theorem 1 counts them, and of classes in the supremum norm.

This theory controls over how many cases a union bound goes, and with it how many features suffice. It assumes a finite
Barron parameter; it leaves unexplained classes with infinitely many parameters, whose covers in the supremum norm are
not counted here.

The cover (23) of pairs counts values alone: its size does not depend on the class. The proof of Lemma 1 takes one
function of the cover for all x, and that a cover of pairs does not give; a product of a cover of the class in the
supremum norm and one of the ball does. So `lemmata.functions.required_features` counts the product. Without any cover,
`approximation.features_without_covers` says what holds for a whole class.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Order, Rate, Source
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
    """How many of m elements are kept when each that is close to none of the kept before it is kept.

    The kept ones cover all; no two of them are close.

    Args:
        close: whether i and j are within the precision of each other.
    """

    def visit(i: int | Array, kept: Array) -> Array:
        return kept.at[i].set(~jnp.any(kept & close[i]))

    return jax.lax.fori_loop(0, len(close), visit, jnp.zeros(len(close), bool)).sum().astype(float)


def close_pairs(x: Float[Array, "m d"], values: Float[Array, " m"], epsilon: float | Array) -> Bool[Array, "m m"]:
    """Which pairs cover each other in the sense of (23).

    Args:
        x: points.
        values: (f(x) - f(0)) / C_F.
        epsilon: the precision.
    """
    near = jnp.sum((x[:, None] - x) ** 2, axis=2) <= epsilon**2
    return near & (jnp.abs(values[:, None] - values) <= epsilon)


class PairCover(Claim[FunctionsAtPoints]):
    """A smallest epsilon-cover (23) of all pairs (f, x), f of a class with the Barron parameter C_F and x in the unit
    ball of d dimensions, in |x - x'| and |f(x) - f(0) - f'(x') + f'(0)| / C_F, has at most

        (1 + 4/epsilon)^d (1 + 2/epsilon)

    elements, whatever the class: no element of another pair's cell is needed. A set of pairs of which none covers
    another, as a greedy cover is, has no more either.
    """

    title = "The cover of pairs does not see the class"
    source = Source("li2025incontext", "(23)")
    population = SinesAtPoints()
    relation = AtMost()
    control = Control(
        "an eighth of it",
        lambda bound, problem: bound / 8,
        loose="cells of half the precision are counted, and values reach C_F only at the boundary",
    )
    controls = "the covering number of Theorem 1"
    unexplained = "what a cover would have to be for the proof of Lemma 1"

    def predict(self, problem: FunctionsAtPoints) -> Array:
        return jnp.exp(log_pair_cover(problem.dimension, problem.epsilon))

    def measure(self, problem: FunctionsAtPoints, key: Key[Array, ""]) -> Array:
        """The size of a greedy cover."""
        return greedy_cover(close_pairs(problem.x, problem.values, problem.epsilon))

    def trivial(self, problem: FunctionsAtPoints) -> Array:
        """All pairs."""
        return jnp.asarray(float(len(problem.values)))


class PairCoverOfRichClasses(Claim[ClassesOfCosines]):
    """The cover (23) of pairs of a function and a point does not grow with the number m of frequencies of a class."""

    title = "The cover of pairs of richer classes"
    source = Source("li2025incontext", "(23)", "Section 3, complexity of classes")
    stated = Kind.OWN
    population = RichClasses()
    relation = Rate("m", RICHNESS, upper=True)
    control = Control("like m^(-1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "covering numbers of classes of functions"
    unexplained = "the size of the smallest covers"
    trials = 32
    predict = 0.0

    def measure(self, problem: ClassesOfCosines, key: Key[Array, ""]) -> Array:
        """Sizes of greedy covers, one function a point."""
        diagonal = jnp.diagonal(problem.values, axis1=1, axis2=2)
        close = lambda values: close_pairs(problem.x[:, None], values, problem.epsilon)
        return jnp.stack([greedy_cover(close(values)) for values in diagonal])


class ClassCoverOfRichClasses(Claim[ClassesOfCosines]):
    """A cover of all f - f(0), f of a class with the Barron parameter C_F, in the supremum norm, to C_F epsilon, grows
    with the number m of frequencies of the class.
    """

    title = "The supremum cover of richer classes"
    source = Source("li2025incontext", "Section 3, complexity of classes", note="with a cover of functions")
    stated = Kind.OWN
    population = RichClasses()
    relation = Order("m", RICHNESS[:3])
    control = Control("it falls", lambda sign, problem: -sign)
    controls = "covering numbers of classes of functions"
    unexplained = "the size of the smallest covers"
    trials = 32
    predict = 1.0

    def measure(self, problem: ClassesOfCosines, key: Key[Array, ""]) -> Array:
        """Sizes of greedy covers of the functions, compared at the points."""
        sizes = []
        for values in problem.values[:3]:
            apart = jnp.abs(values[:, None] - values).max(axis=2)
            sizes.append(greedy_cover(apart <= problem.epsilon))
        return jnp.stack(sizes)
