"""A study on disk: written whole or not at all."""

import dataclasses

import numpy as np
import pytest

import lemmata
from lemmata.errors import DataError, SettingError
from lemmata.interfaces.python import Study
from lemmata.interfaces.python._study import _checked
from lemmata.options import StudyOptions
from lemmata.workflows.records.studies import Point, Unit
from tests.interfaces.report.example import classified


def test_a_study_comes_back_from_its_file(tmp_path):
    found = Study(classified())
    path = found.save(tmp_path / "new" / "study.json")
    assert path == tmp_path / "new" / "study.json"
    assert path.read_text().endswith("}\n")
    assert Study.load(path).record.to_json() == found.record.to_json()


def test_a_failed_write_leaves_the_old_study(tmp_path, monkeypatch):
    path = tmp_path / "study.json"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError, match="cannot be written"):
        Study(classified()).save(path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("study.json", "old")]


def points(name, rises, percent, *values):
    """The ends of the measured rows of a study whose points have these values and a standard error of 0.1."""
    record = classified()
    models = [
        dataclasses.replace(record.models[0], points=[Point(8.0 * 2**i, v, 0.1, 4) for i, v in enumerate(values)])
    ]
    found = Study(dataclasses.replace(record, unit=Unit(name, "", rises, percent, 0.5), models=models)).curves
    return [
        row[end]
        for row in found.filter(found["kind"] == "measured").iter_rows(named=True)
        for end in ("lower", "upper")
    ]


@pytest.mark.parametrize(
    ("unit", "least", "most"),
    [
        (("accuracy", True, True), 0.0, 1.0),
        (("wrong", False, True), 0.0, 1.0),
        (("auc", True, False), 0.0, 1.0),
        (("r2", True, False), -np.inf, 1.0),
        (("rmse", False, False), 0.0, np.inf),
    ],
)
def test_measured_points_have_intervals_of_90_per_cent_within_what_the_unit_allows(unit, least, most):
    values = (0.05, 0.5, 0.97)
    expected = [end for value in values for end in (max(value - 0.1645, least), min(value + 0.1645, most))]
    assert points(*unit, *values) == pytest.approx(expected)


def test_models_may_be_a_string_or_names():
    for names in (["linear", "rbf"], ("linear", "rbf"), "linear,rbf", np.array(["linear", "rbf"])):
        assert _checked({"models": names, "keep": "a"}) == {"models": "linear,rbf", "keep": ("a",)}
    found = lemmata.study("iris", models=["linear"], quick=True)
    assert [model.name for model in found.record.models] == ["linear"]


@pytest.mark.parametrize("models", [[], [1, 2], 3, [None]])
def test_models_that_are_no_names_are_refused(models):
    with pytest.raises(SettingError, match="models does not contain names"):
        lemmata.study("iris", models=models)


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf")])
def test_a_price_of_nothing_is_refused(cost):
    with pytest.raises(SettingError, match="above 0"):
        StudyOptions(cost=cost)
