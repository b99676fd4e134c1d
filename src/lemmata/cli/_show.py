"""`lemmata show`: one claim, stated in full."""

import json
from typing import Annotated

import typer


def show(
    claim: Annotated[str, typer.Argument(help="Name of a claim, the end of its name, or FILE.py[:claim].")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a claim: statement, source, relation, settings, control, what it controls and leaves open."""
    from lemmata.claims import find

    from ._console import out, plain

    records = [_record(found) for found in find(claim)]
    if as_json:
        plain(json.dumps(records[0] if len(records) == 1 else records, indent=1))
        return
    for record in records:
        out.rule(record["name"], align="left")
        for title in (
            "title",
            "statement",
            "source",
            "reference",
            "relation",
            "label",
            "controls",
            "unexplained",
            "expected",
            "corrects",
            "control",
            "trials",
        ):
            if record[title] is not None:
                out.print(f"[bold]{title}[/bold]")
                out.print(str(record[title]), markup=False, highlight=False)
        out.print("[bold]settings[/bold] (change with --set name=value)")
        for name, setting in record["settings"].items():
            region = (
                " | ".join(setting["options"]) if "options" in setting else f"{setting['low']} .. {setting['high']}"
            )
            out.print(
                f"  {name} = {setting['default']}  ({region})  {setting['meaning']}", markup=False, highlight=False
            )


def _record(claim) -> dict:
    import dataclasses

    return {
        "name": claim.name,
        "title": claim.title,
        "statement": claim.statement,
        "source": str(claim.source),
        "reference": claim.source.text,
        "relation": str(claim.relation),
        "label": claim.label,
        "controls": claim.controls,
        "unexplained": claim.unexplained,
        "expected": str(claim.expected),
        "corrects": claim.corrects,
        "control": claim.control().statement,
        "trials": claim.trials,
        "settings": {name: dataclasses.asdict(variable) for name, variable in claim.settings().variables.items()},
    }
