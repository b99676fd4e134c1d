"""The answers in words: is there signal, which model, how many rows, and what more of them buy."""

import dataclasses
import math
from collections.abc import Sequence

from ._forecast import Forecast
from ._measure import Measured
from ._metrics import Metric, spell, tell
from ._result import Answers, Interval, More
from ._signal import LEVEL, Signal

FARTHEST = 1000.0
"""Numbers of rows beyond this many times the data are not told: the answer is that the value is out of reach."""
STEPS = (0.25, 1.0, 3.0, 7.0)
"""How many more rows are priced, relative to the rows there are."""
MOST_NAMED = 2
"""Models that may be as good as the best are named up to this number, and counted beyond."""
EXACT = 1e-10
"""Below this share of the loss of guessing, a prediction is exact: the rest is rounding."""
GAIN = 0.9
"""Where nothing is asked for, the question is what a tenth less loss takes."""


@dataclasses.dataclass(frozen=True)
class Question:
    """What is asked of a table.

    Args:
        unit: the metric.
        loss: the loss that is asked for; None asks for a tenth less than the best model has with all rows.
        total: rows N.
        spread: variance of the target.
        guessing: the loss of who knows no inputs.
        cost: price of a row, where it is known.
    """

    unit: Metric
    loss: float | None
    total: int
    spread: float
    guessing: float
    cost: float | None = None

    def told(self, interval: Interval) -> Interval:
        """An interval of losses in the unit of the metric, its lower end first."""
        ends = [self.unit.told(loss, self.spread) for loss in (interval.lower, interval.upper)]
        return Interval(self.unit.told(interval.value, self.spread), min(ends), max(ends))

    def say(self, loss: float) -> str:
        """A loss in words: "accuracy 95.0 %"."""
        return f"{self.unit.name} {tell(self.unit, loss, self.spread)}"

    def say_interval(self, interval: Interval) -> str:
        """A loss and its interval in words: "accuracy 95.0 % (94.1 % to 95.8 %)"."""
        ends = sorted((interval.lower, interval.upper), reverse=self.unit.rises)
        low, high = (tell(self.unit, loss, self.spread) for loss in ends)
        return f"{self.say(interval.value)} ({low} to {high})"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with its forecast."""

    measured: Measured
    forecast: Forecast

    @property
    def title(self) -> str:
        """The model in words."""
        return self.measured.model.title

    def expected(self, n: float | int) -> Interval:
        """The loss that is expected at n rows."""
        return self.forecast.error(float(n))


def beats_guessing(measured: Measured, question: Question) -> bool:
    """Whether the model learns, and at the largest measured size beats guessing by a standard error."""
    losses = measured.losses[question.unit.name]
    return measured.learns and bool(losses.mean[-1] + losses.se[-1] < question.guessing)


def answers(found: Signal, candidates: Sequence[Candidate], question: Question) -> Answers:
    """The answers, of which the first line says whether there is anything to predict.

    The best model is the one that needs the fewest rows for the loss that is asked; where none is asked, or none comes
    to it, the one with the smallest loss expected with all rows. Models that do not beat guessing are not considered.

    Args:
        found: the test for signal.
        candidates: the models that were measured.
        question: what is asked.
    """
    useful = [item for item in candidates if beats_guessing(item.measured, question)]
    if not found.found or not useful:
        return _nothing(found, question, bool(useful))
    ends = [item.expected(question.total).value for item in useful]
    best = useful[min(range(len(useful)), key=ends.__getitem__)]
    loss, origin = question.loss, "asked with --error"
    if loss is None:
        loss, origin = GAIN * min(ends), f"a tenth less {_named(question)} than {best.title} has with all rows"
    else:
        needs = [item.forecast.samples(loss).value for item in useful]
        if min(needs) <= FARTHEST * question.total:
            best = useful[min(range(len(useful)), key=lambda i: (needs[i], ends[i]))]
    if min(ends) <= EXACT * question.guessing:
        loss, origin = EXACT * question.guessing, "exact up to rounding"
    needed, now = best.forecast.samples(loss), best.expected(question.total)
    more = [_more(best, question, step) for step in STEPS]
    sentences = [f"The columns predict the target (permutation test, p = {found.p_value:.2g})."]
    first, second = _rows(best, question, loss, needed, origin), _present(best, question, now, useful)
    sentences += [second, first] if question.loss is None else [first, second]
    sentences += [_bought(question, now, more[1]), _limit(best, question)]
    if origin == "exact up to rounding":
        sentences[1:] = [f"From about {_rows_of(needed.value)} on, {best.title} predicts it exactly, up to rounding."]
    return Answers(
        [sentence for sentence in sentences if sentence],
        best.measured.model.name,
        question.unit.told(loss, question.spread),
        origin,
        needed,
        question.told(now),
        [dataclasses.replace(item, expected=question.told(item.expected)) for item in more],
    )


def _nothing(found: Signal, question: Question, useful: bool) -> Answers:
    """Where there is no signal, no model is best, and no number of rows is told."""
    if found.found:
        sentence = (
            "The columns say something about the target (permutation test, "
            f"p = {found.p_value:.2g}), but no model here beats guessing in {question.unit.name}: "
            "more rows, or other columns."
        )
    else:
        sentence = (
            f"Nothing here predicts the target: on {found.rows} rows, targets handed out at random are predicted as "
            f"well "
            f"in {found.p_value:.0%} of all cases (permutation test; {LEVEL:.0%} or less would be a signal)."
        )
    rest = f"Guessing has {question.say(question.guessing)}; no number of rows is given."
    asked = math.nan if question.loss is None else question.unit.told(question.loss, question.spread)
    return Answers([sentence, rest], None, asked, "", None, None, [])


def _rows(best: Candidate, question: Question, loss: float, needed: Interval, origin: str) -> str:
    """How many rows the asked loss takes."""
    level = question.say(loss) if question.loss is not None else f"A tenth less error ({question.say(loss)})"
    total = question.total
    if not needed.value <= FARTHEST * total:
        reach = best.expected(8 * total)
        return (
            f"{_capital(level)} is not expected of any model here, however many rows; the nearest, {best.title}, is "
            f"expected to have {question.say_interval(reach)} with {8 * total:,} rows."
        )
    spelled = f"about {_rows_of(needed.value)} ({rows(needed.lower)} to {_upper(needed.upper, total)})"
    text = f"{_capital(level)} takes {spelled} with {best.title}; there are {total:,}."
    if needed.value > total:
        text = f"{text[:-1]}, so about {rows(needed.value - total)} more."
    if question.cost is not None and needed.value > total:
        text += f" At {question.cost:g} a row that costs about {spell(question.cost * (needed.value - total))}."
    return text


def _present(best: Candidate, question: Question, now: Interval, useful: Sequence[Candidate]) -> str:
    text = f"With all {question.total:,} rows the best is {best.title}: {question.say_interval(now)}"
    near = [item.title for item in useful if item is not best and item.expected(question.total).value <= now.upper]
    if not near:
        return f"{text}."
    return f"{text}; {_listed(near) if len(near) <= MOST_NAMED else f'{len(near)} others'} may be as good."


def _bought(question: Question, now: Interval, more: More) -> str:
    better = (
        f"{more.rows:,} more rows (twice the data) are expected to change {question.say(now.value)} "
        f"into {tell(question.unit, more.expected.value, question.spread)}"
    )
    ends = sorted((more.expected.lower, more.expected.upper), reverse=question.unit.rises)
    low, high = (tell(question.unit, loss, question.spread) for loss in ends)
    price = "" if more.cost is None else f", for {spell(more.cost)}"
    return f"{better} ({low} to {high}){price}."


def _limit(best: Candidate, question: Question) -> str:
    floor = best.forecast.floor()
    if floor.upper <= 0.02 * question.guessing:
        return ""
    return f"However many rows, {best.title} is not expected to come past {question.say_interval(floor)}."


def _more(best: Candidate, question: Question, step: float) -> More:
    extra = max(1, round(step * question.total))
    cost = None if question.cost is None else question.cost * extra
    return More(extra, best.expected(question.total + extra), cost)


def rows(n: float) -> str:
    """A number of rows to two digits (three from 1,000): a forecast knows no more.

    >>> rows(1234.5), rows(87.4)
    ('1,240', '88')
    """
    if not math.isfinite(n):
        return "any number"
    digits = 2 if n < 1000 else 3
    return f"{float(f'{max(1.0, math.ceil(n - 1e-9)):.{digits}g}'):,.0f}"


def _rows_of(n: float) -> str:
    return f"{rows(n)} row{'' if rows(n) == '1' else 's'}"


def _upper(n: float, total: int) -> str:
    return rows(n) if n <= FARTHEST * total else "no upper limit"


def _named(question: Question) -> str:
    return "error" if question.unit.rises else question.unit.name


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
