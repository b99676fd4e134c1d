"""The recommended model, fitted to all rows: raw columns in, the target's own units or classes out, and its file."""

import dataclasses
import json
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
import skops.io

import lemmata
from lemmata.errors import LemmataError, SettingError, UnknownNameError
from lemmata.interfaces.python import Given, Study, load, write_model
from lemmata.options import StudyOptions
from lemmata.workflows.examinations._saved import read_pipeline
from lemmata.workflows.studies import final_model, named_model
from lemmata.workflows.studies._measure import fitted
from lemmata.workflows.studies._models import models, near_range

pd = pytest.importorskip("pandas")

ROWS = 160
NUMBERS = (
    *("linear", "rbf", "laplace", "matern-3/2", "matern-5/2", "polynomial-2", "relu-2", "erf-1", "gelu-1", "softmax"),
    *("boosting", "forest", "lasso", "elastic-net", "poisson", "gamma", "neighbours", "svm"),
)
CLASSES = ("linear", "rbf", "relu-2", "boosting", "forest", "logistic", "lasso", "neighbours", "svm")
OF_NETWORKS = ("relu-2", "erf-1", "gelu-1", "softmax")
LOAD = """
import json, sys
asked = json.load(open(sys.argv[1]))
if asked["plain"]:
    sys.modules["lemmata"] = None
import pandas, skops.io
table = pandas.read_csv(asked["table"])
said = {}
for name, (file, trusted) in asked["models"].items():
    model = skops.io.load(file, trusted=trusted)
    said[name] = model.predict(table).tolist()
print(json.dumps(said))
"""


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    x, shape, colour = rng.normal(size=(rows, 2)), rng.choice(["round", "square"], rows), rng.choice(list("rgb"), rows)
    y = np.exp(0.5 * x[:, 0] + (shape == "round") + 0.1 * rng.normal(size=rows))
    frame = pd.DataFrame({"long": x[:, 0], "wide": x[:, 1], "shape": shape, "colour": colour, "y": y})
    frame.loc[::9, "wide"] = np.nan
    frame.loc[::13, "colour"] = None
    return frame


def classes(rows=ROWS):
    frame = table(rows)
    frame["y"] = np.where(frame.y > 2, "high", np.where(frame.y > 1, "mid", "low"))
    return frame


def made(data, name="linear", target="y", **options):
    told = StudyOptions(target=target, **options)
    return final_model(data, load(data, told), told, name)


