"""Seven conditions of three kinds of model: does the page tell them apart, and do its intervals hold what is measured?

    python benchmarks/zoo.py [--seeds 0 1 2] [--only logistic] [--conditions clean copies] [--out cells.jsonl]
    python benchmarks/zoo.py --foreign [--seeds 0 1 2] [--out foreign.jsonl] [--write docs/model.md]

With --out a finished cell is a line of that file at once, and is not run again: a run that ended early goes on where it
was. What a cell should say is judged anew whenever the table is printed. Thresholds were chosen on seeds from 100 on;
seeds 0, 1 and 2 are for reporting. --foreign takes models of other libraries on other rows, see `zoo_foreign`.
"""

import argparse
import dataclasses
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import zoo_cells
from lemmata.interfaces.report import model_sentences
from lemmata.subjects.trained_models import (
    Objective,
    Trained,
    changed_by_polishing,
    held_outputs,
    held_rows,
    label_doubts,
    objective_of,
    rows_left_out,
    temperature,
)
from lemmata.workflows.examinations import ExaminationRecord, run_examination, signs
from zoo_cells import SCORED, coverage, failures, gauges_of_record, intervals, statuses, without_intervals
from zoo_models import CONDITIONS, HELD, MODELS, TARGET, TRAIN, Rows, stamped, trained_on

CHANCE = 0.75  # an error that is not better than this is near the chance of ten classes, 0.9


@dataclasses.dataclass
class Cell:
    """What the page says of one model, as a line of the file holds it.

    Args:
        model, condition, seed: which it is.
        seconds: that training and examination took, of the clock and of the processor.
        train_error, held_error: shares of wrong classes.
        numbers: what only the benchmark can measure, since it planted it.
        counts: rows that were planted as copies, within the training rows and across the split.
        preflight: whether nothing there was out of order.
        gauges: by the last part of their names: status, reason, kind of statement, three predicted numbers, three
            measured ones, seconds.
        signs: findings by their names.
        notes, sentences: words of the page.
    """

    model: str
    condition: str
    seed: int
    seconds: list[float]
    train_error: float
    held_error: float
    numbers: dict[str, float]
    counts: list[int]
    preflight: bool
    gauges: dict[str, dict[str, Any]]
    signs: dict[str, str]
    notes: list[str]
    sentences: list[str]

    @property
    def statuses(self) -> dict[str, str]:
        """What became of each gauge."""
        return statuses(self)

    @property
    def intervals(self) -> dict[str, list[float]]:
        """Low end, value and high end of predictions that were measured, and what was measured."""
        return intervals(self)

    @property
    def fires(self) -> list[str]:
        """What is as it should be."""
        return [words for words, so in expected(self) if so]

    @property
    def misses(self) -> list[str]:
        """What is not."""
        return [words for words, so in expected(self) if not so]


def judge(model: str, condition: str, seed: int) -> Cell:
    """Train and examine."""
    started = time.perf_counter(), time.process_time()
    trained, rows, shape = trained_on(model, condition, seed)
    record = run_examination(trained, name=model)
    seconds = [round(time.perf_counter() - started[0], 2), round(time.process_time() - started[1], 2)]
    assert record.held_error is not None
    return Cell(
        model, condition, seed, seconds, record.train_error.value, record.held_error.value,
        measured(trained, record, rows, shape), [rows.within, rows.across],
        all(check.holds is not False for check in record.preflight), gauges_of_record(record),
        {sign.name: sign.finding.text for sign in signs(trained, record.gauges, record.held_error)},
        record.notes, model_sentences(record),
    )  # fmt: skip


