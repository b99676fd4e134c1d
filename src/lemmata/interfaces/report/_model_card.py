"""The model card: what a fitted model predicts, how well, how to load it, and how to rebuild it."""

import importlib.metadata
import platform
import re
import sys
from collections.abc import Sequence
from typing import Any

from lemmata.version import __version__
from lemmata.workflows.records.studies import ModelResult, StudyRecord

from ._text import told, told_interval


def model_card(final: Any, record: StudyRecord, file: str, trusted: Sequence[str]) -> str:
    """The card in Markdown.

    Args:
        final: the fitted model, a `FinalModel`.
        record: the record of the study that recommends the model.
        file: the name of the model's file.
        trusted: names of the types that the caller of `skops.io.load` must declare as trusted.
    """
    model = next(own for own in record.models if own.name == final.name)
    target = record.data.target
    parts = [
        f"# {_plain(model.title[:1].upper() + model.title[1:])} for {_code(target)}",
        *_predicts(final, record, model),
        "## Expected error",
        *_error(record, model),
        *_warnings(record),
        "## Load it",
        *_loading(final, file, trusted),
        *_making(final, model, target),
        "## Versions",
        f"Made by lemmata {__version__} with {_versions()}{_more_versions(trusted)}.",
        *([f"Study: {_code(record.command)}"] if record.command else []),
    ]
    return "\n\n".join(parts) + "\n"


def _predicts(final: Any, record: StudyRecord, model: ModelResult) -> list[str]:
    data = record.data
    if final.labels is None:
        what = f"{_code(data.target)}, a number, in its own units"
    else:
        names, more = ", ".join(_code(str(label)) for label in final.labels[:20]), len(final.labels) - 20
        what = f"the class {_code(data.target)}: {names}" + (f" and {more} more" if more > 0 else "")
    kinds = {column.name: column for column in data.columns}
    shown = [kinds[name] for name in final.inputs if name in kinds]
    rows = [
        f"| {_in_table(_code(own.name))} | {_in_table(_plain(own.kind))} | {_in_table(_plain(own.range))} |"
        for own in shown
    ]
    named = "the model that the study recommends" if record.answers.best == final.name else "one of the study's models"
    takes = (
        "Give it an array with the columns of x in their order. Cells may be missing."
        if final.positional
        else "Give it a data frame with these columns, unchanged. Other columns are ignored, and cells may be missing."
    )
    table = _code(data.name) if data.name else "a table"
    return [
        f"The model predicts {what}. It is {named} for {table} ({_plain(model.formula)}), fitted to {final.rows:,} "
        f"rows. {takes}",
        "\n".join(["| column | kind | range, or most frequent |", "| --- | --- | --- |", *rows]),
    ]


def _code(text: str) -> str:
    r"""Write a name as code on one line, with a backslash and n for a new line, and with enough backticks around it.

    >>> print(_code(f"a{chr(10)}b{chr(27)}"), _code("a`b"))
    `a\nb\x1b` `` a`b ``
    """
    text, longest = _visible(text), _ticks(text)
    return f"`{text}`" if not longest else f"{'`' * (longest + 1)} {text} {'`' * (longest + 1)}"


def _ticks(text: str) -> int:
    """The length of the longest run of backticks."""
    return max((len(ticks) for ticks in re.findall("`+", text)), default=0)


def _program(code: str) -> str:
    """Write a program in Python, with enough backticks around it."""
    fence = "`" * max(3, _ticks(code) + 1)
    return f"{fence}python\n{code.rstrip()}\n{fence}"


