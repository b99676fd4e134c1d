"""Find the components that give no information in a trial, and count the trials that are left for a component.

A component is an entry of a prediction and its measurement. A component gives no information in a trial if rounding
errors are too large. The count is for the component with the fewest trials left.
"""

import dataclasses

import numpy as np

from ._relations import ROUNDING, Relation, Sample, blocks

_REACH = 0.01  # if the rounding error is at least this share of the distance to the control, there is no information


def silent_components(relation: Relation, sample: Sample, false: np.ndarray) -> np.ndarray | None:
    """Which of C components in T trials give no information, because their rounding errors are too large.

    The tolerance of such a component is at least a hundredth of the distance between prediction and control, or of the
    value itself. If the control does not change a component, the tolerance is compared with the value alone. The result
    has shape (T, C), or is None if the relation does not compare the numbers of a single trial.
    """
    if relation.against(sample) is None:
        return None
    if relation.replicates > 1:
        sample = dataclasses.replace(sample, measured=sample.measured[:, 0])
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.asarray(false, float) - sample.predicted)
    apart = blocks(np.nan_to_num(apart, nan=np.inf), relation.unit)
    allowed = sample.tolerance(relation.block)
    wide = ROUNDING * np.broadcast_to(sample.condition_of(allowed.ndim), allowed.shape) >= _REACH
    return ((blocks(allowed, relation.unit) >= _REACH * apart) & (apart > 0)) | blocks(wide, relation.unit)


def counted(wrong: np.ndarray, mute: np.ndarray) -> int:
    """The number of trials that count for the component with the fewest such trials.

    A trial counts for a component if the component gives information in this trial, or if the trial contradicts the
    statement.

    Args:
        wrong: which components of each trial contradict the statement, shape (T, C).
        mute: which components of each trial give no information.
    """
    speaks = ~mute | np.any(wrong, axis=1, keepdims=True)
    return int(speaks.sum(axis=0).min(initial=len(wrong)))


def told_silence(mute: np.ndarray, infinite: np.ndarray | None = None) -> str:
    """A text about the trials in which the least informative component gives no information, or an empty text."""
    least = int(np.argmax(mute.sum(axis=0))) if mute.size else 0
    if not mute.size or not mute[:, least].any():
        return ""
    where = f" in component {least + 1} of {mute.shape[1]}" if mute.shape[1] > 1 else ""
    none = 0 if infinite is None else int(infinite[:, least].sum())
    rest = int(mute[:, least].sum()) - none
    said = f"; {none} infinite bounds, which say nothing{where}" if none else ""
    reaches = (
        f"; in {rest} trials the rounding tolerance is too large to separate claim and control, so these trials say "
        f"nothing{where}"
    )
    return said + (reaches if rest else "")


def asked(needed: int, said: int, trials: int) -> int | None:
    """Estimate how many trials to run so that `needed` of them give information.

    So far, `said` of `trials` trials gave information. If none did, the result is None.
    """
    return -(-needed * trials // said) if said else None
