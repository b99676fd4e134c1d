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
    from rich.table import Table

    table = Table("claim", "title", "source", "label", box=None, header_style="bold")
    for row in rows:
        printed = " (as printed: false)" if row["expected"] == "refuted" else ""
        table.add_row(row["name"], row["title"] + printed, row["source"], row["label"])
    out.print(table)
    out.print(f"{len(rows)} claims. `lemmata show NAME` states one, `lemmata verify NAME` judges it.")
