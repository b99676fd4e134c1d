"""Bugs are plausible changes of one place; a test that reaches a bug is found and notices it, and silence is told."""

import ast
import itertools
import random
import subprocess
import sys
import types

import pytest

from lemmata.engine.catalogue._fingerprint import reached
from lemmata.engine.catalogue._modules import Node
from tests import bugs, mutants
from tests.laws.test_examples import MODULES
from tests.mutants import Mutant, Outcome, Runner, _Watch
from tests.reach import Reach, _imported, _of_entries

SOURCE = b'''
def far(x, y, *, ridge=1.0, strict=True):
    """Words - and more than 2 of them."""
    total = 0
    for row in x[:-1]:
        if row > 0 and not strict:
            total += min(row, y) - ridge * x.sum(axis=0)
    if total != total:
        raise ValueError(f"{x + 1} and 3")
    return power(total, y, base=2)
'''
WANTED = {
    ("another default", "1.0", "2.0"), ("another default", "True", "False"), ("the other end", "-1", "0"),
    ("only the first of several", "x[:-1]", "list(x[:-1])[:1]"), ("another comparison", " > ", " >= "),
    ("a dropped condition", "row > 0 and not strict", "((row > 0))"), ("a dropped sign", "not strict", "(strict)"),
    ("a dropped statement", "total += min(row, y) - ridge * x.sum(axis=0)", "pass"), ("another axis", "0", "1"),
    ("another function", "min", "max"), ("another operator", " - ", " + "), ("another comparison", " != ", " == "),
    ("a dropped term", "ridge * x.sum(axis=0)", "(ridge)"), ("exchanged arguments", "total, y", "y, total"),
    ("a dropped keyword", "base=2", ""), ("another number", "2", "3"), ("another condition", "total != total", "False"),
}  # fmt: skip


def found():
    ((name, function),) = bugs.functions(ast.parse(SOURCE))
    assert name == "far"
    return bugs.bugs(SOURCE, function)


def test_bugs_are_those_that_one_writes_and_words_are_left_alone():
    told = {(bug.kind, SOURCE[bug.start : bug.end].decode(), bug.text) for bug in found()}
    assert told >= WANTED, WANTED - told
    texts = " ".join(before for _, before, _ in told)
    assert "Words" not in texts
    assert "x + 1" not in texts
    assert ("exchanged arguments", "row, y", "y, row") not in told, "the smaller of two is the same either way"
    for bug in found():
        assert bug.applied(SOURCE) != SOURCE
        ast.parse(bug.applied(SOURCE))


@pytest.mark.parametrize(
    ("text", "kept", "left"),
    [
        ("assert x > 1, 'more'", [], ["x > 1"]),
        ("return list(zip(x, y, strict=True))", ["x, y"], ["True", "strict=True"]),
        ("return open(x, encoding='utf-8', mode=y + 1)", ["mode=y + 1", "y + 1"], ["encoding='utf-8'"]),
        (
            "out.print(json.dumps(x, indent=1), highlight=False, style=y)",
            ["style=y"],
            ["indent=1", "1", "highlight=False", "False"],
        ),
        ("return jax.random.fold_in(key, 1000 + y)", ["1000 + y"], ["1000", " + "]),
        ("return jax.random.fold_in(keys[0], 3)", ["0"], ["3"]),
        ("return np.random.default_rng([x, 7])", [], ["7", "[x, 7]"]),
        ("return x >= _ENOUGH * y", [" >= ", " * "], []),
        ("return x * 64 + 9", ["64", "9"], []),
    ],
)
def test_what_nobody_can_observe_is_no_bug(text, kept, left):
    source = f"def own(x, y, key, keys):\n    {text}\n".encode()
    ((_, function),) = bugs.functions(ast.parse(source))
    told = {source[bug.start : bug.end].decode() for bug in bugs.bugs(source, function)}
    assert told >= set(kept)
    assert not told & set(left)


def test_large_numbers_are_changed_by_much_and_named_thresholds_are_turned_around():
    source = b"def own(x):\n    return x >= _ENOUGH or x < 4 or x + 64\n"
    ((_, function),) = bugs.functions(ast.parse(source))
    told = {(source[bug.start : bug.end].decode(), bug.text) for bug in bugs.bugs(source, function)}
    assert {("64", "128"), ("64", "32"), ("4", "5"), ("4", "3"), (" >= ", " < "), (" < ", " <= ")} <= told
    assert not {("64", "65"), ("64", "63"), (" >= ", " > ")} & told


