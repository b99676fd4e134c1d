"""Select the checks (claims of theory about a trained model) that apply, estimate their costs, and compute results."""

import dataclasses
import importlib
import inspect
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.core import key_from
from lemmata.engine.claims import Estimate, Sample, Standing, registry
from lemmata.errors import LemmataError, MemoryPlanError, words_of
from lemmata.subjects.trained_models import (
    HELD_OUT,
    TO_BE_SCORED,
    AbstractGauge,
    LossError,
    Trained,
    fresh_rows,
    kinds_told,
    loss_words,
    share_answers,
    without_held_rows,
)
from lemmata.workflows.records.examinations import Condition, Gauge, GaugeInterval

_CHAPTER = "trained_models"
_LOSS, _ITS_LOSS = "the training loss", "its loss is"
_WORDS = {"estimate": "the interval", "upper": "the bound", "lower": "the bound"}
_AGREES = {"the interval": "contains the measured value", "the bound": "holds for the measured value"}
_MISSES = {"the interval": "does not contain the measured value", "the bound": "fails for the measured value"}


def gauges_of(trained: Trained) -> list[AbstractGauge]:
    """Return the registered checks that can be made on a trained model, in the order of their names."""
    return [claim for claim in posable(trained) if claim.needed is None or claim.needed(trained)]


def posable(trained: Trained) -> list[AbstractGauge]:
    """Return every check that can be made on a model, also those that another check replaces.

    The model is not called.
    """
    known = (claim for claim in registry(_CHAPTER).values() if isinstance(claim, AbstractGauge) and claim.of_data)
    return [claim for claim in known if claim.population.posed(trained) is not None]


def theory(claim: AbstractGauge) -> str:
    """Return the section of a claim: the first line of its module's docstring, up to the colon."""
    words = inspect.getdoc(importlib.import_module(type(claim).__module__)) or ""
    return words.split("\n")[0].split(":")[0].rstrip(".")


def foreign(claim: AbstractGauge, trained: Trained) -> str | None:
    """Return the reason why a check cannot apply to this kind of model; None if it can.

    A language model has one output per document, which is the loss of the document. If the formula of a claim holds
    only for some losses, the claim declares these losses.
    """
    task = trained.task
    if task.is_language and not claim.of_losses:
        return "a language model gives one loss for each document, but this theory needs one output for each class"
    if claim.losses and trained.model.differentiable and task.loss_known and task.loss_kind not in claim.losses:
        return f"{_ITS_LOSS} {loss_words(task.loss)}, but this theory holds only for {kinds_told(claim.losses)}"
    return None


def inapplicable(claim: AbstractGauge, reason: str) -> Gauge:
    """Return the record of a check that does not apply to this kind of model."""
    told = reason.startswith(_ITS_LOSS)
    conditions = [Condition(_LOSS, None, "", None, False, reason)] if told else []
    return entry(claim, "inapplicable", reason, hypotheses=conditions)


def refused(claim: AbstractGauge, trained: Trained) -> bool:
    """Whether hypotheses that are cheap to test (those of the claim's population) already exclude a check here."""
    try:
        return bool(_failing([_condition(hypothesis) for hypothesis in claim.population.hypotheses(trained)]))
    except (Exception, SystemExit):  # the check itself reports this error
        return False


def price(claim: AbstractGauge, trained: Trained, second: float) -> float:
    """Return the expected time of a check in seconds.

    Args:
        claim: the check.
        trained: the model.
        second: the time of one gradient over all training rows, in seconds.
    """
    return float(claim.passes(trained)) * second


def memory(claim: AbstractGauge, trained: Trained) -> int:
    """Return the bytes of memory that a check needs at once."""
    return 0 if claim.bytes is None else int(claim.bytes(trained))


def entry(claim: AbstractGauge, status: str, reason: str, **rest: Any) -> Gauge:
    """Return the record of a check, which holds the texts of the claim and the results."""
    found: dict[str, Any] = {"hypotheses": [], "predicted": None, "measured": None, "trivial": None, "seconds": 0.0}
    return Gauge(
        name=claim.name, title=claim.title, theory=theory(claim), controls=claim.controls, source=str(claim.source),
        status=status, reason=reason, route=_route(claim), control=claim.control.statement,
        unexplained=claim.unexplained, label=claim.relation.label, ends=claim.ends, **{**found, **rest},
    )  # fmt: skip


def level(claim: AbstractGauge) -> float | None:
    """Return the level of a predicted interval: the claim's own `level`, or otherwise the level of its relation.

    The result is None for claims without a level.

    Args:
        claim: the check.
    """
    own = 1 - claim.relation.delta if isinstance(claim.relation, Estimate) else None
    return own if math.isnan(claim.level) else claim.level


def _route(claim: AbstractGauge) -> str:
    return inspect.getdoc(claim.measure) or ""


