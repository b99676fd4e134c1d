"""Permanent addresses of claims: short tags in increasing order. A tag is never given to a second claim."""

import functools
import json
import pathlib
from collections.abc import Iterable

from lemmata.files import replace_text

FILE = pathlib.Path(__file__).with_name("tags.json")


@functools.cache
def tags() -> dict[str, str]:
    """The names of claims' classes by tag, in the order in which the tags were given.

    Class names are unique in the whole catalogue, so a claim keeps its tag when its file moves. The tag of a deleted
    claim stays with its name.

    >>> len(tags()["0001"]) > 0
    True
    """
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def tag_of(claim: str) -> str | None:
    """The tag of a claim, by the name of the claim's class; None if the claim has no tag yet."""
    return _by_name().get(claim)


@functools.cache
def _by_name() -> dict[str, str]:
    return {name: tag for tag, name in tags().items()}


def extended(known: dict[str, str], claims: Iterable[str]) -> dict[str, str]:
    """The known tags, and the next free tags for those of the given claims that have no tag.

    >>> extended({"0001": "Old", "0007": "Gone"}, ["New", "Old"])
    {'0001': 'Old', '0007': 'Gone', '0008': 'New'}
    """
    found, named = dict(known), set(known.values())
    last = max((int(tag) for tag in known), default=0)
    for claim in dict.fromkeys(claims):
        if claim not in named:
            last += 1
            found[f"{last:04d}"] = claim
    return found


def give_tags(claims: Iterable[str]) -> None:
    """Write tags for the claims that have no tag yet.

    Args:
        claims: names of claims' classes, in the order in which the claims get tags.

    Raises:
        DataError: if the file cannot be written; it is not changed.
    """
    found = extended(tags(), claims)
    if found != tags():
        replace_text(FILE, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        tags.cache_clear()
        _by_name.cache_clear()