def run(code, **space):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, space)
    return space


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study that really ran, of a file."""
    path = tmp_path_factory.mktemp("study") / "table.csv"
    classes().to_csv(path, index=False)
    return lemmata.study(str(path), "y", models="linear,logistic", quick=True)


@pytest.mark.parametrize(("frame", "names"), [(table, NUMBERS), (classes, CLASSES)], ids=["numbers", "classes"])
def test_every_model_is_loaded_in_a_process_of_its_own_and_says_the_same(frame, names, study, tmp_path):
    path = tmp_path / "table.csv"
    frame().to_csv(path, index=False)
    same, expected = pd.read_csv(path), {}
    files = {True: {}, False: {}}
    options = StudyOptions(target="y")
    dataset = load(path, options)
    for name in names:
        final = final_model(str(path), dataset, options, name)
        record = dataclasses.replace(study.record, models=[dataclasses.replace(study.record.models[0], name=name)])
        file = write_model(final, record, tmp_path / f"{name.replace('/', '-')}.skops")
        trusted = skops.io.get_untrusted_types(file=file)
        card = file.with_suffix(".md").read_text()
        assert all(repr(kind) in card for kind in trusted)
        assert read_pipeline(str(file)).predict(same).tolist() == final.model.predict(same).tolist()
        plain = name not in OF_NETWORKS
        assert plain != any(kind.startswith("lemmata") for kind in trusted)
        files[plain][name] = (str(file), trusted)
        expected[name] = final.model.predict(same).tolist()
        assert final.model.predict(pl.read_csv(path)).tolist() == expected[name]
        again = run(final.code)  # the program on the card
        np.testing.assert_array_equal(again["model"].predict(again["table"]), expected[name])
        assert ("lemmata" in final.code) != plain
    for plain, own in files.items():
        asked = tmp_path / f"{plain}.json"
        asked.write_text(json.dumps({"plain": plain, "table": str(path), "models": own}))
        done = subprocess.run([sys.executable, "-c", LOAD, str(asked)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        for name in own:
            if dataset.classes is None:
                np.testing.assert_allclose(said[name], expected[name], rtol=1e-9)
            else:
                assert said[name] == expected[name]


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "forest"])
def test_a_saved_model_is_the_model_that_was_studied(name, tmp_path):
    """A forest draws its rows by their places, and the study has them in another order."""
    path = tmp_path / "table.csv"
    table().to_csv(path, index=False)
    dataset = load(str(path), StudyOptions(target="y"))
    (model,) = models([name], dataset.x, dataset.task, dataset.targets)
    mixed = np.random.default_rng([0, 2]).permutation(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        studied = fitted(model, dataset, mixed, np.arange(ROWS)).outputs[:, 0]
    saved = made(str(path), name).model.predict(pd.read_csv(path))
    assert np.abs(studied - saved).max() < (1e-2 if name == "svm" else 1e-4) * dataset.targets.std()


def test_the_error_on_hidden_rows_is_the_one_on_the_page():
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.frame.assign(target=bunch.target_names[bunch.target])
    mixed = frame.sample(frac=1, random_state=1)
    seen, hidden = mixed[:300], mixed[300:]
    found = lemmata.study(seen, "target", models="linear,forest,logistic", quick=True)
    now = next(model.now for model in found.record.models if model.name == found.record.answers.best)
    accuracy = (found.best().predict(hidden) == hidden.target).mean()
    error = np.sqrt(accuracy * (1 - accuracy) / len(hidden))  # of the accuracy on so few rows
    assert now.lower - error <= accuracy <= now.upper + error


def test_probabilities_and_labels_are_the_users(study):
    model = study.best("logistic")
    frame = classes()
    assert list(model.classes_) == ["high", "low", "mid"]
    assert model.predict_proba(frame).shape == (ROWS, 3)
    assert not hasattr(study.best("linear"), "predict_proba")


@pytest.mark.parametrize("labels", [(3, 7), (1.0, 2.0), (True, False)])
def test_labels_that_are_numbers_stay_numbers(labels):
    frame = table().assign(y=lambda own: np.where(own.y > 1.5, *labels))
    model = made(frame, "logistic", task="classification").model
    said = model.predict(frame)
    assert said.dtype == np.asarray(labels).dtype
    assert (said == frame.y).mean() > 0.8
    fractions = frame.assign(y=lambda own: np.where(own.y == labels[0], 0.5, 1.5))
    assert set(made(fractions, "logistic", task="classification").model.predict(fractions)) == {"0.5", "1.5"}


def test_unseen_texts_and_cells_missing_for_the_first_time_are_predicted():
    frame = table().drop(columns="wide").dropna()
    for name in ("linear", "boosting", "svm", "relu-2"):
        model = made(frame, name).model
        strange = frame.head(3).assign(long=[np.nan, 1.0, 2.0], shape=["oval", None, np.nan], colour="violet")
        assert np.isfinite(model.predict(strange)).all()
        void = pl.DataFrame({"long": [None, 1.0], "shape": ["oval", None], "colour": [None, "violet"]})
        assert np.isfinite(model.predict(void)).all()


def test_a_column_that_is_missing_is_named_and_others_do_not_matter():
    frame = table()
    model = made(frame).model
    more = frame.assign(other=1.0)[["other", "colour", "y", "shape", "wide", "long"]]
    np.testing.assert_array_equal(model.predict(more), model.predict(frame))
    with pytest.raises(ValueError, match="shape"):
        model.predict(frame.drop(columns="shape"))


@pytest.mark.parametrize("task", ["regression", "whole numbers", "classification"])
def test_a_text_of_300_categories_is_encoded_by_mean_targets(task, tmp_path):
    """Whole numbers are no classes: 1,417 prices once made 1,417 encodings, and twice the error that the card said."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 300, 1500)
    worth = rng.normal(size=300)
    y = worth[code] + 0.2 * rng.normal(size=1500)
    path = tmp_path / "codes.csv"
    frame = pd.DataFrame({"code": [f"c{own}" for own in code], "x": rng.normal(size=1500), "y": y})
    if task == "classification":
        frame["y"] = np.where(y > 0, "yes", "no")
    if task == "whole numbers":
        frame["y"] = np.round(1000 * y).astype(int)
    frame.to_csv(path, index=False)
    final = made(str(path), "linear")
    fresh = pd.DataFrame({"code": [f"c{own}" for own in range(300)], "x": 0.0})
    said = final.model.predict(fresh)
    if task != "classification":
        assert np.corrcoef(said, worth)[0, 1] > 0.9
        assert final.model[0].named_transformers_["means"].transform(frame[["code"]].head(2)).shape == (2, 1)
    else:
        assert ((said == "yes") == (worth > 0)).mean() > 0.9
    again = run(final.code)["model"].predict(fresh)
    if task == "classification":
        np.testing.assert_array_equal(again, said)
    else:  # sums of 1,500 terms, which older BLAS adds in an order that depends on the place in memory
        np.testing.assert_allclose(again, said, rtol=0, atol=len(y) * np.finfo(float).eps * np.abs(said).max())


