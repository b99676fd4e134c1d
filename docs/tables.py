"""Writes the tables of the pages from the catalogue, no claim is run: python docs/tables.py."""

import ast
import pathlib
import re
from typing import Any

from lemmata.engine.catalogue import FACETS, catalogue, entries, recorded_statuses, write_history
from lemmata.engine.catalogue import PROBLEMS as OPEN
from lemmata.engine.claims import AtLeast, AtMost, Equal, EqualInMean, Limit, Order, Rate, Source, Witness
from lemmata.engine.sources import chapters, problems, references, reproductions, sources, statements
from lemmata.facts import FACTS

FOLDER = pathlib.Path(__file__).parent
PAGES = {"gu2024softmax": "softmax.md", "li2025incontext": "in_context.md"}
TABLE = ("<!-- table: written by docs/tables.py -->", "<!-- end of the table -->")
SURVEY, MONOGRAPH = "foundation2025", "emergence2026"
PICTURES = {
    "2": (
        "approximation",
        "The largest error on [0, 1] against the number of units. The best affine pieces for x² and for a cosine "
        "have an error that falls like the inverse square. The error of the deep network for x² falls "
        "exponentially. Trained shallow networks for x² stay above the best affine pieces",
    ),
    "3": (
        "depth",
        "Left, the relative error of a network of 1,000 units if only k units are kept: chosen greedily, drawn at "
        "random, and the bound. Right, a lower bound on the L1 error of few affine pieces for functions with 4, 8 "
        "and 16 teeth",
    ),
    "4": (
        "tangent",
        "Left, the relative change of the tangent kernel in training against the width for tanh, gelu and ReLU, "
        "with guides of slopes -1 and -1/2. Right, the largest curvature in training: it rises to 2 / step size "
        "and stays there",
    ),
    "6": (
        "implicit",
        "Left, the limits of the squared flow and of plain descent on the line x1 + 2 x2 = 1, against the size of the "
        "start. Right, the margins of three methods of descent, each relative to the largest margin in "
        "its own norm",
    ),
    "9": (
        "high_dimension",
        "Left, the excess risk of the least-norm fit of 60 rows against parameters / rows: exact, in the limit, "
        "and measured. Right, the error on a formula of three terms against the number of examples, for deletion "
        "over clauses, a tree and a network",
    ),
    "10": (
        "boolean",
        "Left, the Fourier weight by degree of majority, a decision tree, a trained network and a parity of four "
        "inputs. Right, how often their answers change if a share of the inputs is flipped",
    ),
    "11": (
        "queries",
        "Left, the eigenvalues of the matrix E y(xx' - I) for a cubic target, from a million draws. With y itself, "
        "all are near 0; with only the largest tenth of |y|, one stands out. Right, the signal of a gradient, averaged "
        "over all parities, falls like 2^(-d/2)",
    ),
}
"""The picture of a chapter, where there is one, and what it shows."""
for _path in sorted(pathlib.Path(__file__).with_name("monograph_pictures").glob("chapter_*.py")):
    _drawn = next(part for part in ast.parse(_path.read_text()).body if getattr(part, "name", "") == "picture")
    PICTURES[_path.stem.split("_")[1]] = (_path.stem, " ".join((ast.get_docstring(_drawn) or "").split()).rstrip("."))
PROBLEMS = ("<!-- problems: written by docs/tables.py -->", "<!-- end of problems -->")
REFERENCES = ("<!-- references: written by docs/tables.py -->", "<!-- end of references -->")
ENTERED = ("<!-- entered: written by docs/tables.py -->", "<!-- end of entered -->")
PAPERS = [key for key in sources() if reproductions(key)]
ABOUT = ("<!-- about: written by docs/tables.py -->", "<!-- end of about -->")
FACTS_TABLE = ("<!-- facts: written by docs/tables.py -->", "<!-- end of facts -->")
RELATIONS = ("<!-- relations: written by docs/tables.py -->", "<!-- end of relations -->")


def number(value: float) -> str:
    """A few digits, and powers of ten where they are shorter."""
    text = f"{value:.3g}"
    found = re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text)
    return f"{found[1]}·10^{int(found[2])}" if found else text


