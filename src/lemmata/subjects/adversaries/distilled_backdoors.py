"""Backdoors in distilled data, as a kernel sees them: the conflict, the projection, and their bound on the risk.

A poisoned set has n rows, clean rows and triggered rows, with the kernel matrix K and the labels Y. Its ridge
regression has the coefficients alpha = (K + ridge I)^-1 Y. Support rows S can represent the part of this fit that lies
in the span of k(s, .), s in S. The rest of the fit is R alpha at the rows. Here R = K - K_S K_SS^-1 K_S' is the Schur
complement, where K_S is the kernel between the rows and S, and K_SS is the kernel matrix of S. Then

    conflict = |K alpha - Y|² / n,   projection = |R alpha|² / n.

This theory bounds the risk that the best labels for the support have on the poisoned set. It assumes that K_SS is
invertible. It does not explain the risk of labels that are not changed, as in distillation by inducing points, or the
gap to new images.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Source,
    Space,
)
from lemmata.subjects.adversaries import conflict_loss, projection_loss

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "inequality"}


class ContradictedLabels(eqx.Module):
    """A poisoned set: labels, a ridge, and features of rows and support rows, whose inner products are the kernel.

    Args:
        features: features of the rows of the poisoned set.
        support: features of the support rows.
        y: labels.
        groups: the group of each row; if rows are repeated, rows of one group have the same features.
        ridge: the ridge on the diagonal.
    """

    features: Float[Array, "n p"]
    support: Float[Array, "m p"]
    y: Float[Array, "n C"]
    groups: Float[Array, " n"]
    ridge: Float[Array, ""]

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The kernel matrix K of the rows."""
        return self.features @ self.features.T

    @property
    def coefficients(self) -> Float[Array, "n C"]:
        """The coefficients (K + ridge I)^-1 y of the fit."""
        return jnp.linalg.solve(self.gram + self.ridge * jnp.eye(len(self.y)), self.y)

    @property
    def spread(self) -> Float[Array, ""]:
        """The number n of rows, times the sum of bounds on the condition numbers of K + ridge I and of K_SS."""
        values, own = jnp.linalg.eigvalsh(self.gram), jnp.linalg.eigvalsh(self.support @ self.support.T)
        return len(self.y) * ((values[-1] + self.ridge) / self.ridge + own[-1] / own[0])


