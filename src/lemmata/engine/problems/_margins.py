"""Linear classifiers with a margin: on features that miss the label, and on rows of one length under random labels."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class DiscardedLabel(eqx.Module):
    """Features that keep d directions of the data, and labels that are the sign of a direction they discard.

    Args:
        features: of the m labelled rows.
        labels: their signs.
        unlabelled: n, the rows on which the features were learned.
    """

    features: Float[Array, "m d"]
    labels: Float[Array, " m"]
    unlabelled: Float[Array, ""]


def discarded_rows(key: Key[Array, ""], rows: int, d: int) -> tuple[Float[Array, "m d"], Float[Array, " m"]]:
    """Normal data in d + 1 dimensions: the d directions that are kept, whitened, and the sign of the last one."""
    data = jax.random.normal(key, (rows, d + 1))
    return data[:, :-1], jnp.where(data[:, -1] >= 0, 1.0, -1.0)


class DiscardedLabels(Population[DiscardedLabel]):
    """As many features as a representation has that was learned on a million rows, a quarter as many labelled rows.

    Whitened directions of largest agreement are what spectral contrastive losses find; a million rows are as good as
    infinitely many for 64 of them.
    """

    def settings(self) -> Space:
        """Features, labelled rows, unlabelled rows."""
        space = Space(
            d=Integer(64, 8, 256, "features"),
            m=Integer(16, 2, 64, "labelled rows"),
            n=Integer(1_000_000, 100_000, 100_000_000, "unlabelled rows"),
        )
        return space.where("there are at least twice as many features as labels", lambda s: s["d"] >= 2 * s["m"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiscardedLabel:
        """Independent rows."""
        features, labels = discarded_rows(key, setting["m"], setting["d"])
        return DiscardedLabel(features, labels, jnp.asarray(setting["n"], float))

    def hypotheses(self, problem: DiscardedLabel) -> list[Hypothesis]:
        """Rows that can be separated."""
        least = jnp.linalg.eigvalsh(problem.features @ problem.features.T)[0]
        return [Hypothesis("any labels can be separated (least eigenvalue)", least, ">", 0.0, "a margin")]


class LabelledMargins(eqx.Module):
    """n labelled rows of length r in d dimensions, to be classified with a margin fixed beforehand.

    Args:
        direction: a unit vector, of which the labels are the noisy sign.
        flips: the probability that a label is turned over.
        radius: r.
        margin: gamma.
        n: rows.
        delta: the failure probability.
    """

    direction: Float[Array, " d"]
    flips: Float[Array, ""]
    radius: Float[Array, ""]
    margin: Float[Array, ""]
    n: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)

    def draw(self, key: Key[Array, ""], rows: int) -> tuple[Float[Array, "m d"], Float[Array, " m"]]:
        """Rows uniform on the sphere of radius r, and their labels."""
        row_key, flip_key = jax.random.split(key)
        normal = jax.random.normal(row_key, (rows, len(self.direction)))
        x = self.radius * normal / jnp.linalg.norm(normal, axis=1, keepdims=True)
        turned = jnp.where(jax.random.uniform(flip_key, (rows,)) < self.flips, -1.0, 1.0)
        return x, jnp.where(x @ self.direction >= 0, turned, -turned)


class NoisyMargins(Population[LabelledMargins]):
    """Mostly random labels in more dimensions than rows, where a classifier fits noise."""

    def settings(self) -> Space:
        """Rows, dimension, length of the rows."""
        return Space(
            n=Integer(256, 100, 1000, "labelled rows", corners=(200, 400)),
            d=Integer(512, 100, 2000, "dimension", corners=(300, 600)),
            radius=Real(4.0, 0.01, 100.0, "length of a row"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledMargins:
        """Labels turned over with probability 0.45 to 0.5; a margin of 3 to 4 times r/sqrt(n)."""
        direction_key, rest_key = jax.random.split(key)
        direction = jax.random.normal(direction_key, (setting["d"],))
        flips, margin = jax.random.uniform(rest_key, (2,))
        radius = jnp.asarray(setting["radius"], float)
        gamma = (3 + margin) * radius / setting["n"] ** 0.5
        return LabelledMargins(direction / jnp.linalg.norm(direction), 0.45 + 0.05 * flips, radius, gamma, setting["n"])

    def hypotheses(self, problem: LabelledMargins) -> list[Hypothesis]:
        """A margin; fixed beforehand."""
        return [
            Hypothesis("the margin is positive", problem.margin, ">", 0.0, "losses min(1, max(0, 1 - t/gamma))"),
            Hypothesis.unchecked("the margin was fixed before the rows were drawn", "its choice is not in the numbers"),
        ]
