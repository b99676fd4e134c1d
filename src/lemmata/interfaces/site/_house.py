"""The page with the map of the code: imports between subpackages, and claims that correct other claims."""

import collections
import functools
from typing import Any

from markupsafe import Markup, escape

from lemmata.engine.catalogue import GROUPS

from ._code import ROOT, imports, module_words
from ._pages import claim_address, page
from ._prose import first_sentence, sentence

_BOX, _GAP, _STEP = (100, 32), 8, 70


def house_page(known: list[dict[str, Any]], addresses: dict[str, str]) -> str:
    """The text of the page.

    Args:
        known: the rows of the catalogue.
        addresses: the addresses of pages by the names that docstrings use.
    """
    below = rooms()
    above = {room: sorted(other for other in below if room in below[other]) for room in below}
    floors = levels(below)
    by_name = {row["name"]: row for row in known}
    pairs = [(by_name[row["corrects"]], row) for row in known if row["corrects"] in by_name]
    table = [
        {
            "name": room, "words": sentence(_about(room)), "below": sorted(below[room]), "above": above[room],
            "files": len(_files(room)), "href": _href(room),
        }
        for room in sorted(below, key=lambda room: (-floors[room], room))
    ]  # fmt: skip
    return page(
        "house.html", "house.html", "house.html", "Contributing",
        about="How to add a claim to lemmata, and which subpackages of the library import which others.",
        picture=_picture(below, floors), rooms=table, subjects=_subjects(known),
        pairs=[({**wrong, "href": claim_address(wrong)}, {**right, "href": claim_address(right)})
               for wrong, right in pairs],
    )  # fmt: skip


def _href(room: str) -> str:
    return "subjects/index.html" if room == "subjects" else f"reference/{room}.html"


def _about(room: str) -> str:
    """The first sentence of a subpackage's docstring."""
    said = first_sentence(room_words(room))
    return said[:1].upper() + said[1:]


def room_words(room: str) -> str:
    """The docstring of a subpackage."""
    path = room.replace(".", "/")
    return module_words(f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py")


def _files(room: str) -> list[Any]:
    path = ROOT / room.replace(".", "/")
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


@functools.cache
def rooms() -> dict[str, frozenset[str]]:
    """The subpackages, and the subpackages that each imports from. All subjects count as one.

    >>> "kernels" in rooms()["subjects"], "subjects" in rooms()["kernels"]
    (True, False)
    """
    names = {path.stem for path in ROOT.iterdir() if _is_room(path) and path.stem not in GROUPS} | {"subjects"}
    for group in GROUPS:
        if group != "subjects":
            names |= {f"{group}.{path.stem}" for path in (ROOT / group).iterdir() if _is_room(path)}
    found = {name: frozenset().union(*(imports(path) for path in _files(name))) for name in names}
    found = {name: {"subjects" if other.startswith("subjects") else other for other in own}
             for name, own in found.items()}  # fmt: skip
    return {name: frozenset((others & names) - {name}) for name, others in found.items()}


@functools.cache
def public_rooms() -> tuple[str, ...]:
    """The subpackages, with each subject by itself, from the lowest layer up."""
    floors = levels(rooms())
    order = sorted(rooms(), key=lambda room: (floors[room], room))
    place = order.index("subjects")
    subjects = sorted(f"subjects.{path.stem}" for path in (ROOT / "subjects").iterdir() if _is_room(path))
    return (*order[:place], *subjects, *order[place + 1 :])


def _is_room(path: Any) -> bool:
    if path.name.startswith("_"):
        return False
    return (path / "__init__.py").is_file() if path.is_dir() else path.suffix == ".py"


def levels(below: dict[str, frozenset[str]]) -> dict[str, int]:
    """The layer of every subpackage.

    The layer is 0 if the subpackage imports no other subpackage. Otherwise it is one above the highest layer that the
    subpackage imports from.
    """
    found: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in found:
            found[room] = 1 + max((level(other) for other in below[room]), default=-1)
        return found[room]

    for room in below:
        level(room)
    return found


def _bearing(below: dict[str, frozenset[str]]) -> set[tuple[str, str]]:
    """The lines to draw: one for each import, unless a path through other subpackages joins the same two."""

    @functools.cache
    def under(room: str) -> frozenset[str]:
        return below[room] | frozenset().union(*(under(other) for other in below[room]))

    pairs = {(room, other) for room in below for other in below[room]}
    return {(room, other) for room, other in pairs if not any(other in under(mid) for mid in below[room] - {other})}


def _picture(below: dict[str, frozenset[str]], floors: dict[str, int]) -> Markup:
    """Draw the layers from the bottom up, subpackages as boxes, and a line from each subpackage to those it needs."""
    width, height = _BOX
    by_floor = collections.defaultdict(list)
    for room in sorted(below):
        by_floor[floors[room]].append(room)
    widest, top = max(len(each) for each in by_floor.values()), max(floors.values())
    across = widest * (width + _GAP)
    place = {}
    for floor, each in by_floor.items():
        left = (across - len(each) * (width + _GAP)) / 2
        for number, room in enumerate(each):
            place[room] = (left + number * (width + _GAP), (top - floor) * _STEP + 6)
    lines = [
        f'<path d="M{place[a][0] + width / 2:.0f} {place[a][1] + height}L{place[b][0] + width / 2:.0f} {place[b][1]}"/>'
        for a, b in sorted(_bearing(below))
    ]
    boxes = [
        f'<a href="{_href(room)}"><rect x="{x:.0f}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        f'<text x="{x + width / 2:.0f}" y="{y + 21}" text-anchor="middle">{escape(room)}</text></a>'
        for room, (x, y) in sorted(place.items())
    ]
    size = f"0 0 {across} {top * _STEP + height + 12}"
    return Markup(
        f'<svg class="house" role="group" aria-label="Subpackages and their imports; the table below says the same" '
        f'width="{across}" viewBox="{size}">{"".join(lines)}{"".join(boxes)}</svg>'
    )


def _subjects(known: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, int]]]]:
    """For each subject, the subpackages that it imports from, and how many of its files import from each."""
    found = []
    for subject in dict.fromkeys(row["subject"] for row in known):
        files = sorted((ROOT / "subjects" / subject).rglob("*.py"))
        used = collections.Counter(room for path in files for room in imports(path) if room != f"subjects.{subject}")
        found.append((subject, used.most_common()))
    return found
