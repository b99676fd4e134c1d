"""A run that did nothing, or could not keep what it did, does not have the exit code of one that did."""

import inspect
import json

import pytest
from typer.testing import CliRunner

from lemmata.engine.ledger import FullDiskError, Ledger, open_ledger
from lemmata.interfaces.cli import app
from tests.engine.refutations import untested

RUNNER = CliRunner()


@pytest.fixture
def claims(tmp_path):
    """A file of claims on which a search has nothing to say."""
    file = tmp_path / "mine.py"
    file.write_text(inspect.getsource(untested))
    return file


@pytest.mark.parametrize(
    ("claim", "code", "words"),
    [
        ("Raises", 4, "was not tested (failed): no problem gave a number: trial 0: ValueError: no measurement"),
        ("NotANumber", 4, "was not tested (failed)"),
        ("Leaves", 4, "SystemExit"),
        ("Outside", 3, "was not tested (inapplicable): no problem satisfied the hypotheses"),
        ("Holds", 0, "survived"),
    ],
)
def test_a_search_that_tested_nothing_has_the_exit_code_of_verify(claims, claim, code, words):
    done = RUNNER.invoke(app, ["refute", f"{claims}:{claim}", "--minutes", "0.001"])
    assert done.exit_code == code, done.output
    assert words in done.stdout
    assert ("survived" in done.stdout) == (code == 0)


def test_the_record_of_a_search_says_whether_it_tested_anything(claims):
    done = RUNNER.invoke(app, ["refute", f"{claims}:Raises", "--minutes", "0.001", "--json"])
    assert done.exit_code == 4
    assert [row["tested"] for row in json.loads(done.stdout)] == [False]
    assert "was not tested" in done.stderr


def test_a_claim_that_ends_the_program_has_failed(claims, tmp_path):
    done = RUNNER.invoke(app, ["verify", f"{claims}:Leaves", "--ledger", str(tmp_path / "l.sqlite")])
    assert done.exit_code == 4
    assert "called sys.exit(0)" in " ".join(done.stdout.split())


def test_a_claim_that_ends_the_program_takes_no_other_with_it(claims, tmp_path):
    words = ["--ledger", str(tmp_path / "l.sqlite"), "--budget", "3"]
    done = RUNNER.invoke(app, ["verify", f"{claims}:Holds", f"{claims}:Leaves", *words])
    assert done.exit_code == 4, done.output
    assert "mine.holds" in done.stdout
    assert "called sys.exit(0)" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", ["walk", "mutate"])
@pytest.mark.parametrize("minutes", ["0", "-1", "nan"])
def test_a_time_in_which_nothing_can_be_done_is_refused(claims, command, minutes):
    done = RUNNER.invoke(app, [command, f"{claims}:Holds", "--minutes", minutes])
    assert done.exit_code == 2
    assert "a finite number above 0" in done.stderr


@pytest.mark.parametrize(("claim", "code"), [("Raises", 4), ("Outside", 3)])
def test_a_mutation_without_a_trial_that_counts_is_not_done(claims, tmp_path, claim, code):
    done = RUNNER.invoke(app, ["mutate", f"{claims}:{claim}", "--ledger", str(tmp_path / "l.sqlite")])
    assert done.exit_code == code, done.output


@pytest.mark.parametrize(("claim", "code"), [("Raises", 4), ("Outside", 3), ("Holds", 0)])
def test_a_walk_without_a_trial_that_counts_is_not_done(claims, tmp_path, claim, code):
    words = ["--budget", "4", "--ledger", str(tmp_path / "l.sqlite")]
    done = RUNNER.invoke(app, ["walk", f"{claims}:{claim}", *words])
    assert done.exit_code == code, done.output
    assert ("Nothing was tested: no trial satisfied the hypotheses" in done.stderr) == (claim == "Outside")


@pytest.mark.parametrize(
    "others", [["--json"], ["--set", "n=5"], ["--jobs", "2"], ["--out", "found"], ["--storage", "s.db"]]
)
def test_an_option_that_needs_would_leave_unheeded_is_refused(claims, others):
    done = RUNNER.invoke(app, ["refute", f"{claims}:Holds", "--needs", "--minutes", "0.001", *others])
    assert done.exit_code == 2, done.output
    assert f"--needs with {others[0]}" in done.stderr


def test_a_search_for_the_catalogue_does_not_leave_processes_unused(claims):
    done = RUNNER.invoke(app, ["refute", f"{claims}:Holds", "--write", "--minutes", "0.001", "--jobs", "2"])
    assert done.exit_code == 2, done.output
    assert "--write with --jobs" in done.stderr


