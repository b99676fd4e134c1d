"""The labellings that halfspaces realise: Cover's count, the VC dimension, and capacity.

This theory gives the exact number of labellings of points in general position that a linear rule can produce. So it
gives the probability that random labels are separable. It assumes general position. It does not explain labels that are
not random.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import nnls

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Hypothesis, Kind, Source
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.generalisation._labelled_points import DrawnPositions, GeneralPoints, GeneralPositions

from ._labellings import cover_count, halfspace_labellings, shattered_points

ABOUT = {"tool": "combinatorics", "architecture": "linear model", "object": "function class"}

_DRAWS = 32


def separable(signed: Float[np.ndarray, "n d"]) -> bool:
    """Return whether some w has <w, y_i x_i> > 0 for all i. Such a w exists if 0 is not a convex combination of the
    rows y_i x_i.
    """
    rows = signed / np.linalg.norm(signed, axis=1, keepdims=True)
    system = np.concatenate([rows.T, np.ones((1, len(rows)))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    return bool(nnls(system, target)[1] > 1e-8)


class SeparableLabellings(Claim[GeneralPoints]):
    """Let N points in d dimensions be in general position. Halfspaces through the origin realise exactly

        C(N, d) = 2 sum_{i<d} binom(N - 1, i)

    of the 2^N labellings. These are all labellings if N <= d, half of them if N = 2 d, and never more than 2 N^d.
    """

    title = "Cover's formula counts the labellings of N points in d dimensions that a halfspace can separate"
    source = Source("cover1965", note="the function-counting theorem")
    stated = Kind.THEOREM
    population = DrawnPositions()
    relation = Equal()
    control = Control(
        "the number is what Sauer's lemma allows, sum_{i<=d} binom(N, i)",
        lambda count, problem: cover_count(len(problem.points) + 1, problem.points.shape[1] + 1) / 2,
    )
    controls = "how many labellings a linear rule can produce"
    unexplained = "points in special position, which have fewer labellings"
    traced = False

    def predict(self, problem: GeneralPoints) -> Array:
        return jnp.asarray(float(cover_count(*problem.points.shape)))

    def measure(self, problem: GeneralPoints, key: Key[Array, ""]) -> Array:
        """Count the labellings from the rays on which d - 1 points have inner product 0 with the weights."""
        return jnp.asarray(float(len(halfspace_labellings(np.asarray(problem.points)))))


class SeparableByChance(Claim[GeneralPoints]):
    """Let N points in d dimensions be in general position, and draw their labels by fair coins. A halfspace through the
    origin separates the labels with probability

        C(N, d) / 2^N = 2^(1-N) sum_{i<d} binom(N - 1, i),

    wherever the points are. The probability is 1/2 at N = 2 d, the capacity of a linear rule.
    """

    title = "A halfspace separates N randomly labelled points in d dimensions with probability 1/2 at N = 2 d"
    source = Source("cover1965", note="the capacity of a linear rule")
    stated = Kind.THEOREM
    population = GeneralPositions(6, 6, 14)
    relation = EqualInMean()
    control = Control(
        "the probability is that for N + 2 points",
        lambda share, problem: (
            cover_count(len(problem.points) + 2, problem.points.shape[1]) / 2.0 ** (len(problem.points) + 2)
        ),
    )
    controls = "whether a linear rule can fit random labels"
    unexplained = "labels that depend on the points"
    traced = False
    trials = 192

    def predict(self, problem: GeneralPoints) -> Array:
        n, d = problem.points.shape
        return jnp.asarray(cover_count(n, d) / 2.0**n)

    def measure(self, problem: GeneralPoints, key: Key[Array, ""]) -> Array:
        """Return the share of 32 random labellings for which 0 is not a convex combination of the signed points."""
        points = np.asarray(problem.points)
        signs = generator_of(key).choice([-1.0, 1.0], size=(_DRAWS, len(points), 1))
        return jnp.asarray(np.mean([separable(points * own) for own in signs]))


class DimensionOfHalfspaces(Claim[GeneralPoints]):
    """Consider halfspaces x -> sgn(<a, x> + b) in d dimensions and points in general position. The halfspaces realise
    every labelling of some d + 1 points. For any d + 2 points, some labelling is not realised. So their VC dimension is
    d + 1. On d + 2 points, all but two of the 2^(d+2) labellings occur. So a single labelling that occurs does not show
    that all labellings occur.
    """

    title = "Halfspaces with a threshold in d dimensions have VC dimension d + 1"
    source = Source("emergence2026", "Example 7.7", "Figure 7.5", note="on points in general position")
    population = GeneralPositions(3, 3, 8)
    relation = Equal()
    control = Control(
        "the dimension is d, and all but two labellings of d + 1 points occur",
        lambda found, problem: jnp.stack([found[0] - 1, (found[1] + 2) / 2 - 2]),
    )
    controls = "the largest set of points on which halfspaces realise every labelling"
    unexplained = "what is gained if the labels of large sets follow a rule"
    traced = False

    def predict(self, problem: GeneralPoints) -> Float[Array, "2"]:
        d = problem.points.shape[1]
        return jnp.asarray([d + 1.0, 2.0 ** (d + 2) - 2])

    def measure(self, problem: GeneralPoints, key: Key[Array, ""]) -> Float[Array, "2"]:
        """Try all sets of points for the dimension, and count the labellings of the first d + 2 points."""
        points = np.asarray(problem.points)
        lifted = np.concatenate([points, np.ones((len(points), 1))], axis=1)
        dimension = shattered_points(halfspace_labellings(lifted), len(points))
        return jnp.asarray([dimension, len(halfspace_labellings(lifted[: points.shape[1] + 2]))], float)

    def hypotheses(self, problem: GeneralPoints) -> list[Hypothesis]:
        n, d = problem.points.shape
        return [Hypothesis("number of points", n, ">=", d + 2, "the test shows that no d + 2 points are shattered")]
