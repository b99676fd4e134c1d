"""A run takes what has changed, and of the rest a share in turn, within its budget."""

import json
import os
import subprocess
import sys

import pytest

from lemmata.engine.catalogue import ROOTS
from lemmata.engine.catalogue._fingerprint import reached
from lemmata.engine.catalogue._modules import Node, module_of
from tests import budget, conftest
from tests.budget import Case, chosen, told

COSTS = [0.01] * 300 + [0.3] * 100 + [2.0] * 40 + [30.0] * 10
CASES = [Case(f"test_{number}", cost) for number, cost in enumerate(COSTS)]


def seconds(names) -> float:
    return sum(case.cost for case in CASES if case.name in names)


def test_each_case_has_its_turn_and_runs_keep_to_the_budget():
    runs = [chosen(CASES, start, 60.0) for start in range(60)]
    assert set().union(*(run.names for run in runs[: runs[0].turns])) == {case.name for case in CASES}
    mean = sum(seconds(run.names) for run in runs) / len(runs)
    assert 0.7 * 60 < mean < 1.1 * 60
    cheap = {case.name for case in CASES if case.cost == 0.01}
    assert all(cheap <= run.names for run in runs)
    assert all(run.changed == run.left == 0 for run in runs)


def test_a_budget_for_everything_takes_everything():
    assert chosen(CASES, 3, 1e6).names == {case.name for case in CASES}
    assert chosen([], 3).names == frozenset()


def test_what_has_changed_comes_first():
    changed = [case._replace(changed=case.cost in (2.0, 30.0)) for case in CASES]
    run = chosen(changed, 0, 125.0)
    taken = [case for case in changed if case.changed and case.name in run.names]
    assert len(taken) == run.changed == 40, "the cheaper ones, 80 s"
    assert run.left == 10
    assert seconds(run.names) < 150
    every = chosen(changed, 0, 1000.0)
    assert (every.changed, every.left) == (50, 0)


def test_the_run_says_what_it_takes_and_leaves():
    run = chosen(CASES, 1, 60.0)
    text = told(CASES, run, known=False)
    assert f"{len(run.names)} of 450 cases (nothing is known of earlier runs)" in text
    assert f"not run: {450 - len(run.names)}" in text
    changed = [case._replace(changed=case.cost == 30.0) for case in CASES]
    run = chosen(changed, 1, 125.0)
    assert "3 whose code has changed" in told(changed, run, known=True)
    assert "7 of them with changed code" in told(changed, run, known=True)


@pytest.fixture
def project(tmp_path):
    """A folder with two test files, and pytest with this project's choice of cases."""
    (tmp_path / "test_one.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_one(n): assert n < 4\n"
        "@pytest.mark.seconds(1e5)\ndef test_dear(): pass\n"
    )

    def run(*words, **more):
        command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", "0", "-q", *words, str(tmp_path)]
        env = {**os.environ, "LEMMATA_SEED": "1", "PYTHONPATH": os.pathsep.join(sys.path), **more}
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=300).stdout

    return run


@pytest.mark.seconds(40)
def test_the_default_run_and_the_later_one_share_the_cases_out(project):
    assert "4 passed, 1 deselected" in project("-m", "due")
    assert "1 passed, 4 deselected" in project("-m", "later")
    assert "4 of 5 cases (0 whose code has changed)" in project("-m", "every")
    assert "5 deselected" in project("-m", "later", LEMMATA_SECONDS="1")
    assert "4 passed, 1 deselected" in project("-m", "due", LEMMATA_SECONDS="1")
    both = project("-m", "due", LEMMATA_SECONDS="1e6")
    assert "5 passed" in both
    assert "5 of 5 cases" in both


def test_a_cost_is_that_of_the_case_or_of_its_function(monkeypatch):
    monkeypatch.setattr(budget, "costs", lambda: {"a.py::test_x": 2.0, "a.py::test_x[1]": 8.0})
    assert [budget.cost(name) for name in ("a.py::test_x[1]", "a.py::test_x[2]", "a.py::test_y")] == [
        8.0,
        2.0,
        budget.USUAL,
    ]


