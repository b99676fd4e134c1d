"""The reference has every public name, also those that are loaded when they are first used."""

import types

import pytest

import lemmata
from lemmata.engine.catalogue import rows
from lemmata.interfaces.search import ask_all
from lemmata.interfaces.site import _reference, _search

JOBS = [name for name in dir(lemmata) if name[0] != "_" and not isinstance(getattr(lemmata, name), types.ModuleType)]


@pytest.mark.parametrize("name", JOBS)
def test_what_users_import_from_lemmata_stands_in_the_reference(name):
    (entry,) = [entry for entry in _reference.entries("interfaces.python") if entry.name == name]
    assert name in entry.signature
    assert len(entry.words.split()) > 3
    addresses = _reference.public_addresses()
    assert addresses[f"lemmata.{name}"] == f"reference/interfaces.python.html#{name}"
    assert {f"lemmata.{part}" for part in lemmata._PARTS} <= set(addresses)


def test_the_search_finds_a_name_of_lemmata_itself():
    found = _search.all_shelves(rows())
    shelf, place = ask_all(found, "show_versions")[0]
    item = shelf.items[place]
    assert (shelf.name, item.title) == ("reference", "show_versions")
    assert item.address == "reference/interfaces.python.html#show_versions"
    assert item.about.startswith("lemmata, Print the versions")
    assert JOBS == ["Comparison", "ModelStudy", "Study", "compare", "show_versions", "study", "study_model"]
