"""`lemmata map` and the filters of `lemmata list`: what they print, write and refuse."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lemmata import results
from lemmata.engine.catalogue import catalogue, rows
from lemmata.interfaces.cli import app
from lemmata.interfaces.site import _build

RUNNER = CliRunner()


def listed(*arguments):
    result = RUNNER.invoke(app, ["list", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("option", "word", "field"),
    [
        ("--tool", "Fourier analysis", "tool"), ("--architecture", "attention", "architecture"),
        ("--object", "score", "object"), ("--verdict", "refuted", "status"), ("--kind", "theorem", "kind"),
        ("--subject", "high_dimension", "subject"),
    ],
)  # fmt: skip
def test_a_filter_keeps_the_claims_that_have_the_word(option, word, field):
    found = listed(option, word)
    assert {row["name"] for row in found} == {row["name"] for row in rows() if row[field] == word}
    assert found


def test_filters_join_and_words_may_be_written_with_hyphens():
    found = listed("--verdict", "refuted", "--subject", "approximation", "--tool", "fourier-analysis")
    assert found
    assert all((row["status"], row["tool"]) == ("refuted", "Fourier analysis") for row in found)
    assert listed("--verdict", "inapplicable") == []
    assert {"tag", "tool", "architecture", "object", "problem", "tightness"} <= set(found[0])


def test_the_list_comes_without_the_engine():
    program = (
        "import sys; from lemmata.interfaces.cli import app; app(['list', '--verdict', 'refuted', '--kind', 'step'], "
        "standalone_mode=False); print({'jax', 'scipy', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_without_a_directory_the_counts_are_printed():
    result = RUNNER.invoke(app, ["map"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{len(rows())} claims in ")
    assert "114 results" in result.stdout
    found = json.loads(RUNNER.invoke(app, ["map", "--json"]).stdout)
    assert found["claims"] == len(rows())
    assert found["printed"] == 114


def test_the_counts_need_no_jax():
    catalogue()  # reads the code where it has changed, which takes JAX, and keeps what it says
    code = "import sys; from lemmata.interfaces.cli import app; app(['map'], standalone_mode=False)"
    code += "; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.fixture
def two_pages(monkeypatch):
    """A site of two files, so that writing it takes no time."""
    monkeypatch.setattr(_build, "site", lambda *given: {"index.html": "first", "claims/0001.html": "a claim"})


def test_a_site_is_replaced_and_nothing_else_is_touched(tmp_path, two_pages, monkeypatch):
    place = tmp_path / "site"
    assert RUNNER.invoke(app, ["map", "--out", str(place)]).exit_code == 0
    (place / "notes.txt").write_text("mine")
    monkeypatch.setattr(_build, "site", lambda *given: {"index.html": "second"})
    result = RUNNER.invoke(app, ["map", "--out", str(place)])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(place / "index.html")
    assert (place / "index.html").read_text() == "second"
    assert not (place / "claims" / "0001.html").exists(), "a page that is no more"
    assert (place / "notes.txt").read_text() == "mine"


def foreign(place):
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")


def broken(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text("{")


def escaping(place):
    place.mkdir()
    (place.parent / "outside.txt").write_text("kept")
    (place / _build.MANIFEST).write_text(f'["../outside.txt", "{place.parent}/outside.txt"]')


def deep(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text("[" * 200_000)


def numbered(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text('["index.html", 5]')


def nameless(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text('["a\\u0000b"]')


def doubled(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text('{"written": [], "begun": {}, "begun": {}}')


def half(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text('{"begun": 1}')


def taken(place):
    place.mkdir()
    (place / _build.MANIFEST).write_text("[]")
    (place / "index.html").write_text("mine")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda place: place.write_text("a file"), "found: a file"),
        (foreign, "is not empty"),
        (broken, "is not the list of a site's files"),
        (half, "found: an object with"),
        (deep, "nested too deeply"),
        (numbered, "[1] found: 5 rule: text"),
        (nameless, "names of files"),
        (doubled, "the key 'begun' twice"),
        (taken, "index.html, which does not belong to the site"),
    ],
)
def test_a_directory_that_is_not_the_sites_is_refused_and_left_as_it_is(tmp_path, two_pages, prepare, message):
    place = tmp_path / "site"
    prepare(place)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    result = RUNNER.invoke(app, ["map", "--out", str(place)])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_site_that_was_interrupted_before_it_was_whole_leaves_nothing(tmp_path, two_pages, monkeypatch):
    written = results._written

    def interrupted(draft, *rest):
        if draft.name == "0001.html":
            raise KeyboardInterrupt
        written(draft, *rest)

    monkeypatch.setattr(results, "_written", interrupted)
    assert RUNNER.invoke(app, ["map", "--out", str(tmp_path)]).exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_a_whole_site_that_was_not_moved_is_finished_by_the_next_run(tmp_path, two_pages, monkeypatch):
    """As after SIGKILL: the pages of the first run have their places, and go where the second has none of the name."""
    move = Path.replace

    def killed(draft, path):
        if path.name == "0001.html":
            raise KeyboardInterrupt
        return move(draft, path)

    monkeypatch.setattr(Path, "replace", killed)
    assert RUNNER.invoke(app, ["map", "--out", str(tmp_path)]).exit_code == 130
    assert (tmp_path / "index.html").read_text() == "first"
    assert not (tmp_path / "claims" / "0001.html").exists()
    monkeypatch.setattr(Path, "replace", move)
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.setattr(_build, "site", lambda *given: {"claims/0002.html": "another"})
    assert RUNNER.invoke(app, ["map", "--out", str(tmp_path)]).exit_code == 0
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"claims/0002.html", "notes.txt", _build.MANIFEST}, "what the first run wrote is removed"


def test_a_site_that_another_process_writes_is_left_to_it(tmp_path, two_pages):
    with results.writing(tmp_path, _build.MANIFEST):
        result = RUNNER.invoke(app, ["map", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "is being written by another process" in " ".join(result.stderr.split())


def test_a_list_of_files_cannot_reach_out_of_the_directory(tmp_path, two_pages):
    place = tmp_path / "site"
    escaping(place)
    assert RUNNER.invoke(app, ["map", "--out", str(place)]).exit_code == 0
    assert (tmp_path / "outside.txt").read_text() == "kept"


def test_a_list_of_files_cannot_reach_out_through_a_link(tmp_path, two_pages, monkeypatch):
    place, outside = tmp_path / "site", tmp_path / "outside"
    outside.mkdir()
    (outside / "old.html").write_text("kept")
    place.mkdir()
    (place / "claims").symlink_to(outside)
    (place / _build.MANIFEST).write_text('["claims/old.html"]')
    result = RUNNER.invoke(app, ["map", "--out", str(place)])
    assert result.exit_code == 2, "the site would be written through the link"
    assert "claims/0001.html, which does not belong to the site" in " ".join(result.stderr.split())
    monkeypatch.setattr(_build, "site", lambda *given: {"index.html": "second"})
    assert RUNNER.invoke(app, ["map", "--out", str(place)]).exit_code == 0
    assert [path.name for path in outside.iterdir()] == ["old.html"]


@pytest.mark.parametrize("listed", ['["."]', '["a//b"]', '["./index.html"]'])
def test_a_list_of_files_with_names_that_are_none_is_harmless(tmp_path, two_pages, listed):
    place = tmp_path / "site"
    place.mkdir()
    (place / _build.MANIFEST).write_text(listed)
    assert RUNNER.invoke(app, ["map", "--out", str(place)]).exit_code == 0
    assert (place / "claims" / "0001.html").read_text() == "a claim"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path, two_pages):
    tmp_path.chmod(0o500)
    result = RUNNER.invoke(app, ["map", "--out", str(tmp_path / "site")])
    assert result.exit_code == 2


def test_a_directory_below_a_file_and_json_of_a_site_are_refused(tmp_path, two_pages):
    (tmp_path / "file").write_text("")
    result = RUNNER.invoke(app, ["map", "--out", str(tmp_path / "file" / "site")])
    assert result.exit_code == 2
    assert "cannot be written to" in " ".join(result.stderr.split())
    result = RUNNER.invoke(app, ["map", "--json", "--serve"])
    assert result.exit_code == 2
    assert "--json prints only the counts" in " ".join(result.stderr.split())


SERVED = """
from pathlib import Path
from lemmata.interfaces.cli import app
from lemmata.interfaces.site import _build
_build.site = lambda *given: {"index.html": "<p>served</p>", "claims/0001.html": "a claim"}
app(["map", "--serve"])
"""


def test_the_site_is_served_to_this_machine_alone_until_it_is_interrupted(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-c", SERVED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        address = re.match(r"(http://127\.0\.0\.1:\d+/index\.html)", run.stdout.readline())[1]
        assert urllib.request.urlopen(address, timeout=10).read() == b"<p>served</p>"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address.replace("index.html", "claims/"), timeout=10)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address.replace("index.html", "../../etc/hostname"), timeout=10)
    finally:
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    assert run.returncode == 0, said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("error", "told"),
    [(ConnectionResetError, False), (BrokenPipeError, False), (TimeoutError, False), (ValueError, True)],
)
def test_a_browser_that_hangs_up_is_no_error(error, told, capsys):
    from lemmata.interfaces.site import _serve

    with _serve._server(_serve._Pages) as server:
        try:
            raise error("in the middle of an answer")
        except error:
            server.handle_error(None, ("127.0.0.1", 1))
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert (said == "A request failed: ValueError: in the middle of an answer\n") is told
