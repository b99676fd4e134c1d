"""The foreign zoo: rows are what they should be, a second route judges cells, and every false finding is seen."""

import dataclasses
import importlib
import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[3] / "benchmarks"
FILES = (
    "zoo",
    "zoo_cells",
    "zoo_foreign",
    "zoo_foreign_cells",
    "zoo_foreign_networks",
    "zoo_foreign_rows",
    "zoo_models",
)
SEED, BAYES = 103, "naive Bayes of cancer"


@pytest.fixture(scope="module")
def zoo():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("zoo_foreign_cells")
    for name in FILES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def cells(zoo):
    return {
        (name, condition): zoo.judge(name, condition, SEED)
        for name, condition in ((BAYES, "clean"), ("forest", "wrong labels"), ("Lasso", "shifted"))
    }


def test_there_are_enough_models_of_every_family(zoo):
    models = sys.modules["zoo_foreign"].MODELS
    assert len(models) >= 40
    families = {own.family.split(",")[0] for own in models.values()}
    assert families == {"scikit-learn", "XGBoost", "plain functions", "PyTorch", "Flax", "Equinox", "Keras"}
    asked = [others for own in models.values() for others in own.others]
    assert asked.count("wrong labels") >= 8
    assert asked.count("shifted") >= 5
    assert set(asked) | {"clean"} == set(zoo.CONDITIONS)


@pytest.mark.parametrize("name", ["iris", "words", "unbalanced", "tokens", "series"])
def test_a_fifth_of_the_labels_is_wrong_and_nothing_else_changes(zoo, name):
    rows_of = sys.modules["zoo_foreign_rows"].rows_of
    clean, noisy = (rows_of(name, condition, SEED) for condition in ("clean", "wrong labels"))
    np.testing.assert_array_equal(clean.x, noisy.x)
    np.testing.assert_array_equal(clean.held_x, noisy.held_x)
    changed = np.concatenate([clean.y != noisy.y, clean.held_y != noisy.held_y])
    assert changed.sum() == round(0.2 * len(changed))
    assert set(noisy.y) == set(clean.y)


@pytest.mark.parametrize("name", ["cancer", "linear", "motifs", "series"])
def test_one_column_of_held_out_rows_is_shifted(zoo, name):
    rows_of = sys.modules["zoo_foreign_rows"].rows_of
    clean, moved = (rows_of(name, condition, SEED) for condition in ("clean", "shifted"))
    np.testing.assert_array_equal(clean.x, moved.x)
    flat = lambda own: own.reshape(len(own), -1)
    apart = (flat(moved.held_x) - flat(clean.held_x)) / flat(clean.x).std(0)
    np.testing.assert_allclose(apart[:, 0], 1.5, rtol=1e-9)
    assert (apart[:, 1:] == 0).all()


