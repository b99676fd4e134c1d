"""Many claims in one run: limits, what is left, what continues, what changed, what cannot be recorded."""

import itertools
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import JudgingTask, find, load_file, registry, run_keyed
from lemmata.engine.claims import _keyed as keyed
from lemmata.engine.ledger import open_ledger
from lemmata.errors import DataError, UnknownNameError
from lemmata.interfaces.cli import _refute, app
from lemmata.interfaces.cli._compilations import kept_compilations
from lemmata.interfaces.cli._family import Family
from tests.executors import ready_processes

RUNNER = CliRunner()
HERE = pathlib.Path(__file__).parent
CLAIMS = '''
import jax, jax.numpy as jnp
from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Population, Source, Space

class Uniform(Population):
    """A uniform number."""
    def settings(self): return Space()
    def sample(self, setting, key): return jax.random.uniform(key)
    def hypotheses(self, problem): return []

class AbstractBound(Claim):
    title = "Bound"
    source = Source("euclid", "I.1", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Uniform()
    relation = AtMost()
    control = Control("at most a half", lambda value, problem: value / 2)
    trivial = "a number has no bound"
    controls, unexplained, trials = "a number", "nothing", 140
    def predict(self, problem): return jnp.asarray(1.0)
    def measure(self, problem, key): return problem

class Alpha(AbstractBound):
    "A uniform number is at most 1."
class Beta(AbstractBound):
    "A uniform number is at most 1, again."
class Gamma(AbstractBound):
    "A uniform number is at most GAMMA with probability at least 0.95."
    relation = AtMost(delta=0.05)
    trials = 140
    def predict(self, problem): return jnp.asarray(GAMMA)
'''


def claim_file(folder, gamma="1.0", name="many.py"):
    (folder / name).write_text(CLAIMS.replace("GAMMA", gamma))
    return str(folder / name)


def run(*words, code=None):
    result = RUNNER.invoke(app, ["judge", *map(str, words), "--json"])
    assert code is None or result.exit_code == code, result.output
    return json.loads(result.stdout) if result.stdout.startswith("{") else result


