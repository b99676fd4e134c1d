"""A claim's population is found in every private file of its subject, not in the first of them alone."""

import pytest

from lemmata.interfaces.site import _code

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
