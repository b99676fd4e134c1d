"""Margins of linear rules: how many rows can be labelled in every way with a margin, and which bound follows for new
rows.

This theory bounds the error of linear rules by their length, the length of the rows and a margin, without the
dimension. It assumes that the margin is fixed before the rows. It does not explain rules without a margin, for which
the bound is vacuous (no better than the trivial bound).
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy.optimize import nnls

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.engine.problems.margin_rows import LabelledPoints, MarginRows, OrthogonalPoints, SphericalMarginRows

ABOUT = {"tool": "empirical processes", "architecture": "linear model", "object": "generalisation"}

_SHATTERING = Source("bartlett1999", note="main result, with points that attain the bound")


def _complexity(problem: MarginRows) -> Array:
    return 2 / (problem.margin * jnp.sqrt(len(problem.y)))


def _chance(problem: MarginRows) -> Array:
    return jnp.sqrt(jnp.log(1 / problem.delta) / (2 * len(problem.y)))


class LinearMarginBound(Claim[MarginRows]):
    """Consider linear rules w with |w| <= L on n independent rows x with labels y, where R bounds the length of a row.
    Fix a margin gamma > 0 before the rows are drawn. Let the margin loss be min(1, max(0, 1 - y <w, x> / gamma)), which
    is 1 if the sign of <w, x> is wrong. With probability at least 1 - delta, for every such w, the expected margin loss
    is at most the mean margin loss over the rows plus

        2 L R / (gamma sqrt(n)) + sqrt( ln(1/delta) / (2n) ).

    The test uses L = R = 1, delta = 0.05 and a w in the direction of sum_i y_i x_i. It measures the expected margin
    loss of this w minus its mean margin loss over the rows. In half of the trials, the labels are random.
    """

    title = "A margin bound on the expected loss of linear classification rules with weights of bounded length"
    source = Source("mohri2018", "Corollary 5.11", note="for the margin loss instead of the error")
    population = SphericalMarginRows()
    relation = AtMost(delta=0.05)
    control = Control(
        "a quarter of the first term is enough", lambda value, problem: _complexity(problem) / 4 + _chance(problem)
    )
    controls = "the error of linear rules of bounded length on new rows, in any dimension"
    unexplained = "margins below 2 L R/sqrt(n), for which the bound is vacuous"
    traced = False  # problems are NumPy's
    trivial = 1.0  # losses lie between 0 and 1

    def predict(self, problem: MarginRows) -> Array:
        return _complexity(problem) + _chance(problem)

    def measure(self, problem: MarginRows, key: Key[Array, ""]) -> Array:
        margins = np.asarray(problem.y) * (np.asarray(problem.x) @ problem.weights)
        return jnp.asarray(problem.true_loss(key) - problem.loss(margins))


def margins_of_labellings(x: np.ndarray) -> np.ndarray:
    """Return max over |w| = 1 of min_i s_i <w, x_i> for all sign vectors s with s_1 = 1. The other sign vectors are
    their negatives.

    The shortest v with s_i <v, x_i> >= 1 for all i is found by non-negative least squares (Lawson and Hanson). The
    margin is 1/|v|.
    """
    found = []
    for signs in itertools.product([-1.0, 1.0], repeat=len(x) - 1):
        signed = np.asarray([1.0, *signs])[:, None] * x
        system, target = np.concatenate([signed.T, np.ones((1, len(x)))]), np.zeros(x.shape[1] + 1)
        target[-1] = 1.0
        residual = target - system @ nnls(system, target)[0]
        found.append(residual[-1] / np.linalg.norm(residual[:-1]))
    return np.asarray(found)


class FatShattering(Claim[LabelledPoints]):
    """Linear functions of unit length shatter points x_i at the margin g if, for every labelling s_i = +-1, some such
    function w has s_i <w, x_i> >= g for all i. They shatter n orthonormal points x_1, ..., x_n at the margin

        n^(-1/2)

    and at no larger margin. For every labelling s, the linear function w = n^(-1/2) sum_i s_i x_i has this margin, and
    no linear function of unit length has a larger one.
    """

    title = "Linear functions shatter n orthonormal points exactly at the margin n^(-1/2)"
    source = _SHATTERING
    population = OrthogonalPoints()
    relation = Equal()
    control = Control("the margin is 1.05 n^(-1/2)", lambda value, problem: 1.05 * value)
    controls = "the smallest and the largest margin over all labellings"
    unexplained = "functions that are not linear"
    traced = False  # programmes over all labellings are SciPy's

    def predict(self, problem: LabelledPoints) -> Array:
        return jnp.full(2, len(problem.x) ** -0.5)

    def measure(self, problem: LabelledPoints, key: Key[Array, ""]) -> Array:
        margins = margins_of_labellings(np.asarray(problem.x))
        return jnp.asarray([margins.min(), margins.max()])

    def condition(self, problem: LabelledPoints) -> Array:
        """Allow for the rounding error of sums over points."""
        return jnp.asarray(float(len(problem.x)))


class FatShatteringRadius(Claim[LabelledPoints]):
    """Linear functions of unit length shatter points x_i at the margin g if, for every labelling s_i = +-1, some such
    function w has s_i <w, x_i> >= g for all i. Let n points have length at most R, in any dimension. Linear functions
    of unit length do not shatter them at a margin above

        R / sqrt(n),

    that is, for some labelling, no such function has a margin above R / sqrt(n). Orthogonal points of length R attain
    the bound. In half of the trials, the points are orthogonal.
    """

    title = "Linear functions of unit length shatter n points in a ball of radius R at a margin of at most R/sqrt(n)"
    source = _SHATTERING
    population = OrthogonalPoints(generic=0.5, unit=False)
    relation = AtMost()
    control = Control("no margin is above R / (1.05 sqrt(n))", lambda value, problem: value / 1.05)
    controls = "the smallest margin over all labellings"
    unexplained = "functions that are not linear"
    traced = False  # programmes over all labellings are SciPy's

    def predict(self, problem: LabelledPoints) -> Array:
        return jnp.asarray(np.linalg.norm(np.asarray(problem.x), axis=1).max() / len(problem.x) ** 0.5)

    def measure(self, problem: LabelledPoints, key: Key[Array, ""]) -> Array:
        return jnp.asarray(margins_of_labellings(np.asarray(problem.x)).min())

    def trivial(self, problem: LabelledPoints) -> Array:
        """Return the length of the shortest point, because a margin is at most this length."""
        return jnp.asarray(np.linalg.norm(np.asarray(problem.x), axis=1).min())

    def condition(self, problem: LabelledPoints) -> Array:
        """Multiply the rounding error for orthonormal points by the condition number of the matrix of points."""
        values = np.linalg.svd(np.asarray(problem.x), compute_uv=False)
        return jnp.asarray(len(problem.x) * values[0] / values[-1])