@pytest.fixture
def quick_processes(monkeypatch):
    """Processes from one that has imported everything and computed nothing."""
    ready_processes()
    monkeypatch.setattr(keyed, "_METHOD", "forkserver")


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """A folder in which a claim says that it hangs now; for the limit an age passes with each that does."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr(keyed, "_clock", lambda: time.monotonic() + 1e5 * len(list(folder.glob("late-*"))))
    monkeypatch.setattr(keyed, "_LOOK", 0.1)
    return folder


@pytest.mark.usefixtures("quick_processes")
def test_claims_that_hang_raise_die_or_give_nan_are_named_with_their_key_and_the_rest_goes_on(tmp_path, marks):
    path = shutil.copy(HERE / "keyed_claims.py", tmp_path / "mine.py")
    ledger = tmp_path / "l.sqlite"
    record = run(path, "--trial-seconds", 5000, "--budget", 12, "--ledger", ledger, "--out", tmp_path / "page", code=4)
    rows = {row["name"].removeprefix("mine."): row for row in record["rows"]}
    assert [rows[name]["status"] for name in ("first", "last")] == ["inconclusive"] * 2
    assert {rows[name]["judged"] for name in ("first", "last")} == {12}
    failed = {name for name, row in rows.items() if row["status"] == "failed"}
    assert failed == {"hangs", "hangs_inside", "raises", "not_a_number", "dies"}
    assert rows["hangs"]["reason"] == "stopped after 5000 s without a result, in trial 3 (seed 0, n=4)"
    assert "in the compiled call that starts with trial 0 (seed 0, n=4)" in rows["hangs_inside"]["reason"]
    assert "trial 1: ValueError: a matrix that is no matrix" in rows["raises"]["reason"]
    assert "first: trial" in rows["not_a_number"]["reason"]
    assert rows["dies"]["reason"] == "the process ended by itself (signal 9), before the first trial (seed 0, n=4)"
    with open_ledger(ledger) as opened:
        known = opened.query("SELECT number FROM trials WHERE claim = 'mine.hangs'")
        assert [row["number"] for row in known] == [0, 1, 2]
        assert len(opened.query("SELECT DISTINCT claim FROM verdicts")) == 7
        assert opened.check() == []
    page = (tmp_path / "page" / "index.html").read_text()
    assert "Lemma &lt;1&gt;" in page
    assert "<1>" not in page


@pytest.mark.usefixtures("quick_processes")
def test_two_processes_judge_as_one_does(tmp_path):
    claims = load_file(claim_file(tmp_path))
    tasks = lambda: [JudgingTask(claim) for claim in claims.values()]
    plain = lambda found: {own.verdict.name: {**own.verdict.to_json(), "seconds": 0} for own in found}
    alone = plain(run_keyed(tasks()))
    assert len(alone) == 3
    assert plain(run_keyed(tasks(), jobs=2, limit=5000.0)) == alone
    (tmp_path / "many.py").unlink()
    (lost, *_) = run_keyed([JudgingTask(claims["many.alpha"])], limit=5000.0)
    assert lost.verdict.status == "failed"
    assert "existing Python file" in lost.verdict.reason


def test_what_a_process_compiles_is_kept_also_where_another_takes_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("LEMMATA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(keyed, "_A_PROCESS", 1)
    claims = load_file(claim_file(tmp_path))
    two = list(claims.values())[:2]
    tasks = [JudgingTask(claim) for claim in two]
    place, kept = tmp_path / "cache" / "compilations", []
    for _ in run_keyed(tasks, limit=5000.0, around=kept_compilations):
        kept.append(len(list(place.glob("entries/*/*-cache"))))
    assert kept[0] == 0 < kept[1] <= len(list(place.glob("entries/*/*-cache")))
    assert list((place / "runs").iterdir()) == []


def test_what_there_is_no_time_for_is_left_and_taken_by_the_next_run(tmp_path, monkeypatch):
    path, ledger = claim_file(tmp_path), tmp_path / "l.sqlite"
    ticks = itertools.count(0.0, 25.0)
    monkeypatch.setattr("lemmata.interfaces.cli._family_run._clock", lambda: next(ticks))
    first = run(path, "--minutes", 1, "--ledger", ledger, code=3)
    assert (first["judged"], len(first["rows"]), len(first["left"])) == (2, 2, 1)
    assert {row["level"] for row in first["rows"]} == {1e-3 / 3, 1e-3 / 2}  # the one that was left counts
    ticks = itertools.count(0.0, 25.0)
    second = run(path, "--minutes", 1, "--ledger", ledger, code=0)
    assert (second["judged"], len(second["rows"]), second["left"]) == (1, 3, [])
    assert [row["name"] for row in second["rows"] if not row["known"]] == first["left"]
    third = run(path, "--out", tmp_path, "--ledger", ledger, code=0)
    assert third["judged"] == 0
    whole = run(path, "--out", tmp_path, "--ledger", tmp_path / "other.sqlite", code=0)
    bare = lambda record: [{**row, "seconds": 0, "known": 0} for row in record["rows"]]
    assert bare(third) == bare(whole)


def test_a_verdict_stands_only_for_the_same_code_seed_budget_and_level(tmp_path):
    path, ledger = claim_file(tmp_path), ("--ledger", tmp_path / "l.sqlite", "--out", tmp_path)
    judged = lambda *words: run(f"{path}:Alpha", *ledger, *words, code=0)["judged"]
    assert [judged(), judged(), judged("--seed", 1), judged("--budget", 150)] == [1, 0, 1, 1]
    assert [judged("--level", 0.01), judged()] == [1, 0]
    with pathlib.Path(path).open("a") as file:
        file.write("# other code\n")
    assert judged() == 1


def test_changes_since_the_last_run_are_named_with_their_reasons(tmp_path):
    path, ledger = claim_file(tmp_path), ("--ledger", tmp_path / "l.sqlite", "--out", tmp_path / "page")
    assert run(path, *ledger, "--budget", 20)["changes"] == []
    more = {own["claim"]: own for own in run(path, *ledger)["changes"]}
    assert {own["before"] for own in more.values()} == {"inconclusive"}
    assert all(own["why"] == ["more trials"] for own in more.values())
    claim_file(tmp_path, gamma="0.5")
    record = run(path, *ledger, "--seed", 3, code=1)
    (change,) = record["changes"]
    assert (change["claim"], change["after"], change["why"]) == ("many.gamma", "refuted", ["code", "seed"])
    page = (tmp_path / "page" / "index.html").read_text()
    assert "many.gamma" in page
    assert "code, seed" in page
    said = RUNNER.invoke(app, ["judge", path, *map(str, ledger), "--seed", "3"])
    assert "3 of 3 claims were judged (3 of them from the ledger), 1 with an unexpected verdict" in said.stdout
    assert "The family-wise level is 0.001 over 3 claims (Holm's procedure on p-values)" in " ".join(
        said.stdout.split()
    )


def test_a_run_that_continues_takes_fresh_seeds_and_its_evidence_refutes(tmp_path):
    """Gamma fails with probability 0.13 where 0.05 is allowed: no session of 60 trials refutes, all together do."""
    path, ledger = claim_file(tmp_path, gamma="0.87"), tmp_path / "l.sqlite"
    words = (f"{path}:Gamma", "--continue", "--budget", 60, "--ledger", ledger)
    found = []
    for _ in range(8):
        record = run(*words)
        found.append({row["name"]: row for row in record["rows"]}["many.gamma"])
        if found[-1]["status"] == "refuted":
            break
    assert [row["status"] for row in found] == ["inconclusive"] * (len(found) - 1) + ["refuted"]
    assert 2 <= len(found) < 8
    assert found[-1]["p_value"] <= 1e-3
    assert "evidence of all sessions" in found[-1]["reason"]
    assert record["method"] == "e-values"
    assert "however often you continue" in record["sentence"]
    with open_ledger(ledger) as opened:
        seeds = opened.query("SELECT DISTINCT seed FROM verdicts WHERE claim = 'many.gamma' ORDER BY seed")
        assert [row["seed"] for row in seeds] == list(range(len(found)))
        rows = opened.query("SELECT DISTINCT seed, number FROM trials WHERE claim = 'many.gamma'")
    assert len(rows) == 60 * len(found)


def test_what_is_new_is_judged_before_what_is_known(tmp_path):
    path, ledger = claim_file(tmp_path), ("--ledger", str(tmp_path / "l.sqlite"))
    assert RUNNER.invoke(app, ["judge", f"{path}:Alpha", *ledger]).exit_code == 0
    said = RUNNER.invoke(app, ["judge", path, "--continue", *ledger]).stderr
    order = [line.split()[2] for line in said.splitlines() if line.startswith("[")]
    assert order[-1] == "many.alpha"
    assert len(order) == 3


def test_several_processes_begin_what_took_longest(tmp_path, monkeypatch):
    path, ledger = claim_file(tmp_path), tmp_path / "l.sqlite"
    judge = ["judge", path, "--ledger", str(ledger)]
    RUNNER.invoke(app, judge)
    with open_ledger(ledger) as opened:
        rows = opened.query("SELECT claim, seconds FROM verdicts ORDER BY seconds DESC")
    given = []

    def alone(tasks, **_):
        for task in tasks:
            given.append(task.claim.name)
            yield from run_keyed([task])

    monkeypatch.setattr("lemmata.engine.claims.run_keyed", alone)
    RUNNER.invoke(app, [*judge, "--seed", "1", "--jobs", "2"])
    assert given == [row["claim"] for row in rows]
    assert len(given) == 3


def test_a_process_goes_on_with_the_section_whose_functions_it_has_compiled():
    known = [JudgingTask(own) for own in registry().values() if own.name.startswith(("approximation.", "attention."))]
    sections = list(dict.fromkeys(task.section for task in known))
    first, second, third = sections[:3]
    left = list(known)
    assert keyed._taken(left, "", set()) is known[0]
    assert keyed._taken(left, second, {first}).section == second
    assert keyed._taken(left, "", {first, second}).section == third
    own = [task for task in left if task.section == first]
    assert [keyed._taken(left, first, {second}) for _ in own] == own
    only = [task for task in left if task.section == second][:1]
    assert keyed._taken(only, first, {second}).section == second
    assert keyed._taken(only, first, {second}) is None


def test_filters_combine():
    known = registry().values()
    chosen = lambda **words: Family(**words).claims(None)
    subject = chosen(subject=["optimisation"])
    assert subject == [claim for claim in known if claim.name.startswith("optimisation.")]
    source = subject[0].source.key
    both = chosen(subject=["optimisation"], source=source)
    assert both == [claim for claim in subject if claim.source.key == source]
    assert chosen(subject=["state-space"]) == chosen(subject=["state_space"])
    section = ".".join(subject[0].name.split(".")[:2])
    assert chosen(subject=[section]) == find(section)
    assert chosen(subject=[f"state_space,{section}"]) == chosen(subject=[section, "state_space"])
    assert len(chosen(subject=[section, "state_space"])) == len(find(section)) + len(chosen(subject=["state_space"]))
    with pytest.raises(UnknownNameError, match="did you mean optimisation"):
        chosen(subject=["optimization"])
    with pytest.raises(UnknownNameError, match="--source"):
        chosen(subject=["optimisation"], source="nobody1999")


def test_a_list_and_a_search_choose_the_same_claims_of_a_subject(monkeypatch):
    listed = json.loads(RUNNER.invoke(app, ["list", "--subject", "phases,optimisers.decay", "--json"]).stdout)
    searched = []
    monkeypatch.setattr(_refute, "_found", lambda executor, own, *_: searched.extend(own) or ())
    done = RUNNER.invoke(app, ["refute", "--subject", "optimisers.decay", "--subject", "phases"])
    assert done.exit_code == 0, done.output
    assert [row["name"] for row in listed] == [claim.name for claim in searched]
    assert {row["subject"] for row in listed} == {"phases", "optimisers"}


def test_a_page_that_cannot_be_written_costs_no_verdict(tmp_path):
    path, ledger = claim_file(tmp_path), tmp_path / "l.sqlite"
    (tmp_path / "taken").write_text("")
    result = RUNNER.invoke(app, ["judge", path, "--out", str(tmp_path / "taken"), "--ledger", str(ledger)])
    assert result.exit_code == 4
    assert "3 of 3 claims were judged" in result.stdout
    assert "taken" in result.stdout


@pytest.fixture(params=["tmpfs", "limit"])
def filled(request, tmp_path):
    """A folder, and what a claim does to have no room left in it."""
    if request.param == "limit":
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        # Python would keep halves of what it compiles.
        yield (
            tmp_path,
            (
                "import resource, sys; sys.dont_write_bytecode = True; "
                "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, -1))"
            ),
        )
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no right to mount")
    fill = f"with open({str(place / 'filler')!r}, 'wb', 0) as file:\n            while file.write(bytes(4096)): pass"
    yield place, f"try:\n        {fill}\n    except OSError: pass"
    subprocess.run(["umount", str(place)], check=True)


def test_on_a_full_disk_every_verdict_is_told_and_what_was_written_is_whole(filled, tmp_path):
    place, fill = filled
    ledger, path = place / "l.sqlite", claim_file(tmp_path)
    run(f"{path}:Alpha", "--out", tmp_path, "--ledger", ledger, code=0)
    text = pathlib.Path(path).read_text()
    filling = f"""
