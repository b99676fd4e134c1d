"""One row: how training rows rank by their effect on their own loss, and how large a typical effect is.

The theory predicts the effect of each row on the model's prediction for this row. It needs a stationary point, and
compares one Newton step per row with descent without the row. It leaves open what effect the row has if training begins
from another start.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import SHOWN, Trained, shown_rows
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, rows_left_out
from ._losses import LOG, POISSON, SQUARED, WEIGHTED
from ._polish import polished_copy
from .refits import EffectOfOneRow, warm_effects

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_DRAWS = 2000
_ROUNDING = 1e-9  # nats
_LEVEL = 0.95
# Huber's loss is not among them, because its curvature jumps, and a row's own leverage does not show these jumps.
_SMOOTH = (LOG, WEIGHTED, SQUARED, POISSON)
_SHARED = 0.5  # share of the variance of log ratios; with it, the central 95 % of medians held all of 36 models
_LOWEST = 0.005  # the quantile of correlations that 107 of 110 models exceeded; 104 of them exceeded the 2.5 % quantile


def newton_effects(problem: Trained) -> Float[np.ndarray, " k"]:
    """For each row of `shown_rows`, return how much leaving it out by one Newton step raises its loss."""
    rows, task = shown_rows(problem), problem.task
    seen = task.losses(polished_copy(problem).model.outputs(problem.x[rows]), problem.y[rows])
    return task.losses(rows_left_out(problem).outputs[rows], problem.y[rows]) - seen


def resolved(problem: Trained) -> Bool[np.ndarray, " k"]:
    """Which rows of `shown_rows` have an effect above rounding.

    If the model is certain of a row, the row's loss may be rounded to 0 with and without the row. The effect of this
    row is then only a rounding error.
    """
    return newton_effects(problem) > _ROUNDING


def ratio_draws(problem: Trained) -> Float[np.ndarray, "draws k"]:
    """Draw ratios of true effects to the effects of a Newton step, which vary because the step has an error.

    The step divides by 1 - h, where h is a row's leverage, and omits a next order of relative size h. So the logarithms
    of the ratios are drawn from a normal distribution with standard deviation h. Half of this variance is common to all
    rows of a model.
    """
    rng, leverage = np.random.default_rng([problem.seed, 15]), rows_left_out(problem).leverage[shown_rows(problem)]
    own, shared = rng.normal(size=(_DRAWS, len(leverage))), rng.normal(size=(_DRAWS, 1))
    return np.exp(leverage * (np.sqrt(1 - _SHARED) * own + np.sqrt(_SHARED) * shared))


def rank_correlations(values: Float[np.ndarray, " k"], draws: Float[np.ndarray, "draws k"]) -> Float[np.ndarray, "3"]:
    """The 0.5 % quantile, median and 97.5 % quantile of Spearman's correlation of the values with each draw."""
    own, others = stats.rankdata(values), stats.rankdata(draws, axis=1)
    own, others = own - own.mean(), others - others.mean(1, keepdims=True)
    found = others @ own / np.maximum(np.linalg.norm(own) * np.linalg.norm(others, axis=1), 1e-300)
    return np.quantile(found, [_LOWEST, 0.5, (1 + _LEVEL) / 2])


def by_losses(problem: Trained) -> Array:
    """The interval for the correlation of the rows' training losses with the effects."""
    rows = shown_rows(problem)
    losses = problem.task.losses(polished_copy(problem).model.outputs(problem.x[rows]), problem.y[rows])
    return jnp.asarray(rank_correlations(losses, newton_effects(problem) * ratio_draws(problem)))


