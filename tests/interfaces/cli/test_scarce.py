"""A command whose memory is limited: however it ends, one error says that memory was lacking, with exit code 4."""

import os
import resource
import subprocess
import sys

import pytest

from lemmata.interfaces.cli import _scarce

PROGRAM = """
{limited}
import os, signal, sys, time
from lemmata.interfaces.cli import _guard, _scarce
{before}

def run():
    print("begun", flush=True)
    {ends}
    sys.exit(3)

_guard.guarded(run, {words!r})
"""
GIB = 2**30
SCARCE = ("Error: there is not enough memory", "is limited to 1.00 GiB", "ulimit -v", "raise the limit")
LIKELY = ("most likely because there is not enough memory", "is limited to 1.00 GiB", "raise the limit")


def limited(most=GIB, kind=resource.RLIMIT_AS):
    """The line by which a program limits itself: a function between fork and exec may hang where JAX has threads."""
    return f"import resource; resource.setrlimit({kind}, ({most}, {most}))"


def ended(ends, words=("study", "table.csv"), most=GIB, before="", kind=resource.RLIMIT_AS):
    own = "" if most is None else limited(most, kind)
    program = PROGRAM.format(limited=own, ends=ends, words=list(words), before=before)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ("raise MemoryError", SCARCE),
        ("raise ValueError('no data') from MemoryError()", SCARCE),
        ("bytearray(2 ** 31)", SCARCE),
        ('raise RuntimeError("can\'t start new thread")', SCARCE),
        (
            "os.write(2, b'terminate called after\\n  what():  std::bad_alloc\\n'); os.abort()",
            (*SCARCE, "std::bad_alloc"),
        ),
        ("os.write(2, b'memory allocation of 8 bytes failed\\nstack backtrace:\\n'); os._exit(134)", SCARCE),
        (
            "os.write(2, b'F1129 08:10:21.82  21594 env.cc:93] Check failed: pthread_create() failed.\\n'); os.abort()",
            (*SCARCE, "signal 6 (Check failed: pthread_create() failed.)"),
        ),
        ("os.write(2, b'Traceback (most recent call last):\\nMemoryError\\n'); os._exit(1)", SCARCE),
        ("os.write(2, b'OpenBLAS error: Memory allocation still failed, giving up.\\n'); os._exit(1)", SCARCE),
        ("os.kill(os.getpid(), signal.SIGSEGV)", (*LIKELY, "signal 11")),
        ("os.kill(os.getpid(), signal.SIGTRAP)", (*LIKELY, "signal 5")),
        ("os._exit(127)", (*LIKELY, "code 127")),
        ("os._exit(0)", (*LIKELY, "code 0")),
    ],
)
def test_an_end_for_lack_of_memory_is_told(ends, words):
    done = ended(ends)
    assert (done.returncode, done.stdout) == (4, "begun\n"), done.stderr
    for word in words:
        assert word in done.stderr
    for word in ("Traceback", "stack backtrace", "terminate called"):
        assert word not in done.stderr


def test_data_may_be_limited_instead_of_addresses():
    done = ended("bytearray(2 ** 31)", kind=resource.RLIMIT_DATA)
    assert done.returncode == 4, done.stderr
    assert "ulimit -d" in done.stderr


def test_a_program_of_the_users_that_leaves_is_told_as_without_a_limit():
    done = ended("os._exit(0)", words=("study", "mine.py:f"))
    assert done.returncode == 2
    assert "ended by a program that it ran" in done.stderr


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_command_that_ends_by_itself_keeps_its_code_and_its_words(code):
    done = ended(f"sys.stderr.write('first\\nTraceback (most recent call last):\\nmine\\n'); sys.exit({code})")
    assert (done.returncode, done.stderr) == (code, "first\nTraceback (most recent call last):\nmine\n")


def test_what_lemmata_says_after_a_librarys_words_is_passed_on():
    said = "Traceback (most recent call last):\nMemoryError: no map\nError: mine\n  found: it\n"
    done = ended(f"sys.stderr.write({said!r}); sys.exit(2)")
    assert (done.returncode, done.stderr) == (2, "Error: mine\n  found: it\n")


