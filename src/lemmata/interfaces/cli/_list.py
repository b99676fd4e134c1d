"""`lemmata list`: list the claims, or the statements of a source and which of them have no claim."""

import difflib
import json
import re
from collections import Counter
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError, UnknownNameError

from ._subjects import Subjects, is_of, known_subjects

WEAK = "weak"
FIRST = 20
"""The number of claims that are printed if search words are given."""


def list_claims(
    words: Annotated[
        list[str] | None,
        typer.Argument(help='Words to search for, or the number of a statement, such as "Theorem 4.2".'),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="List the statements of this source in order, with their claims.")
    ] = None,
    loose: Annotated[
        bool,
        typer.Option(
            "--loose",
            help="Only claims whose control (a false version to refute) is far from the claim, each with the reason.",
        ),
    ] = False,
    tool: Annotated[str | None, typer.Option(help="Only claims that use this mathematical tool.")] = None,
    architecture: Annotated[str | None, typer.Option(help="Only claims about this architecture.")] = None,
    about: Annotated[str | None, typer.Option("--object", help="Only claims about this object.")] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            help=(
                "Only claims with this last verdict, such as refuted. The word weak selects claims with a slightly "
                "wrong version that the same trials do not refute (`lemmata mutate`)."
            )
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Only claims of this kind: theorem, lemma, ...")] = None,
    subject: Subjects = None,
    runs: Annotated[
        str | None,
        typer.Option(help="Only claims whose trials run this public function, such as solvers.kernel_ridge."),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(
            min=0, help="Number of claims to print if WORDS are given; 0 prints all.", show_default=f"{FIRST}"
        ),
    ] = None,
    unrun: Annotated[bool, typer.Option("--unrun", help="List the public functions that no claim calls.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the registered claims with name, title, source, last verdict and tightness.

    With WORDS, the best match comes first. The search understands synonyms, other spellings and small typing errors.

    Tightness is the largest ratio of measured value to bound that a search found; at 1 the bound is attained. A claim
    is weak if its trials also support a statement that differs by a factor 1.25, or by 0.2 in an exponent.
    """
    from lemmata.engine.catalogue import accusation, all_runs
    from lemmata.engine.catalogue import rows as all_rows

    from ._console import err, out, plain
    from ._searched import searched

    part = " ".join(words or [])
    asked = {"tool": tool, "architecture": architecture, "object": about, "verdict": verdict, "kind": kind}
    given = {**asked, "subject": subject, "runs": runs, "first": first, "loose": loose or None}
    _check_asked(part, source, unrun, given, as_json)
    if source is not None:
        _list_source(source, part, as_json)
        return
    if unrun:
        _list_unrun(as_json)
        return
    known = all_rows()
    places = known_subjects(subject, [row["name"] for row in known])
    wanted = {facet: chosen(facet, word, known) for facet, word in asked.items() if word is not None}
    rows, told = searched(known, part)
    rows = [row for row in rows if runs is None or _runs(row, runs)]
    rows = [row for row in rows if not places or is_of(places, row["name"])]
    rows = [row for row in rows if all(_has(row, facet, word) for facet, word in wanted.items())]
    rows = [row for row in rows if not loose or row["control"]["loose"]]
    if told:
        err.print(told, markup=False, highlight=False)
    if as_json:
        plain(json.dumps([{**row, "runs": all_runs()[row["name"]]} for row in rows], indent=1))
        return
    if wanted.get("verdict") == "refuted":
        rows.sort(key=accusation)
    first = FIRST if first is None else first
    more = rows[first:] if part and first else []
    rows = rows[: len(rows) - len(more)]
    for before, row in zip([None, *rows], rows, strict=False):
        if wanted.get("verdict") == "refuted" and (before is None or accusation(before) != accusation(row)):
            number = sum(accusation(other) == accusation(row) for other in rows)
            out.print(f"{_ACCUSED[accusation(row)]}: {number}", style="bold underline", markup=False)
        out.print(f"[bold]{row['name']}[/bold]  {row['status']}{_weakness(row)}{_tightness(row)}", highlight=False)
        said = f"  control: {row['control']['loose']}" if loose else f"  {row['title']}. {row['source']}; {row['kind']}"
        out.print(said, markup=False, highlight=False)
    for line in counts([*rows, *more]):
        out.print(line, markup=False, highlight=False)
    shown = f"{len(rows)} claim{'s' * (len(rows) != 1)}"
    if more:
        shown = f"The best {shown} of {len(rows) + len(more)}; `--first 0` prints all"
    out.print(f"{shown}. `lemmata show NAME` prints one, `lemmata verify NAME` tests it.", markup=False)


_ACCUSED = (
    "Statements of a source, each with its passage", "Folklore", "Our own observations",
    "Not yet compared with the source's own words",
)  # fmt: skip


def _runs(row: dict[str, Any], function: str) -> bool:
    """Whether a claim runs a public function; raises UnknownNameError if no public function has that name."""
    from lemmata.engine.catalogue import all_runs, public

    known = public()
    if function not in known:
        near = difflib.get_close_matches(function, known, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]}?" if near else None
        raise UnknownNameError(
            f"--runs '{function}'", rule="a public name with its subpackage, such as kernels.gram", remedy=remedy
        )
    return function in all_runs()[row["name"]]


def _list_unrun(as_json: bool) -> None:
    """Print the public functions and classes that no claim runs, by subpackage."""
    from lemmata.engine.catalogue import all_runs, public

    from ._console import out, plain

    run = {name for names in all_runs().values() for name in names}
    left = [name for name in public() if name not in run]
    if as_json:
        plain(json.dumps(left, indent=1))
        return
    places: dict[str, list[str]] = {}
    for name in left:
        places.setdefault(name.partition(".")[0], []).append(name.partition(".")[2])
    for place, names in places.items():
        out.print(f"[bold]{place}[/bold]  {', '.join(names)}", highlight=False)
    out.print(f"{len(left)} of {len(public())} public functions and classes are not run by any claim.", markup=False)


def _tightness(row: dict[str, Any]) -> str:
    """The tightness that a search found (the largest ratio of measured value to bound), or `loose` with this ratio."""
    search = row["search"]
    if search is None or search["refuted"] or search["ratio"] is None:
        return ""
    return f"  {'loose' if row['loose'] else 'tightness'} {search['ratio']:.2g}"


def _weakness(row: dict[str, Any]) -> str:
    return f", {WEAK}" if row["weak"] else ""


def _has(row: dict[str, Any], facet: str, word: str) -> bool:
    """Whether a claim matches the word that was given for an option."""
    return row["weak"] if (facet, word) == ("verdict", WEAK) else _facet(row, facet) == word


def _facet(row: dict[str, Any], facet: str) -> str:
    """The value of a claim for one of the options; for the verdict, this is its status."""
    return row["status" if facet == "verdict" else facet]


def chosen(facet: str, word: str, rows: list[dict[str, Any]]) -> str:
    """Find the known word that was given for an option. Case is ignored, and hyphens may stand for blanks.

    Args:
        facet: the option: "tool", "architecture", "object", "verdict" or "kind".
        word: the word that was given.
        rows: the claims to choose from.

    Raises:
        UnknownNameError: if no claim can have this word; the message lists the known words.
    """
    from lemmata.engine.catalogue import FACETS, NOT_JUDGED

    from ._verdicts import EXIT

    words = FACETS.get(facet) or ((*EXIT, NOT_JUDGED, WEAK) if facet == "verdict" else ())
    known = {_plain(each): each for each in words or dict.fromkeys(_facet(row, facet) for row in rows)}
    if _plain(word) in known:
        return known[_plain(word)]
    near = difflib.get_close_matches(_plain(word), known, n=1, cutoff=0.5)
    remedy = f"did you mean {known[near[0]]}?" if near else None
    raise UnknownNameError(f"--{facet} '{word}'", rule=f"one of {', '.join(known.values())}", remedy=remedy)


def _plain(word: str) -> str:
    return " ".join(re.sub(r"[-_]", " ", word).lower().split())


def _check_asked(part: str, source: str | None, unrun: bool, given: dict[str, Any], as_json: bool) -> None:
    """Refuse options that would be ignored, and options whose word is empty."""
    chosen = [f"--{option}" for option, value in given.items() if value is not None and value != []]
    own = "--unrun" if unrun else "--source"
    others = [*(["--source"] if unrun and source is not None else []), *(["words"] if unrun and part else []), *chosen]
    if (unrun or source is not None) and others:
        what = "the public functions that no claim calls" if unrun else "the statements of a source"
        raise SettingError(
            f"{own} with {', '.join(others)}",
            rule=f"{own} lists {what}; the other options cannot select among them",
            remedy=f"use {own} alone, or leave {own} out",
        )
    for option, value in {"source": source, **given}.items():
        if value == "":
            raise SettingError(f"--{option}", found="an empty word", rule="a word that selects claims",
                               remedy=f"give a word, or leave --{option} out")  # fmt: skip
    if given["first"] is not None and (as_json or not part):
        raise SettingError(
            f"--first {'with --json' if as_json else 'without words'}",
            rule="--first limits only the printed list of best matches for WORDS; every other list is complete",
            remedy="leave --first out" + ("" if as_json else ", or add words"),
        )


def counts(rows: list[dict[str, Any]]) -> list[str]:
    """One line for each status, with the number of claims of each kind that have this status."""
    found: dict[str, Counter] = {}
    for row in rows:
        found.setdefault(row["status"], Counter())[row["kind"]] += 1
    return [
        f"{status}: {', '.join(f'{number} {kind}' for kind, number in kinds.most_common())}"
        for status, kinds in found.items()
    ]


def _list_source(key: str, part: str, as_json: bool) -> None:
    """List a source's statements whose number or title contains `part`, each with its claims or why it has none."""
    from lemmata.engine.catalogue import catalogue, entries

    from ._console import out, plain
    from ._searched import nothing

    known = catalogue()["sources"]
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.3)
        remedy = f"did you mean {near[0]}?" if near else None
        raise UnknownNameError(f"source '{key}'", rule=f"one of {', '.join(known)}", remedy=remedy)
    claims = [row for row in entries().values() if row["key"] == key]
    rows = [
        {**row, "claims": [claim["name"] for claim in claims if row["number"] in claim["locators"]]}
        for row in known[key]
        if part.lower() in f"{row['number']} {row['title']}".lower()
    ]
    if part and not rows:
        words = [row["number"] for row in known[key]]
        raise nothing(part, words, "part of the number or title of a statement of the source")
    if as_json:
        plain(json.dumps(rows, indent=1))
        return
    for row in rows:
        title = f"  {row['title']}" if row["title"] else ""
        out.print(f"{row['number']}{title}  ({row['kind']})", style="bold", markup=False, highlight=False)
        if row["verdict"]:
            out.print(f"  says: {row['says']}", markup=False, highlight=False)
            out.print(f"  {row['verdict']}: {row['because']}", markup=False, highlight=False)
        for name in row["claims"]:
            status = entries()[name].get("verdict", {}).get("status", "not judged")
            out.print(f"  {status:<12} {name}", markup=False, highlight=False)
        if row["reason"]:
            out.print(f"  no claim: {row['reason']}", style="yellow", markup=False, highlight=False)
    gaps = sum(not row["claims"] for row in rows)
    out.print(f"{len(rows)} statements of the source, {gaps} without a claim that tests them.", markup=False)
