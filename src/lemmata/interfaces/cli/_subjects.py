"""`--subject`: select claims by subject and section, in the same way in every command."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from lemmata.errors import SettingError, UnknownNameError

Subjects = Annotated[
    list[str] | None,
    typer.Option("--subject", metavar="NAME", help="Only claims of this subject or subject.section; repeatable."),
]
"""The subjects and sections that select claims."""


def known_subjects(asked: Sequence[str] | None, names: Iterable[str]) -> tuple[str, ...]:
    """The requested subjects and sections, given by repeated options or in one option with commas.

    >>> known_subjects(["state-space,optimisers.decay"], ["state_space.cells.one", "optimisers.decay.two"])
    ('state_space', 'optimisers.decay')

    Args:
        asked: the values of the option.
        names: the names of the claims to choose from.

    Raises:
        UnknownNameError: if no claim is in this subject or section; the message names the nearest one.
    """
    places = {place: None for name in names for place in _places(name)}
    words = [word.strip().replace("-", "_") for given in asked or () for word in given.split(",")]
    for word in words:
        if word not in places:
            subjects = ", ".join(place for place in places if "." not in place)
            raise unknown("--subject", word, places, f"give one of {subjects}, or a section of one of them")
    return tuple(words)


def is_of(places: Iterable[str], name: str) -> bool:
    """Whether the name of a claim begins with one of the subjects or sections."""
    return any(place in _places(name) for place in places)


def _places(name: str) -> list[str]:
    """The beginnings of a claim's name: its subject, its subject and section, and so on."""
    parts = name.split(".")[:-1]
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def refuse_together(**given: object) -> None:
    """Refuse two options if both are given, but only one of them can be used.

    Args:
        given: the values of two options, by the option's name with underscores; `names` stands for the names of claims.

    Raises:
        SettingError: if both options are given.
    """
    options = ["names of claims" if name == "names" else f"--{name.replace('_', '-')}" for name in given]
    if all(given.values()):
        raise SettingError(
            " with ".join(options), rule=f"either {' or '.join(options)}", remedy="leave one of them out"
        )


def unknown(option: str, word: str, known: Iterable[str], rule: str) -> UnknownNameError:
    """Return the error for a word that no claim has, with the nearest known word."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.4)
    remedy = f"did you mean {near[0]}?" if near else "run `lemmata list` to see the names"
    return UnknownNameError(f"{option} '{word}'", rule=rule, remedy=remedy)
