"""What the site's search has items for: each public name that people call, each subject, each work, at its address."""

import importlib.util

import pytest

from lemmata.interfaces.site import _search
from lemmata.interfaces.site._pages import source_address
from lemmata.interfaces.site._reference import entries, shelves

HOUSE = ("interfaces.cli", "interfaces.search", "interfaces.site")
"""The commands, which have a help text, and the builder of the site: nobody calls their names."""
CALLED = ("intervals", "spectra", "kernels")
ROWS = [
    {"subject": subject, "key": key, "reference": f"{key} (a journal)", "title": f"Claim {number}"}
    for number, (subject, key) in enumerate(
        [("wide", "neal1996"), ("wide", "du2019"), ("diffusion", "song2021"), ("wide", "neal1996"),
         ("diffusion", "neal1996")]
    )
]  # fmt: skip


def test_the_names_that_people_call_are_found_each_at_its_place(monkeypatch):
    assert all(importlib.util.find_spec(f"lemmata.{room}") for room in (*HOUSE, *CALLED))
    monkeypatch.setattr(_search, "public_rooms", lambda: (CALLED[0], *HOUSE, *CALLED[1:]))
    found = _search._names()
    wanted = [(room, own.name) for room in CALLED for own in entries(room)]
    assert [(item.group, item.title) for item in found] == wanted
    place = {(room, own.name): address for room in CALLED for address, part in shelves(room) for own in part}
    assert [item.address for item in found] == [f"{place[item.group, item.title]}#{item.title}" for item in found]
    for item in found:
        assert item.about.startswith(f"lemmata.{item.group}")
        assert item.fields[0][1].startswith(item.title)
        assert item.fields[0][0] > item.fields[1][0] > item.fields[2][0] > 0, "a name counts more than its words"
    (own,) = [item for item in found if item.name == "ref:effective_dimension"]
    assert own.fields[0][1] == "effective_dimension effective dimension"


@pytest.mark.parametrize(
    ("items", "column", "numbers", "address"),
    [
        (_search._subjects, "subject", {"wide": 3, "diffusion": 2}, "subjects/{}.html".format),
        (_search._works, "key", {"neal1996": 3, "du2019": 1, "song2021": 1}, source_address),
    ],
)
def test_subjects_and_works_are_found_with_the_number_of_their_claims(items, column, numbers, address, monkeypatch):
    monkeypatch.setattr(_search, "title_of", lambda row: f"The work {row['key']}")
    found = items(ROWS)
    assert [item.name.partition(":")[2] for item in found] == list(numbers)
    assert [item.address for item in found] == [address(name) for name in numbers]
    assert [item.about.rpartition(", ")[2] for item in found] == [f"{number} claims" for number in numbers.values()]
    if column == "key":
        assert [item.title for item in found] == [f"The work {key}" for key in numbers]
        assert [item.about.split(", ")[:2] for item in found] == [["source", key] for key in numbers]
        assert found[0].fields[2][1] == "Claim 0 Claim 3 Claim 4"
