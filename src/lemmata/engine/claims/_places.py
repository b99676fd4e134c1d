"""The places at which the claims of a package are defined.

The functions read the texts of the package's files. So one claim can be found without loading all other claims.
"""

import functools
import importlib.util
import pathlib
import re

from lemmata.engine.catalogue import spelled

_CLASS = re.compile(r"^class ([A-Z]\w*)\b", re.MULTILINE)


def place_of(name: str, package: str) -> str | None:
    """The only section that can define a name, as "subject.section"; None if the texts do not determine the section.

    Args:
        name: a claim's full name, the end of this name, the claim's class, or a section.
        package: the package that contains the subjects.
    """
    known = _classes(package)
    if name in known:
        return name
    found = [] if name in {place.partition(".")[0] for place in known} else _meant(package).get(name, [])
    return found[0] if len(found) == 1 else None


@functools.cache
def _meant(package: str) -> dict[str, list[str]]:
    """The sections to which each name can refer.

    A class has several names: its own name, the last part of the claim's name, and longer ends of the claim's name.
    """
    found: dict[str, list[str]] = {}
    for place, classes in _classes(package).items():
        subject, section = place.split(".")
        for own in classes:
            last = spelled(own)
            for name in (own, last, f"{section}.{last}", f"{subject}.{section}.{last}"):
                found.setdefault(name, []).append(place)
    return found


@functools.cache
def _classes(package: str) -> dict[str, list[str]]:
    """The names of the classes of each section, by subject.section."""
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else [pathlib.Path(each) for each in spec.submodule_search_locations or ()]
    return {
        f"{path.parent.name}.{path.stem}": _CLASS.findall(path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted(folder.glob("*/[a-z]*.py"))
    }
