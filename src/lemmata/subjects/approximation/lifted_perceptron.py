"""The perceptron after a feature map that turns an ellipse into a plane.

This theory bounds the number of mistakes of the perceptron if a plane separates the features of the rows. It assumes a
margin. It does not explain rows without a margin, or learned features.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import nnls

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Population, Source, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import rows

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "training"}


class SignedFeatures(eqx.Module):
    """The features of each row, multiplied by the row's class, which is -1 or 1."""

    features: Float[np.ndarray, "n p"]


def lifted(x: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 6"]:
    """Return the features (1, x1, x2, x1², x2², x1 x2), in which every conic becomes a hyperplane."""
    return np.stack([np.ones(len(x)), *x.T, *(x**2).T, x.prod(axis=1)], axis=1)


def largest_margin(signed: Float[np.ndarray, "n p"]) -> float:
    """Return the least <w, row>, where the unit vector w points to the point of the rows' convex hull nearest to 0."""
    weights = nnls(np.vstack([signed.T, np.ones(len(signed))]), np.append(np.zeros(signed.shape[1]), 1.0))[0]
    towards = weights @ signed
    return float((signed @ towards).min() / np.linalg.norm(towards))


class SignedRows(Population[SignedFeatures]):
    """Half of the problems are lifted points inside and outside a random ellipse, and half are n orthonormal rows."""

    settings = Space(n=rows(24, 4, 60, corners=(12, 48)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignedFeatures:
        rng, n = generator_of(key), setting["n"]
        if rng.random() < 0.5:
            return SignedFeatures(np.linalg.qr(rng.standard_normal((n, n)))[0])
        shape = rng.uniform(-0.5, 0.5, (2, 2)) + np.eye(2)
        size = np.where(rng.random(n) < 0.5, rng.uniform(0.0, 0.7, n), rng.uniform(1.3, 2.0, n))
        angle = rng.uniform(0.0, 2 * np.pi, n)
        round_points = size[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        x = round_points @ np.linalg.inv(shape).T + rng.uniform(-0.5, 0.5, 2)
        return SignedFeatures(lifted(x) * np.where(size < 1, 1.0, -1.0)[:, None])

    def hypotheses(self, problem: SignedFeatures) -> list[Hypothesis]:
        return [Hypothesis("margin", largest_margin(problem.features), ">", 0.0, "a plane separates the classes")]


class LiftedPerceptron(Claim[SignedFeatures]):
    """Let points of the plane be inside or outside an ellipse. In the features (1, x1, x2, x1², x2², x1 x2), a
    hyperplane through the origin separates the classes. Let g be the largest margin of such a hyperplane, and let R be
    the largest length of a feature vector. The perceptron passes over the points in any order, again and again. It
    makes at most (R/g)² mistakes in total. The bound is attained by n orthonormal feature vectors with any labels,
    which give n mistakes.
    """

    title = "After a quadratic feature map, the perceptron learns an ellipse with Novikoff's bound on its mistakes"
    source = Source("emergence2026", "Figure 2.8", note="with a constant feature and the bound of Novikoff on mistakes")
    population = SignedRows()
    relation = AtMost()
    control = Control("the bound divided by 1.1", lambda bound, problem: bound / 1.1)
    controls = "the number of mistakes until a nonlinear rule is learned"
    unexplained = "features that are learned, and points on the ellipse"
    trivial = "without the feature map, the perceptron never stops on a ring around a disc"
    traced = False

    def predict(self, problem: SignedFeatures) -> Array:
        largest = np.sum(problem.features**2, axis=1).max()
        return jnp.asarray(largest / largest_margin(problem.features) ** 2)

    def measure(self, problem: SignedFeatures, key: Key[Array, ""]) -> Array:
        """Return the largest number of mistakes over four random orders."""
        rng, signed = generator_of(key), problem.features
        most = 0
        for _ in range(4):
            order, w, mistakes = rng.permutation(len(signed)), np.zeros(signed.shape[1]), 0
            while wrong := [i for i in order if _corrected(w, signed[i])]:
                mistakes += len(wrong)
            most = max(most, mistakes)
        return jnp.asarray(float(most))

    def condition(self, problem: SignedFeatures) -> Array:
        """Bound the rounding errors. The margin is a small difference of features, found by least squares."""
        size = np.linalg.norm(problem.features, axis=1).max()
        return jnp.asarray(1e3 * (size / largest_margin(problem.features)) ** 2)


def _corrected(w: Float[np.ndarray, " p"], row: Float[np.ndarray, " p"]) -> bool:
    """Return whether the row is misclassified. A misclassified row is then added to w."""
    wrong = bool(w @ row <= 1e-12)
    w += wrong * row
    return wrong
