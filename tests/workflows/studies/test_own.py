"""The user's own model gets the columns as the user has them."""

import dataclasses
import functools
import pickle
import re

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from lemmata import study
from lemmata.errors import DataError, MissingFileError, SettingError
from lemmata.options import StudyOptions
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._estimators import PredictionError
from lemmata.workflows.studies._measure import fitted
from lemmata.workflows.studies._own import _fit_encoded as fit_encoded
from lemmata.workflows.studies._own import own_model

pd = pytest.importorskip("pandas")


def shops(rows=120, seed=0):
    """Texts, numbers with gaps, and a target that both decide."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bern", "Genf", "Basel"], rows)
    size = rng.normal(size=rows)
    y = 3 * (town == "Bern") + size + 0.1 * rng.normal(size=rows)
    return pd.DataFrame({"town": town, "size": np.where(rng.random(rows) < 0.1, np.nan, size), "sold": y})


def by_names(last, town="town", size="size"):
    """A pipeline that chooses columns by their names."""
    columns = [("text", OneHotEncoder(handle_unknown="ignore"), [town]), ("number", SimpleImputer(), [size])]
    return make_pipeline(ColumnTransformer(columns), last)


@pytest.mark.parametrize("kind", ["pandas", "polars", "file", "index"])
def test_a_pipeline_chooses_columns_by_name(kind, tmp_path):
    table = shops()
    if kind == "polars":
        table = pl.DataFrame({name: table[name].to_numpy() for name in table}, nan_to_null=True)
    elif kind == "index":
        table.index = [f"row {i}" for i in range(len(table))]
    elif kind == "file":
        table.to_csv(tmp_path / "shops.csv", index=False)
        table = tmp_path / "shops.csv"
    found = study(table, "sold", model=by_names(Ridge()), models=["linear"], quick=True).record
    own = next(model for model in found.models if model.name == "Pipeline")
    assert own.points[-1].value < 0.7  # of the town alone 1 is left, of the size alone 1.5
    assert own.formula == "Pipeline, as given"
    assert not any("cannot be fitted" in note for note in found.notes)


def test_names_of_several_levels_and_whole_numbers():
    table = shops()
    table.columns = pd.MultiIndex.from_tuples([("shop", "town"), ("shop", "size"), ("year", "sold")])
    data = load_dataset(table, str(("year", "sold")))
    model, said = own_model(by_names(Ridge(), ("shop", "town"), ("shop", "size")), data)
    assert (model.raw, said) == (True, [])
    table.columns = [0, 1, 2]
    model, said = own_model(by_names(Ridge(), 0, 1), load_dataset(table, "2"))
    assert (model.raw, said) == (True, [])


def test_the_columns_are_those_of_the_users_own_fit():
    """The same rows, the same pipeline: the same predictions as without lemmata."""
    table = shops()
    data = load_dataset(table, "sold")
    train, test = np.arange(0, 80), np.arange(80, 120)
    model, _ = own_model(by_names(Ridge()), data)
    own = by_names(Ridge()).fit(table[["town", "size"]][:80], table["sold"][:80]).predict(table[["town", "size"]][80:])
    np.testing.assert_allclose(fitted(model, data, train, test).outputs[:, 0], own, rtol=1e-12)


def test_selectors_see_types():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    chosen = ColumnTransformer([
        ("numbers", numbers, make_column_selector(dtype_include=np.number)),
        ("texts", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
    ])  # fmt: skip
    model, said = own_model(make_pipeline(chosen, Ridge()), load_dataset(shops(), "sold"))
    assert (model.raw, said) == (True, [])


def test_a_model_that_takes_no_texts_gets_them_encoded_and_that_is_said():
    found = study(shops(), "sold", model=RandomForestRegressor(20, random_state=0), models="linear", quick=True).record
    assert any(model.name == "RandomForestRegressor" for model in found.models)
    (note,) = [note for note in found.notes if note.startswith("RandomForestRegressor cannot be fitted")]
    assert "could not convert string to float" in note


def test_a_model_is_tried_on_the_users_columns_and_then_on_encoded_ones():
    table, tree = shops(), lambda **given: DecisionTreeRegressor(max_depth=1, **given)
    model, said = own_model(Ridge(), load_dataset(table, "sold"))
    assert not model.raw
    assert [note.partition(" (")[0] for note in said] == ["Ridge cannot be fitted to the original columns"]
    assert "could not convert string to float" in said[0]
    numbers = load_dataset(table[["size", "sold"]].assign(other=1.0 * np.arange(len(table)) ** 2), "sold")
    fitted_to_both, nothing_said = own_model(tree(), numbers)
    assert (fitted_to_both.raw, nothing_said) == (True, [])
    wrong, nothing_said = own_model(tree(criterion="none of these"), numbers)
    assert (wrong.raw, nothing_said) == (True, []), "its error on the user's own columns is the one to tell"


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (3.0, 7.0), (False, True)])
def test_classes_keep_the_users_labels(labels):
    """Weights of classes are given by label."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    there = x[:, 0] > 0
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": [labels[int(own)] for own in there]})
    data = load_dataset(table, "kind", task="classification")
    model, said = own_model(LogisticRegression(class_weight=dict(zip(labels, (1, 9), strict=True))), data)
    assert (model.raw, said) == (True, [])
    fit = model.fit(data.as_given(np.arange(100)), data.targets[:80], "classification")
    assert (fit.outputs.argmax(axis=1) == there[80:]).mean() > 0.8
    np.testing.assert_allclose(fit.chances.sum(axis=1), 1)


