"""Every section of the catalogue is classified in known words, and claims keep the tags that they were given."""

import json
import sys

import pytest

from lemmata.engine.catalogue import (
    FACETS,
    TIGHTNESS,
    about,
    classification,
    counts,
    described,
    entries,
    extended,
    misclassified,
    rows,
    tag_of,
    tags,
    tightness,
)
from lemmata.engine.catalogue import _tags as room
from lemmata.engine.claims import check_writing, registry
from lemmata.errors import ClaimError

SECTIONS = {claim.name.rpartition(".")[0]: type(claim).__module__ for claim in registry().values()}


@pytest.mark.parametrize("place", SECTIONS)
def test_every_section_says_in_known_words_what_it_is_about(place):
    told = about(SECTIONS[place])
    assert set(FACETS) <= set(told)
    assert misclassified(told) == ""
    tables = {name: own for name, own in told.items() if isinstance(own, dict)}
    there = {type(claim).__name__ for name, claim in registry().items() if name.startswith(f"{place}.")}
    assert set(tables) <= there, "a table within a section's is that of one of its claims"
    assert all(any(told.get(key) != word for key, word in own.items()) for own in tables.values())


def test_what_differs_in_one_claim_stands_in_its_own_table():
    found = {entry["class"]: entry for entry in entries().values()}
    assert found["ConvolutionWidth"]["architecture"] == "convolution"
    assert found["StateSpaceWidth"]["architecture"] == "state-space model"
    assert found["StateSpaceWidth"]["tool"] == "concentration"
    assert classification({}, "Mine") == {"tool": "", "architecture": "", "object": "", "problem": None}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"tool": "magic", "architecture": "any", "object": "score"}, "tool 'magic'; known are reproducing kernels"),
        ({"tool": "statistics", "architecture": "any"}, "no object"),
        ({"tool": "statistics", "architecture": "any", "object": "score", "problem": 8}, "problem 8; known are 1, 2"),
        ({"tool": "statistics", "architecture": "any", "object": "score", "who": "I"}, "known are tool, architecture"),
        ({"tool": "statistics", "architecture": "any", "object": "score", "A": {"object": "luck"}}, "object 'luck'"),
    ],
)
def test_other_words_are_refused_and_the_known_ones_named(told, said, monkeypatch):
    claim = next(iter(registry().values()))
    check_writing(claim)
    assert said in misclassified(told)
    monkeypatch.setattr(sys.modules[type(claim).__module__], "ABOUT", told)
    with pytest.raises(ClaimError, match="ABOUT that uses known words"):
        check_writing(claim)


def test_every_claim_of_the_catalogue_has_a_tag_of_its_own():
    given = tags()
    assert list(given) == [f"{number:04d}" for number in range(1, len(given) + 1)], "in order, none left out"
    assert len(set(given.values())) == len(given)
    assert {entry["class"] for entry in entries().values()} <= set(given.values())
    assert all(tag_of(name) == tag for tag, name in given.items())


def test_the_first_tags_are_those_that_were_given():
    known = {
        "0001": "LinearAsPrinted",
        "0100": "UniformDeviation",
        "0312": "ReluTangentWidth",
        "0325": "RandomFeaturesVariance",
    }
    assert {tag: tags()[tag] for tag in known} == known


def test_a_tag_is_given_once_and_kept_when_its_claim_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "FILE", tmp_path / "tags.json")
    room.tags.cache_clear()
    try:
        room.give_tags(["A", "B", "B"])
        assert room.tags() == {"0001": "A", "0002": "B"}
        room.give_tags(["C", "B"])
        assert room.tags() == {"0001": "A", "0002": "B", "0003": "C"}
        assert json.loads(room.FILE.read_text()) == room.tags()
    finally:
        room.tags.cache_clear()
        room._by_name.cache_clear()
    assert extended({"0009": "Gone"}, ["New"]) == {"0009": "Gone", "0010": "New"}


def test_a_claim_that_moves_keeps_its_tag():
    entry = next(iter(entries().values()))
    assert described(entry)["tag"] == tag_of(entry["class"])
    assert tag_of("LinearAsPrinted") == "0001"


def test_a_claim_that_is_not_in_the_catalogue_is_described_all_the_same():
    entry = {key: value for key, value in next(iter(entries().values())).items() if key != "verdict"}
    found = described({**entry, "name": "subject.section.own_claim", "class": "OwnClaim"})
    assert (found["subject"], found["place"], found["tag"]) == ("subject", "subject.section", None)
    assert (found["status"], found["tightness"]) == ("not judged", "not a ratio")
    assert (found["search"], found["walk"], found["mutations"]) == (None, None, None)
    assert (found["loose"], found["weak"]) == (False, False)
    alone = described({**entry, "name": "own_claim"})
    assert (alone["subject"], alone["place"]) == ("", "")


@pytest.mark.parametrize(
    ("slack", "label", "word"),
    [
        ([1, 1, 1], "identity", "exact"), ([0, 0.6, 1], "upper", "within 2"), ([1, 9.0, 10], "upper", "within 10"),
        ([1, 2e-3, 1], "lower", "within 1000"), ([1, 1e9, 1], "upper", "beyond 1000"), (None, "upper", "not a ratio"),
        ([1, 3, 4], "rate", "not a ratio"), ([-1, -1, 1], "upper", "not a ratio"),
    ],
)  # fmt: skip
def test_tightness_is_the_factor_of_the_median(slack, label, word):
    assert tightness({"label": label, "verdict": {"slack": slack}}) == word
    assert word in TIGHTNESS


def test_the_counts_are_those_of_the_rows():
    found, known = counts(), rows()
    assert found["claims"] == len(known) == sum(found["status"].values()) == sum(found["tool"].values())
    assert sum(sum(each.values()) for each in found["by tool"].values()) == len(known)
    assert found["printed"] == 114
