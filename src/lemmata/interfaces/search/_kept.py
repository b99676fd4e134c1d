"""Keep a shelf (a search index) in the user's cache until one of its texts or a rule of the search changes."""

import contextlib
import hashlib
import importlib.resources
from collections.abc import Sequence

from lemmata.directories import cache_directory
from lemmata.errors import FileError
from lemmata.files import replace_text
from lemmata.stored import sealed, unsealed

from ._shelf import Item, Shelf, shelf


def kept_shelf(name: str, items: Sequence[Item]) -> Shelf:
    """Return the shelf of some items, from the user's cache if the cache has it.

    Args:
        name: the kind of the items.
        items: the items, each with the same fields.
    """
    folder = cache_directory()
    if folder is None:
        return shelf(name, items)
    path, key = folder / f"search-{name}.json", _key(items)
    known = unsealed(path, key)
    if known is not None:
        return Shelf(name, tuple(items), known["postings"])
    found = shelf(name, items)
    with contextlib.suppress(FileError):  # without a cache, the next call makes the shelf again
        replace_text(path, sealed(key, {"postings": found.postings}))
    return found


def _key(items: Sequence[Item]) -> str:
    """A key of the cache that changes if a text, a weight, or a file of the search changes."""
    digest = hashlib.sha256()
    for file in sorted(importlib.resources.files("lemmata.interfaces.search").iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".toml")):
            digest.update(file.read_bytes())
    for item in items:
        digest.update(repr(item.fields).encode())
    return digest.hexdigest()
