"""Limits on memory are read, and errors that come from them are known as such."""

import errno
import os
import resource
import subprocess
import sys

import polars as pl
import pytest

from lemmata import core, errors, limits
from lemmata.core import _memory
from lemmata.workflows.studies import _tables


def test_control_groups_bound_the_free_memory(tmp_path, monkeypatch):
    membership = tmp_path / "cgroup"
    membership.write_text("0::/job/step\n4:cpu,memory:/box\n")
    for folder, names, numbers in (
        ("job/step", limits._V2, ("max", 700, 0)),
        ("job", limits._V2, (1000, 900, 200)),
        ("memory/box", limits._V1, (5000, 4600, 0)),
        ("memory", limits._V1, (2**63 - 4096, 4600, 0)),
    ):
        place = tmp_path / "mount" / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / names[0]).write_text(f"{numbers[0]}\n")
        (place / names[1]).write_text(f"{numbers[1]}\n")
        (place / "memory.stat").write_text(f"anon 5\n{names[2]} {numbers[2]}\n")
    found = limits.group_limits(membership, tmp_path / "mount")
    # 1000 - 900 + 200, and 5000 - 4600; the other groups have no limit
    assert sorted((limit.most, limit.left, limit.own) for limit in found) == [(1000, 300, False), (5000, 400, False)]
    assert limits.group_limits(tmp_path / "missing", tmp_path) == []
    monkeypatch.setattr(limits, "group_limits", lambda *_: found)
    assert core.available_bytes() == 300


@pytest.mark.parametrize(("kind", "used", "word"), [("RLIMIT_AS", 0, "ulimit -v"), ("RLIMIT_DATA", 1, "ulimit -d")])
def test_limits_of_the_process_count_as_memory(monkeypatch, kind, used, word):
    """Of an address space, or of data, of 3 GB that is left."""
    own = limits.used_bytes()[used]
    set_ones = {getattr(resource, kind): own + 3 * 10**9}
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda which: (set_ones.get(which, unlimited), unlimited))
    monkeypatch.setattr(_memory, "_machine_bytes", lambda: 2**40)
    monkeypatch.setattr(limits, "group_limits", lambda *_: [])
    assert 2.5 * 10**9 < core.available_bytes() <= 3.1 * 10**9
    (only,) = limits.limits()
    assert only.own
    assert word in str(only)
    assert f"{only.most / 2**30:.2f} GiB" in str(only)
    set_ones.clear()
    assert core.available_bytes() == 2**40


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."),
        RuntimeError("std::bad_alloc"),
        ImportError("libjax_common.so: failed to map segment from shared object"),
        caused(ValueError("no data"), MemoryError()),
    ],
)
def test_an_error_for_lack_of_memory_is_known(error):
    assert limits.lacked_memory(error)


@pytest.mark.parametrize(
    "error", [ValueError("memory"), OSError(errno.ENOSPC, "No space left on device"), BlockingIOError(errno.EAGAIN, "")]
)
def test_another_error_is_none_of_memory(error):
    assert not limits.lacked_memory(error)
    assert not limits.lacked_memory(caused(KeyError("x"), error))


@pytest.mark.parametrize(
    ("error", "lacked"),
    [
        (ImportError("Encountered an error while initializing the extension."), True),
        (type("PanicException", (BaseException,), {})("called unwrap on an Err value"), True),
        (ModuleNotFoundError("No module named 'mine'"), False),
        (KeyError("x"), False),
    ],
)
def test_where_the_process_has_a_limit_a_library_that_does_not_load_lacked_memory(monkeypatch, error, lacked):
    monkeypatch.setattr(limits, "own_limits", lambda: [])
    assert not limits.lacked_memory(error)
    monkeypatch.setattr(limits, "own_limits", lambda: [limits.Limit("the address space", 2**30, 0, True)])
    assert limits.lacked_memory(error) is lacked


class SilentError(Exception):
    def __str__(self):
        raise ValueError("no text")


def test_an_error_whose_text_cannot_be_read_is_told_by_its_class():
    assert not limits.lacked_memory(SilentError())
    assert (errors.words_of(SilentError()), errors.line_of(SilentError())) == ("", "SilentError")


@pytest.mark.parametrize("most", [12, limits.OPEN_FILES - 1])
def test_a_command_begins_only_if_it_may_open_enough_files(most):
    words = f'ulimit -n {most}; exec "{sys.executable}" -m lemmata study no_such_table.csv'
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"found: {most} (RLIMIT_NOFILE" in done.stderr
    assert "ulimit -n 1024" in done.stderr


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
        OSError(errno.ENFILE, os.strerror(errno.ENFILE)),
        pl.exceptions.ComputeError("Too many open files (os error 24)"),
        pl.exceptions.PanicException('Err(Os { code: 24, message: "Too many open files" })'),
    ],
)
def test_a_table_is_not_blamed_for_too_many_open_files(error, tmp_path, monkeypatch):
    def refused(*given):
        raise error

    (tmp_path / "table.csv").write_text("a,y\n1,2\n")
    monkeypatch.setitem(_tables._READ, "text", refused)
    with pytest.raises(errors.LemmataError, match=r"too many files are open.*ulimit -n"):
        _tables.read_table(str(tmp_path / "table.csv"), _tables.Reading(10**6, 0))
