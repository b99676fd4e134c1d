"""The rows of the tables on a record's page. This file only counts and rounds."""

import collections
import math
import statistics
import textwrap
from typing import Any

from markupsafe import Markup

from lemmata.workflows.records.studies import Column, ModelResult, StudyRecord

from ._mathml import displayed
from ._prose import prose
from ._text import MISSING, number, slug, told, told_interval, told_rows
from ._theme import colour_of

WORST_ROWS, CONFUSIONS = 12, 12
Row = dict[str, Any]


def models(record: StudyRecord) -> list[Row]:
    """One row for each model: its expected value now, the rows it needs, and its last measurement."""
    return [_model(model, place, record) for place, model in enumerate(record.models)]


def _model(model: ModelResult, place: int, record: StudyRecord) -> Row:
    last = max(model.points, key=lambda point: point.n, default=None)
    asked, best = record.answers.needed is not None, model.name == record.answers.best
    return {
        "title": model.title,
        "formula": model.formula,
        "set": (model.kernel and displayed(model.formula)) or model.formula,
        "colour": colour_of(place),
        "best": best,
        "near": model.name in record.answers.near,
        "kernel": model.kernel,
        "learns": model.learns,
        "now": told_interval(model.now, record.unit) if math.isfinite(model.now.value) else MISSING,
        "needed": told_rows(model.needed, record.data.total) if asked and (model.learns or best) else MISSING,
        "limit": _farthest(model, record),
        "trained": MISSING if model.trained is None else told(model.trained, record.unit),
        "seconds": MISSING if model.seconds is None else spelled_seconds(model.seconds),
        "measured": MISSING if last is None else told(last.value, record.unit),
        "measured_n": MISSING if last is None else number(round(last.n)),
    }


def spelled_seconds(seconds: float) -> str:
    """Seconds with two digits; less than a hundredth of a second is shown as "< 0.01 s".

    >>> spelled_seconds(0.0031), spelled_seconds(0.456), spelled_seconds(83.2)
    ('< 0.01 s', '0.46 s', '83 s')
    """
    return "< 0.01 s" if seconds < 0.01 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"


def _farthest(model: ModelResult, record: StudyRecord) -> str:
    """The expected value at the end of a model's curve, at eight times the available rows."""
    end = model.band[-1] if model.band else None
    if end is None or not model.learns or not math.isfinite(end.value):
        return MISSING
    return f"{told(end.value, record.unit)} ({told(end.lower, record.unit)} to {told(end.upper, record.unit)})"


def more(record: StudyRecord) -> list[Row]:
    """The effect of more rows: their number, the best model's expected value with them, and their cost."""
    return [
        {
            "rows": f"{item.rows:,}",
            "total": f"{item.rows + record.data.total:,}",
            "expected": told_interval(item.expected, record.unit),
            "cost": MISSING if item.cost is None else f"{item.cost:,.4g}" if item.cost < 1e4 else f"{item.cost:,.0f}",
        }
        for item in record.answers.more
    ]


def points(record: StudyRecord) -> list[Row]:
    """Every measured point of every model, for a table."""
    whole = "each row left out" if record.data.task == "regression" else "ten folds left out"
    return [
        {
            "model": model.title, "n": number(round(point.n)), "value": told(point.value, record.unit),
            "se": told(point.se, record.unit), "splits": str(point.splits) if point.splits else whole,
        }
        for model in record.models for point in model.points
    ]  # fmt: skip


def quality(record: StudyRecord) -> str:
    """In words, how far theory and measurement differ over all kernels and sizes; empty without a measured kernel."""
    ratios, inside, gaps = [], 0, []
    for model in record.models:
        for point in model.theory:
            if point.accuracy is not None and point.measured_accuracy is not None:
                gaps.append(100 * abs(point.accuracy - point.measured_accuracy))
            if point.measured > 0 and point.predicted > 0:
                ratios.append(abs(math.log(point.predicted / point.measured)))
                inside += point.lower <= point.measured <= point.upper
    if not ratios:
        return ""
    factor = math.exp(statistics.median(ratios))
    accuracy = ""
    if gaps:
        accuracy = (
            " The accuracy is predicted from the mean and the variance of a kernel's outputs. The predicted accuracy "
            f"differs from the measured accuracy by {statistics.median(gaps):.1f} points in the median, and by "
            f"{max(gaps):.1f} at most."
        )
    return (
        f"At the {len(ratios)} measured points of kernels, prediction and measurement differ by a factor of "
        f"{factor:.2f} in the median and {math.exp(max(ratios)):.3g} at most. {100 * inside / len(ratios):.0f} % of "
        "the measurements lie inside the band."
    ) + accuracy


def columns(record: StudyRecord) -> list[Row]:
    """One row per column of the table, with a small histogram."""
    return [
        {"name": column.name, "kind": column.kind, "missing": number(column.missing) if column.missing else MISSING,
         "distinct": number(column.distinct), "range": column.range, "histogram": _histogram(column)}
        for column in record.data.columns
    ]  # fmt: skip


