"""Leaving out: what training rows alone show about rows that the model has not seen.

The theory predicts the error of a model on new rows from the same distribution. It needs a stationary point of a known
objective, and rows that are not duplicates of each other. It leaves open why the model has this error.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from lemmata.answers import share_interval
from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._nearby import unsettled_nearby
from ._outputs import held_outputs, held_rows
from ._polish import polished_copy

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_LEVEL = 0.95
LIMITS = f"{100 * _LEVEL:g} % limits"
"""The words for the ends of the interval of a measured share or mean."""


def predicted_share(
    count: float, n: float, m: int, level: float = _LEVEL, unsettled: float = 0.0
) -> Float[np.ndarray, "3"]:
    """Predict the share of m new rows with a property that `count` of n rows have: low end, value and high end.

    Under Jeffreys' prior, the number of new rows with the property is beta-binomial. It lies between the quantiles of
    this distribution with about the stated probability, because the distribution includes the chance in both samples.
    Suppose that another model may differ on the share `unsettled` of new rows. This can raise or lower the number by at
    most the number of unsettled rows. The shift is taken as uniform, because it is unknown which model is right on
    these rows.
    """
    law, most = stats.betabinom(m, count + 0.5, n - count + 0.5), round(unsettled * m)
    # P(count + u <= k) is the mean of P(count <= j) over the window k - most <= j <= k + most; law.cdf would add these
    # up anew for every count
    below = np.minimum(np.cumsum(law.pmf(np.arange(m + 1))), 1.0)  # pyright: ignore[reportAttributeAccessIssue]
    below = np.pad(below, 2 * most, mode="constant", constant_values=(0.0, 1.0))
    sums = np.concatenate([[0.0], np.cumsum(below)])
    reached = (sums[2 * most + 1 :] - sums[: -(2 * most + 1)]) / (2 * most + 1)
    ends = np.searchsorted(reached, [(1 - level) / 2, (1 + level) / 2]) - most
    low, high = np.clip(ends, 0, m)
    return np.array([low, count / n * m, high]) / m


def mean_limits(values: Float[np.ndarray, " n"], inverse_rows: float, level: float = _LEVEL) -> Float[np.ndarray, "3"]:
    """Return the mean of n nonnegative values with normal limits, from the variance s² (1/n + 1/m).

    Here s² is the variance of the values, and m is the number of new rows.

    Args:
        values: one value for each row, such as its loss.
        inverse_rows: the factor of s² in the variance, for example 1/n + 1/m.
        level: the stated level of the limits.
    """
    mean, reach = values.mean(), stats.norm.ppf((1 + level) / 2) * values.std(ddof=1) * np.sqrt(inverse_rows)
    return np.array([max(mean - reach, 0.0), mean, mean + reach])


def measured_share(count: int, n: int, level: float = _LEVEL) -> Float[np.ndarray, "3"]:
    """Return a share with its Clopper-Pearson limits."""
    low, high = share_interval(float(count), float(n - count), level)
    return np.array([low, count / n, high])


def independent_rows(n: int, error: float, chance: float) -> float:
    """Return how many independent rows the errors at n left-out rows are worth: n / (1 + error/chance), at least n/2.

    The error at row i depends on row j as much as the error at j depends on i. If classes are guessed, the error at a
    row is a sum of effects, one from each other row. The effect of row i on row j equals the effect of row j on row i,
    so in the sum over ordered pairs of rows each effect occurs twice. This sum has twice the variance of a sum of
    independent effects. If classes are not guessed, rows share no effects.

    Args:
        n: the number of left-out rows.
        error: the share of these rows that is wrong.
        chance: the wrong share if classes are guessed.
    """
    return n / (1 + min(error / chance, 1.0)) if chance > 0 else float(n)


def _guessing(problem: Trained) -> float:
    """The error of always saying the most frequent class."""
    return float(1 - problem.y.mean(0).max())


def _unseen(problem: Trained) -> int:
    """The number of rows to predict: held-out rows without duplicates or, if there are none, training rows."""
    held = 0 if problem.held is None else int(fresh_rows(problem).sum())
    return held or len(problem.x)


class HeldOutErrorFromTrainingRows(AbstractGauge):
    """Let theta be the parameters of a model at a stationary point of the mean of n log losses plus (delta/2) |theta|²,
    where delta is the decay. For row i, let f_i be the outputs, and let J_i be their Jacobian with respect to theta.
    Let p_i be the predicted probabilities, and let y_i be the target. Let Lambda_i = diag p_i - p_i p_i', and let H =
    sum_i J_i' Lambda_i J_i + n delta be the Gauss-Newton curvature. With S_i = J_i H^-1 J_i', one Newton step that
    approximates leaving row i out changes the outputs at row i to

        f_i + S_i (1 - Lambda_i S_i)^-1 (p_i - y_i).

    Let e be the share of rows whose class is then wrong. The share e predicts the share of wrong rows among unseen
    rows. It also implies a beta-binomial distribution for the number of wrong unseen rows. In this distribution, the n
    rows count as n/(1 + e/c) independent rows, where c is the error of always predicting the most frequent class. This
    count is smaller than n because any two rows influence the predictions for each other. In at least nine of ten
    models, the central 97 % of this distribution contain the number of wrong unseen rows.

    The step needs a stationary point. If the model is not at a stationary point, a copy of the model is brought to one.
    Consider rows that are as far from the training rows as the training rows are from each other. Let u be the share of
    these rows to which the model and the copy assign different classes. The difference between the errors of the model
    and of the copy on new rows is assumed uniform between -u and u.

    For real-valued targets and squared loss, Lambda_i is the identity. The mean squared distance between targets and
    predictions is then predicted, with normal limits for both samples, at the same level.
    """

    title = "Held-out error, predicted from training rows alone"
    source = Source("rad2020alo", note="main result; here for any model with derivatives")
    stated = Kind.OWN
    population = TrainedNetworks()
    relation = Estimate()
    level = 0.97  # the intervals contained 315 of 320 counts of the population
    ends = LIMITS
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error of a trained model on rows that it has not seen"
    unexplained = "rows from another distribution; duplicates among the rows; why this model has this error"
    traced = False
    trials = 320
    shared = (polished_copy, rows_left_out)

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return stationary(problem)

    def predict(self, problem: Trained) -> Array:
        wrong = problem.task.errors(rows_left_out(problem).outputs, problem.y)
        new = _unseen(problem)
        if not problem.task.is_classification:
            return jnp.asarray(mean_limits(wrong, 1 / len(wrong) + 1 / new, self.level))
        rows = independent_rows(len(wrong), float(wrong.mean()), _guessing(problem))
        return jnp.asarray(
            predicted_share(float(wrong.mean() * rows), rows, new, self.level, unsettled_nearby(problem))
        )

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates of training rows."""
        new = fresh_rows(problem)
        wrong = problem.task.errors(held_outputs(problem)[new], held_rows(problem)[1][new])
        if not problem.task.is_classification:
            return jnp.asarray(mean_limits(wrong, 1 / len(wrong)))
        return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class; for real-valued targets, their variance."""
        if not problem.task.is_classification:
            return jnp.asarray(problem.y.var(0).sum())
        return jnp.asarray(_guessing(problem))


def attack_area(members: Float[np.ndarray, " n"], others: Float[np.ndarray, " m"]) -> tuple[float, float, float]:
    """Return the ROC area of an attack that calls rows of small loss members, and two variances.

    The area is a mean over members, and also a mean over other rows. The two variances are the variances of the terms
    in these means.

    Args:
        members: losses of rows that the model has seen.
        others: losses of rows that the model has not seen.
    """
    both = np.concatenate([members, others])
    place = stats.rankdata(both)
    of_others = (place[len(members) :] - stats.rankdata(others)) / len(members)
    of_members = 1 - (place[: len(members)] - stats.rankdata(members)) / len(others)
    return float(of_others.mean()), float(of_members.var(ddof=1)), float(of_others.var(ddof=1))


class MembershipFromTrainingRows(AbstractGauge):
    """Let an attacker see the log loss of a row. The attacker guesses that the model has seen the row if the loss is
    small. The area under the ROC curve of this attack is the probability that a training row has a smaller loss than a
    new row. To predict this area, leave each training row out by one Newton step from a stationary point. Use the loss
    of the row after this step in place of the loss of a new row. The predicted area and the measured area are both
    means over rows. The variance of their difference is the sum of the variances of the two means. With this variance,
    the interval with normal limits of 95 % around the predicted area contains the measured area in at least nine of ten
    models.
    """

    title = "Success of a loss-based membership attack, predicted from training rows"
    source = Source("shokri2017membership", note="the attack by the loss; here predicted by leaving rows out")
    stated = Kind.OWN
    population = TrainedNetworks()
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("a quarter of this advantage over guessing", lambda interval, problem: 0.5 + (interval - 0.5) / 4)
    controls = "how well the loss of a row shows whether the model has seen it"
    unexplained = "attacks that use more than one loss of a row, or train models of their own"
    traced = False
    trials = 160
    shared = (polished_copy, rows_left_out)
    trivial = 0.5  # the area of guessing

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return stationary(problem, movement=0.1)

    def predict(self, problem: Trained) -> Array:
        model, task = polished_copy(problem).model, problem.task
        seen = task.losses(model.outputs(problem.x), problem.y)
        area, of_members, of_others = attack_area(seen, task.losses(rows_left_out(problem).outputs, problem.y))
        n = len(seen)
        new = _unseen(problem)
        reach = stats.norm.ppf((1 + self.level) / 2) * np.sqrt(2 * of_members / n + of_others * (1 / n + 1 / new))
        return jnp.asarray([max(area - reach, 0.0), area, min(area + reach, 1.0)])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compare losses of the copy at a stationary point on training rows and on held-out rows without duplicates."""
        model, task = polished_copy(problem).model, problem.task
        x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
        seen, new = task.losses(model.outputs(problem.x), problem.y), task.losses(model.outputs(x), y)
        area, of_members, of_others = attack_area(seen, new)
        reach = stats.norm.ppf((1 + _LEVEL) / 2) * np.sqrt(of_members / len(seen) + of_others / len(new))
        return jnp.asarray([area - reach, area, area + reach])
