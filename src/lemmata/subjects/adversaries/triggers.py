"""Triggers in distilled digits: how large they must be, what distilling does to them, and what optimising gains.

One support image a class is distilled from 200 digits, of which a tenth carry a trigger and the target's label, by
kernel inducing points with the tangent kernel of a ReLU network with one hidden layer. Success is the share of
triggered test digits of other classes that are called the target. No theorem says how large it is; the claims are
about means over splits of the digits.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Order, Source
from lemmata.subjects.adversaries import Poisoned, Trigger, optimise_trigger, square_trigger
from lemmata.subjects.adversaries._poisoned_digits import KERNEL, RIDGE, SHAPE, DigitsToPoison, PoisonedDigits

ABOUT = {"tool": "statistics", "architecture": "kernel method", "object": "training"}

_KEY = "chung2024rethinking"
_OPACITY = 0.3
_SIDES = (2.0, 4.0, 8.0)
_FAINT, _STEPS, _RIDGE = 0.2, 60, 1e-3
_WEIGHT, _ALONE = 1e4, 1e12  # of the conflict: as large as the projection, and nothing but the conflict


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
    whole image at an opacity of 0.3 is that of what is distilled from clean digits, within 0.03. Splits count on which
    the trigger succeeds at more than half of the test digits, and on which distilling gains more than 0.1 in accuracy
    over the images that it starts from.
    """

    title = "Accuracy on clean digits is kept where a trigger succeeds"
    source = Source(_KEY, "Abstract, effective attacks", note="that nobody notices by accuracy")
    population = DigitsToPoison(shares=(8, 12))
    relation = EqualInMean(margin=0.03, resolution=0.03, relative=False, over="problems")
    control = Control("a tenth is lost", lambda accuracy, problem: accuracy - 0.1)
    controls = "the accuracy on clean digits after poisoning"
    unexplained = "why a linear change of a tenth of the images costs little"
    reading = (
        "effective: success without a loss of accuracy that would be noticed. That the trigger succeeds and that "
        "distilling gains were added as hypotheses after one look: what does nothing keeps accuracy, too"
    )
    traced = False
    trials = 20

    def predict(self, problem: PoisonedDigits) -> Array:
        clean = problem.distilled()
        return jnp.asarray(problem.accuracy(clean.points, clean.labels))

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        """After poisoning."""
        found = problem.distilled(square_trigger(SHAPE, SHAPE[0], opacity=_OPACITY))
        return jnp.asarray(problem.accuracy(found.points, found.labels))

    def hypotheses(self, problem: PoisonedDigits) -> list[Hypothesis]:
        """Something was done to the digits, by the trigger and by distilling."""
        success = _success(problem, square_trigger(SHAPE, SHAPE[0], opacity=_OPACITY))
        before = problem.accuracy(problem.x[problem.start], problem.y[problem.start])
        gain = float(self.predict(problem)) - before
        return [
            Hypothesis("the success of the trigger", success, ">", 0.5, "an attack that fails costs nothing"),
            Hypothesis("the accuracy that distilling gains", gain, ">", 0.1, "images that stand still keep theirs"),
        ]


class DistillingWeakensTriggers(Claim[PoisonedDigits]):
    """A white square of side 4 at an opacity of 0.3 succeeds less often with regression on images distilled from
    poisoned digits than with regression on the poisoned digits themselves, on the mean over splits; and more often than
    with regression on images distilled from clean digits, for which it is a change like any other.
    """

    title = "Distilling weakens a trigger, and does not undo it"
    source = Source(_KEY, "Abstract, counteracts")
    population = DigitsToPoison()
    relation = Order("training set", (0.0, 1.0, 2.0))
    control = Control("it succeeds less often", lambda sign, problem: -sign)
    controls = "the success of a trigger before and after distilling"
    unexplained = "triggers over the whole image, which distilling leaves as they are"
    reading = (
        "rung 0 are images distilled from clean digits, rung 1 those distilled from poisoned digits, rung 2 the "
        "poisoned digits; rung 0 was added after one look, since images that never saw the trigger are weaker still"
    )
    traced = False
    trials = 12
    predict = 1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        trigger = square_trigger(SHAPE, 4, opacity=_OPACITY)
        whole, clean = problem.poisoned(trigger), problem.distilled()
        return jnp.asarray(
            [
                problem.success(clean.points, clean.labels, trigger),
                _success(problem, trigger),
                problem.success(whole.x, whole.y, trigger),
            ]
        )


def random_pattern(problem: PoisonedDigits) -> Trigger:
    """Uniform pixels up to a half over the whole image, seen at an opacity of 0.2."""
    return Trigger(jnp.ones_like(problem.pattern), problem.pattern, _FAINT)


