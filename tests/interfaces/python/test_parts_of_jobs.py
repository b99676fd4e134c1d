"""Parts of the jobs in Python: options by name, rows of curves, models of all rows, and names in a file of a model."""

import dataclasses
import importlib.metadata
import math
import types

import polars as pl
import pytest

from lemmata.errors import SettingError
from lemmata.interfaces.python import Comparison, Study, _compare, _model_file, _study, _versions
from lemmata.interfaces.python._asked import asked, typed
from lemmata.options import ComparisonOptions, StudyOptions
from lemmata.workflows.studies import FinalModel
from tests.interfaces.report.example import classified, measured


def test_names_of_options_are_checked_and_the_nearest_is_named():
    assert asked(StudyOptions, {"seed": 3, "keep": "a", "na": ["x", "y"]}, "study") == {
        "seed": 3, "keep": ("a",), "na": ("x", "y")
    }  # fmt: skip
    with pytest.raises(SettingError) as error:
        asked(StudyOptions, {"sede": 3}, "study")
    assert "study has no option 'sede'" in str(error.value)
    assert "did you mean 'seed'?" in str(error.value)
    with pytest.raises(SettingError) as error:
        asked(ComparisonOptions, {"xyzzy": 3}, "compare")
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize("value", [3, [3], ["a", 3], None])
def test_an_option_with_names_takes_texts_alone(value):
    with pytest.raises(SettingError, match="a text, or a list of texts"):
        asked(StudyOptions, {"keep": value}, "study")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"seed": 3}, ""), ({"seed": 3.0}, "a whole number"), ({"seed": True}, "a whole number"), ({"quick": True}, ""),
        ({"quick": 1}, "True or False"), ({"cost": 2}, ""), ({"cost": None}, ""), ({"cost": True}, "a number, or None"),
        ({"max_rows": None}, ""), ({"seed": None}, "a whole number"), ({"keep": ("a",)}, ""), ({"error": "x"}, ""),
    ],
)  # fmt: skip
def test_values_have_the_type_of_their_option(options, wrong):
    if not wrong:
        assert typed(StudyOptions, options) == options
        return
    with pytest.raises(SettingError, match=wrong):
        typed(StudyOptions, options)


def test_sequences_of_names_are_joined():
    assert _study._checked({"models": ["a", "b"], "seed": 3}) == {"models": "a,b", "seed": 3}
    assert _study._checked({"models": "a,b"}) == {"models": "a,b"}
    assert _study._checked({"models": ("a",)}) == {"models": "a"}
    for models in ([], [3], ["a", 3], 3):
        with pytest.raises(SettingError, match="models does not contain names"):
            _study._checked({"models": models})
    assert _compare._checked({"families": ["a", "b"], "lengths": [8, 16]}) == {"families": "a,b", "lengths": "8,16"}
    assert _compare._checked({"lengths": []}) == {"lengths": "none"}
    assert _compare._checked({"families": "a,b", "repeats": 3}) == {"families": "a,b", "repeats": 3}


