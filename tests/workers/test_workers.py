"""Executors: results and losses by key, processes that share the cores, and what is refused."""

import concurrent.futures
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import lemmata.workers._processes
from lemmata.engine.claims import Status, calibrate, verdicts_of, verify
from lemmata.engine.claims._families import FAMILIES
from lemmata.errors import MissingFileError, SettingError
from lemmata.workers import ATTEMPTS, Lost, Processes, _cluster, finished, scheduler_address, workers
from tests.engine.claims.synthetic import SureBound

from . import tasks

NUMBERS = [(number, (number,)) for number in range(6)]
SQUARES = {number: number**2 for number in range(6)}


@pytest.fixture
def pool(clean, imported):
    with concurrent.futures.ProcessPoolExecutor(1, imported) as executor:
        yield executor


def test_without_an_executor_tasks_run_here_in_their_order():
    drawn = []

    def given():
        for task in NUMBERS:
            drawn.append(task[0])
            yield task

    found = []
    for key, value in finished(None, tasks.square, given()):
        found.append((key, value))
        assert len(drawn) <= len(found) + 1
    assert found == list(SQUARES.items())


@pytest.mark.parametrize("apart", [False, True])
def test_a_task_that_raises_is_told_by_its_key_and_the_rest_goes_on(apart, request):
    executor = request.getfixturevalue("processes") if apart else None
    found = dict(finished(executor, tasks.refused, NUMBERS))
    assert found == SQUARES | {2: Lost(2, "ValueError: two is refused")}


def test_a_task_that_ends_every_process_is_given_up_and_the_rest_goes_on(processes):
    found = dict(finished(processes, tasks.killed_each_time, NUMBERS))
    assert found.pop(2) == Lost(
        2, f"BrokenExecutor: {ATTEMPTS} processes ended while they ran the task, the last with exit code -9"
    )
    assert found == {number: square for number, square in SQUARES.items() if number != 2}


def test_what_cannot_be_sent_or_sent_back_is_told_and_the_rest_goes_on(processes):
    found = dict(finished(processes, tasks.unsendable, NUMBERS[:2]))
    assert all(isinstance(value, Lost) and "unsendable" in value.error for value in found.values())
    found = dict(finished(processes, tasks.square, [("no", (lambda: 0,)), ("yes", (3,))]))
    assert isinstance(found["no"], Lost)
    assert found["yes"] == 9