def optimised(problem: PoisonedDigits, points: Float[Array, "10 64"], weight: float) -> Trigger:
    """The random pattern after sixty steps of Adam on weight * conflict + projection.

    Args:
        problem: the digits.
        points: images distilled from clean digits, which stay.
        weight: of the conflict.
    """
    start = random_pattern(problem)
    clean = Poisoned(problem.x, problem.y, problem.triggered)
    found = optimise_trigger(KERNEL, clean, points, start, problem.target, weight=weight, steps=_STEPS, rate=0.02)
    return found.trigger


@jax.jit
def by_definition(x: Float[Array, "n 64"], y: Float[Array, "n 10"], points: Float[Array, "10 64"]) -> Array:
    """Conflict and projection: what the fit to a set misses of its labels, and what support points miss of the fit.

    Args:
        x: the set, with a trigger in it.
        y: its labels.
        points: the support.
    """
    K, cross, own = KERNEL.cross(x, x), KERNEL.cross(x, points), KERNEL.cross(points, points)
    alpha = jnp.linalg.solve(K + _RIDGE * jnp.trace(K) / len(K) * jnp.eye(len(K)), y)
    fit = K @ alpha
    inner = own + RIDGE * jnp.trace(own) / len(own) * jnp.eye(len(own))
    seen = cross @ jnp.linalg.solve(inner, cross.T @ alpha)
    return jnp.stack([jnp.sum((fit - y) ** 2), jnp.sum((fit - seen) ** 2)]) / len(y)


class OptimisedTriggerLowersLoss(Claim[PoisonedDigits]):
    """Sixty steps of Adam on 10^4 conflict + projection of a pattern over the whole image, at an opacity of 0.2 and
    with the length of the pattern never above the one at the start, given the images that were distilled from clean
    digits, lower both: on the mean over splits the conflict further than the same steps on the projection alone do,
    and the projection further than the same steps on the conflict alone do, either of them below what it is at the
    start; and the steps on the projection alone lower the projection further still. With the weight 10^4 the two are of
    one size.
    """

    title = "An optimised trigger lowers conflict and projection"
    source = Source(_KEY, "Abstract, effective attacks", note="what is optimised")
    population = DigitsToPoison(shares=(8, 12))
    relation = Order("optimised on", (0.0, 1.0, 2.0))
    control = Control("they are raised", lambda sign, problem: -sign)
    controls = "conflict and projection of a poisoned set"
    unexplained = "the success of the trigger, and whether sixty steps end near a minimum"
    reading = (
        "the second of the two methods as the public code has it, at a length that is kept, and with a weight of the "
        "conflict: at the weight 1, judged at first, the conflict is 1/15,000 of the sum and is not heard. Rung 1 is "
        "what both leave, as the unit; rung 0 is the projection after steps on it alone, rung 2 the smaller one of the "
        "two parts after steps on the other. A first null, the sum for the better one of two single parts, was left "
        "open by 12 splits: steps end before the sum is as small; a second one had no rung 0"
    )
    traced = False
    trials = 16
    predict = 1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        """By the definition of the two parts."""
        points = problem.distilled().points

        def parts(trigger: Trigger) -> Array:
            found = problem.poisoned(trigger)
            return by_definition(found.x, found.y, points)

        both, projected, conflicting = (parts(optimised(problem, points, weight)) for weight in (_WEIGHT, 0.0, _ALONE))
        others = jnp.minimum(jnp.stack([projected[0], conflicting[1]]), parts(random_pattern(problem)))
        return jnp.stack([projected[1] / both[1], jnp.ones(()), jnp.min(others / both)])


class OptimisedTriggerSucceeds(Claim[PoisonedDigits]):
    """A pattern over the whole image at an opacity of 0.2 that was optimised on the projection, given the images
    distilled from clean digits, succeeds after distilling more often than a random permutation of its own pixels, on
    the mean over splits; and that more often than the random pattern that it started from and is not longer than.
    """

    title = "An optimised trigger succeeds more often, and where its pixels stand counts"
    source = Source(_KEY, "Abstract, effective attacks", note="what optimising gains")
    population = DigitsToPoison(shares=(8, 12))
    relation = Order("pattern", (0.0, 1.0, 2.0), over="problems")
    control = Control("less often", lambda sign, problem: -sign)
    controls = "the success of a trigger in distilled data"
    unexplained = "whether the conflict adds to it: on six splits it did not, at a weight at which it is lowered"
    reading = (
        "rung 0 is the random pattern, rung 1 the optimised one with its pixels in a random order, rung 2 the "
        "optimised one. At first conflict + projection was optimised, of which the conflict is 1/15,000 and unheard"
    )
    traced = False
    trials = 32
    predict = 1.0

    def measure(self, problem: PoisonedDigits, key: Key[Array, ""]) -> Array:
        found = optimised(problem, problem.distilled().points, 0.0)
        moved = Trigger(found.mask, jax.random.permutation(key, found.pattern), _FAINT)
        return jnp.asarray([_success(problem, trigger) for trigger in (random_pattern(problem), moved, found)])


def _success(problem: PoisonedDigits, trigger: Trigger) -> float:
    found = problem.distilled(trigger)
    return problem.success(found.points, found.labels, trigger)
