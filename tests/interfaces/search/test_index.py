"""A search index in its parts: levels, rarity, slips of typing, corrections and the order of what is found."""

import itertools
import math

import pytest

from lemmata.interfaces.search import Item, ask, shelf
from lemmata.interfaces.search._ask import Found, ask_all, meant, mended, ordered, slips, understood
from lemmata.interfaces.search._shelf import LEVELS, packed, unpacked


def item(name, text, group="", title=""):
    return Item(name, title or name, "", "", group, ((1.0, text),))


def distance(one, other):
    """The least number of changes, by trying all of them, one after the other."""
    letters = set(one + other)
    reached, steps = {one}, 0
    while other not in reached:
        found = set(reached)
        for word in reached:
            for k in range(len(word) + 1):
                found |= {word[:k] + letter + word[k:] for letter in letters}
                found |= {word[:k] + word[k + 1 :]} | {
                    word[:k] + letter + word[k + 1 :] for letter in letters if k < len(word)
                }
                found |= {word[:k] + word[k + 1] + word[k] + word[k + 2 :]} if k + 1 < len(word) else set()
        reached, steps = found, steps + 1
    return steps


@pytest.mark.parametrize("one", ["ab", "abc", "bac", "aab", ""])
@pytest.mark.parametrize("other", ["ab", "ba", "acb", "b", "abcb"])
def test_slips_are_the_fewest_changes_of_letters(one, other):
    wanted = distance(one, other)
    for most in range(4):
        assert slips(one, other, most) == min(wanted, most + 1)


@pytest.mark.parametrize("found", [[], [(0, 1)], [(3, 15), (4, 1), (1000, 7)], [(0, 15), (1, 15), (2, 1)]])
def test_positions_are_read_as_they_were_written(found):
    assert unpacked(packed(found)) == found
    assert len(packed(found).split()) == len(found)


def test_a_term_of_one_item_weighs_most():
    things = shelf("things", [item(str(k), "kernel" if k < 4 else f"word{k}") for k in range(10)])
    assert things.rarity(1) == 1.0
    assert things.rarity(0) == 1.0
    assert things.rarity(4) == pytest.approx(math.log(3.5) / math.log(11))
    values = [things.rarity(number) for number in range(1, 11)]
    assert values == sorted(values, reverse=True)
    assert [place for place, _ in things.found("kernel")] == [0, 1, 2, 3]
    assert things.found("nothing") == []


def test_the_level_of_a_term_grows_with_its_count_and_falls_with_the_length_of_the_text():
    texts = ["kernel", "kernel kernel kernel", "kernel pear apple banana cherry grape", "pear"]
    things = shelf("things", [item(str(k), text) for k, text in enumerate(texts)])
    levels = dict(things.found("kernel"))
    sizes = [len(text.split()) for text in texts]
    usual = sum(sizes) / 4
    for place, count in ((0, 1), (1, 3), (2, 1)):
        weight = count / (0.5 + 0.5 * sizes[place] / usual)
        assert levels[place] == round(15 * weight / (weight + 3))
    assert levels[1] > levels[0] > levels[2] >= 1
    assert LEVELS == 15
    heavy = [
        Item("a", "a", "", "", "", ((1.0, "pear"), (9.0, "kernel"))),
        Item("b", "b", "", "", "", ((1.0, "kernel"), (9.0, ""))),
    ]
    both = dict(shelf("things", heavy).found("kernel"))
    assert both[0] > both[1]
    assert both[0] == round(15 * (9 / (0.5 + 0.5 * 2)) / (9 / 1.5 + 3))


THINGS = shelf("things", [item("a", "kernel attention"), item("b", "kernels kernelised"), item("c", "tangent pear")])


