"""Margins and what they promise: unlabelled rows do not stand in for labelled ones, and a margin has a scale.

This theory controls the error on new rows of a linear classifier that separates its labelled rows with a margin. It
assumes independent rows; it leaves unexplained why features learned without labels are often good ones.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space, Status

ABOUT = {"tool": "empirical processes", "architecture": "linear model", "object": "generalisation"}


class DiscardedLabel(eqx.Module):
    """Features of m labelled rows, learned on n unlabelled ones, and labels, the sign of a direction they discard."""

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
        space = Space(
            d=Integer(64, 8, 256, "features"),
            m=Integer(16, 2, 64, "labelled rows"),
            n=Integer(1_000_000, 100_000, 100_000_000, "unlabelled rows"),
        )
        return space.where("there are at least twice as many features as labels", lambda s: s["d"] >= 2 * s["m"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiscardedLabel:
        features, labels = discarded_rows(key, setting["m"], setting["d"])
        return DiscardedLabel(features, labels, jnp.asarray(setting["n"], float))

    def hypotheses(self, problem: DiscardedLabel) -> list[Hypothesis]:
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

    settings = Space(
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
        return [
            Hypothesis("the margin is positive", problem.margin, ">", 0.0, "losses min(1, max(0, 1 - t/gamma))"),
            Hypothesis.unchecked("the margin was fixed before the rows were drawn", "its choice is not in the numbers"),
        ]


_TEST, _NEW = 2000, 192


def _least_norm(problem: DiscardedLabel) -> Float[Array, " d"]:
    """The least weights that give every labelled row its label: those of a margin of at least 1/|w|."""
    return problem.features.T @ jnp.linalg.solve(problem.features @ problem.features.T, problem.labels)


class PrintedContrastiveMargin(Claim[DiscardedLabel]):
    """As printed: for features learned without labels by a contrastive objective, on which a linear probe has margin
    gamma on its training rows, the error on test data is at most of the order

        1/(gamma sqrt(n)) + VC/sqrt(n).

    Read with n the rows on which the features were learned, the only rows that the statement names, VC = d for d
    features, the constants 1 and rows as they are. With m <= d labelled rows a probe separates any labels, and where
    the label is the sign of a direction that the features discard, it errs on half of the new rows, whatever n.
    """

    title = "Margins on features learned without labels, as printed"
    source = Source("foundation2025", "Theorem 4", "(18)", note="as printed")
    population = DiscardedLabels()
    relation = AtMost()
    control = Control("half of that", lambda bound, problem: bound / 2)
    controls = "the error of a linear probe on new rows"
    unexplained = "which rows are counted, and how labels relate to features"
    reading = "n counts unlabelled rows, the constants are 1"
    trivial = "an error may be anything up to 1"
    expected = Status.REFUTED

    def predict(self, problem: DiscardedLabel) -> Array:
        margin = 1 / jnp.linalg.norm(_least_norm(problem))
        return (1 / margin + problem.features.shape[1]) / jnp.sqrt(problem.unlabelled)

    def measure(self, problem: DiscardedLabel, key: Key[Array, ""]) -> Array:
        """The share of errors on 2000 new rows."""
        features, labels = discarded_rows(key, _TEST, problem.features.shape[1])
        return jnp.mean(jnp.where(labels * (features @ _least_norm(problem)) > 0, 0.0, 1.0))


def _chance(problem: LabelledMargins) -> Float[Array, ""]:
    return jnp.sqrt(jnp.log(1 / problem.delta) / (2 * problem.n))


def _ramp(values: Float[Array, " n"], margin: Float[Array, ""]) -> Float[Array, ""]:
    """The mean of min(1, max(0, 1 - t/gamma)), at least the share of errors."""
    return jnp.clip(1 - values / margin, 0.0, 1.0).mean()


class LabelledMarginError(Claim[LabelledMargins]):
    """With probability at least 1 - delta over n *labelled* rows with |x| <= r, every linear classifier x -> <w, x>,
    |w| <= 1, has, for the margin loss min(1, max(0, 1 - t/gamma)) of t = y <w, x> and any gamma fixed beforehand,

        mean loss on new rows <= mean loss on the n rows + 2 r/(gamma sqrt(n)) + sqrt(log(1/delta) / (2n)),

    and errs on a smaller share of new rows than the left side. The margin counts in units of r: multiplying the
    features by a factor changes nothing, whereas 1/(gamma sqrt(n)) changes by the factor. Judged at r = 4, delta =
    0.05, on the mean of the labelled rows y x, normalised, which fits noise.
    """

    title = "The error of a classifier with a margin on labelled rows"
    source = Source("mohri2018", "Theorem 5.8", note="with probability over labelled rows")
    population = NoisyMargins()
    relation = AtMost(delta=0.05)
    control = Control(
        "the length of the rows can be left out: 2/(gamma sqrt(n))",
        lambda bound, problem: _chance(problem) + (bound - _chance(problem)) / problem.radius,
    )
    controls = "the error on new rows of a classifier with a margin"
    unexplained = "features that are learned on the same rows"
    corrects = PrintedContrastiveMargin
    trivial = 1.0  # the largest loss

    def predict(self, problem: LabelledMargins) -> Array:
        """By how much the loss on new rows may exceed the loss on the n rows."""
        return 2 * problem.radius / (problem.margin * jnp.sqrt(problem.n)) + _chance(problem)

    def measure(self, problem: LabelledMargins, key: Key[Array, ""]) -> Array:
        """The excess, with 192 new rows."""
        train_key, test_key = jax.random.split(key)
        x, y = problem.draw(train_key, problem.n)
        weights = y @ x / jnp.linalg.norm(y @ x)
        new, labels = problem.draw(test_key, _NEW)
        return _ramp(labels * (new @ weights), problem.margin) - _ramp(y * (x @ weights), problem.margin)
