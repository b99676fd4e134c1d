"""Check conditions that a user sets on the results of an examination, such as "held.error<0.1"."""

import operator
import re
from collections.abc import Sequence

from lemmata.errors import SettingError
from lemmata.workflows.records.examinations import ExaminationRecord

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_PLAIN = ("held.error", "train.error", "score.covered")
_FORM = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*([-+.\de]+)\s*")


def read_required(conditions: Sequence[str], gauges: Sequence[str]) -> list[tuple[str, str, str, float]]:
    """Return each condition as text, name, sign and number, before anything is computed.

    A condition compares a value with a number by <, <=, > or >=. The value is `held.error`, `train.error`,
    `score.covered`, NAME.predicted or NAME.measured. NAME is the last part of a check's name.

    Args:
        conditions: the conditions as texts.
        gauges: the full names of the checks that will be run.

    Raises:
        SettingError: if a condition has another form, or if its name is not one of the names above.
    """
    found = []
    for text in conditions:
        parts = _FORM.fullmatch(text)
        number = None if parts is None else _finite(parts[3])
        if parts is None or number is None:
            raise SettingError(
                "--require", found=repr(text), rule='a name, a sign and a number, as in "held.error<0.1"'
            )
        own = parts[1]
        front, _, kind = own.rpartition(".")
        ends = [name.split(".")[-1] for name in gauges]
        if own not in _PLAIN and not (kind in ("predicted", "measured") and (front in ends or front in gauges)):
            known = ", ".join([*_PLAIN, *ends])
            rule = f"one of {known}; after the name of a check, write .predicted or .measured"
            raise SettingError("--require", found=repr(own), rule=rule)
        found.append((text.strip(), own, parts[2], number))
    return found


def check_required(record: ExaminationRecord, conditions: Sequence[str]) -> list[str]:
    """Return a sentence, with the measured number, for each condition that does not hold (see `read_required`).

    A condition on a missing measurement does not hold.
    """
    broken = []
    parts = (_FORM.fullmatch(text) for text in conditions)
    named = [own[1].rpartition(".")[0] for own in parts if own is not None]  # the names were checked before
    for text, name, sign, asked in read_required(conditions, named):
        value = _value(record, name)
        if value is None:
            broken.append(f"Required {text}: {name} was not measured.")
        elif not _SIGNS[sign](value, asked):
            broken.append(f"Required {text}: {name} is {value:.4g}.")
    return broken


def _finite(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _value(record: ExaminationRecord, name: str) -> float | None:
    if name == "held.error":
        return None if record.held_error is None else record.held_error.value
    if name == "train.error":
        return record.train_error.value
    if name == "score.covered":
        return record.score.covered / record.score.tested if record.score.tested else None
    front, _, kind = name.rpartition(".")
    own = record.gauge(front)
    ends = None if own is None else own.predicted if kind == "predicted" else own.measured
    return None if ends is None else ends.value
