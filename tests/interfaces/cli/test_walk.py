"""`lemmata walk` and `mutate`: options reach the judge, each claim is told, the exit code is right; no trial is run."""

import json
import types

import jax
import pytest
from typer.testing import CliRunner

from lemmata.engine import catalogue
from lemmata.engine import claims as engine
from lemmata.engine.claims import Judged, Status, Verdict, load_file
from lemmata.interfaces.cli import _console, _mutate, _walk, app

RUNNER = CliRunner()
NAMES = ["mine.one", "mine.other"]
FILE = '''
from lemmata.engine.claims import AtMost, Claim, Control, Integer, Population, Source, Space

class Sizes(Population):
    """A size."""
    settings = Space(n=Integer(4, 2, 60))
    def sample(self, setting, key): return setting["n"]
    def hypotheses(self, problem): return []

class One(Claim):
    """A size is at most 60."""
    title = "Sizes"
    source = Source("euclid", "I.1", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Sizes()
    relation = AtMost()
    control = Control("a third", lambda value, problem: value / 3)
    controls = unexplained = "sizes"
    trivial = "a size has no bound of its own"
    predict = 60.0
    def measure(self, problem, key): return problem

class Other(One):
    """A size is at most 60, once more."""
'''


class Fake:
    """Stands for the processes that judge: each setting gets the status that a test says, or Ctrl-C comes there."""

    def __init__(self):
        self.statuses: dict[str, object] = {}
        self.limits: dict[str, object] = {}
        self.tasks: list = []
        self.unrecorded = ""

    def __call__(self, tasks, **limits):
        self.limits = limits
        for task in tasks:
            self.tasks.append(task)
            said = self.statuses.get(task.claim.name, Status.SUPPORTED)
            if said is KeyboardInterrupt:
                raise KeyboardInterrupt
            verdict = Verdict(task.claim.name, task.claim.source, task.setting, task.seed, task.level, 3, 3, 0.1,
                              Status(said), "a reason [of] it")  # fmt: skip
            yield Judged(task, verdict, self.unrecorded)


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """A fake judge, a file of claims, and the walks that were written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    fake = Fake()
    fake.written = []  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(engine, "run_keyed", fake)
    monkeypatch.setattr(engine._walk, "prints", lambda *given: types.SimpleNamespace(whole="print"))
    monkeypatch.setattr(engine, "write_beside", lambda *told: fake.written.append((told[0].name, *told[1:])))
    return fake


def walk(*words, claims=("One", "Other")):
    return RUNNER.invoke(app, ["walk", *(f"mine.py:{own}" for own in claims), *words, "--ledger", "l.sqlite"])


def test_options_of_a_walk_reach_the_judge(judge):
    assert walk().exit_code == 0
    number = len(judge.tasks) // 2
    assert number == 6, "two ends and four settings between"
    for task in judge.tasks:
        assert (task.seed, task.budget, task.corners, task.level) == (0, None, 0, 1e-3 / number)
    given = {name: judge.limits[name] for name in ("limit", "most", "jobs")}
    assert given == {"limit": 60.0, "most": 120.0, "jobs": 1}
    first = [task.setting for task in judge.tasks]
    judge.tasks.clear()
    words = "--seed=7 --budget=9 --level=0.012 --trial-seconds=5 --place-seconds=11 --jobs=3"
    assert walk(*words.split()).exit_code == 0
    assert [task.setting for task in judge.tasks] != first
    for task in judge.tasks:
        assert (task.seed, task.budget, task.level) == (7, 9, 0.012 / number)
    assert {name: judge.limits[name] for name in given} == {"limit": 5.0, "most": 11.0, "jobs": 3}


def test_each_claim_of_a_walk_is_told_with_each_setting_that_fails(judge, monkeypatch):
    monkeypatch.setattr(_console, "out", _console._Results(width=20))  # lines are not broken where a terminal is narrow
    judge.statuses = {"mine.other": Status.REFUTED}
    done = walk("--write")
    assert done.exit_code == 1, done.output
    lines = done.stdout.splitlines()
    assert lines[:2] == ["mine.one  walked: 6 settings, 6 supported", "mine.other  walked: 6 settings, 6 refuted"]
    settings = [task.setting for task in judge.tasks[6:]]
    assert lines[2:] == [f"  refuted at n={setting['n']}: a reason [of] it" for setting in settings]
    assert [(name, what) for name, what, _ in judge.written] == [(name, "walk") for name in NAMES]
    assert [own["refuted"] for _, _, own in judge.written if "refuted" in own] == [6]


def test_the_record_of_a_walk_is_printed_alone(judge):
    judge.statuses = {"mine.other": Status.REFUTED}
    done = walk("--json")
    told = json.loads(done.stdout)
    assert list(told["claims"]) == NAMES
    assert told["left"] == []
    assert [len(own["where"]) for own in told["claims"].values()] == [0, 6]
    assert judge.written == []


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (("supported", "supported"), 0), (("supported", "refuted"), 1), (("refuted", "failed"), 4),
        (("supported", "failed"), 4), (("inconclusive", "inconclusive"), 0), (("vacuous", "inapplicable"), 0),
        (("inapplicable", "inapplicable"), 3), (("failed", "failed"), 4),
    ],
)  # fmt: skip
def test_the_exit_code_of_a_walk(judge, statuses, code):
    judge.statuses = dict(zip(NAMES, statuses, strict=True))
    assert walk().exit_code == code


def test_trials_of_a_walk_that_are_not_recorded_are_told(judge):
    judge.statuses = {"mine.other": Status.REFUTED}
    judge.unrecorded = "the disk is full"
    done = walk()
    assert done.exit_code == 4
    assert "Not recorded: the disk is full" in done.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_leaves_the_walks_that_were_finished(judge, as_json):
    judge.statuses = {"mine.other": KeyboardInterrupt}
    done = walk(*["--json"][: int(as_json)])
    assert done.exit_code == 130
    if as_json:
        told = json.loads(done.stdout)
        assert (list(told["claims"]), told["left"]) == (NAMES[:1], NAMES[1:])
        return
    assert done.stdout.splitlines() == [
        "mine.one  walked: 6 settings, 6 supported", "Claims not tested, because the walk was interrupted: 1.",
    ]  # fmt: skip
    judge.statuses = dict.fromkeys(NAMES, KeyboardInterrupt)
    done = walk()
    assert (done.exit_code, done.stdout) == (130, "")
    assert "Interrupted before any result was finished." in done.stderr


def test_a_walk_whose_time_is_over_says_how_many_claims_are_left(judge, monkeypatch):
    clock = iter([0.0, 59.0, 61.0])
    monkeypatch.setattr(_walk, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    done = walk("--minutes", "1")
    assert done.exit_code == 3, done.output
    assert done.stdout.splitlines()[-1] == "Claims not tested, because time ran out: 1."


SHARED = ["--level 0.5", "--level 0", "--seed -1", "--budget 0", "--minutes 0", "--subject no_such_subject"]


@pytest.mark.parametrize(
    ("command", "words"),
    [(command, words) for command in ("walk", "mutate") for words in SHARED]
    + [("walk", "--trial-seconds 0"), ("walk", "--place-seconds inf")],
)
def test_options_that_no_run_takes_are_refused_before_it_begins(judge, command, words):
    done = RUNNER.invoke(app, [command, "mine.py:One", *words.split(), "--ledger", "l.sqlite"])
    assert done.exit_code == 2, done.output
    assert words.split()[0].strip("-") in done.stderr
    assert judge.tasks == []


@pytest.mark.parametrize("command", ["walk", "mutate"])
def test_claims_are_chosen_by_name_by_subject_or_all(judge, monkeypatch, command):
    done = RUNNER.invoke(app, [command])
    assert done.exit_code == 2
    assert "no claim" in done.stderr
    own = list(load_file("mine.py").values())[:2]
    registry = {f"{subject}.section.{k}": own[k] for k, subject in enumerate(("wide", "spectra"))}
    for name, claim in registry.items():
        monkeypatch.setattr(type(claim), "name", name)
    monkeypatch.setattr(engine, "registry", lambda: registry)
    found = []
    monkeypatch.setattr(_walk, "_walked", lambda chosen, *given: found.append([each.name for each in chosen]) or [])
    monkeypatch.setattr(_mutate, "_mutated", lambda chosen, *given: found.append([each.name for each in chosen]) or [])
    for words, names in (
        (["--all"], list(registry)), (["--subject", "wide"], list(registry)[:1]),
        (["--all", "--subject", "spectra"], list(registry)[1:]),
    ):  # fmt: skip
        RUNNER.invoke(app, [command, *words, "--ledger", "l.sqlite"])
        assert sorted(found.pop()) == sorted(names), words


def test_claims_with_a_recorded_walk_are_left_out_unless_they_are_named(judge, monkeypatch):
    own = {claim.name: claim for claim in load_file("mine.py").values() if claim.name in NAMES}
    known = {NAMES[0]: {"walk": {"fingerprint": engine.fingerprint_of(own[NAMES[0]])}}}
    monkeypatch.setattr(engine, "registry", lambda: own)
    monkeypatch.setattr(catalogue, "records", lambda: known)
    for words, names in ((["--all"], NAMES[1:]), (["--all", "--again"], NAMES), (["mine.py:One"], NAMES[:1])):
        judge.tasks.clear()
        done = RUNNER.invoke(app, ["walk", *words, "--ledger", "l.sqlite"])
        assert done.exit_code == 0, done.output
        assert sorted({task.claim.name for task in judge.tasks}) == names
        assert "Nothing to test" not in done.stderr
    known[NAMES[1]] = {"walk": {"fingerprint": engine.fingerprint_of(own[NAMES[1]])}}
    done = RUNNER.invoke(app, ["walk", "--all", "--ledger", "l.sqlite"])
    assert done.exit_code == 0
    assert "Nothing to test" in done.stderr


def test_a_walk_computes_in_double_precision(judge):
    jax.config.update("jax_enable_x64", False)
    try:
        walk()
        assert jax.config.read("jax_enable_x64")
    finally:
        jax.config.update("jax_enable_x64", True)
