"""Examine one claim on a single problem, which may be a user's problem, without a statistical verdict."""

import dataclasses

import jax
import numpy as np

from lemmata.core import require_float64

from ._claim import Claim
from ._faults import faults
from ._hypothesis import Hypothesis, Standing
from ._relations import Sample, columns
from ._trials import Outcome, outcome


@dataclasses.dataclass(frozen=True)
class Finding:
    """A hypothesis of the claim, evaluated on a problem. `holds` is None if it cannot be decided (unchecked or NaN)."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    margin: float | None
    why: str


@dataclasses.dataclass(frozen=True)
class Examination:
    """The result of one problem for one claim.

    Args:
        name: the name of the claim.
        applies: whether every hypothesis that can be checked holds.
        hypotheses: the findings on the hypotheses.
        predicted, measured: the prediction and the measurement, one number each. For a rate, these are the stated and
            the measured exponent. For several components, they belong to the component with the largest measured /
            predicted (smallest for a lower bound).
        ratio: predicted / measured.
        trivial: the trivial value of the same component, which holds without any theory.
        vacuous: the share of components in which the bound is beyond the trivial value; None if there is no trivial
            value.
        agrees: whether the problem agrees with the claim; None if a single problem cannot decide this.
        culprit: if a hypothesis fails, its likely cause in words, such as duplicate rows.
    """

    name: str
    applies: bool
    hypotheses: list[Finding]
    predicted: float
    measured: float
    ratio: float
    trivial: float | None
    vacuous: float | None
    agrees: bool | None
    culprit: str | None


def examine(claim: Claim, problem: object, key: jax.Array) -> Examination:
    """Check a claim's hypotheses on one problem, and compute its prediction and measurement.

    Args:
        claim: the claim.
        problem: a problem that `claim.population.posed` accepts.
        key: the random key of the measurement.

    Raises:
        ValueError: if the claim is not about problems of this kind.
        PrecisionError: if float64 is off.
    """
    require_float64(f"examination of {claim.name}")
    posed = claim.population.posed(problem)
    if posed is None:
        raise ValueError(f"{claim.name} is not about problems of type {type(problem).__name__}")
    found = outcome(claim, posed, key)
    predicted, measured = np.asarray(found.predicted), np.asarray(found.measured)
    sample = Sample(predicted[None], measured[None], np.asarray(found.condition)[None])
    findings = [_finding(hypothesis) for hypothesis in found.hypotheses]
    failing = [finding for finding in findings if finding.holds is False]
    undefined = bool(found.undefined)
    shown, seen = claim.relation.shown(sample)
    trivial, vacuous = _trivial(claim, sample, found)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.divide(shown, seen))
    amiss = undefined or any(True for _ in faults(claim, jax.tree.map(lambda leaf: np.asarray(leaf)[None], found)))
    with np.errstate(invalid="ignore"):  # a bound and a measurement may be the same infinity
        agrees = None if amiss else claim.relation.compare(sample)
    culprit = None
    if failing:
        worst = min(failing, key=lambda finding: np.inf if finding.margin is None else finding.margin)
        culprit = claim.population.cause(posed) or _said(worst)
    applies = not failing and not undefined
    return Examination(claim.name, applies, findings, shown, seen, ratio, trivial, vacuous, agrees, culprit)


def _said(finding: Finding) -> str:
    if finding.value is None:
        return f"{finding.name}: known to be false ({finding.why})"
    return f"{finding.name}: {finding.value:.4g}, required {finding.relation} {finding.threshold:.4g}"


def _finding(hypothesis: Hypothesis) -> Finding:
    if not hypothesis.checkable:
        holds = False if hypothesis.standing is Standing.VIOLATED else None
        return Finding(hypothesis.name, None, hypothesis.relation, None, holds, None, hypothesis.why)
    return Finding(
        hypothesis.name,
        float(hypothesis.value),
        hypothesis.relation,
        float(hypothesis.threshold),
        None if bool(hypothesis.undefined) else bool(hypothesis.holds),
        float(hypothesis.margin),
        hypothesis.why,
    )


def _trivial(claim: Claim, sample: Sample, found: Outcome) -> tuple[float | None, float | None]:
    """The trivial value of the component that is shown, and the share of components beyond their trivial values."""
    trivial = np.asarray(found.trivial)
    if not np.isfinite(trivial).all():
        return None, None
    beyond = claim.relation.vacuous(sample.predicted, trivial[None])
    if beyond is None:
        return None, None
    wide = np.broadcast_to(columns(trivial[None]), columns(sample.predicted).shape)[0]
    shown = claim.relation.shown(sample)[0]
    at = int(np.argmin(np.abs(columns(sample.predicted)[0] - shown)))
    return float(wide[at]), float(np.broadcast_to(beyond, (1, len(wide))).mean())
