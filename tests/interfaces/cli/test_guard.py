"""A command whose user's code ends the process: told with an exit code that is not 0, and signals are passed on."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lemmata.interfaces.cli._flags import no_start

PROGRAM = """
import os, signal, sys
from lemmata.interfaces.cli import _guard as guard

def run():
    print("begun", flush=True)
    {ends}
    sys.exit(3)

guard.guarded(run, ["{command}", "mine.py:f"])
"""


def ended(ends, command="study"):
    program = PROGRAM.format(ends=ends, command=command)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("ends", "command", "code", "words"),
    [
        ("os._exit(0)", "study", 2, "os._exit(0) (<string>, line 7)"),
        ("os._exit(0)", "verify", 4, "os._exit(0) (<string>, line 7)"),
        ("os._exit(64)", "verify", 4, "os._exit(64) (<string>, line 7)"),
        ("from os import _exit; _exit(0)", "verify", 4, "os._exit(0) (<string>, line 7)"),
        ("os.fork() or os._exit(0); import time; time.sleep(0.1)", "study", 3, ""),
        ("os._exit(1)", "refute", 4, "os._exit(1)"),
        ("os.execvp('true', ['true'])", "model", 2, "os._exit(0)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "model", 137, "signal 9"),
        ("raise GeneratorExit", "verify", 4, "that it raised GeneratorExit (<string>, line 7)"),
        ("sys.stdout.close(); print(1)", "verify", 4, "closed sys.stdout or sys.stderr"),
        ("sys.stdout.close(); print(1)", "study", 2, "remove sys.stdout.close"),
        ("sys.stderr.close(); sys.stderr.write('1')", "refute", 4, "closed sys.stdout or sys.stderr"),
        ("os.close(1); os.write(1, b'1')", "walk", 4, "closed sys.stdout or sys.stderr"),
        ("sys.stderr = None; raise KeyError(1)", "verify", 4, "closed sys.stdout or sys.stderr"),
        ("pass", "study", 3, ""),
        ("import atexit; atexit.register(os._exit, 0)", "study", 3, ""),
        (
            "import atexit; guard._LEAVING = 0.1; atexit.register(signal.pause)",
            "study",
            3,
            "exit functions of your code",
        ),
        ("import threading; threading.Thread(target=threading.Event().wait).start()", "study", 3, ""),
    ],
)
def test_what_ends_before_the_command_has_is_told(ends, command, code, words):
    done = ended(ends, command)
    assert (done.returncode, done.stdout) == (code, "begun\n"), done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unforeseen_error_is_not_the_exit_code_of_a_refuted_claim():
    assert ended("raise KeyError(1)", "verify").returncode == 4


@pytest.mark.parametrize(
    "word", ["mine.py", "mine.py:", "mine.py:mine.square", "mine.py:two words", "--model=a/b.py:f"]
)
def test_a_word_that_names_code_is_seen(word):
    program = PROGRAM.format(ends="os._exit(0)", command="verify").replace("mine.py:f", word)
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120).returncode == 4


def test_a_command_line_without_other_code_stays_in_its_process():
    program = PROGRAM.format(ends="os._exit(7)", command="study").replace("mine.py:f", "table.csv")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120).returncode == 7


@pytest.mark.parametrize("command", ["show", "study", "model", "list", "map", "compare"])
def test_with_claims_of_another_package_every_command_is_guarded(command, tmp_path):
    info = tmp_path / "third-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lemmata.claims]\nthird = third\n")
    program = PROGRAM.format(ends="os._exit(0)", command=command).replace("mine.py:f", "third")
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths},
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert "ended by a program that it ran" in done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_the_waiting_process_reaches_the_command(tmp_path, name):
    mark = tmp_path / "begun"
    ends = f"""
    from lemmata.interruption import exit_code, listening
    import pathlib, time
    try:
        with listening():
            pathlib.Path({str(mark)!r}).touch()
            time.sleep(100)
    except KeyboardInterrupt:
        sys.exit(exit_code())
