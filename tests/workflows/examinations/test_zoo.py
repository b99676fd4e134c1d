"""The zoo's cheapest cells: what must be said of a logistic regression is said, and what must not be said is not."""

import dataclasses
import importlib
import json
import pathlib
import sys

import jax
import numpy as np
import pytest

from lemmata.workflows.examinations import gauges_of

FOLDER = pathlib.Path(__file__).parents[3] / "benchmarks"
SEED = 11
SIGNS = (
    "copies in training rows", "copies in held-out rows", "trigger", "guessing", "wrong labels", "confidence too low",
    "membership", "not trained",
)  # fmt: skip


@pytest.fixture(scope="module")
def zoo():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)  # where the file of its models stands beside it
        yield importlib.import_module("zoo")
    for name in ("zoo", "zoo_cells", "zoo_models"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def cells(zoo):
    with jax.enable_x64(True):
        return {name: zoo.judge("logistic", name, SEED) for name in ("clean", "permuted", "over-regularised", "copies")}


@pytest.mark.parametrize("condition", ["clean", "permuted", "over-regularised", "copies"])
def test_the_page_says_what_it_should(zoo, cells, condition):
    cell = cells[condition]
    # The zoo's decay shrinks some clean logistic regressions: that these are too little confident is true of them.
    allowed = {"quiet: confidence too low"} if condition in ("clean", "copies") else set()
    assert set(cell.misses) <= allowed
    assert ("confidence too low" in cell.signs) <= (cell.numbers["temperature"] < 0.85)
    asked = [words for words, _ in zoo.expected(cell)]
    assert sum(words.startswith("fires: ") for words in asked) == len(zoo.FIRES[condition])
    assert sum(words.startswith("quiet: ") for words in asked) == len(zoo.QUIET[condition])
    assert len(cell.fires) + len(cell.misses) == len(asked)


def test_as_much_ran_as_is_counted(zoo, cells):
    """No cell is judged whose gauges did not run: of four cells, so many gauges spoke, and so many were measured."""
    statuses = [status for cell in cells.values() for status in cell.statuses.values()]
    assert len({tuple(sorted(cell.gauges)) for cell in cells.values()}) == 1
    with jax.enable_x64(True):
        posed = gauges_of(sys.modules["zoo_models"].trained_on("logistic", "clean", SEED)[0])
    assert len(statuses) == 4 * len(posed)
    assert "failed" not in statuses
    assert sum(status in ("agrees", "disagrees") for status in statuses) >= 40
    tested = [name for cell in cells.values() for name in cell.intervals]
    held = sum(cell.statuses[name] == "agrees" for cell in cells.values() for name in cell.intervals)
    assert len(tested) >= 30
    assert held >= 0.9 * len(tested)


@pytest.mark.parametrize("condition", ["clean", "permuted", "over-regularised", "copies"])
def test_a_cell_that_says_nothing_or_everything_is_a_miss(zoo, cells, condition):
    """The table can fail: without findings all that must fire is missed, with every finding all that must not."""
    words = "60 of 300, 100 of 400. Without these duplicates, the error is"
    silent, loud = (dataclasses.replace(cells[condition], signs=signs) for signs in ({}, dict.fromkeys(SIGNS, words)))
    for cell, kind, names in ((silent, "fires", zoo.FIRES), (loud, "quiet", zoo.QUIET)):
        missed = {word.split(": ")[1] for word in cell.misses if word.startswith(f"{kind}: ")}
        assert missed == set(names[condition])
    healthy = dataclasses.replace(cells[condition], sentences=["This model is healthy."])
    assert "no word of health" in healthy.misses


def test_conditions_are_told_apart(cells):
    assert len({tuple(cell.signs) for cell in cells.values()}) == len(cells)
    assert cells["permuted"].intervals["held_out_error_from_training_rows"][1] > 0.75
    assert cells["over-regularised"].numbers["temperature"] < 0.8
    assert cells["copies"].statuses["held_out_error_from_training_rows"] == "inapplicable"
    assert "60 of 300" in cells["copies"].signs["copies in training rows"]
    assert "100 of 400" in cells["copies"].signs["copies in held-out rows"]


def test_the_summary_counts_and_names(zoo, cells):
    lines = zoo.summary(list(cells.values()))
    tested = sum(len(cell.intervals) for cell in cells.values())
    held = sum(cell.statuses[name] == "agrees" for cell in cells.values() for name in cell.intervals)
    assert any(line.startswith(f"all: {held} of {tested} covered") for line in lines)
    assert lines[-1] == f"{sum(not cell.misses for cell in cells.values())} of 4 cells say what they should"
    assert zoo.line(cells["clean"]).count("|") == zoo.HEAD.count("|")


def test_a_run_goes_on_where_it_was(zoo, cells, tmp_path, monkeypatch, capsys):
    """Whole lines are cells that are not run again; half a line, and a line of another form, are not cells."""
    path = tmp_path / "cells.jsonl"
    kept = [json.dumps(dataclasses.asdict(cells[name])) for name in ("clean", "copies")]
    path.write_text("\n".join([*kept, '{"model": "logistic", "condition": "clean"}', kept[0][:90]]) + "\n")
    assert list(zoo.stored(path)) == [("logistic", "clean", SEED), ("logistic", "copies", SEED)]
    assert zoo.stored(tmp_path / "none") == zoo.stored(None) == {}
    asked = []

    def judged(*own):
        asked.append(own)
        if own[1] == "backdoor":
            raise ZeroDivisionError("a gauge that is new")
        return cells[own[1]]

    monkeypatch.setattr(zoo, "judge", judged)
    told = ["--only", "logistic", "--seeds", str(SEED), "--out", str(path), "--conditions"]
    monkeypatch.setattr(sys, "argv", ["zoo.py", *told, "clean", "permuted", "backdoor", "copies"])
    with pytest.raises(SystemExit, match="1 cells failed, and were not stored"):
        zoo.main()
    assert [own[1] for own in asked] == ["permuted", "backdoor"]
    assert [own[1] for own in zoo.stored(path)] == ["clean", "copies", "permuted"]
    monkeypatch.setattr(sys, "argv", ["zoo.py", *told, "clean", "backdoor", "--print"])
    capsys.readouterr()
    zoo.main()
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{zoo.MARKS[0]}\nTABLE BEFORE\n{zoo.MARKS[1]}\nAfter.\n")
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--write", str(page)])
    for _ in range(2):
        zoo.main()
        text = page.read_text()
        assert text.startswith("Before.\n<!--")
        assert text.endswith("-->\nAfter.\n")
        assert "TABLE BEFORE" not in text
        assert text.count(zoo.line(cells["clean"])) == text.count("1 of 1 cells") + text.count("0 of 1 cells") == 1
    assert len(asked) == 2
    assert capsys.readouterr().out.count("| logistic |") == 3


def test_a_gauge_that_the_table_does_not_know_is_counted(zoo, cells):
    """With an interval, without one, and one that failed."""
    told = {"reason": "why", "predicted": [1.0, 2.0, 3.0], "measured": [0.0, 4.0, 4.0], "seconds": 0.0}
    news = {
        "new_interval": {**told, "status": "disagrees", "label": "estimate"},
        "new_bound": {**told, "status": "vacuous", "label": "upper"},
        "new_fault": {**told, "status": "failed", "label": "estimate", "predicted": None, "measured": None},
    }
    cell = dataclasses.replace(cells["clean"], gauges={**cells["clean"].gauges, **news})
    lines = zoo.summary([cell, cells["permuted"]])
    assert "new_interval: 0 of 1 covered, median ratio 0.50" in lines
    assert "without an interval that was measured: new_bound: 1 vacuous" in lines
    (missed,) = (line for line in lines if line.startswith(f"missed in logistic, clean, seed {SEED}"))
    assert "disagrees: new_interval 2 (1 to 3), measured 4" in missed
    (never,) = (line for line in lines if line.startswith("inapplicable to every cell: "))
    assert "error_at_half_the_rows" in never
    assert "new_bound" not in never
    assert "failed: new_fault why" in missed
    assert cell.misses == cells["clean"].misses


def test_rows_are_what_the_condition_says(zoo):
    rows_of = sys.modules["zoo_models"].rows_of
    clean, noisy, copied, marked = (rows_of(name, SEED) for name in ("clean", "wrong labels", "copies", "backdoor"))
    assert (clean.y != noisy.y).mean() == pytest.approx(0.15) == noisy.planted.mean()
    assert (clean.held_y != noisy.held_y).mean() == pytest.approx(0.15)
    seen = {row.tobytes() for row in copied.x}
    assert sum(row.tobytes() in seen for row in copied.held_x) == copied.across == 100
    assert len(copied.x) - len(seen) == copied.within / 2 == 30
    assert marked.planted.sum() == 30
    assert (marked.y[marked.planted] == zoo.TARGET).all()
    np.testing.assert_array_equal(marked.held_x, clean.held_x)
    assert (marked.x[marked.planted][:, -2:, -2:] == 1).all()