class Frequent(ClassifierMixin, BaseEstimator):
    """Says labels, and no probabilities."""

    def fit(self, x, y):
        self.said_ = pd.Series(y).mode()[0]
        return self

    def predict(self, x):
        return np.repeat(self.said_, len(x))


def test_a_classifier_without_probabilities():
    data = load_dataset("iris")
    model, _ = own_model(Frequent(), data)
    fit = model.fit(data.as_given(np.arange(150)), data.targets[:100], "classification")
    assert fit.outputs[:, 0].tolist() == [1.0] * 50
    assert fit.chances is not None


def test_a_dropped_column_is_not_given_and_an_index_is_no_column():
    data = load_dataset(shops().assign(extra=1.5), "sold", drop_columns=["size"])
    assert list(data.as_given(np.array([3, 5])).columns) == ["town", "extra"]


def test_rows_are_the_users():
    table = shops()
    table.loc[4, "sold"] = np.nan
    data = load_dataset(table, "sold", max_rows=60)
    given = data.as_given(np.arange(60))
    pd.testing.assert_frame_equal(given, table.loc[data.index, ["town", "size"]])


def test_an_estimator_is_fitted_in_another_process():
    data = load_dataset(shops(), "sold")
    model, _ = own_model(by_names(Ridge()), data)
    again = pickle.loads(pickle.dumps((model, data)))
    rows = np.arange(100)
    np.testing.assert_array_equal(*(
        own.fit(table.as_given(rows), table.targets[:80], "regression").outputs for own, table in (again, (model, data))
    ))  # fmt: skip


