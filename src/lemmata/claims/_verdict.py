"""The verdict: what trials say about a statement, and the figures that it rests on."""

import dataclasses
import math
from typing import Any

import numpy as np

from ._claim import Claim, Status
from ._relations import AtLeast, AtMost, Judgement, Sample
from ._source import Source
from ._trials import Outcome, Trials


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a verification found; `bool` of it is not defined on purpose: read the status.

    Args:
        name, source: the claim.
        status: supported, refuted, inconclusive, inapplicable or failed.
        reason: the figures that the status rests on, in a sentence.
        setting, seed, level: with the name, what replays it.
        requested, executed, judged: trials in the budget, run, and left after hypotheses were checked.
        estimate, interval: the statistic of the relation and its confidence interval.
        slack: 5, 50 and 95 % quantiles of predicted / measured (None where not meaningful).
        vacuous: fraction of trials where the prediction is beyond the trivial value; None where there is no such value.
        control: status of the neighbouring false statement on the same trials.
        p_value: the smallest level at which these trials refute the statement.
        worst: number of the trial with the largest disagreement.
        seconds: wall time.
        interrupted: Ctrl-C stopped the run before the budget was spent.
    """

    name: str
    source: Source
    setting: dict
    seed: int
    level: float
    requested: int
    executed: int
    seconds: float
    status: Status
    reason: str
    judged: int = 0
    estimate: float | None = None
    interval: tuple[float, float] | None = None
    slack: tuple[float, float, float] | None = None
    vacuous: float | None = None
    control: Status = Status.INCONCLUSIVE
    p_value: float = 1.0
    worst: int | None = None
    interrupted: bool = False

    @property
    def remedy(self) -> str:
        """What to do next."""
        if self.interrupted:
            return "Run it again to the end: the figures are those of the finished trials."
        if self.status is Status.INCONCLUSIVE and "no power" in self.reason:
            return "Raise the budget until the control is refuted, or sample problems where the bound is tighter."
        return self.status.remedy

    def to_json(self) -> dict:
        """The verdict as plain JSON values; what is not finite becomes null."""
        record = {**dataclasses.asdict(self), "source": str(self.source), "remedy": self.remedy}
        return _plain(record)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


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
    unjudged = _unjudged(finished, results)
    if unjudged is not None:
        return Verdict(*facts, *unjudged, interrupted=finished.interrupted)
    kept = results.holds
    sample = Sample(results.predicted[kept], results.measured[kept], results.condition[kept])
    false = dataclasses.replace(sample, predicted=results.false[kept])
    judgement, control = claim.relation.judge(sample, level), _status(claim.relation.judge(false, level))
    status, reason = _status(judgement), judgement.reason
    if finished.interrupted:
        status, reason = Status.INCONCLUSIVE, f"interrupted after {executed} of {finished.requested} trials; {reason}"
    elif status is Status.SUPPORTED and control is not Status.REFUTED:
        status = Status.INCONCLUSIVE
        reason += f"; but the control is not refuted by {sample.trials} trials, so they have no power"
    if kept.sum() < executed:
        reason += f"; hypotheses failed in {executed - kept.sum()} trials, which do not count"
    return Verdict(
        *facts,
        status,
        reason,
        judged=sample.trials,
        estimate=judgement.estimate,
        interval=judgement.interval,
        slack=_slack(sample),
        vacuous=_vacuous(claim, sample, results.trivial[kept]),
        control=control,
        p_value=_p_value(claim, sample),
        worst=int(finished.numbers[kept][_disagreement(claim, sample)]),
        interrupted=finished.interrupted,
    )


def _unjudged(finished: Trials, results: Outcome) -> tuple[Status, str] | None:
    """Why these trials say nothing about the statement, where that is so."""
    executed = len(finished.numbers)
    if finished.errors:
        first = finished.errors[0]
        return Status.FAILED, f"{len(finished.errors)} of {finished.requested} trials raised; first: {first}"
    outside = int((~results.holds).sum())
    if 2 * outside > executed:
        return Status.INAPPLICABLE, f"hypotheses fail in {outside} of {executed} problems: {_failing(results)}"
    infinite = ~np.isfinite(results.measured.reshape(executed, -1)).all(axis=1)
    broken = (infinite | np.isnan(results.predicted.reshape(executed, -1)).any(axis=1)) & results.holds
    if broken.any():
        number = finished.numbers[np.argmax(broken)]
        return Status.FAILED, f"{broken.sum()} trials gave values that are not finite; first: trial {number}"
    return None


def _status(judgement: Judgement) -> Status:
    return {True: Status.SUPPORTED, False: Status.REFUTED, None: Status.INCONCLUSIVE}[judgement.holds]


def _failing(results: Outcome) -> str:
    """The hypothesis that fails most often, with its values."""
    rates = [float(np.mean(~np.asarray(hypothesis.holds))) for hypothesis in results.hypotheses]
    worst = results.hypotheses[int(np.argmax(rates))]
    value, threshold = np.median(worst.value), np.median(worst.threshold)
    return f"'{worst.name}' has median {value:.4g}, asked {worst.relation} {threshold:.4g}"


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
    if np.isnan(trivial).all() or not isinstance(claim.relation, (AtMost, AtLeast)):
        return None
    columns = (trivial.reshape(len(trivial), -1), sample.predicted.reshape(sample.trials, -1))
    beyond = columns[1] >= columns[0] if isinstance(claim.relation, AtMost) else columns[1] <= columns[0]
    return float(beyond.all(axis=1).mean())


def _disagreement(claim: Claim, sample: Sample) -> int:
    """Row of the trial that disagrees most."""
    try:
        gap = (sample.measured - sample.predicted).reshape(sample.trials, -1)
    except ValueError:
        return 0
    gap = -gap if isinstance(claim.relation, AtLeast) else gap if isinstance(claim.relation, AtMost) else np.abs(gap)
    return int(np.argmax(gap.max(axis=1)))


def _p_value(claim: Claim, sample: Sample) -> float:
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