def row(claim: dict[str, Any]) -> str:
    """A line of the table."""
    verdict = claim.get("verdict", {})
    status = verdict.get("status", "not judged")
    middle = (verdict.get("slack") or [None, None])[1]
    plain = (
        middle is not None and middle != 0 and not (claim["relation"].startswith("measured = ") and status == "refuted")
    )
    slack = number(middle) if plain else ""
    vacuous = "" if verdict.get("vacuous") is None else f"{verdict['vacuous']:.0%}"
    said = status if status == "supported" else f"**{status}**"
    correction = f" (corrects `{claim['corrects'].split('.')[-1]}`)" if claim["corrects"] else ""
    reading = f" Reading: {claim['reading'].rstrip('.')}." if claim["reading"] else ""
    what = f"{claim['title']}{correction}.{reading} `{claim['name']}`"
    place = ", ".join(claim["locators"]) or claim["source"]
    return f"| {place} | {what.replace('|', chr(92) + '|')} | {claim['kind']} | {said} | {slack} | {vacuous} |"


def table(key: str) -> str:
    """The source's claims in the order of its statements, then those that no statement is."""
    lines = ["| statement | claim | kind | verdict | slack | vacuous |", "| --- | --- | --- | --- | ---: | ---: |"]
    order = {statement["number"]: place for place, statement in enumerate(catalogue()["sources"][key])}
    claims = [claim for claim in entries().values() if claim["key"] == key]
    place = lambda claim: min((order.get(locator, len(order)) for locator in claim["locators"]), default=len(order))
    lines += [row(claim) for claim in sorted(claims, key=place)]
    gaps = [s for s in catalogue()["sources"][key] if s["reason"]]
    lines += ["", "Statements that no claim judges:", ""]
    lines += [f"* {gap['number']}: {gap['reason']}" for gap in gaps]
    return "\n".join(lines)


def told(key: str) -> str:
    """What each statement of a source says, what came of it, and the claims that say so; by chapters where it is so."""
    claims = [claim for claim in entries().values() if claim["key"] == key]
    lines, last = [], None
    for statement in statements(key):
        judges = [claim for claim in claims if statement.number in claim["locators"]]
        named = [f"`{claim['name']}` {claim.get('verdict', {}).get('status', 'not judged')}" for claim in judges]
        gap = f"No claim: {statement.reason}" if statement.reason else "No claim yet."
        said = "; ".join(named) + "." if named else gap
        chapter = re.split("[ .]", statement.number)[1] if chapters(key) else None
        if chapter != last:
            lines += [*([""] if lines else []), f"## Chapter {chapter}", ""]
            lines += (
                [f"![{PICTURES[chapter][1]}](pictures/{PICTURES[chapter][0]}.svg)", ""] if chapter in PICTURES else []
            )
            last = chapter
        lines.append(
            f"* **{statement.number}** {statement.says} *{str(statement.verdict).capitalize()}*: {statement.because}\\"
        )
        lines.append(f"  {said}")
    return "\n".join(lines)


def entered(key: str) -> str:
    """Which chapters of a source are listed, how many of their statements have claims, and what its references are."""
    claims = [claim for claim in entries().values() if claim["key"] == key]
    known, judged = statements(key), {locator for claim in claims for locator in claim["locators"]}
    *first, last = map(str, chapters(key))
    refuted = sum(claim["expected"] == "refuted" for claim in claims)
    real = sum(reference.status == "real" for reference in references(key))
    return (
        f"The page covers chapters {', '.join(first)} and {last}, in {len(known)} statements: "
        f"{sum(statement.number in judged for statement in known)} have their own claims; for the others, the page "
        "gives the reason why they have no claim. "
        f"{refuted or 'No'} {'claim refutes' if refuted <= 1 else 'claims refute'} words of the text. The other "
        f"chapters are not covered yet. Of the {len(references(key))} references, {real} exist with the stated title "
        "and year; `lemmata map` lists them."
    )


