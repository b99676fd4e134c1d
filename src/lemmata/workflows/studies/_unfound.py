"""What is said of the test for signal: that there is one, that it is open, or what the test could not have seen."""

import math
from collections.abc import Sequence

from lemmata.workflows.records.studies import Answers

from ._metrics import tell
from ._outlook import Candidate
from ._question import Question
from ._row_losses import wrong
from ._signal import LEVEL, Signal
from ._signal_power import ALL, ONE, PRODUCT, SEVERAL
from ._splits import before_stretches
from ._units import say_guess

OPEN = 0.05
"""A p-value above the level of the test and up to this leaves open whether there is signal."""
BLIND = 0.5
"""A test that finds only signals of a larger share of the variance says nothing of absence."""
COMMON = 0.2
"""Where guessing the most frequent class errs in fewer rows than this, accuracy says little."""
SERIES = 400
"""Rows of a series below which a trend or a season is missed in most cases, as simulations showed."""
COPIES = 0.05
"""From this share of rows on that repeat an earlier one, the answers begin with that."""
_KINDS = {
    ONE: "a linear signal in one column",
    SEVERAL: "one in five columns",
    ALL: "one in all columns",
    PRODUCT: "the product of two columns",
}
_EXCHANGED = {
    "rows": "targets were exchanged between rows",
    "both": "targets were exchanged between rows",
    "within groups": "targets were exchanged between the rows of each group",
    "whole groups": "the targets of whole groups were exchanged",
    "groups": "targets were exchanged within groups and between whole groups",
    "time": "models of earlier rows were tested on later ones, and the target was shifted in time",
}


def predicted(found: Signal) -> str:
    """That there is a signal, and how sure that is."""
    test = "permutation test" if found.shuffles else "models of earlier rows tested on later ones"
    if found.kind == "held-out rows":
        test = f"models of other rows tested on {found.held:,} held-out rows, {test}"
    return f"The columns predict the target ({test}, {_p(found)})."


def _p(found: Signal) -> str:
    if found.p_value <= found.least * (1 + 1e-9):
        plain = math.isclose(found.least, 1 / (found.shuffles + 1), rel_tol=0.02)
        what = f"{found.shuffles:,} shuffles" if plain else "this test"
        return f"p ≤ {found.least:.2g}, the least that {what} can show"
    return f"p = {found.p_value:.2g}" if found.p_value >= 0.001 else "p < 0.001"


def already(question: Question) -> str:
    """What is asked is no better than what is known without any column."""
    unit = question.unit
    guess, has = question.constant or say_guess(unit, None), tell(unit, question.guessing, question.spread)
    return f"Reaching {question.say_asked()} takes no rows: guessing {guess} has {has} already."


def used(question: Question) -> str:
    """That not all rows of the table were used."""
    if question.used is None or question.used >= question.total:
        return ""
    return f"This study used {question.used:,} of the table's {question.total:,} rows."


def copied(found: Signal) -> str:
    """A warning where many rows repeat others, before any number that rests on them."""
    if found.copies < COPIES * found.total:
        return ""
    rows = f"{found.copies:,} of {found.total:,} rows"
    if found.kind == "time":
        return (
            f"{rows} repeat an earlier row in every input, the target and the time. Unless these rows are "
            "different cases, they count more than once in every number here."
        )
    same = "equal an earlier row of another group" if found.grouped else "repeat an earlier row"
    if found.alike:
        return (
            f"{rows} {same} in every input and the target. Where all columns have few values, different cases may be "
            "equal. If these rows are copies, every number here is too good: a copy among the training rows gives away "
            "the held-out row."
        )
    return (
        f"{rows} {same} in every input and the target. A held-out row with a duplicate among the training rows "
        "does not test a model, so every number here is too good unless these rows are different cases."
    )


def nothing(found: Signal, question: Question, candidates: Sequence[Candidate], useful: Sequence[Candidate]) -> Answers:
    """Where there is no signal, no model is best, and no number of rows is told.

    A model whose held-out error lies below that of guessing with its whole interval is named all the same: then the
    test has not seen what the curve shows.
    """
    unit = question.unit
    knowing = [item for item in useful if not item.measured.model.naive]
    past = [item for item in useful if item.measured.model.naive]
    known = _past(past, question)
    rival = min([question.guessing, *(item.expected(item.reach).value for item in past)])
    better = [item for item in knowing if item.expected(item.reach).upper < rival]
    best = min(better, key=lambda item: item.expected(item.reach).value, default=None)
    if found.found:
        first = (
            f"The columns say something about the target ({_p(found)}), but no model here is "
            f"shown to beat guessing in {unit.title}. {_remedy(question)}"
        )
    elif found.least > LEVEL or best is not None or found.p_value <= OPEN or _short(found) or _blind(found):
        first = f"Whether the columns predict the target is open: {_tested(found)}"
    else:
        first = f"No signal was found{' beyond the past of the target' if known else ''}: {_tested(found)}"
    sentences = [first, _power(found, question), question.rare, *known]
    if best is not None and not found.found:
        whose = "guessing" if rival == question.guessing else "the target's own past"
        sentences.append(
            f"On held-out rows {best.title} has {question.say_interval(best.expected(best.reach))}, where {whose} has "
            f"{tell(unit, rival, question.spread)}: that speaks for a signal."
        )
    if knowing and known and not found.found:
        sentences.append("Models of the columns beat guessing, too, but none surely beats the target's own past.")
    if unit.rows is wrong and question.guessing < COMMON:
        sentences.append(
            f"The most frequent class has {100 * (1 - question.guessing):.1f} % of the rows, so that accuracy says "
            "little: --error 'auc 0.9' asks how well rows are ranked."
        )
    sentences.append(f"Guessing has {question.say(question.guessing)}; no number of rows is given.")
    asked = math.nan if question.loss is None else unit.told(question.loss, question.spread)
    return Answers([text for text in sentences if text], None, asked, "", None, None, [])


