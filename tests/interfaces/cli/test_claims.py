"""The commands about claims: what they print, and what their exit codes say."""

import json
import re
import runpy
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import AtMost, registry
from lemmata.engine.claims._calibrate import Calibration
from lemmata.engine.claims._families import Family
from lemmata.interfaces.cli import app

RUNNER = CliRunner()
BOUND = '''
"""Bounds of known truth."""
import jax
import jax.numpy as jnp
from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space

class Uniform(Population[jax.Array]):
    """A uniform number."""
    def settings(self): return Space(n=Integer(1, 1, 5))
    def sample(self, setting, key): return jax.random.uniform(key)
    def hypotheses(self, problem): return [Hypothesis("small", problem, "<=", THRESHOLD)]

class Bound(Claim):
    """A uniform number is at most LIMIT."""
    title = "Bound"
    source = Source("hoeffding1963", "test")
    population = Uniform()
    relation = AtMost()
    control = Control("at most a half", lambda value, problem: value / 2)
    controls = "a number"
    unexplained = "nothing"
    trivial = "TRIVIAL"
    trials = 140
    def predict(self, problem): return jnp.asarray(LIMIT)
    def measure(self, problem, key): return MEASURE
'''


def claim_file(path, limit="1.0", threshold="2.0", measure="problem"):
    text = BOUND.replace("LIMIT", limit).replace("THRESHOLD", threshold).replace("MEASURE", measure)
    (path / "mine.py").write_text(text)
    return str(path / "mine.py")


@pytest.mark.parametrize(
    ("options", "extra", "code", "status"),
    [
        ({}, [], 0, "supported"),
        ({"limit": "0.5"}, [], 1, "refuted"),
        ({}, ["--budget", "5"], 3, "inconclusive"),
        ({"threshold": "-1.0"}, [], 3, "inapplicable"),
        ({"measure": "problem / 0.0"}, [], 4, "failed"),
    ],
)
def test_exit_codes_say_the_verdict(tmp_path, options, extra, code, status):
    result = RUNNER.invoke(app, ["verify", claim_file(tmp_path, **options), "--json", *extra])
    assert result.exit_code == code, result.output
    assert json.loads(result.stdout)["status"] == status
    shown = RUNNER.invoke(app, ["verify", claim_file(tmp_path, **options), *extra])
    assert shown.exit_code == code
    assert shown.stdout.startswith(status)


@pytest.mark.parametrize(
    ("old", "new", "code", "status"),
    [
        ('Hypothesis("small", problem, "<=", 2.0)', 'Hypothesis.violated("large", "it is small")', 6, "outside"),
        ('trivial = "TRIVIAL"', "def trivial(self, problem): return jnp.asarray(0.9)", 5, "vacuous"),
    ],
)
def test_vacuous_and_outside_have_codes_of_their_own(tmp_path, old, new, code, status):
    path = tmp_path / "mine.py"
    claim_file(tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    result = RUNNER.invoke(app, ["verify", str(path)])
    assert (result.exit_code, result.stdout.split()[0]) == (code, status), result.output


def test_a_statement_is_found_by_its_number():
    assert "loss_progress" in RUNNER.invoke(app, ["show", "Lemma E.4"]).stdout
    assert "convergence" in RUNNER.invoke(app, ["list", "Theorem 4.2"]).stdout
    table = RUNNER.invoke(app, ["list", "--source", "gu2024softmax"]).stdout
    assert "no claim: " in table
    assert "statements of the source, " in table
    refused = RUNNER.invoke(app, ["list", "--source", "nobody"])
    assert refused.exit_code == 2
    assert "gu2024softmax" in refused.stderr


def test_loose_controls_are_listed_with_their_reasons():
    rows = json.loads(RUNNER.invoke(app, ["list", "--loose", "--json"]).stdout)
    assert {row["name"] for row in rows} == {c.name for c in registry().values() if c.control.loose}


def test_calibrate_prints_every_family():
    result = RUNNER.invoke(app, ["calibrate", "--repeats", "10", "--json"])
    rows = json.loads(result.stdout)
    assert len(rows) > 40
    assert {"false", "true"} >= {str(row["passed"]).lower() for row in rows}
    assert "| relation | family |" in RUNNER.invoke(app, ["calibrate", "--repeats", "10", "--markdown"]).stdout


@pytest.mark.parametrize(("limit", "error", "code"), [(0.5, "", 0), (0.4, "", 1), (0.4, "a worker was lost", 4)])
def test_a_calibration_is_told_in_figures(monkeypatch, limit, error, code):
    family = Family(AtMost(), "a true bound", "not refuted", 30, lambda rng, trials: (rng, rng))
    good = Calibration(family, 0.001, 20, 0.25, (0.125, limit), 0.5)
    lost = Calibration(family, 0.001, 20, 0.0, (0.0, 0.0), 0.5, error)
    monkeypatch.setattr("lemmata.engine.claims.calibrate", lambda *_a, **_k: [good, lost] if error else [good])
    run = lambda *options: RUNNER.invoke(app, ["calibrate", "--repeats", "20", "--seed", "3", *options])
    text, table, record = run(), run("--markdown"), run("--json")
    assert [own.exit_code for own in (text, table, record)] == [code] * 3
    assert error in text.stderr
    head, rule, row, _, said = table.stdout.splitlines()
    cells = ["AtMost", "a true bound", "not refuted", "30", "0.001", "0.2500", f"0.1250 to {limit:.4f}", "0.5"]
    assert row == f"| {' | '.join(cells)} |"
    assert head.count("|") == rule.count("|") == row.count("|")
    mark = "" if limit == 0.5 else "  NOT AS PROMISED"
    told = f"AtMost: a true bound not refuted at level 0.001, 30 trials: 0.2500, 0.1250 to {limit:.4f}, 0.5{mark}"
    assert " ".join(text.stdout.split()).startswith(" ".join(told.split()))
    wrong = int(limit < 0.5)
    assert said == (
        f"1 families of test claims were verified 20 times each (seed 3). In {wrong} of these families, the result is "
        "not as promised."
    )
    assert json.loads(record.stdout) == [
        {
            "relation": "AtMost", "family": "a true bound", "asked": "not refuted", "trials": 30, "level": 0.001,
            "rate": 0.25, "low": 0.125, "high": limit, "least": 0.5, "passed": not wrong,
        }
    ]  # fmt: skip


def test_what_is_not_registered_is_not_written(tmp_path):
    result = RUNNER.invoke(app, ["judge", claim_file(tmp_path), "--write"])
    assert result.exit_code == 2
    assert "--write is only for" in result.stderr


@pytest.mark.parametrize("name", ["bound", "Bound", "mine.bound"])
def test_a_claim_of_a_file_is_named_by_itself_or_its_class(tmp_path, name):
    path = claim_file(tmp_path)
    with open(path, "a") as file:
        file.write("class Other(Bound):\n    'Another.'\n")
    shown = RUNNER.invoke(app, ["show", f"{path}:{name}", "--json"])
    assert json.loads(shown.stdout)["name"] == "mine.bound"
    verified = RUNNER.invoke(app, ["verify", f"{path}:{name}", "--json", "--budget", "5"])
    assert json.loads(verified.stdout)["name"] == "mine.bound"
    refused = RUNNER.invoke(app, ["verify", f"{path}:Bond"])
    assert refused.exit_code == 2
    assert "did you mean mine.bound" in refused.stderr


def test_a_registered_claim_is_named_by_its_class():
    shown = RUNNER.invoke(app, ["show", "HoeffdingHeldOut", "--json"])
    assert json.loads(shown.stdout)["name"] == "generalisation.concentration.hoeffding_held_out"


def test_a_claim_named_twice_is_judged_once_and_two_of_one_name_are_refused(tmp_path):
    path = claim_file(tmp_path)
    result = RUNNER.invoke(app, ["verify", "hoeffding_held_out", "HoeffdingHeldOut", "--json", "--budget", "5"])
    assert json.loads(result.stdout)["name"] == "generalisation.concentration.hoeffding_held_out"
    result = RUNNER.invoke(app, ["verify", path, f"{path}:bound"])
    assert result.exit_code == 2
    assert "claim mine.bound" in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise OSError(32, 'Broken pipe')", "BrokenPipeError"),
        ("(", "SyntaxError"),
    ],
)
@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_file_that_does_not_run_says_no_verdict(tmp_path, command, line, message):
    path = claim_file(tmp_path)
    with open(path, "a") as file:
        file.write(line)
    result = RUNNER.invoke(app, [command, path])
    assert result.exit_code == 2
    assert message in result.stderr


