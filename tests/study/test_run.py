"""The whole study on small data: complete, interrupted, and cut by a time limit."""

import json
import math
import time

import numpy as np
import pytest

from lemmata.claims import registry
from lemmata.errors import UnknownNameError
from lemmata.study import _claims, load_dataset, run_study
from lemmata.study import _run as run
from tests.rotation import seed


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table with duplicate rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=80)
    rows = np.column_stack([x, y])
    rows = np.vstack([rows, rows[:4]])
    path = tmp_path_factory.mktemp("data") / "waves.csv"
    path.write_text("a,b,c,y\n" + "\n".join(",".join(f"{value:.6f}" for value in row) for row in rows) + "\n")
    return load_dataset(str(path), "y")


@pytest.fixture(scope="module")
def study(table):
    """A study that examines every 40th claim of the catalogue, others for each seed."""
    share = dict(list(registry().items())[seed() % 40 :: 40])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_claims, "registry", lambda: share)
        return run_study(table, kernels=["rbf", "linear"], seed=1)


def test_every_section_is_filled(study):
    assert [entry["name"] for entry in study["architectures"]] == ["rbf", "linear"]
    assert study["answers"]["best"] in ("rbf", "linear")
    assert len(study["training"]) == 2
    assert study["quality"]["points"] == sum(len(entry["curve"]) for entry in study["architectures"])
    assert all(point["resamples"] >= 8 for entry in study["architectures"] for point in entry["curve"])
    assert {entry["name"] for entry in study["claims"]} <= set(registry())
    assert all(entry["status"] in ("applies", "inapplicable", "failed") for entry in study["claims"])
    json.dumps(study)


@pytest.mark.exhaustive
def test_every_claim_that_speaks_of_regressions_is_examined(table):
    found = run_study(table, kernels=["rbf", "linear"], seed=1)
    assert {entry["name"] for entry in found["claims"]} <= set(registry())
    assert len(found["claims"]) >= 20
    assert all(entry["status"] in ("applies", "inapplicable", "failed") for entry in found["claims"])
    assert sum(entry["status"] == "applies" for entry in found["claims"]) >= 8
    assert found["bibliography"]


def test_duplicates_are_named_as_the_culprit(study):
    rbf = study["architectures"][0]
    (culprit,) = rbf["spectrum"]["culprits"]
    assert "4 duplicate rows" in culprit
    assert study["architectures"][0]["spectrum"]["rank"] == 80
    assert math.isinf(study["architectures"][0]["spectrum"]["condition"])


def test_the_same_seed_gives_the_same_numbers(table, study):
    again = run_study(table, kernels=["rbf"], seed=1, time_limit=1e-3)
    first, second = study["architectures"][0]["curve"], again["architectures"][0]["curve"]
    assert second == first[: len(second)]


def test_ctrl_c_keeps_what_was_finished(table, monkeypatch):
    def interrupted(*arguments):
        yield {"name": "first", "status": "applies"}, registry()["generalisation.concentration.hoeffding_held_out"]
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "examinations", interrupted)
    monkeypatch.setattr(run, "train_networks", lambda *arguments: iter([{"name": "net"}]))
    record = run_study(table, kernels=["linear"])
    assert record["interrupted"]
    assert record["training"] == [{"name": "net"}]
    assert record["claims"] == [{"name": "first", "status": "applies"}]
    assert record["bibliography"][0]["key"] == "hoeffding1963"


def test_ctrl_c_in_the_curves_answers_for_the_finished_architectures(table, monkeypatch):
    real, seen = run.study_architecture, []

    def second_is_interrupted(architecture, *arguments):
        seen.append(architecture.name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return real(architecture, *arguments)

    monkeypatch.setattr(run, "study_architecture", second_is_interrupted)
    record = run_study(table, kernels=["linear", "rbf"])
    assert record["interrupted"]
    assert record["answers"]["best"] == "linear"
    assert record["architectures"][0]["samples"]["theory"]
    assert record["quality"]["points"] > 0


def test_a_time_limit_leaves_stages_out_and_says_so(table):
    start = time.monotonic()
    record = run_study(table, kernels=["linear", "rbf"], time_limit=1e-3)
    assert len(record["architectures"]) == 1
    assert len(record["architectures"][0]["curve"]) == 4
    assert record["answers"]
    assert all(entry["status"] == "not examined" for entry in record["claims"])
    text = " ".join(record["notes"])
    for word in ("architectures: rbf", "cut the measured curve", "networks were trained", "claims were examined"):
        assert word in text
    assert record["seconds"] <= time.monotonic() - start


def test_an_unknown_architecture_names_the_nearest(table):
    with pytest.raises(UnknownNameError, match=r"did you mean 'relu-3'\?|relu-DEPTH"):
        run_study(table, kernels=["rleu-3"])
