"""A cell is missing for the study, for the saved model and for the program of its card, or for none of them."""

import warnings

import numpy as np
import polars as pl
import pytest

from lemmata.interfaces.python import load
from lemmata.options import StudyOptions
from lemmata.workflows.studies import final_model
from lemmata.workflows.studies._measure import fitted
from lemmata.workflows.studies._models import models

pd = pytest.importorskip("pandas")

ROWS = 90
MARKS = ("", "NA", "NULL", "None", "nan", "?", "na", "Null", "#NA", "-9", "void")


def written(path, mark, place):
    """Every third text, or every tenth number, is the mark, which has an effect of its own."""
    rng = np.random.default_rng(0)
    x, size = rng.normal(size=ROWS), rng.normal(3, 1, ROWS)
    third, tenth = np.arange(ROWS) % 3 == 0, np.arange(ROWS) % 10 == 0
    country = np.where(third & (place == "texts"), mark, np.where(np.arange(ROWS) % 3 == 1, "DE", "US"))
    sizes = [mark if own and place == "numbers" else f"{value:.4f}" for own, value in zip(tenth, size, strict=True)]
    y = x + 5 * third + 4 * np.where(tenth, 0, size) + 0.1 * rng.normal(size=ROWS)
    pd.DataFrame({"x": x, "country": country, "size": sizes, "y": y}).to_csv(path, index=False)


def error(said, y):
    return np.sqrt(((said - y) ** 2).mean())


@pytest.mark.parametrize("na", ["usual", "empty cells", "the mark"])
@pytest.mark.parametrize("place", ["texts", "numbers"])
@pytest.mark.parametrize("mark", MARKS)
def test_the_study_and_the_saved_model_and_the_program_agree_on_missing_cells(mark, place, na, tmp_path):
    path = tmp_path / "table.csv"
    written(path, mark, place)
    told = StudyOptions(target="y", na={"usual": (), "empty cells": ("",), "the mark": (mark,)}[na])
    dataset = load(str(path), told)
    (model,) = models(["linear"], dataset.x, dataset.task, dataset.targets)
    mixed, y = np.random.default_rng([0, 2]).permutation(ROWS), dataset.targets[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studied = error(fitted(model, dataset, mixed, np.arange(ROWS)).outputs[:, 0], y)
        final = final_model(str(path), dataset, told, "linear")
        again: dict = {}
        exec(final.code, again)
        program = error(again["model"].predict(again["table"]), y)
        told_apart = na != "usual" or mark == "#NA"  # which the study takes for a value, but pandas does not
        empty = ["", mark] if na == "the mark" else [""]
        own = {
            "polars": pl.read_csv(path, infer_schema_length=None),
            "pandas": pd.read_csv(path, keep_default_na=not told_apart, na_values=empty),
        }
        saved = {name: error(final.model.predict(table), y) for name, table in own.items()}
    for name, found in {**saved, "program": program}.items():
        assert abs(found - studied) < 1e-3 * y.std(), (name, found, studied)


def test_a_reader_that_loses_a_value_is_warned_of(tmp_path):
    """With --na '' NA is Namibia, and pandas reads it as missing unless it is told otherwise."""
    path = tmp_path / "table.csv"
    written(path, "NA", "texts")
    told = StudyOptions(target="y", na=("",))
    model = final_model(str(path), load(str(path), told), told, "linear").model
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.read_csv(path, keep_default_na=False))
    with pytest.warns(UserWarning, match=r"30 cells of 'country' are missing.*'NA' is a value.*keep_default_na=False"):
        model.predict(pd.read_csv(path))
