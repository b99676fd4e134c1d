"""A claim's population is found in every private file of its subject, and a public name has the address of its page."""

import pytest

from lemmata.interfaces.site import _code, _reference

NAMES = ("_a.py", "_b.py", "_c.py")


@pytest.fixture
def subject(tmp_path, monkeypatch):
    folder = tmp_path / "subjects" / "own"
    folder.mkdir(parents=True)
    for name in (*NAMES, "claims.py", "__init__.py"):
        (folder / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(_code, "ROOT", tmp_path)
    yield folder
    for kept in (_code.definitions, _code.in_file, _code.module_words):
        kept.cache_clear()  # they hold what this folder has in the place of the package


def test_all_private_files_beside_a_file_are_its_siblings(subject):
    found = [name.rpartition("/")[2] for name in _code._siblings("subjects/own/claims.py")]
    assert found == ["__init__.py", *NAMES]
    assert all((subject.parents[1] / name).is_file() for name in _code._siblings("subjects/own/claims.py"))


@pytest.mark.parametrize("place", NAMES)
def test_a_population_of_any_private_file_gives_its_hypotheses(subject, place):
    made = 'POINTS = Points(Hypothesis("points are apart", 1.0, "<=", 2.0))\n'
    (subject / place).write_text(made, encoding="utf-8")
    text = "class Own(Claim):\n    population = POINTS\n"
    node = _code.ast.parse(text).body[0]
    claim = _code.Definition("subjects/own/claims.py", node, text)
    assert [own.name for own in _code._of_expression(claim, "own.claims")] == ["points are apart"]


def test_a_function_that_calls_itself_is_read_a_few_times(monkeypatch):
    text = "def conditions(x):\n    return [Hypothesis('x is small', x, '<', 1), *conditions(x)]\n"
    own = _code.Definition("subjects/own/claims.py", _code.ast.parse(text).body[0], text)
    monkeypatch.setattr(_code, "population_of", lambda place, name: own if name == "conditions" else None)
    found = list(_code._conditions(own.node, {}, "own.claims", 3))
    assert [(each.name, each.asked) for each in found] == [("x is small", "< 1")] * 4


def test_names_have_the_address_of_their_page_unless_two_subpackages_have_them(monkeypatch):
    entry = lambda name: _reference.Entry(name, "", "")
    shelves = {
        "kernels": [("reference/kernels.html", [entry("Matern"), entry("gram")]),
                    ("reference/kernels-2.html", [entry("Twice"), entry("gram_plan")])],
        "solvers": [("reference/solvers.html", [entry("Twice"), entry("Ridge")])],
        "interfaces.cli": [("reference/interfaces.cli.html", [entry("Study")])],
    }  # fmt: skip
    monkeypatch.setattr(_reference, "public_rooms", lambda: list(shelves))
    monkeypatch.setattr(_reference, "shelves", lambda room: shelves[room])
    assert _reference.public_addresses() == {
        "lemmata.subjects": "subjects/index.html",
        "lemmata.kernels": "reference/kernels.html",
        "lemmata.solvers": "reference/solvers.html",
        "lemmata.interfaces.cli": "reference/interfaces.cli.html",
        "lemmata.kernels.Matern": "reference/kernels.html#Matern",
        "lemmata.kernels.gram": "reference/kernels.html#gram",
        "lemmata.kernels.Twice": "reference/kernels-2.html#Twice",
        "lemmata.kernels.gram_plan": "reference/kernels-2.html#gram_plan",
        "lemmata.solvers.Twice": "reference/solvers.html#Twice",
        "lemmata.solvers.Ridge": "reference/solvers.html#Ridge",
        "Matern": "reference/kernels.html#Matern",
        "gram_plan": "reference/kernels-2.html#gram_plan",
        "Ridge": "reference/solvers.html#Ridge",
    }
