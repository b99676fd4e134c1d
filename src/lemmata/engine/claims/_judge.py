"""Turn finished trials into the verdict on a statement and its control."""

import dataclasses
import math

import numpy as np

from ._claim import Claim, Status
from ._components import silent_components
from ._controls import control_of
from ._draws import draws_nothing
from ._faults import faults, undefined_hypotheses
from ._hypothesis import Hypothesis, Standing
from ._population import Population
from ._relations import Judgement, Sample, columns
from ._statistics import failure_limits
from ._trials import Outcome, Trials
from ._verdict import Corner, Verdict

_MOST = 0.5  # a bound is vacuous if more than this share of its components is beyond the trivial value
_CHANCE = 0.05  # probability of rejecting a population that drops exactly the declared share of problems


def judge_trials(claim: Claim, setting: dict, finished: Trials, seed: int, level: float, seconds: float) -> Verdict:
    """The verdict on a claim at one setting, from its finished trials."""
    executed = len(finished.numbers)
    facts = (claim.name, claim.source, setting, seed, level, finished.requested, executed, seconds)
    results = finished.stacked
    if results is None:
        status, reason = Status.INCONCLUSIVE, "interrupted before the first trial was finished"
        if finished.errors:
            status, reason = Status.FAILED, f"every trial raised an error; the first: {finished.errors[0]}"
        return Verdict(*facts, status, reason, interrupted=finished.interrupted)
    dropped, violated = _dropped(results), _violated(results)
    unjudged = _unjudged(claim, setting, finished)
    if unjudged is not None:
        return Verdict(*facts, *unjudged, dropped=dropped, violated=violated, interrupted=finished.interrupted)
    kept = np.asarray(results.holds)
    sample = judged_sample(claim, results, kept)
    judgement = claim.relation.judge(sample, level)
    if sample.constant:
        words = f"one case, drawn {sample.trials} times: {judgement.reason}"
        judgement = dataclasses.replace(judgement, reason=words)
    beyond = _beyond(claim, sample, results.trivial[kept])
    each = not claim.control.loose and (beyond is None or not _empty(beyond, sure=False))
    control, weak = control_of(claim, sample, results.false[kept], level, each)
    status, reason = decide(judgement, weak, beyond, violated)
    if finished.interrupted:
        status, reason = Status.INCONCLUSIVE, f"interrupted after {executed} of {finished.requested} trials; {reason}"
    if dropped:
        failing = ", ".join(f"'{name}' in {count}" for name, count in dropped.items())
        reason += f"; trials with a failed hypothesis do not count: {failing} of {executed}"
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
        vacuous=None if beyond is None else float(beyond.mean()),
        control=control,
        p_value=p_value(claim, sample),
        worst=int(finished.numbers[kept][np.argmax(claim.relation.gaps(sample))]),
        interrupted=finished.interrupted,
    )


def judged_sample(claim: Claim, results: Outcome, kept: np.ndarray) -> Sample:
    """The trials in `kept`, as a sample that marks the components without information (see `silent_components`)."""
    parts = (results.predicted, results.measured, results.condition)
    sample = Sample(*(np.asarray(part)[kept] for part in parts), exact=draws_nothing(claim))
    return dataclasses.replace(sample, silent=silent_components(claim.relation, sample, results.false[kept]))


def corner_of(claim: Claim, verdict: Verdict, finished: Trials) -> Corner:
    """The verdict at an extra setting, in its short form as a `Corner`."""
    gap = -math.inf
    if verdict.judged and finished.stacked is not None:
        sample = judged_sample(claim, finished.stacked, np.asarray(finished.stacked.holds))
        gap = float(claim.relation.gaps(sample).max(initial=-math.inf))
    slack = None if verdict.slack is None else verdict.slack[1]
    return Corner(verdict.setting, verdict.status, verdict.reason, slack, gap, verdict.p_value)


