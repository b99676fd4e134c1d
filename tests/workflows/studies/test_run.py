"""The whole study on small tables: complete, interrupted, cut by a time limit, and written to a file and back."""

import dataclasses
import json
import math
import threading
import time

import numpy as np
import pytest

from lemmata.engine.claims import registry
from lemmata.errors import DataError, SettingError
from lemmata.options import StudyOptions
from lemmata.workflows.studies import StudyRecord, _claims, run_study
from lemmata.workflows.studies import _run as run
from lemmata.workflows.studies._measure import measure
from tests.budget import seed
from tests.workflows.studies import tables

QUICK = StudyOptions(models="linear,rbf", quick=True)


@pytest.fixture(scope="module")
def study():
    """A study that examines every 80th claim of the catalogue, others for each seed."""
    share = dict(list(registry().items())[seed() % 80 :: 80])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_claims, "registry", lambda: share)
        trained = {"name": "erf", "title": "erf", "widths": [], "sentence": ""}
        patch.setattr("lemmata.workflows.studies._training.train_networks", lambda *arguments: [trained])
        return run_study(tables.waves(80), dataclasses.replace(QUICK, claims=True, error="rmse 0.3"))


def test_every_section_is_filled(study):
    assert [model.name for model in study.models] == ["rbf", "linear"]
    assert study.answers.best == "rbf"
    assert study.signal.found
    assert study.data.columns[0].distinct == 80
    assert [trained["name"] for trained in study.training] == ["erf"]
    assert {entry["name"] for entry in study.claims} <= set(registry())
    assert all(entry["status"] in ("applies", "inapplicable", "failed") for entry in study.claims)
    assert len(study.residuals) == 16
    for model in study.models:
        assert len(model.theory) == len(model.points)
        assert model.spectrum is not None
        assert model.band[-1].n == pytest.approx(8 * 80)


def test_no_number_contradicts_a_measurement(study):
    """Where rows for a value are told inside the data, the value was measured there, within three standard errors."""
    asked = study.answers.asked
    told = 0
    for model in study.models:
        for point in model.points:
            if model.needed.upper <= point.n:
                assert point.value - 3 * point.se <= asked
                told += 1
            if point.n < model.needed.lower:
                assert point.value + 3 * point.se >= asked
                told += 1
    assert told > 0


def test_theory_is_near_what_was_measured():
    found = run_study(tables.waves(200, noise=0.5), StudyOptions(models="linear,relu-1"))
    for model in found.models:
        gaps = [abs(math.log(point.predicted / point.measured)) for point in model.theory if point.n >= 20]
        assert len(gaps) >= 4
        assert np.median(gaps) < 0.15


def test_a_study_is_written_and_read(study, tmp_path):
    path = tmp_path / "study.json"
    path.write_text(study.to_json())
    again = StudyRecord.load(path)
    assert again == study
    assert again.to_json() == study.to_json()
    assert "Infinity" not in study.to_json()
    assert "NaN" not in study.to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:-20], "is not a record"),
        (lambda text: text.replace('"schema": 3', '"schema": 1'), "schema 1"),
        (lambda text: text.replace('"rises"', '"raises"'), r"unit\.rises; found no rises"),
        (lambda text: "[]", "found no object"),
        (lambda text: text.replace('"seed": 0', '"seed": "0"'), "seed; found '0'; rule: a whole number"),
    ],
)
def test_what_is_no_study_is_refused(study, tmp_path, change, words):
    path = tmp_path / "study.json"
    path.write_text(change(study.to_json()))
    with pytest.raises(DataError, match=words):
        StudyRecord.load(path)


def test_a_record_without_what_was_added_later_is_read(study):
    values = json.loads(study.to_json())
    for model in values["models"]:
        for point in model["theory"]:
            assert point.pop("accuracy") is None
            assert point.pop("measured_accuracy") is None
    assert StudyRecord.from_json(json.dumps(values)) == study


@pytest.mark.parametrize("kind", ["number", "class"])
def test_pure_noise_begins_with_nothing_here_predicts_the_target(kind):
    found = run_study(tables.noise(60, kind, seed=1), QUICK)
    assert found.answers.sentences[0].startswith("No signal was found")
    assert found.answers.best is None
    assert found.residuals == []