class LabelledFeatures(Population[ContradictedLabels]):
    """Normally distributed features. The support rows lie near some rows. In three of ten problems, all rows are
    orthogonal, including the support.

    Args:
        repeated: whether every row occurs twice, with independent labels.
    """

    repeated: bool = eqx.field(default=False, static=True)
    free = ("features",)
    settings = Space(
        n=Integer(8, 4, 40, "rows", step=2, corners=(6, 10)),
        support=Integer(4, 1, 10, "support rows", corners=(3, 4)),
        classes=Integer(2, 2, 10, "classes", corners=(2, 3)),
    ).where("there are at most as many support rows as rows", lambda s: s["support"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> ContradictedLabels:
        """Draw ridges from 1/1000 to 1; the mean of the kernel's diagonal is about 1."""
        keys = jax.random.split(key, 4)
        n, m = setting["n"], setting["support"]
        p = n + m
        drawn = jax.random.normal(keys[0], (n + m, p)) / p**0.5
        uniform = jax.random.uniform(keys[1], (2,))
        near = drawn.at[n:].set(drawn[:m] + drawn[n:] / 3)
        apart = jnp.where(uniform[0] < 0.3, jnp.eye(n + m), near)
        features = apart[:n]
        if self.repeated:
            features = features.at[1::2].set(features[::2])
        y = jax.nn.one_hot(jax.random.randint(keys[2], (n,), 0, setting["classes"]), setting["classes"]) - 0.5
        groups = jnp.arange(n) // 2 if self.repeated else jnp.arange(n)
        return ContradictedLabels(features, apart[n:], y, groups * 1.0, 10 ** (-3 * uniform[1]))

    def hypotheses(self, problem: ContradictedLabels) -> list[Hypothesis]:
        smallest = jnp.linalg.eigvalsh(problem.support @ problem.support.T)[0]
        return [
            Hypothesis("the ridge is above 0", problem.ridge, ">", 0.0, "K + ridge I must have an inverse"),
            Hypothesis(
                "the smallest eigenvalue of K_SS is above 1e-6", smallest, ">", 1e-6, "K_SS must have an inverse"
            ),
        ]


_KEY = "chung2024rethinking"
_NO_FLOOR = 1e-15


def _conflict(problem: ContradictedLabels) -> Array:
    return conflict_loss(problem.gram, problem.y, problem.ridge)


def _projection(problem: ContradictedLabels) -> Array:
    cross, own = problem.features @ problem.support.T, problem.support @ problem.support.T
    return projection_loss(problem.gram, cross, own, problem.y, problem.ridge, floor=_NO_FLOOR)


def _projected(problem: ContradictedLabels) -> Array:
    """Return the values at the rows of the best approximation of the fit by the support's features.

    The approximation is computed by least squares.
    """
    weights = problem.features.T @ problem.coefficients
    within = jnp.linalg.lstsq(problem.support.T, weights)[0]
    return problem.features @ (problem.support.T @ within)


class ConflictRate(Claim[ContradictedLabels]):
    """Let a poisoned set have n rows with labels Y and an invertible kernel matrix K. The conflict of the labels is the
    mean squared training error of kernel ridge regression on the set,

        |K (K + ridge I)^-1 Y - Y|² / n.

    The conflict falls like ridge² as ridge -> 0. In a backdoor attack, the rows are images, some clean and some with a
    trigger. So a kernel that distinguishes all images fits the labels of both the clean and the triggered images. The
    test uses random features in place of images.
    """

    title = "The training error of kernel ridge regression on a poisoned set falls like the square of the ridge"
    source = Source(_KEY, "Abstract, kernel methods", note="the conflict of clean and triggered labels")
    population = LabelledFeatures()
    relation = Rate("ridge", (1e-4, 1e-3, 1e-2), margin=0.05, resolution=0.1)
    control = Control("the conflict falls like ridge^1.5", lambda exponent, problem: exponent - 0.5)
    controls = "the error of the fit to clean and triggered labels"
    unexplained = "whether a few support images can represent the fit"
    reading = "the conflict is defined as in the public code; ridges are in units of the smallest eigenvalue of K"
    trials = 16
    predict = 2.0

    def measure_at(self, problem: ContradictedLabels, key: Key[Array, ""], rung: float) -> Array:
        """The conflict at a ridge that is `rung` times the smallest eigenvalue of K."""
        smallest = jnp.linalg.eigvalsh(problem.gram)[0]
        return conflict_loss(problem.gram, problem.y, rung * smallest)


class ConflictOfCopies(Claim[ContradictedLabels]):
    """Let some images of a poisoned set be copies of each other with different labels. Let y_i be the label of row i,
    and let m_i be the mean label of all copies of row i, including row i itself. The conflict is the mean squared
    training error of kernel ridge regression on the set. For every ridge, the conflict is at least the mean over rows i
    of |y_i - m_i|². The reason is that a function has only one value at each image.
    """

    title = "Different labels of equal images bound the kernel ridge training error from below at every ridge"
    source = Source(_KEY, "Abstract, kernel methods", note="the conflict of labels of equal images")
    population = LabelledFeatures(repeated=True)
    relation = AtLeast()
    control = Control("the conflict is at least a quarter more", lambda floor, problem: 1.25 * floor + 0.01)
    controls = "the conflict of labels of equal images"
    unexplained = "the conflict of images that are only similar"
    trivial = 0.0  # a square is not negative

    def predict(self, problem: ContradictedLabels) -> Array:
        same = (problem.groups[:, None] == problem.groups).astype(float)
        own = same @ problem.y / same.sum(axis=1, keepdims=True)
        return jnp.mean(jnp.sum((problem.y - own) ** 2, axis=1))

    def measure(self, problem: ContradictedLabels, key: Key[Array, ""]) -> Array:
        """Compute the conflict from the fit."""
        return jnp.mean(jnp.sum((problem.gram @ problem.coefficients - problem.y) ** 2, axis=1))

    def condition(self, problem: ContradictedLabels) -> Array:
        return problem.spread


class ProjectionIsDistance(Claim[ContradictedLabels]):
    """Let k be a kernel. Let K be its matrix at rows x_i, K_SS its matrix at support rows S, and K_S its matrix between
    the rows and the support rows. Let alpha be the coefficients of a fit sum alpha_i k(x_i, .), and let R = K - K_S
    K_SS^-1 K_S' be the Schur complement. Then alpha' R alpha is the squared distance, in the reproducing kernel Hilbert
    space, between the fit and the span of k(s, .), s in S. So R is positive semidefinite.
    """

    title = "The Schur complement gives the squared distance between a kernel fit and the span of support rows"
    source = Source(_KEY, "Abstract, kernel methods", note="what support images cannot represent")
    population = LabelledFeatures()
    relation = Equal(block=1)
    control = Control(
        "the value is the squared length of the whole fit, including what the support represents",
        lambda found, problem: _lengths(problem),
    )
    controls = "the part of a fit that support images cannot represent"
    unexplained = "how large this part is on real images"

    def predict(self, problem: ContradictedLabels) -> Array:
        cross, own = problem.features @ problem.support.T, problem.support @ problem.support.T
        rest = problem.gram - cross @ jnp.linalg.solve(own, cross.T)
        return 1.0 + jnp.sum(problem.coefficients * (rest @ problem.coefficients), axis=0)

    def measure(self, problem: ContradictedLabels, key: Key[Array, ""]) -> Array:
        """Return 1 plus the squared distance for each output, by least squares over the weights."""
        weights = problem.features.T @ problem.coefficients
        left = weights - problem.support.T @ jnp.linalg.lstsq(problem.support.T, weights)[0]
        return 1.0 + jnp.sum(left**2, axis=0)

    def condition(self, problem: ContradictedLabels) -> Array:
        return problem.spread


def _lengths(problem: ContradictedLabels) -> Array:
    weights = problem.features.T @ problem.coefficients
    return 1.1 + jnp.sum(weights**2, axis=0)


class RiskOfProjection(Claim[ContradictedLabels]):
    """Fit a poisoned set of n rows by kernel ridge regression. The conflict is the mean squared error of this fit on
    the set. Project the fit, in the reproducing kernel Hilbert space, orthogonally onto the span of the support images.
    The number "projection" is the mean, over the rows, of the squared difference between the fit and its orthogonal
    projection. Give the support images the labels with which regression on them fits the poisoned set best. Then the
    root mean square error of this regression on the poisoned set is at most

        sqrt(conflict) + sqrt(projection).

    The bound is attained if all images, including the support images, are orthonormal in the reproducing kernel Hilbert
    space.

    In place of the best labels, the test uses the labels with which regression on the support images gives the
    orthogonal projection of the fit. The error with the best labels is at most the error with these labels.
    """

    title = "On a poisoned set, distilled images err at most by the full kernel fit's error plus a projection distance"
    source = Source(_KEY, "Abstract, kernel methods", note="a bound, with roots")
    stated = Kind.OWN
    population = LabelledFeatures()
    relation = AtMost()
    control = Control(
        "the root of conflict + projection is enough",
        lambda bound, problem: jnp.sqrt(_conflict(problem) + _projection(problem)),
    )
    controls = "the root mean square error on the poisoned set of the best labels for the support"
    unexplained = "labels that stay as they were given, and the gap to new images"

    def predict(self, problem: ContradictedLabels) -> Array:
        return jnp.sqrt(_conflict(problem)) + jnp.sqrt(_projection(problem))

    def measure(self, problem: ContradictedLabels, key: Key[Array, ""]) -> Array:
        """Return the root mean square error of the regression on the support, whose labels come from least squares."""
        return jnp.sqrt(jnp.mean(jnp.sum((_projected(problem) - problem.y) ** 2, axis=1)))

    def trivial(self, problem: ContradictedLabels) -> Array:
        """Return twice the root mean square error of the function 0. If a fit is no larger than the labels, its error
        is at most this number.
        """
        return 2 * jnp.sqrt(jnp.mean(jnp.sum(problem.y**2, axis=1)))

    def condition(self, problem: ContradictedLabels) -> Array:
        return problem.spread
