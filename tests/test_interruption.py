"""Requests to stop: none is lost, several of one cause are one, and a second one ends the process at once."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest

from lemmata import interruption
from lemmata.interruption import exit_code, heed, heeded, listening

SECONDS = 20.0


def wait_for_the_request(drop):
    drop()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_each_signal_is_ctrl_c_and_has_its_exit_code(name):
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with listening():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert exit_code() == 128 + number
    assert signal.getsignal(number) is before


class Garbage:
    """Something that a signal meets while it is collected."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def dropped_by_a_destructor():
    Garbage()


def dropped_by_the_collector():
    def asked(phase, info):
        if phase == "stop":
            gc.callbacks.remove(asked)
            signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(asked)
    gc.collect()


def dropped_by_a_weak_reference():
    class Own:
        pass

    own = Own()
    kept = weakref.ref(own, lambda _: signal.raise_signal(signal.SIGINT))
    del own
    return kept


@pytest.mark.parametrize("drop", [dropped_by_a_destructor, dropped_by_the_collector, dropped_by_a_weak_reference])
def test_a_request_that_python_drops_is_raised_again(drop):
    with listening(), pytest.raises(KeyboardInterrupt):
        wait_for_the_request(drop)


def test_a_request_that_is_swallowed_is_raised_at_the_next_safe_place_until_it_is_heeded():
    with listening():
        heed()
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGTERM)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                heed()
        heeded()
        heed()
        assert exit_code() == 143


def test_a_request_ends_with_its_context():
    with contextlib.suppress(KeyboardInterrupt), listening():
        signal.raise_signal(signal.SIGINT)
    heed()
    assert exit_code() == 130


def test_signals_of_one_cause_are_one_request_and_a_later_one_ends_at_once(monkeypatch):
    ended = []
    monkeypatch.setattr(interruption, "end_at_once", ended.append)
    with listening():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # as `timeout` sends it to the process and to its group
        assert ended == []
        monkeypatch.setattr(interruption, "ONE_CAUSE", -1.0)
        signal.raise_signal(signal.SIGINT)
    assert ended == [signal.SIGINT]


def test_the_end_at_once_is_told_and_has_the_exit_code_of_the_signal():
    program = "from lemmata.interruption import end_at_once\ntry:\n    end_at_once(15)\nfinally:\n    print('late')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (143, "")
    assert "Ended at once" in done.stderr


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listening():
            os.kill(os.getpid(), signal.SIGHUP)
            heed()
    finally:
        signal.signal(signal.SIGHUP, before)


ENDS = """
import os, signal, sys
import lemmata.__main__ as command
from lemmata.interfaces import cli
number, moment = int(sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGINT, signal.default_int_handler)
for other in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(other, signal.SIG_DFL)

def run():
    print("said", end="")
    if moment == "before":
        os.kill(os.getpid(), number)
    with cli.listening():
        pass
    os.kill(os.getpid(), number)

cli.main = run
command.main()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_before_and_after_a_command_a_signal_ends_it_without_a_traceback(name, moment):
    number = int(getattr(signal, name))
    command = [sys.executable, "-c", ENDS, str(number), moment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "said", "")


def test_a_copy_of_the_process_that_a_users_code_leaves_behind_ends_at_the_next_safe_place():
    program = (
        "import os\n"
        "from lemmata.interruption import heed, listening\n"
        "with listening():\n"
        "    child = os.fork()\n"
        "    heed()\n"
        "    print('went on', flush=True)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "heed()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "went on\n"
