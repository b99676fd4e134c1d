"""The open problems of a source: the question, what is known, the claims that test a part of it, and pictures."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from lemmata.engine.sources import Problem, problems, sources
from lemmata.interfaces.report import number

from ._code import module_words, section_file
from ._pages import claim_address, subject_address
from ._pictures import STEPS, Panel, panels, supported_where, svg, words
from ._prose import first_sentence, sentence

_PROBES = "open_problems"
"""The subject whose sections are about open problems."""


@dataclasses.dataclass(frozen=True)
class Probe:
    """A claim that tests a part of an open problem (a probe), with its last verdict.

    Args:
        row: the claim's row of the catalogue, with its address.
        picture: predicted / measured, with the band of support and the control; empty if none is stored.
        numbers: the numbers in the picture, by name.
    """

    row: dict[str, Any]
    picture: Markup
    numbers: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Entry:
    """An open problem, and the claims of lemmata about it.

    Args:
        problem: the question, and what is known.
        sections: the name, the address and the first words of each section of its probe.
        probes: the claims of these sections.
        others: rows of other claims about the problem.
    """

    problem: Problem
    sections: tuple[tuple[str, str, Markup], ...]
    probes: tuple[Probe, ...]
    others: tuple[dict[str, Any], ...]

    @property
    def claims(self) -> int:
        """The number of claims about the problem."""
        return len(self.probes) + len(self.others)


def entries_of(key: str, known: list[dict[str, Any]], link: Callable[[str], str | None]) -> list[Entry]:
    """The open problems of a source in their order. Empty if its file lists none.

    Args:
        key: the key of the source.
        known: the rows of the catalogue.
        link: a function from a name in a docstring to its address.
    """
    if key not in sources():
        return []
    return [
        _entry(problem, [row for row in known if row["problem"] == problem.number], link) for problem in problems(key)
    ]


def _entry(problem: Problem, bearing: list[dict[str, Any]], link: Callable[[str], str | None]) -> Entry:
    rows = [{**row, "href": f"../{claim_address(row)}"} for row in bearing]
    probing = [row for row in rows if row["subject"] == _PROBES]
    places = {row["place"]: f"../{subject_address(row)}" for row in probing}
    return Entry(
        problem,
        tuple((place, address, _said(place, link)) for place, address in places.items()),
        tuple(_probe(row) for row in probing),
        tuple(row for row in rows if row["subject"] != _PROBES),
    )


def _said(place: str, link: Callable[[str], str | None]) -> Markup:
    """The first words of a section, without the number of the problem."""
    words = re.sub(r"^(Problem \d+|\w+ problem): ", "", first_sentence(module_words(section_file(place))))
    return sentence(words[:1].upper() + words[1:], link)


def _probe(row: dict[str, Any]) -> Probe:
    """A probe with its first panel, which shows the prediction. The claim's own page also shows shares of trials."""
    shown = panels(row)[:1]
    picture = Markup(svg(shown, f"{row['title']}. {words(shown)}")) if shown else Markup("")
    return Probe(row, picture, _numbers(shown[0], row["verdict"]) if shown else ())


def _numbers(panel: Panel, verdict: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    low, middle, high = (number(value) for value in panel.claim)
    at = " or ".join(number(value) for value in panel.control)
    told = number(panel.stated) if panel.title != STEPS else f"a sign: above {number(panel.stated)}"
    stated = () if panel.stated is None else (("Predicted", told),)
    return (
        ("Quantity", panel.title),
        *stated,
        ("Measured", f"{middle}, from {low} to {high}"),
        ("Supported", supported_where(panel.band)),
        ("Control", ", ".join(filter(None, [f"at {at}" if at else "", verdict["control"]["status"]]))),
    )
