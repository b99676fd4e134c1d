"""Sentences on what to do next. Each action comes with its effect, measured on a copy of the model."""

from lemmata.workflows.records.examinations import Action, Effect, ExaminationRecord

from ._text import number, percent


def action_sentences(record: ExaminationRecord) -> list[str]:
    """The next actions, one on each line, with their effect on held-out rows, measured on a copy of the model."""
    return [f"{own.text} {_done(own)}".rstrip() for own in record.actions]


def _done(own: Action) -> str:
    if not own.effects:
        return ""
    said = [_told_effect(effect) for effect in own.effects]
    return f"{own.then} {', and '.join(said)}."


def _told_effect(own: Effect) -> str:
    shares = own.quantity == "error"
    show = percent if shares else number
    low, high = -own.gain.upper, -own.gain.lower
    if low == high == 0:
        return f"the {own.quantity} on held-out rows stays at {show(own.before)}, because no prediction changes"
    ends = f"{100 * low:+.2g} to {100 * high:+.2g} points" if shares else f"{low:+.2g} to {high:+.2g}"
    return (
        f"the {own.quantity} on held-out rows is {show(own.after)} instead of {show(own.before)} (a change of {ends}, "
        f"{own.gain.at} interval)"
    )
