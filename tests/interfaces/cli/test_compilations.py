"""Compilations kept between runs: found again, whole whatever happens to writers, bounded, none where unwanted."""

import json
import os
import subprocess
import sys

import pytest

from lemmata.interfaces.cli import _compilations
from tests.interfaces.cli.test_claims import claim_file

PROGRAM = """
import contextlib, json, os, pathlib, sys
import jax
from lemmata.interfaces.cli._compilations import kept_compilations

scale, stop = float(sys.argv[1]), sys.argv[2]
found = []
jax.monitoring.register_event_listener(lambda event, **facts: found.append(event.rpartition("/")[2]))

def wait(*_):
    print("here", flush=True)
    sys.stdin.readline()

def half(event, facts):
    if event == "open" and str(facts[0]).endswith("-cache") and "w" in (facts[1] or ""):
        os.write(os.open(facts[0], os.O_CREAT | os.O_WRONLY), b"half")
        wait()

if stop == "writing":
    sys.addaudithook(half)
if stop == "handing over":
    replace, moves = pathlib.Path.replace, iter((False, True))
    pathlib.Path.replace = lambda path, target: (wait() if next(moves) else None, replace(path, target))

one, two = (lambda x, y=y: (x * scale + y).sum() for y in (1.0, 2.0))
one.__name__, two.__name__ = "one", "two"
bound = {"bound": int(sys.argv[3])} if len(sys.argv) > 3 else {}
with kept_compilations(**bound):
    sums = [float(jax.jit(f)(jax.numpy.arange(3.0))) for f in (one, two)]
    if stop == "ending":
        wait()
print(json.dumps({"sums": sums, "found": found.count("cache_hits"), "compiled": found.count("cache_misses"),
                  "before": jax.config.jax_compilation_cache_dir}))
"""


@pytest.fixture
def start(tmp_path):
    """Start a run that compiles two functions, with a factor of the caller's in them; it may stop somewhere."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    begun = []

    def begin(factor=2.0, stop="nowhere", *bound, place=tmp_path):
        command = [sys.executable, "-c", PROGRAM, str(factor), stop, *map(str, bound)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        run = subprocess.Popen(command, env={**quiet, "LEMMATA_CACHE_DIR": str(place)}, text=True, **pipes)
        begun.append(run)
        if stop != "nowhere":
            assert run.stdout.readline() == "here\n", run.stderr.read()
        return run

    yield begin
    for run in begun:
        run.kill()
        run.communicate()


def end(run):
    """What a run says at its end, after it was let go on; it says nothing on stderr."""
    output, complaints = run.communicate("\n")
    assert (run.returncode, complaints) == (0, "")
    return json.loads(output)


def entries(place):
    return sorted(place.glob("compilations/entries/*/*"))


def kill(run):
    run.kill()
    run.communicate()


def test_two_runs_at_once_and_a_later_one(start, tmp_path):
    first, second = start(stop="ending"), start(stop="ending")
    assert len(list(tmp_path.glob("compilations/runs/*"))) == 2
    reports = [end(first), end(second)]
    assert [report["sums"] for report in reports] == [[9.0, 12.0]] * 2
    assert reports[0]["compiled"] >= 2
    later = end(start())
    assert (later["sums"], later["compiled"], later["before"]) == ([9.0, 12.0], 0, None)
    assert later["found"] == reports[0]["compiled"] == len(entries(tmp_path))
    assert not list(tmp_path.glob("compilations/runs/*"))


def test_a_truncated_entry_is_compiled_anew_and_replaced(start, tmp_path):
    end(start())
    kept = entries(tmp_path)
    spoilt = next(entry for entry in kept if "two" in entry.name)
    spoilt.write_bytes(spoilt.read_bytes()[:-100])
    report = end(start())
    assert (report["sums"], report["found"]) == ([9.0, 12.0], len(kept) - 1)
    assert spoilt not in entries(tmp_path)
    assert end(start())["compiled"] == 1
    assert end(start())["found"] == len(kept)


def test_a_run_that_is_killed_while_it_writes_leaves_nothing(start, tmp_path):
    run = start(stop="writing")
    kill(run)
    assert [path.read_bytes() for path in tmp_path.glob("compilations/runs/*/*-cache")] == [b"half"]
    assert not entries(tmp_path)
    report = end(start())
    assert (report["sums"], report["found"]) == ([9.0, 12.0], 0)
    assert not list(tmp_path.glob("compilations/runs/*"))
    assert end(start())["compiled"] == 0


def test_a_run_that_is_killed_while_it_hands_over_leaves_whole_entries_and_no_lock(start, tmp_path):
    run = start(stop="handing over")
    kill(run)
    (whole,) = entries(tmp_path)
    report = end(start())
    assert report["sums"] == [9.0, 12.0]
    assert report["found"] == 1
    assert whole in entries(tmp_path)
    assert len(entries(tmp_path)) == report["compiled"] + 1


def test_a_bound_is_kept(start, tmp_path):
    end(start())
    kept = len(entries(tmp_path))
    bound = sum(-(-entry.stat().st_size // 4096) * 4096 for entry in entries(tmp_path))
    end(start(3.0, "nowhere", bound))
    assert len(entries(tmp_path)) == kept
    assert end(start(3.0, "nowhere", bound))["compiled"] == 0


def test_the_least_recently_used_go_first(tmp_path):
    (tmp_path / "kind").mkdir()
    for number, (written, read) in enumerate(((1, 1), (2, 9), (3, 3), (4, 4))):
        path = tmp_path / "kind" / f"f{number}-cache"
        path.write_bytes(bytes(5000))
        os.utime(path, (written, read)[::-1])
    _compilations._evict(tmp_path, 4 * 4096)
    assert [path.name for path in sorted(tmp_path.glob("*/*"))] == ["f1-cache", "f3-cache"]
    assert (tmp_path / "kind" / "f1-cache").stat().st_mtime == 9


@pytest.mark.parametrize("off", ["empty", "a file", "another's"])
def test_none_are_kept(start, tmp_path, off):
    place = tmp_path / "place"
    if off == "a file":
        place.write_text("")
    if off == "another's":
        (place / "compilations").mkdir(parents=True)
        (place / "compilations").chmod(0o777)
    report = end(start(place="" if off == "empty" else place))
    assert (report["sums"], report["found"], report["compiled"]) == ([9.0, 12.0], 0, 0)
    assert not list(tmp_path.rglob("*-cache"))


def test_a_second_verification_compiles_nothing(tmp_path):
    claim = claim_file(tmp_path)
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    program = "import jax, sys; from lemmata.interfaces.cli import app; found = []\n"
    program += "jax.monitoring.register_event_listener(lambda event, **facts: found.append(event))\n"
    program += "app(['verify', sys.argv[1], '--json'], standalone_mode=False)\n"
    program += "print(sum('cache_misses' in event for event in found), file=sys.stderr)"
    runs = []
    for _ in range(2):
        environment = {**quiet, "LEMMATA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", program, claim]
        runs.append(subprocess.run(command, env=environment, capture_output=True, text=True))
    verdicts = [json.loads(run.stdout) for run in runs]
    for verdict in verdicts:
        verdict.pop("seconds")
    assert verdicts[0] == verdicts[1]
    assert int(runs[0].stderr) > 5
    assert runs[1].stderr == "0\n"
