"""One page for each claim: the statement, its last verification, its sources, and its code."""

import re
from typing import Any

from lemmata.engine.catalogue import all_runs, history, older_by_kept, told_mutations, told_search, told_walk
from lemmata.interfaces.report import number
from lemmata.version import __version__

from ._code import claim_of, hypotheses_of, module_words, population_of, section_file
from ._pages import claim_address, page, source_address, subject_address
from ._pictures import panels, svg, words
from ._prose import code, docstring, first_sentence, sentence, statement
from ._published import Published
from ._works import work


def claim_page(
    row: dict[str, Any], known: dict[str, dict[str, Any]], addresses: dict[str, str], where: Published
) -> str:
    """The page of a claim.

    Args:
        row: the claim's row of the catalogue.
        known: all rows of the catalogue, by the claim's name.
        addresses: the addresses of pages by the names that docstrings use.
        where: the addresses of the published site and of its code.
    """
    found = panels(row)
    said = words(found)
    link = lambda name: _below(addresses.get(name))
    population = population_of(row["place"], row["population"])
    own = claim_of(row["place"], row["class"])
    return page(
        "claim.html", claim_address(row), "claims.html", row["title"],
        about=f"{row['status'].capitalize()}: {row['statement']}",
        row=row,
        statement=statement(row["statement"], link),
        picture=svg(found, said) if found else "",
        either=any(panel.either for panel in found), drawn=any(panel.control for panel in found),
        verdict=row.get("verdict"), changes=history().get(row["class"], ()), older=older_by_kept(row),
        links=_links(row, known),
        facts=_facts(row),
        facets=[(name, row[name]) for name in ("tool", "architecture", "object") if row[name]],
        corners=_corners(row),
        population="" if population is None else docstring(population.words, link),
        laws=row["laws"],
        settings=[(name, *_region(setting)) for name, setting in row["settings"].items()],
        hypotheses=hypotheses_of(row["place"], row["class"], row["population"]),
        section=first_sentence(module_words(section_file(row["place"])) or row["section"]),
        said=lambda text: sentence(text, link),
        code="" if own is None else code(own.code),
        file=None if own is None else own.file,
        code_address="" if own is None else where.code(own.file, own.node.lineno),
        work=work(row["key"]),
        cited=cited(row, where),
        runs=[(name, _below(_place(name, addresses))) for name in all_runs().get(row["name"], ())],
    )  # fmt: skip


def _place(name: str, addresses: dict[str, str]) -> str | None:
    """The address of a public name with its subpackage, "solvers.kernel_ridge" or "attention.routed"."""
    return addresses.get(f"lemmata.{name}") or addresses.get(f"lemmata.subjects.{name}")


def cited(row: dict[str, Any], where: Published) -> str:
    """The BibTeX entry of a claim, with the version, the claim's number, and its last verdict and year.

    Args:
        row: the claim's row of the catalogue.
        where: the addresses of the published site and of its code.
    """
    facts = {
        "title": f"{{{row['title']}}}", "author": "{The lemmata developers}",
        "howpublished": f"lemmata {__version__}, claim {row['tag'] or row['name']}",
        "note": f"{row['name']}; after {row['source']}; last verdict: {row['status']}",
    }  # fmt: skip
    changes = history().get(row["class"])
    if changes:  # the year in which the last verdict was first found
        facts["year"] = changes[-1].day[:4]
    if where.base:
        facts["url"] = f"{where.base}/{claim_address(row)}"
    lines = "".join(f"  {name} = {{{_latex(text)}}},\n" for name, text in facts.items())
    return f"@misc{{lemmata-{row['tag'] or row['class']},\n{lines}}}"


def _latex(text: str) -> str:
    """The text with the special signs of BibTeX and LaTeX escaped."""
    return re.sub(
        r"[#$%&_^~\\]", lambda sign: {"\\": "", "^": r"\^{}", "~": r"\~{}"}.get(sign[0], "\\" + sign[0]), text
    )