"""
    program = PROGRAM.format(ends=ends.strip(), command="verify")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    assert process.wait(60) == 128 + getattr(signal, name)


IGNORES = """
    import pathlib, time
    from lemmata import interruption
    end = time.monotonic() + 60
    try:
        with interruption.listening():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            waits = pathlib.Path(f"/proc/{os.getppid()}/status")
            sets = lambda name: int(waits.read_text().partition(name)[2].split()[0], 16)
            while waits.exists() and time.monotonic() < end and not (
                sets("SigCgt:") >> signal.SIGTERM - 1 & (sets("SigCgt:") | sets("SigIgn:")) & 1
            ):
                time.sleep(0.01)  # until the waiting process passes on signals, of which SIGHUP is the last, or ignored
            print("ignoring", flush=True)
            while interruption._request.noted is None and time.monotonic() < end:
                time.sleep(0.01)
            print("noted", flush=True)
            WAITS
    except KeyboardInterrupt:
        sys.exit(interruption.exit_code())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_second_signal_ends_a_command_that_ignores_signals(name):
    with _running(IGNORES.replace("WAITS", "time.sleep(100)"), "ONE_CAUSE, guard._OBEYING = 0.0, 0.1") as process:
        for said in ("begun", "ignoring", "noted"):
            assert process.stdout.readline() == f"{said}\n"
            if said != "begun":
                process.send_signal(getattr(signal, name))
        assert process.wait(60) == 128 + getattr(signal, name)
        assert "Ended at once. Unfinished results were not written." in process.stderr.read()


def test_a_signal_that_a_users_code_ignored_is_heeded_afterwards():
    with _running(IGNORES.replace("WAITS", "interruption.heed()"), "_OBEYING = 60.0") as process:
        assert [process.stdout.readline() for _ in range(2)] == ["begun\n", "ignoring\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@contextlib.contextmanager
def _running(ends, changed) -> Iterator[Any]:
    program = PROGRAM.format(ends=ends.strip(), command="verify")
    program = program.replace("guard.guarded", f"guard.{changed}\nguard.guarded")
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_command_ends_with_the_process_that_waits_for_it(tmp_path):
    mark = tmp_path / "begun"
    ends = f"import pathlib, time; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(100)"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(ends=ends, command="verify")])
    end = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    child = int(mark.read_text())
    process.kill()
    process.wait(60)
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _lives(child)


def _lives(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    state = pathlib.Path(f"/proc/{number}/stat")  # one that ended may wait for its parent to be told
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("leaves", ["os._exit(0)", "raise GeneratorExit"])
def test_a_claim_file_that_leaves_is_told_by_the_whole_command(tmp_path, leaves):
    file = tmp_path / "mine.py"
    file.write_text(f"import os, sys\n\n{leaves}\n")
    words = [sys.executable, "-m", "lemmata", "verify", str(file), "--ledger", str(tmp_path / "l.sqlite")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
    assert "ended by a program that it ran" in done.stderr
    assert "(mine.py, line 3)" in done.stderr


START = """
import sys
from lemmata.interfaces.cli._guard import guarded

def run():
    import jax
    jax.devices()
    sys.exit(3)

guarded(run, ["verify", "hoeffding_sum"])
"""


@pytest.mark.parametrize("flags", ["--no_such_flag=1", "--xla_cpu_use_fusion_emitters=maybe", "no/such/file"])
def test_flags_with_which_xla_ends_the_program_refute_no_claim(flags):
    """XLA ends the program with 1, which says that a claim is refuted."""
    environment = {**os.environ, "XLA_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, env=environment, check=False, timeout=120
    )
    assert done.returncode == 2
    assert "XLA ended the command" in done.stderr
    assert f"XLA_FLAGS='{flags}'" in done.stderr


@pytest.mark.parametrize("flags", ["", "--xla_backend_optimization_level=0", "--xla_dump_hlo_as_text=false"])
def test_flags_that_xla_knows(flags):
    done = subprocess.run(
        [sys.executable, "-c", START], env={**os.environ, "XLA_FLAGS": flags}, check=False, timeout=120
    )
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("name", "value"), [("JAX_PLATFORMS", "cuda"), ("JAX_PLATFORMS", "none"), ("JAX_ENABLE_X64", "maybe")]
)
def test_variables_with_which_jax_does_not_start(name, value):
    program = (
        "import sys\nfrom lemmata.interfaces.cli import main\nsys.argv = ['lemmata', 'verify', 'hoeffding_sum']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, name: value}, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert "JAX does not start" in done.stderr
    assert f"{name}={value!r}" in done.stderr
    assert f"unset {name}" in done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize("said", ["no such platform", ""])
def test_where_jax_does_not_start_its_variables_are_named(said, monkeypatch):
    for name in [name for name in os.environ if name.startswith("JAX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("jax.devices", lambda: 1 / 0)
    assert no_start() is None, "no variable is set"
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    monkeypatch.setenv("JAX_ENABLE_X64", "perhaps")
    monkeypatch.setattr("jax.devices", lambda: [])
    assert no_start() is None, "it starts"

    def fails():
        raise AssertionError(*filter(None, [said]))

    monkeypatch.setattr("jax.devices", fails)
    found = no_start()
    assert found.found.startswith("JAX_ENABLE_X64='perhaps', JAX_PLATFORMS='abacus'")
    assert said in found.found
    assert found.remedy == "remove them from the environment: unset JAX_ENABLE_X64 JAX_PLATFORMS"