def _visible(text: str) -> str:
    """Write characters that are invisible, break the line or reorder the text as Python's escapes."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _plain(text: str) -> str:
    """Write a text on one line, without any sign that Markdown reads as markup."""
    return re.sub(r"([\\`*_<>\[\]&~#$])", r"\\\1", _visible(" ".join(text.split())))


def _in_table(text: str) -> str:
    """Write a text for a cell of a table. A bar in it would end the cell, even in code, or after two backslashes."""
    return re.sub(r"(\\*)\|", lambda found: found[1] + (r"\x7c" if len(found[1]) % 2 else r"\|"), text)


def _error(record: StudyRecord, model: ModelResult) -> list[str]:
    unit = record.unit
    name, now = _plain(unit.name), told_interval(model.now, unit)
    lines = [
        f"On new rows like these, the model's {name} is expected to be **{now}** "
        f"({_plain(unit.words)}). The brackets show a 90 % interval. Guessing without any column gives "
        f"{told(unit.guessing, unit)}.",
        *map(_plain, record.answers.sentences[:1]),
    ]
    if not model.learns:
        lines.append("The study did not show that this model beats guessing.")
    return lines


def _warnings(record: StudyRecord) -> list[str]:
    lines = list(dict.fromkeys(record.notes))
    return ["## Before you rely on it", "\n".join(f"* {_plain(line)}" for line in lines)] if lines else []


def _making(final: Any, model: ModelResult, target: str) -> list[str]:
    """The lines of the card on how to fit the model again."""
    if not final.code:
        return [
            "## Make it again",
            f"The estimator is your own ({_plain(model.formula)}), so this card holds no program. After loading, "
            "`sklearn.base.clone(model)` gives the same model, but unfitted. Fit it to the columns above and the "
            f"target {_code(target)}.",
        ]
    return [
        "## Make it without lemmata" if "lemmata" not in final.code else "## Make it again",
        "This program fits the same model. Run it in the folder of the table.",
        _program(final.code),
    ]


def _packages(trusted: Sequence[str]) -> dict[str, str]:
    """The packages, other than scikit-learn, that these types are from, and the name to install each by."""
    own = dict.fromkeys(name.partition(".")[0] for name in trusted)
    known = {*sys.stdlib_module_names, "numpy", "scipy", "sklearn", "lemmata"}
    others = [name for name in own if name not in known]
    installed = importlib.metadata.packages_distributions() if others else {}
    return {name: installed.get(name, [""])[0] for name in others}


def _loading(final: Any, file: str, trusted: Sequence[str]) -> list[str]:
    names = "".join(f"\n    {name!r}," for name in trusted)
    code = f"import skops.io\n\nmodel = skops.io.load({file!r}, trusted=[{names}\n])\nmodel.predict(table)"
    lemmata = any(name.startswith("lemmata") for name in trusted)
    others = [found or f"your module {_code(name)}" for name, found in _packages(trusted).items()]
    *most, last = ["scikit-learn", "skops", *others, *(["lemmata"] if lemmata else [])]
    needs = ", ".join(most) + (f" and {last}" if others or lemmata else f", {last}")
    lines = [f"Loading the file needs {needs}.", _program(code)]
    if "keep_default_na" in final.code:
        lines.append(
            "Read tables for the model with the arguments `keep_default_na` and `na_values` of the program below. "
            "Otherwise pandas reads other texts as missing cells than the study did."
        )
    if final.why:
        each: dict[str, list[str]] = {}
        for name, reason in final.why.items():
            each.setdefault(reason, []).append(_code(name))
        reasons = "; ".join(f"{_plain(reason)} ({', '.join(names)})" for reason, names in each.items())
        lines.append(
            f"scikit-learn cannot read some columns, so the model uses `lemmata.estimators.PlainTable`: {reasons}."
        )
    if not hasattr(final.model, "predict_proba"):
        lines.append("The model has no `predict_proba`." if final.labels is not None else "")
    return [line for line in lines if line]


def _versions() -> str:
    names = ("scikit-learn", "skops", "numpy")
    return ", ".join([f"Python {platform.python_version()}", *(f"{n} {importlib.metadata.version(n)}" for n in names)])


def _more_versions(trusted: Sequence[str]) -> str:
    return "".join(f", {name} {importlib.metadata.version(name)}" for name in _packages(trusted).values() if name)
