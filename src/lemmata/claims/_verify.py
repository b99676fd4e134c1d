"""Verification: many trials under a budget fixed before the first look, and the verdict."""

import concurrent.futures
import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lemmata.core import require_float64
from lemmata.errors import SettingError

from ._claim import Claim, Status
from ._relations import AtLeast, AtMost, Judgement, Sample
from ._source import Source
from ._statistics import holm
from ._trials import Outcome, Trials, run_trials

LEVEL = 1e-3


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
    """

    name: str
    source: Source
    status: Status
    reason: str
    setting: dict
    seed: int
    level: float
    requested: int
    executed: int
    judged: int
    estimate: float | None
    interval: tuple[float, float] | None
    slack: tuple[float, float, float] | None
    vacuous: float | None
    control: Status
    p_value: float
    worst: int | None
    seconds: float

    @property
    def remedy(self) -> str:
        """What to do next."""
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


def verify(
    claim: Claim,
    setting: Mapping[str, object] | None = None,
    *,
    budget: int | None = None,
    level: float = LEVEL,
    seed: int = 0,
    executor: concurrent.futures.Executor | None = None,
    progress: bool | None = None,
) -> Verdict:
    """Run a claim on sampled problems and judge it.

    The number of trials is fixed beforehand. A refutation of a true statement happens with probability at most
    `level`. The claim's control, a neighbouring false statement, is judged on the same trials: where it is not refuted,
    the budget has no power and a statement that would be supported stays inconclusive.

    Args:
        claim: the claim.
        setting: values for the claim's named settings; the rest stay at their defaults.
        budget: number of trials; None takes the claim's own.
        level: probability of refuting a true statement.
        seed: seed of all randomness.
        executor: where trials of claims that are not written in JAX run; None runs them here.
        progress: show a progress bar on stderr; None shows it on a terminal.

    Raises:
        SettingError, UnknownNameError: a setting, the budget or the level is out of bounds.
        PrecisionError: float64 is off.
    """
    require_float64(f"verification of {claim.name}")
    trials = claim.trials if budget is None else budget
    if trials < 1:
        raise SettingError("budget", found=budget, rule="at least 1 trial")
    if not 0 < level < 0.5:
        raise SettingError("level", found=level, rule="a probability between 0 and 0.5")
    resolved = claim.settings().resolve(setting)
    start = time.perf_counter()
    with _progress(claim.name, trials, progress) as report:
        finished = run_trials(claim, resolved, trials, seed, executor, report)
    return _verdict(claim, resolved, finished, seed, level, time.perf_counter() - start)


def verify_all(
    claims: list[Claim], *, budget: int | None = None, level: float = LEVEL, seed: int = 0, progress: bool | None = None
) -> list[Verdict]:
    """Verify several claims so that the family-wise error is at most `level`, by Holm's procedure.

    The level of each verdict is the one that Holm's procedure used for it.
    """
    verdicts = [
        verify(claim, budget=budget, level=level / len(claims), seed=seed, progress=progress) for claim in claims
    ]
    allowed = holm({verdict.name: verdict.p_value for verdict in verdicts}, level)
    return [
        dataclasses.replace(verdict, level=allowed[verdict.name], status=Status.REFUTED)
        if verdict.status is Status.INCONCLUSIVE and verdict.p_value <= allowed[verdict.name]
        else verdict
        for verdict in verdicts
    ]


def _verdict(claim: Claim, setting: dict, finished: Trials, seed: int, level: float, seconds: float) -> Verdict:
    executed = len(finished.numbers)

    def build(status: Status, reason: str, **figures) -> Verdict:
        empty = {
            "judged": 0,
            "estimate": None,
            "interval": None,
            "slack": None,
            "vacuous": None,
            "control": Status.INCONCLUSIVE,
            "p_value": 1.0,
            "worst": None,
        }
        return Verdict(
            claim.name,
            claim.source,
            status,
            reason,
            setting,
            seed,
            level,
            finished.requested,
            executed,
            seconds=seconds,
            **{**empty, **figures},
        )

    if finished.errors:
        return build(
            Status.FAILED, f"{len(finished.errors)} of {finished.requested} trials raised; first: {finished.errors[0]}"
        )
    if finished.stacked is None:
        return build(Status.INCONCLUSIVE, "interrupted before the first trial was finished")
    results = finished.stacked
    kept = results.holds
    if 2 * kept.sum() < executed:
        return build(
            Status.INAPPLICABLE,
            f"hypotheses fail in {executed - kept.sum()} of {executed} sampled problems: {_failing(results)}",
        )
    broken = ~np.isfinite(results.measured.reshape(executed, -1)).all(axis=1) | np.isnan(
        results.predicted.reshape(executed, -1)
    ).any(axis=1)
    if (broken & kept).any():
        number = finished.numbers[np.argmax(broken & kept)]
        return build(
            Status.FAILED, f"{(broken & kept).sum()} trials gave values that are not finite; first: trial {number}"
        )
    sample = Sample(results.predicted[kept], results.measured[kept], results.condition[kept])
    false = dataclasses.replace(sample, predicted=results.false[kept])
    judgement, control = claim.relation.judge(sample, level), _status(claim.relation.judge(false, level))
    status, reason = _status(judgement), judgement.reason
    if finished.interrupted:
        status, reason = Status.INCONCLUSIVE, f"interrupted after {executed} of {finished.requested} trials; {reason}"
    elif status is Status.SUPPORTED and control is not Status.REFUTED:
        status, reason = (
            Status.INCONCLUSIVE,
            f"{reason}; but the control is not refuted by {sample.trials} trials, so they have no power",
        )
    if kept.sum() < executed:
        reason += f"; hypotheses failed in {executed - kept.sum()} trials, which do not count"
    return build(
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
    )


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


@contextlib.contextmanager
def _progress(name: str, trials: int, shown: bool | None) -> Iterator[Callable[[int, int], None]]:
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=trials)
        yield lambda done, total: bar.update(task, completed=done)
