"""What both zoos share: gauges of a finished cell, its file of lines, coverage over cells, their place on a page."""

import collections
import dataclasses
import json
import statistics
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from lemmata.workflows.examinations import ExaminationRecord

SCORED = ("agrees", "disagrees")


class Examined(Protocol):
    """A finished cell.

    Args:
        gauges: as of `gauges_of_record`.
    """

    gauges: dict[str, dict[str, Any]]


def gauges_of_record(record: ExaminationRecord) -> dict[str, dict[str, Any]]:
    """Gauges by the last part of their names: status, reason, kind of statement, three numbers each, seconds."""
    ends = lambda own: None if own is None else [own.lower, own.value, own.upper]
    return {
        own.name.rsplit(".", 1)[-1]: {
            "status": own.status, "reason": own.reason, "label": own.label, "predicted": ends(own.predicted),
            "measured": ends(own.measured), "seconds": round(own.seconds, 3),
        }
        for own in record.gauges
    }  # fmt: skip


def statuses(cell: Examined) -> dict[str, str]:
    """What became of each gauge."""
    return {name: own["status"] for name, own in cell.gauges.items()}


def intervals(cell: Examined) -> dict[str, list[float]]:
    """Low end, value and high end of predictions that were measured, and what was measured."""
    return {
        name: [*own["predicted"], own["measured"][1]]
        for name, own in cell.gauges.items()
        if own["label"] == "estimate" and own["status"] in SCORED and own["predicted"] and own["measured"]
    }


def coverage(cells: Sequence[Examined], fewest: int = 0) -> list[str]:
    """How many intervals of each gauge hold what was measured, with the median ratio, and how many in all.

    Args:
        cells: finished ones.
        fewest: cases below which a line says that there are few.
    """
    lines, every, ratios = [], [], []
    for name in sorted({name for cell in cells for name in intervals(cell)}):
        own = [intervals(cell)[name] for cell in cells if name in intervals(cell)]
        held = [statuses(cell)[name] == "agrees" for cell in cells if name in intervals(cell)]
        ratio = [value / seen for _, value, _, seen in own if seen > 0]
        every, ratios = every + held, ratios + ratio
        few = f" (under {fewest} cases)" * (len(held) < fewest)
        share = f" ({sum(held) / len(held):.1%})" * (fewest > 0)
        lines.append(f"{name}: {sum(held)} of {len(held)} covered{share}{_median(ratio)}{few}")
    if every:
        share = sum(every) / len(every)
        lines.append(f"all: {sum(every)} of {len(every)} covered ({share:.1%}){_median(ratios)}")
    return lines


def without_intervals(cells: Sequence[Examined]) -> list[str]:
    """What became of each gauge in cells where it has no interval that was measured; last those that never spoke."""
    lines, never = [], []
    for name in sorted({name for cell in cells for name in cell.gauges}):
        counts = collections.Counter(statuses(cell)[name] for cell in cells if name in cell.gauges)
        spoke = any(name in intervals(cell) for cell in cells)
        if not spoke and counts.keys() <= {"inapplicable"}:
            never.append(name)
            continue
        counts -= collections.Counter(statuses(cell)[name] for cell in cells if name in intervals(cell))
        if counts:
            lines.append(f"without an interval that was measured: {name}: {_counted(counts)}")
    return [*lines, f"inapplicable to every cell: {', '.join(never)}"] if never else lines


def failures(cell: Examined) -> list[str]:
    """Gauges that failed, or whose prediction did, with the numbers."""
    failed = [name for name, status in statuses(cell).items() if status in ("failed", "disagrees")]
    return [f"{statuses(cell)[name]}: {name} {_seen(cell, name)}" for name in failed]


def _median(ratios: list[float]) -> str:
    return f", median ratio {statistics.median(ratios):.2f}" if ratios else ""


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


def _seen(cell: Examined, name: str) -> str:
    """Predicted and measured, or why there is nothing to compare."""
    own = cell.gauges[name]
    if not own["predicted"] or not own["measured"]:
        return own["reason"]
    low, value, high = own["predicted"]
    return f"{value:.3g} ({low:.3g} to {high:.3g}), measured {own['measured'][1]:.3g}"


def stored(path: Path | None, kind: type[Any]) -> dict[tuple[str, str, int], Any]:
    """Cells that a file holds; a line that is not whole, or of another form, counts as a cell that was not run."""
    found = {}
    for text in path.read_text().splitlines() if path is not None and path.exists() else []:
        try:
            cell = kind(**json.loads(text))
        except (TypeError, ValueError):
            print(f"a line of {path} is no cell: {text[:60]}", file=sys.stderr)
            continue
        found[cell.model, cell.condition, cell.seed] = cell
    return found


def run(
    asked: Iterable[tuple[str, str, int]], known: dict[tuple[str, str, int], Any], judge: Callable[..., Any],
    line: Callable[[Any], str], out: Path | None, nothing: bool,
) -> tuple[list[Any], int]:  # fmt: skip
    """Cells in their order, each printed as it is finished, and how many failed.

    Args:
        asked: model, condition and seed of each.
        known: cells that are not run again; new ones are entered.
        judge: trains and examines.
        line: what is printed of a cell.
        out: the file that takes a line of JSON a finished cell.
        nothing: whether cells that are not known are left out.
    """
    cells, failed = [], 0
    for own in asked:
        if own not in known and nothing:
            continue
        if own not in known:
            try:
                known[own] = judge(*own)
            except Exception:  # one cell's fault, perhaps of a gauge that is new, must not lose the others
                traceback.print_exc()
                failed += 1
                continue
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(dataclasses.asdict(known[own])) + "\n")
        cells.append(known[own])
        print(line(cells[-1]), flush=True)
    return cells, failed


def write_between(page: Path, marks: tuple[str, str], lines: list[str]) -> None:
    """Put lines between the marks of a page, in the place of what stands there."""
    before, rest = page.read_text().split(marks[0])
    _, after = rest.split(marks[1])
    page.write_text("\n".join([before + marks[0], "", *lines, "", marks[1] + after]))