def test_a_name_that_is_taken():
    model, _ = own_model(RandomForestClassifier(), load_dataset("iris"), ["RandomForestClassifier"])
    assert model.name == "RandomForestClassifier (own)"


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (Ridge, SettingError, "model=Ridge()"),
        (3, SettingError, "an estimator with fit and predict"),
        ("nowhere.py:make", MissingFileError, "FILE.py:function"),
        ("make", SettingError, "FILE.py:function"),
    ],
)
def test_what_is_no_estimator_is_refused(model, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        own_model(model, load_dataset("iris"))


def test_the_options_take_an_estimator():
    assert isinstance(dataclasses.replace(StudyOptions(), model=Ridge()).model, Ridge)


class Says(BaseEstimator):
    """Predicts whatever it is told to, and its fit returns nothing."""

    def __init__(self, said):
        self.said = said

    def fit(self, x, y):
        self.classes_ = np.unique(np.asarray(y))

    def predict(self, x):
        return self.said(len(x))


class Sure(Says):
    """Also has probabilities."""

    def predict_proba(self, x):
        return self.said(len(x))


def ill(rows=60):
    """Two classes."""
    table = shops(rows).drop(columns="town")
    return table.assign(size=table["size"].fillna(0), sold=np.where(table["sold"] > 1, "ill", "ok"))


NUMBERS = shops(60).drop(columns="town").fillna(0)


@pytest.mark.parametrize(
    ("table", "model", "words"),
    [
        (NUMBERS, Says(lambda n: np.zeros(n - 1)), "predict returned 11 predictions for 12 rows"),
        (NUMBERS, Says(lambda n: np.zeros((n, 2))), r"predict returned an array of shape \(12, 2\) for 12 rows"),
        (NUMBERS, Says(lambda n: np.repeat("ill", n)), "predict returned 'ill', which is not a number"),
        (NUMBERS, LogisticRegression(), "the model is a classifier, but the target holds numbers; give a regressor"),
        (ill(), Says(lambda n: np.repeat("well", n)), r"'well', which is not a class of the target \('ill', 'ok'\)"),
        (ill(), Says(lambda n: np.repeat("ill", n + 1)), "predict returned 13 predictions for 12 rows"),
        (ill(), Sure(lambda n: np.full((n, 3), 1 / 3)), r"shape \(12, 3\), but \(12, 2\) is needed"),
        (ill(), Ridge(), "the model is a regressor, but the target holds classes; give a classifier"),
    ],
)
def test_what_is_wrong_with_predictions_is_said(table, model, words):
    data = load_dataset(table, "sold")
    own, said = own_model(model, data)
    assert (own.raw, said) == (True, [])
    with pytest.raises(PredictionError, match=words):
        fitted(own, data, np.arange(48), np.arange(48, 60))
    with pytest.raises(PredictionError):  # of encoded columns, too
        fit_encoded(functools.partial(clone, model), data.x, data.targets[:48], data.task)


def test_a_column_of_predictions_is_accepted():
    data = load_dataset(NUMBERS, "sold")
    own, _ = own_model(Says(lambda n: np.arange(n)[:, None]), data)
    assert fitted(own, data, np.arange(48), np.arange(48, 60)).outputs[:, 0].tolist() == list(range(12))


def notes_on_patients(rows=100):
    """A text of its own for each row, which holds the target."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, rows))
    return pd.DataFrame(
        {"b": b, "s": [f"note {i} {'good' if v > 0 else 'bad'}" for i, v in enumerate(a)], "y": np.sign(a) + b}
    )


class Asks(BaseEstimator, RegressorMixin):
    """A model that names the column that it lacks only in the cause of its error."""

    def fit(self, X, y):
        try:
            self.mean_ = X["s"].str.len().mean()
        except KeyError as error:
            raise ValueError("a column is missing") from error
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_column_that_only_the_cause_of_an_error_names_is_told():
    data = load_dataset(notes_on_patients(), "y")
    own, _ = own_model(Asks(), data)
    with pytest.raises(PredictionError, match=r"the model asks for the column 's'.* add --keep 's'"):
        fitted(own, data, np.arange(80), np.arange(80, 100))


@pytest.mark.parametrize("long", [False, True])
def test_free_text_is_for_a_model_of_the_users_own(long):
    table = notes_on_patients()
    table["s"] += " after a long night at the ward" * long  # and then it is no label
    columns = ColumnTransformer([("words", TfidfVectorizer(), "s"), ("number", "passthrough", ["b"])])
    mine = make_pipeline(columns, Ridge(0.1))
    data = load_dataset(table, "y", keep_columns=["s"])
    assert (data.raw_features, data.given.names) == (("b",), ("b", "s"))
    assert [found.columns for found in data.findings if "hardly repeats" in found.text] == [("s",)]
    own, said = own_model(mine, data)
    assert (own.raw, said) == (True, [])
    apart = fitted(own, data, np.arange(80), np.arange(80, 100)).outputs[:, 0] - table["y"][80:]
    assert np.abs(apart).mean() < 0.3
    if long:
        with pytest.raises(DataError, match="--keep 's'"):
            load_dataset(table, "y")
        return
    data = load_dataset(table, "y")
    own, _ = own_model(mine, data)
    with pytest.raises(PredictionError, match=r"the model asks for the column 's'.* add --keep 's'"):
        fitted(own, data, np.arange(80), np.arange(80, 100))
