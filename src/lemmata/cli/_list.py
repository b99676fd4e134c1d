"""`lemmata list`: the catalogue of claims, generated from the registry."""

import json
from typing import Annotated

import typer


def list_claims(
    part: Annotated[str, typer.Argument(help="Only claims whose name or title contains this text.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the registered claims: name, what it says, where it stands."""
    from lemmata.claims import registry

    from ._console import out, plain

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
        if part.lower() in f"{claim.name} {claim.title}".lower()
    ]
    if as_json:
        plain(json.dumps(rows, indent=1))
        return
    for row in rows:
        printed = " [red](false as printed)[/red]" if row["expected"] == "refuted" else ""
        out.print(f"[bold]{row['name']}[/bold]{printed}", highlight=False)
        out.print(f"  {row['title']}. {row['source']}; {row['label']}", markup=False, highlight=False)
    out.print(f"{len(rows)} claims. `lemmata show NAME` states one, `lemmata verify NAME` judges it.")