def test_arrays_and_several_targets():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    y = np.stack([x[:, 0], 10 * x[:, 1] + x[:, 2]], axis=1)
    for name in ("linear", "rbf", "boosting", "lasso", "svm", "neighbours"):
        final = made((x, y), name, target=None)
        assert final.model.predict(x).shape == (120, 2)
        assert ((final.model.predict(x) - y) ** 2).mean() < 0.2 * y.var()
        space = run(final.code, x=x, y=y)
        own = space.get("models") or [space["model"]]
        again = np.column_stack([model.predict(x) for model in own])
        np.testing.assert_allclose(again, final.model.predict(x), rtol=1e-9)
        skops.io.loads(
            skops.io.dumps(final.model), trusted=skops.io.get_untrusted_types(data=skops.io.dumps(final.model))
        )


def test_a_grouped_and_a_timed_table_and_a_dropped_column(tmp_path):
    frame = table().assign(person=np.arange(ROWS) % 20, day=pd.date_range("2024-01-01", periods=ROWS).astype(str))
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    for options in ({"group": "person", "drop_column": ("day",)}, {"time": "day", "drop_column": ("person", "colour")}):
        final = made(str(path), "linear", **options)
        left = {*options.values(), *options["drop_column"]} & {"person", "day", "colour"}
        assert not left & set(final.inputs)
        fewer = frame.drop(columns=list(left))
        again = run(final.code)
        np.testing.assert_array_equal(again["model"].predict(again["table"]), final.model.predict(fewer))


def test_a_model_of_the_users_is_fitted_as_it_was_studied():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = table()
    chosen = make_pipeline(make_column_transformer((StandardScaler(), ["long"])), Ridge())
    found = lemmata.study(frame, "y", models="linear", model=chosen, quick=True)
    name = next(model.name for model in found.record.models if model.name != "linear")
    expected = chosen.fit(frame, frame.y).predict(frame)
    np.testing.assert_allclose(found.best(name).predict(frame), expected)
    encoded = lemmata.study(classes(), "y", models="linear", model=LogisticRegression(), quick=True)
    assert (encoded.best("LogisticRegression").predict(classes()) == classes().y).mean() > 0.7


def test_rows_without_a_target_and_with_missing_cells_are_left_out(tmp_path):
    frame = classes()
    frame.loc[:9, "y"] = None
    frame.loc[10:12, "y"] = "?"
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    for options, rows in (({}, ROWS - 13), ({"drop_missing": True}, None)):
        final = made(str(path), "logistic", **options)
        assert rows is None or final.rows == rows
        again = run(final.code)
        assert len(again["table"]) == final.rows
        np.testing.assert_array_equal(again["model"].predict(frame), final.model.predict(frame))


def test_all_rows_are_fitted_where_the_study_used_some():
    frame = table()
    told = StudyOptions(target="y", models="linear", quick=True, max_rows=60)
    dataset = load(frame, told)
    study = Study(
        lemmata.study(frame, "y", models="linear", quick=True, max_rows=60).record, Given(frame, dataset, told)
    )
    np.testing.assert_allclose(study.best().predict(frame), made(frame).model.predict(frame))


