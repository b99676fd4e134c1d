"""Margins and their guarantees. In the bound only labelled rows count, and the margin is relative to the length of
rows.

This theory bounds the error on new rows of a linear classifier that separates its labelled rows with a margin. It
assumes independent rows. It does not explain why features learned without labels are often good ones.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space

ABOUT = {"tool": "empirical processes", "architecture": "linear model", "object": "generalisation"}


class LabelledMargins(eqx.Module):
    """A number n of labelled rows of length r in d dimensions, to be classified with a margin that is fixed before the
    rows are drawn.

    Args:
        direction: a unit vector. The label of a row is the sign of its product with this vector, with noise.
        flips: the probability that a label is flipped.
        radius: r, the length of a row.
        margin: gamma, the margin that is fixed beforehand.
        n: the number of rows.
        delta: the probability with which the bound may fail.
    """

    direction: Float[Array, " d"]
    flips: Float[Array, ""]
    radius: Float[Array, ""]
    margin: Float[Array, ""]
    n: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)

    def draw(self, key: Key[Array, ""], rows: int) -> tuple[Float[Array, "m d"], Float[Array, " m"]]:
        """Draw rows uniformly from the sphere of radius r, and their labels."""
        row_key, flip_key = jax.random.split(key)
        normal = jax.random.normal(row_key, (rows, len(self.direction)))
        x = self.radius * normal / jnp.linalg.norm(normal, axis=1, keepdims=True)
        turned = jnp.where(jax.random.uniform(flip_key, (rows,)) < self.flips, -1.0, 1.0)
        return x, jnp.where(x @ self.direction >= 0, turned, -turned)


class NoisyMargins(Population[LabelledMargins]):
    """Rows with almost random labels, in more dimensions than rows by default, so that a classifier fits noise."""

    settings = Space(
        n=Integer(256, 100, 1000, "labelled rows", corners=(200, 400)),
        d=Integer(512, 100, 2000, "dimension", corners=(300, 600)),
        radius=Real(4.0, 0.01, 100.0, "length of a row"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledMargins:
        """Draw labels that are flipped with probability 0.45 to 0.5, and a margin of 3 to 4 times r/sqrt(n)."""
        direction_key, rest_key = jax.random.split(key)
        direction = jax.random.normal(direction_key, (setting["d"],))
        flips, margin = jax.random.uniform(rest_key, (2,))
        radius = jnp.asarray(setting["radius"], float)
        gamma = (3 + margin) * radius / setting["n"] ** 0.5
        return LabelledMargins(direction / jnp.linalg.norm(direction), 0.45 + 0.05 * flips, radius, gamma, setting["n"])

    def hypotheses(self, problem: LabelledMargins) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the margin is positive", problem.margin, ">", 0.0, "the losses are min(1, max(0, 1 - t/gamma))"
            ),
            Hypothesis.unchecked(
                "the margin was fixed before the rows were drawn", "the numbers do not show how the margin was chosen"
            ),
        ]


_TEST, _NEW = 2000, 192


def _chance(problem: LabelledMargins) -> Float[Array, ""]:
    return jnp.sqrt(jnp.log(1 / problem.delta) / (2 * problem.n))


def _ramp(values: Float[Array, " n"], margin: Float[Array, ""]) -> Float[Array, ""]:
    """Return the mean of min(1, max(0, 1 - t/gamma)) over the values t. This mean is at least the share of values below
    0, which are errors.
    """
    return jnp.clip(1 - values / margin, 0.0, 1.0).mean()


class LabelledMarginError(Claim[LabelledMargins]):
    """Let n rows x with labels y be independent, and let r bound the length of a row: |x| <= r. Fix a margin gamma > 0
    before the rows are drawn. For a linear classifier x -> <w, x>, let t = y <w, x>. The margin loss of the classifier
    at the row is min(1, max(0, 1 - t/gamma)). With probability at least 1 - delta over the n rows, every linear
    classifier with |w| <= 1 satisfies

        mean loss on new rows <= mean loss on the n rows + 2 r/(gamma sqrt(n)) + sqrt(log(1/delta) / (2n)).

    The share of new rows that such a classifier gets wrong is at most the left side. The bound contains the margin only
    as gamma/r. So the bound does not change if the features and gamma are multiplied by the same factor. A bound with
    1/(gamma sqrt(n)) alone would change. The test uses r = 4, delta = 0.05 and nearly random labels. It takes as w the
    sum of the vectors y x over the n rows, scaled to length 1. This classifier fits the noise of the labels.
    """

    title = "A margin bound on the error of a linear classifier on new rows"
    source = Source("mohri2018", "Theorem 5.8", note="with probability over labelled rows")
    population = NoisyMargins()
    relation = AtMost(delta=0.05)
    control = Control(
        "the length of the rows can be left out of the bound: 2/(gamma sqrt(n))",
        lambda bound, problem: _chance(problem) + (bound - _chance(problem)) / problem.radius,
    )
    controls = "the error on new rows of a classifier with a margin"
    unexplained = "features that are learned on the same rows"
    trivial = 1.0  # the largest loss

    def predict(self, problem: LabelledMargins) -> Array:
        """Return by how much the loss on new rows may exceed the loss on the n rows."""
        return 2 * problem.radius / (problem.margin * jnp.sqrt(problem.n)) + _chance(problem)

    def measure(self, problem: LabelledMargins, key: Key[Array, ""]) -> Array:
        """Return the mean margin loss on 192 new rows minus the mean margin loss on the n rows."""
        train_key, test_key = jax.random.split(key)
        x, y = problem.draw(train_key, problem.n)
        weights = y @ x / jnp.linalg.norm(y @ x)
        new, labels = problem.draw(test_key, _NEW)
        return _ramp(labels * (new @ weights), problem.margin) - _ramp(y * (x @ weights), problem.margin)
