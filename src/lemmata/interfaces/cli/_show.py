"""`lemmata show`: print one claim in full, with its last verdict."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

FIELDS = (
    "title", "statement", "kind", "source", "reference", "reading", "relation", "band", "controls", "unexplained",
    "trivial", "expected", "corrects", "tag", "tool", "architecture", "object", "problem", "population", "trials",
    "section",
)  # fmt: skip

_HEADINGS = {
    "section": "about the section", "band": "decision rule", "problem": "open problem of the survey",
    "reading": "how the source was interpreted", "controls": "what it predicts or bounds",
    "unexplained": "what it leaves open", "trivial": "what is known without the claim", "tag": "number of the claim",
    "expected": "expected verdict",
}  # fmt: skip


def show(
    claim: Annotated[
        str,
        typer.Argument(
            help=(
                'Name of a claim or end of the name, its tag, statement number ("Lemma E.4"), section, or '
                "FILE.py[:Claim]."
            )
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a claim with its statement, source, relation, settings, control and last verdict."""
    from lemmata.engine.catalogue import described, older, runs_of, told_mutations, told_search, told_walk

    from ._console import out, plain

    records = [{**described(entry), "runs": runs_of(entry["module"], entry["class"])} for entry in _records(claim)]
    if as_json:
        plain(json.dumps(records[0] if len(records) == 1 else records, indent=1))
        return
    for record in records:
        out.rule(record["name"], align="left")
        for title in FIELDS:
            if record[title]:
                heading = _HEADINGS.get(title, title)
                out.print(f"[bold]{heading}[/bold]")
                out.print(str(record[title]), markup=False, highlight=False)
        if record["runs"]:
            out.print("[bold]public functions that its trials run[/bold]")
            out.print(", ".join(record["runs"]), markup=False, highlight=False)
        _show_passage(record["passage"], record["readings"])
        loose = record["control"]["loose"]
        out.print("[bold]control[/bold]")
        out.print(record["control"]["statement"] + (f" ({loose})" if loose else ""), markup=False, highlight=False)
        out.print("[bold]settings[/bold] (change with --set name=value)")
        for name, setting in record["settings"].items():
            region = (
                " | ".join(setting["options"]) if "options" in setting else f"{setting['low']} .. {setting['high']}"
            )
            line = f"  {name} = {setting['default']}  ({region})  {setting['meaning']}"
            out.print(line, markup=False, highlight=False)
        for rule in record["rules"]:
            out.print(f"  {rule}", markup=False, highlight=False)
        _show_verdict(record.get("verdict"), older(record))
        _show_beside("tightness (evidence from a search, never proof)", told_search, record["search"])
        _show_beside("tests at the ends of the settings' declared ranges", told_walk, record["walk"])
        _show_places(record["walk"])
        _show_beside("tests of slightly wrong versions, on the same trials", told_mutations, record["mutations"])


def _show_passage(passage: dict[str, Any] | None, readings: list[dict[str, str]]) -> None:
    """Print a source's words that the claim refutes, their place, their readings, and when they would be true."""
    from ._console import out

    if passage is not None:
        place = f"{passage['file']}, characters {passage['first']} to {passage['after']}"
        parts = {"place of the words": place, "the words say": passage["says"], "as printed": passage["formula"]}
        for heading, text in {**parts, "the words would be right if": passage["right_if"]}.items():
            if text:
                out.print(f"[bold]{heading}[/bold]")
                out.print(text, markup=False, highlight=False)
    if readings:
        out.print("[bold]readings[/bold]")
    for own in readings:
        by = f" ({own['claim']})" if own["claim"] else ""
        out.print(f"  {own['verdict']}: {own['words']}{by}", markup=False, highlight=False)


def _show_verdict(verdict: dict[str, Any] | None, older: str) -> None:
    from ._console import out

    if verdict is None:
        return
    out.print("[bold]last verdict[/bold]")
    out.print(f"{verdict['status']}: {verdict['reason']}", markup=False, highlight=False)
    if older:
        out.print(older, markup=False, highlight=False)
    for corner in verdict["corners"]:
        where = ", ".join(f"{name}={value}" for name, value in corner["setting"].items())
        status = "not refuted" if corner["status"] == "inconclusive" else corner["status"]
        out.print(f"  at {where}: {status}", markup=False, highlight=False)


def _show_beside(heading: str, told: Callable[[dict[str, Any]], str], found: dict[str, Any] | None) -> None:
    """Print a record that the catalogue stores with a verdict, under a heading; print nothing if the record is None."""
    from ._console import out

    if found is not None:
        out.print(f"[bold]{heading}[/bold]", highlight=False)
        out.print(told(found), markup=False, highlight=False)


def _show_places(walk: dict[str, Any] | None) -> None:
    """Print the settings at which `lemmata walk` found a claim refuted or failed."""
    from ._console import out

    for place in walk["where"] if walk is not None else ():
        spelled = ", ".join(f"{name}={value}" for name, value in place["setting"].items())
        out.print(f"  {place['status']} at {spelled}: {place['reason']}", markup=False, highlight=False)


def _records(name: str) -> list[dict[str, Any]]:
    """The catalogue's entries for a name. If there are none, code is run to find claims and make entries from them."""
    from lemmata.engine.catalogue import entries

    from ._searched import names_statement, tagged

    known, name = entries(), tagged(name)
    exact = [name] if name in known else [full for full in known if full.endswith(f".{name}")]
    if len(exact) == 1:
        return [known[exact[0]]]
    found = [row for full, row in known.items() if full.startswith(f"{name}.")] if not exact else []
    found = found or ([row for row in known.values() if names_statement(row, name)] if not exact else [])
    if found:
        return found
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.engine.claims import entry_of, find

    return [entry_of(claim) for claim in find(name)]