def test_list_shows_every_registered_claim():
    result = RUNNER.invoke(app, ["list", "--json"])
    assert [row["name"] for row in json.loads(result.stdout)] == list(registry())
    assert f"{len(registry())} claims" in RUNNER.invoke(app, ["list"]).stdout
    assert "hoeffding_held_out" in RUNNER.invoke(app, ["list", "hoeffding"]).stdout


@pytest.mark.parametrize("name", list(registry()))
def test_show_states_a_claim(name):
    claim, result = registry()[name], RUNNER.invoke(app, ["show", name, "--json"])
    record = json.loads(result.stdout)
    assert record["statement"] == claim.statement
    assert record["reference"] == claim.source.text
    assert set(record["settings"]) == set(claim.population.settings().variables)
    plain = re.sub(r"\s+", " ", RUNNER.invoke(app, ["show", name]).stdout)
    assert re.sub(r"\s+", " ", claim.control.statement) in plain


def test_set_moves_the_setting_and_several_claims_share_the_level(tmp_path):
    record = json.loads(RUNNER.invoke(app, ["verify", "hoeffding_held_out", "--set", "m=40", "--json"]).stdout)
    assert record["setting"]["m"] == 40
    result = RUNNER.invoke(app, ["verify", "hoeffding_held_out", claim_file(tmp_path), "--json"])
    assert result.exit_code == 0
    assert [row["level"] for row in json.loads(result.stdout)] == [5e-4, 1e-3]  # Holm, step by step


HELD = """
import os
import signal

calls = []

def held(problem):
    calls.append(problem)
    if len(calls) == 6:  # the first looks at what the claim answers, and four trials end
        signal.alarm(600)  # the end, should nobody interrupt
        os.write(2, b"within a trial\\n")
        signal.pause()
    return problem
"""


def test_ctrl_c_keeps_what_was_finished(tmp_path):
    text = BOUND.replace("LIMIT", "1.0").replace("THRESHOLD", "2.0").replace("MEASURE", "held(problem)")
    (tmp_path / "mine.py").write_text(HELD + text.replace("    trials = 140", "    trials = 140\n    traced = False"))
    command = [sys.executable, "-m", "lemmata.interfaces.cli", "verify", str(tmp_path / "mine.py"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    before = next((line for line in process.stderr if "within a trial" in line), "ended")
    assert "within a trial" in before
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in err
    record = json.loads(out)
    assert process.returncode == 3
    assert record["status"] == "inconclusive"
    assert record["executed"] == 4


def test_the_package_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lemmata", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("lemmata", run_name="__main__")
    assert ended.value.code == 0
    assert "lemmata" in capsys.readouterr().out
