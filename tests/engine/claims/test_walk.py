"""Declared ranges are walked: a claim that fails at an end of its range is refuted there, and nowhere else."""

import contextlib
import json

import pytest
from typer.testing import CliRunner

from lemmata.engine import catalogue
from lemmata.engine.catalogue import costs, told_walk
from lemmata.engine.claims import (
    Choice,
    Integer,
    Real,
    Space,
    _keyed,
    fingerprint_of,
    load_file,
    places,
    registry,
    run_keyed,
    run_trials,
    walk_of,
    walk_record,
)
from lemmata.interfaces.cli import _walk as walking
from lemmata.interfaces.cli import app
from lemmata.limits import Limit

FILE = '''
import jax, jax.numpy as jnp
from lemmata.engine.claims import AtMost, Choice, Claim, Control, Integer, Population, Source, Space

class Sizes(Population):
    """A size, and a uniform number."""
    settings = Space(n=Integer(8, 1, 64, "size", corners=(8, 9)), law=Choice("even", ("even", "odd"), "law"))
    def sample(self, setting, key): return setting["n"] * (1 + jax.random.uniform(key)) / 2
    def hypotheses(self, problem): return []

class AbstractSize(Claim):
    source = Source("euclid", "I.1", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Sizes()
    relation = AtMost()
    control = Control("a half suffices", lambda bound, problem: bound / 40)
    controls = unexplained = "sizes"
    trivial = "a size has no bound of its own"

class SmallSizes(AbstractSize):
    """A size is at most 32."""
    title = "Small sizes"
    predict = 32.0
    def measure(self, problem, key): return problem

class AllSizes(AbstractSize):
    """A size is at most 64."""
    title = "All sizes"
    predict = 64.0
    def measure(self, problem, key): return problem
'''


@pytest.fixture
def claims(tmp_path):
    (tmp_path / "sizes.py").write_text(FILE)
    return tmp_path / "sizes.py", {type(own).__name__: own for own in load_file(tmp_path / "sizes.py").values()}


def test_ends_come_first_and_settings_between_follow():
    space = Space(n=Integer(8, 2, 64, step=2), r=Real(0.5, 0.1, 0.9), law=Choice("a", ("a", "b")))
    space = space.where("n is above r", lambda setting: setting["n"] > 2)
    found = places(space, seed=3)
    assert found[:4] == [{**space.default, **end} for end in ({"n": 64}, {"r": 0.1}, {"r": 0.9}, {"law": "b"})]
    assert len(found) == 8
    assert all(2 < own["n"] <= 64 and own["n"] % 2 == 0 and 0.1 <= own["r"] <= 0.9 for own in found)
    assert places(space, seed=3) == found
    assert places(space, seed=4) != found
    assert places(Space()) == []


def walked(claim):
    tasks = walk_of(claim, seed=0, budget=40, level=1e-3)
    return walk_record(claim, run_keyed(tasks))


def test_a_range_wider_than_the_statement_is_found(claims):
    record = walked(claims[1]["SmallSizes"])
    assert record["refuted"] >= 1
    assert {"n": 64, "law": "even"} in [place["setting"] for place in record["where"]]
    assert all(place["setting"]["n"] > 32 for place in record["where"])
    sound = walked(claims[1]["AllSizes"])
    assert "refuted" not in sound
    assert sound["where"] == []
    assert told_walk(sound).startswith(f"{sound['settings']} settings, ")


SLOW = (
    FILE.replace("import jax,", "import time, jax,")
    + '''
class SlowSizes(AbstractSize):
    """A size is at most 64."""
    title = "Slow sizes"
    traced = False
    predict = 64.0
    def measure(self, problem, key):
        time.sleep(0.0 if problem <= 8 else 40.0)
        return problem
'''
)


