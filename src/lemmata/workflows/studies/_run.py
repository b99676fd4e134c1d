"""Run the study of a table and return a record of its results."""

import concurrent.futures
import dataclasses
import functools
import math
import os
import pathlib
import resource
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from threadpoolctl import threadpool_limits

from lemmata.core import one_blas_thread, release_freed, require_float64
from lemmata.errors import DataError
from lemmata.interruption import heeded
from lemmata.options import StudyOptions
from lemmata.subjects.forecasts import forecast
from lemmata.workflows.records.studies import (
    Expected,
    Finding,
    ModelResult,
    Point,
    SignalResult,
    Spectral,
    StudyRecord,
    TheoryPoint,
)

from ._all_rows import spectral_rows, with_all_rows
from ._answers import answers
from ._asking import question, recorded
from ._data import Dataset
from ._drift import ahead, drift, few_times, unlike
from ._encoded import Encoded
from ._estimators import fault_of
from ._kernel_theory import spectral, theory
from ._measure import UnmeasuredError, measure
from ._models import Model, is_last_value, models
from ._outlook import Candidate, evened
from ._overview import describe
from ._own import own_model
from ._plan import MOST_LEFT_OUT, left_out, width_of
from ._question import Question
from ._reservations import about_answers, about_models
from ._residuals import residuals
from ._signal import Signal, signal
from ._standing import beats_guessing, eligible

TRAINING_ROWS = 300
MEASURED_SHARE, PAGE_SECONDS = 0.9, 4.0
"""From the time limit, subtract the time for the page. After this share of the rest, no further model is begun."""
BAND = 24
MOST_THREADS = 8
"""The most threads that measure models in parallel. Fits release Python's global lock, so one process is enough."""

Progress = Callable[[str, float, float], None]


def run_study(
    dataset: Dataset,
    options: StudyOptions = StudyOptions(),  # noqa: B008 -- frozen
    progress: Progress = lambda stage, done, total: None,
    started: float | None = None,
    executor: concurrent.futures.Executor | None = None,
) -> StudyRecord:
    """Test whether columns predict the target. Estimate the best model, the needed rows, and the gain from more rows.

    Args:
        dataset: the table.
        options: the options of the study.
        progress: a function that is called with the stage, the finished amount and the total amount.
        started: the `time.monotonic()` at which the time limit began; None means now.
        executor: an executor that fits the splits of the learning curves; None means threads of this process.

    Returns:
        The record in study.json. After Ctrl-C it holds the finished parts, and `interrupted` is true.

    Raises:
        UnknownNameError: if there is no model with such a name.
        SettingError: if an option is out of its bounds.
        DataError: if no model could be fitted.
        PrecisionError: if float64 is not enabled in JAX.
    """
    require_float64("a study")
    asked = question(dataset, options)
    job = _Job(dataset, options, progress, time.monotonic() if started is None else started, executor, asked)
    with one_blas_thread(), warnings.catch_warnings():
        # Ignore warnings of other libraries. The filter is set once, because all threads share it.
        warnings.filterwarnings("ignore", module=r"(?!lemmata\b)")
        # scikit-learn resets the filters on its threads.
        warnings.showwarning = functools.partial(_shown, warnings.showwarning)
        try:
            job.measure()
            job.examine()
        except KeyboardInterrupt:
            if not job.candidates or job.signal is None:
                raise
            heeded()
            job.interrupted = True
            job.note("interrupted", "The study was interrupted, so unfinished parts are missing.")
        return job.record()


