"""The output of `lemmata judge`: the table, the page, the sentence on the level, and the exit code."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from lemmata.errors import DataError

from ._family_run import FamilyRun, of_package


def tell(run: FamilyRun, out_of_date: int, as_json: bool) -> int:
    """Print the table or the record of a finished run, write its page, and return the exit code."""
    held = run.together()
    record = _record(run, held)
    _show(run, record, held, as_json)
    return _code(run, record, held, out_of_date)


def _record(run: FamilyRun, held: list[Any]) -> dict[str, Any]:
    """The run as plain values, from which the table, the page and the JSON are made."""
    from lemmata.engine.claims import plain_json

    claims = {claim.name: claim for claim in run.chosen}
    options = run.options
    # A run with --continue adds trials to every claim. It does not skip claims that another run has tested.
    done = run.judged if options.continued else {verdict.name for verdict in held}
    rows = []
    for verdict in held:
        row = plain_json(dataclasses.asdict(verdict))
        row |= {"source": str(verdict.source), "title": claims[verdict.name].title}
        row |= {"expected": str(claims[verdict.name].expected), "known": verdict.name not in run.judged}
        rows.append(row | {"as_expected": verdict.status is claims[verdict.name].expected})
    return {
        "run": run.number, "ledger": str(run.path), "command": run.command, "level": options.level,
        "claims": len(run.chosen), "method": "e-values" if options.continued else "Holm",
        "seed": options.seed, "seconds": run.seconds, "minutes": options.minutes,
        "interrupted": run.interrupted, "judged": len(run.judged), "rows": rows, "notes": run.notes,
        "changes": [dataclasses.asdict(change) for change in run.changes()],
        "left": [claim.name for claim in run.chosen if claim.name not in done],
    }  # fmt: skip


def level_words(record: dict[str, Any]) -> str:
    """A sentence on the level, the largest probability with which any true claim is refuted."""
    how = "Holm's procedure on p-values"
    if record["method"] == "e-values":
        how = "Holm's procedure on e-values, which stay valid however often you continue the run"
    return (
        f"The family-wise level is {record['level']:g} over {record['claims']} claims ({how}). So the probability "
        f"that any true claim is refuted is at most {record['level']:g}."
    )


def _show(run: FamilyRun, record: dict[str, Any], held: list[Any], as_json: bool) -> None:
    from lemmata.interfaces.report import write_verified

    from ._console import out, plain
    from ._verdicts import show_verdict

    page = None
    if run.options.out is not None:
        try:
            page = write_verified({**record, "sentence": level_words(record)}, run.options.out)
        except DataError as error:  # the result is still reported
            record["notes"].append(str(error))
    if as_json:
        plain(json.dumps({**record, "sentence": level_words(record)}, indent=1, allow_nan=False))
        return
    for line in table_of(record):
        plain(line)
    expected = {claim.name: claim.expected for claim in run.chosen}
    for verdict in held:
        if len(run.chosen) == 1 or verdict.status is not expected[verdict.name]:
            show_verdict(verdict, short=len(run.chosen) > 1)
    out.print(level_words(record), markup=False, highlight=False)
    if page is not None:
        plain(f"Page: {page}")


def table_of(record: dict[str, Any]) -> Iterator[str]:
    """The lines of a run's table, followed by changed verdicts, claims left for later, and results not recorded."""
    rows = record["rows"]
    wide = max((len(row["name"]) for row in rows), default=0)
    yield f"{'verdict':<13}{'claim':<{wide}}  {'p':>8}  {'trials':>6}  {'seconds':>7}"
    for row in rows:
        said = "" if row["as_expected"] else f"  not as expected ({row['expected']})"
        said += "  from the ledger" if row["known"] else ""
        figures = f"{row['p_value']:8.2g}  {row['judged']:6d}  {row['seconds']:7.1f}"
        yield f"{row['status']:<13}{row['name']:<{wide}}  {figures}{said}"
    unexpected = sum(not row["as_expected"] for row in rows)
    known = sum(row["known"] for row in rows)
    yield (
        f"{len(rows)} of {record['claims']} claims were judged ({known} of them from the ledger), {unexpected} with "
        f"an unexpected verdict. This is run {record['run']} in the ledger {record['ledger']}."
    )
    for change in record["changes"]:
        why = ", ".join(change["why"]) or "no known reason"
        yield f"Changed since the last run: {change['claim']}, from {change['before']} to {change['after']} ({why})"
    if record["left"]:
        more = f" and {len(record['left']) - 5} more" if len(record["left"]) > 5 else ""
        yield f"Left for the next run ({len(record['left'])} claims): {', '.join(record['left'][:5])}{more}."
    yield from (f"Not recorded: {note}" for note in record["notes"])


def _code(run: FamilyRun, record: dict[str, Any], held: list[Any], out_of_date: int) -> int:
    """The exit code of the run: 4 if anything failed, otherwise the code of the worst unexpected verdict."""
    from ._console import err
    from ._verdicts import EXIT, amiss, worst

    chosen, options = run.chosen, run.options
    if run.notes or any(verdict.status == "failed" for verdict in held):
        return EXIT["failed"]
    broken = amiss(
        [claim for claim in chosen if claim.name in run.judged and of_package(claim)], {v.name: v for v in held}
    )
    if broken:
        err.print(f"Number of claims that break a rule for writing claims: {broken}.", markup=False, highlight=False)
    if len(chosen) == 1 and held:
        return EXIT[held[0].status] or int(bool(broken))
    out_of_date = 0 if options.write else out_of_date
    if out_of_date:
        said = (
            f"The catalogue was out of date for {out_of_date} claims. Update the catalogue with `lemmata verify "
            "--stale --write`."
        )
        err.print(said, markup=False, highlight=False)
    code = worst(chosen, held)
    if options.continued and record["left"]:
        code = max(code, EXIT["inconclusive"])
    return code or int(bool(broken) or bool(out_of_date))