def _histogram(column: Column) -> Markup:
    top = max(column.counts, default=0)
    if not top:
        return Markup("")
    bars = "".join(
        f'<rect x="{7 * i}" y="{22 - h:.1f}" width="6" height="{h:.1f}"/>'
        for i, count in enumerate(column.counts)
        if (h := 22 * count / top) > 0
    )
    width = 7 * len(column.counts)
    return Markup(
        f'<svg class="bars" width="{width}" height="22" viewBox="0 0 {width} 22" aria-hidden="true">{bars}</svg>'
    )


def confusions(record: StudyRecord) -> list[Row]:
    """The most frequent confusions on held-out rows, each as a share of the rows of the true class."""
    truths = collections.Counter(item.truth for item in record.residuals)
    wrong = collections.Counter((item.truth, item.said) for item in record.residuals if item.truth != item.said)
    return [
        {"truth": truth, "said": said, "count": f"{count:,} of {truths[truth]:,}"}
        for (truth, said), count in wrong.most_common(CONFUSIONS)
    ]


def worst(record: StudyRecord) -> list[Row]:
    """The held-out rows with the largest loss; for a classification, those with a wrong predicted class."""
    rows = record.residuals
    if record.data.task == "classification":
        rows = [item for item in rows if item.truth != item.said]
    return [
        {"row": f"{item.row:,}", "truth": number(item.truth), "said": number(item.said), "missed": _missed(item)}
        for item in rows[:WORST_ROWS]
    ]


def _missed(item: Any) -> str:
    if isinstance(item.truth, str) or isinstance(item.said, str):
        return MISSING
    return number(item.truth - item.said)


def claims(record: StudyRecord) -> list[Row]:
    """One row for each claim, with its statement as typeset paragraphs and an anchor."""
    found, anchors = [], set()
    for claim in record.claims:
        anchor = slug("claim", claim.get("name"), claim.get("architecture"))
        while anchor in anchors:
            anchor += "-x"
        anchors.add(anchor)
        compared, ratio = _compared(claim)
        found.append(
            {
                **claim,
                "anchor": anchor,
                "parts": typeset(claim.get("statement") or ""),
                "compared": compared,
                "ratio_told": ratio,
            }
        )
    order = {"applies": 0, "inapplicable": 1}
    return sorted(found, key=lambda claim: (order.get(str(claim.get("status")), 2), claim.get("vacuous") is True))


def _compared(claim: dict[str, Any]) -> tuple[str, str]:
    """A claim's prediction and measurement in words, and their ratio unless they are exponents or an order."""
    relation = str(claim.get("relation") or "")
    rate = relation.startswith("measured ~") or " C " in relation
    known = [isinstance(claim.get(name), (int, float)) for name in ("prediction", "measurement")]
    if not any(known):
        return "", MISSING
    what = "exponent " if rate else ""
    words = f"stated {what}{number(claim.get('prediction'))}, measured {number(claim.get('measurement'))}"
    return words, MISSING if rate or "ordered" in relation else number(claim.get("ratio"))


def typeset(statement: str) -> list[tuple[str, Markup | str]]:
    r"""The paragraphs of a statement with typeset formulas.

    Each paragraph is "text" or "formula" with MathML, or "plain" for a formula that cannot be read.

    >>> [kind for kind, _ in typeset("Let x be small:\n\n    x^2 <= 1")]
    ['text', 'formula']
    """
    return [_set(*part) for part in parts(statement)]


def _set(kind: str, text: str) -> tuple[str, Markup | str]:
    """A paragraph ready for the page: "formula" and "text" with MathML, "plain" for a formula that stays text."""
    if kind == "text":
        return kind, prose(text)
    formula = displayed(text)
    return ("plain", text) if formula is None else (kind, formula)


def parts(statement: str) -> list[tuple[str, str]]:
    r"""The paragraphs of a statement, each with its kind: "text", or "formula" if its lines are indented.

    >>> parts("Let x be\nsmall:\n\n    x^2\n  <= 1,\n\nso it ends.")
    [('text', 'Let x be small:'), ('formula', '  x^2\n<= 1,'), ('text', 'so it ends.')]
    """
    found = []
    for block in statement.split("\n\n"):
        if block.startswith("  ") or block.startswith("\n  "):
            found.append(("formula", textwrap.dedent(block).strip("\n")))
        elif block.strip():
            found.append(("text", " ".join(block.split())))
    return found


def warnings(record: StudyRecord) -> list[str]:
    """The findings that a reader needs before trusting the answer.

    Each finding is listed once, and findings that the answers already contain are left out.
    """
    answers = " ".join(record.answers.sentences)
    return [text for text in dict.fromkeys(record.notes) if text not in answers]
