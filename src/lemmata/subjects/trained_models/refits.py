"""Refits: the result of training again on half of the rows, without a row, or on random classes.

The theory predicts how a model depends on its training rows. It needs a program that trains afresh, or an objective for
which a copy can be brought to a stationary point. It leaves open how other rows would have changed the model.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import Trained, row_effects, row_effects_passes, shown_rows, tangent_kernel
from lemmata.subjects.trained_models._row_effects import SHOWN
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, rows_left_out
from ._outputs import held_rows
from ._polish import objective_of, polished_copy
from ._refit import refits_of
from .leaving_out import predicted_share
from .start import at_start, begun, kernel_errors

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_HALVES = 8
_REFITS = 4
_FACTOR = 2.0
_ARRIVED = 1e-2


def trainable(problem: Trained) -> list[Hypothesis]:
    """The conditions that a program trains afresh and that the model predicts classes."""
    return [
        Hypothesis(FACTS["fit"].given, float(problem.fit is not None), ">=", 1.0, "the check trains the model again"),
        Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0),
    ]


def _all_hold(found: list[Hypothesis]) -> bool:
    return all(bool(own.holds) for own in found)


def random_halves(problem: Trained, count: int, stream: int) -> list[Int[np.ndarray, " half"]]:
    """Draw random halves of the training rows as positions. Each half is followed by its complement."""
    rng, n = np.random.default_rng([problem.seed, stream]), len(problem.x)
    orders = (rng.permutation(n) for _ in range(count // 2))
    return [np.sort(part) for order in orders for part in (order[: n // 2], order[n - n // 2 :])]


class ErrorAtHalfTheRows(AbstractGauge):
    """Take ridge regression with the tangent kernel at a model's initial parameters. Compute the exact leave-one-out
    error of this regression on all n training rows and on random halves of them. Measure the leave-one-out error both
    as a squared error and as a share of wrong classes. Each of these two errors gives a ratio of the error at n/2 rows
    to the error at n rows. The two ratios bracket the factor by which the model's own error grows if it is trained on
    half of its rows. To predict the model's own error at n rows, leave each row out of the model by one Newton step.
    The share of rows that are then wrong implies a beta-binomial distribution for new rows, and therefore an interval
    for the error. Multiply the lower end of the interval by the smallest of three numbers: the two ratios and 1.
    Multiply the upper end by the largest of these three numbers. In at least nine of ten models, the new interval
    contains the mean error of four models trained on halves of the rows.
    """

    title = "A model's error with half of the rows, predicted by the tangent kernel before training"
    source = Source("jacot2018", note="the kernel at the start; here for a learning curve of the model itself")
    stated = Kind.OWN
    population = TrainedNetworks(rows=100, decay=0.05)
    relation = Estimate()
    ends = "the smallest and the largest error of the models"
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "how much the error of a model falls with more rows from the same distribution"
    unexplained = "more rows than the training set has; why the curve falls as it does"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 3.0 * problem.y.shape[1] + (0.0 if problem.fit is None else _REFITS / 2 * refits_of(problem).passes)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = [*trainable(problem), *begun(problem)]
        return [*found, *stationary(problem)] if _all_hold(found) else found

    def predict(self, problem: Trained) -> Array:
        kernel = tangent_kernel(at_start(problem), problem.x)
        half = [
            kernel_errors(kernel[np.ix_(rows, rows)], problem.y[rows]) for rows in random_halves(problem, _HALVES, 9)
        ]
        ratios = np.mean(half, axis=0) / kernel_errors(kernel, problem.y).clip(1 / len(kernel))
        wrong = problem.task.errors(rows_left_out(problem).outputs, problem.y)
        new = len(wrong) if problem.held is None else len(problem.held[0])
        low, value, high = predicted_share(float(wrong.sum()), float(len(wrong)), new)
        ends = [min(*ratios, 1.0) * low, ratios.mean() * value, max(*ratios, 1.0) * high]
        return jnp.asarray(np.minimum(ends, 1.0))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Train models again on halves of the rows, and test them on held-out rows."""
        x, y = held_rows(problem)
        models = [refits_of(problem)(rows, problem.seed + place) for place, rows in
                  enumerate(random_halves(problem, _REFITS, 10))]  # fmt: skip
        errors = np.array([problem.task.errors(model.outputs(x), y).mean() for model in models])
        return jnp.asarray([errors.min(), errors.mean(), errors.max()])

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())


def warm_effects(problem: Trained) -> Float[np.ndarray, " k"]:
    """For each row of `shown_rows`, the growth of its loss when the model descends to a stationary point without it."""
    return row_effects(problem).effects


class EffectOfOneRow(AbstractGauge):
    """Let a model be at a stationary point of mean log loss plus (delta/2) |theta|², where theta are the parameters and
    delta is the decay. If a model is trained without row i, the loss of this row grows by some amount. One Newton step
    that approximates leaving row i out predicts this amount. To measure the amount, descend from the stationary point
    with all rows to a stationary point without row i. Take 16 training rows, the eight of largest loss and eight others
    at random. In at least nine of ten models, the mean of the predicted amounts is within a factor 2 of the mean of the
    measured amounts.
    """

    title = "Mean effect of training rows on their own loss, predicted by Newton steps"
    source = Source("rad2020alo", note="the step for each row; here compared with descent without the row")
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.05)
    relation = Estimate()
    control = Control("a third of this effect", lambda interval, problem: interval / 3)
    controls = "how much the loss at a training row grows if the model is trained without this row"
    unexplained = "training from another start, which may end elsewhere; the effect of a row on other rows"
    traced = False
    shared = (polished_copy, rows_left_out, row_effects)

    def passes(self, problem: Trained) -> float:
        return row_effects_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = [
            Hypothesis(
                "training rows", float(len(problem.x)), ">=", 2.0 * SHOWN, "the effects of sixteen rows are measured"
            )
        ]
        found += stationary(problem)
        if _all_hold(found) and objective_of(problem).decay > 0:
            found.append(
                Hypothesis(
                    "residual of the converged copy",
                    polished_copy(problem).residual,
                    "<=",
                    _ARRIVED,
                    "otherwise descent without a row also changes the model for reasons other than the missing row",
                )
            )
        return found

    def predict(self, problem: Trained) -> Array:
        rows, task = shown_rows(problem), problem.task
        seen = task.losses(polished_copy(problem).model.outputs(problem.x[rows]), problem.y[rows])
        effect = task.losses(rows_left_out(problem).outputs[rows], problem.y[rows]) - seen
        return jnp.asarray(effect.mean() * np.array([1 / _FACTOR, 1.0, _FACTOR]))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """For each of the rows, descend from the stationary point with all rows to one without the row."""
        effects = warm_effects(problem)
        reach = effects.std(ddof=1) / np.sqrt(len(effects))
        return jnp.asarray([effects.mean() - reach, effects.mean(), effects.mean() + reach])

    def trivial(self, problem: Trained) -> Array:
        """The loss of a row about which nothing is known: the entropy of the classes."""
        return jnp.asarray(stats.entropy(problem.y.mean(0)) if problem.task.is_classification else problem.y.var())
