"""Verdicts on a family of claims that are tested together: which refutations stay valid although many were tested."""

import dataclasses
from collections.abc import Mapping

from ._claim import Status
from ._evidence import p_of
from ._statistics import holm
from ._verdict import Verdict

_SPEAKS = (Status.SUPPORTED, Status.VACUOUS, Status.REFUTED, Status.INCONCLUSIVE)


def at_family_level(
    verdicts: list[Verdict], level: float, size: int | None = None, evidence: Mapping[str, float] | None = None
) -> list[Verdict]:
    """Return the verdicts after Holm's procedure. Refutations that the procedure does not allow become inconclusive.

    The probability that any true claim is refuted is at most `level`. Claims of the family that were not judged count
    with the p-value 1. Verdicts that do not judge their statement (failed, inapplicable, outside, fails outside) also
    count with the p-value 1.

    Args:
        verdicts: verdicts on claims with different names.
        level: the level of the family.
        size: the number of claims in the family; None if all claims were tested.
        evidence: e-values by claims' names. If e-values are given, they decide in place of the p-values of one session.
            Then, at every moment of a continued run, the probability that a true claim was ever refuted is at most
            `level`.
    """
    p_values = {verdict.name: p_of(evidence[verdict.name]) if evidence else verdict.p_value for verdict in verdicts}
    silent = {verdict.name for verdict in verdicts if verdict.status not in _SPEAKS}
    p_values = {name: 1.0 if name in silent else value for name, value in p_values.items()}
    unjudged = {f" {place}": 1.0 for place in range(len(verdicts), size or 0)}  # no claim's name begins with a blank
    levels = holm(p_values | unjudged, level)
    if evidence is None:
        return [_held_against(verdict, *levels[verdict.name]) for verdict in verdicts]
    return [_weighed(verdict, evidence[verdict.name], *levels[verdict.name]) for verdict in verdicts]


def _held_against(verdict: Verdict, level: float, rejected: bool) -> Verdict:
    if verdict.status is not Status.REFUTED or rejected:
        return dataclasses.replace(verdict, level=level)
    reason = (
        f"{verdict.reason}; tested alone, the claim would be refuted (p = {verdict.p_value:.2g}), but tested "
        "together with the other claims it is not"
    )
    return dataclasses.replace(verdict, level=level, status=Status.INCONCLUSIVE, reason=reason)


def _weighed(verdict: Verdict, e_value: float, level: float, rejected: bool) -> Verdict:
    """The verdict of the last session, corrected by the evidence of all sessions."""
    if verdict.status not in _SPEAKS:
        return dataclasses.replace(verdict, level=level)
    held = dataclasses.replace(verdict, level=level, p_value=p_of(e_value))
    said = f"the evidence of all sessions is e = {e_value:.3g}; the claim is refuted if e is at least {1 / level:.3g}"
    if rejected and verdict.status is not Status.REFUTED:
        reason = f"{said}; the last session alone is {verdict.status}: {verdict.reason}"
        return dataclasses.replace(held, status=Status.REFUTED, reason=reason)
    if not rejected and verdict.status is Status.REFUTED:
        reason = f"{verdict.reason}; the last session alone refutes the claim, but {said}"
        return dataclasses.replace(held, status=Status.INCONCLUSIVE, reason=reason)
    return dataclasses.replace(held, reason=f"{verdict.reason}; {said}")
