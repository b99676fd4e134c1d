"""What may be known of a trained model is stated once: everything else that names it takes its words from there."""

import dataclasses
import importlib.util
import inspect
import pathlib
import typing

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import lemmata
from lemmata.errors import SettingError
from lemmata.facts import FACTS
from lemmata.options import ModelOptions
from lemmata.subjects.trained_models import Trained, read_trained

DOCS = pathlib.Path(__file__).parents[3] / "docs"
X = np.random.default_rng(0).normal(size=(30, 2))
MODEL = LogisticRegression().fit(X, X[:, 0] > 0)


def test_a_trained_model_has_a_field_for_each_fact():
    read = {"labels", "padding", "loss"}  # which the task and the documents hold
    fields = {field.name for field in dataclasses.fields(Trained)}
    assert fields - {"model", "task", "x", "y", "targets"} == set(FACTS) - read


@pytest.mark.parametrize("function", [lemmata.study_model, read_trained])
def test_signature_and_documentation_name_each_fact_in_its_words(function):
    given = {name: each.default for name, each in inspect.signature(function).parameters.items() if name in FACTS}
    assert given == {name: fact.default for name, fact in FACTS.items()}
    words = " ".join(function.__doc__.split())
    assert all(f" {name}: {' '.join(fact.what.split())}" in words for name, fact in FACTS.items())
    assert "**facts" not in words


def test_a_misspelt_fact_is_refused():
    with pytest.raises(SettingError, match=r"fact 'deploy' is unknown.*did you mean 'deployed'"):
        lemmata.study_model(MODEL, X, X[:, 0] > 0, deploy=X)


def test_options_of_the_command_line_begin_with_the_words_of_their_facts():
    hints = typing.get_type_hints(ModelOptions, include_extras=True)
    told = {"deploy": "deployed", "checkpoint": "checkpoints", "size": "sizes", "epsilon": "claimed"}
    for name in ("held", "decay", "loss", "start", "rate", "corrected", "seed", *told):
        assert typing.get_args(hints[name])[1].startswith(FACTS[told.get(name, name)].sentence), name


def test_the_table_of_the_page_is_that_of_the_facts():
    spec = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = (DOCS / "model.md").read_text(encoding="utf-8")
    assert tables.facts() in page, "python docs/tables.py"
