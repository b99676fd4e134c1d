"""False neighbours of a claim (mutants): statements near it, made by changing the predictions of its finished trials.

Factors, exponents, widths of intervals or signs are changed, predictions are exchanged between problems, or sizes lose
their effect. A mutation of one component changes only one entry of each prediction.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np

from ._bounds import AbstractBound, AtMost, Witness
from ._claim import Status
from ._controls import status_of
from ._equalities import EqualInMean
from ._estimates import HIGH, LOW, VALUE, Estimate
from ._ladders import AbstractLadder, Order, Rate
from ._relations import Relation, Sample, columns

PARTS = 8
"""At most this many components are mutated, one at a time. They are evenly spaced from the first to the last."""

FARTHEST = {"factor": math.log(1000.0), "exponent": 4.0, "share": 1.0}
"""The largest change of each kind that is tried: a factor 1000 (given by its logarithm), an exponent 4, and the whole
way to the control."""

_CLOSEST = 1e-15
# number of halvings of the range between the closest and the farthest change, which covers 36 powers of e; the nearest
# refuted change is then known to 2e-4 of its value
_STEPS = 18
_WRONG, _WRONG_EXPONENT = math.log(1.25), 0.2  # a prediction counts as wrong if it differs by at least this
_OFTEN = 0.25  # the share of the trials in which other predictions must be wrong


@dataclasses.dataclass(frozen=True)
class Way:
    """A way in which a prediction can be wrong.

    Args:
        name: the change in words, such as "x" for a factor.
        unit: the unit of the amount by which the prediction is changed. The unit is "factor" (the amount is the
            logarithm of the factor), "exponent" (the amount is added to the exponent), or "share" (the amount is the
            share of the way from the prediction to the control's prediction).
        go: a function that changes predictions by an amount. Its arguments are the predictions of the statement, the
            predictions of the control (a statement known to be false), and the amount. Both arrays of predictions have
            one row for each trial, and one column for each component (entry) of the prediction.
        sizes: the amounts that are tried, by their names.
    """

    name: str
    unit: str
    go: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    sizes: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A false neighbour of a statement, made by a mutation.

    Args:
        what: the change in words.
        size: the group of mutations to which the change belongs: "1.05", "1.25", "0.1", "0.2", "sign", "effect" or
            "roles".
        part: the only component that is mutated; None if all components are mutated.
        sample: the trials, with the prediction of this neighbour.
    """

    what: str
    size: str
    part: int | None
    sample: Sample


_FACTORS = {"1.05": math.log(1.05), "1.25": math.log(1.25)}
_EXPONENTS = {"0.1": 0.1, "0.2": 0.2}
_UP = Way("x", "factor", lambda own, false, t: own * math.exp(t), _FACTORS)
_DOWN = Way("/", "factor", lambda own, false, t: own * math.exp(-t), {"1.05": -math.log(0.95), "1.25": math.log(1.25)})
_LESS = Way("tighter by", "factor", lambda own, false, t: own * np.exp(-t * np.sign(own)), _FACTORS)
_MORE = Way("tighter by", "factor", lambda own, false, t: own * np.exp(t * np.sign(own)), _FACTORS)
_ADDED = Way("+", "exponent", lambda own, false, t: own + t, _EXPONENTS)
_TAKEN = Way("-", "exponent", lambda own, false, t: own - t, _EXPONENTS)
_SHARES = {"1.05": 0.05, "1.25": 0.25}
_TOWARDS = Way("to the control by", "share", lambda own, false, t: own + t * (false - own), _SHARES)


def _narrowed(own: np.ndarray, false: np.ndarray, amount: float) -> np.ndarray:
    middle = own[:, VALUE : VALUE + 1]
    return middle + math.exp(-amount) * (own - middle)


_NARROWER = Way("narrower by", "factor", _narrowed, _FACTORS)


def ways(relation: Relation, sample: Sample, part: int | None = None, both: bool = False) -> list[Way]:
    """The ways in which a prediction can be wrong. For a bound, this is only the way that makes it tighter.

    A component that is predicted to be 0 in all trials cannot be changed by a factor. Such a component is moved towards
    the prediction of the control (a false statement near the claim).

    Args:
        relation: the relation by which the statement is judged.
        sample: the finished trials of the claim.
        part: a component; None for all.
        both: whether bounds are changed in both directions. A change in the other direction may make a false bound
            true.
    """
    if isinstance(relation, Order):
        return []
    if isinstance(relation, Rate):
        return [_TAKEN] if relation.upper and not both else [_ADDED, _TAKEN]
    own = columns(sample.predicted)
    if not (own if part is None else own[:, part]).any():
        return [_TOWARDS]
    if isinstance(relation, Estimate):
        return [_NARROWER, _UP, _DOWN]
    if isinstance(relation, (AbstractBound, Witness)) and not both:
        return [_LESS if isinstance(relation, AtMost) else _MORE]
    return [_UP, _DOWN]


def parts(relation: Relation, sample: Sample) -> list[int]:
    """The components that are mutated alone; empty if there is one component, or if all are judged as one."""
    count = columns(sample.predicted).shape[1]
    if count == 1 or isinstance(relation, (Estimate, AbstractLadder)):
        return []
    return sorted({int(place) for place in np.linspace(0, count - 1, min(count, PARTS))})


def moved(sample: Sample, false: np.ndarray, way: Way, amount: float, part: int | None = None) -> Sample:
    """The trials, with a prediction that was moved by an amount in some way.

    Args:
        sample: the finished trials of the claim.
        false: the predictions of the control.
        way: the way in which the prediction is wrong.
        amount: the amount of the move, in the unit of the way.
        part: the only component that is moved; None for all.
    """
    own = columns(sample.predicted)
    with np.errstate(over="ignore", invalid="ignore"):
        gone = way.go(own, columns(false), amount)
    if part is not None:
        alone = own.copy()
        alone[:, part] = gone[:, part]
        gone = alone
    return dataclasses.replace(sample, predicted=gone.reshape(np.shape(sample.predicted)))


def moves(sample: Sample, false: np.ndarray, way: Way, part: int | None = None) -> bool:
    """Whether a change of this kind changes the prediction.

    For example, a move towards a control with the same prediction changes nothing.

    Args:
        sample: the finished trials of the claim.
        false: the predictions of the control.
        way: the way in which the prediction is wrong.
        part: the only component that is moved; None for all.
    """
    gone = moved(sample, false, way, FARTHEST[way.unit], part)
    return not np.array_equal(gone.predicted, sample.predicted)


def mutants(relation: Relation, sample: Sample, false: np.ndarray, seed: int, both: bool = False) -> Iterator[Mutant]:
    """The false neighbours of a statement, made from finished trials, which do not run again.

    Args:
        relation: the relation by which the statement is judged.
        sample: the finished trials of the claim.
        false: the predictions of the control.
        seed: the seed of the order in which problems get the measurements of other problems.
        both: whether bounds are changed in both directions.
    """
    for part in (None, *parts(relation, sample)):
        alone = "" if part is None else f" in component {part}"
        for way in ways(relation, sample, part, both):
            for size, amount in way.sizes.items():
                gone = moved(sample, false, way, amount, part)
                if not np.array_equal(gone.predicted, sample.predicted):
                    yield Mutant(f"{_spelled(way, amount)}{alone}", size, part, gone)
    if isinstance(relation, Order):
        yield Mutant("the other sign", "sign", None, dataclasses.replace(sample, predicted=-sample.predicted))
    yield from _without_effect(relation, sample, seed)


def _spelled(way: Way, amount: float) -> str:
    if way is _DOWN:
        return f"x {math.exp(-amount):g}"
    told = f"{math.exp(amount):g}" if way.unit == "factor" else f"{amount:g}"
    return f"{way.name} {told}" if way.unit == "factor" else f"{way.name}{' ' * (way.unit == 'share')}{told}"


def _without_effect(relation: Relation, sample: Sample, seed: int) -> Iterator[Mutant]:
    """Neighbours with the predictions of other problems, or with sequences in which the size has no effect."""
    if sample.trials > 1 and not (isinstance(relation, EqualInMean) and relation.over == "problems"):
        order = np.random.default_rng(seed).permutation(sample.trials)
        others = np.empty_like(order)
        others[order] = np.roll(order, 1)  # one cycle, so that no problem keeps its own measurement
        shuffled = dataclasses.replace(sample, predicted=sample.predicted[others])
        if is_wrong(relation, sample, shuffled.predicted):
            yield Mutant("the measurement of another problem", "effect", None, shuffled)
    stated = float(columns(sample.predicted)[:, 0].mean())
    falls = isinstance(relation, Rate) and (-stated if relation.upper else abs(stated)) >= _WRONG_EXPONENT
    if falls or isinstance(relation, Order):
        flat = np.broadcast_to(sample.measured[:, :1], sample.measured.shape)
        yield Mutant("a ladder without effect", "effect", None, dataclasses.replace(sample, measured=flat))


def is_wrong(relation: Relation, sample: Sample, other: np.ndarray) -> bool:
    """Whether other predictions are wrong by at least a factor 1.25 or an exponent 0.2 in a quarter of the trials.

    A bound counts as wrong if it is tighter by at least this amount.

    Args:
        relation: the relation by which the predictions are judged.
        sample: the finished trials of the claim.
        other: the other predictions, one row for each trial.
    """
    own, other = columns(sample.predicted), columns(other)
    if isinstance(relation, Rate):
        apart = own - other if relation.upper else np.abs(own - other)
        wrong = apart >= _WRONG_EXPONENT
    elif isinstance(relation, Estimate):
        value = other[:, VALUE]
        wrong = ((value < own[:, LOW]) | (value > own[:, HIGH]))[:, None]
    elif isinstance(relation, Order):
        wrong = own * other < 0
    elif isinstance(relation, (AbstractBound, Witness)):
        upper = isinstance(relation, AtMost)
        near = own * np.exp((-_WRONG if upper else _WRONG) * np.sign(own))
        wrong = ((other <= near) if upper else (other >= near)) & (other != own)
    else:
        apart, size = np.abs(own - other), np.minimum(np.abs(own), np.abs(other))
        wrong = (apart > 0) & (apart >= math.expm1(_WRONG) * size)
    return bool(wrong.any(axis=1).mean() >= _OFTEN)


def judged(relation: Relation, sample: Sample, level: float) -> Status:
    """The status of a mutant on its trials; "failed" if the mutant has predictions that cannot be judged.

    Args:
        relation: the relation by which the mutant is judged.
        sample: the trials, with the predictions of the mutant.
        level: the level of a refutation.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if relation.broken(sample).any():
            return Status.FAILED
        return status_of(relation.judge(sample, level))


def nearest_refuted(
    relation: Relation, sample: Sample, false: np.ndarray, level: float, way: Way, part: int | None = None
) -> float | None:
    """The smallest change of a prediction, in the given way, that the trials refute. Bisection finds this change.

    Args:
        relation: the relation by which predictions are judged.
        sample: the finished trials of the claim.
        false: the predictions of the control.
        level: the level of a refutation.
        way: the way in which the prediction is wrong.
        part: the only component that is moved; None for all.

    Returns:
        The amount, as a factor minus 1, an exponent or a share. None if the farthest change is not refuted.
    """

    def refuted(amount: float) -> bool:
        return judged(relation, moved(sample, false, way, amount, part), level) is Status.REFUTED

    low, high = math.log(_CLOSEST), math.log(FARTHEST[way.unit])
    if not refuted(math.exp(high)):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(math.exp(middle)) else (middle, high)
    return math.expm1(math.exp(high)) if way.unit == "factor" else math.exp(high)