def test_rows_are_of_the_seed_and_of_the_model(zoo):
    rows_of = sys.modules["zoo_foreign_rows"].rows_of
    first, again, other, salted = (
        rows_of("moons", "clean", seed, True, salt) for seed, salt in ((1, "a"), (1, "a"), (2, "a"), (1, "b"))
    )
    np.testing.assert_array_equal(first.x, again.x)
    assert first.x.dtype == np.float32
    assert (first.x != other.x).any()
    assert (first.x != salted.x).any()
    np.testing.assert_allclose(first.x.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(first.x.std(0), 1, rtol=1e-5)


def test_the_page_has_the_error_that_the_model_makes(zoo, cells):
    """Of the classes, the error of naive Bayes by scikit-learn's own score; of the page what it says."""
    model, rows, facts = sys.modules["zoo_foreign"].trained_on(BAYES, "clean", SEED)
    cell = cells[BAYES, "clean"]
    assert facts == {}
    assert cell.numbers["error"] == pytest.approx(1 - model.score(rows.held_x, rows.held_y)) == cell.numbers["page"]
    model, rows, _ = sys.modules["zoo_foreign"].trained_on("Lasso", "shifted", SEED)
    cell = cells["Lasso", "shifted"]
    assert cell.numbers["error"] == pytest.approx(((model.predict(rows.held_x) - rows.held_y) ** 2).mean())
    assert cell.numbers["page"] == pytest.approx(cell.numbers["error"])


def test_the_cells_say_what_they_should(zoo, cells):
    assert [cell.false for cell in cells.values()] == [[], [], []]
    assert zoo.false_findings(list(cells.values())) == ["no false finding in 3 cells"]
    assert {cell.condition for cell in zoo.alike(list(cells.values()))} == {"clean", "wrong labels"}
    for cell in cells.values():
        assert zoo.line(cell).count("|") == zoo.HEAD.count("|")


def test_every_false_finding_is_seen(zoo, cells):
    """The table can fail: each sentence that is false of a cell is a kind, and each that is missing."""
    cell = cells[BAYES, "clean"]
    known = cell.numbers
    told = {
        "confidence of a good model says next to nothing": {
            "findings": ["Confidence carries almost no information: ..."]
        },
        "rows of a good model are guessed": {"findings": ["The model guesses on held-out rows: it errs."]},
        "wrong labels where there are none": {
            "findings": ["About 4 % of the held-out labels look wrong (2 to 7 %): look"]
        },
        "rows that are drawn alike are not alike": {"findings": ["The rows do not come from the same distribution: x"]},
        "no baseline beside the first line": {"sentences": [cell.sentences[0], "Nothing."]},
        "another error than the model's own calls have": {"numbers": {**known, "page": known["error"] + 0.01}},
        "not examined": {"refused": "model; found: a thing"},
        "a gauge failed": {"gauges": {"g": {"status": "failed", "label": "estimate"}}},
        "an interval that says nothing agrees": {
            "sentences": [
                *cell.sentences[:2],
                "From training rows alone: 20 %, 1 % to 60 %. Prediction and measurement agree.",
            ],
            "gauges": {"held_out_error_from_training_rows": {"status": "agrees", "predicted": [0.01, 0.2, 0.6]}},
        },
    }
    for kind, changed in told.items():
        assert dataclasses.replace(cell, **changed).false == [kind]
    assert dataclasses.replace(cells["forest", "wrong labels"], findings=[]).false == ["20% wrong labels are not seen"]
    assert dataclasses.replace(cells["Lasso", "shifted"], findings=[]).false == ["shifted rows are not seen"]
    poor = {**known, "beats": 1.0}
    said = dataclasses.replace(cell, numbers=poor, findings=["The model guesses on held-out rows: it errs."])
    assert said.false == []


def test_a_run_goes_on_and_writes_the_page(zoo, cells, tmp_path, monkeypatch, capsys):
    """A refused cell is run again, a finished one is not; what is missing is said, and the page is written."""
    path, page = tmp_path / "cells.jsonl", tmp_path / "page.md"
    done = cells[BAYES, "clean"]
    refused = dataclasses.replace(done, model="neighbours", refused="model; found: a thing")
    path.write_text("".join(json.dumps(dataclasses.asdict(own)) + "\n" for own in (done, refused)))
    page.write_text(f"Before.\n{zoo.MARKS[0]}\nTABLE BEFORE\n{zoo.MARKS[1]}\nAfter.\n")
    asked = []
    monkeypatch.setattr(zoo, "judge", lambda *own: asked.append(own) or dataclasses.replace(done, model=own[0]))
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "keras" else real(name))
    names = [BAYES, "neighbours", "keras values"]
    assert zoo.main(names, ["clean"], [SEED], path, False, page) is None
    assert asked == [("neighbours", "clean", SEED)]
    printed = capsys.readouterr().out
    assert "left out, since keras is not installed: keras values" in printed
    assert printed.count(f"| clean | {SEED} |") == 2
    assert "conformal_coverage: 2 of 2 covered (100.0%), median ratio" in printed
    assert "(under 30 cases)" in printed
    text = page.read_text()
    assert text.startswith("Before.\n<!--")
    assert text.endswith("-->\nAfter.\n")
    assert "TABLE BEFORE" not in text
    assert "| scikit-learn, other classifiers | 2 | 2 |" in text
    assert "left out, since keras is not installed: keras values" in text
    assert "not run" not in text
    assert zoo.main(names, ["clean"], [SEED, SEED + 1], path, True, page) is None
    assert len(asked) == 1
    assert "not run: 2 of 4 cells" in page.read_text()
