"""A scheduler without workers, and one that is killed: in processes of their own, as on a cluster."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from lemmata.errors import SettingError
from lemmata.interfaces.cli import app
from lemmata.workers import Lost, finished, workers

from . import tasks

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def started(kind, *options):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *options, "--no-dashboard"]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def scheduler(clean, tmp_path):
    file = tmp_path / "scheduler.json"
    process = started("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    try:
        tasks.wait_until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        yield process, json.loads(file.read_text())["address"]
    finally:
        process.kill()
        process.wait()


def test_a_scheduler_without_workers_is_refused(scheduler):
    with pytest.raises(SettingError, match="no worker"), workers(dask=scheduler[1]):
        pass


def test_where_the_scheduler_is_killed_what_it_had_is_lost_and_the_rest_runs_here(scheduler):
    process, address = scheduler
    worker = started("worker", address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")

    def kill():
        tasks.wait_until((tasks.folder() / "begun-0").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
        (tasks.folder() / "go").touch()  # for those that run here

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        opened = []
        tasks.wait_until(lambda: answers(address, opened))
        with opened.pop() as executor:
            found = dict(finished(executor, tasks.until_told, [(number, (number,)) for number in range(8)]))
    finally:
        worker.kill()
        worker.wait()
        killer.join()
    lost = [key for key, value in found.items() if isinstance(value, Lost)]
    assert 0 in lost
    assert len(lost) <= 2
    assert {key: value for key, value in found.items() if key not in lost} == {
        n: n**2 for n in range(8) if n not in lost
    }


class Opened:
    """An executor that is open already."""

    def __init__(self, context):
        self.context, self.executor = context, context.__enter__()

    def __enter__(self):
        return self.executor

    def __exit__(self, *given):
        return self.context.__exit__(*given)


def answers(address, opened):
    """Whether the scheduler has a worker by now."""
    try:
        opened.append(Opened(workers(dask=address)))
    except SettingError:
        return False
    return True


def test_the_command_line_refuses_a_scheduler_that_does_not_answer():
    for command in (
        ["verify", "hoeffding_held_out"],
        ["calibrate"],
        ["refute", "hoeffding_held_out"],
        ["study", "iris"],
    ):
        found = CliRunner().invoke(app, [*command, "--dask", "tcp://127.0.0.1:1"])
        assert found.exit_code == 2, command
        assert "scheduler tcp://127.0.0.1:1" in found.stderr
