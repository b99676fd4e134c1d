"""What people type finds what it should among the first five; the rules that words are read by; what is kept."""

import pathlib
import tomllib

import pytest

from lemmata.engine.catalogue import rows
from lemmata.interfaces.search import Item, ask, claim_shelf, shelf, terms

QUERIES = tomllib.loads(pathlib.Path(__file__).with_name("queries.toml").read_text(encoding="utf-8"))["query"]
OF_CLAIMS = [query for query in QUERIES if ":" not in "".join(query["must"])]
PLACES = 5


SAME_NAME = ("muP", "mu-P", "mu P", "μP", "µP", "MUP", "µ-P")
"""One name, also with the sign for micro and with the Greek letter."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-search"))


@pytest.fixture(scope="module")
def claims():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lemmata.interfaces.search._claims.kept_shelf", shelf)
        return claim_shelf(rows())


def test_there_are_sixty_queries_and_twenty_were_not_looked_at():
    assert len(QUERIES) >= 60
    assert sum(query.get("held", False) for query in QUERIES) >= 20
    assert len({query["typed"] for query in QUERIES}) == len(QUERIES)


@pytest.mark.parametrize("query", OF_CLAIMS, ids=lambda query: query["typed"].replace(" ", "_"))
def test_what_people_type_finds_claims_among_the_first_five(claims, query):
    known = rows()
    best = [known[place]["class"] for place in ask(claims, query["typed"]).best[:PLACES]]
    for must in query["must"]:
        assert set(must.split("|")) & set(best), f"{must} is not among {best}"


@pytest.mark.parametrize("typed", SAME_NAME)
def test_all_spellings_of_the_maximal_update_find_the_same(claims, typed):
    hits = ask(claims, typed).hits
    assert hits == ask(claims, "maximal update").hits
    assert rows()[hits[0]]["class"] == "MaximalUpdateStep"


def test_a_claim_is_found_by_its_tag(claims):
    known = rows()
    for place in range(0, len(known), 40):
        for typed in (known[place]["tag"], f"tag {known[place]['tag']}"):
            assert ask(claims, typed).best[0] == place


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("over-parametrised", "Overparameterized"), ("generalise", "generalization"), ("optimising", "optimized"),
        ("Rényi's", "renyi"), ("labelled rows", "labeled row"), ("matrices", "matrix"), ("behaviour", "behaviors"),
        ("NTK", "neural tangent kernel"), ("PAC-Bayesian", "pac bayes"), ("the kernels of a network", "kernel network"),
    ],
)  # fmt: skip
def test_spellings_endings_and_synonyms_are_one(one, other):
    kept = [shelf("things", [item("thing", one), item("else", "zebra")])]
    assert ask(kept[0], other).hits == (0,)
    kept = [shelf("things", [item("thing", other), item("else", "zebra")])]
    assert ask(kept[0], one).hits == (0,)


def item(name, text, group=""):
    return Item(name, name, "", "", group, ((1.0, text),))


def test_words_that_differ_stay_apart():
    assert set(terms("general")) != set(terms("generalise"))
    assert ask(shelf("things", [item("thing", "attention")]), "retention").hits == (), "two letters of a short word"
    assert ask(shelf("things", [item("thing", "kernel")]), "zebra").best == ()


def test_without_a_hit_the_counts_of_the_parts_are_told_and_the_nearest_are_offered():
    things = shelf(
        "things", [item("a", "the tangent kernel"), item("b", "tangent kernel of banana"), item("c", "pear")]
    )
    found = ask(things, "tangent kernel pear")
    assert found.hits == ()
    assert found.told == "2 have 'tangent kernel', 1 has 'pear'"
    assert set(found.near) == {0, 1, 2}


def test_a_slip_finds_the_nearest_word_and_says_so():
    things = shelf("things", [item("a", "the tangent kernel"), item("b", "pear")])
    found = ask(things, "tagnent kernal")
    assert found.hits == (0,)
    assert found.mistyped == ("tagnent", "kernal")
    assert ask(things, "tang").hits == (0,), "the beginning of a word"
    assert ask(things, "tang").mistyped == ()
    told = ask(things, "tagnent kernal peer xyzzy").told
    nearest = "1 has the nearest spelling of"
    assert told == f"{nearest} 'tagnent kernal', {nearest} 'peer', 0 have 'xyzzy'", "what was corrected is said"


def test_a_section_does_not_fill_the_first_places():
    many = [item(str(number), "kernel", "one section") for number in range(9)]
    things = shelf("things", [*many, item("other", "kernel pears", "another")])
    assert 9 in ask(things, "kernel").hits[:PLACES]


def test_a_shelf_is_kept_and_made_again_when_a_text_changes(monkeypatch):
    from lemmata.interfaces.search import _kept

    first = [item("a", "tangent kernel"), item("b", "pear")]
    made = []
    monkeypatch.setattr(_kept, "shelf", lambda name, items: made.append(name) or shelf(name, items))
    for items in (first, first, [item("a", "apple"), item("b", "pear")]):
        kept = _kept.kept_shelf("test", items)
        assert kept.postings == shelf("test", items).postings
    assert len(made) == 2
