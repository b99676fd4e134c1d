"""Where lemmata's own claims are defined, by the texts of their files: a claim is found without loading all others."""

import functools
import importlib.util
import pathlib
import re

from lemmata.engine.catalogue import spelled

ROOT = "lemmata.subjects"
_CLASS = re.compile(r"^class ([A-Z]\w*)\b", re.MULTILINE)


def modules_of(name: str) -> list[str]:
    """The modules that alone can define what a name means; none where only a look at all claims can tell.

    Args:
        name: a claim's full name, the end of it, its class, or a section.

    >>> modules_of("adamw_solves_box"), modules_of("optimisers.decay")
    (['lemmata.subjects.optimisers.decay'], ['lemmata.subjects.optimisers.decay'])
    >>> modules_of("Lemma E.4")
    []
    """
    known = _classes()
    if name in known:
        return [f"{ROOT}.{name}"]
    found = [] if name in {place.partition(".")[0] for place in known} else _meant().get(name, [])
    return [f"{ROOT}.{found[0]}"] if len(found) == 1 else []


@functools.cache
def _meant() -> dict[str, list[str]]:
    """The sections that have a class of that name: its own, that of its claim, and the ends of this one."""
    found: dict[str, list[str]] = {}
    for place, classes in _classes().items():
        subject, section = place.split(".")
        for own in classes:
            last = spelled(own)
            for name in (own, last, f"{section}.{last}", f"{subject}.{section}.{last}"):
                found.setdefault(name, []).append(place)
    return found


@functools.cache
def _classes() -> dict[str, list[str]]:
    """The names of the classes of each section, by subject.section."""
    spec = importlib.util.find_spec(ROOT)
    folders = [] if spec is None else [pathlib.Path(each) for each in spec.submodule_search_locations or ()]
    return {
        f"{path.parent.name}.{path.stem}": _CLASS.findall(path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted(folder.glob("*/[a-z]*.py"))
    }
