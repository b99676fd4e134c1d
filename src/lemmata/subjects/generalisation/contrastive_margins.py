"""Margins and what they promise: unlabelled rows do not stand in for labelled ones, and a margin has a scale.

This theory controls the error on new rows of a linear classifier that separates its labelled rows with a margin. It
assumes independent rows; it leaves unexplained why features learned without labels are often good ones.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source, Status
from lemmata.engine.problems._margins import (
    DiscardedLabel,
    DiscardedLabels,
    LabelledMargins,
    NoisyMargins,
    discarded_rows,
)

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

    def trivial(self, problem: LabelledMargins) -> Array:
        """The largest loss."""
        return jnp.ones(())
