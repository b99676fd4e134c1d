"""A file is written whole or not at all, also where the disk is full; a subprocess meets a real limit."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.engine.catalogue import _records
from lemmata.errors import DataError
from lemmata.files import replace_text
from lemmata.interfaces.cli import app
from lemmata.interfaces.report import write_page
from tests.interfaces.report.example import measured

PROGRAM = """
import sys
from lemmata.interfaces.cli import main
sys.argv = ["lemmata", *sys.argv[1:]]
main()
"""


@pytest.fixture
def bound(monkeypatch):
    """Files of this process may have so many bytes, until the test ends."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep halves of what it compiles
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


def refused(path, bound, write, old="old"):
    """The old text and no other file stand there after a refusal that names the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(old)
    bound(2000)
    with pytest.raises(DataError, match=r"cannot be written; found File too large; .*; remedy: free space") as error:
        write()
    bound(resource.RLIM_INFINITY)
    assert str(path) in str(error.value)
    assert path.read_text() == old
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_text(tmp_path, bound):
    refused(tmp_path / "a.txt", bound, lambda: replace_text(tmp_path / "a.txt", "x" * 5000))
    assert replace_text(tmp_path / "deeper" / "b.txt", "ü" * 5000).read_text(encoding="utf-8") == "ü" * 5000


def test_the_page(tmp_path, bound):
    refused(tmp_path / "report" / "index.html", bound, lambda: write_page(tmp_path / "report", measured()))


def test_the_catalogue(tmp_path, bound, monkeypatch):
    monkeypatch.setattr(_records, "SECTIONS", tmp_path)
    path = tmp_path / "a" / "records" / "b.json"
    write = lambda: _records.write_records("a.b", ["A"], {"A": {"reason": "c" * 5000}})  # before it is read again
    refused(path, bound, write, old="{}")
    path.write_text("{")
    with pytest.raises(DataError, match=r"b\.json; found Expecting property name.*remedy: restore the file"):
        write()
    assert path.read_text() == "{"


def test_an_interruption_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_text(tmp_path / "a.txt", "new")
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["old"]


def test_a_directory_in_the_place_of_the_file(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(DataError, match="remedy: make the directory writable"):
        replace_text(tmp_path / "a.txt", "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_in_context_ends_with_one_message(tmp_path, bound):
    frame = pl.DataFrame({"a": [row % 7 for row in range(40)], "y": [row**0.5 for row in range(40)]})
    frame.write_csv(tmp_path / "table.csv")
    words = ["in-context", str(tmp_path / "table.csv"), "--target", "y", "--features", "8", "--layers", "5"]
    bound(2000)
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    bound(resource.RLIM_INFINITY)
    assert result.exit_code == 2, result.output
    assert "Error: file " in result.stderr
    assert "Traceback" not in result.stderr
    assert list((tmp_path / "in_context").iterdir()) == []


def test_a_study_ends_with_one_message(tmp_path, monkeypatch, bound):
    monkeypatch.setattr("lemmata.workflows.studies.run_study", lambda *_a, **_k: measured())
    (tmp_path / "study.json").write_text(json.dumps({"old": True}))
    bound(2000)
    result = CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path)])
    bound(resource.RLIM_INFINITY)
    assert result.exit_code == 2, result.output
    assert "Error: file " in result.stderr
    assert json.loads((tmp_path / "study.json").read_text()) == {"old": True}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["report", "study.json"]


def started(*words, **options):
    # Unbuffered, Python does not notice that a pipe took a part of a long text.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, env=environment, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("words", [["list"], ["list", "--json"]], ids=" ".join)
def test_a_full_standard_output(words):
    with open("/dev/full", "w") as full:
        process = started(*words, stdout=full)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 2, said
    assert said.startswith("Error: the output cannot be written")
    assert "Traceback" not in said
    assert "Exception" not in said


@pytest.mark.parametrize(("stream", "words", "code"), [(1, ["list", "hoeffding"], 0), (2, ["list", "zzzz"], 2)])
def test_a_stream_that_is_closed(stream, words, code):
    # A shell closes it: a fork of this process, in which JAX has threads, could wait for ever.
    shell = ["sh", "-c", f'exec "$@" {stream}>&-', "sh", sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(shell, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == code, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("words", [["list", "--json"], ["show", "softmax_training"]], ids=" ".join)
def test_a_reader_who_leaves(words):
    """As `lemmata list | head -1`: nothing on stderr, and no exit code that says a verdict."""
    with started(*words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.parametrize(
    ("words", "stream"),
    [
        (["--help"], "stdout"),
        (["study", "--help"], "stdout"),
        (["--version"], "stdout"),
        (["list", "--no-such-option"], "stderr"),
        (["list", "zzzz"], "stderr"),
    ],
    ids=str,
)
def test_a_reader_who_had_left_before(words, stream):
    """Typer and rich end the program with 1 where nobody reads the help, and 1 would say that a claim is refuted."""
    reads, writes = os.pipe()
    os.close(reads)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writes}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], **streams, text=True, check=False, timeout=120)
    os.close(writes)
    assert (done.returncode, done.stdout or "", done.stderr or "") == (141, "", "")


@pytest.mark.parametrize(
    "words", [["study", "no/such.csv"], ["compare", "no/such.csv"], ["model", "a.py:f", "no/such.csv"]]
)
def test_a_missing_file_is_refused_before_anything_is_loaded(words):
    code = (
        "import sys; from lemmata.interfaces.cli import main\n"
        f"sys.argv = ['lemmata', *{words}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)\n"
        "print(*{'jax', 'polars', 'sklearn', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["2"], done.stderr
    assert "there is no file no/such.csv" in done.stderr


@pytest.mark.parametrize("columns", ["0", "1", "²", "1e3", "", "-80", "9999999999"])
@pytest.mark.parametrize("words", [["list", "hoeffding"], ["list", "--help"]], ids=" ".join)
def test_a_terminal_whose_width_is_not_known(words, columns):
    """Rich prints nothing in 0 columns, and the exit code was 0."""
    environment = {**os.environ, "COLUMNS": columns, "LINES": columns}
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert 60 < max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize("words", [["show"], ["list", "--source"], ["refute"]], ids=" ".join)
def test_a_word_of_any_length_makes_a_short_message(words):
    command = [sys.executable, "-c", PROGRAM, *words, "a" * 50_000]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "characters)" in done.stderr
    assert len(done.stderr) < 5_000
