"""Data frames: columns are matched by name, models that take frames get frames, and refusals say what is wrong."""

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lemmata.errors import DataError, SettingError
from lemmata.subjects.trained_models import held_outputs, held_rows, read_trained
from lemmata.workflows.examinations import RowNames, as_examined

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 3)), columns=list("abc"))
Y = (X.a - X.c > 0).astype(int).to_numpy()
OLD, NEW, SEEN, UNSEEN = X[:50], X[50:], Y[:50], Y[50:]
TURNED = ["c", "b", "a"]
WORDS = X.assign(k=pd.Categorical(np.where(X.a > 0, "u", "v")), t=np.where(X.c > 0, "p", "q"), n=X.b > 0)


def held_error(model, x, new, **facts):
    """The held-out error as an examination finds it."""
    with jax.enable_x64(True):
        own, x, told, _ = as_examined(model, x, {"held": (new, UNSEEN), **facts}, RowNames())
        trained = read_trained(own, x, SEEN, **told)
        return float(trained.task.errors(held_outputs(trained), held_rows(trained)[1]).mean())


MODELS = {
    "a linear model": LogisticRegression(),
    "trees": RandomForestClassifier(5, random_state=0),
    "a pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "a pipeline of one step": make_pipeline(LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas])
def test_columns_are_matched_by_their_names(name, kind):
    model = MODELS[name].fit(OLD, SEEN)
    right = 1 - model.score(NEW, UNSEEN)
    assert held_error(model, kind(OLD), kind(NEW[TURNED])) == pytest.approx(right)
    assert held_error(model, kind(OLD[TURNED]), kind(NEW)) == pytest.approx(right)
    assert held_error(model, OLD.to_numpy(), kind(NEW[TURNED])) == pytest.approx(right)
    plain = MODELS[name].fit(OLD.to_numpy(), SEEN)  # without names: as the training rows
    assert held_error(plain, kind(OLD), kind(NEW[TURNED])) == pytest.approx(right)


def test_deployment_rows_and_rows_of_a_function_are_matched_by_their_names():
    model = LogisticRegression().fit(OLD, SEEN)
    own = read_trained(model, OLD, SEEN, held=(NEW, UNSEEN), deployed=NEW[TURNED])
    np.testing.assert_array_equal(own.deployed, own.held[0])
    own = read_trained(model.predict_proba, OLD[TURNED], SEEN, held=(NEW, UNSEEN))
    np.testing.assert_allclose(np.exp(own.model.outputs(own.held[0])), model.predict_proba(NEW), rtol=1e-6)


def test_frames_without_names_are_matched_by_their_places():
    model = LogisticRegression().fit(OLD.to_numpy(), SEEN)
    right = 1 - model.score(NEW.to_numpy(), UNSEEN)
    assert held_error(model, OLD, pd.DataFrame(NEW.to_numpy())) == pytest.approx(right)
    assert held_error(model, pl.DataFrame(OLD.to_numpy()), pl.DataFrame(NEW.to_numpy())) == pytest.approx(right)
    assert held_error(model, pd.DataFrame(OLD.to_numpy()), pd.DataFrame(NEW.to_numpy())[[2, 0, 1]]) == pytest.approx(
        right
    )


REFUSED = {
    "missing": (NEW[["a", "b"]], "missing: 'c'"),
    "unknown": (NEW.rename(columns={"c": "C"}), "missing: 'c'; unknown: 'C'"),
    "twice": (NEW[["a", "b", "c", "a"]], "there twice: 'a'"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("names", [True, False])
def test_other_columns_are_refused_in_words(name, names):
    new, words = REFUSED[name]
    model = LogisticRegression().fit(OLD if names else OLD.to_numpy(), SEEN)
    with pytest.raises(DataError, match=f"columns of the held-out rows; found {words}; rule: .*'a', 'b', 'c'"):
        held_error(model, OLD, new)
    with pytest.raises(DataError, match="the held-out rows"):
        held_error(make_pipeline(StandardScaler(), LogisticRegression()).fit(OLD, SEEN), OLD, new)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(), HistGradientBoostingClassifier()])
def test_what_is_not_fitted_is_refused_in_words(model):
    for own in (model, make_pipeline(StandardScaler(), model), make_pipeline(model)):
        with pytest.raises(SettingError, match=r"fitted.*fit\(x, y\)|without coefficients.*fit\(x, y\)"):
            held_error(own, OLD, NEW)


def trees(**told):
    return HistGradientBoostingClassifier(max_iter=5, **told)


ENCODER = make_column_transformer((OneHotEncoder(), ["t"]), remainder="drop")
CATEGORIES = [*"abc", "k", "n"]
TAKES_FRAMES = {
    "categories": (trees(categorical_features="from_dtype"), CATEGORIES, lambda model: model),
    "in a pipeline": (Pipeline([("m", trees(categorical_features="from_dtype"))]), CATEGORIES, lambda model: model),
    "a function": (trees(categorical_features="from_dtype"), CATEGORIES, lambda model: model.predict_proba),
    "a function of texts": (
        make_pipeline(ENCODER, LogisticRegression()), ["t"], lambda model: lambda rows: model.predict_proba(rows),
    ),
    "behind a step": (
        make_pipeline(make_column_transformer(("passthrough", CATEGORIES), verbose_feature_names_out=False).set_output(
            transform="pandas"), trees(categorical_features="from_dtype")),
        [*CATEGORIES, "t"], lambda model: model,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES_FRAMES)
def test_models_of_frames_get_frames(name):
    model, columns, passed = TAKES_FRAMES[name]
    x = WORDS[columns]
    model.fit(x[:50], SEEN)
    right = 1 - model.score(x[50:], UNSEEN)
    assert held_error(passed(model), x[:50], x[50:]) == pytest.approx(right)
    assert held_error(passed(model), x[:50], x[50:][columns[::-1]]) == pytest.approx(right)


def test_frames_are_read_back_with_their_types_gaps_and_values():
    x = WORDS.assign(when=pd.date_range("2020", periods=90), big=2**60 + np.arange(90), whole=pd.array([1, None] * 45))
    x.loc[3, ["k", "t", "when"]] = None
    polar = pl.DataFrame(
        {
            "a": x.a.to_numpy(),
            "t": WORDS.t.to_list(),
            "whole": [1, None] * 45,
            "when": pd.date_range("2020", periods=90).to_pydatetime().tolist(),
        }
    )
    for frame in (x, polar.with_columns(k=pl.Series(["r", "s"] * 45, dtype=pl.Enum(["s", "r"])))):
        seen = []

        def own(rows, seen=seen):
            seen.append(rows)
            return np.zeros((len(rows), 2))

        trained = read_trained(own, frame[:50], SEEN, held=(frame[50:], UNSEEN), labels=(0, 1))
        trained.model.outputs(trained.x)
        assert trained.x.dtype == float
        back = seen[-1]
        if isinstance(frame, pl.DataFrame):
            assert back.equals(frame[:50])
        else:
            pd.testing.assert_frame_equal(back, frame[:50])
        held_outputs(trained)
        assert list(seen[-1].columns) == list(frame.columns)
        half = trained.model.given(trained.x + 0.25)  # of a step aside, categories are the nearest
        assert list(half["t"])[:3] == list(frame["t"])[:3]


def test_models_with_derivatives_refuse_words_and_take_numbers_of_several_types():
    model = LogisticRegression().fit(WORDS[[*"abc", "n"]][:50], SEEN)
    x = WORDS[[*"abc", "n"]]
    assert held_error(model, x[:50], x[50:]) == pytest.approx(1 - model.score(x[50:], UNSEEN))
    with pytest.raises(DataError, match=r"x, column 'k'; found cells of type category; .*its derivatives"):
        held_error(LogisticRegression().fit(X[:50].assign(k=0), SEEN), X[:50].assign(k=WORDS.k), NEW.assign(k=WORDS.k))
    forest = trees(categorical_features="from_dtype").fit(WORDS[CATEGORIES][:50], SEEN)
    with pytest.raises(DataError, match="held-out rows; found a ndarray; rule: a data frame, as in training"):
        read_trained(forest, WORDS[CATEGORIES][:50], SEEN, held=(np.zeros((40, 5)), UNSEEN))


def test_an_own_call_and_fit_get_frames_of_words():
    x, called = WORDS[CATEGORIES], []

    def fit(rows, y, seed):
        called.append(rows)
        return trees(categorical_features="from_dtype").fit(rows, y)

    model = fit(x[:50], SEEN, 0)
    trained = read_trained(model, x[:50], SEEN, held=(x[50:], UNSEEN), fit=fit)
    again = trained.fit(trained.x, SEEN, 0)
    pd.testing.assert_frame_equal(called[-1], x[:50])
    np.testing.assert_allclose(again.outputs(trained.x), model.predict_proba(x[:50]))
    np.testing.assert_allclose(np.exp(trained.model.outputs(trained.x)), model.predict_proba(x[:50]))
    assert list(trained.model.given(trained.x).k) == list(x.k[:50])
