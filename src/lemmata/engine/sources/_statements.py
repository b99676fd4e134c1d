"""The statements of a source in their order, read from its TOML file, and the claims that test them."""

import dataclasses
import functools
import importlib.resources
import importlib.resources.abc
import tomllib
from collections.abc import Iterable
from typing import Any

from lemmata.engine.claims import Claim, Kind, kind_of, registry, words_of
from lemmata.errors import UnknownNameError

VERDICTS = ("true", "true but loose", "false", "ill-typed", "unverifiable", "contradictory")
"""The possible verdicts on a statement.

A statement that says nothing also counts as "true but loose". "Contradictory" means that another statement of the
source contradicts the statement.
"""

_CALLED = {"figure": "caption", "example": "example"}
"""Words with the kinds that they show. A statement whose number begins with one of them ("Figure 2") is a remark."""

REFERENCES = ("real", "altered", "missing")
"""The possible statuses of a work that a source cites."""


REPRODUCED = ("reproduced", "in part", "not reproduced", "contradicted", "not run")
"""The possible outcomes of an attempt to reproduce a paper's result, at a size that one machine can run."""


@dataclasses.dataclass(frozen=True)
class Statement:
    """A numbered statement of a source, or a named place in its text.

    Args:
        number: the number of the statement, exactly as in the source.
        kind: the kind of the statement.
        title: a name of the statement in lemmata's own words; may be empty.
        reason: the reason why no claim tests the statement; None if a claim tests it.
        says: the statement in lemmata's own words; empty if the claims that test it already have these words.
        verdict: the verdict on the statement, one of `VERDICTS`; None if claims give the verdict.
        because: the reason for this verdict.
    """

    number: str
    kind: Kind
    title: str = ""
    reason: str | None = None
    says: str = ""
    verdict: str | None = None
    because: str = ""


@dataclasses.dataclass(frozen=True)
class Reference:
    """An entry of a source's own bibliography, and whether the cited work exists.

    Args:
        number: the number of the entry in the bibliography.
        cited: authors, year and title as in the source, shortened.
        status: "real" (the work exists as cited), "altered" (a work with other authors, title or year exists), or
            "missing".
        note: the differences between the citation and the work.
    """

    number: int
    cited: str
    status: str
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """An attempt to reproduce an experimental result of a paper, with its size and outcome.

    Args:
        headline: the paper's result, in lemmata's own words.
        ours: lemmata's own measurement of this result.
        size: the data, the sizes of models, and the number of runs.
        verdict: one of `REPRODUCED`.
    """

    headline: str
    ours: str
    size: str
    verdict: str


@dataclasses.dataclass(frozen=True)
class Problem:
    """An open problem that a source names.

    Args:
        number: the number of the problem in the source.
        title: a name in lemmata's own words.
        difficulty: the source's own rating of the difficulty, on a scale up to 10.
        statement: the question in words.
        known: the answer of lemmata's claims, as far as they answer the question.
    """

    number: int
    title: str
    difficulty: int
    statement: str
    known: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """A row of a source's table: a statement, and the claims that test it or the reason why no claim does."""

    statement: Statement
    claims: tuple[Claim, ...]
    reason: str | None


def _folder() -> importlib.resources.abc.Traversable:
    return importlib.resources.files("lemmata.engine.sources")


def sources() -> tuple[str, ...]:
    """BibTeX keys of the sources whose statements are listed.

    >>> "gu2024softmax" in sources()
    True
    """
    return tuple(sorted(file.name[:-5] for file in _folder().iterdir() if file.name.endswith(".toml")))


@functools.cache
def statements(key: str) -> tuple[Statement, ...]:
    """The statements of a source in their order.

    >>> statements("gu2024softmax")[-1].number
    'Theorem G.5'

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(_statement(**entry) for entry in _file(key)["statement"])


@functools.cache
def chapters(key: str) -> tuple[int, ...]:
    """The chapters of a source that are listed; empty if the whole source is listed.

    >>> 17 in chapters("emergence2026"), chapters("gu2024softmax")
    (True, ())

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(_file(key).get("chapters", ()))


@functools.cache
def unstated(key: str) -> tuple[str, ...]:
    """The numbers of places in a source, such as equations, that are not listed as statements.

    >>> unstated("li2025incontext")[0]
    '(5)'

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(_file(key).get("unstated", ()))


@functools.cache
def references(key: str) -> tuple[Reference, ...]:
    """The entries of a source's own bibliography that were looked up; empty if there are none.

    >>> [reference.number for reference in references("foundation2025") if reference.status == "real"]
    [6, 12, 13, 15, 16, 18, 19, 21]

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(Reference(**entry) for entry in _file(key).get("reference", ()))


@functools.cache
def problems(key: str) -> tuple[Problem, ...]:
    """The open problems that a source names.

    >>> [problem.difficulty for problem in problems("foundation2025")]
    [5, 8, 6, 6, 7, 7, 8]

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(Problem(**entry) for entry in _file(key).get("problem", ()))


@functools.cache
def reproductions(key: str) -> tuple[Reproduction, ...]:
    """The attempts to reproduce results of a paper; empty if there were none.

    >>> reproductions("gu2024softmax")
    ()

    Raises:
        UnknownNameError: if the source has no list of statements.
    """
    return tuple(Reproduction(**entry) for entry in _file(key).get("reproduction", ()))


def _file(key: str) -> dict[str, Any]:
    if key not in sources():
        raise UnknownNameError(f"source '{key}'", rule=f"one of {', '.join(sources())}")
    return tomllib.loads(_folder().joinpath(f"{key}.toml").read_text(encoding="utf-8"))


def _statement(number: str, kind: str = "", **said: Any) -> Statement:
    known = Kind(kind) if kind else kind_of(number)
    if known is None and _word(number) in _CALLED:
        known = Kind.REMARK
    if known is None:
        raise ValueError(f"statement {number!r} needs a kind, because its kind does not follow from its number")
    return Statement(number, known, **said)


def _word(number: str) -> str:
    """The first word of a statement's number, in lower case."""
    return number.partition(" ")[0].lower()


def judged(key: str, claims: Iterable[Claim]) -> tuple[Judged, ...]:
    """The statements of a source. Each comes with the given claims that name the statement by its exact number."""
    judges: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.source.key == key:
            for locator in claim.source.locators:
                judges.setdefault(locator, []).append(claim)
    return tuple(
        Judged(statement, tuple(judges.get(statement.number, ())), statement.reason) for statement in statements(key)
    )


def tables() -> dict[str, list[dict[str, str | None]]]:
    """The statements of every source as plain values, for the file of the catalogue."""
    return {
        key: [
            {**dataclasses.asdict(statement), "kind": _CALLED.get(_word(statement.number), str(statement.kind))}
            for statement in statements(key)
        ]
        for key in sources()
    }


def read_words() -> dict[str, Any]:
    """The words of all claims and sources as plain values: the catalogue without its records."""
    own = {name: claim for name, claim in registry().items() if type(claim).__module__.startswith("lemmata.")}
    return {"claims": {name: words_of(claim) for name, claim in own.items()}, "sources": tables()}