def test_a_term_means_itself_or_longer_terms_or_the_nearest():
    assert meant(THINGS, "kernel") == [("kernel", 1.0)]
    assert meant(THINGS, "tang") == [("tangent", 0.7)]
    assert meant(THINGS, "ta") == []
    assert meant(THINGS, "pea") == [("pear", 0.7)]
    assert meant(THINGS, "peer") == [("pear", 0.5)]
    assert meant(THINGS, "per") == [], "too short for a slip"
    assert meant(THINGS, "pxxr") == []
    assert meant(THINGS, "tangxxt") == [], "seven letters may have one slip"
    steep = shelf("things", [item("a", "gradient")])
    assert meant(steep, "grxdxent") == [("gradient", 0.5)]
    assert meant(steep, "grxdxxnt") == []
    assert meant(THINGS, "~phrase") == []


def test_a_term_is_mended_only_if_nothing_begins_with_it():
    assert mended(THINGS, "kernel") == "kernel"
    assert mended(THINGS, "tang") == "tang"
    assert mended(THINGS, "peer") == "pear"
    assert mended(THINGS, "zebra") == "zebra"
    frequent = shelf("things", [item("a", "pear"), item("b", "peas peas"), item("c", "pear")])
    assert mended(frequent, "peax") in ("pear", "pea", "peas")
    assert mended(shelf("t", [item("a", "bear"), item("b", "pear"), item("c", "pear")]), "gear") == "pear"
    assert mended(shelf("t", [item("a", "bear"), item("b", "bear"), item("c", "pear")]), "gear") == "bear"


def test_words_without_a_meaning_of_their_own_are_left_out_unless_they_stand_alone():
    assert [part.typed for part in understood(THINGS, "the kernel of pear")] == ["kernel", "pear"]
    assert [part.typed for part in understood(THINGS, "the")] == ["the"]
    (phrase,) = understood(THINGS, "neural tangent kernel")
    assert phrase.typed == "neural tangent kernel"
    assert len(phrase.words) == 3


def test_a_group_gives_way_after_its_best_item():
    things = shelf("things", [item(str(k), "kernel", group) for k, group in enumerate("xxxy")])
    found = ordered(things, {0: 1.0, 1: 1.0, 2: 1.0, 3: 0.8})
    assert list(found) == [0, 1, 3, 2]
    assert found == pytest.approx({0: 1.0, 1: 0.85, 3: 0.8, 2: 0.85**2})
    assert list(ordered(things, {3: 1.0, 0: 1.0})) == [0, 3], "of equal ones, the first"


def test_items_with_all_words_come_before_those_with_some():
    found = ask(THINGS, "kernel attention")
    assert found.hits == (0,)
    assert set(found.near) == {1}
    assert found.counts == (2, 1)
    assert found.best == (*found.hits, *found.near)
    assert set(found.scores) == {0, 1}
    assert ask(THINGS, "").best == ()
    whole = ask(THINGS, "tangent")
    assert (whole.hits, whole.near, whole.mistyped) == ((2,), (), ())


def test_counts_are_told_in_words():
    own = Found(("a b", "c"), (), (), (1, 2), ("b",), {})
    assert own.told == "1 has the nearest spelling of 'a b', 2 have 'c'"


def test_pages_come_before_functions_unless_the_name_itself_is_typed():
    pages = shelf("pages", [item("p", "kernel ridge", title="Kernel ridge regression")])
    functions = shelf("reference", [item("f", "kernel ridge", title="kernel_ridge")])
    names = lambda typed: [own.name for own, _ in ask_all([functions, pages], typed)]
    assert names("ridge") == ["pages", "reference"]
    assert names("kernel ridge") == ["reference", "pages"]
    assert names("kernel pear") == ["pages", "reference"]
    some = shelf("pages", [item("p", "kernel"), item("q", "kernel ridge")])
    found = ask_all([some, functions], "ridge kernel")
    assert [(own.name, place) for own, place in found] == [("pages", 1), ("reference", 0), ("pages", 0)]
    assert list(itertools.islice(ask_all([], "kernel"), 1)) == []
