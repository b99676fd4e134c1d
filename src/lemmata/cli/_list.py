"""`lemmata list`: the catalogue of claims, generated from the registry, or a source's statements with their gaps."""

import json
from typing import Annotated

import typer


def list_claims(
    part: Annotated[
        str,
        typer.Argument(help='Only claims whose name or title contains this text, or of a statement: "Theorem 4.2".'),
    ] = "",
    source: Annotated[str, typer.Option(help="The statements of this source in order, with their claims.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the registered claims: name, what it says, where it stands."""
    from lemmata.claims import registry

    from ._console import out, plain

    if source:
        _list_source(source, part, as_json)
        return
    rows = [
        {
            "name": claim.name,
            "title": claim.title,
            "source": str(claim.source),
            "label": claim.label,
            "expected": str(claim.expected),
            "corrects": claim.corrects,
        }
        for claim in registry().values()
        if part.lower() in f"{claim.name} {claim.title}".lower() or claim.source.states(part)
    ]
    if as_json:
        plain(json.dumps(rows, indent=1))
        return
    for row in rows:
        printed = " [red](false as printed)[/red]" if row["expected"] == "refuted" else ""
        out.print(f"[bold]{row['name']}[/bold]{printed}", highlight=False)
        out.print(f"  {row['title']}. {row['source']}; {row['label']}", markup=False, highlight=False)
    out.print(f"{len(rows)} claims. `lemmata show NAME` states one, `lemmata verify NAME` judges it.")


def _list_source(key: str, part: str, as_json: bool) -> None:
    """The source's statements whose number or title contains a text, each with its claims or the reason for none."""
    from lemmata.claims import registry
    from lemmata.sources import judged

    from ._console import out, plain

    rows = [
        {
            "number": row.statement.number,
            "kind": str(row.statement.kind),
            "title": row.statement.title,
            "claims": [claim.name for claim in row.claims],
            "reason": row.reason,
        }
        for row in judged(key, registry().values())
        if part.lower() in f"{row.statement.number} {row.statement.title}".lower()
    ]
    if as_json:
        plain(json.dumps(rows, indent=1))
        return
    for row in rows:
        title = f"  {row['title']}" if row["title"] else ""
        out.print(f"{row['number']}{title}  ({row['kind']})", style="bold", markup=False, highlight=False)
        for name in row["claims"]:
            out.print(f"  {name}", markup=False, highlight=False)
        if row["reason"]:
            out.print(f"  no claim: {row['reason']}", style="yellow", markup=False, highlight=False)
    gaps = sum(not row["claims"] for row in rows)
    out.print(f"{len(rows)} statements, {gaps} without a claim.")
