"""Write the sentences on the test for signal: whether there is a signal, and which signals it could have missed."""

import math
from collections.abc import Sequence

from lemmata.workflows.records.studies import Answers

from ._metrics import tell
from ._outlook import Candidate
from ._question import Question
from ._row_losses import wrong
from ._signal import LEVEL, Signal
from ._signal_power import ALL, ONE, PRODUCT, SEVERAL
from ._units import say_guess

OPEN = 0.05
"""If the p-value lies between the level of the test and this number, it is open whether there is a signal."""
BLIND = 0.5
"""If a test finds only signals above this share of the variance, the study leaves open whether there is a signal."""
COMMON = 0.2
"""If guessing the most frequent class is wrong in a smaller share of rows than this, accuracy shows little."""
SERIES = 400
"""In series with fewer rows than this, a trend or a season is missed in most cases, as simulations showed."""
COPIES = 0.05
"""If at least this share of rows repeats an earlier row, the answers begin with a warning."""
_KINDS = {
    ONE: "linear in one column",
    SEVERAL: "linear in five columns",
    ALL: "linear in all columns",
    PRODUCT: "product of two columns",
}
_LINEAR = "A linear signal in one or several columns"
_SHUFFLED = {
    "rows": "the targets of {} rows were shuffled",
    "within groups": "the targets of {} rows were shuffled within each group",
    "whole groups": "in {} rows, the targets of whole groups were exchanged",
    "groups": "the targets of {} rows were shuffled within groups and exchanged between whole groups",
    "within times": "the targets of {} rows were shuffled among rows of the same time",
    "time": "in {} rows, models trained on earlier rows were tested on later rows, and the target was shifted in time",
}


def predicted(found: Signal) -> str:
    """Return the sentence that there is a signal, with the p-value."""
    test = "permutation test" if found.shuffles else "models trained on earlier rows, tested on later rows"
    if found.kind == "held-out rows":
        test = f"{test} on {found.held:,} held-out rows"
    if found.kind == "within times":
        return f"At each time, the columns predict differences between rows ({test}, {_p(found)})."
    return f"The columns predict the target ({test}, {_p(found)})."


def _p(found: Signal) -> str:
    if found.p_value <= found.least * (1 + 1e-9):
        plain = math.isclose(found.least, 1 / (found.shuffles + 1), rel_tol=0.02)
        what = f"{found.shuffles:,} shuffles" if plain else "this test"
        return f"p ≤ {found.least:.2g}, the smallest value that {what} can give"
    return f"p = {found.p_value:.2g}" if found.p_value >= 0.001 else "p < 0.001"


def already(question: Question) -> str:
    """Return the sentence that the requested value is no better than guessing without any column."""
    unit = question.unit
    guess, has = question.constant or say_guess(unit, None), tell(unit, question.guessing, question.spread)
    return f"No rows are needed for {question.say_asked()}: guessing {guess} already gives {has}."


def used(question: Question) -> str:
    """Return a sentence on the rows used if the study did not use all rows of the table; otherwise an empty text."""
    if question.used is None or question.used >= question.total:
        return ""
    return f"This study used {question.used:,} of the table's {question.total:,} rows."


def copied(found: Signal) -> str:
    """Return a warning if many rows repeat other rows. The warning must precede any number that depends on them."""
    if found.copies < COPIES * found.total:
        return ""
    rows = f"{found.copies:,} of {found.total:,} rows"
    if found.kind in ("time", "within times"):
        return (
            f"{rows} repeat an earlier row in every input, the target and the time. If these rows are "
            "copies, every number here counts them more than once."
        )
    same = "equal an earlier row of another group" if found.grouped else "repeat an earlier row"
    if found.alike:
        return (
            f"{rows} {same} in every input and the target. If all columns have few values, different cases may be "
            "equal. If these rows are copies, every number here is too optimistic: a copy in the training set reveals "
            "the target of the held-out row."
        )
    return (
        f"{rows} {same} in every input and the target. A held-out row with a duplicate in the training set does not "
        "test a model. Unless these rows are different cases, every number here is too optimistic."
    )


