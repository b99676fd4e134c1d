"""Noise on the weights: an error bound for models whose weights did not move too far in training.

The theory bounds the error of a model with noise on its weights. It uses the distance of the weights from reference
weights that do not depend on the rows: the start, or the weights from half of the rows. It gives no result for models
that are many nats away from the reference, and it does not cover the error without the noise.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Control, Hypothesis, Kind, Source
from lemmata.subjects.bounds import SampledRules, kl_upper, pac_bayes_budget, scale_of
from lemmata.subjects.trained_models import AbstractModel, Trained
from lemmata.subjects.trained_models._rectified_networks import RectifiedNetworks

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_rows
from ._refit import refits_of
from .bounds import DELTA, FORWARD, held_out_limit, most_frequent, of_classes, rows_factor
from .refits import random_halves, trainable
from .start import at_start, begun

ABOUT = {"tool": "concentration", "architecture": "any", "object": "generalisation"}

_SCALES = tuple(2.0**power for power in range(-7, 3))
_TRIED, _DRAWS, _OF_DRAWS = 8, 250, 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """Normal weights around the model (posterior) and around weights that do not depend on the rows (prior).

    Args:
        rules: the two means, and the noise of each array at scale 1.
        scale: the scale of the noise with the least bound. The bound holds although the scale is chosen by the rows,
            because delta is divided among all scales that are tried.
        divergences: KL(posterior || prior) at each scale.
        limits: the limit of the error on the rows at each scale. The limit at the chosen scale is an upper limit that
            fails with probability at most delta/10.
        rows: the number of rows that the prior has not seen.
    """

    rules: SampledRules
    scale: float
    divergences: Float[np.ndarray, " scales"]
    limits: Float[np.ndarray, " scales"]
    rows: int

    def bound(self, rows: float | int) -> float:
        """Return the bound at a number of rows, with the best scale for this number."""
        return float(self._bounds(rows).min())

    def own_bound(self) -> float:
        """Return the bound at the current number of rows, with the chosen scale."""
        return float(self._bounds(self.rows)[_SCALES.index(self.scale)])

    def _bounds(self, rows: float | int) -> Float[np.ndarray, " scales"]:
        return kl_upper(self.limits, _budget(rows) + self.divergences / rows)


def _budget(rows: float | int) -> float:
    """The bound on kl(r || R) if KL(posterior || prior) is 0.

    A tenth of delta is kept for the draws of the weights.
    """
    return pac_bayes_budget(0.0, round(rows), (1 - _OF_DRAWS) * DELTA, len(_SCALES))


def posterior(problem: Trained, first: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "m C"]) -> Posterior:
    """Choose the noise scale with the least bound from a few draws. Estimate the error at this scale from new draws.

    Args:
        problem: the model, which is the mean of the posterior.
        first: the model that is the mean of the prior.
        x: rows that the prior has not seen.
        y: the targets of these rows.
    """
    model = problem.model
    before, after = (list(model.split(own.theta.astype(float)).values()) for own in (first, model))
    common = scale_of(np.concatenate([array.ravel() for array in before]))

    def wrong(draws: list[list[np.ndarray]], rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        calls = (model.at(np.concatenate([array.ravel() for array in own])).outputs(rows).argmax(1) for own in draws)
        return np.array([np.mean(call != labels) for call in calls])

    rules = SampledRules(before, after, [scale_of(array, common) for array in before], wrong)
    errors = rules.errors_on(x, y.argmax(1))
    tried = np.array([errors(1.0, scale, _TRIED, problem.seed).mean() for scale in _SCALES])
    divergences = np.array([rules.distance / (2 * scale**2) for scale in _SCALES])
    best = int(kl_upper(tried, _budget(len(x)) + divergences / len(x)).argmin())
    tried[best] = errors(1.0, _SCALES[best], _DRAWS, problem.seed + 1).mean()  # the choice has seen its draws
    limits = kl_upper(tried, math.log(1 / (_OF_DRAWS * DELTA)) / _DRAWS)
    return Posterior(rules, _SCALES[best], divergences, limits, len(x))


def noisy_error(problem: Trained, found: Posterior, key: Key[Array, ""]) -> Array:
    """Estimate, from new draws, the error of the noisy model on held-out rows that are not duplicates."""
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    return jnp.asarray(found.rules.errors_on(x, y.argmax(1))(1.0, found.scale, _TRIED * 4, seed).mean())


def _draws_passes() -> float:
    return FORWARD * (_TRIED * (len(_SCALES) + 4) + _DRAWS)


@functools.lru_cache(maxsize=1)  # used by the prediction, the measurement and the factor
def from_start(problem: Trained) -> Posterior:
    """The posterior on all training rows, with the start as the prior."""
    return posterior(problem, at_start(problem), problem.x, problem.y)


class PacBayesFromTheStart(AbstractGauge):
    """Let a model be trained from the weights theta0 to the weights theta on n independent rows. For every row, a noisy
    version of the model draws its weights from N(theta, s²). Here the scale s of the noise is in units of the root mean
    square of each array of weights in theta0. Try J = 10 scales s, and let delta = 1/20.

    Let R be the error of the noisy model on new rows. Let r be an upper limit on its error on the training rows,
    computed from 250 draws at the level delta/10. Let kl(r || R) be the Kullback-Leibler divergence of a coin with
    probability r from a coin with probability R. Let E be the mean of exp(n kl(k/n || p)), where k is the number of
    successes in n trials of probability p. This mean is the same for all p between 0 and 1. The rest of delta, 9
    delta/10, is divided equally among the scales. With probability at least 19/20 over the rows and draws,

        kl(r || R) <= ( |theta - theta0|² / (2 s²) + ln(E J / (9 delta/10)) ) / n,

    where |theta - theta0| is in the same units as s. The prediction is the resulting bound on R at one of the ten
    scales, the one whose bound is smallest by a first estimate from eight draws. In at least nine of ten models, this
    bound is above the error of the noisy model on held-out rows.
    """

    title = "A PAC-Bayes bound on the error of a model with noisy weights, from the start of its training"
    source = Source("dziugaite2017", note="Gaussians around the weights and the start; the moment of Maurer (2004)")
    stated = Kind.OWN
    population = RectifiedNetworks(rows=512, hidden=0, widths=(0, 4), steps=20, distance=4.0)
    relation = AtMost(delta=0.1)
    control = Control("a third of this bound", lambda bound, problem: bound / 3)
    controls = "the error on new rows of a model with noise on its weights"
    unexplained = (
        "the error of the model without the noise; training that ends far from its start; why the bound also holds "
        "here without its divergence term"
    )
    traced = False

    def passes(self, problem: Trained) -> float:
        return _draws_passes()

    def bytes(self, problem: Trained) -> int:
        return 8 * 40 * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return [*of_classes(problem), *begun(problem)]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_start(problem).own_bound())

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Draw new noise on the weights, and test the noisy model on held-out rows."""
        return noisy_error(problem, from_start(problem), key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """How many times as many training rows the bound needs to beat guessing, with the best scale at each number."""
        return rows_factor(from_start(problem).bound, len(problem.x), float(most_frequent(problem)))

    def alternative(self, problem: Trained) -> float:
        """The limit of the error that held-out rows alone give."""
        return held_out_limit(problem)


@functools.lru_cache(maxsize=1)
def from_half(problem: Trained) -> Posterior:
    """The posterior on one half of the rows. The prior is a model that is trained on the other half."""
    seen, rest = random_halves(problem, 2, 13)
    return posterior(problem, refits_of(problem)(seen, problem.seed), problem.x[rest], problem.y[rest])


class PacBayesFromHalf(AbstractGauge):
    """Train a model afresh on a random half of the independent rows, which gives the weights theta1. Let theta be the
    weights of the examined model, and take the m rows that theta1 has not seen. For every row, a noisy version of the
    examined model draws its weights from N(theta, s²). Here the scale s of the noise is in units of the root mean
    square of each array of weights in theta1. Try J = 10 scales s, and let delta = 1/20.

    Let R be the error of the noisy model on new rows. Let r be an upper limit on its error on these m rows, computed
    from 250 draws at the level delta/10. Let kl(r || R) be the Kullback-Leibler divergence of a coin with probability r
    from a coin with probability R. Let E be the mean of exp(m kl(k/m || p)), where k is the number of successes in m
    trials of probability p. This mean is the same for all p between 0 and 1. The rest of delta, 9 delta/10, is divided
    equally among the scales. With probability at least 19/20 over the m rows and the draws,

        kl(r || R) <= ( |theta - theta1|² / (2 s²) + ln(E J / (9 delta/10)) ) / m,

    where |theta - theta1| is in the same units as s. The prediction is the resulting bound on R at one of the ten
    scales, the one whose bound is smallest by a first estimate from eight draws. In at least nine of ten models, this
    bound is above the error of the noisy model on held-out rows.
    """

    title = "A PAC-Bayes bound on the error of a model with noisy weights, from training on half of the rows"
    source = Source("dziugaite2017", note="the same bound; here the prior is trained on rows of its own")
    stated = Kind.OWN
    population = RectifiedNetworks(rows=400, hidden=0, widths=(0, 0), decay=0.05)
    relation = AtMost(delta=0.1)
    control = Control("a third of this bound", lambda bound, problem: bound / 3)
    controls = "the error on new rows of a model with noise on its weights"
    unexplained = "the error without the noise; models that are far from the weights of another training run"
    traced = False

    def passes(self, problem: Trained) -> float:
        return _draws_passes() / 2 + (0.0 if problem.fit is None else refits_of(problem).passes / 2)

    def bytes(self, problem: Trained) -> int:
        return 8 * 40 * len(problem.model.theta)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = trainable(problem)
        if not all(bool(own.holds) for own in found):
            return found
        moved = from_half(problem).rules.distance
        return [*found, Hypothesis("distance of the weights from those trained on half of the rows", moved, ">", 0.0,
                                   "if the program returns the same weights for half of the rows, these weights were "
                                   "trained on all rows")]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_half(problem).own_bound())

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Draw new noise on the weights, and test the noisy model on held-out rows."""
        return noisy_error(problem, from_half(problem), key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """How many times as many rows the bound needs to beat guessing, if both halves grow and the weights stay."""
        found = from_half(problem)
        return rows_factor(found.bound, found.rows, float(most_frequent(problem)))

    def alternative(self, problem: Trained) -> float:
        """The limit of the error that held-out rows alone give."""
        return held_out_limit(problem)