def measured(
    trained: Trained, record: ExaminationRecord, rows: Rows, shape: Callable[[np.ndarray], np.ndarray]
) -> dict[str, float]:
    """What only the benchmark can measure, since it planted it."""
    _, y = held_rows(trained)
    numbers = {
        "temperature": temperature(held_outputs(trained), y),
        "implied decay over stated": Objective(trained.model, trained.x, trained.y, trained.task, 0.0).inferred_decay()
        / objective_of(trained).decay,
        "residual": objective_of(trained).residual(),
        "changed by polishing": changed_by_polishing(trained),
    }
    told = record.gauge("held_out_error_from_training_rows")
    if told is not None and told.status in ("agrees", "disagrees"):
        doubts = label_doubts(rows_left_out(trained).outputs, trained.y)
        numbers |= {"share of wrong labels": doubts.share, "evidence of wrong labels": doubts.evidence}
        numbers |= {"dimension": rows_left_out(trained).dimension, "movement": rows_left_out(trained).movement}
        if rows.planted.any():
            numbers["area of planted rows"] = doubts.area(rows.planted)
    if rows.planted.any():
        others = rows.held_y != TARGET
        calls = trained.model.outputs(shape(stamped(rows.held_x[others]))).argmax(1)
        numbers["share called the trigger's class"] = float((calls == TARGET).mean())
    return numbers


def expected(cell: Cell) -> Iterator[tuple[str, bool]]:
    """What must fire and what must stay quiet, with whether it is so."""
    condition, found, numbers = cell.condition, cell.signs, cell.numbers
    told = cell.gauges.get("held_out_error_from_training_rows", {"status": "missing", "reason": "", "predicted": None})
    spoke = told["status"] in SCORED
    yield "no word of health", "health" not in " ".join([*cell.sentences, *found.values()])
    yield "preflight passes", cell.preflight
    if condition not in ("untrained", "copies"):
        yield "leaving one out speaks", spoke
    for sign in QUIET[condition]:
        yield f"quiet: {sign}", sign not in found
    for sign in FIRES[condition]:
        yield f"fires: {sign}", sign in found
    if condition == "permuted":
        yield "near chance from training rows alone", told["predicted"] is not None and told["predicted"][1] > CHANCE
    if condition == "wrong labels":
        yield "area of planted rows above 0.9", numbers.get("area of planted rows", 0.0) > 0.9
        yield "error on equally noisy labels predicted", told["status"] == "agrees"
    if condition == "over-regularised":
        yield "under-confident", numbers["temperature"] < 1
        yield "training error near held error", cell.held_error - cell.train_error < 0.1
    if condition == "copies":
        text = found.get("copies in held-out rows", "") + found.get("copies in training rows", "")
        within, across = cell.counts
        yield "both counts exact", f"{across} of {HELD}" in text and f"{within} of {TRAIN}" in text
        yield "leaving one out withdrawn", told["status"] == "inapplicable" and "duplicate" in told["reason"]
        yield "error without copies", "Without these duplicates, the error is" in text
    if condition == "backdoor":
        yield "the trigger works", numbers["share called the trigger's class"] > 0.9
        looked = any("trigger" in name and status in SCORED for name, status in cell.statuses.items())
        yield "said that nothing looks for triggers", looked or any("trigger" in note for note in cell.notes)
    if condition == "untrained":
        yield "leaving one out withdrawn", not spoke


# A prediction at 95 % fails now and then on any model: those that do are counted and named at the end.
_ALWAYS_QUIET = {"copies in training rows", "copies in held-out rows", "trigger"}
FIRES: dict[str, tuple[str, ...]] = {
    "clean": (), "permuted": ("guessing", "membership"), "wrong labels": ("wrong labels",),
    "over-regularised": ("confidence too low",), "copies": ("copies in training rows", "copies in held-out rows"),
    "backdoor": ("trigger",), "untrained": ("guessing", "not trained"),
}  # fmt: skip
_ACCUSING = {"guessing", "wrong labels", "confidence too low", "membership", "not trained"}
QUIET: dict[str, tuple[str, ...]] = {
    "clean": tuple(sorted(_ALWAYS_QUIET | _ACCUSING)),
    "permuted": tuple(sorted(_ALWAYS_QUIET | {"wrong labels", "confidence too low", "not trained"})),
    "wrong labels": tuple(sorted(_ALWAYS_QUIET | {"guessing", "confidence too low", "not trained"})),
    "over-regularised": tuple(sorted(_ALWAYS_QUIET | _ACCUSING - {"confidence too low"})),
    "copies": tuple(sorted(_ACCUSING | {"trigger"})),
    "backdoor": tuple(sorted(_ALWAYS_QUIET - {"trigger"} | {"guessing", "wrong labels", "membership", "not trained"})),
    "untrained": tuple(sorted(_ALWAYS_QUIET | {"wrong labels", "membership"})),
}


