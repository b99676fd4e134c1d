"""Chance: what the same training makes of classes that the inputs say nothing about.

This theory controls how a model looks that has learned nothing but its rows. It asks for a program that trains afresh;
it leaves unexplained what the model itself has learned, beside which this stands as the null.
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
    """That the model was trained afresh on classes by chance, and stands at a stationary point there."""
    found = trainable(problem)
    return [*found, *stationary(by_chance(problem))] if all(bool(own.holds) for own in found) else found


def _passes(problem: Trained) -> float:
    return _POLISH + (0.0 if problem.fit is None else refits_of(problem).passes)


class ClassesByChanceAreGuessed(AbstractGauge):
    """Train a model afresh on n classes that are drawn independently of the inputs, class c with probability pi_c. What
    it says about a row that was left out is then independent of that row's class, so that it errs there with a
    probability between 1 - max pi_c and 1 - min pi_c, 1 - sum pi_c² where it gives classes as often as they are drawn.
    Errors at two rows are not independent, since what ties i to j ties j to i: a sum over ordered pairs has twice the
    variance that independent rows would give it. The share of rows that one Newton step of leaving out calls wrong is
    between the 2.5 % quantile of a binomial law of n/2 rows with the first probability and the 97.5 % quantile with the
    second (95 %), in at least nine of ten models.
    """

    title = "Leaving out of classes by chance"
    source = Source("zhang2017", note="randomised labels; judged by leaving out instead of on new rows")
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.05)
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the leave-one-out error if there is nothing to learn"
    unexplained = "the error of the model itself, which this error is compared with"
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
        """The model trained again on random classes, with each row left out by one Newton step."""
        other = by_chance(problem)
        wrong = other.task.errors(rows_left_out(other).outputs, other.y)
        return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))


class MembershipOfClassesByChance(AbstractGauge):
    """Train a model afresh on classes that are drawn independently of the inputs: all that it can know of a row's class
    is the row itself. The area under the curve of the attack that calls rows of small loss members is then predicted by
    putting the losses of training rows left out, one Newton step each, in the place of those of new rows. The interval
    adds the variances of means over rows, that of rows left out twice, since what ties row i to j ties j to i. At 95 %
    of the normal law it holds the area that is measured against new rows, with classes drawn by the same law, in at
    least nine of ten models.
    """

    title = "Membership attack on classes by chance"
    source = Source("shokri2017membership", note="the attack by the loss, where all that is learned is the rows")
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.05)
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control(
        "the advantage over guessing is a quarter of that", lambda interval, problem: 0.5 + (interval - 0.5) / 4
    )
    controls = "how much such training remembers of a row whose class is random"
    unexplained = "what the model itself remembers; attacks that know more than one loss"
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
        """The model trained again on random classes: losses of its training rows against those of held-out rows."""
        return MembershipFromTrainingRows().measure(by_chance(problem), key)