def fill():
    {fill}
class Delta(AbstractBound):
    "It fills the disk."
    traced, trials = False, 3
    def measure(self, problem, key):
        fill()
        return problem
"""
    pathlib.Path(path).write_text(text + filling)
    record = run(f"{path}:Delta", f"{path}:Alpha", f"{path}:Beta", "--minutes", 60, "--ledger", ledger, code=4)
    if place == tmp_path:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, -1))
    (place / "filler").unlink(missing_ok=True)  # a full disk does not even let the ledger be opened
    assert {row["name"]: row["status"] for row in record["rows"]}["many.beta"] == "supported"
    assert len(record["rows"]) == 3
    assert any((str(ledger) in note and "full" in note) or "disk" in note for note in record["notes"])
    assert all("\n" not in note and str(ledger) in note for note in record["notes"])
    assert any(note.startswith("many.delta, seed 0: the verdict was not recorded (ledger ") for note in record["notes"])
    with open_ledger(ledger) as opened:
        assert opened.check() == []
        assert opened.query("SELECT count(*) AS n FROM verdicts WHERE claim = 'many.alpha'")[0]["n"] >= 1
        assert opened.query("SELECT count(*) AS n FROM trials WHERE claim = 'many.alpha'")[0]["n"] >= 140


def test_a_ledger_without_permission_is_one_line_that_names_it(tmp_path):
    tmp_path.chmod(0o755)
    place = tmp_path / "closed"
    place.mkdir(mode=0o755)
    with open_ledger(place / "l.sqlite"):
        pass
    (place / "l.sqlite").chmod(0o444)
    script = (
        "import os\nfrom lemmata.errors import DataError\nfrom lemmata.engine.ledger import open_ledger\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)  # root may write anything\ntry:\n"
        f"    with open_ledger({str(place / 'l.sqlite')!r}) as own: own.begin('x', 0)\n"
        "except DataError as error: print('refused:', error)"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.startswith(f"refused: ledger {place / 'l.sqlite'}"), result.stderr
    assert result.stdout.count("\n") == 1


def test_a_ledger_that_cannot_be_opened_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    result = RUNNER.invoke(
        app, ["judge", claim_file(tmp_path), "--minutes", "1", "--ledger", str(tmp_path / "file/l.db")]
    )
    assert result.exit_code == 2
    assert str(tmp_path / "file/l.db") in result.stderr.replace("\n", "")
    with pytest.raises(DataError), open_ledger(tmp_path / "file/l.db"):
        pass
