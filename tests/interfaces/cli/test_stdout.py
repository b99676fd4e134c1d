"""Standard output has the results alone, whatever claims and models of the user's print."""

import inspect
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from tests.engine.refutations import untested

RUNNER = CliRunner()


@pytest.fixture
def noisy(tmp_path):
    """A file of claims that prints while it is imported and in each measurement."""
    text = inspect.getsource(untested).replace(
        "        return problem\n", "        print('measured')\n        return problem\n"
    )
    assert "measured" in text
    file = tmp_path / "mine.py"
    file.write_text(f"{text}\n\nprint('imported')\n")
    return file


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "{}:Holds", "--budget", "3"],
        ["refute", "{}:Holds", "--minutes", "0.001"],
        ["show", "{}:Holds"],
    ],
    ids=lambda words: words[0],
)
def test_json_is_alone(noisy, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    stdout = sys.stdout
    done = RUNNER.invoke(app, [*(word.format(noisy) for word in words), "--json"])
    assert sys.stdout is stdout
    json.loads(done.stdout)
    assert "imported" in done.stderr


def test_what_a_process_of_jobs_prints_is_not_in_the_answer(noisy):
    words = ["verify", f"{noisy}:Holds", f"{noisy}:Raises", "--budget", "3", "--jobs", "2", "--json"]
    done = subprocess.run([sys.executable, "-m", "lemmata", *words], capture_output=True, text=True, timeout=240)
    assert done.returncode == 4, done.stderr
    assert {record["status"] for record in json.loads(done.stdout)} == {"inconclusive", "failed"}
    assert "measured" in done.stderr
