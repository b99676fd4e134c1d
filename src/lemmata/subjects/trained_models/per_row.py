"""One row: in which order training rows matter for their own loss, and by how much the typical one does.

This theory controls the effect of each row on what the model says of it. It asks for a stationary point; one Newton
step a row is compared with descent without the row. It leaves unexplained what a training from another start does.
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
_SMOOTH = (LOG, WEIGHTED, SQUARED, POISSON)  # the curvature of Huber's jumps, which a row's own leverage does not show
_SHARED = 0.5  # of the variance of log ratios: the central 95 % of medians then held all of 36 models
_LOWEST = 0.005  # the quantile of correlations that 107 of 110 models were above; 104 were above the one of 2.5 %


def newton_effects(problem: Trained) -> Float[np.ndarray, " k"]:
    """By how much one Newton step of leaving it out raises the loss of each shown row."""
    rows, task = shown_rows(problem), problem.task
    seen = task.losses(polished_copy(problem).model.outputs(problem.x[rows]), problem.y[rows])
    return task.losses(rows_left_out(problem).outputs[rows], problem.y[rows]) - seen


def resolved(problem: Trained) -> Bool[np.ndarray, " k"]:
    """Which shown rows have an effect above rounding: the loss of a row that the model is sure of can be 0 to it."""
    return newton_effects(problem) > _ROUNDING


def ratio_draws(problem: Trained) -> Float[np.ndarray, "draws k"]:
    """Ratios of effects to those of a Newton step, as its own error leaves them open.

    The step takes a row's leverage h from 1; what it leaves out of the next order is of the relative size h. Logarithms
    of ratios are drawn normal of standard deviation h, and half of their variance is shared by the rows of a model.
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
    """At a stationary point one Newton step of leaving row i out, of leverage h_i, predicts by how much, e_i, the loss
    of that row grows without it, with an error in log e_i of standard deviation h_i, half of the variance shared by the
    rows. For 16 training rows, the eight of largest loss and eight others at random, this implies a law of Spearman's
    correlation of the predicted effects with those in models that descend from there without the row. It is above the
    0.5 % quantile of that law in at least nine of ten models.
    """

    title = "Order of the effects of rows on their own losses"
    source = Source("rad2020alo", note="the step for each row; its order against descent without the row")
    stated = Kind.OWN
    population = TrainedNetworks(rows=40, decay=0.05)
    relation = Estimate()
    control = Control("the training losses rank the rows as well", lambda interval, problem: by_losses(problem))
    controls = "which rows lose most if the model is trained without them"
    unexplained = "training from another start, which may end elsewhere; effects of a row on other rows"
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
        """Spearman's correlation with descent to a stationary point without the row, for each of the rows."""
        value = float(np.asarray(stats.spearmanr(newton_effects(problem), warm_effects(problem))).ravel()[0])
        return jnp.asarray([value, value, value])


class MedianRatioOfRowEffects(AbstractGauge):
    """With the law of errors of `OrderOfRowEffects`, logarithms of standard deviation h_i of which half of the variance
    is shared, the median over the 16 rows of the ratio of the effect by one Newton step to that by descent without the
    row lies in the central 95 % of its law in at least nine of ten models. Rows whose effect is below a billionth of a
    nat by the step are left out; eight of the sixteen have to stay.
    """

    title = "Typical ratio of predicted to found effects of rows"
    source = OrderOfRowEffects.source
    stated = Kind.OWN
    population = TrainedNetworks(rows=40, decay=0.05)
    relation = Estimate()
    control = Control("half of that ratio", lambda interval, problem: interval / 2)
    controls = "how much the loss of a typical row grows when it is left out"
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
        found, some = EffectOfOneRow().hypotheses(problem), "the other rows have a loss of 0 up to rounding"
        if not all(bool(own.holds) for own in found):
            return found
        count = float(resolved(problem).sum())
        return [*found, Hypothesis("rows whose effect is above rounding", count, ">=", SHOWN, some)]

    def predict(self, problem: Trained) -> Array:
        medians = np.median(1 / ratio_draws(problem)[:, resolved(problem)], axis=1)
        return jnp.asarray(np.quantile(medians, [(1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2]))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The median and quartiles of the ratio to descent to a stationary point without the row.

        An effect that descent does not find, or finds below rounding, counts as one at rounding: its ratio is large.
        """
        found = np.maximum(warm_effects(problem), _ROUNDING)
        low, value, high = np.quantile((newton_effects(problem) / found)[resolved(problem)], [0.25, 0.5, 0.75])
        return jnp.asarray([low, value, high])