def _remedy(question: Question) -> str:
    if question.drifts:
        return "Fewer, recent rows may, as the next sentence says."
    return f"Another kind of model, other columns or more {question.more} may."


def _past(naive: Sequence[Candidate], question: Question) -> list[str]:
    """That the past of the target predicts it, where its naive forecast surely beats guessing."""
    able = [item for item in naive if item.expected(question.total).upper < question.guessing]
    if not able:
        return []
    best = min(able, key=lambda item: item.expected(question.total).value)
    has = question.say_interval(best.expected(question.total))
    ahead = before_stretches(question.total)[1]
    over = f"over the next {ahead:,} rows" if ahead > 1 else "for the next row"
    return [f"The target's own past predicts it: repeating the {best.title} {over} has {has}."]


def _tested(found: Signal) -> str:
    what = _EXCHANGED.get(found.kind, _EXCHANGED["rows"])
    share = 100 * float(f"{found.p_value:.2g}")
    share = f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"
    if not found.shuffles:
        return (
            f"models of earlier rows were tested on later ones, {found.rows:,} rows in all, and did not surely beat "
            f"the mean, the last value and the season ({_p(found)}; a signal is p ≤ {LEVEL:g})."
        )
    if found.kind == "both":
        return (
            f"on {found.rows:,} rows, and on {found.held:,} held-out rows with models of others, {what}; the better of "
            f"both tests has p = {found.p_value:.2g} (a signal is p ≤ {LEVEL:g})."
        )
    return (
        f"on {found.rows:,} rows {what}. Targets that are arranged like this were predicted as well in {share} of all "
        f"cases (p = {found.p_value:.2g}; a signal is p ≤ {LEVEL:g})."
    )


def _short(found: Signal) -> bool:
    """Whether a series is too short for what it could show to be found in most cases."""
    return not found.found and found.kind == "time" and found.rows < SERIES


def _blind(found: Signal) -> bool:
    """Whether the test misses linear signals that explain half of the variance, of rows or between groups."""
    seen = [part for part in (found.visible, found.between) if not math.isnan(part)]
    return found.kind == "within groups" or max(seen, default=0.0) > BLIND


def _power(found: Signal, question: Question) -> str:
    """What the test could have seen."""
    if found.least > LEVEL:
        return (
            f"With {found.groups} groups this test cannot find a signal: its smallest possible p is {found.least:.2g}. "
            "More groups would tell."
        )
    if _short(found):
        return f"A series of fewer than {SERIES} rows is too short for this test to see most trends and seasons."
    if found.found or found.kind == "time" or math.isnan(found.visible):
        return ""
    linear = "a linear signal, in one column or in several, "
    if found.kind == "within groups":
        return (
            f"{_upper(linear)}{_seen(found.visible, 'the variance within groups')}. "
            f"Whether groups differ by their columns was not tested: {found.groups} groups are too few for that."
        )
    if found.kind == "groups" and not math.isnan(found.between):
        between = _seen(found.between, f"the variance between {found.groups} groups")
        within = _seen(found.visible, "the variance within groups")
        return f"{_upper(linear)}{within}; one of whole groups {between}."
    if not found.powers:
        return f"{_upper(linear)}" + _seen(found.visible, "the target's variance") + "."
    return _by_kind(found, question)


def _by_kind(found: Signal, question: Question) -> str:
    """For each kind of signal from which share on it is found in most cases, and which are not found at all."""
    seen = {_KINDS[kind]: share for kind, share in found.powers.items() if math.isfinite(share)}
    missed = _listed([_KINDS[kind] for kind, share in found.powers.items() if not math.isfinite(share)])
    if not seen:
        return f"This test could hardly have seen anything: it often misses {missed}, whatever they explain."
    least = [f"{kind} that explains {_percent(share)}" for kind, share in seen.items()]
    least = [part if i == 0 else part.replace("that explains", "with") for i, part in enumerate(least)]
    least[0] += " or more of the target's variance"
    rest = f" {_upper(missed)} would often have been missed, whatever it explains." if missed else ""
    more = f"A weaker signal, or another kind, may be missed; more {question.more} show more."
    return f"In most cases the test would have found {_listed(least)}.{rest} {more}"


def _seen(share: float, what: str) -> str:
    if not math.isfinite(share):
        return f"would often have been missed, however much of {what} it explains"
    return f"would have been found in most cases where it explains {_percent(share)} or more of {what}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