def test_where_there_is_no_model_it_is_said_why(study, tmp_path):
    none = dataclasses.replace(study.record, answers=dataclasses.replace(study.record.answers, best=None))
    with pytest.raises(SettingError, match=r"recommends no model.*The columns predict.*study\.best\("):
        Study(none, study.given).best()
    assert len(Study(none, study.given).best("linear").predict(classes())) == ROWS
    with pytest.raises(UnknownNameError, match=r"no model 'forest'.*it measured"):
        study.best("forest")
    last = dataclasses.replace(study.record.models[0], name="last", title="last value")
    naive = dataclasses.replace(
        study.record,
        models=[*study.record.models, last],
        answers=dataclasses.replace(study.record.answers, best="last"),
    )
    with pytest.raises(SettingError, match="last value, which does not use the columns"):
        named_model(naive)
    loaded = Study.load(study.save(tmp_path / "study.json"))
    assert loaded == Study(study.record)
    with pytest.raises(SettingError, match=r"no table to fit a model to.*study the table again"):
        loaded.best()
    with pytest.raises(LemmataError, match="no table"):
        loaded.save_model(tmp_path / "model.skops")
    assert not (tmp_path / "model.skops").exists()


def test_a_file_that_cannot_be_written_is_refused_first(study, tmp_path):
    (tmp_path / "folder.skops").mkdir()
    (tmp_path / "file").write_text("")
    for path, words in (
        (tmp_path / "model.pkl", "does not end in .skops"),
        (tmp_path, "does not end in .skops"),
        (tmp_path / "folder.skops", "is a directory"),
        (tmp_path / "file" / "model.skops", "cannot be written"),
    ):
        with pytest.raises(SettingError, match=words):
            study.save_model(path)


def test_the_card_says_what_the_page_says(study, tmp_path):
    from lemmata.interfaces.report import told_interval

    card = study.save_model(tmp_path / "model.skops").with_suffix(".md").read_text()
    now = next(model.now for model in study.record.models if model.name == study.record.answers.best)
    assert told_interval(now, study.record.unit) in card
    assert "`high`, `low`, `mid`" in card
    for finding in study.record.notes:
        assert finding in card
    code = card.split("## Make it without lemmata")[1].split("```python\n")[1].split("```")[0]
    again = run(code)
    np.testing.assert_array_equal(again["model"].predict(classes()), study.best().predict(classes()))


def test_a_saved_model_is_examined(study):
    frame = classes()
    found = lemmata.study_model(
        study.best(), frame[:100], frame.y[:100], held=(frame[100:], frame.y[100:]), time_limit=10.0
    )
    assert 0 <= found.record.held_error.value < 0.5


@pytest.mark.parametrize("name", ["poisson", "gamma", "linear"])
def test_far_from_all_rows_the_saved_model_says_what_the_measured_one_says(name):
    """An amount of 20 times the others once made a prediction of 5e7 days, where the study had measured at most 364."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    frame["y"] = np.exp(frame.a + 0.3 * rng.normal(size=200))
    study = lemmata.study(frame, target="y", models=["linear", "poisson", "gamma"], quick=True)
    final = study.best(name)
    new = pd.DataFrame({"a": [60.0, -60.0, 0.3], "b": [0.0, 0.0, 0.0]})
    least, most = (0.0, 2 * frame.y.max()) if name != "linear" else near_range(frame[["y"]].to_numpy())
    said = final.predict(new)
    np.testing.assert_allclose(said[:2], [float(np.squeeze(most)), float(np.squeeze(least))], atol=1e-6)
    assert float(np.squeeze(least)) < said[2] < float(np.squeeze(most))


def nullable(frame):
    return frame.convert_dtypes().assign(y=frame.y)


def mixed_objects(frame):
    return frame.assign(colour=pd.Series([1, "x", 2.5, None] * (ROWS // 4), dtype=object))


def strings(frame):
    return frame.assign(colour=frame.colour.astype("string"))


def objects(frame):
    cells = frame.wide.astype(object)
    cells[cells.isna()] = pd.NA
    return frame.assign(wide=cells, sure=pd.array([True, None] * (ROWS // 2), dtype="boolean"))


@pytest.mark.parametrize("change", [nullable, mixed_objects, strings, objects])
def test_a_frame_that_is_studied_is_fitted_and_predicted(change):
    """scikit-learn takes neither pandas.NA nor numbers among texts."""
    frame = change(table())
    final = made(frame)
    said = final.model.predict(frame)
    assert np.sqrt(((said - frame.y) ** 2).mean()) < 0.8 * frame.y.std()
    np.testing.assert_allclose([final.model.predict(frame.iloc[[j]])[0] for j in range(4)], said[:4])
    again = run(final.code, table=frame)
    np.testing.assert_allclose(again["model"].predict(again["table"]), said, rtol=1e-6)