def with_corners(claim: Claim, verdict: Verdict, corners: tuple[Corner, ...]) -> Verdict:
    """Add the results at extra settings ("corners") to a verdict. If a corner is refuted or failed, it decides.

    The reason of the verdict names the worst extra setting. The claim's own setting gets half of the level. Each of
    its k extra settings gets 1/(2k) of the level. So the p-value of the claim's own setting is multiplied by 2, and the
    p-values of extra settings are multiplied by 2k.
    """
    shared = [2 * verdict.p_value, *(2 * len(corners) * corner.p_value for corner in corners)]
    verdict = dataclasses.replace(verdict, corners=corners, p_value=min(1.0, *shared))
    worst = verdict.worst_corner
    if worst is None:
        return verdict
    where = ", ".join(f"{name}={value}" for name, value in worst.setting.items())
    against = (Status.REFUTED, Status.FAILS_OUTSIDE)
    if worst.status in (*against, Status.FAILED) and verdict.status not in against:
        return dataclasses.replace(verdict, status=worst.status, reason=f"at {where}: {worst.reason}")
    said = f"; the worst of {len(corners)} other settings is {where} ({worst.status})"
    return dataclasses.replace(verdict, reason=verdict.reason + said)


def decide(judgement: Judgement, weak: str, beyond: np.ndarray | None, violated: tuple[str, ...]) -> tuple[Status, str]:
    """The status and the reason, from the judgement of the relation.

    Args:
        judgement: the judgement of the relation.
        weak: why the trials do not refute the control, in words; empty if they refute it.
        beyond: the components beyond the trivial value, shape (T, C); None if there is no trivial value.
        violated: hypotheses that are known to be false.
    """
    status, reason = _decided(judgement, weak, beyond)
    if not violated:
        return status, reason
    said = {True: "the conclusion holds", False: "the conclusion fails", None: "undecided"}[judgement.holds]
    outside = {Status.SUPPORTED: Status.OUTSIDE, Status.REFUTED: Status.FAILS_OUTSIDE}
    return outside.get(status, status), f"{said}, although '{violated[0]}' is false here; {reason}"


def _decided(judgement: Judgement, weak: str, beyond: np.ndarray | None) -> tuple[Status, str]:
    reason = judgement.reason
    if judgement.holds is False:
        return Status.REFUTED, reason
    empty = "" if beyond is None else _empty(beyond, sure=judgement.holds is None)
    if empty:
        return Status.VACUOUS, f"{reason}; {empty}"
    if judgement.holds is None:
        return Status.INCONCLUSIVE, reason
    if weak:
        return Status.INCONCLUSIVE, f"{reason}; but {weak}, so these trials have no power"
    return Status.SUPPORTED, reason


def _empty(beyond: np.ndarray, sure: bool) -> str:
    """The reason why a bound is vacuous: all components, or one component, are beyond the trivial value in most trials.

    The result is empty if the bound is not vacuous.

    Args:
        beyond: which components are beyond the trivial value, shape (T, C).
        sure: whether components must be beyond the trivial value in all trials. Otherwise, more than half is enough.
    """
    trials, count = beyond.shape
    shares = beyond.mean(axis=0)
    most = int(np.argmax(shares))
    low = failure_limits(int(beyond[:, most].sum()), trials, _CHANCE / count)[0]
    one = shares[most] == 1.0 if sure else low > _MOST
    if beyond.mean() > (1.0 - 1e-12 if sure else _MOST):
        return f"beyond the trivial value in {beyond.mean():.0%} of the {('components' if count > 1 else 'trials')}"
    if one:
        return f"component {most + 1} of {count} is beyond the trivial value in {shares[most]:.0%} of the trials"
    return ""


def _dropped(results: Outcome) -> dict[str, int]:
    """For each failed hypothesis, the number of trials in which it failed."""
    counts = {h.name: int((~np.asarray(h.holds) & ~np.asarray(h.undefined)).sum()) for h in results.hypotheses}
    return {name: count for name, count in counts.items() if count}


def _violated(results: Outcome) -> tuple[str, ...]:
    return tuple(h.name for h in results.hypotheses if h.standing is Standing.VIOLATED)


