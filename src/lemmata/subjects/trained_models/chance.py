"""Chance: the result of the same training on random classes, which do not depend on the inputs.

The theory describes a model that can only memorise its training rows. It needs a program that trains afresh. It leaves
open what the model itself has learned; the result on random classes is the null value for this.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._gauge import AbstractGauge
from ._leave_one_out import rows_left_out
from ._polish import polished_copy
from ._refit import by_chance, refits_of
from .leaving_out import LIMITS, MembershipFromTrainingRows, attack_area, measured_share
from .refits import trainable

ABOUT = {"tool": "statistics", "architecture": "any", "object": "memory"}

_POLISH = 100.0


def at_chance(problem: Trained) -> list[Hypothesis]:
    """The condition that the model was trained again on random classes and reached a stationary point."""
    found = trainable(problem)
    return [*found, *stationary(by_chance(problem))] if all(bool(own.holds) for own in found) else found


def _passes(problem: Trained) -> float:
    return _POLISH + (0.0 if problem.fit is None else refits_of(problem).passes)


class ClassesByChanceAreGuessed(AbstractGauge):
    """Train a model afresh on n rows whose classes are drawn independently of the inputs. Let class c have the
    probability pi_c. The model's prediction for a row that was left out is then independent of the class of this row.
    So this prediction is wrong with a probability between 1 - max pi_c and 1 - min pi_c. The probability is 1 - sum
    pi_c² if the model predicts each class c with probability pi_c. Errors at two rows are not independent, because row
    i influences the prediction for row j, and row j influences the prediction for row i. The share of wrong rows
    therefore counts as a share of n/2 independent rows, which has twice the variance. Now leave each row out by one
    Newton step, and take two binomial distributions of n/2 trials. The first has the probability 1 - max pi_c, and the
    second has the probability 1 - min pi_c. In at least nine of ten models, the share of wrong left-out rows lies
    between two limits: the 2.5 % quantile of the first distribution and the 97.5 % quantile of the second, both divided
    by n/2.
    """

    title = "Leave-one-out error of a model trained on random classes, predicted as the error of guessing"
    source = Source("zhang2017", note="randomised labels; here tested by leaving rows out instead of on new rows")
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.05)
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the leave-one-out error when there is nothing to learn"
    unexplained = "the error of the model on its real labels; this check gives the value to compare it with"
    traced = False
    trivial = 1.0  # an error is at most 1

    def passes(self, problem: Trained) -> float:
        return _passes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return at_chance(problem)

    def predict(self, problem: Trained) -> Array:
        share, n = problem.y.mean(0), len(problem.y) // 2
        low = stats.binom.ppf((1 - self.level) / 2, n, 1 - share.max()) / n
        high = stats.binom.ppf((1 + self.level) / 2, n, 1 - share.min()) / n
        return jnp.asarray([low, 1 - (share**2).sum(), high])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The leave-one-out error, by Newton steps, of the model that was trained again on random classes."""
        other = by_chance(problem)
        wrong = other.task.errors(rows_left_out(other).outputs, other.y)
        return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))


class MembershipOfClassesByChance(AbstractGauge):
    """Train a model afresh on classes that are drawn independently of the inputs. Then the model can learn the class of
    a row only from this row itself. An attack calls a row a member (a training row) if its loss is small. To predict
    the area under its ROC curve, leave each training row out by one Newton step. Use the losses of the left-out rows in
    place of the losses of new rows. The measured area compares training rows with new rows, whose classes are drawn
    from the same distribution. Both areas are means over rows, and the interval around the prediction uses the sum of
    their variances. The variance of the left-out rows counts twice, because row i influences the prediction for row j,
    and row j influences the prediction for row i. With the normal limits of 95 %, the interval contains the measured
    area in at least nine of ten models.
    """

    title = "Success of a membership attack on random classes, predicted by leaving rows out"
    source = Source(
        "shokri2017membership", note=("the attack by the loss; here on models that learn nothing except their own rows")
    )
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.05)
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("a quarter of this advantage over guessing", lambda interval, problem: 0.5 + (interval - 0.5) / 4)
    controls = "how much training of this kind reveals about a row whose class is drawn at random"
    unexplained = "what the model itself reveals; attacks that use more than one loss of a row"
    traced = False
    trivial = 0.5  # the area of guessing

    def passes(self, problem: Trained) -> float:
        return _passes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return at_chance(problem)

    def predict(self, problem: Trained) -> Array:
        other = by_chance(problem)
        seen = other.task.losses(polished_copy(other).model.outputs(other.x), other.y)
        area, of_members, of_others = attack_area(seen, other.task.losses(rows_left_out(other).outputs, other.y))
        n = len(seen)
        new = n if other.held is None else len(other.held[0])
        reach = stats.norm.ppf((1 + self.level) / 2) * np.sqrt(2 * of_members / n + of_others * (2 / n + 1 / new))
        return jnp.asarray([max(area - reach, 0.0), area, min(area + reach, 1.0)])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compare losses of training rows and held-out rows in the model trained again on random classes."""
        return MembershipFromTrainingRows().measure(by_chance(problem), key)
