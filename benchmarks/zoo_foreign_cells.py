"""What the page says of a model of the foreign zoo, beside what is known of it by another route.

A sentence counts as false where numbers say otherwise that the benchmark computes itself, from the model's own calls:
its errors, and those of one answer for all rows. Coverage counts cells whose held-out rows are drawn as the training
rows are, since every prediction rests on that.
"""

import collections
import dataclasses
import os
import re
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import lemmata
import zoo_cells
from lemmata.errors import LemmataError
from zoo_cells import SCORED, coverage, failures, gauges_of_record, statuses, without_intervals
from zoo_foreign import MODELS, cells, left_out, trained_on
from zoo_foreign_rows import CONDITIONS, WRONG, Rows

FEWEST = 30  # cases of a gauge
CLEARLY = 3.0  # standard errors by which a model beats one answer for all rows
ALIKE = 0.1  # between how sure a good model is in the mean, and how often it is right


@dataclasses.dataclass
class Cell:
    """What the page says of one model, as a line of the file holds it.

    Args:
        model, condition, seed: which it is.
        family: the library.
        seconds: of training, and of the examination.
        numbers: by the benchmark's own route: "error" and "constant" on held-out rows, "beats" the standard errors
            between them, "classes" how many there are, "page" the error that the page has, "gap" how sure the model is
            less how often it is right (as the page's bins have it).
        gauges: see `zoo_cells.gauges_of_record`.
        findings, sentences, notes: words of the page.
        refused: why the model was not examined; empty where it was.
    """

    model: str
    condition: str
    seed: int
    family: str
    seconds: list[float]
    numbers: dict[str, float]
    gauges: dict[str, dict[str, Any]]
    findings: list[str]
    sentences: list[str]
    notes: list[str]
    refused: str = ""

    @property
    def false(self) -> list[str]:
        """Kinds of what the page says and should not, or does not say and should."""
        return [kind for kind, so in judged(self) if not so]


def said(model: Any, x: np.ndarray) -> np.ndarray:
    """What a model says of rows, as its own library calls it: classes or scores of classes, or values."""
    if hasattr(model, "predict"):
        return np.asarray(model.predict(x))
    if isinstance(model, tuple):
        first, own = model
        return np.asarray(first.apply(own, x) if hasattr(first, "apply") else first(own, x))
    if hasattr(model, "apply_fn"):
        return np.asarray(model.apply_fn({"params": model.params}, x))
    if any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__):
        import torch

        with torch.no_grad():
            return model(torch.as_tensor(x)).numpy()
    if any(kind.__module__.startswith("equinox") for kind in type(model).__mro__):
        return np.asarray(jax.vmap(model)(x))
    return np.asarray(model(x))


