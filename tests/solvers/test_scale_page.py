"""docs/scale.md: its three commands run as they stand, and its programs print what the page says."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from tests.executors import PATIENCE, wait_for
from tests.programs import printed, started_in_float32

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
FIT, PLAN, VERIFY = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
FITTED, PLANNED, VERIFIED = re.findall(r"prints\n\n```\n(.*?)```", PAGE, re.DOTALL)


def environment():
    """This one, in which `python` and `dask` are those that run the tests."""
    folder = str(pathlib.Path(sys.executable).parent)
    source = str(pathlib.Path(__file__).parents[2] / "src")
    return os.environ | {"PATH": folder + os.pathsep + os.environ["PATH"], "PYTHONPATH": source}


@contextlib.contextmanager
def running(command, folder):
    """A command of the page while it runs; it is ended with all that it started."""
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            command.split(),
            cwd=folder, env=environment(), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_three_commands_lead_from_a_laptop_to_a_cluster(tmp_path):
    pytest.importorskip("distributed", reason="the extra `scale` is not installed")
    (tmp_path / "fit.py").write_text(FIT, encoding="utf-8")
    assert len(COMMANDS) == 3
    scheduler, worker, fit = (command.replace("/shared", str(tmp_path / "shared")) for command in COMMANDS)
    (tmp_path / "shared").mkdir()
    settings, worker = re.fullmatch(r"((?:\w+=\w+ )*)(.*)", worker).groups()
    with running(scheduler, tmp_path):
        wait_for((tmp_path / "shared" / "scheduler.json").exists)
        with running(f"env {settings}{worker}", tmp_path):
            done = subprocess.run(
                fit.split(), cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=2 * PATIENCE
            )
    assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
    assert done.stdout == FITTED
    assert not list((tmp_path / "shared" / "work").iterdir())


def test_without_a_scheduler_the_program_runs_here_and_prints_the_same(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fit.py"])
    with started_in_float32():
        assert printed(FIT, {}) == FITTED.strip()


def test_the_plan_on_the_page_is_what_it_prints():
    with started_in_float32():
        assert printed(PLAN, {}) == PLANNED.strip()


def test_a_claim_is_verified_by_processes_as_the_page_says(tmp_path):
    (tmp_path / "own.py").write_text(VERIFY, encoding="utf-8")
    own = [sys.executable, "own.py"]
    done = subprocess.run(own, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=2 * PATIENCE)
    assert (done.returncode, done.stdout) == (0, VERIFIED), done.stderr
