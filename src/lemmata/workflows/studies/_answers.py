"""Write the answers of a study: whether there is signal, the best model, the needed rows and the gain from more."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from lemmata.intervals import Interval
from lemmata.workflows.records import ASKED, FARTHEST, HORIZON, rows, spell, spell_asked
from lemmata.workflows.records.studies import Answers, More

from ._metrics import tell
from ._outlook import SAME, Candidate
from ._question import Question
from ._row_losses import misranked, wrong
from ._signal import Signal
from ._standing import FULL, beats_guessing, eligible, near_best
from ._unfound import already, copied, nothing, predicted, used

STEPS = (0.25, 1.0, 3.0, 7.0)
"""The numbers of additional rows whose effect and cost are computed, as multiples of the number of available rows."""
MOST_NAMED = 2
"""If at most this many models may be as good as the best, they are named. If there are more, they are only counted."""
EXACT = 1e-10
"""Predictions of a numeric target are called exact if their loss is at most this share of the loss of guessing."""
ROUNDING = "exact up to rounding"
NEAR = 1.25
"""Two models count as measured at the same size if their numbers of rows differ by at most this factor."""
SAME_ROWS = 1.1
"""Numbers of rows that differ by at most this factor count as equal, because a forecast cannot distinguish them."""
CHANGING = "Later rows differ from earlier rows, so the study does not estimate how many rows are needed."


def answers(found: Signal, candidates: Sequence[Candidate], question: Question) -> Answers:
    """Return the answers. The first sentence states whether the columns predict the target.

    The best model is the model with the smallest expected loss with all rows. If this model does not significantly beat
    guessing, the answer states this and names the best model that does. Models are compared at a size at which all of
    them were measured. Some models were measured only up to a smaller size. Such a model is best only if its measured
    loss at this smaller size is already below the measured loss that the best of the other models has at its own
    largest size. The number of rows for a requested loss is given for the best model, or for a model that surely needs
    fewer rows. The requested value is called reached only if the whole 90 % interval of the expected value is better,
    and out of reach only if the whole interval is worse. Otherwise, the answer says that it is open.

    Args:
        found: the test for signal.
        candidates: the models that were measured.
        question: the question of the study: the metric and the requested loss.
    """
    able = eligible(candidates, question)
    useful = [item for item in able if beats_guessing(item, question)]
    unknown = bool(question.rare) and question.unit.counted == "rarest"
    if not found.found or not (useful or unknown):
        return nothing(found, question, candidates, [] if unknown else useful)
    if unknown:
        told = "an AUC" if question.unit.rows is misranked else f"a value of {question.unit.title}"
        few = f" {told[:1].upper()}{told[1:]} on so few rows shows little, so the study does not forecast it."
        sentences = [predicted(found), question.rare + few]
        return Answers(sentences, None, math.nan, "", None, None, [])
    best, others = _best(able, question)
    useful += [best] if best not in useful else []
    now = best.expected(question.total)
    numbers = question.unit.task == "regression"
    last = float(best.losses.measured[-1])
    exact = numbers and question.unit.averaged and max(now.value, last) <= EXACT * question.guessing
    faultless = question.loss is None and last == 0 and not exact
    if question.loss is not None:
        loss, origin = question.loss, ASKED
    elif exact:
        loss, origin = EXACT * question.guessing, ROUNDING
    else:
        loss = question.improved(now.value)
        origin = f"10 % less {_named(question)} than {best.title} has with all rows"
    first = _first(useful, best, loss)
    guessed = question.loss is not None and loss >= question.guessing * (1 - 1e-12)
    untold = guessed or question.drifts or faultless or origin == ROUNDING  # `_exactly` states the number of rows
    needed = None if untold else first.samples(loss)
    more = [] if question.drifts else [_more(best, question, step) for step in STEPS]
    if guessed:
        reach = already(question)
    else:
        reach = _untold(question, faultless) if needed is None else _rows(first, best, useful, question, loss, needed)
    near = near_best(best, question, candidates)
    present = _exactly(best, question) if exact else _present(best, question, now, able, near)
    sentences = [predicted(found), copied(found), used(question), question.rare]
    sentences += [present, reach] if question.loss is None else [reach, present]
    if exact:
        sentences = [item for item in sentences if question.loss is not None or item is not reach]
    else:
        sentences += [*others, _bought(question, now, more[1]) if more and not faultless else ""]
    return Answers(
        [sentence for sentence in sentences if sentence],
        best.measured.model.name,
        question.unit.told(loss, question.spread),
        origin,
        needed,
        question.told(now),
        [dataclasses.replace(item, expected=question.told(item.expected)) for item in more],
        None if needed is None else first.measured.model.name,
        [item.measured.model.name for item in near],
    )


def _best(useful: Sequence[Candidate], question: Question) -> tuple[Candidate, list[str]]:
    """Return the best model, and sentences about models that were measured on fewer rows."""
    farthest = max(item.reach for item in useful)
    full = [item for item in useful if item.reach >= FULL * farthest]
    at = question.total if farthest >= FULL * question.total else min(item.reach for item in full)
    best = _steadiest(full, at)
    short = [item for item in useful if item not in full]
    least = best.losses.measured[-1]
    ahead = [item for item in short if item.expected(item.reach).value < best.expected(farthest).value]
    ahead = [item for item in ahead if item.losses.measured[-1] < least]
    best = min(ahead, key=lambda item: item.expected(item.reach).value, default=best)
    lucky = min(full, key=lambda item: item.expected(at).value)
    sentences = _farther(useful, best, at, question)
    has, told = (tell(question.unit, item.expected(at).value, question.spread) for item in (lucky, best))
    if lucky.expected(at).value < best.expected(at).value and has != told:
        of = "rows" if question.more == "rows" else "groups"
        held = f"this model was tested on only {rows(lucky.losses.rows)} {of}, and {best.title} on "
        held += f"{rows(best.losses.rows)} {of}"
        sentences.append(f"{_upper_first(lucky.title)} has {has}, but this may be luck: {held}.")
    for item in short:
        if item is best or best.reach < item.reach:
            continue
        sentences += _less_far(item, best, question)
    return best, sentences


def _steadiest(full: Sequence[Candidate], at: float | int) -> Candidate:
    """Return the model with the smallest expected loss or, under three conditions, a model tested on more rows.

    Let A be the model with the smallest expected loss, and B the best of the models that were tested on the most
    held-out rows. B is returned under three conditions. First, A was tested on clearly fewer rows. Second, the interval
    of at least one model that was tested on the most rows reaches down to the loss of A. Third, A does not have a
    smaller loss than B on their common splits.
    """
    best = min(full, key=lambda item: item.expected(at).value)
    most = max(item.losses.rows for item in full)
    if not best.losses.rows < SAME * most:
        return best
    steady = [item for item in full if item.losses.rows >= SAME * most]
    if not any(item.expected(at).lower <= best.expected(at).value for item in steady):
        return best
    known = min(steady, key=lambda item: item.expected(at).value)
    return best if _beats_on_common_splits(best, known) else known


def _beats_on_common_splits(item: Candidate, other: Candidate) -> bool:
    """Whether `item` has a smaller mean loss than `other` at the largest size with at least two common splits."""
    for n, own in zip(reversed(item.losses.sizes), reversed(item.losses.paired), strict=False):
        same = [table for m, table in zip(other.losses.sizes, other.losses.paired, strict=False) if abs(m - n) < 1]
        if same and (common := min(len(own), len(same[0]))) > 1:
            return bool(own[:common].mean() < same[0][:common].mean())
    return False


def _less_far(item: Candidate, best: Candidate, question: Question) -> list[str]:
    """Compare the best model with a model that was measured on fewer rows, at a size where both were measured."""
    beside = int(np.argmin(np.abs(np.log(best.losses.sizes / item.reach))))
    both = float(item.losses.measured[-1]), float(best.losses.measured[beside])
    if max(best.losses.sizes[beside], item.reach) > NEAR * min(best.losses.sizes[beside], item.reach):
        return []
    pair = [tell(question.unit, loss, question.spread) for loss in both]
    text = (
        f"{_upper_first(item.title)} was measured on at most {rows(item.reach)} training rows. At this size it has "
        f"{question.unit.title} {pair[0]}, and {best.title} has {pair[1]}."
    )
    return [f"{text} With more rows {item.title} may be the better model." if both[0] < both[1] else text]


def _farther(useful: Sequence[Candidate], best: Candidate, at: float | int, question: Question) -> list[str]:
    """Return a sentence if, with all rows, another model is expected to beat the best model, without a measurement."""
    other = min(useful, key=lambda item: item.expected(question.total).value)
    pair = [item.expected(question.total).value for item in (other, best)]
    if at >= question.total or pair[0] >= pair[1] or other.expected(at).value < best.expected(at).value:
        return []
    there = [tell(question.unit, item.expected(at).value, question.spread) for item in (best, other)]
    return [
        f"The models are compared at {rows(at)} training rows, the largest size at which all were measured. At this "
        f"size {best.title} has {question.unit.title} {there[0]}, and {other.title} has {there[1]}. With all "
        f"{question.total:,} rows {other.title} is expected to have "
        f"{question.say_interval(other.expected(question.total))}, but this was not measured."
    ]


def _first(useful: Sequence[Candidate], best: Candidate, loss: float) -> Candidate:
    """Choose the model whose number of needed rows is given: the best model, unless another surely needs fewer.

    "Surely" means that the statement holds everywhere in the 90 % interval. Another model is also chosen if it surely
    reaches `loss` with all rows, and the best model does not surely reach it.
    """
    own = best.samples(loss)
    fewest = min(useful, key=lambda item: item.samples(loss).upper)
    most = fewest.samples(loss).upper
    return fewest if SAME_ROWS * most < own.value or most <= best.total < own.upper else best


def _rows(
    first: Candidate, best: Candidate, useful: Sequence[Candidate], question: Question, loss: float, needed: Interval
) -> str:
    """Return a sentence with the number of rows that `loss` takes, if the interval of this number is narrow enough.

    Otherwise, the sentence states that the number is open, or that reaching the loss is unlikely.
    """
    total, like = question.total, ""
    if question.loss is None:
        seen = question.say(loss) != question.say(best.expected(total).value)
        level = f"a 10 % lower error{f' ({question.say(loss)})' if seen else ''}"
        act = f"Cutting the error by 10 %{f' (to {question.say(loss)})' if seen else ''}"
    else:
        level = question.say_asked()
        act = f"Reaching {level}"
        like = spell_asked(question.unit.told(loss, question.spread), question.unit.percent)
    far = _horizon(best, question)
    able = [item for item in useful if item.expected(far).lower <= loss]
    nearest = min([best, *useful], key=lambda item: item.expected(far).value)
    times = f" ({HORIZON} times the table)" if far == HORIZON * total else ""
    ahead = f"{nearest.title} is expected to have {question.say_interval(nearest.expected(far), like)}"
    if not able:
        denied = f"None of these models is expected to reach {level}, even with {_spelled(far)} rows"
        return f"{denied}{times}. At that size, {ahead}."
    if needed.value <= total and needed.upper > total:
        here = question.say_interval(first.expected(total), like)
        return f"It is open whether {total:,} rows are enough for {level}: {first.title} is expected to have {here}."
    if not needed.upper <= FARTHEST * total or needed.value > far:
        text = (
            f"It is open whether more {question.more} would reach {level}: with {_spelled(far)} rows{times}, {ahead}."
        )
        if nearest in able:
            return text
        other = min(able, key=lambda item: item.expected(far).value)
        wide = question.say_interval(other.expected(far), like)
        return f"{text} The wider interval of {other.title} contains this value: {wide}."
    least = float(first.losses.sizes[0])
    upper = rows(needed.upper) if needed.upper <= far else f"more than {_spelled(far)}"
    if needed.value <= least:
        text = f"{act} takes at most about {_rows_of(least)}, the smallest size that was measured for {first.title}"
        wide = f" (the upper end of the 90 % interval is {upper})" if needed.upper > least else ""
        return f"{text}{wide}. The table has {total:,}."
    lower = rows(needed.lower) if needed.lower >= least else f"fewer than {rows(least)}"
    text = f"{act} takes about {_rows_of(needed.value)} ({lower} to {upper}) with {first.title}. "
    text += f"The table has {total:,}."
    more = int(rows(needed.value).replace(",", "")) - total  # from the number that is shown
    if needed.value > total and more > 0:
        text = f"{text[:-1]}, so you need about {more:,} more."
        if question.cost is not None:
            text += f" At a price of {question.cost:g} per row, that costs about {spell(question.cost * more)}."
    return text


def _spelled(n: float) -> str:
    """Format, with all its digits, a number of rows that was counted and not forecast."""
    return f"{round(n):,}"


def _horizon(item: Candidate, question: Question) -> float:
    """Return the largest number of rows for a forecast: eight times the available rows.

    If the model was measured on fewer than half of the available rows, the result is eight times the measured rows, but
    at least the available rows.
    """
    if item.reach >= question.total / 2:
        return float(HORIZON * question.total)
    return float(max(question.total, HORIZON * item.reach))


def _untold(question: Question, faultless: bool) -> str:
    """Return why no number of rows is given: older rows no longer help, or the best model made no error to reduce."""
    if question.drifts or not faultless:
        return CHANGING
    known = {wrong: "made no error", misranked: "ranked every pair correctly"}
    perfect = f"had the perfect {question.say(0.0)}"
    none = next((words for rows, words in known.items() if rows is question.unit.rows), perfect)
    return (
        f"With the largest training set, the best model {none} on the held-out rows. So the study cannot estimate how "
        "many rows would cut its error by 10 %."
    )


def _exactly(best: Candidate, question: Question) -> str:
    """Return a sentence with the smallest number of rows at which the best model predicts exactly, up to rounding."""
    above = np.flatnonzero(best.losses.measured > EXACT * question.guessing)
    start = best.losses.sizes[int(above[-1]) + 1 if len(above) else 0]
    value = tell(question.unit, float(best.losses.measured[-1]), question.spread)
    return (
        f"From about {_rows_of(start)} on, {best.title} predicts the target exactly, up to rounding: its "
        f"{question.unit.title} on held-out rows is {value}."
    )


def _present(
    best: Candidate, question: Question, now: Interval, able: Sequence[Candidate], near: Sequence[Candidate]
) -> str:
    """Return a sentence that names the best model with all rows, and the models that may be as good."""
    total = question.total
    if best.reach < FULL * total:
        here = best.expected(best.reach)
        text = (
            f"The best model is {best.title}. It was measured on at most {rows(best.reach)} training rows, where it "
            f"has {question.say_interval(here)}. With all {total:,} rows it is expected to have "
            f"{question.say_interval(now)}"
        )
    else:
        text = f"With all {total:,} rows the best model is {best.title}: {question.say_interval(now)}"
    at = total if best.reach >= FULL * total else best.reach
    if not beats_guessing(best, question):
        text += f", not significantly better than guessing ({tell(question.unit, question.guessing, question.spread)})"
        sure = min((item for item in able if beats_guessing(item, question)), key=lambda item: item.expected(at).value)
        has = tell(question.unit, sure.expected(at).value, question.spread)
        text += f". {_upper_first(sure.title)} is significantly better than guessing, with {has}"
    if not near:
        return f"{text}."
    if len(near) > MOST_NAMED:
        return f"{text}; {len(near)} others may be as good."
    titles = [item.title for item in near]  # titles may contain commas: "ReLU network, depth 1"
    return (
        f"{text}; {titles[0]} may be as good."
        if len(near) == 1
        else f"{text}. These may be as good: {'; '.join(titles)}."
    )


def _bought(question: Question, now: Interval, more: More) -> str:
    """Return a sentence on the effect of twice the rows.

    The sentence states an improvement only if the whole interval is better.

    A change by at most a tenth of the loss counts as little.
    """
    price = "" if more.cost is None else f" These rows cost {spell(more.cost)}."
    before, after = question.say(now.value), question.say_interval(more.expected)
    what = f"{more.rows:,} more {question.more} (twice the data)"
    if more.expected.upper < now.value:
        return f"With {what}, {before} is expected to become {after}.{price}"
    then = f"{before} is expected with all rows, and {after} with twice the data.{price}"
    if 0.9 * now.value <= more.expected.lower and more.expected.upper <= now.value / 0.9:
        return f"{what} would change little: {then}"
    return f"It is open whether {what} would change the {question.unit.title}: {then}"


def _more(best: Candidate, question: Question, step: float) -> More:
    extra = max(1, round(step * question.total))
    cost = None if question.cost is None else question.cost * extra
    return More(extra, best.expected(question.total + extra), cost)


def _rows_of(n: float) -> str:
    return f"{rows(n)} row{'' if rows(n) == '1' else 's'}"


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _named(question: Question) -> str:
    return "error" if question.unit.rises else question.unit.title
