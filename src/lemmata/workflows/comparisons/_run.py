"""Run a comparison of sequence mixers and return a record of its results."""

import dataclasses
import math
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor

import numpy as np

from lemmata.core import one_blas_thread, require_float64
from lemmata.errors import DataError
from lemmata.interruption import heeded
from lemmata.options import FAMILY_NAMES, ComparisonOptions
from lemmata.subjects.forecasts import forecast
from lemmata.workers import Lost, finished
from lemmata.workflows.records.comparisons import (
    ComparisonRecord,
    Cost,
    Data,
    FamilyResult,
    FiniteResult,
    Interval,
    PairResult,
    Point,
    ScoreResult,
    estimate,
)

from ._bootstrap import RELEVANT, Bootstrap, bootstrap, leaders, pairs
from ._costs import cost
from ._head import RIDGES
from ._measure import Candidate, FixedMixer, Measured, guessing, measure
from ._mixers import BY_NAME, MODES
from ._predicted import Predicted, predict
from ._sequences import Sequences
from ._splits import Splits, splits
from ._theorem import statements, theorem
from ._verdict import scored, sentences, trained

BEGUN, FINISHED = 0.75, 0.9
"""Two shares of the time limit. After the first share, no further family is begun.

After the second share, costs and networks are not begun, and a family that is being fitted is stopped. Both rules apply
to families only if another family is finished.
"""

Progress = Callable[[str, float, float], None]


def run_comparison(
    data: Sequences,
    options: ComparisonOptions = ComparisonOptions(),  # noqa: B008 -- frozen
    progress: Progress = lambda stage, done, total: None,
    started: float | None = None,
    executor: Executor | None = None,
) -> ComparisonRecord:
    """Find the sequence mixer that fits these rows best. Report the error now and with more rows, and the cost.

    Args:
        data: the sequences.
        options: the options of the comparison.
        progress: a function that is called with the stage, the finished amount and the total amount.
        started: the `time.monotonic()` at which the time limit began; None means now.
        executor: an executor that fits each family as a task. If it is None, this process fits one family after the
            other.

    Returns:
        The record. After Ctrl-C it holds the finished families, and `interrupted` is true.

    Raises:
        PrecisionError: if float64 is not enabled in JAX.
    """
    require_float64("a comparison")
    job = _Job(data, options, progress, time.monotonic() if started is None else started, executor)
    with one_blas_thread():
        try:
            job.families()
            job.beside()
        except KeyboardInterrupt:
            if not job.measured and not job.scores:
                raise
            heeded()
            job.interrupted = True
            job.notes.append("The comparison was interrupted, so unfinished parts are missing.")
        return job.record()


@dataclasses.dataclass(frozen=True)
class _Fitted:
    """The results of a family on all splits.

    The results are errors, predictions, the setting, the rank of a recurrence, and the time in seconds.
    """

    measured: Measured
    predicted: Predicted
    values: tuple[float, ...]
    setting: str
    rank: int | None
    seconds: float


def _fitted_family(
    name: str, data: Sequences, options: ComparisonOptions, of: Splits, told: Callable[[float], None] | None = None
) -> _Fitted:
    """Fit one family. The function can run in any process."""
    begun = time.monotonic()
    told = told or (lambda share: None)
    told(0.0)
    candidate = _candidate(name, data, options)
    found = measure(candidate, data, of, told)
    rank = None
    if name == "recurrent" and isinstance(candidate, FixedMixer):
        rank = int(np.linalg.matrix_rank(candidate.vectors(1)))
    predicted = predict(candidate, data.y, of, found)
    return _Fitted(found, predicted, candidate.values, candidate.setting, rank, time.monotonic() - begun)


def _candidate(name: str, data: Sequences, options: ComparisonOptions) -> Candidate:
    """Return the kernels of a family, one for each value of its setting."""
    if options.kernels == "wide":
        from ._wide import WideNetwork

        return WideNetwork(name, data, options.read == "mean")
    return FixedMixer(name, data, options.read == "mean", options.seed)


class _LateError(Exception):
    """Raised if the time limit is reached while a family is fitted, or before it is begun."""