class _Job:
    """A running study. Finished parts are kept if a stage is interrupted."""

    def __init__(self, dataset: Dataset, options: StudyOptions, progress: Progress, started: float,
                 executor: concurrent.futures.Executor | None, asked: Question):  # fmt: skip
        self.executor, self.question = executor, asked
        dataset = dataclasses.replace(dataset, unit=asked.unit)
        self.dataset, self.options, self.progress, self.started = dataset, options, progress, started
        self.encoded = Encoded(dataset)
        self.few = spectral_rows(dataset, options.seed, MOST_LEFT_OUT)
        self.models = models(options.model_names, self.few.x, dataset.task, dataset.targets, dataset.order is not None)
        self.signal: Signal | None = None
        self.candidates: list[Candidate] = []
        self.shares: dict[str, float] = {}
        self.theory: dict[str, list[TheoryPoint]] = {}
        self.spectra: dict[str, Spectral | None] = {}
        self.stopped = threading.Event()
        self.claims: list[dict] = []
        self.training: list[dict] = []
        self.bibliography: list[dict] = []
        self.findings: list[Finding] = []
        if options.model is not None:
            own, said = own_model(options.model, dataset, [model.name for model in self.models])
            self.models.append(own)
            self.findings += [Finding("own model", (), text) for text in said]
        self.interrupted = False

    def note(self, kind: str, text: str) -> None:
        self.findings.append(Finding(kind, (), text))

    def until(self, share: float) -> float:
        limit = self.options.time_limit
        return math.inf if limit is None else self.started + share * limit

    def measure(self) -> None:
        """Run the test for signal and measure the learning curves of the models in parallel."""
        self.progress("Looking for signal", 0, 1)
        # The longest fits come first, so that the threads end together. With a time limit, the usual models and the
        # linear and RBF kernels come first, the cheapest of them first.
        price = {model.name: model.price(len(self.dataset.targets), width_of(self.dataset),
                                         self.dataset.targets.shape[1]) for model in self.models}  # fmt: skip
        waiting = sorted(self.models, key=lambda model: -price[model.name])
        if self.options.time_limit is not None:
            waiting.sort(key=lambda model: (model.theory and model.name not in ("linear", "rbf"), price[model.name]))
        threads, end = min(MOST_THREADS, os.cpu_count() or 1), self.until(MEASURED_SHARE) - PAGE_SECONDS
        running: dict[concurrent.futures.Future[Candidate], Model] = {}
        pool = concurrent.futures.ThreadPoolExecutor(threads, initializer=_one_openmp_thread)
        looking = pool.submit(self.look)
        try:
            while waiting or running:
                late = time.monotonic() > end and (self.candidates or running)
                if late and waiting:
                    left = "; ".join(model.title for model in self.models if model in waiting)
                    self.note("time limit", f"The time limit was reached before these models were measured: {left}.")
                    waiting = []
                while waiting and len(running) < threads:
                    now = time.monotonic()
                    deadline = now + (end - now) * threads / max(threads, len(waiting)) if end < math.inf else end
                    model = waiting.pop(0)
                    running[pool.submit(self.candidate, model, deadline, end)] = model
                ready, _ = concurrent.futures.wait(running, 0.2, concurrent.futures.FIRST_COMPLETED)
                if looking.done():
                    self.signal = looking.result()
                    self.progress("Learning curves", sum(self.shares.values()), len(self.models))
                for future in ready:
                    self.finished(running.pop(future), future)
        finally:
            self.stopped.set()
            pool.shutdown(cancel_futures=True)
            if not looking.cancelled() and looking.exception() is None:
                self.signal = looking.result()
        looking.result()
        if not self.candidates:
            raise DataError(
                "no model could be fitted",
                found=" ".join(item.text for item in self.findings),
                rule="a study needs at least one model that can be fitted",
            )

    def look(self) -> Signal:
        """Run the test for signal. This method may run on any thread."""
        with jax.enable_x64(True):  # each thread has its own setting
            return signal(self.dataset, self.options.seed)

    def candidate(self, model: Model, deadline: float, end: float) -> Candidate:
        """Measure and forecast a model's learning curve, and apply the theory to the model if there is time.

        This method may run on any thread.
        """

        def told(share: float) -> None:
            if self.stopped.is_set():
                raise KeyboardInterrupt
            self.shares[model.name] = share

        with jax.enable_x64(True):  # each thread has its own setting
            asked = (self.options.seed, self.options.quick, deadline, told, self.executor, self.encoded)
            measured = measure(model, self.dataset, *asked)
            beside = self.options.claims or not self.options.quick
            if time.monotonic() < end and (beside or left_out(self.dataset)):
                measured = with_all_rows(measured, self.few)
            if time.monotonic() < end and beside:
                self.theory[model.name] = theory(measured, self.few)
            self.spectra[model.name] = spectral(measured, self.few)
            measured = dataclasses.replace(measured, modes=None)  # the eigenvectors are as large as the Gram matrix
            release_freed()
        self.shares[model.name] = 1.0
        unit = self.question.unit
        losses = measured.losses[unit.name]
        known = {"baseline": self.question.guessing, "shared": losses.shared}
        curve = forecast(losses.sizes, losses.mean, losses.se, **known)
        return Candidate(measured, curve, unit, self.question.total)

    def finished(self, model: Model, future: "concurrent.futures.Future[Candidate]") -> None:
        try:
            found = future.result()
            if is_last_value(found.measured.model) and any(other.name == "last" for other in self.models):
                self.note(
                    "season",
                    "The model 'last season' was left out: none of the tried seasons predicts the target better than "
                    "the last value.",
                )
                return
            self.candidates.append(found)
            self.findings += [Finding("splits", (), text) for text in found.measured.notes]
        except (Exception, SystemExit) as error:  # the model may be the user's own; the other models continue
            what = fault_of(error)
            why = what if isinstance(error, UnmeasuredError) else f"the model could not be fitted ({what})"
            self.note("model", f"{model.title} was left out: {why}.")
        names = [model.name for model in self.models]
        self.candidates.sort(key=lambda item: names.index(item.measured.model.name))

    def examine(self) -> None:
        """If requested, examine the theorems that apply to the data and compare trained networks with their kernels."""
        best = self.best_kernel()
        if not self.options.claims or best is None or best.measured.ridge is None:
            return
        from ._claims import bibliography, examinations, regression
        from ._training import train_networks

        problem = regression(self.few, best.measured.model, best.measured.ridge, self.options.seed)
        order = np.random.default_rng([self.options.seed, 1]).permutation(len(self.few.x))
        half = min(TRAINING_ROWS, len(order) // 2)
        train, test = order[:half], order[half : 2 * half]
        parts = self.few.x[train], self.few.y[train], self.few.x[test], self.few.y[test]
        self.training += train_networks(*parts, self.options.seed, self.until(0.9), self.progress)
        name, examined = best.measured.model.name, []
        for entry, claim in examinations(problem, name, self.options.seed, self.until(0.95), self.progress):
            self.claims.append(entry)
            examined.append(claim)
            self.bibliography = bibliography(examined)

    def best_kernel(self) -> Candidate | None:
        kernels = [item for item in self.candidates if self.spectra.get(item.measured.model.name) is not None]
        return min(kernels, key=lambda item: item.expected(self.question.total).value, default=None)

    def record(self) -> StudyRecord:
        """Return all results so far as a record."""
        assert self.signal is not None
        if self.dataset.order is None:
            self.candidates = evened(self.candidates)
        question, unit = self.question, self.question.unit
        drifts = self.drifts()
        found = answers(self.signal, self.candidates, dataclasses.replace(question, drifts=bool(drifts)))
        best = next((item for item in self.candidates if item.measured.model.name == found.best), None)
        loss = (
            question.loss
            if best is None or found.needed is None
            else unit.understood(found.asked, self.question.spread)
        )
        in_time = drifts + unlike(self.dataset, question) + self.about_time(best)
        first, *others = found.sentences
        found = dataclasses.replace(found, sentences=[first, *in_time, *others, *ahead(self.dataset)])
        self.findings += about_models(self.candidates, self.dataset, self.few, self.theory, self.options.quick)
        skipped = sum(entry["status"] == "not examined" for entry in self.claims)
        if skipped:
            self.note("time limit", f"The time limit was reached before {skipped} claims were checked.")
        findings = [*about_answers(self.signal, question, self.dataset, in_time), *self.findings]
        findings += self.dataset.findings
        return StudyRecord(
            **StudyRecord.head(),
            seed=self.options.seed,
            seconds=time.monotonic() - self.started,
            peak_gib=_peak_gib(),
            data=describe(self.dataset),
            unit=recorded(question),
            signal=SignalResult(
                self.signal.found, self.signal.p_value, self.signal.rows, self.signal.kind, self.signal.least
            ),
            answers=found,
            models=[self.result(item, loss) for item in self.in_order(found.best)],
            residuals=[] if best is None else residuals(best.measured.model, self.dataset, unit, self.options.seed),
            claims=[entry for entry in self.claims if entry["status"] != "not examined"],
            training=self.training,
            bibliography=self.bibliography,
            findings=list(dict.fromkeys(findings)),
            interrupted=self.interrupted,
        )

    def steadiest(self) -> Candidate | None:
        """With --time: return the model that uses columns and has the smallest loss at any of its sizes."""
        # With drift, the loss of every model may rise with more rows.
        knowing = [item for item in self.candidates if not item.measured.model.naive]
        if self.dataset.order is None or not knowing:
            return None
        return min(knowing, key=lambda item: float(item.losses.mean.min()))

    def drifts(self) -> list[str]:
        """With --time: return a sentence if older rows no longer help."""
        steadiest = self.steadiest()
        return [] if steadiest is None or few_times(self.dataset) else drift(steadiest, self.question)

    def about_time(self, best: Candidate | None) -> list[str]:
        """With --time: return a sentence if a naive model predicts better than every model that uses the columns."""
        steadiest, found = self.steadiest(), []
        if best is None or steadiest is None or not best.measured.model.naive:
            return found
        if best.losses.mean[-1] < steadiest.losses.mean.min():
            name = self.options.time
            found.append(f"Repeating the {best.title} predicts better than any model that uses the columns. If the "
                         f"target has a trend, add --keep {name!r} so that the models use the time.")  # fmt: skip
        return found

    def shown(self) -> list[Candidate]:
        """Return the models for the answers. No forecast of a model falls below the best model's limit (`grounded`)."""
        seen = {item.measured.model.name: item for item in eligible(self.candidates, self.question)}
        return [seen.get(item.measured.model.name, item) for item in self.candidates]

    def in_order(self, best: str | None) -> list[Candidate]:
        """Sort models: the best model, then models that significantly beat guessing, then the rest.

        Each group is ordered by the expected loss with all rows.
        """
        place = lambda item: (item.measured.model.name != best, not beats_guessing(item, self.question),
                              item.expected(self.question.total).value)  # fmt: skip
        return sorted(self.shown(), key=place)

    def result(self, item: Candidate, loss: float | None) -> ModelResult:
        question, measured = self.question, item.measured
        unit, losses = question.unit, measured.losses[question.unit.name]
        goal = loss if loss is not None else question.guessing
        sizes = np.geomspace(losses.sizes[0], 8 * question.total, BAND)
        points = []
        for n, mean, se, splits in zip(losses.sizes, losses.measured, losses.se, losses.splits, strict=True):
            ends = [unit.told(min(max(mean + sign * se, 0.0), unit.most), question.spread) for sign in (-1, 1)]
            value = unit.told(float(mean), self.question.spread)
            points.append(Point(float(n), value, abs(ends[1] - ends[0]) / 2, splits))
        band = []
        for n in sizes:
            told = question.told(item.expected(float(n)))
            band.append(Expected(float(n), told.value, told.lower, told.upper))
        return ModelResult(
            name=measured.model.name,
            title=measured.model.title,
            formula=measured.model.formula,
            kernel=measured.model.theory,
            learns=beats_guessing(item, question),
            points=points,
            band=band,
            now=question.told(item.expected(question.total)),
            needed=item.samples(goal),
            limit=question.told(item.limit()),
            ridge=measured.ridge,
            theory=self.theory.get(measured.model.name, []),
            spectrum=self.spectra.get(measured.model.name),
            trained=None
            if unit.name not in measured.fitted
            else unit.told(measured.fitted[unit.name], question.spread),
            seconds=measured.seconds if math.isfinite(measured.seconds) else None,
        )


def _shown(show: Callable[..., None], message: Warning | str, category: type[Warning], name: str, *more: Any) -> None:
    """Show a warning only if it comes from one of lemmata's own files."""
    if pathlib.Path(__file__).parents[2] in pathlib.Path(name).parents:
        show(message, category, name, *more)


def _one_openmp_thread() -> None:
    """Limit OpenMP to one thread, because OpenMP counts its threads separately for each calling thread.

    On two cores, two fits with two OpenMP threads each were three times slower in parallel than one after the other.
    """
    threadpool_limits(1, user_api="openmp")


def _peak_gib() -> float:
    """Return the peak memory of this process in GiB. Linux reports the peak in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