def test_curves_of_a_comparison_have_two_standard_errors_or_the_ends_of_a_prediction():
    interval = types.SimpleNamespace(value=0.5, lower=0.25, upper=1.0)
    point = lambda n, measured, se, predicted: types.SimpleNamespace(n=n, measured=measured, se=se, predicted=predicted)
    points = [point(10, 0.5, 0.125, None), point(20, 0.25, None, interval), point(40, None, None, interval)]
    record = types.SimpleNamespace(families=[types.SimpleNamespace(name="conv", points=points)])
    found = Comparison.curves.func(types.SimpleNamespace(record=record))  # pyright: ignore[reportAttributeAccessIssue]
    assert found.columns == ["family", "n", "kind", "value", "lower", "upper"]
    assert found.rows() == [
        ("conv", 10, "measured", 0.5, 0.25, 0.75), ("conv", 20, "measured", 0.25, 0.25, 0.25),
        ("conv", 20, "predicted", 0.5, 0.25, 1.0), ("conv", 40, "predicted", 0.5, 0.25, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("record", "least", "most"), [(classified(), 0.0, 1.0), (measured(), 0.0, math.inf)])
def test_curves_of_a_study_have_intervals_of_ninety_per_cent_within_the_metric(record, least, most):
    model = record.models[1]
    points = [dataclasses.replace(model.points[0], se=own) for own in (0.01, 1e9)]
    study = Study(dataclasses.replace(record, models=[dataclasses.replace(model, points=points)]))
    found = study.curves
    rows = found.filter(pl.col("kind") == "measured").rows(named=True)
    value = points[0].value
    assert [row["value"] for row in rows] == [value, value]
    assert (rows[0]["lower"], rows[0]["upper"]) == pytest.approx(
        (max(value - 0.01645, least), min(value + 0.01645, most)), rel=1e-6
    )
    assert rows[1]["lower"] == least
    assert rows[1]["upper"] == (most if most < math.inf else pytest.approx(value + 1.645e9))
    band = found.filter(pl.col("kind") == "expected")
    assert band["n"].to_list() == [point.n for point in model.band]
    assert band["upper"].to_list() == [point.upper for point in model.band]


@pytest.mark.parametrize(
    ("most", "rows", "available", "again"), [(50, 50, 80, True), (None, 50, 80, False), (50, 50, 50, False)]
)
def test_a_model_is_fitted_to_all_rows_even_if_the_study_took_fewer(most, rows, available, again, monkeypatch):
    loads, fitted = [], []
    table = pl.DataFrame({"x": range(80), "y": range(80)})
    model = FinalModel("rbf", None, ("x",), None, 80, "", {}, False)
    whole, options = _study.load(table, StudyOptions("y")), StudyOptions("y", max_rows=most)
    dataset = dataclasses.replace(_study.load(table[:rows], options), available=available)
    monkeypatch.setattr(_study, "load", lambda data, options: loads.append((data, options.max_rows)) or whole)
    monkeypatch.setattr(_study, "final_model", lambda *given: fitted.append(given) or model)
    monkeypatch.setattr(_study, "named_model", lambda record, name: name or "rbf")
    record = classified()
    assert _study.Given("data", dataset, options).fitted(record, None) is model
    ((data, used, how, name, formula),) = fitted
    assert loads == [("data", None)] * again
    assert data == "data"
    assert used is (whole if again else dataset)
    assert how.max_rows == (None if again else most)
    assert (name, formula) == ("rbf", next(own.formula for own in record.models if own.name == "rbf"))


def test_a_study_that_was_read_has_no_table_to_fit():
    with pytest.raises(SettingError, match="holds no rows"):
        Study(classified()).best()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("math.sqrt", True), ("math.nothing", False), ("nosuchmodule.f", False), ("__main__.f", False),
        ("lemmata_user_model.f", False), ("math.<lambda>", False), ("", False), ("sklearn.linear_model.Ridge", True),
    ],
)  # fmt: skip
def test_a_class_of_a_model_can_be_imported_or_not(name, found):
    assert _model_file._is_importable(name) is found


def test_what_cannot_be_imported_is_told_with_its_place():
    _model_file._check_importable("m", ["math.sqrt"])
    for types_, said in (
        (["lemmata_user_model.scaled"], "scaled, defined in the file of --model;"),
        (["math.sqrt", "__main__.<lambda>", "__main__.b"], "a lambda, defined in the program that runs, and 1 more"),
        (["nosuch.part.a"], "a, defined in nosuch;"),
    ):
        with pytest.raises(SettingError) as error:
            _model_file._check_importable("m", types_)
        assert said in f"{error.value};"
        assert ("define a named function" in str(error.value)) is ("<lambda>" in types_[-2:][0])


def test_versions_are_of_required_packages_then_of_those_of_extras(monkeypatch):
    lines = ["zarr>=3; extra == 'disk'", "jax>=0.8", "numpy", "lemmata[disk]; extra == 'test'", "jax; extra == 'a'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: list(lines))
    assert _versions._dependencies() == ["jax", "numpy", "zarr"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: None)
    assert _versions._dependencies() == []

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert _versions._dependencies() == []
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert _versions._installed("jax") == "not installed"


def test_versions_stand_in_a_column(monkeypatch, capsys):
    monkeypatch.setattr(_versions, "_dependencies", lambda: ["a", "a-longer-name"])
    monkeypatch.setattr(_versions, "_installed", lambda name: "1.2")
    _versions.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["a              1.2", "a-longer-name  1.2"]
    assert [line.split()[0] for line in lines] == ["lemmata", "python", "system", "a", "a-longer-name"]