class _Job:
    """A running comparison. Finished parts are kept if a stage is interrupted."""

    def __init__(self, data: Sequences, options: ComparisonOptions, progress: Progress, started: float,
                 executor: Executor | None = None):  # fmt: skip
        self.executor = executor
        self.names = [name for name in FAMILY_NAMES if name in options.family_names]
        if options.kernels == "wide":
            from ._wide import affordable

            data = affordable(data, self.names, options.seed)
        self.data, self.options, self.progress, self.started = data, options, progress, started
        share = data.test if options.test is None else options.test
        self.splits = splits(len(data.x), share, options.repeats, options.seed)
        self.measured: dict[str, Measured] = {}
        self.values: dict[str, tuple[float, ...]] = {}
        self.settings: dict[str, str] = {}
        self.predicted: dict[str, Predicted] = {}
        self.took: dict[str, float] = {}
        self.costs: dict[str, Cost] = {}
        self.finite: list[FiniteResult] = []
        self.scores: list[ScoreResult] = []
        self.rank: int | None = None
        self.notes: list[str] = []
        self.interrupted = False

    def late(self, share: float) -> bool:
        limit = self.options.time_limit
        return limit is not None and time.monotonic() > self.started + share * limit

    def families(self) -> None:
        """Fit each family on all splits, and predict its learning curve."""
        if self.executor is not None:
            self.families_apart()
            return
        for place, name in enumerate(self.names):
            try:
                self.family(name, f"Family {place + 1} of {len(self.names)}: {BY_NAME[name].title}")
            except _LateError:
                left = ", ".join(BY_NAME[own].title for own in self.names[place:])
                self.notes.append(f"The time limit was reached before these families were finished: {left}.")
                return

    def family(self, name: str, stage: str) -> None:
        """Fit one family. If another family is already finished, stop after 90 % of the time limit."""

        def told(share: float) -> None:
            self.progress(stage, share, 1)
            if self.measured and self.late(FINISHED):
                raise _LateError

        if self.measured and self.late(BEGUN):
            raise _LateError
        self.keep(name, _fitted_family(name, self.data, self.options, self.splits, told))

    def families_apart(self) -> None:
        """Fit each family as a task of the executor. Add a note for a family whose worker was lost or that is late."""
        left = []

        def tasks() -> Iterator[tuple[str, tuple]]:
            for name in self.names:
                if self.measured and self.late(BEGUN):
                    left.append(BY_NAME[name].title)
                else:
                    yield name, (name, self.data, self.options, self.splits)

        found = {}
        for name, own in finished(self.executor, _fitted_family, tasks()):
            self.progress(f"Families, {len(found) + 1} of {len(self.names)}", len(found), len(self.names))
            found[name] = own
            if isinstance(own, Lost):
                self.notes.append(
                    f"The family {BY_NAME[name].title} has no result, because its worker was lost: {own.error}."
                )
            else:
                self.keep(name, own)
        if left:
            self.notes.append(f"The time limit was reached before these families were finished: {', '.join(left)}.")
        self.measured = {name: self.measured[name] for name in self.names if name in self.measured}

    def keep(self, name: str, found: "_Fitted") -> None:
        self.measured[name], self.predicted[name], self.took[name] = found.measured, found.predicted, found.seconds
        self.values[name], self.settings[name] = found.values, found.setting
        self.rank = self.rank if found.rank is None else found.rank

    def beside(self) -> None:
        """Measure costs, train networks and test denoising, if these are requested. Stop if the costs come too late."""
        for place, name in enumerate(self.names if self.options.ladder else ()):
            if self.late(FINISHED):
                self.notes.append("The time limit was reached before all costs were measured.")
                return
            self.progress("Cost against length", place, len(self.names))
            found = cost(name, self.options.ladder, self.data.channels, self.options.read == "mean")
            if found is not None:
                self.costs[name] = found
        if self.options.finite:
            from ._finite import train_families

            self.finite = train_families(
                self.data, self.splits, list(self.measured), self.kernel_errors(), self.options, self.progress,
                lambda: self.late(FINISHED),
            )  # fmt: skip
            if len(self.finite) < len(self.measured):
                left = ", ".join(BY_NAME[name].title for name in list(self.measured)[len(self.finite) :])
                self.notes.append(f"The time limit was reached before these networks were trained: {left}.")
        if "score" in self.options.family_names:
            from ._scores import denoising

            self.progress("Denoising", 0, 1)
            self.scores = denoising(self.data, self.splits, self.options.seed)

    def kernel_errors(self) -> dict[str, float]:
        """Return the error of each family on the first split, relative to guessing."""
        guess = guessing(self.data.y, self.splits)[0].mean()
        return {name: float(found.losses[0].mean() / guess) for name, found in self.measured.items()}

    def record(self) -> ComparisonRecord:
        """Return all results so far as a record."""
        names, described = list(self.measured), self.described()
        results, compared, ahead, judged, said = [], [], [], None, []
        if names:
            boot = self.resampled(False)
            mixed_up = self.resampled(True)
            results = [self.result(name, i, boot, mixed_up) for i, name in enumerate(names)]
            found = pairs(boot)
            ahead = [names[i] for i in leaders(boot.points.tolist(), found)]
            compared = [
                PairResult(names[p.first], names[p.second], Interval(p.difference, p.lower, p.upper), p.p_value,
                           p.adjusted, p.decided, Interval(p.ratio, p.least, p.most)) for p in found
            ]  # fmt: skip
            both = {names[i]: float(value) for i, value in enumerate(boot.points)}
            own = next((p for p in found if {names[p.first], names[p.second]} == {"recurrent", "attention"}), None)
            judged = theorem(self.data, self.splits.sizes[-1], both, own)
            said = sentences(described, results, ahead, judged, compared)
        said += trained(self.finite, {name: BY_NAME[name].title for name in names})
        said += [scored(self.scores)] if self.scores else []
        exponents = {name: found.flops for name, found in self.costs.items()}
        return ComparisonRecord(
            **ComparisonRecord.head(), seed=self.options.seed, seconds=time.monotonic() - self.started,
            peak_gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, data=described,
            winner=ahead[0] if len(ahead) == 1 and len(names) > 1 else None, leaders=ahead, sentences=said,
            families=results, pairs=compared, theorem=judged,
            statements=statements(self.data, self.rank, 2 * MODES * self.data.channels, exponents) if names else [],
            finite=self.finite, scores=self.scores, notes=self.notes, interrupted=self.interrupted,
        )  # fmt: skip

    def resampled(self, shuffled: bool) -> Bootstrap:
        losses = [found.permuted if shuffled else found.losses for found in self.measured.values()]
        guesses, tests = guessing(self.data.y, self.splits, shuffled), self.splits.tests
        if shuffled:  # in each split, a held-out position has the target of another row
            tests = np.stack([own[test] for own, test in zip(self.splits.permuted, tests, strict=True)])
        return bootstrap(losses, guesses, tests, len(self.data.x), self.options.seed)

    def result(self, name: str, place: int, boot: Bootstrap, shuffled: Bootstrap) -> FamilyResult:
        family, found, predicted = BY_NAME[name], self.measured[name], self.predicted[name]
        error, permuted = float(boot.points[place]), float(shuffled.points[place])
        ends = shuffled.interval(place)
        points, later = self.curve(name, boot.samples[:, place].std() / max(error, 1e-12))
        last, values = points[len(self.splits.sizes) - 1].predicted, self.values[name]
        wide = self.options.kernels == "wide"
        return FamilyResult(
            name=name, title=family.title,
            words="an infinitely wide network of this kind" if wide else family.described(self.options.read == "mean"),
            error=estimate(error, boot.interval(place)),
            wrong=None if found.wrong is None else float(found.wrong.mean()),
            permuted=estimate(permuted, ends), sound=ends[0] <= 1 <= ends[1] or abs(permuted - 1) <= RELEVANT,
            setting=self.settings[name], values=list(values),
            chosen=[values[choice.setting] for choice in found.chosen[-1]],
            ridges=[float(RIDGES[choice.ridge]) for choice in found.chosen[-1]],
            points=points, later=later,
            ratio=None if last is None or error <= 0 else last.value / error, equivalent=predicted.equivalent,
            effective_dimension=predicted.effective_dimension, alignment=list(predicted.alignment),
            seconds=self.took[name], cost=self.costs.get(name),
        )  # fmt: skip

    def curve(self, name: str, shared: float) -> tuple[list[Point], list[Point]]:
        """Return measured and predicted errors at each size, and expected errors at 2, 4, 8 times the training rows."""
        found, predicted = self.measured[name], self.predicted[name]
        measured, ses, points = [], [], []
        for s, n in enumerate(self.splits.sizes):
            theory = Interval(*(float(part[s]) for part in (predicted.error, predicted.lower, predicted.upper)))
            relative = found.errors[:, s] / guessing(self.data.y, self.splits, size=n).mean(axis=1)
            se = float(relative.std(ddof=1) / math.sqrt(len(relative))) if len(relative) > 1 else math.nan
            measured.append(float(relative.mean()))
            ses.append(se)
            points.append(Point(n, measured[-1], se if math.isfinite(se) else None, theory))
        if len(measured) < 3:
            return points, []
        total = np.hypot(np.nan_to_num(ses), shared * np.array(measured))
        try:
            goes_on = forecast(self.splits.sizes, measured, total, baseline=1.0, shared=shared)
        except DataError:
            return points, []
        later = []
        for factor in (2, 4, 8):
            n = factor * self.splits.sizes[-1]
            expected = goes_on.error(n, level=0.95)
            later.append(Point(n, None, None, Interval(expected.value, expected.lower, expected.upper)))
        return points, later

    def described(self) -> Data:
        """Return the description of the rows that the record stores."""
        data, lengths = self.data, self.data.mask.sum(axis=1)
        return Data(
            name=data.name, words=data.words, expected=data.expected, rows=data.rows, used_rows=len(data.x),
            length=data.length, shortest=int(lengths.min()), channels=data.channels,
            training=self.splits.sizes[-1], test=self.splits.tests.shape[1], repeats=self.options.repeats,
            task=data.task, target=data.target, classes=None if data.classes is None else list(data.classes),
            read=self.options.read, kernels=self.options.kernels, notes=list(data.notes),
        )  # fmt: skip