def _unjudged(claim: Claim, setting: dict, finished: Trials) -> tuple[Status, str] | None:
    """The status and the reason, if the trials give no information about the statement; otherwise None.

    Hypotheses may fail in a larger share of trials than the population declares (`drops`). At the default setting, this
    is an error of the sampler, and the status is failed. At another setting, the status is inapplicable.
    """
    executed, results = len(finished.numbers), finished.stacked
    assert results is not None  # the caller has checked this
    if finished.errors:
        first = finished.errors[0]
        return (
            Status.FAILED,
            f"{len(finished.errors)} of {finished.requested} trials raised an error; the first: {first}",
        )
    predicted, measured = (np.shape(part)[1:] for part in (results.predicted, results.measured))
    misfit = claim.relation.misfit(predicted, measured)
    if misfit is not None:
        return Status.FAILED, f"shapes {predicted} of the prediction and {measured} of the measurement: {misfit}"
    for fault in undefined_hypotheses(results):
        return Status.FAILED, fault.told(finished.numbers)
    outside = int((~results.holds).sum())
    if 2 * outside > executed:
        return Status.INAPPLICABLE, f"hypotheses fail in {outside} of {executed} problems: {_failing(results)}"
    told = f"hypotheses fail, so {outside} of {executed} problems are dropped"
    lost = _dropped_violations(claim, results)
    if failure_limits(lost, executed, _CHANCE)[0] > Population.drops:
        return Status.FAILED, f"{told}, and in {lost} of these the conclusion fails: {_failing(results)}"
    allowed = claim.population.drops
    if failure_limits(outside, executed, _CHANCE)[0] > allowed:
        said = f"{told}, but the sampler may drop only {allowed:.0%}: {_failing(results)}"
        return (Status.FAILED if setting == claim.population.settings().default else Status.INAPPLICABLE), said
    for fault in faults(claim, results):
        return Status.FAILED, fault.told(finished.numbers)
    return None


def _dropped_violations(claim: Claim, results: Outcome) -> int:
    """The number of trials that are dropped (a hypothesis fails) and in which the conclusion fails, too.

    If there are more than a few such trials, the hypotheses may have selected trials by their results.
    """
    dropped = ~np.asarray(results.holds)
    if not dropped.any():
        return 0
    parts = (results.predicted, results.measured, results.condition)
    wrong = claim.relation.against(
        Sample(*(np.asarray(part)[dropped] for part in parts))  # pyright: ignore[reportArgumentType]
    )
    return 0 if wrong is None else int(wrong.any(axis=1).sum())


def _failing(results: Outcome) -> str:
    """The hypothesis that fails most often, with its values."""
    fails = _dropped(results)
    worst: Hypothesis = max(results.hypotheses, key=lambda h: fails.get(h.name, 0))
    value, threshold = np.nanmedian(worst.value), np.nanmedian(worst.threshold)
    return f"the median of '{worst.name}' is {value:.4g}, required {worst.relation} {threshold:.4g}"


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


def _beyond(claim: Claim, sample: Sample, trivial: np.ndarray) -> np.ndarray | None:
    """Which components are beyond the trivial value, shape (T, C). An infinite bound is beyond any trivial value."""
    known = callable(claim.trivial)
    if not known:
        trivial = np.full(sample.trials, np.inf if claim.relation.label == "upper" else -np.inf)
    beyond = claim.relation.vacuous(sample.predicted, trivial)
    if beyond is None or not (known or beyond.any()):
        return None
    return np.broadcast_to(beyond, (sample.trials, max(beyond.shape[1], columns(trivial).shape[1])))


def p_value(claim: Claim, sample: Sample) -> float:
    """The smallest level, at least 1e-12, at which the sample refutes the statement, found by bisection."""
    low, high = math.log(1e-12), math.log(0.5)
    if claim.relation.judge(sample, math.exp(high)).holds is not False:
        return 1.0
    if claim.relation.judge(sample, math.exp(low)).holds is False:
        return math.exp(low)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if claim.relation.judge(sample, math.exp(middle)).holds is False else (middle, high)
    return math.exp(high)