def test_a_setting_that_takes_too_long_is_unfinished_and_the_others_are_walked(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (claim,) = (own for name, own in load_file(tmp_path / "slow.py").items() if "slow_sizes" in name)
    tasks = walk_of(claim, seed=0, budget=2, level=1e-3)
    record = walk_record(claim, run_keyed(tasks, limit=60.0, most=6.0))
    slow = sum((task.setting or {})["n"] > 16 for task in tasks)  # a size is at least half of n
    assert slow
    assert slow <= record["unfinished"] < len(tasks)
    assert "failed" not in record
    assert record["where"] == []


class Ended:
    """A process that has ended, and the connection to it."""

    def __init__(self, code):
        self.exitcode = code

    def join(self):
        pass

    kill = close = join

    def recv(self):
        raise EOFError


class Saying(Ended):
    """A process that says the same again and again."""

    def __init__(self, *words):
        super().__init__(0)
        self.words = words

    def recv(self):
        return self.words


@pytest.mark.parametrize(
    ("limits", "moment", "reason"),
    [((60.0, None), 59.9, ""), ((60.0, None), 60.0, "stopped after 60 s without a result"), ((None, 90.0), 89.9, ""),
     ((None, 90.0), 90.0, "stopped after 90 s"), ((60.0, 30.0), 30.0, "stopped after 30 s")],
)  # fmt: skip
def test_a_trial_or_a_task_that_takes_too_long_is_late(monkeypatch, claims, limits, moment, reason):
    now = [100.0]
    monkeypatch.setattr(_keyed, "_clock", lambda: now[0])
    worker = _keyed._Worker(limits, run_trials, contextlib.nullcontext, (0, 1))
    worker._process = worker.end = Saying("trial", {"n": 16, "law": "odd"}, 3)
    worker.task = task = walk_of(claims[1]["AllSizes"], seed=0, budget=2, level=1e-3)[0]
    assert worker.read() is None, "a trial has begun"
    now[0] += moment
    found = worker.late()
    if not reason:
        assert found is None
        assert worker.task is task
        return
    assert found.late
    assert worker.task is None
    assert (found.task, found.verdict.status, found.verdict.seconds) == (task, "failed", 100.0 + moment)
    assert found.verdict.reason.startswith(f"{reason}, in the compiled call that starts with trial 3 (seed 0, n=16")


@pytest.mark.parametrize("code", [1, 127, -6])
@pytest.mark.parametrize("limited", [True, False])
def test_processes_that_end_before_they_begin_end_the_walk_where_memory_is_limited(monkeypatch, claims, code, limited):
    limits = [Limit("the address space", 2**30, 0, True)] if limited else []
    monkeypatch.setattr(_keyed, "own_limits", lambda: limits)
    worker = _keyed._Worker((60.0, None), run_trials, contextlib.nullcontext, (0, 1))
    worker._process = worker.end = Ended(code)
    worker._tries = _keyed.ATTEMPTS - 1
    worker.task = walk_of(claims[1]["AllSizes"], seed=0, budget=2, level=1e-3)[0]
    by = f"signal {-code}" if code < 0 else f"exit code {code}"
    if limited:
        with pytest.raises(MemoryError, match=f"ended before it judged its first claim; the last one ended by {by}"):
            worker.read()
    else:
        done = worker.read()
        assert f"the process ended by itself ({by})" in done.verdict.reason
        assert not done.late


def test_the_cheapest_come_first_and_what_is_walked_is_left_out(monkeypatch):
    claims = list(registry().values())[::100]
    price = lambda claim: costs()[type(claim).__name__] * len(places(claim.population.settings()))
    ordered = walking._in_order(claims, False)
    assert [price(own) for own in ordered] == sorted(price(own) for own in ordered)
    known = {
        claims[0].name: {"walk": {"fingerprint": fingerprint_of(claims[0])}},
        claims[1].name: {"walk": {"fingerprint": "old"}},
    }
    monkeypatch.setattr(catalogue, "records", lambda: known)
    assert {own.name for own in claims} - {own.name for own in walking._in_order(claims, False)} == {claims[0].name}
    assert len(walking._in_order(claims, True)) == len(claims)


def test_the_command_names_the_settings_and_its_exit_code_says_it(claims):
    path, _ = claims
    result = CliRunner().invoke(app, ["verify", f"{path}:SmallSizes", "--edges", "--budget", "40"])
    assert result.exit_code == 1, result.output
    assert "refuted at n=64, law=even" in result.output
    result = CliRunner().invoke(app, ["walk", f"{path}:AllSizes", "--budget", "40", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["left"] == []
    result = CliRunner().invoke(app, ["walk"])
    assert result.exit_code == 2
    assert "--all or --subject" in result.stderr
    result = CliRunner().invoke(app, ["walk", f"{path}:AllSizes", "--minutes", "0"])
    assert result.exit_code == 2, "a run that did nothing is no success"
