"""The answers in words: is there signal, which model, how many rows, and what more of them buy."""

import dataclasses
import math
from collections.abc import Sequence

from lemmata.forecasts import Forecast

from ._measure import Measured
from ._metrics import Metric, misranked, spell, spell_asked, tell, wrong
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
"""Where nothing is asked for, the question is what a tenth less error takes, in the unit in which it is told."""
ASKED, ROUNDING = "asked with --error", "exact up to rounding"
OPEN = 0.05
"""A p-value above the level of the test and up to this leaves open whether there is signal."""
SAME_ROWS = 1.1
"""Numbers of rows within this factor are the same: a forecast does not tell them apart."""
COPIES = 0.05
"""From this share of rows on that repeat an earlier one, the answers begin with that."""


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
        value, *ends = (self._told(loss) for loss in (interval.value, interval.lower, interval.upper))
        return Interval(value, min(ends), max(ends))

    def _told(self, loss: float) -> float:
        """A loss in the unit of the metric; a forecast may exceed 1, which a share of rows cannot."""
        return self.unit.told(min(loss, 1.0) if self.unit.rows in (wrong, misranked) else loss, self.spread)

    def say(self, loss: float) -> str:
        """A loss in words: "accuracy 95.0 %"."""
        return f"{self.unit.name} {tell(self.unit, loss, self.spread)}"

    def say_asked(self) -> str:
        """The asked loss in words, in all of its digits: "accuracy 99.999 %"."""
        assert self.loss is not None
        return f"{self.unit.name} {spell_asked(self.unit.told(self.loss, self.spread), self.unit.percent)}"

    def say_interval(self, interval: Interval, like: str = "") -> str:
        """A loss and its interval in words: "accuracy 95.0 % (94.1 % to 95.8 %)".

        Args:
            interval: of losses.
            like: a number as it was asked; where it has more decimals than are told, all three numbers get as many.
        """
        ends = sorted((interval.lower, interval.upper), reverse=self.unit.rises)
        values = [self._told(loss) for loss in (interval.value, *ends)]
        value, low, high = (spell(value, self.unit.percent, like) for value in values)
        return f"{self.unit.name} {value} ({low} to {high})"

    def improved(self, loss: float) -> float:
        """The loss at which a tenth of the error is gone, as it is told: of the RMSE, not of its square."""
        if self.unit.rises:
            return GAIN * loss
        return self.unit.understood(GAIN * self.unit.told(loss, self.spread), self.spread)


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

    The best model is the one with the smallest loss expected with all rows. How many rows an asked loss takes is told
    of the model that needs the fewest; of the best one where it needs at most a tenth more, or where all models come to
    it with the rows there are. Models that do not beat guessing are not considered.

    Args:
        found: the test for signal.
        candidates: the models that were measured.
        question: what is asked.
    """
    useful = [item for item in candidates if beats_guessing(item.measured, question)]
    if not found.found or not useful:
        return _nothing(found, question)
    best = min(useful, key=lambda item: item.expected(question.total).value)
    now = best.expected(question.total)
    exact = now.value <= EXACT * question.guessing
    if question.loss is not None:
        loss, origin = question.loss, ASKED
    elif exact:
        loss, origin = EXACT * question.guessing, ROUNDING
    else:
        loss = question.improved(now.value)
        origin = f"a tenth less {_named(question)} than {best.title} has with all rows"
    first = best if origin == ROUNDING else _first(useful, best, loss, question.total)
    guessed = question.loss is not None and loss >= question.guessing * (1 - 1e-12)
    needed = None if guessed else first.forecast.samples(loss)
    more = [_more(best, question, step) for step in STEPS]
    reach = _guessed(question) if needed is None else _rows(first, useful, question, loss, needed)
    present = _exactly(best, question) if exact else _present(best, question, now, useful)
    sentences = [f"The columns predict the target (permutation test, p = {found.p_value:.2g}).", _copied(found)]
    sentences += [present, reach] if question.loss is None else [reach, present]
    sentences += [_bought(question, now, more[1]), _limit(best, question)]
    if exact:
        sentences = sentences[:2] + ([present] if question.loss is None else [reach, present])
    return Answers(
        [sentence for sentence in sentences if sentence],
        best.measured.model.name,
        question.unit.told(loss, question.spread),
        origin,
        needed,
        question.told(now),
        [dataclasses.replace(item, expected=question.told(item.expected)) for item in more],
        None if needed is None else first.measured.model.name,
    )


def _first(useful: Sequence[Candidate], best: Candidate, loss: float, total: int) -> Candidate:
    """The model of which it is told how many rows the asked loss takes."""
    needs = [item.forecast.samples(loss).value for item in useful]
    if max(needs) <= total or min(needs) > FARTHEST * total:
        return best
    fewest = _fewest(useful, loss)
    return best if _as_few(best, fewest, loss) else fewest


def _fewest(useful: Sequence[Candidate], loss: float) -> Candidate:
    return min(useful, key=lambda item: item.forecast.samples(loss).value)


def _as_few(one: Candidate, fewest: Candidate, loss: float) -> bool:
    return one.forecast.samples(loss).value <= SAME_ROWS * fewest.forecast.samples(loss).value


def _nothing(found: Signal, question: Question) -> Answers:
    """Where there is no signal, no model is best, and no number of rows is told."""
    tested = f"on {found.rows} rows{', one of each group' if found.grouped else ''}, targets handed out at random are"
    if found.found:
        sentence = (
            "The columns say something about the target (permutation test, "
            f"p = {found.p_value:.2g}), but no model here beats guessing in {question.unit.name}: "
            "another kind of model, other columns, or more rows."
        )
    elif found.p_value <= OPEN:
        sentence = (
            f"Whether anything here predicts the target is open: {tested} predicted as well in {found.p_value:.1%} of "
            f"all cases (permutation test, p = {found.p_value:.2g}; {LEVEL:g} or less would be a signal). More rows "
            "would tell."
        )
    else:
        sentence = (
            f"Nothing here predicts the target: {tested} predicted as well in {found.p_value:.0%} of all cases "
            f"(permutation test; {LEVEL:.0%} or less would be a signal)."
        )
    rest = f"Guessing has {question.say(question.guessing)}; no number of rows is given."
    asked = math.nan if question.loss is None else question.unit.told(question.loss, question.spread)
    return Answers([sentence, rest], None, asked, "", None, None, [])


def _copied(found: Signal) -> str:
    """A warning where many rows repeat others, before any number that rests on them."""
    if found.copies < COPIES * found.total:
        return ""
    return (
        f"{found.copies:,} of {found.total:,} rows repeat an earlier row: a held-out row with its twin among the "
        "training rows is no test, so that every number here is too good unless these rows are different cases."
    )


def _guessed(question: Question) -> str:
    """What is asked is no better than what is known without any column."""
    unit = question.unit
    guess = "the mean" if unit.task == "regression" else "the shares of the classes"
    guess = "the most frequent class" if unit.rows is wrong else guess
    has = tell(unit, question.guessing, question.spread)
    return f"Reaching {question.say_asked()} takes no rows: guessing {guess} has {has} already."


def _rows(first: Candidate, useful: Sequence[Candidate], question: Question, loss: float, needed: Interval) -> str:
    """How many rows the asked loss takes."""
    if question.loss is None:
        now = min(item.expected(question.total).value for item in useful)
        seen = question.say(loss) != question.say(now)
        level, like = f"A tenth less error{f' ({question.say(loss)})' if seen else ''}", ""
    else:
        level = f"Reaching {question.say_asked()}"
        like = spell_asked(question.unit.told(loss, question.spread), question.unit.percent)
    total = question.total
    if not needed.value <= FARTHEST * total:
        nearest = min(useful, key=lambda item: item.expected(8 * total).value)
        reach = nearest.expected(8 * total)
        return (
            f"{level} is not expected of any model here, however many rows; the nearest, {nearest.title}, is "
            f"expected to have {question.say_interval(reach, like)} with {8 * total:,} rows."
        )
    spelled = f"about {_rows_of(needed.value)} ({rows(needed.lower)} to {_upper(needed.upper, total)})"
    fewest = _fewest(useful, loss)
    other = "" if _as_few(first, fewest, loss) else f", {rows(fewest.forecast.samples(loss).value)} with {fewest.title}"
    text = f"{level} takes {spelled} with {first.title}{other}; there are {total:,}."
    if needed.value > total:
        text = f"{text[:-1]}, so about {rows(needed.value - total)} more."
    if question.cost is not None and needed.value > total:
        text += f" At {question.cost:g} a row that costs about {spell(question.cost * (needed.value - total))}."
    return text


def _exactly(best: Candidate, question: Question) -> str:
    """Of a model whose error is rounding."""
    start = min(best.forecast.samples(EXACT * question.guessing).value, question.total)
    return f"From about {_rows_of(start)} on, {best.title} predicts it exactly, up to rounding."


def _present(best: Candidate, question: Question, now: Interval, useful: Sequence[Candidate]) -> str:
    """The best model with all rows, and those that may be as good."""
    text = f"With all {question.total:,} rows the best is {best.title}: {question.say_interval(now)}"
    near = [item.title for item in useful if item is not best and item.expected(question.total).value <= now.upper]
    if not near:
        return f"{text}."
    if len(near) > MOST_NAMED:
        return f"{text}; {len(near)} others may be as good."
    # Titles hold commas ("ReLU network, depth 1").
    return f"{text}; {near[0]} may be as good." if len(near) == 1 else f"{text}. May be as good: {'; '.join(near)}."


def _bought(question: Question, now: Interval, more: More) -> str:
    """What twice the data buy."""
    rows_more, price = f"{more.rows:,} more rows (twice the data)", "" if more.cost is None else spell(more.cost)
    before, after = (tell(question.unit, item.value, question.spread) for item in (now, more.expected))
    ends = sorted((more.expected.lower, more.expected.upper), reverse=question.unit.rises)
    low, high = (tell(question.unit, loss, question.spread) for loss in ends)
    if before == after:
        price = price and f" They cost {price}."
        kept = f"{question.unit.name} stays {after} ({low} to {high})"
        return f"{rows_more} are expected to change nothing that can be seen: {kept}.{price}"
    price = price and f", for {price}"
    return f"{rows_more} are expected to change {question.unit.name} {before} into {after} ({low} to {high}){price}."


def _limit(best: Candidate, question: Question) -> str:
    """What the best model does not cross; empty where that is near the perfect value, or told as it."""
    floor = best.forecast.floor()
    perfect, told = (tell(question.unit, loss, question.spread) for loss in (0.0, floor.value))
    if floor.upper <= 0.02 * question.guessing or told == perfect:
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