def test_every_kind_is_drawn_as_often():
    kinds = [bugs.drawn(found(), random.Random(seed)).kind for seed in range(400)]
    number = len({bug.kind for bug in found()})
    assert len(set(kinds)) == number
    assert max(map(kinds.count, kinds)) < 3 * 400 / number


def test_a_draw_is_that_of_its_seed_and_every_file_has_a_group():
    few = ["spectra/_eigensystem.py", "spectra/_curve.py", "engine/claims/_judge.py"]
    first, again, other = (list(itertools.islice(mutants.draw("numerics", few, seed), 6)) for seed in (3, 3, 4))
    assert first == again != other
    assert all(own.file in few[:2] and own.group == "numerics" for own in first)
    assert len({(own.file, own.function) for own in first}) == len(first)
    known = {mutants.group_of(file) for file in mutants.files()}
    assert known == set(mutants.GROUPS)
    assert mutants.group_of("subjects/textbook/spectra.py") is None


def test_tests_that_reach_a_function_come_first_and_fixtures_count():
    reach = Reach(mutants.ROOT)
    tests = [own.node for own in reach.tests_of("spectra/_eigensystem.py", "effective_dimension", 2.0)]
    assert tests[1].startswith("tests/spectra/test_"), "behind its examples"
    assert "tests/spectra/test_eigensystem.py::test_the_effective_dimension_is_the_trace_of_the_smoother" in tests
    page = mutants.ROOT / "tests/interfaces/report/test_scripts.py"
    (own,) = [test for test in reach._tests(page) if test.node.endswith("::test_every_chart_of_a_comparison_is_drawn")]
    assert any(node.name == "bundle" for node in own.rests), "the fixture writes the pages"


@pytest.mark.parametrize(
    ("file", "function", "test"),
    [
        ("interfaces/cli/_show.py", "_show_places", "test_pinned.py::test_every_claim_is_shown_as_it_was"),
        ("interfaces/cli/_list.py", "_tightness", "test_pinned.py::test_a_list_is_as_it_was"),
        ("interfaces/cli/_refute.py", "_check_asked", "test_nothing_done.py::test_a_search_that_tested_nothing"),
    ],
)
def test_commands_are_reached_by_their_names_and_no_others(file, function, test):
    tests = Reach(mutants.ROOT)._tests(mutants.ROOT / "tests/interfaces/cli" / test.split("::")[0])
    (own,) = [each for each in tests if test in each.node]
    assert any(node.name == function and file.endswith(f"{node.module.split('.')[-1]}.py") for node in own.rests)
    others = {"_show.py", "_list.py", "_refute.py", "_walk.py"} - {file.rpartition("/")[2]}
    reached = {
        f"{node.module.split('.')[-1]}.py" for node in own.rests if node.module.startswith("lemmata.interfaces.cli.")
    }
    assert not reached & others


def test_the_examples_of_a_file_are_a_test_of_its_functions():
    reach, law = Reach(mutants.ROOT), "tests/laws/test_examples.py::test_the_examples_of_the_docstrings_are_right"
    tests = [own.node for own in reach.tests_of("spectra/_eigensystem.py", "effective_dimension", 0.01)]
    assert tests[0] == f"{law}[lemmata.spectra._eigensystem]"
    assert len(tests) == 2, "and a test of it, even if there is no time"
    assert tests[1].startswith("tests/spectra/")
    for file in mutants.files()[::40]:
        name = f"lemmata.{file.removesuffix('.py').replace('/', '.')}"
        known = [own.node for own in reach._examples(file, Node(name, "f"))]
        assert known == ([f"{law}[{name}]"] if name in MODULES else [])


def test_entries_of_a_command_are_a_test_of_their_own(tmp_path):
    Reach(mutants.ROOT)  # which says where tests are
    path = tmp_path / "test_wrong.py"
    command = lambda name, number: f'[[bad]]\ncommand = ["{name}", "{number}"]\n'
    (tmp_path / "wrong.toml").write_text("".join(command("emergence", k) for k in range(3)) + command("list", 0))
    rests = reached([Node("tests.interfaces.cli.test_bad_inputs", "test_a_bad_input_is_refused_in_words")])
    function = ast.parse("def test_words(entry): ...").body[0]
    first, second = _of_entries(path, "test_wrong.py::test_words", function, rests)
    assert [own.node for own in (first, second)] == [
        f"test_wrong.py::test_words[{it}: *]" for it in ("emergence", "list")
    ]
    assert first.cost == 3 * second.cost > 0
    module = "lemmata.interfaces.cli._emergence"
    assert any(node.module == module for node in first.rests)
    assert not any(node.module == module for node in second.rests)
    assert _of_entries(path, "", ast.parse("def test_words(other): ...").body[0], rests) == []
    assert _of_entries(tmp_path / "test_none.py", "", function, rests) == []


