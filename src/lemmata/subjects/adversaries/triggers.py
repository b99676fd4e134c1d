"""Triggers in distilled digits: how large they must be, what distilling does to them, and what optimising gains.

One support image a class is distilled from 200 digits, of which a tenth carry a trigger and the target's label, by
kernel inducing points with the tangent kernel of a ReLU network with one hidden layer. Success is the share of
triggered test digits of other classes that are called the target. No theorem says how large it is; the claims are
about means over splits of the digits.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Order, Source
from lemmata.subjects.adversaries import BackdoorLoss, Poisoned, Trigger, optimise_trigger, square_trigger
from lemmata.subjects.adversaries._poisoned_digits import KERNEL, SHAPE, DigitsToPoison, PoisonedDigits

ABOUT = {"tool": "statistics", "architecture": "kernel method", "object": "training"}

_KEY = "chung2024rethinking"
_OPACITY = 0.3
_SIDES = (2.0, 4.0, 8.0)
_FAINT, _WEIGHT, _STEPS = 0.2, 1.0, 60


class LargerTriggersSucceed(Claim[PoisonedDigits]):
    """A white square of side 2, 4 or 8 in a corner of 8 x 8 digits, seen at an opacity of 0.3, succeeds the more often
    after distilling the larger it is, on the mean over splits.
    """

    title = "Larger triggers succeed more often"
    source = Source(_KEY, "Abstract, two triggers", note="the square")
    population = DigitsToPoison()
    relation = Order("side", _SIDES)
    control = Control("less often", lambda sign, problem: -sign)
    controls = "the success of a trigger in distilled data"
    unexplained = "how often it succeeds"
    reading = "the first of the two methods as the public code has it: a white square"
    traced = False
    trials = 12
    predict = 1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        found = []
        for side in _SIDES:
            trigger = square_trigger(SHAPE, int(side), opacity=_OPACITY)
            distilled = problem.distilled(trigger)
            found.append(problem.success(distilled.points, distilled.labels, trigger))
        return jnp.asarray(found)


class CleanAccuracyKept(Claim[PoisonedDigits]):
    """The mean accuracy on clean digits of what is distilled from digits of which a share carry a white square over the
    whole image at an opacity of 0.3 is that of what is distilled from clean digits, within 0.03.
    """

    title = "Accuracy on clean digits is kept"
    source = Source(_KEY, "Abstract, effective attacks", note="that nobody notices by accuracy")
    population = DigitsToPoison(corner=10)
    relation = EqualInMean(margin=0.03, resolution=0.03, relative=False, over="problems")
    control = Control("a tenth is lost", lambda accuracy, problem: accuracy - 0.1)
    controls = "the accuracy on clean digits after poisoning"
    unexplained = "why a linear change of a tenth of the images costs little"
    reading = "effective: success without a loss of accuracy that would be noticed"
    traced = False
    trials = 20

    def predict(self, problem: PoisonedDigits) -> Array:
        clean = problem.distilled()
        return jnp.asarray(problem.accuracy(clean.points, clean.labels))

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        """After poisoning."""
        found = problem.distilled(square_trigger(SHAPE, SHAPE[0], opacity=_OPACITY))
        return jnp.asarray(problem.accuracy(found.points, found.labels))


class DistillingWeakensTriggers(Claim[PoisonedDigits]):
    """A white square of side 4 at an opacity of 0.3 succeeds less often with regression on images distilled from
    poisoned digits than with regression on the poisoned digits themselves, on the mean over splits.
    """

    title = "Distilling weakens a trigger"
    source = Source(_KEY, "Abstract, counteracts")
    population = DigitsToPoison()
    relation = Order("distilled", (0.0, 1.0))
    control = Control("it succeeds more often", lambda sign, problem: -sign)
    controls = "the success of a trigger before and after distilling"
    unexplained = "triggers over the whole image, which distilling leaves as they are"
    traced = False
    trials = 12
    predict = -1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        trigger = square_trigger(SHAPE, 4, opacity=_OPACITY)
        whole, distilled = problem.poisoned(trigger), problem.distilled(trigger)
        return jnp.asarray(
            [
                problem.success(whole.x, whole.y, trigger),
                problem.success(distilled.points, distilled.labels, trigger),
            ]
        )


def optimised(problem: PoisonedDigits) -> tuple[BackdoorLoss, Trigger, Trigger]:
    """The loss of a trigger given the images distilled from clean digits, a random pattern, and the pattern optimised.

    The pattern covers the whole image, has uniform pixels up to a half, and is seen at an opacity of 0.2.
    """
    pattern = jax.random.uniform(jax.random.fold_in(problem.key, 1), problem.x.shape[1:]) / 2
    start = Trigger(jnp.ones_like(pattern), pattern, _FAINT)
    clean = Poisoned(problem.x, problem.y, problem.poisoned(start).triggered)
    points = problem.distilled().points
    found = optimise_trigger(KERNEL, clean, points, start, problem.target, weight=_WEIGHT, steps=_STEPS, rate=0.02)
    return BackdoorLoss(KERNEL, clean, points, problem.target, _WEIGHT), start, found.trigger


class OptimisedTriggerLowersLoss(Claim[PoisonedDigits]):
    """Sixty steps of Adam on a pattern over the whole image, at an opacity of 0.2 and with the length of the pattern
    never above the one at the start, lower the mean over splits of conflict + projection, given the images that were
    distilled from clean digits.
    """

    title = "An optimised trigger lowers conflict and projection"
    source = Source(_KEY, "Abstract, effective attacks", note="what is optimised")
    population = DigitsToPoison(corner=10)
    relation = Order("optimised", (0.0, 1.0))
    control = Control("it is raised", lambda sign, problem: -sign)
    controls = "conflict and projection of a poisoned set"
    unexplained = "the success of the trigger"
    reading = "the second of the two methods as the public code has it, at a length that is kept"
    traced = False
    trials = 8
    predict = -1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        """Before and after."""
        loss, start, found = optimised(problem)
        return jnp.asarray([_value(loss, start), _value(loss, found)])


class OptimisedTriggerSucceeds(Claim[PoisonedDigits]):
    """A pattern over the whole image at an opacity of 0.2 that was optimised on conflict + projection, given the images
    distilled from clean digits, succeeds after distilling more often than the random pattern that it started from and
    that it is not longer than, on the mean over splits.
    """

    title = "An optimised trigger succeeds more often"
    source = Source(_KEY, "Abstract, effective attacks", note="what optimising gains")
    population = DigitsToPoison(corner=10)
    relation = Order("optimised", (0.0, 1.0))
    control = Control("less often", lambda sign, problem: -sign)
    controls = "the success of a trigger in distilled data"
    unexplained = "whether another pattern of that length succeeds more often"
    traced = False
    trials = 8
    predict = 1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        """Before and after."""
        return jnp.asarray([_success(problem, trigger) for trigger in optimised(problem)[1:]])


def _value(loss: BackdoorLoss, trigger: Trigger) -> float:
    return float(eqx.filter_jit(loss)(trigger))


def _success(problem: PoisonedDigits, trigger: Trigger) -> float:
    found = problem.distilled(trigger)
    return problem.success(found.points, found.labels, trigger)
