"""The statements of a source in their order, from its TOML file, beside the claims that judge them."""

import dataclasses
import functools
import importlib.resources
import importlib.resources.abc
import tomllib
from collections.abc import Iterable

from lemmata.claims import Claim, Kind, kind_of
from lemmata.errors import UnknownNameError


@dataclasses.dataclass(frozen=True)
class Statement:
    """A numbered statement of a source, or a named place in its text.

    Args:
        number: its number, exactly as the source has it.
        kind: what it is.
        title: a name in lemmata's own words; may be empty.
        reason: why no claim judges it; None where one does.
    """

    number: str
    kind: Kind
    title: str = ""
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class Judged:
    """A row of a source's table: a statement, and either the claims that judge it or the reason why none does."""

    statement: Statement
    claims: tuple[Claim, ...]
    reason: str | None


def _folder() -> importlib.resources.abc.Traversable:
    return importlib.resources.files("lemmata.sources")


def sources() -> tuple[str, ...]:
    """BibTeX keys of the sources whose statements are listed.

    >>> sources()
    ('gu2024softmax', 'li2025incontext')
    """
    return tuple(sorted(file.name[:-5] for file in _folder().iterdir() if file.name.endswith(".toml")))


@functools.cache
def statements(key: str) -> tuple[Statement, ...]:
    """The statements of a source in their order.

    >>> statements("gu2024softmax")[-1].number
    'Theorem G.5'

    Raises:
        UnknownNameError: the source has no list of statements.
    """
    if key not in sources():
        raise UnknownNameError(f"source '{key}'", rule=f"one of {', '.join(sources())}")
    table = tomllib.loads(_folder().joinpath(f"{key}.toml").read_text(encoding="utf-8"))
    return tuple(_statement(**entry) for entry in table["statement"])


def _statement(number: str, kind: str = "", title: str = "", reason: str | None = None) -> Statement:
    known = Kind(kind) if kind else kind_of(number)
    if known is None:
        raise ValueError(f"statement {number!r} needs a kind: its number does not tell one")
    return Statement(number, known, title, reason)


def judged(key: str, claims: Iterable[Claim]) -> tuple[Judged, ...]:
    """The statements of a source, each with the claims among those given that name it by its exact locator."""
    judges: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.source.key == key:
            for locator in claim.source.locators:
                judges.setdefault(locator, []).append(claim)
    return tuple(
        Judged(statement, tuple(judges.get(statement.number, ())), statement.reason) for statement in statements(key)
    )


def tables() -> dict[str, list[dict[str, str | None]]]:
    """The statements of every source as plain values, for the catalogue's file."""
    return {
        key: [{**dataclasses.asdict(statement), "kind": str(statement.kind)} for statement in statements(key)]
        for key in sources()
    }