def nothing(found: Signal, question: Question, candidates: Sequence[Candidate], useful: Sequence[Candidate]) -> Answers:
    """Return the answers if no signal was found or no model beats guessing: no best model and no number of rows.

    A sentence still names a model if the whole interval of its held-out error is below the errors of guessing and of
    naive models. In this case, the test may have missed the signal that the learning curve shows.
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
            f"The columns are related to the target ({_p(found)}), but no model here is "
            f"shown to beat guessing in {unit.title}. {_remedy(question)}"
        )
    elif found.least > LEVEL or best is not None or found.p_value <= OPEN or _short(found) or _blind(found):
        first = f"It is open whether the columns predict the target: {_tested(found)}"
    else:
        first = f"No signal was found{' beyond the past of the target' if known else ''}: {_tested(found)}"
    sentences = [first, _power(found, question), question.rare, *known]
    if best is not None and not found.found:
        whose = "guessing" if rival == question.guessing else "the target's own past"
        sentences.append(
            f"On held-out rows {best.title} has {question.say_interval(best.expected(best.reach))}, but {whose} has "
            f"{tell(unit, rival, question.spread)}. This suggests that there is a signal."
        )
    if knowing and known and not found.found:
        sentences.append(
            "Models that use the columns also beat guessing, but none is significantly better than the target's own "
            "past."
        )
    if unit.rows is wrong and question.guessing < COMMON:
        sentences.append(
            f"The most frequent class has {100 * (1 - question.guessing):.1f} % of the rows, so accuracy shows little. "
            "Use --error 'auc 0.9' to ask how well a model ranks the rows."
        )
    shown = "signal was found" if useful and not found.found else "model was shown to beat that"
    sentences.append(
        f"Guessing without any column gives {question.say(question.guessing)}. No {shown}, so the study does not "
        "estimate how many rows you need."
    )
    asked = math.nan if question.loss is None else unit.told(question.loss, question.spread)
    return Answers([text for text in sentences if text], None, asked, "", None, None, [])


def _remedy(question: Question) -> str:
    if question.drifts:
        return "A model trained on fewer, more recent rows may be better than guessing, as the next sentence shows."
    return f"Another kind of model, other columns or more {question.more} may succeed."


def _past(naive: Sequence[Candidate], question: Question) -> list[str]:
    """If a naive model significantly beats guessing, return the sentence that the target's past predicts the target."""
    able = [item for item in naive if item.expected(question.total).upper < question.guessing]
    if not able:
        return []
    best = min(able, key=lambda item: item.expected(question.total).value)
    has = question.say_interval(best.expected(question.total))
    ahead = question.ahead
    over = f"over the next {ahead:,} rows" if ahead > 1 else "for the next row"
    return [f"The target's own past predicts the target: repeating the {best.title} {over} gives {has}."]


def _tested(found: Signal) -> str:
    what = _SHUFFLED.get(found.kind, _SHUFFLED["rows"]).format(f"{found.rows:,}")
    share = 100 * float(f"{found.p_value:.2g}")
    share = f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"
    if not found.shuffles:
        return (
            f"models trained on earlier rows were tested on later rows, {found.rows:,} rows in all. These models were "
            f"not significantly better than the mean, the last value and the season ({_p(found)}; p ≤ {LEVEL:g} "
            "counts as a signal)."
        )
    if found.kind == "both":
        return (
            f"one test shuffled the targets of {found.rows:,} rows, and another test shuffled the targets of "
            f"{found.held:,} held-out rows. "
            f"The better of the two tests has p = {found.p_value:.2g} (p ≤ {LEVEL:g} counts as a signal)."
        )
    done = "shifted" if found.kind == "time" else "rearranged"
    return (
        f"{what}. Targets {done} in this way were predicted as well as the true targets in {share} of all cases "
        f"(p = {found.p_value:.2g}; p ≤ {LEVEL:g} counts as a signal)."
    )


def _short(found: Signal) -> bool:
    """Whether a series is too short for the test to find most signals."""
    return not found.found and found.kind == "time" and found.rows < SERIES


def _blind(found: Signal) -> bool:
    """Whether the test may miss linear signals that explain half of the variance, within or between groups."""
    seen = [part for part in (found.visible, found.between) if not math.isnan(part)]
    return found.kind in ("within groups", "within times") or max(seen, default=0.0) > BLIND


def _power(found: Signal, question: Question) -> str:
    """Return a sentence on the signals that the test could have found."""
    if found.least > LEVEL:
        return (
            f"With {found.groups} groups this test cannot find a signal: its smallest possible p is {found.least:.2g}. "
            "Collect more groups."
        )
    if _short(found):
        return f"A series of fewer than {SERIES} rows is too short for this test to find most trends and seasons."
    if found.found or found.kind == "time" or math.isnan(found.visible):
        return ""
    if found.kind == "within times":
        return (
            f"{_LINEAR} {_seen(found.visible, 'the variance within times')}. The study did not test whether the "
            "columns explain differences between times: there are too few times for that."
        )
    if found.kind == "within groups":
        return (
            f"{_LINEAR} {_seen(found.visible, 'the variance within groups')}. The study did not test whether the "
            f"columns explain differences between groups: {found.groups} groups are too few for that."
        )
    if found.kind == "groups" and not math.isnan(found.between):
        between = _seen(found.between, f"the variance between {found.groups} groups")
        within = _seen(found.visible, "the variance within groups")
        return f"{_LINEAR} {within}. A linear signal between whole groups {between}."
    if not found.powers:
        return f"{_LINEAR} " + _seen(found.visible, "the target's variance") + "."
    return _by_kind(found, question)


def _by_kind(found: Signal, question: Question) -> str:
    """Return a sentence with the share from which each kind of signal is found, or that a kind is often missed."""
    seen = {_KINDS[kind]: share for kind, share in found.powers.items() if math.isfinite(share)}
    missed = _listed([_KINDS[kind] for kind, share in found.powers.items() if not math.isfinite(share)])
    if not seen:
        return f"This test has little power here. It often misses even strong signals of these kinds: {missed}."
    least = _listed([f"{_percent(share)} ({kind})" for kind, share in seen.items()])
    rest = f" It often misses even strong signals of these kinds: {missed}." if missed else ""
    more = (
        f"Weaker signals and other kinds may be missed. With more {question.more}, the test would find weaker signals."
    )
    text = f"The test finds most signals that explain at least this fraction of the target's variance: {least}."
    return f"{text}{rest} {more}"


def _seen(share: float, what: str) -> str:
    if not math.isfinite(share):
        return f"would often have been missed, even if it explained most of {what}"
    return f"would have been found in most cases if it explained {_percent(share)} or more of {what}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