def test_cases_are_run_by_the_beginning_of_their_names():
    watch = _Watch(1.0, ["a.py::one[list: *]", "a.py::two", "a.py::one[show: *]", "b.py::three[4]"])
    assert watch.named == ["a.py::one", "a.py::two", "b.py::three[4]"]
    names = ["a.py::one[list: x]", "a.py::one[study: list: *]", "a.py::one[show: y]", "a.py::two[list: x]", "a.py::two"]
    items = [types.SimpleNamespace(nodeid=name) for name in names]
    watch.pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == [names[0], *names[2:]]


def test_a_program_reaches_what_it_imports():
    found = _imported("import os\nfrom lemmata.kernels import gram\nfrom lemmata.errors import LemmataError\n")
    assert {node.name for node in found} == {"gram", "LemmataError"}
    assert not _imported("words that import nothing")
    assert not _imported("from numpy import mean")


def mutant(before, after):
    path = mutants.ROOT / mutants.PACKAGE / "spectra/_eigensystem.py"
    start = path.read_bytes().index(before)
    return Mutant("numerics", "spectra/_eigensystem.py", "effective_dimension", 1,
                  bugs.Bug("a dropped term", start, start + len(before), after), before.decode())  # fmt: skip


SCRIPT = """
import pathlib, sys
from tests.mutants import Runner
from tests.test_mutants import ENDS, TEST, mutant

def said(about, test, bug=None):
    runner.start(about, [test], 30.0, bug)
    while runner.running:
        for _, outcome in runner.ended():
            return outcome

runner = Runner(pathlib.Path(sys.argv[1]), 1, 30.0)
bug = mutant(*ENDS)
print(said(bug, TEST, bug))
print(said("none", TEST))
try:
    said("nothing", TEST + "_that_is_not_there")
except RuntimeError as error:
    print(error)
"""
ENDS = b"values + ridge, 1.0", "values, 1.0"
TEST = "tests/spectra/test_eigensystem.py::test_the_effective_dimension_is_the_trace_of_the_smoother"


def test_a_bug_is_noticed_in_the_copy_alone_and_without_one_the_same_test_passes(tmp_path):
    """In a process of its own: forks of this one would have its checks of types twice."""
    path = mutants.ROOT / mutants.PACKAGE / mutant(*ENDS).file
    before = path.read_bytes()
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "copies")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=mutants.ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    noticed, passed, nothing = done.stdout.splitlines()
    assert noticed == str(Outcome(True, TEST, TEST))
    assert passed == str(Outcome(False, "1 cases passed"))
    assert nothing.startswith("pytest found none of the tests")
    assert path.read_bytes() == before


def test_outcomes_that_say_nothing_fail_the_run(tmp_path, monkeypatch):
    bug, runner = mutant(*ENDS), Runner(tmp_path, 0, 30.0)
    assert mutants.unsound({}, runner) == "no bug was tried"
    assert mutants.unsound({bug: Outcome(None, "slow")}, runner) == "no test noticed anything"
    for told, why in ((Outcome(True, "test_x", "test_x"), "without a bug: test_x"), (Outcome(False, "1"), "")):
        monkeypatch.setattr(runner, "start", lambda *given: runner.running.update({1: given}))
        monkeypatch.setattr(runner, "ended", lambda told=told: [runner.running.clear() or ("all", told)])
        assert mutants.unsound({bug: Outcome(True, "test_x", "test_x")}, runner) == why


def test_the_score_counts_what_is_known_in_each_group():
    bug = mutant(*ENDS)
    outcomes = [Outcome(True, ""), Outcome(False, ""), Outcome(None, ""), Outcome(True, "")]
    known = {bug._replace(line=line): own for line, own in enumerate(outcomes)}
    lines = mutants.table(known | {bug._replace(group="faces", line=9): Outcome(False, "")}).splitlines()
    assert lines[1].split() == ["numerics", "2", "3", "67%"]
    assert lines[2].split() == ["engine", "0", "0"]
    assert lines[4].split() == ["faces", "0", "1", "0%"]
