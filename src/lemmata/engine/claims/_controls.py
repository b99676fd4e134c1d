"""Judge the control (a false statement near the claim) on the trials of its claim, as a whole and by component."""

import dataclasses
import warnings

import numpy as np

from ._claim import Claim, Status
from ._evidence import allowed_misses
from ._relations import Judgement, Relation, Sample, blocks, columns
from ._statistics import failure_limits
from ._verdict import ControlVerdict


def status_of(judgement: Judgement) -> Status:
    """The status that follows from a judgement of a control, or of another false statement near the claim."""
    if judgement.told_apart:
        return Status.REFUTED
    return Status.SUPPORTED if judgement.holds else Status.INCONCLUSIVE


def control_of(claim: Claim, sample: Sample, false: np.ndarray, level: float, each: bool) -> tuple[ControlVerdict, str]:
    """The verdict on the control, and the reason why the trials fail to refute the control (empty if they refute it).

    A control is judged less strictly than a statement. For a control, the ordinary interval of a mean is enough. To
    refute a statement, stricter limits are used. These limits stay valid even if rare events did not occur in any
    trial.

    Args:
        claim: the claim.
        sample: the trials of the claim.
        false: the prediction of the control.
        level: the level at which the control is tested.
        each: whether the control must be refuted in every component alone. If so, a component in which the statement is
            sharp cannot make up for a component in which the statement is vacuous.
    """
    relation, against = claim.relation, dataclasses.replace(sample, predicted=false)
    judged = relation.judge(against, level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # components whose distance has no meaning in any trial
        distance = np.nanmedian(relation.distance(sample.predicted, false), axis=0)
    known = distance[~np.isnan(distance)]
    near, far = (float(known.min()), float(known.max())) if known.size else (None, None)
    wrong = relation.against(against)
    share, weak = judged.violating, ""
    if not judged.told_apart:
        weak = f"the control is not refuted by {sample.trials} trials"
    elif each and wrong is not None:
        touched, moved = _moved(relation, sample, false)
        rates = np.where(touched, wrong.mean(axis=0), np.inf)
        if np.isfinite(rates).any():
            least = int(np.argmin(rates))
            share, weak = float(rates[least]), _weak(relation, wrong[:, least], level)
            weak = weak and f"{weak} in component {least + 1} of {len(rates)}{'' if moved[least] else _AS_IT_IS}"
    elif each and not relation.rungs:
        weak = _weak_mean(relation, against, level)
    return ControlVerdict(status_of(judged), share, near, far), weak


_AS_IT_IS = ", a component that the control does not change"


def _moved(relation: Relation, sample: Sample, false: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which components have a control, and in which components the control differs from the claim in some trial.

    A component has no control if its prediction is 0 or infinite and equals the control, in all trials.
    """
    predicted, unit = sample.predicted, relation.unit
    differ = np.any(blocks(np.asarray(false != predicted), unit), axis=0)
    sized = np.any(blocks(np.isfinite(predicted) & (predicted != 0), unit), axis=0)
    return np.asarray(differ | sized), np.asarray(differ)


def _weak(relation: Relation, wrong: np.ndarray, level: float) -> str:
    """The reason why one component does not refute the control; empty if enough trials in it contradict the control."""
    allowed, count = allowed_misses(relation), int(wrong.sum())
    assert allowed is not None  # a single trial can contradict the statement
    refuted = failure_limits(count, len(wrong), level)[0] > allowed if allowed else count > 0
    return "" if refuted else "the control is not refuted"


def _weak_mean(relation: Relation, against: Sample, level: float) -> str:
    """The reason why a component of a mean does not refute the control by itself; empty if each component does."""
    predicted = columns(against.predicted)
    count = predicted.shape[1]
    if count == 1:
        return ""
    rows = np.asarray(against.measured).reshape(*against.measured.shape[: 1 + (relation.replicates > 1)], count)
    for place in range(count):
        own = {"predicted": predicted[:, place], "measured": rows[..., place], "condition": np.ones(against.trials)}
        alone = dataclasses.replace(against, **own, silent=None)
        if not relation.judge(alone, level / count).told_apart:
            return f"the control is not refuted in component {place + 1} of {count}"
    return ""