def test_ctrl_c_prints_the_hypotheses_that_were_tried(claims):
    text = claims.read_text().replace("after = 10**9", "after = 1")  # one for the look at its answers
    claims.write_text(text)
    words = ["refute", f"{claims}:Holds", f"{claims}:CutShort", "--needs", "--minutes", "0.001"]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 130, done.output
    assert done.stdout == "at most 1: no counterexample was found without this hypothesis\n"
    assert "Interrupted; only the hypotheses above were tested." in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["list"], 2, "no run"),
        (["list", "line_by_ramps"], 2, "no trial or verdict of line_by_ramps"),
        (["export", "trials.parquet"], 2, "no trial"),
        (["compare", "1", "2"], 3, "nothing was compared"),
    ],
)
def test_a_ledger_that_has_nothing_of_what_is_asked_says_so(tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    with open_ledger("l.sqlite") as ledger:
        for _ in range(0 if words == ["list"] else 2):
            ledger.begin("a run that was killed", 0)
    done = RUNNER.invoke(app, ["ledger", *words, "--ledger", "l.sqlite"])
    assert done.exit_code == code, done.output
    assert said in done.output
    assert [entry.name for entry in tmp_path.iterdir() if "parquet" in entry.name] == []


def _full(*given, **options):
    raise FullDiskError("ledger l.sqlite", found="database or disk is full")


@pytest.mark.parametrize("place", ["begin", "add_trials", "add_verdict"])
def test_a_verdict_that_cannot_be_recorded_is_told_all_the_same(claims, tmp_path, monkeypatch, place):
    monkeypatch.setattr(Ledger, place, _full)
    words = ["--budget", "3", "--corners", "0", "--ledger", str(tmp_path / "l.sqlite")]
    done = RUNNER.invoke(app, ["verify", f"{claims}:Holds", *words])
    assert done.exit_code == 4, done.output
    assert "3 of 3 trials judged" in done.stdout
    assert done.stderr.count("Not recorded: ledger l.sqlite; found database or disk is full") == 1


@pytest.mark.parametrize(("place", "after"), [("begin", False), ("add_trials", True), ("add_verdict", True)])
def test_a_ledger_that_is_removed_during_the_run_is_told(claims, tmp_path, monkeypatch, place, after):
    path, own = tmp_path / "l.sqlite", getattr(Ledger, place)

    def removed(ledger, *given):
        if after:
            path.unlink(missing_ok=True)
        found = own(ledger, *given)
        path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(Ledger, place, removed)
    done = RUNNER.invoke(app, ["verify", f"{claims}:Holds", "--budget", "3", "--corners", "0", "--ledger", str(path)])
    assert done.exit_code == 4, done.output
    assert "3 of 3 trials judged" in done.stdout
    assert done.stderr.count("the file was removed or replaced during the run") == 1


@pytest.mark.parametrize("place", ["begin", "add_trials"])
def test_mutations_whose_trials_cannot_be_recorded_are_told_all_the_same(claims, tmp_path, monkeypatch, place):
    monkeypatch.setattr(Ledger, place, _full)
    done = RUNNER.invoke(app, ["mutate", f"{claims}:Holds", "--ledger", str(tmp_path / "l.sqlite")])
    assert done.exit_code == 4, done.output
    assert "mutations noticed" in done.stdout
    assert done.stderr.count("Not recorded: ledger l.sqlite; found database or disk is full") == 1


def test_a_counterexample_that_cannot_be_written_is_told_all_the_same(claims, tmp_path):
    (tmp_path / "taken").write_text("a file")
    claims.write_text(claims.read_text().replace("jnp.asarray(1.0)", "jnp.asarray(0.1)"))
    words = ["refute", f"{claims}:Holds", "--minutes", "0.001", "--out", str(tmp_path / "taken")]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 4, done.output
    assert "is false" in done.stdout
    assert "the counterexample could not be written" in done.stderr


def test_ctrl_c_prints_the_searches_that_were_finished(claims):
    text = claims.read_text().replace("after = 10**9", "after = 1")  # one for the look at its answers
    claims.write_text(text)
    words = ["refute", f"{claims}:Holds", f"{claims}:CutShort", "--minutes", "0.001", "--json"]
    done = RUNNER.invoke(app, words)
    assert done.exit_code == 130, done.output
    assert [row["claim"] for row in json.loads(done.stdout)] == ["mine.holds"]
    assert "Interrupted" in done.stderr
