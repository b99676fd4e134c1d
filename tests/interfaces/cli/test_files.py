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
TOO_LARGE = (
    r"cannot be written; found File too large; this process may write at most 2,000 bytes into a file .*; "
    "remedy: raise the limit on the size of files"
)


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
    with pytest.raises(DataError, match=TOO_LARGE) as error:
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
    with pytest.raises(DataError, match="remedy: choose another name"):
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
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.csv"]


def test_a_study_ends_with_one_message(tmp_path, monkeypatch, bound):
    monkeypatch.setattr("lemmata.workflows.studies.run_study", lambda *_a, **_k: measured())
    (tmp_path / "study.json").write_text(json.dumps({"old": True}))
    bound(2000)
    result = CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path)])
    bound(resource.RLIM_INFINITY)
    assert result.exit_code == 2, result.output
    assert "Error: file " in result.stderr
    assert json.loads((tmp_path / "study.json").read_text()) == {"old": True}
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize("words", [["--out", "out"], ["--out", "out", "--save-model", "models/m.skops"]])
def test_no_folder_is_made_before_there_is_a_result(tmp_path, monkeypatch, words):
    """A program of the user's may end the process at any moment of the computation."""
    seen = []

    def run(*_a, **_k):
        seen.extend(sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")))
        raise DataError("no result")

    monkeypatch.setattr("lemmata.workflows.studies.run_study", run)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["study", "iris", *words]).exit_code == 2
    assert seen == ["out", "out/.lemmata-study.json.lock"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (["study", "iris"], "report"),
        (["compare", "lookup"], "compare"),
        (["in-context", "table.csv", "--target", "y"], "in_context"),
    ],
)
def test_a_link_below_the_folder_of_the_results_is_refused_before_the_computation(tmp_path, monkeypatch, words, folder):
    for name in ("studies.run_study", "studies.run_in_context", "comparisons.run_comparison"):
        monkeypatch.setattr(f"lemmata.workflows.{name}", lambda *_a, **_k: pytest.fail("it computed"), raising=False)
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"a": [row % 7 for row in range(40)], "y": [row**0.5 for row in range(40)]}).write_csv("table.csv")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "index.html").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / folder).symlink_to(tmp_path / "home")
    result = CliRunner().invoke(app, [*words, "--out", "out"])
    said = " ".join(result.stderr.split())
    assert result.exit_code == 2, result.output
    assert "cannot be written to" in said
    assert f"out/{folder}, which is a link" in said
    assert (tmp_path / "home" / "index.html").read_text() == "mine"
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["index.html"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["study", "iris", "--save-model", "o" * 250 + ".skops"],
            ["--save-model ooo", "File name too long", "shorter"],
        ),
        (["study", "iris", "--out", "o" * 300], ["--out", "File name too long", "choose a shorter name"]),
        (["study", "o" * 5000 + ".csv"], ["cannot be opened", "found: File name too long", "remedy: give one of"]),
        (["study", "o" * 5000 + ".csv"], ["5006 characters"]),
        (["report", "o" * 5000 + ".json"], ["File name too long", "check the path"]),
    ],
)
def test_a_name_that_is_too_long_is_told(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2, result.output
    assert not [word for word in said if word not in " ".join(result.stderr.split())], result.stderr
    assert len(result.stderr) < 5000


@pytest.mark.parametrize("words", [["study", "iris"], ["verify", "hoeffding", "--ledger", "l.sqlite"]], ids=" ".join)
def test_a_current_folder_that_was_removed_is_told(tmp_path, words):
    shell = 'mkdir "$0"; cd "$0"; rmdir "$0"; exec "$@"'
    command = ["sh", "-c", shell, str(tmp_path / "gone"), sys.executable, "-P", "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert "the current folder does not exist any more" in done.stderr
    assert "remedy: change to an existing folder" in done.stderr


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