def gauge(claim: AbstractGauge, trained: Trained, seed: int) -> Gauge:
    """Return the result of one claim on the model: hypotheses, prediction, measurement, and their agreement."""
    begun = time.monotonic()
    try:
        found = _posed(claim, trained, seed)
    except (MemoryPlanError, MemoryError) as error:
        found = entry(claim, "unaffordable", _line(error))
    except LossError:
        words = f"{_ITS_LOSS} {loss_words(trained.task.loss)}, whose derivatives lemmata does not know"
        found = inapplicable(claim, words)
    except (Exception, SystemExit) as error:  # a claim's own code, and the user's model in it, may raise anything
        found = entry(claim, "failed", _line(error))
    return dataclasses.replace(found, seconds=time.monotonic() - begun)


def _line(error: BaseException) -> str:
    words = words_of(error)
    return words if isinstance(error, LemmataError) and words else f"{type(error).__name__}: {words}".rstrip(": ")


def _posed(claim: AbstractGauge, trained: Trained, seed: int) -> Gauge:
    """Return the result of a claim. Hypotheses of the population come first, as those of the claim may need them."""
    other = foreign(claim, trained)
    if other is not None:
        return inapplicable(claim, other)
    conditions = [_condition(hypothesis) for hypothesis in claim.population.hypotheses(trained)]
    if claim.hypotheses and not _failing(conditions):
        conditions += [_condition(hypothesis) for hypothesis in claim.hypotheses(trained)]
    failing = _failing(conditions)
    if failing:
        return entry(claim, "inapplicable", "; ".join(map(_said, failing)), hypotheses=conditions)
    told: dict[str, Any] = {"hypotheses": conditions}
    unseen = next((own for own in conditions if own.name in TO_BE_SCORED and own.holds is False), None)
    few = any(own.name == HELD_OUT and own.holds is False for own in conditions)
    alone = without_held_rows(trained) if few and trained.held is not None else trained
    predicted = np.asarray(claim.predict(trained), float) if unseen is None else _from_few(claim, alone, trained)
    if np.isnan(predicted).any():
        said = "the prediction of this check needs more held-out rows"
        status, reason = ("unscored", said) if unseen else ("failed", "the prediction is not a number")
        return entry(claim, status, reason, **told)
    trivial, vacuous = _trivial(claim, trained, predicted)
    factor = _asked(claim.rows_factor, trained) if vacuous else None
    shown = dataclasses.replace(interval(predicted), level=level(claim))
    told |= {"predicted": shown, "trivial": trivial, "rows_factor": _finite(factor)}
    told["alternative"] = _finite(_asked(claim.alternative, trained))
    nothing = _says_nothing(claim, predicted, trivial, factor) if vacuous else ""
    if unseen is not None:
        said = nothing or _unscored(trained, unseen)
        return entry(claim, "vacuous" if vacuous else "unscored", said, **told)
    key = key_from(seed, "gauge", claim.name)
    measured = np.asarray(claim.measure(trained, key), float)  # pyright: ignore[reportOptionalCall]  # a gauge has one
    told["measured"] = interval(measured)
    status, reason = ("vacuous", nothing) if vacuous else _verdict(claim, trained, predicted, measured)
    beaten = told["alternative"]
    if status == "agrees" and beaten is not None:
        reason += f"; a bound from held-out rows alone is {_number(beaten)}"
    return entry(claim, status, reason, **told)


