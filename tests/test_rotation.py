"""The default run takes every case in turn, and something of everything each time."""

import os
import subprocess
import sys

from tests.rotation import Turn, beyond_the_share, chosen, seed

LAWS = {"rate": 7, "forms": 3, "whole": 1}
TURNS = [Turn(law, name, period) for law, period in LAWS.items() for name in "abcde" for _ in range(2)]
TURNS += [Turn("rate", "rare", 7)]
MODULES = ["one"] * len(TURNS)


def test_consecutive_seeds_take_every_case_and_each_takes_every_object():
    for period in LAWS.values():
        runs = [chosen(MODULES, TURNS, start) for start in range(5, 5 + period)]
        assert {i for i, turn in enumerate(TURNS) if turn.period == period} <= set().union(*runs)
    for start in range(50):
        run = chosen(MODULES, TURNS, start)
        assert {TURNS[i].judged for i in run} == {"a", "b", "c", "d", "e", "rare"}
        assert {i for i, turn in enumerate(TURNS) if turn.period == 1} <= run
        assert len(run) < len(TURNS)


def test_modules_are_numbered_apart():
    for start in range(7):
        alone = chosen(MODULES, TURNS, start)
        both = chosen([*MODULES, *["two"] * len(TURNS)], [*TURNS, *TURNS], start)
        assert both == alone | {i + len(TURNS) for i in alone}


def test_the_default_and_the_exhaustive_run_share_the_cases_out(tmp_path):
    (tmp_path / "test_law.py").write_text(
        "import pytest\n"
        "@pytest.mark.rotating(3)\n"
        "@pytest.mark.parametrize('case', range(9))\n"
        "def test_law(case): pass\n"
        "@pytest.mark.rotating(9, over='letter')\n"
        "@pytest.mark.parametrize('letter', 'ab')\n"
        "def test_letters(letter): pass\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    exhaustive\n    rotating\n")
    ran = {}
    for marker in ("not exhaustive", "exhaustive"):
        command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-m", marker]
        found = subprocess.run(
            [*command, "-n", "0", "--collect-only", "-q", str(tmp_path)],
            capture_output=True, text=True, check=True, cwd=tmp_path,
            env={**os.environ, "LEMMATA_SEED": "4", "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert "LEMMATA_SEED=4" in found.stdout
        ran[marker] = {line for line in found.stdout.splitlines() if "::" in line}
    assert not ran["not exhaustive"] & ran["exhaustive"]
    assert len(ran["not exhaustive"]) == 3 + 2
    assert len(ran["exhaustive"]) == 6


def test_consecutive_seeds_share_the_exhaustive_run_out(monkeypatch):
    names = list("abcdefgh")
    assert beyond_the_share(names) == set()
    monkeypatch.setenv("LEMMATA_SHARE", "3")
    taken = []
    for number in (4, 5, 6):
        monkeypatch.setenv("LEMMATA_SEED", str(number))
        seed.cache_clear()
        taken += sorted(set(names) - beyond_the_share(names))
    seed.cache_clear()
    assert sorted(taken) == names


def test_the_seed_is_that_of_the_commit_or_of_the_caller(monkeypatch):
    monkeypatch.setenv("LEMMATA_SEED", "12")
    seed.cache_clear()
    assert seed() == 12
    monkeypatch.delenv("LEMMATA_SEED")
    seed.cache_clear()
    assert 0 <= seed() < 2**24
    seed.cache_clear()
