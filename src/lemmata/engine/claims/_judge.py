"""From finished trials to the verdict on a statement and its control."""

import dataclasses
import math
import warnings

import numpy as np

from ._claim import Claim, Status
from ._draws import draws_nothing
from ._hypothesis import Hypothesis, Standing
from ._relations import Judgement, Sample, columns
from ._trials import Outcome, Trials
from ._verdict import ControlVerdict, Corner, Verdict

_MOST = 0.5  # a bound is vacuous where more than this share of its components is


def judge_trials(claim: Claim, setting: dict, finished: Trials, seed: int, level: float, seconds: float) -> Verdict:
    """The verdict on finished trials."""
    executed = len(finished.numbers)
    facts = (claim.name, claim.source, setting, seed, level, finished.requested, executed, seconds)
    results = finished.stacked
    if results is None:
        status, reason = Status.INCONCLUSIVE, "interrupted before the first trial was finished"
        if finished.errors:
            status, reason = Status.FAILED, f"every trial raised; first: {finished.errors[0]}"
        return Verdict(*facts, status, reason, interrupted=finished.interrupted)
    dropped, violated = _dropped(results), _violated(results)
    kept = results.holds | results.undefined
    sample = Sample(*(np.asarray(a)[kept] for a in (results.predicted, results.measured, results.condition)))  # pyright: ignore
    sample = dataclasses.replace(sample, exact=draws_nothing(claim))
    unjudged = _unjudged(claim, finished, sample)
    if unjudged is not None:
        return Verdict(*facts, *unjudged, dropped=dropped, violated=violated, interrupted=finished.interrupted)
    judgement = claim.relation.judge(sample, level)
    control = _control(claim, sample, results.false[kept], level)
    vacuous = _vacuous(claim, sample, results.trivial[kept])
    status, reason = decide(judgement, control.status, vacuous, violated, sample.trials)
    if finished.interrupted:
        status, reason = Status.INCONCLUSIVE, f"interrupted after {executed} of {finished.requested} trials; {reason}"
    if dropped:
        failing = ", ".join(f"'{name}' in {count}" for name, count in dropped.items())
        reason += f"; hypotheses failed and those trials do not count: {failing} of {executed}"
    return Verdict(
        *facts,
        status,
        reason,
        judged=sample.trials,
        dropped=dropped,
        violated=violated,
        estimate=judgement.estimate,
        interval=judgement.interval,
        band=judgement.band,
        slack=_slack(sample),
        vacuous=vacuous,
        control=control,
        p_value=p_value(claim, sample),
        worst=int(finished.numbers[kept][np.argmax(claim.relation.gaps(sample))]),  # pyright: ignore
        interrupted=finished.interrupted,
    )


def corner_of(claim: Claim, verdict: Verdict, finished: Trials) -> Corner:
    """A verdict at another setting in short."""
    gap = -math.inf
    if verdict.judged and finished.stacked is not None:
        results = finished.stacked
        sample = Sample(*(a[results.holds] for a in (results.predicted, results.measured, results.condition)))
        gap = float(claim.relation.gaps(sample).max(initial=-math.inf))
    slack = None if verdict.slack is None else verdict.slack[1]
    return Corner(verdict.setting, verdict.status, verdict.reason, slack, gap, verdict.p_value)


def with_corners(claim: Claim, verdict: Verdict, corners: tuple[Corner, ...]) -> Verdict:
    """The verdict with its corners: one that is refuted or fails decides, the worst one is named.

    The case itself and its k corners share the level, half of it and 1/(2k) of it: so their p-values count 2 and 2k
    times.
    """
    shared = [2 * verdict.p_value, *(2 * len(corners) * corner.p_value for corner in corners)]
    verdict = dataclasses.replace(verdict, corners=corners, p_value=min(1.0, *shared))
    worst = verdict.worst_corner
    if worst is None:
        return verdict
    where = ", ".join(f"{name}={value}" for name, value in worst.setting.items())
    if worst.status in (Status.REFUTED, Status.FAILED) and verdict.status not in (Status.REFUTED, Status.OUTSIDE):
        return dataclasses.replace(verdict, status=worst.status, reason=f"at {where}: {worst.reason}")
    said = f"; worst of {len(corners)} other settings: {where} ({worst.status})"
    return dataclasses.replace(verdict, reason=verdict.reason + said)