def _from_few(claim: AbstractGauge, alone: Trained, trained: Trained) -> np.ndarray:
    """Return a prediction that cannot be compared with held-out rows; NaN if the prediction itself needs these rows.

    If there are too few held-out rows, the prediction is made without held-out rows, so that it cannot depend on a
    handful of rows.
    """
    share_answers(trained, alone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(claim.predict(alone), float)
        except (MemoryError, MemoryPlanError):
            raise
        except Exception:  # the claim may depend on the hypothesis that does not hold here
            return np.full(3, np.nan)
        finally:
            share_answers(alone, trained)


def _failing(conditions: list[Condition]) -> list[Condition]:
    """Return the conditions that do not hold, except those that only the comparison with a measurement needs."""
    undefined = lambda own: own.value is not None and math.isnan(own.value)
    return [own for own in conditions if (own.holds is False and own.name not in TO_BE_SCORED) or undefined(own)]


def _trivial(claim: AbstractGauge, trained: Trained, predicted: np.ndarray) -> tuple[float | None, bool]:
    """Return the trivial value (of a simple baseline), and whether the prediction is no better than this value."""
    if not callable(claim.trivial):
        return None, False
    known = np.asarray(claim.trivial(trained), float)
    if not np.isfinite(known).all():
        return None, False
    beyond = claim.relation.vacuous(predicted[None], known[None])
    return float(known.ravel()[0]), beyond is not None and bool(np.asarray(beyond).any())


def _asked(question: Callable[[Trained], float] | None, trained: Trained) -> float | None:
    """Return the result of an optional method of a claim; None if the claim has no such method or the result is NaN."""
    value = math.nan if question is None else float(question(trained))
    return None if math.isnan(value) else value


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value


def _unscored(trained: Trained, unseen: Condition) -> str:
    if unseen.name != HELD_OUT:
        return unseen.why
    rows = 0 if trained.held is None else len(trained.held[0])
    new = int(fresh_rows(trained).sum()) if rows else 0
    copies = f" ({new} without duplicates of training rows)" if new < rows else ""
    asked = "" if not rows or unseen.threshold is None else f", and a measurement needs {unseen.threshold:,.0f}"
    count = f"is {rows} held-out row" if rows == 1 else f"are {rows or 'no'} held-out rows"
    return f"nothing was measured, because there {count}{copies}{asked}"


def _says_nothing(claim: AbstractGauge, predicted: np.ndarray, trivial: float | None, factor: float | None) -> str:
    """Return a sentence that a prediction is no better than the trivial value, and how many rows would change this."""
    label = claim.relation.label
    value = f" {_number(float(predicted.ravel()[0]))}" if label in ("upper", "lower") else ""
    words = f"{_WORDS.get(label, 'the value')}{value} is no better than the trivial value {_number(trivial)}"
    if factor is None:
        return words
    more = f"with {times(factor)} times as many rows, the prediction would be better"
    return f"{words}; {more if math.isfinite(factor) else 'more rows would not improve the prediction'}"


def times(factor: float) -> str:
    """Format a factor above 1 with two digits, rounded up."""
    if not math.isfinite(factor):
        return "infinitely many"
    digit = 10.0 ** (math.floor(math.log10(factor)) - 1)
    rounded = math.ceil(factor / digit - 1e-9) * digit
    return f"{rounded:,.1f}" if rounded < 10 else f"{rounded:,.0f}"


def _verdict(claim: AbstractGauge, trained: Trained, predicted: np.ndarray, measured: np.ndarray) -> tuple[str, str]:
    what = _WORDS.get(claim.relation.label, "the value")
    if not np.isfinite(measured).all():
        return "failed", "the measured value is not finite"
    if not _ordered(measured):
        return "failed", (
            f"the measured value {_number(float(measured[1]))} lies outside the interval of the measurement"
        )
    condition = np.asarray(1.0 if claim.condition is None else claim.condition(trained), float)
    if np.isnan(predicted).any() or not np.isfinite(condition).all():
        return "failed", "the prediction or its numerical precision is not finite"
    agrees = claim.relation.compare(Sample(predicted[None], measured[None], condition[None]))
    if agrees is None:
        return "descriptive", "a single model can neither confirm nor refute this claim"
    words = (_AGREES if agrees else _MISSES).get(what, "agrees" if agrees else "disagrees")
    return "agrees" if agrees else "disagrees", f"{what} {words}"


def _ordered(values: np.ndarray) -> bool:
    """Whether (low, value, high) are in this order up to rounding. If they are not, the measurement has failed."""
    if values.shape != (3,):
        return True
    slack = 1e-9 * float(np.abs(values).max())
    return bool(values[0] <= values[1] + slack and values[1] <= values[2] + slack)


def _said(own: Condition) -> str:
    if own.value is None:
        return f"{own.name}: known to be false here"
    if math.isnan(own.value):
        return f"{own.name} cannot be computed"
    if own.relation == ">=" and own.threshold == 1.0 and own.value == 0.0:
        return f"not true here: {own.name}"
    return f"{own.name} = {_number(own.value)}, required {own.relation} {_number(own.threshold)}"


def interval(values: Any) -> GaugeInterval:
    """Return (low, value, high) as an interval. A single number is used for all three numbers."""
    ends = np.asarray(values, float).ravel()
    low, value, high = ends if len(ends) == 3 else (ends[0],) * 3
    return GaugeInterval(float(value), float(low), float(high))


def _condition(hypothesis: Any) -> Condition:
    if not hypothesis.checkable:
        holds = False if hypothesis.standing is Standing.VIOLATED else None
        return Condition(hypothesis.name, None, hypothesis.relation, None, holds, hypothesis.why)
    value, threshold = float(hypothesis.value), float(hypothesis.threshold)
    holds = None if math.isnan(value) else bool(hypothesis.holds)
    return Condition(hypothesis.name, value, hypothesis.relation, threshold, holds, hypothesis.why)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def of_claim(kind: type[AbstractGauge], gauges: list[Gauge]) -> Gauge | None:
    """Return the result of a claim, found by the class of the claim; None if the claim was not run."""
    name = kind().name
    return next((own for own in gauges if own.name == name), None)