class OrderOfRowEffects(AbstractGauge):
    """Let e_i be the effect of training row i on its own loss: the growth of this loss if the model is trained without
    row i. At a stationary point, one Newton step that approximates leaving row i out predicts e_i. Let h_i be the
    leverage of the row. The error of the prediction of log e_i is taken to have standard deviation h_i. Half of the
    variance comes from an error that is common to all rows of a model. Take 16 training rows, the eight of largest loss
    and eight others at random. Measure each effect by descent from the stationary point without the row. Compare
    predicted and measured effects by Spearman's correlation. The assumed errors of the predictions imply a distribution
    of this correlation. In at least nine of ten models, the correlation is above the 0.5 % quantile of this
    distribution.
    """

    title = "Ranking of training rows by their effect on their own loss, predicted by Newton steps"
    source = Source("rad2020alo", note="the step for each row; here its order is compared with descent without the row")
    stated = Kind.OWN
    population = TrainedNetworks(rows=40, decay=0.05)
    relation = Estimate()
    control = Control("the training losses rank the rows equally well", lambda interval, problem: by_losses(problem))
    controls = "which training rows have the largest effect on their own loss"
    unexplained = "training from another start, which may end elsewhere; the effect of a row on other rows"
    traced = False
    shared = EffectOfOneRow.shared
    losses = _SMOOTH
    trivial = 1.0  # a correlation is between 0, that of an order by chance, and 1

    def passes(self, problem: Trained) -> float:
        return EffectOfOneRow().passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return EffectOfOneRow().hypotheses(problem)

    def predict(self, problem: Trained) -> Array:
        effects = newton_effects(problem)
        low, value, _ = rank_correlations(effects, effects * ratio_draws(problem))
        return jnp.asarray([low, value, 1.0])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Spearman's correlation of the prediction with the effects that descent without each row finds."""
        value = float(np.asarray(stats.spearmanr(newton_effects(problem), warm_effects(problem))).ravel()[0])
        return jnp.asarray([value, value, value])


class MedianRatioOfRowEffects(AbstractGauge):
    """Let the effect of a training row be the growth of its loss if the model is trained without this row. Take 16
    training rows, the eight of largest loss and eight others at random. One Newton step predicts the effect of row i.
    Let h_i be the leverage of the row. The logarithm of the prediction is taken to have an error of standard deviation
    h_i. Half of the variance comes from an error that is common to all rows of a model. For each row, divide the effect
    that one Newton step predicts by the effect that descent without the row finds. The assumed errors imply a
    distribution of the median of these ratios over the 16 rows. In at least nine of ten models, the median lies in the
    central 95 % of this distribution. Rows whose predicted effect is at most a billionth of a nat are left out, and at
    least eight of the sixteen rows must remain.
    """

    title = "Median ratio of predicted to measured effects of rows on their own losses"
    source = OrderOfRowEffects.source
    stated = Kind.OWN
    population = TrainedNetworks(rows=40, decay=0.05)
    relation = Estimate()
    control = Control("half of this ratio", lambda interval, problem: interval / 2)
    controls = "the size of the effect of a typical row on its own loss"
    unexplained = "the error of a single row; training from another start"
    traced = False
    shared = EffectOfOneRow.shared
    losses = _SMOOTH
    trivial = 1.0  # a ratio of 1

    def passes(self, problem: Trained) -> float:
        return EffectOfOneRow().passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found, some = (
            EffectOfOneRow().hypotheses(problem),
            "at other rows, the change of the loss is 0 up to rounding error",
        )
        if not all(bool(own.holds) for own in found):
            return found
        count = float(resolved(problem).sum())
        return [*found, Hypothesis("rows whose effect is above rounding error", count, ">=", SHOWN, some)]

    def predict(self, problem: Trained) -> Array:
        medians = np.median(1 / ratio_draws(problem)[:, resolved(problem)], axis=1)
        return jnp.asarray(np.quantile(medians, [(1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2]))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Median and quartiles of the ratio of the predicted effect to the effect found by descent without the row.

        If descent finds no effect, or an effect below rounding error, the effect is set to rounding error. The ratio is
        then large.
        """
        found = np.maximum(warm_effects(problem), _ROUNDING)
        low, value, high = np.quantile((newton_effects(problem) / found)[resolved(problem)], [0.25, 0.5, 0.75])
        return jnp.asarray([low, value, high])