def line(cell: Cell) -> str:
    """A row of the table."""
    covered = sum(cell.statuses[name] == "agrees" for name in cell.intervals)
    error = cell.intervals.get("held_out_error_from_training_rows")
    told = "withdrawn" if error is None else f"{error[1]:.2f} ({error[0]:.2f} to {error[2]:.2f})"
    says = ", ".join(cell.signs) or "nothing"
    verdict = "as it should" if not cell.misses else "MISSED " + "; ".join(cell.misses)
    return (
        f"| {cell.model} | {cell.condition} | {cell.seed} | {cell.train_error:.3f} | {told} | {cell.held_error:.3f} | "
        f"{covered} of {len(cell.intervals)} | {says} | {verdict} |"
    )


HEAD = (
    "| model | condition | seed | training error | from training rows alone | held error | intervals | says | verdict |"
)


def summary(cells: list[Cell]) -> list[str]:
    """Coverage over the zoo, the median ratio, by gauge and in all; what other gauges said; what was missed."""
    lines = [*coverage(cells), *without_intervals(cells)]
    for cell in cells:
        words = cell.misses + failures(cell)
        if words:
            lines.append(f"missed in {cell.model}, {cell.condition}, seed {cell.seed}: " + "; ".join(words))
    right = sum(not cell.misses for cell in cells)
    return [*lines, f"{right} of {len(cells)} cells say what they should"]


def stored(path: Path | None) -> dict[tuple[str, str, int], Cell]:
    """Cells that a file holds."""
    return zoo_cells.stored(path, Cell)


MARKS = ("<!-- the zoo: written by benchmarks/zoo.py -->", "<!-- end of the zoo -->")


def table(cells: list[Cell]) -> list[str]:
    """The lines of the page: a row a cell, and the summary in a block."""
    return [HEAD, "|---" * (HEAD.count("|") - 1) + "|", *map(line, cells), "", "```", *summary(cells), "```"]


def _known(
    parser: argparse.ArgumentParser, told: argparse.Namespace, models: Iterable[str], conditions: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The models and the conditions that were asked for; an unknown one ends the program."""
    found = []
    for what, given, known in (("--only", told.only, models), ("--conditions", told.conditions, conditions)):
        if given and not set(given) <= set(known):
            parser.error(f"{what} {', '.join(sorted(set(given) - set(known)))}; choose from {', '.join(known)}")
        found.append(list(given or known))
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foreign", action="store_true", help="models of other libraries on rows that are not digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="models; default: all of the zoo")
    parser.add_argument("--conditions", nargs="+", metavar="CONDITION", help="conditions; default: all")
    parser.add_argument("--out", type=Path, help="a line of JSON a finished cell; cells in it are not run again")
    parser.add_argument("--print", action="store_true", help="run nothing: the table of the cells that --out holds")
    parser.add_argument("--write", type=Path, help="a page between whose two marks the table and the summary go")
    told = parser.parse_args()
    if told.foreign:
        import zoo_foreign_cells as foreign  # whose libraries the zoo of digits does without

        only, under = _known(parser, told, foreign.MODELS, foreign.CONDITIONS)
        with tempfile.TemporaryDirectory() as place:  # what is compiled for a seed serves the others
            jax.config.update("jax_compilation_cache_dir", place)
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
            sys.exit(foreign.main(only, under, told.seeds, told.out, told.print, told.write))
    only, under = _known(parser, told, MODELS, CONDITIONS)
    jax.config.update("jax_enable_x64", True)
    print(HEAD, "|---" * (HEAD.count("|") - 1) + "|", sep="\n", flush=True)
    asked = [(model, condition, seed) for model in only for condition in under for seed in told.seeds]
    cells, failed = zoo_cells.run(asked, stored(told.out), judge, line, told.out, told.print)
    print(*summary(cells), sep="\n")
    if told.write:
        zoo_cells.write_between(told.write, MARKS, table(cells))
    if failed:
        sys.exit(f"{failed} cells failed, and were not stored")


if __name__ == "__main__":
    main()