def _below(address: str | None) -> str | None:
    return None if address is None else f"../{address}"


def _links(row: dict[str, Any], known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The links of the page: source, subject, the claim that this claim corrects, and claims that correct it."""
    corrected = known.get(row["corrects"] or "")
    name = row["name"]
    by = [other for other in known.values() if other["corrects"] and other["corrects"] == name]
    return {
        "source": f"../{source_address(row['key'])}",
        "subject": f"../subjects/{row['subject']}.html",
        "section": f"../{subject_address(row)}",
        "corrects": None if corrected is None else _named(corrected),
        "corrected": [_named(other) for other in by],
    }


def _named(row: dict[str, Any]) -> dict[str, str]:
    return {"href": f"../{claim_address(row)}", "title": row["title"], "status": row["status"]}


def _facts(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Further facts about the claim from the catalogue, each with its heading, in the order of the page."""
    control = row["control"]
    told = [
        ("How prediction and measurement compare", _compared(row["relation"])),
        ("What decides", row["band"]),
        ("Tightness, by a search for counterexamples", told_search(row["search"])),
        ("Tests at the ends of the settings' declared ranges", told_walk(row["walk"])),
        ("Tests of slightly wrong versions, on the same trials", told_mutations(row["mutations"])),
        ("The control, a false version that must be refuted", control["statement"]),
        ("Why there is no nearer control", control["loose"]),
        ("How the source was read", row["reading"]),
        *_accusation(row),
        ("What it predicts or bounds", row["controls"]),
        ("What it leaves open", row["unexplained"]),
        ("What is known without the claim", row["trivial"]),
    ]
    return [(title, text) for title, text in told if text]


def _accusation(row: dict[str, Any]) -> list[tuple[str, str]]:
    """The source's words that the claim refutes, with their place and readings, and when they would be true."""
    passage, readings = row["passage"], row["readings"]
    told = [("Readings", "; ".join(f"{own['words']}: {own['verdict']}" for own in readings))]
    if passage is None:
        return told
    place = f"{passage['file']}, characters {passage['first']} to {passage['after']}"
    return [
        ("Place of the words", place), ("The words say", passage["says"]), ("As printed", passage["formula"]),
        *told, ("The words would be right if", passage["right_if"]),
    ]  # fmt: skip


def _compared(relation: str) -> str:
    """The relation with the letter p for the predicted exponent, so that the exponent is typeset as one letter.

    >>> _compared("measured <= C 2^L^predicted along 2^L = 4, 8")
    'measured <= C (2^L)^p, p predicted, along 2^L = 4, 8'
    """
    found = re.match(r"(.* C )(\S+)\^predicted (along .*)", relation)
    if not found:
        return relation
    base = f"({found[2]})" if "^" in found[2] else found[2]
    return f"{found[1]}{base}^p, p predicted, {found[3]}"


def _corners(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The extra settings that were tested: their values, the result, and the median of predicted / measured."""
    found = []
    for corner in (row.get("verdict") or {}).get("corners", []):
        where = ", ".join(f"{name} = {value}" for name, value in corner["setting"].items())
        status = "not refuted" if corner["status"] == "inconclusive" else corner["status"]
        found.append((where, status, number(corner["slack"])))
    return found


def _region(setting: dict[str, Any]) -> tuple[str, str, str]:
    """The default, the declared range and the meaning of a setting of the claim."""
    options = setting.get("options")
    region = ", ".join(options) if options else f"{setting['low']} to {setting['high']}"
    return str(setting["default"]), region, setting["meaning"]


def withdrawn_page(tag: str, name: str) -> str:
    """The page at the address of a claim that was deleted, which says so.

    Args:
        tag: the claim's tag, the fixed number in its address.
        name: the name of its former class.
    """
    return page("withdrawn.html", f"claims/{tag}.html", "claims.html", f"Tag {tag}", tag=tag, name=name)
