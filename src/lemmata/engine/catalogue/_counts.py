"""Count the claims by verdict, kind and topic, and the results that a survey announces without listing them."""

from collections import Counter
from typing import Any

from ._classification import FACETS, PROBLEMS
from ._read import catalogue
from ._rows import rows

PRINTED = 114
"""The number of results in the taxonomy by tool of the survey (foundation2025).

The abstract of the survey states this number. The survey does not list the results."""


def counts() -> dict[str, Any]:
    """Count claims by verdict, kind, label and facet, and statements by source.

    `printed` is the number of results that the survey announces without listing them.

    >>> counts()["printed"]
    114
    """
    known = rows()
    sources = catalogue()["sources"]
    judged = {key: {place for row in known if row["key"] == key for place in row["locators"]} for key in sources}
    return {
        "claims": len(known),
        "printed": PRINTED,
        "printed and listed": 0,
        "subjects": len({row["subject"] for row in known}),
        "sections": len({row["place"] for row in known}),
        "works": len({row["key"] for row in known}),
        **{facet: _ordered(Counter(row[facet] or "not classified" for row in known)) for facet in FACETS},
        **{facet: _ordered(Counter(row[facet] for row in known)) for facet in ("status", "kind", "label", "subject")},
        "by tool": _by_tool(known),
        "problem": {number: sum(row["problem"] == number for row in known) for number in PROBLEMS},
        "sources": {
            key: {"statements": len(table), "judged": sum(row["number"] in judged[key] for row in table)}
            for key, table in sources.items()
        },
    }


def _ordered(counter: Counter) -> dict[str, int]:
    return dict(counter.most_common())


def _by_tool(known: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The number of claims with each status, for each tool. Tools that no claim uses are included."""
    found: dict[str, Counter] = {tool: Counter() for tool in FACETS["tool"]}
    for row in known:
        found.setdefault(row["tool"] or "not classified", Counter())[row["status"]] += 1
    return {tool: _ordered(counter) for tool, counter in found.items()}


def told_counts() -> list[str]:
    """The counts as lines of text."""
    found = counts()
    lines = [
        f"{found['claims']} claims in {found['sections']} sections of {found['subjects']} subjects, from "
        f"{found['works']} works.",
        f"The survey announces a taxonomy of {PRINTED} results by mathematical tool, but does not list these results.",
        "",
        f"{'by tool':<24}{'claims':>6}  last verdicts",
    ]
    for tool, statuses in sorted(found["by tool"].items(), key=lambda item: -sum(item[1].values())):
        said = ", ".join(f"{number} {status}" for status, number in statuses.items())
        lines.append(f"{tool:<24}{sum(statuses.values()):>6}  {said}")
    for title, facet in (("by architecture", "architecture"), ("by object", "object"), ("by kind", "kind")):
        lines += ["", f"{title}: " + ", ".join(f"{number} {word}" for word, number in found[facet].items())]
    problems = ", ".join(f"problem {number}: {count}" for number, count in found["problem"].items())
    lines += ["", f"claims that bear on the survey's open problems: {problems}"]
    for key, table in found["sources"].items():
        gaps = table["statements"] - table["judged"]
        lines.append(
            f"{key}: {table['statements']} statements; {table['judged']} have claims, and {gaps} have a reason why "
            "there is no claim"
        )
    return lines
