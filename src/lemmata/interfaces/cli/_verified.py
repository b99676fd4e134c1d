"""What `lemmata verify --all` tells of a run: the table, the page, the level, the exit code."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from lemmata.errors import DataError, SettingError

from ._verify_all import Options, Session, of_package


def verify_many(chosen: list[Any], options: Options, as_json: bool) -> int:
    """Judge claims, print the table, write the page, and give the exit code."""
    from lemmata.engine.catalogue import give_tags, write_costs
    from lemmata.engine.claims import record_of, registry, write_record

    from ._console import err

    options.check()
    foreign = [claim.name for claim in chosen if not of_package(claim)]
    if foreign and options.write:
        raise SettingError(f"claim {foreign[0]}", rule="--write is for registered claims")
    session = Session(chosen, options)
    for claim, verdict in session.judge():
        wrong = "" if verdict.status is claim.expected else "  NOT AS EXPECTED"
        at = f"[{len(session.judged)}/{len(chosen)}]"
        err.print(
            f"{at} {verdict.status:<12} {verdict.name} {verdict.seconds:.1f} s{wrong}", markup=False, highlight=False
        )
        if options.write:
            write_record(claim, record_of(claim, verdict))
            write_costs({type(claim).__name__: verdict.seconds})
    held = session.together()
    if options.write:
        give_tags(type(claim).__name__ for claim in registry().values())
    record = _record(session, held)
    _tell(record, held, chosen, options, as_json)
    return _code(chosen, held, session, record, options)


def _record(session: Session, held: list[Any]) -> dict[str, Any]:
    """The run as plain values, of which table, page and JSON are made."""
    from lemmata.engine.claims import plain_json

    claims = {claim.name: claim for claim in session.chosen}
    options = session.options
    # A run that continues adds to every claim, and what another one has judged is left, too.
    done = session.judged if options.continued else {verdict.name for verdict in held}
    rows = []
    for verdict in held:
        row = plain_json(dataclasses.asdict(verdict))
        row |= {"source": str(verdict.source), "title": claims[verdict.name].title}
        row |= {"expected": str(claims[verdict.name].expected), "known": verdict.name not in session.judged}
        rows.append(row | {"as_expected": verdict.status is claims[verdict.name].expected})
    return {
        "run": session.number, "ledger": str(session.path), "command": session.command, "level": options.level,
        "claims": len(session.chosen), "method": "e-values" if options.continued else "Holm",
        "seed": options.seed, "seconds": session.seconds, "minutes": options.minutes,
        "interrupted": session.interrupted, "judged": len(session.judged), "rows": rows, "notes": session.notes,
        "changes": [dataclasses.asdict(change) for change in session.changes()],
        "left": [claim.name for claim in session.chosen if claim.name not in done],
    }  # fmt: skip


def level_words(record: dict[str, Any]) -> str:
    """The level in a sentence."""
    how = "Holm on p-values"
    if record["method"] == "e-values":
        how = "Holm on e-values of all sessions in the ledger, which stay valid however often the run is continued"
    return (
        f"Family-wise level {record['level']:g} over {record['claims']} claims ({how}): the probability that any true "
        "one of them is refuted is at most that."
    )


def _tell(record: dict[str, Any], held: list[Any], chosen: list[Any], options: Options, as_json: bool) -> None:
    from lemmata.interfaces.report import write_verified

    from ._console import out, plain
    from ._verdicts import show_verdict

    page = None
    if options.out is not None:
        try:
            page = write_verified({**record, "sentence": level_words(record)}, options.out)
        except DataError as error:  # what was found is told all the same
            record["notes"].append(str(error))
    if as_json:
        plain(json.dumps({**record, "sentence": level_words(record)}, indent=1, allow_nan=False))
        return
    for line in table_of(record):
        plain(line)
    expected = {claim.name: claim.expected for claim in chosen}
    for verdict in held:
        if len(chosen) == 1 or verdict.status is not expected[verdict.name]:
            show_verdict(verdict, short=len(chosen) > 1)
    out.print(level_words(record), markup=False, highlight=False)
    if page is not None:
        plain(f"Page: {page}")


def table_of(record: dict[str, Any]) -> Iterator[str]:
    """The table of a run, and what changed, was left and could not be kept, in lines."""
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
        f"{len(rows)} of {record['claims']} claims judged ({known} of them read from the ledger), "
        f"{unexpected} not as expected; run {record['run']} of {record['ledger']}."
    )
    for change in record["changes"]:
        why = ", ".join(change["why"]) or "nothing that is known"
        yield f"Changed since the last run: {change['claim']}: {change['before']} -> {change['after']} ({why})"
    if record["left"]:
        more = f" and {len(record['left']) - 5} more" if len(record["left"]) > 5 else ""
        yield f"Left for the next run: {len(record['left'])} claims: {', '.join(record['left'][:5])}{more}."
    yield from (f"Not recorded: {note}" for note in record["notes"])


def _code(chosen: list[Any], held: list[Any], session: Session, record: dict[str, Any], options: Options) -> int:
    """The exit code: 4 where anything failed, else the worst verdict that is not the expected one."""
    from ._console import err
    from ._verdicts import EXIT, amiss, worst

    if session.notes or any(verdict.status == "failed" for verdict in held):
        return EXIT["failed"]
    if len(chosen) == 1 and held:
        return EXIT[held[0].status]
    broken = amiss(
        [claim for claim in chosen if claim.name in session.judged and of_package(claim)], {v.name: v for v in held}
    )
    if broken:
        err.print(f"{broken} against a rule.", markup=False, highlight=False)
    out_of_date = options.stale and chosen and not options.write
    if out_of_date:
        said = f"The catalogue was out of date in {len(chosen)} claims; `lemmata verify --stale --write` renews it."
        err.print(said, markup=False, highlight=False)
    code = worst(chosen, held)
    if options.continued and record["left"]:
        code = max(code, EXIT["inconclusive"])
    return code or int(bool(broken) or bool(out_of_date))