def open_problems() -> str:
    """The survey's open problems, what is known of them here, and the sections that probe them."""
    lines = ["| problem | asks | rated | known here | probe |", "| --- | --- | --- | --- | --- |"]
    for problem in problems(SURVEY):
        probes = [f"`{name}`" for name in entries() if name.startswith("open_problems.")
                  and f"Section 7.{problem.number}" in entries()[name]["locators"]]  # fmt: skip
        cells = (f"{problem.number}. {problem.title}", problem.statement, f"{problem.difficulty}/10", problem.known)
        lines.append(f"| {' | '.join(cells)} | {', '.join(probes)} |")
    return "\n".join(lines)


def bibliography() -> str:
    """The survey's references, and whether there are such works."""
    lines = ["| number | as cited | status | what is different |", "| ---: | --- | --- | --- |"]
    return "\n".join(
        lines
        + [
            f"| {r.number} | {r.cited} | {r.status} | {r.note.replace('|', chr(92) + '|')} |"
            for r in references(SURVEY)
        ]
    )


def relations() -> str:
    """What each relation says, and what decides."""
    examples = {
        "AtMost(delta)": AtMost(0.1), "AtMost()": AtMost(), "AtLeast()": AtLeast(), "Equal()": Equal(),
        "EqualInMean(margin, resolution)": EqualInMean(0.01, 0.05),
        'EqualInMean(..., over="problems")': EqualInMean(0.0, 0.05, over="problems"),
        "Rate(along, rungs, margin, resolution)": Rate("n", (64, 256, 1024)),
        "Rate(..., upper=True)": Rate("n", (64, 256, 1024), upper=True),
        "Limit(along, rungs, margin, resolution)": Limit("n", (64, 256, 1024)),
        "Order(along, rungs)": Order("n", (64, 256, 1024)), "Witness(probability)": Witness(0.9),
    }  # fmt: skip
    lines = ["| relation | says, for example | decision rule |", "|---|---|---|"]
    return "\n".join(lines + [f"| `{name}` | {relation} | {relation.band} |" for name, relation in examples.items()])


def about() -> str:
    """The words with which a section says what it is about."""
    lines = ["| | one of |", "| --- | --- |"]
    lines += [f"| `{facet}` | {', '.join(words)} |" for facet, words in FACETS.items()]
    return "\n".join(
        [*lines, f"| `problem`, if the claim concerns one | {', '.join(map(str, OPEN))}, the survey's open problems |"]
    )


def facts() -> str:
    """What may be known of a trained model: its keyword, what it is, and how the command line is told."""
    lines = ["| in Python | what it is | on the command line |", "|---|---|---|"]
    for name, fact in FACTS.items():
        said = f"{fact.what}; {fact.note}" if fact.note else fact.what
        lines.append(f"| `{name}=` | {said.replace('|', chr(92) + '|')} | `{fact.command}` |")
    return "\n".join(lines)


def reproduced() -> str:
    """What each paper reports, what came of it here, at which size."""
    lines = ["| paper | reports | here | size | verdict |", "| --- | --- | --- | --- | --- |"]
    for key in PAPERS:
        for r in reproductions(key):
            cells = (entries_of(key), r.headline, r.ours, r.size, r.verdict)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def entries_of(key: str) -> str:
    """Whose paper it is, and when."""
    return str(Source(key)).rstrip(", ")


def write(page: str, marks: tuple[str, str], text: str) -> None:
    """Puts a text between its marks."""
    file = FOLDER / page
    before, rest = file.read_text(encoding="utf-8").split(marks[0])
    after = rest.split(marks[1])[1]
    file.write_text(f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_history(recorded_statuses())
    for key, page in PAGES.items():
        write(page, TABLE, table(key))
    write("survey.md", TABLE, told(SURVEY))
    write("survey.md", PROBLEMS, open_problems())
    write("survey.md", REFERENCES, bibliography())
    write("monograph.md", ENTERED, entered(MONOGRAPH))
    write("monograph.md", TABLE, told(MONOGRAPH))
    write("papers.md", TABLE, reproduced())
    for key in PAPERS:
        write("papers.md", (f"<!-- {key}: written by docs/tables.py -->", f"<!-- end of {key} -->"), told(key))
    write("claims.md", RELATIONS, relations())
    write("claims.md", ABOUT, about())
    write("model.md", FACTS_TABLE, facts())