@pytest.mark.parametrize(
    "line", ["<jemalloc>: background thread creation failed (11)", "E1129 08:28:18.5  27 m.cc:1] no memory: Cannot map"]
)
def test_lines_that_libraries_repeat_are_left_out(line):
    done = ended(f"sys.stderr.write('first\\n{line}\\n{line}\\nlast\\n'); sys.exit(0)")
    assert (done.returncode, done.stderr) == (0, "first\nlast\n")


def test_a_question_without_an_end_of_line_is_passed_on_at_once():
    ends = "sys.stderr.write('name? '); sys.stderr.flush(); time.sleep(60)"
    program = PROGRAM.format(limited=limited(), ends=ends, words=["study"], before="")
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert os.read(process.stderr.fileno(), 10) == b"name? "
    process.kill()
    process.wait(60)
    process.stderr.close()


HANGS = """
    held = []
    for size in (2 ** 24, 2 ** 20):
        try:
            while True:
                held.append(bytearray(size))
        except MemoryError:
            pass
    time.sleep(100)
"""


def test_a_command_that_stands_still_without_memory_is_ended():
    before = "_guard.Listener = lambda words: _scarce.Listener(words, 0.5)"
    done = ended(HANGS.strip(), most=2**28, before=before)
    assert done.returncode == 4, done.stderr
    assert "no memory left and made no progress" in done.stderr


@pytest.mark.parametrize("word", ["--serve", "--dask=tcp://127.0.0.1:1", "--dask"])
def test_a_command_that_waits_for_others_is_not_ended(word):
    before = "_guard.Listener = lambda words: _scarce.Listener(words, 0.2)"
    done = ended(HANGS.strip().replace("100", "2"), words=("map", word), most=2**28, before=before)
    assert done.returncode == 3


def test_a_command_that_waits_with_memory_left_is_not_ended():
    before = "_guard.Listener = lambda words: _scarce.Listener(words, 0.2)"
    assert ended("time.sleep(2)", before=before).returncode == 3


@pytest.mark.parametrize("killed", [True, False])
def test_an_end_by_the_kernel_for_memory_is_told(killed):
    counts = "iter((4, 5))" if killed else "iter((4, 4))"
    before = f"counts = {counts}; _guard.killed_for_memory = lambda: next(counts)"
    done = ended("os.kill(os.getpid(), signal.SIGKILL)", words=("study", "mine.py:f"), most=None, before=before)
    assert done.returncode == (4 if killed else 137)
    assert ("not enough memory" in done.stderr) is killed
    assert ("the operating system's kernel ended the command" in done.stderr) is killed


@pytest.mark.parametrize(("groups", "code"), [(1, 2), (0, 7)])
def test_a_limit_of_a_control_group_makes_a_process_of_its_own(groups, code):
    limit = (
        "_guard.limits = lambda: [Limit('the memory', 2 ** 34, 2 ** 33, False)]" if groups else "_guard.limits = list"
    )
    done = ended("os._exit(7)", most=None, before=f"from lemmata.limits import Limit\n{limit}")
    assert done.returncode == code


def test_the_kernels_count_is_a_number():
    assert _scarce.killed_for_memory() >= 0
    assert os.getpid() in _scarce.descendants(os.getppid())


def test_the_last_output_of_a_library_is_kept_in_any_encoding_and_without_lemmatas_own_lines():
    listener = _scarce.Listener(["study"])
    os.close(listener.hear)
    os.close(listener.speak)
    for line in (b"terminate called in \xff\n", b"  beside it \xc3\xa9\n", b"Error: of lemmata\n", b"not noise\n"):
        listener._say(line, True)
    assert listener.noise == "terminate called in \ufffd\n  beside it \u00e9\n"
    assert [line for noisy, line in listener.held if not noisy] == [b"Error: of lemmata\n", b"not noise\n"]