def test_each_process_has_its_share_of_threads_and_the_precision_of_here(processes):
    for count, float64 in dict(finished(processes, tasks.threads, NUMBERS[:4])).values():
        assert count <= max(1, os.cpu_count() // 2)
        assert float64


def test_where_an_executor_dies_what_it_had_is_lost_and_the_rest_runs_here(pool):
    given = [(0, (2,)), *NUMBERS[3:]]
    found = dict(finished(pool, tasks.killed_each_time, given))
    assert isinstance(found[0], Lost)
    assert "BrokenProcessPool" in found[0].error
    lost = [key for key, value in found.items() if isinstance(value, Lost)]
    assert len(lost) <= 2  # what one worker had been given
    assert {key: value for key, value in found.items() if key not in lost}.items() <= SQUARES.items()
    assert sorted(found) == [0, 3, 4, 5]


def test_claims_that_end_their_process_fail_by_name_and_the_others_are_judged(processes):
    found = {verdict.name: verdict for verdict in verdicts_of([tasks.Deadly(), SureBound()], 0, processes)}
    deadly, sure = found[tasks.Deadly().name], found[SureBound().name]
    assert deadly.status is Status.FAILED
    assert deadly.name in deadly.reason
    assert "exit code -9" in deadly.reason
    assert sure.to_json() | {"seconds": 0} == verify(SureBound(), progress=False).to_json() | {"seconds": 0}


def test_a_lost_trial_is_told_with_its_number(processes):
    found = verify(tasks.Deadly(), budget=2, corners=0, executor=processes, progress=False)
    assert found.status is Status.FAILED
    assert "2 of 2" in found.reason or "every trial" in found.reason
    assert "trial 0: BrokenExecutor" in found.reason


def test_a_claim_of_a_file_is_verified_by_workers(processes, tmp_path):
    from lemmata.engine.claims import find

    path = tmp_path / "own_claim.py"
    program = (
        "from tests.engine.claims.synthetic import SureBound\n\n\nclass OwnBound(SureBound):\n    '1 is at most 2.'"
    )
    program += "\n\n    trials = 40\n"
    path.write_text(program)
    (claim,) = find(str(path))
    apart = verify(claim, executor=processes, progress=False).to_json() | {"seconds": 0}
    assert apart == verify(claim, progress=False).to_json() | {"seconds": 0}


def test_calibration_in_an_executor_gives_the_same_rates(processes):
    apart = calibrate(20, 3, FAMILIES[:5], executor=processes)
    assert apart == calibrate(20, 3, FAMILIES[:5])


def test_processes_end_where_the_context_is_left_by_an_error(clean):
    def left():
        with Processes(1) as executor:
            future = executor.submit(tasks.until_told, 1)
            tasks.wait_until((tasks.folder() / "begun-1").exists)
            children.extend(child.process.pid for child in executor._children.values())
            futures.append(future)
            raise KeyboardInterrupt

    children, futures = [], []
    with pytest.raises(KeyboardInterrupt):
        left()
    assert children
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    assert isinstance(futures[0].exception(), concurrent.futures.BrokenExecutor)


def test_what_is_shut_down_takes_no_task_and_the_rest_runs_here():
    executor = Processes(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(tasks.square, 1)
    assert dict(finished(executor, tasks.square, NUMBERS)) == SQUARES


def test_processes_end_where_the_program_that_started_them_is_killed(clean):
    program = (
        "from tests.workers import tasks\nfrom lemmata.workers import Processes\n"
        "if __name__ == '__main__':\n"
        "    executor = Processes(1)\n"
        "    executor.submit(tasks.until_told, 7)\n"
        "    tasks.wait_until((tasks.folder() / 'begun-7').exists)\n"
        "    (tasks.folder() / 'child').write_text(str(executor._children[0].process.pid))\n"
        "    (tasks.folder() / 'written').touch()\n"
        "    tasks.wait_until(lambda: False)\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen([sys.executable, "-c", program], env=env)
    try:
        tasks.wait_until((tasks.folder() / "written").exists)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    child = int((tasks.folder() / "child").read_text())
    tasks.wait_until(lambda: not alive(child))


def alive(process):
    """Whether it runs; one that has ended and that nobody has asked about does not."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_results_that_nobody_waits_for_are_cancelled(clean):
    with Processes(1) as executor:
        found = finished(executor, tasks.until_told, [(number, (number,)) for number in range(9)])
        listener = threading.Thread(target=lambda: next(found))
        listener.start()
        tasks.wait_until((tasks.folder() / "begun-0").exists)
        (tasks.folder() / "go").touch()
        listener.join()
        found.close()
    assert len(list(tasks.folder().glob("begun-*"))) <= 3


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("jobs", [0, -1, True, 2.0, "2"])
def test_a_number_of_processes_that_is_none_is_refused(jobs):
    with pytest.raises(SettingError, match="jobs"):
        Processes(jobs)
    with pytest.raises(SettingError, match="jobs"), workers(jobs):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "tcp://127.0.0.1:1", "tls://[::1]:1"])
def test_a_scheduler_that_does_not_answer_is_refused_in_one_line(address):
    begun = time.process_time()
    with pytest.raises(SettingError, match="scheduler") as refused, workers(dask=address):
        pass
    assert "\n" not in str(refused.value)
    assert time.process_time() - begun < 30


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("nonsense", "no port"), ("10.0.0.1", "no port"), ("tcp://10.0.0.1", "no port"), ("tcp://[::1]", "no port"),
        ("::1", "brackets"), ("tcp://127.0.0.1:99999", "port '99999'"), ("h:0", "port '0'"),
        ("h:eight", "port 'eight'"), ("http://127.0.0.1:80", "protocol 'http'"),
        ("inproc://a/b:1", "protocol 'inproc'"), ("", "address ''"),
        ("tcp://:8786", "address 'tcp://:8786'"), ("h:1\n", "port"), (5, "type int"), (b"h:1", "type bytes"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_told_at_once(address, found, monkeypatch, unchecked):
    monkeypatch.setitem(sys.modules, "distributed", None)  # nothing of Dask is asked
    with pytest.raises(SettingError, match="scheduler") as refused, workers(dask=address):
        pass
    assert found in refused.value.found
    assert "HOST:PORT" in refused.value.rule


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"address": "tcp://10.0.0.1:8786", "workers": {}}', None), ('{"address": "tls://h:1"}', None),
        ('{"address": "10.0.0.1"}', "no port"), ('{"address": 7}', "no address"), ("{}", "no address"),
        ("[1]", "no address"), ("{", "JSONDecodeError"), ("[" * 100_000, "RecursionError"), ("\udcff", "Error"),
        (None, "no such file"), (os.mkfifo, "not a scheduler file"), (os.mkdir, "not a scheduler file"),
    ],
)  # fmt: skip
def test_a_scheduler_file_is_an_address_or_is_refused(tmp_path, text, found):
    file = tmp_path / "scheduler.json"
    if callable(text):
        text(file)
    elif text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    if found is None:
        assert scheduler_address(str(file)) in text
        return
    with pytest.raises((SettingError, MissingFileError), match="scheduler file") as refused:
        scheduler_address(str(file))
    assert found in refused.value.found


def test_a_program_that_listens_and_says_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.01)
    never = threading.Event()
    with pytest.raises(TimeoutError, match="did not answer"):
        _cluster._answer(never.wait)
    never.set()
    monkeypatch.setattr(_cluster, "_PATIENCE", 100)
    assert _cluster._answer(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        _cluster._answer(lambda: 1 // 0)


def test_what_dask_logs_is_not_shown(capfd):
    logger, before = logging.getLogger("distributed.client"), logging.getLogger("distributed.client").handlers
    with _cluster._quiet():
        logger.error("Failed to reconnect")
        logging.getLogger("distributed.comm.core").error("Failed")
    assert capfd.readouterr().err == ""
    assert logger.handlers is before


def test_one_kind_of_workers_at_a_time():
    with pytest.raises(SettingError, match="only one of the two"), workers(2, "tcp://127.0.0.1:1"):
        pass


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingError, match=r"lemmata\[scale\]"), workers(dask="tcp://127.0.0.1:1"):
        pass


@pytest.mark.parametrize(
    ("held", "left", "lasts"),
    [(1.4, 0.1, True), (1.6, 0.1, False), (1.6, 3.1, False), (1.6, 3.3, True), (3.9, 100, True), (4.1, 100, False)],
)
def test_a_process_ends_where_it_holds_half_of_what_the_machine_has_left(monkeypatch, held, left, lasts):
    monkeypatch.setattr(lemmata.workers._processes, "_resident", lambda: int(held * 2**30))
    monkeypatch.setattr(lemmata.workers._processes, "available_bytes", lambda: int(left * 2**30))
    assert lemmata.workers._processes._lasts() is lasts
