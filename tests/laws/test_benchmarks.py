"""`benchmarks/run.py` runs each benchmark, at toy size here, and writes the page from what it printed."""

import importlib.util
import math
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("benchmarks_run", ROOT / "benchmarks" / "run.py")
run = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(run)

PEERS = {
    "certificates": "AUTO_LIRPA_PYTHON",
    "cold": "NEURAL_TANGENTS_PYTHON",
    "empirical": "NEURAL_TANGENTS_PYTHON",
    "peer_kernels": "NEURAL_TANGENTS_PYTHON",
}
"""Benchmarks whose peer needs an environment that a variable names; without it they have no rows."""


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", run.benchmarks())
def test_a_benchmark_runs_at_toy_size(name, tmp_path, monkeypatch):
    for variable in PEERS.values():
        monkeypatch.delenv(variable, raising=False)
    rows, _ = run.rows_of(name, True, str(tmp_path))
    assert rows is not None, f"python benchmarks/run.py {name} --toy"
    assert bool(rows) == (name not in PEERS)
    for what, peer, ratio in rows:
        assert isinstance(what, str)
        assert isinstance(peer, str)
        assert what != peer
        assert 0 <= ratio < math.inf


def test_every_main_that_returns_rows_has_a_toy_size():
    names = run.benchmarks()
    assert len(names) >= 19
    assert {"kernels", "gram_memory", "tiled_attention", "large_scale", *PEERS} <= set(names)
    for name in names:
        assert re.search(r"^TOY = ", (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"), re.M), name


def test_names_that_are_none_are_refused(capsys):
    for words in (["nothing"], ["studies"], ["--write", "--toy"]):
        with pytest.raises(SystemExit) as caught:
            run.main(words)
        assert caught.value.code == 2
    told = capsys.readouterr().err
    assert "unknown benchmark nothing; known: " in told
    assert "studies measures no ratios: run it by itself" in told


def test_the_page_holds_the_rows_and_the_machine_as_printed(tmp_path, monkeypatch):
    page = tmp_path / "speed.md"
    page.write_text((ROOT / "docs" / "speed.md").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(run, "PAGE", page)
    run.write(run.page([("what", "peer", 0.123456), ("more", "none", 12.0)], 90.0, 0.5))
    text = page.read_text(encoding="utf-8")
    assert "| what | peer | 0.123 |\n| more | none | 12 |" in text
    assert re.search(r"Measured on .+, \d+ cores, \d+ GiB of memory, \w+; Python 3\.\d+", text)
    assert "took 2 minutes" in text
    assert text.count(run.MARKS[0]) == text.count(run.MARKS[1]) == 1


def test_one_that_fails_is_named_and_the_run_exits_with_1(monkeypatch, capsys):
    monkeypatch.setattr(run, "benchmarks", lambda: ["kernels"])
    monkeypatch.setattr(run, "rows_of", lambda name, toy, folder: (None, 1.0))
    assert run.main(["kernels", "--toy"]) == 1
    assert "failed: kernels" in capsys.readouterr().err
    monkeypatch.setattr(run, "rows_of", lambda name, toy, folder: ([("a", "b", 1.0)], 1.0))
    assert run.main(["--toy"]) == 0
    assert "1 ratios in" in capsys.readouterr().err