def errors(model: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The error on each held-out row: of the model, and of one answer for all rows, which training rows give."""
    found, y = said(model, rows.held_x), rows.held_y
    if not rows.classes:
        own = ((found.reshape(len(y), -1) - y.reshape(len(y), -1)) ** 2).sum(1)
        middle = ((y - rows.y.mean(0)).reshape(len(y), -1) ** 2).sum(1)
        return own, middle
    labels, counts = np.unique(rows.y, return_counts=True)
    if found.ndim == 2 and found.shape[1] > 1:
        found = labels[found.argmax(1)]
    elif found.dtype.kind == "f":
        found = labels[(found.ravel() > 0.5).astype(int)]
    return (found != y).astype(float), (labels[counts.argmax()] != y).astype(float)


def judge(name: str, condition: str, seed: int) -> Cell:
    """Train, and examine as a user does."""
    began = time.perf_counter()
    model, rows, facts = trained_on(name, condition, seed)
    trained = time.perf_counter()
    own, constant = errors(model, rows)
    gain = constant - own
    numbers = {
        "error": float(own.mean()), "constant": float(constant.mean()), "classes": float(rows.classes),
        "beats": float(gain.mean() / max(gain.std(ddof=1) / len(gain) ** 0.5, 1e-12)),
    }  # fmt: skip
    cell = Cell(name, condition, seed, MODELS[name].family, [round(trained - began, 2), 0.0], numbers, {}, [], [], [])
    try:
        found = lemmata.study_model(model, rows.x, rows.y, held=(rows.held_x, rows.held_y), time_limit=None, **facts)
    except LemmataError as error:
        return dataclasses.replace(cell, refused=" ".join(str(error).split()))
    except Exception:
        traceback.print_exc()
        return dataclasses.replace(cell, refused="traceback: " + traceback.format_exc().strip().splitlines()[-1])
    record = found.record
    if record.held_error is not None:
        numbers["page"] = record.held_error.value
    if record.reliability:
        rows_of_bins = sum(own.rows for own in record.reliability)
        numbers["gap"] = sum(own.rows * (own.sure - own.right.value) for own in record.reliability) / rows_of_bins
    failed = [check.name for check in record.preflight if check.holds is False]
    return dataclasses.replace(
        cell, seconds=[cell.seconds[0], round(time.perf_counter() - trained, 2)], gauges=gauges_of_record(record),
        findings=[own.text for own in record.findings], sentences=found.answer.splitlines(), notes=record.notes,
        refused=f"preflight: it is not so that {failed[0]}" if failed else "",
    )  # fmt: skip


def judged(cell: Cell) -> Iterator[tuple[str, bool]]:
    """Kinds of false findings, with whether this cell is free of each."""
    numbers, text = cell.numbers, " ".join(cell.findings)
    yield "not examined", not cell.refused
    if cell.refused:
        return
    error, constant, classes = numbers["error"], numbers["constant"], int(numbers["classes"])
    good = numbers["beats"] > CLEARLY
    little = abs(numbers["page"] - error) <= (0.004 if classes else 1e-3 * constant)
    yield "another error than the model's own calls have", little
    yield "no baseline beside the first line", len(cell.sentences) > 1 and _is_baseline(cell.sentences[1])
    nothing = "Confidence carries almost no information" in text
    yield "confidence of a good model says next to nothing", not (good and nothing and abs(numbers["gap"]) < ALIKE)
    guessed = "the model guesses" in text.lower() or "does not fit its own" in text
    yield "rows of a good model are guessed", not (good and guessed)
    yield "an interval that says nothing agrees", not _agrees_emptily(cell)
    named = re.search(r"labels look wrong \(([\d.e+-]+) to ([\d.e+-]+) %\)", text)
    if cell.condition == "wrong labels":
        yield f"{WRONG:.0%} wrong labels are not seen", named is not None
    else:
        yield "wrong labels where there are none", named is None
    apart = "not come from the same distribution" in text
    if cell.condition == "shifted":
        yield "shifted rows are not seen", apart
    else:
        yield "rows that are drawn alike are not alike", not apart
    yield "a gauge failed", "failed" not in statuses(cell).values()


def _is_baseline(sentence: str) -> bool:
    return re.search(r"^(Always answering .*|The mean of the training targets) has an error of ", sentence) is not None


def _agrees_emptily(cell: Cell) -> bool:
    """Whether the page says "agree" of an interval that contains half of the constant answer's error and all of it."""
    own = cell.gauges.get("held_out_error_from_training_rows")
    if own is None or not own["predicted"] or not any(line.endswith(" measurement agree.") for line in cell.sentences):
        return False
    low, _, high = own["predicted"]
    return low <= cell.numbers["constant"] / 2 and high >= cell.numbers["constant"]


HEAD = "| model | condition | seed | seconds | error | one answer | intervals | says | false |"


def line(cell: Cell) -> str:
    """A row of the printed table."""
    if cell.refused:
        return f"| {cell.model} | {cell.condition} | {cell.seed} | refused: {cell.refused[:300]} |"
    scored = [status for name, status in statuses(cell).items() if _is_scored(cell, name)]
    says = ", ".join(own.split(":")[0][:30] for own in cell.findings) or "nothing"
    return (
        f"| {cell.model} | {cell.condition} | {cell.seed} | {sum(cell.seconds):.1f} | {cell.numbers['error']:.3g} | "
        f"{cell.numbers['constant']:.3g} | {scored.count('agrees')} of {len(scored)} | {says} | "
        f"{'; '.join(cell.false) or 'none'} |"
    )


def _is_scored(cell: Cell, name: str) -> bool:
    own = cell.gauges[name]
    return own["label"] == "estimate" and own["status"] in SCORED


def alike(found: list[Cell]) -> list[Cell]:
    """Cells whose held-out rows are drawn as the training rows are, and that were examined."""
    return [cell for cell in found if cell.condition != "shifted" and not cell.refused]


def false_findings(found: list[Cell]) -> list[str]:
    """Kinds of false findings with their counts, each followed by its cells."""
    kinds = collections.defaultdict(list)
    for cell in found:
        for kind in cell.false:
            kinds[kind].append(f"{cell.model}, {cell.condition}, seed {cell.seed}")
    lines = [f"{kind}: {len(places)} of {len(found)}: {'; '.join(places)}" for kind, places in sorted(kinds.items())]
    return lines or [f"no false finding in {len(found)} cells"]


def misses(found: list[Cell]) -> list[str]:
    """Predictions that failed, a line a cell."""
    return [
        f"missed in {cell.model}, {cell.condition}, seed {cell.seed}: {'; '.join(words)}"
        for cell in alike(found)
        if (words := failures(cell))
    ]


def page(found: list[Cell], asked: int) -> list[str]:
    """The lines of the documentation: a row a family, coverage, false findings, and what was not run.

    Args:
        found: finished cells.
        asked: how many there should be.
    """
    lines = ["| family | models | cells | intervals that hold | cells with a false finding |", "|---|---|---|---|---|"]
    for family in dict.fromkeys(own.family for own in MODELS.values()):
        own = [cell for cell in found if cell.family == family]
        scored = [statuses(cell)[name] for cell in alike(own) for name in cell.gauges if _is_scored(cell, name)]
        models, wrong = len({cell.model for cell in own}), sum(bool(cell.false) for cell in own)
        lines.append(f"| {family} | {models} | {len(own)} | {scored.count('agrees')} of {len(scored)} | {wrong} |")
    missing = left_out()
    told = [f"left out, since {module} is not installed: {name}" for name, module in missing.items()]
    told += [f"not run: {asked - len(found)} of {asked} cells"] * (asked > len(found))
    return [*lines, "", "```", *coverage(alike(found), FEWEST), *false_findings(found), *told, "```"]


MARKS = ("<!-- the foreign zoo: written by benchmarks/zoo.py --foreign -->", "<!-- end of the foreign zoo -->")


__all__ = ["CONDITIONS", "MODELS", "Cell", "main"]


def main(
    names: list[str], conditions: list[str], seeds: list[int], out: Path | None, nothing: bool, write: Path | None
) -> str | None:
    """Run cells that are not known, print what was found, and write it; why it is incomplete, or None.

    Args:
        names: of models.
        conditions: of them.
        seeds: of them.
        out: the file of cells.
        nothing: whether only cells of the file are shown.
        write: a page with marks.
    """
    os.environ.setdefault("KERAS_BACKEND", "jax")
    for name, module in left_out().items():
        print(f"left out, since {module} is not installed: {name}")
    print(HEAD, "|---" * (HEAD.count("|") - 1) + "|", sep="\n", flush=True)
    known = {own: cell for own, cell in zoo_cells.stored(out, Cell).items() if nothing or not cell.refused}
    asked = cells(names, conditions, seeds)
    found, failed = zoo_cells.run(asked, known, judge, line, out, nothing)
    print("", *coverage(alike(found), FEWEST), *without_intervals(alike(found)), "", sep="\n")
    print(*false_findings(found), "", *misses(found), sep="\n")
    if write:
        zoo_cells.write_between(write, MARKS, page(found, len(asked)))
    return f"{failed} cells failed, and were not stored" if failed else None