def test_the_same_seed_gives_the_same_numbers():
    first, second = (run_study(tables.classes(60), QUICK) for _ in range(2))
    untimed = lambda record: [dataclasses.replace(model, seconds=None) for model in record.models]
    assert untimed(first) == untimed(second)
    assert first.answers == second.answers


def test_a_time_limit_leaves_models_out_and_says_so(monkeypatch):
    """On one thread, with a clock that jumps past the limit while the first model is measured."""
    now, before = [0.0], run.measure

    def slow(*arguments):
        now[0] = 1e6
        return before(*arguments)

    monkeypatch.setattr(run.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(run.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(run, "measure", slow)
    found = run_study(tables.waves(60), dataclasses.replace(QUICK, time_limit=60.0), started=0.0)
    assert [model.name for model in found.models] == ["linear"]
    assert any("time limit was reached before these models were measured: RBF kernel" in note for note in found.notes)
    assert len(found.models[0].points) == 3


def test_ctrl_c_keeps_what_was_finished(monkeypatch):
    """The second model is interrupted when the first is known."""
    finished, known = threading.Event(), run._Job.finished

    def interrupted(model, *arguments):
        if model.name != "linear":
            assert finished.wait(60)
            raise KeyboardInterrupt
        return measure(model, *arguments)

    def entered(self, model, future):
        known(self, model, future)
        finished.set()

    monkeypatch.setattr(run, "measure", interrupted)
    monkeypatch.setattr(run._Job, "finished", entered)
    monkeypatch.setattr(run.os, "cpu_count", lambda: 2)
    found = run_study(tables.waves(60), QUICK)
    assert found.interrupted
    assert [model.name for model in found.models] == ["linear"]
    assert found.answers.best == "linear"
    monkeypatch.setattr(run, "measure", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run_study(tables.waves(60), QUICK)


def test_ctrl_c_ends_what_the_other_threads_do(monkeypatch):
    """The thread of the other model is told to stop, and has ended when the interruption arrives."""
    begun, ended = threading.Event(), threading.Event()

    def two(model, dataset, seed, quick, deadline, told, *_):
        if model.name == "linear":
            assert begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        try:
            last = time.monotonic() + 60  # told to stop long before, if it is told at all
            while time.monotonic() < last:
                told(0.5)
        except BaseException:
            ended.set()
            raise

    monkeypatch.setattr(run, "measure", two)
    monkeypatch.setattr(run.os, "cpu_count", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        run_study(tables.waves(60), QUICK)
    assert ended.is_set()


def test_a_model_that_fails_is_left_out_by_name(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(
        "class Broken:\n    def fit(self, x, y): raise ValueError('no luck')\n    def predict(self, x): pass\n"
        "def make(): return Broken()\n"
    )
    found = run_study(tables.waves(60), dataclasses.replace(QUICK, model=f"{path}:make"))
    assert [model.name for model in found.models] == ["rbf", "linear"]
    assert found.notes[-1:] == ["make was left out: the model could not be fitted (ValueError: no luck)."]


@pytest.mark.parametrize(
    "options", [{"time_limit": 1.0}, {"cost": -1.0}, {"cost": math.nan}, {"seed": -1}, {"time_limit": math.inf}]
)
def test_options_out_of_bounds_are_refused(options):
    with pytest.raises(SettingError, match="out of bounds"):
        StudyOptions(**options)


def test_every_claim_that_speaks_of_regressions_is_examined():
    found = run_study(tables.waves(80), dataclasses.replace(QUICK, claims=True))
    assert {entry["name"] for entry in found.claims} <= set(registry())
    assert len(found.claims) >= 20
    assert sum(entry["status"] == "applies" for entry in found.claims) >= 8
    assert found.bibliography


def test_of_warnings_only_those_of_lemmata_are_shown():
    """scikit-learn resets the filters on its threads: a forest's warning came between the sentences."""
    import lemmata
    from lemmata.workflows.studies._run import _shown

    seen = []
    for name in ("/packages/sklearn/utils/parallel.py", lemmata.__file__):
        _shown(lambda message, *_: seen.append(str(message)), name, UserWarning, name, 144)
    assert seen == [lemmata.__file__]
