"""Test problems for margin bounds: labelled rows on a sphere, points with any labelling, and separable rows."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of

_DRAWS = 8000


def sphere_shadows(generator: np.random.Generator, d: int, count: int) -> Float[np.ndarray, "2 count"]:
    """Two coordinates of uniform points on the unit sphere of R^d.

    The squared length of the two coordinates has the distribution Beta(1, d/2 - 1). This length is drawn as
    1 - U^(2/(d - 2)) for a uniform U, and is 1 for d = 2.
    """
    angle = generator.uniform(0, 2 * np.pi, size=count)
    length = np.sqrt(1 - generator.uniform(size=count) ** (2 / (d - 2))) if d > 2 else np.ones(count)
    return length * np.stack([np.cos(angle), np.sin(angle)])


class MarginRows(eqx.Module):
    """Rows on the unit sphere, the unit vector w along sum_i y_i x_i, and a margin.

    The class of a row x is the sign of <teacher, x>, flipped with probability `flips`.

    Args:
        x, y: rows and classes -1, 1.
        teacher: a unit vector.
        flips: the probability of a flipped class; 1/2 gives random labels.
        margin: the margin gamma, which is chosen before the rows are drawn.
        delta: the failure probability of the bound.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    teacher: Float[Array, " d"]
    flips: Float[Array, ""]
    margin: Float[Array, ""]
    delta: float = eqx.field(static=True, default=0.05)

    @property
    def weights(self) -> Float[np.ndarray, " d"]:
        """The unit vector w along sum_i y_i x_i."""
        total = np.asarray(self.y) @ np.asarray(self.x)
        return total / np.linalg.norm(total)

    def loss(self, margins: Float[np.ndarray, "*shape"]) -> float:
        """The mean of min(1, max(0, 1 - t/gamma)) over values of t = y <w, x>."""
        return float(np.clip(1 - margins / float(self.margin), 0.0, 1.0).mean())

    def true_loss(self, key: Key[Array, ""]) -> float:
        """The expectation of `loss` on new rows, from random rows, each with both classes and their probabilities."""
        towards, beside = sphere_shadows(generator_of(key), len(self.teacher), _DRAWS)
        cosine, flips = float(self.weights @ np.asarray(self.teacher)), float(self.flips)
        own = (cosine * towards + max(1 - cosine**2, 0.0) ** 0.5 * beside) * np.sign(towards)
        return (1 - flips) * self.loss(own) + flips * self.loss(-own)


class SphericalMarginRows(Population[MarginRows]):
    """Problems with n rows, more dimensions than rows, and a margin from 2.4/sqrt(n) to 3.2/sqrt(n).

    Half of the problems have random labels.
    """

    def settings(self) -> Space:
        n = Integer(200, 50, 1000, "rows", corners=(150, 300))
        return Space(n=n, ratio=Integer(3, 2, 20, "dimensions for each row", corners=(2, 4)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarginRows:
        generator, n, d = generator_of(key), setting["n"], setting["n"] * setting["ratio"]
        x, teacher = generator.standard_normal((n, d)), generator.standard_normal(d)
        x, teacher = x / np.linalg.norm(x, axis=1, keepdims=True), teacher / np.linalg.norm(teacher)
        flips = 0.5 if generator.uniform() < 0.5 else 0.1
        y = np.where(generator.uniform(size=n) < flips, -1.0, 1.0) * np.sign(x @ teacher)
        margin = generator.uniform(2.4, 3.2) / n**0.5
        x, y, teacher, flips, margin = map(jnp.asarray, (x, y, teacher, flips, margin))
        return MarginRows(x, y, teacher, flips, margin)

    def hypotheses(self, problem: MarginRows) -> list[Hypothesis]:
        longest = np.linalg.norm(np.asarray(problem.x), axis=1).max()
        return [
            Hypothesis("the margin is positive", problem.margin, ">", 0.0, "losses min(1, max(0, 1 - t/gamma))"),
            Hypothesis("rows lie in the unit ball", longest, "<=", 1.0, "R = 1", 1e-12),
            Hypothesis.unchecked(
                "the margin was fixed before the rows were drawn", "the data do not show how the margin was chosen"
            ),
        ]


class LabelledPoints(eqx.Module):
    """A few points. The claims consider every labelling of these points by -1 and 1."""

    x: Float[Array, "n d"]


class OrthogonalPoints(Population[LabelledPoints]):
    """Points of equal length in orthogonal directions.

    With probability `generic`, the points are instead standard normal, and have different lengths.

    Args:
        generic: the probability that a problem has standard normal points.
        unit: whether the common length of orthogonal points is 1.
    """

    generic: float = eqx.field(static=True, default=0.0)
    unit: bool = eqx.field(static=True, default=True)

    def settings(self) -> Space:
        n = Integer(5, 2, 9, "points", corners=(2, 6))
        return Space(n=n, spare=Integer(2, 0, 10, "number of dimensions, minus the number of points", corners=(0, 4)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledPoints:
        generator, n = generator_of(key), setting["n"]
        normal = generator.standard_normal((n, n + setting["spare"]))
        length = 1.0 if self.unit else generator.uniform(0.5, 2.0)
        rotated = length * np.linalg.qr(normal.T)[0].T
        return LabelledPoints(jnp.asarray(normal if generator.uniform() < self.generic else rotated))

    def hypotheses(self, problem: LabelledPoints) -> list[Hypothesis]:
        values = np.linalg.svd(np.asarray(problem.x), compute_uv=False)
        why = "linearly dependent points have labellings without a margin"
        return [Hypothesis("smallest singular value divided by the largest", values[-1] / values[0], ">", 1e-6, why)]


class SeparableSets(eqx.Module):
    """Several sets of standard normal rows. One linear rule without an intercept labels them.

    Args:
        x: the rows, of shape (sets, n, d).
        teacher: a unit vector; the class is the sign of <teacher, x>.
    """

    x: Float[Array, "sets n d"]
    teacher: Float[Array, " d"]

    @property
    def y(self) -> Float[np.ndarray, "sets n"]:
        """The classes -1 and 1 of the rows."""
        return np.sign(np.asarray(self.x) @ np.asarray(self.teacher))


class LinearlySeparableSets(Population[SeparableSets]):
    """Sets of rows in a few dimensions.

    Args:
        sets: the number of sets.
    """

    free = ("x",)
    sets: int = eqx.field(static=True, default=1)

    def settings(self) -> Space:
        n = Integer(20, 4, 200, "rows", corners=(14, 30))
        return Space(n=n, d=Integer(6, 2, 50, "dimension", corners=(4, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeparableSets:
        generator = generator_of(key)
        teacher = generator.standard_normal(setting["d"])
        x = generator.standard_normal((self.sets, setting["n"], setting["d"]))
        return SeparableSets(jnp.asarray(x), jnp.asarray(teacher / np.linalg.norm(teacher)))

    def hypotheses(self, problem: SeparableSets) -> list[Hypothesis]:
        least = np.abs(np.asarray(problem.x) @ np.asarray(problem.teacher)).min()
        return [Hypothesis("the teacher's margin", least, ">", 0.0, "a hard margin needs rows that can be separated")]