def test_costs_are_written_where_they_are_far_off(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "COSTS", tmp_path / "costs.json")
    budget.costs.cache_clear()
    budget.write_costs({"a.py::test_x": [1.0, 3.0], "a.py::test_y": [budget.USUAL], "a.py": [0.5]})
    assert budget.costs() == {"a.py::test_x": 2.0}
    budget.write_costs({"a.py::test_x": [3.9], "a.py": [7.0]})
    assert budget.costs() == {"a.py::test_x": 2.0, "a.py": 8.0}
    budget.write_costs({"a.py::test_x": [9.0], "a.py": [0.1]})
    assert budget.costs() == {"a.py::test_x": 8.0}
    budget.write_costs({"a.py::test_x": [0.0]})
    assert budget.costs()["a.py::test_x"] <= 2 * budget.USUAL
    budget.costs.cache_clear()


def test_cases_that_share_something_dear_are_taken_together(monkeypatch):
    monkeypatch.setattr(budget, "costs", lambda: {"a.py": 20.0})
    cases = [*CASES, *(Case(f"a.py::test_{n}", 0.01, False, "a.py") for n in range(5))]
    mine = {case.name for case in cases[-5:]}
    runs = [chosen(cases, start, 60.0) for start in range(60)]
    shares = [len(mine & run.names) for run in runs[: runs[0].turns]]
    assert sorted(shares)[-2:] == [0, 5], "in one run of a round, and there all of them"
    alone = [Case(f"b.py::test_{n}", 0.01) for n in range(5)]
    assert {case.name for case in alone} <= chosen([*CASES, *alone], 0, 60.0).names, "the same without what they share"
    (run,) = [run for run in runs[: runs[0].turns] if mine & run.names]
    assert f"about {seconds(run.names) + 20.05:,.0f} s" in told(cases, run, known=False)


def test_no_run_is_much_dearer_than_its_budget():
    dear = [*CASES, Case("dearest", 50.0)]
    runs = [chosen(dear, start, 60.0).names for start in range(60)]
    spent = [sum(case.cost for case in dear if case.name in run) for run in runs]
    assert max(spent) <= 60.0 + 50.0
    assert sum(own > 75.0 for own in spent) <= 60 // chosen(dear, 0, 60.0).turns + 1, "beside the dearest's own run"


def test_costs_are_of_tests_that_exist():
    files = {name.partition("::")[0] for name in json.loads(budget.COSTS.read_text())}
    assert all((budget.ROOT / name).is_file() for name in files)


def test_the_seed_is_that_of_the_commit_or_of_the_caller(monkeypatch):
    monkeypatch.setenv("LEMMATA_SEED", "12")
    budget.seed.cache_clear()
    assert budget.seed() == 12
    monkeypatch.delenv("LEMMATA_SEED")
    budget.seed.cache_clear()
    assert 0 <= budget.seed() < 2**24
    budget.seed.cache_clear()


def test_a_worker_gives_memory_back_where_it_holds_much_and_not_after_every_test(monkeypatch):
    """Half a gigabyte more than what could not be given back; a worker that gave nothing back grew without end."""
    held, given = conftest._HELD, []
    monkeypatch.setattr(conftest, "_LIMIT", [held])
    monkeypatch.setattr(conftest, "_give_back", lambda: given.append(True))
    counts = []
    for resident in (held, held + 1, held + 2, held + 2 + conftest._GROWN):
        monkeypatch.setattr(conftest, "_resident", lambda resident=resident: resident)
        conftest.relieve()
        counts.append(len(given))
    assert counts == [0, 1, 1, 2]


def test_the_fixtures_of_all_files_rest_on_little():
    """They once reached the command line, and by it nearly everything: any change was one of every file."""
    ROOTS.setdefault("tests", budget.ROOT / "tests")
    shared = module_of("tests.conftest")
    assert shared is not None
    pieces = reached([Node("tests.conftest", name) for name in ("", *shared.definitions)])
    everything = reached([Node("lemmata.interfaces.cli", "")])
    assert 20 < len(pieces) < len(everything) / 10
    assert Node("lemmata.interfaces.cli._flags", "solve_in_turn") in pieces