def decide(
    judgement: Judgement, control: Status, vacuous: float | None, violated: tuple[str, ...], trials: int
) -> tuple[Status, str]:
    """The status and the reason, from what the relation says."""
    reason = judgement.reason
    if violated:
        said = {True: "the conclusion holds", False: "the conclusion fails", None: "undecided"}[judgement.holds]
        return Status.OUTSIDE, f"{said} although '{violated[0]}' is false here; {reason}"
    if judgement.holds is False:
        return Status.REFUTED, reason
    if vacuous is not None and vacuous > _MOST and (judgement.holds or vacuous == 1.0):
        return Status.VACUOUS, f"{reason}; beyond the trivial value in {vacuous:.0%} of the components"
    if judgement.holds is None:
        return Status.INCONCLUSIVE, reason
    if control is not Status.REFUTED:
        return Status.INCONCLUSIVE, f"{reason}; but the control is not refuted by {trials} trials: they have no power"
    return Status.SUPPORTED, reason


def _dropped(results: Outcome) -> dict[str, int]:
    """For each hypothesis that failed, in how many trials."""
    counts = {h.name: int((~np.asarray(h.holds) & ~np.asarray(h.undefined)).sum()) for h in results.hypotheses}
    return {name: count for name, count in counts.items() if count}


def _violated(results: Outcome) -> tuple[str, ...]:
    return tuple(h.name for h in results.hypotheses if h.standing is Standing.VIOLATED)


def _unjudged(claim: Claim, finished: Trials, sample: Sample) -> tuple[Status, str] | None:
    """Why these trials say nothing about the statement, where that is so."""
    executed, results = len(finished.numbers), finished.stacked
    assert results is not None  # the caller has looked
    if finished.errors:
        first = finished.errors[0]
        return Status.FAILED, f"{len(finished.errors)} of {finished.requested} trials raised; first: {first}"
    undefined = results.undefined
    if undefined.any():
        names = [h.name for h in results.hypotheses if np.asarray(h.undefined).any()]
        number = finished.numbers[np.argmax(undefined)]
        return Status.FAILED, f"'{names[0]}' is NaN in {undefined.sum()} of {executed} trials; first: trial {number}"
    outside = int((~results.holds).sum())
    if 2 * outside > executed:
        return Status.INAPPLICABLE, f"hypotheses fail in {outside} of {executed} problems: {_failing(results)}"
    broken = claim.relation.broken(sample)
    if broken.any():
        number = finished.numbers[results.holds][np.argmax(broken)]
        return Status.FAILED, f"{broken.sum()} trials gave values that are not finite; first: trial {number}"
    return None


def _failing(results: Outcome) -> str:
    """The hypothesis that fails most often, with its values."""
    worst: Hypothesis = max(results.hypotheses, key=lambda h: float(np.mean(~np.asarray(h.holds))))
    value, threshold = np.median(worst.value), np.median(worst.threshold)
    return f"'{worst.name}' has median {value:.4g}, asked {worst.relation} {threshold:.4g}"


def status_of(judgement: Judgement) -> Status:
    """What a judgement alone amounts to."""
    return {True: Status.SUPPORTED, False: Status.REFUTED, None: Status.INCONCLUSIVE}[judgement.holds]


def _control(claim: Claim, sample: Sample, false: np.ndarray, level: float) -> ControlVerdict:
    judged = claim.relation.judge(dataclasses.replace(sample, predicted=false), level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # components whose distance means nothing in any trial
        distance = np.nanmedian(claim.relation.distance(sample.predicted, false), axis=0)
    known = distance[~np.isnan(distance)]
    near, far = (float(known.min()), float(known.max())) if known.size else (None, None)
    return ControlVerdict(status_of(judged), judged.violating, near, far)


def _slack(sample: Sample) -> tuple[float, float, float] | None:
    if sample.predicted.shape != sample.measured.shape:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sample.predicted / sample.measured
    ratio = ratio[np.isfinite(ratio)]
    if not ratio.size:
        return None
    low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
    return float(low), float(middle), float(high)


def _vacuous(claim: Claim, sample: Sample, trivial: np.ndarray) -> float | None:
    """The share of components beyond the trivial value; an infinite bound is beyond any."""
    if np.isnan(trivial).all():
        trivial = np.full(sample.trials, np.inf if claim.relation.label == "upper" else -np.inf)
        beyond = claim.relation.vacuous(sample.predicted, trivial)
        return float(beyond.mean()) if beyond is not None and beyond.any() else None
    beyond = claim.relation.vacuous(sample.predicted, trivial)
    return None if beyond is None else float(np.broadcast_to(beyond, columns(sample.predicted).shape).mean())


def p_value(claim: Claim, sample: Sample) -> float:
    """The smallest level from 1e-12 up at which the sample refutes the statement, by bisection."""
    low, high = math.log(1e-12), math.log(0.5)
    if claim.relation.judge(sample, math.exp(high)).holds is not False:
        return 1.0
    if claim.relation.judge(sample, math.exp(low)).holds is False:
        return math.exp(low)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if claim.relation.judge(sample, math.exp(middle)).holds is False else (middle, high)
    return math.exp(high)
