"""Examination: one claim on one problem, yours or a sampled one. No statistics."""

import dataclasses

import jax
import numpy as np

from lemmata.core import require_float64

from ._claim import Claim
from ._ladders import Rate
from ._relations import AtLeast, AtMost, Sample
from ._trials import outcome


@dataclasses.dataclass(frozen=True)
class Finding:
    """A hypothesis on this problem."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    margin: float | None
    why: str


@dataclasses.dataclass(frozen=True)
class Examination:
    """What one problem says about one claim.

    Args:
        name: the claim.
        applies: every hypothesis that can be checked holds.
        hypotheses: the findings; `holds` is None where a condition cannot be checked.
        predicted, measured: the numbers; for a rate the stated and the measured exponent; for several components the
            one with the largest measured / predicted.
        ratio: predicted / measured.
        trivial: the value every reader already knows.
        vacuous: the bound is beyond the trivial value; None where there is none.
        agrees: prediction and measurement compare as stated; None where a single problem cannot tell.
        culprit: where a hypothesis fails, the likeliest cause.
    """

    name: str
    applies: bool
    hypotheses: list[Finding]
    predicted: float
    measured: float
    ratio: float
    trivial: float | None
    vacuous: bool | None
    agrees: bool | None
    culprit: str | None


def examine(claim: Claim, problem: object, key: jax.Array) -> Examination:
    """Check a claim's hypotheses on one problem, predict and measure.

    Args:
        claim: the claim.
        problem: a problem that the claim speaks about (`claim.pose` decides).
        key: randomness of the measurement.

    Raises:
        ValueError: the claim does not speak about the problem.
        PrecisionError: float64 is off.
    """
    require_float64(f"examination of {claim.name}")
    posed = claim.pose(problem)
    if posed is None:
        raise ValueError(f"{claim.name} does not speak about a {type(problem).__name__}")
    found = outcome(claim, posed, key)
    predicted, measured = np.asarray(found.predicted), np.asarray(found.measured)
    sample = Sample(predicted[None], measured[None], np.asarray(found.condition)[None])
    findings = [_finding(hypothesis) for hypothesis in found.hypotheses]
    failing = [finding for finding in findings if finding.holds is False]
    shown, seen = _numbers(claim, sample)
    trivial = float(np.max(found.trivial)) if np.isfinite(np.asarray(found.trivial)).all() else None
    vacuous = None
    if trivial is not None and isinstance(claim.relation, (AtMost, AtLeast)):
        vacuous = shown >= trivial if isinstance(claim.relation, AtMost) else shown <= trivial
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.divide(shown, seen))
    agrees = claim.relation.compare(sample) if np.isfinite(measured).all() else None
    culprit = None
    if failing:
        worst = min(failing, key=lambda finding: -np.inf if finding.margin is None else finding.margin)
        culprit = (
            claim.culprit(posed) or f"{worst.name}: {worst.value:.4g}, asked {worst.relation} {worst.threshold:.4g}"
        )
    return Examination(claim.name, not failing, findings, shown, seen, ratio, trivial, vacuous, agrees, culprit)


def _finding(hypothesis) -> Finding:
    if not hypothesis.checkable:
        return Finding(hypothesis.name, None, hypothesis.relation, None, None, None, hypothesis.why)
    return Finding(
        hypothesis.name,
        float(hypothesis.value),
        hypothesis.relation,
        float(hypothesis.threshold),
        bool(hypothesis.holds),
        float(hypothesis.margin),
        hypothesis.why,
    )


def _numbers(claim: Claim, sample: Sample) -> tuple[float, float]:
    """One predicted and one measured number to show."""
    if isinstance(claim.relation, Rate):
        return float(sample.predicted.reshape(-1)[0]), claim.relation.judge(sample, 0.05).estimate
    if sample.predicted.size == 1 and sample.measured.size > 1:
        return float(sample.predicted.reshape(-1)[0]), float(sample.measured.reshape(-1)[-1])
    predicted, measured = sample.predicted.reshape(-1), sample.measured.reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(measured / predicted), nan=-1.0, posinf=np.inf)
    at = int(np.argmin(ratio) if isinstance(claim.relation, AtLeast) else np.argmax(ratio))
    return float(predicted[at]), float(measured[at])
