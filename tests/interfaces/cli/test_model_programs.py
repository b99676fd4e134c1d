"""Programs of `lemmata model` that return pipelines and estimators, and names in a program that are no settings."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lemmata.errors import LemmataError, SettingError
from lemmata.options import ModelOptions
from lemmata.subjects.trained_models import held_outputs, held_rows, stated_loss
from lemmata.workflows.examinations import load_trained
from lemmata.workflows.examinations._program import load_program

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) * [1, 10, 0.1]
FRAME = pd.DataFrame(X, columns=list("abc")).assign(t=np.where(X[:, 0] > 0, "p", "q"))
FRAME["y"] = np.where(X[:, 0] + X[:, 1] / 10 > 0, "no", "yes")
HEAD = "import joblib\ndef build(): return joblib.load({!r})\n"


@pytest.fixture
def load(tmp_path):
    def start(model, columns, text="", held=FRAME[60:], **options):
        import joblib

        joblib.dump(model, tmp_path / "model.joblib")
        (tmp_path / "net.py").write_text(HEAD.format(str(tmp_path / "model.joblib")) + text)
        FRAME[:60][columns].to_csv(tmp_path / "train.csv", index=False)
        held.to_csv(tmp_path / "held.csv", index=False)
        told = ModelOptions(held=str(tmp_path / "held.csv"), **options)
        return load_trained(str(tmp_path / "net.py"), str(tmp_path / "train.csv"), told)

    return start


TEXTS = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["t"]))
LINE = LogisticRegression()
PROGRAMS = {
    "a pipeline": (make_pipeline(StandardScaler(), LINE), list("abc")),
    "a search": (GridSearchCV(make_pipeline(StandardScaler(), LINE), {"logisticregression__C": [0.1, 1]}), list("abc")),
    "a pipeline of texts": (make_pipeline(TEXTS, LINE), list("abt")),
    "an estimator": (LINE, list("abc")),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("names", [True, False])
def test_pipelines_and_estimators_of_programs_are_examined(load, name, names):
    """Also if the columns of the file have another order than those that the model was fitted to."""
    model, columns = PROGRAMS[name]
    if not names and "t" in columns:
        return
    x = FRAME[columns] if names else FRAME[columns].to_numpy()
    model.fit(x[:60], FRAME.y[:60])
    trained, *_ = load(model, [*(columns[::-1] if names else columns), "y"])
    wrong = trained.task.errors(held_outputs(trained), held_rows(trained)[1]).mean()
    assert wrong == pytest.approx(1 - model.score(x[60:], FRAME.y[60:]))


def test_a_pipeline_that_is_not_fitted_is_refused_in_words(load):
    with pytest.raises(SettingError, match=r"a Pipeline that is not fitted.*model.fit\(x, y\)"):
        load(make_pipeline(StandardScaler(), LINE), [*"abc", "y"])


def test_rows_of_a_file_are_named_by_their_lines_in_errors(load):
    model = LogisticRegression().fit(FRAME[list("abc")][:60], FRAME.y[:60])
    other = FRAME[60:].assign(y=["no", "maybe"] * 30)
    with pytest.raises(LemmataError, match=r"class 'maybe' in held-out row 3 \(lines of held.csv\)"):
        load(model, [*"abc", "y"], held=other)


def test_imported_functions_and_classes_are_no_settings(tmp_path):
    text = "from sklearn.preprocessing import scale, StandardScaler as labels\nfrom math import log as loss\n"
    text += "import json as task\nfrom numpy import exp as decay\nprivacy = padding = None\n"
    (tmp_path / "net.py").write_text(text + "def build(): return 1\n")
    own = load_program(tmp_path / "net.py")
    assert (own.scale, own.labels, own.loss, own.task, own.decay) == (None,) * 5
    for line, words in {
        "def scale(x): return x": "scale in .*net.py; found <function scale",
        "def loss(f, y): return 0": "loss in .*net.py; found a function; .*if 'loss' is not the loss, rename it",
        "loss = 'hubber'": "loss in .*net.py; found 'hubber'",
    }.items():
        (tmp_path / "net.py").write_text(f"{line}\ndef build(): return 1\n")
        with pytest.raises(SettingError, match=words):
            load_program(tmp_path / "net.py")


def test_losses_of_torch_are_read_or_refused_with_their_text():
    nn = pytest.importorskip("torch").nn
    assert stated_loss(nn.CrossEntropyLoss()) == stated_loss("log")
    assert stated_loss(nn.CrossEntropyLoss(label_smoothing=0.1)) == stated_loss("log, smoothed by 0.1")
    assert stated_loss(nn.BCEWithLogitsLoss()) == stated_loss("log")
    assert stated_loss(nn.HuberLoss(delta=2.0)) == stated_loss("huber 2.0")
    assert stated_loss(nn.PoissonNLLLoss()) == stated_loss("poisson")
    tensor = pytest.importorskip("torch").ones(2)
    for loss, words in (
        (nn.MSELoss(), r'loss in net.py; found MSELoss\(\).*loss = "squared"'),
        (nn.CrossEntropyLoss(weight=tensor), "weight=tensor"),
        (nn.CrossEntropyLoss(reduction="sum"), "reduction='sum'"),
        (nn.L1Loss(), "L1Loss"),
    ):
        with pytest.raises(SettingError, match=words):
            stated_loss(loss, "loss in net.py")


@pytest.mark.parametrize("line", ["import os; os.chdir('elsewhere')", "def start(): import os; os.chdir('elsewhere')"])
def test_a_program_that_changes_the_folder_moves_no_file(line, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    start = "start()" if "start" in line else "None"
    text = f"{line}\ndef build():\n    {start}\n    return lambda x: x @ [1.0, 2.0, 3.0]\n"
    (tmp_path / "net.py").write_text(text)
    table = FRAME[list("abc")].assign(y=FRAME[list("abc")] @ [1.0, 2.0, 3.0])
    for name, rows in {"train": table[:60], "right": table[:60], "held": table[60:], "deployed": table[60:]}.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    told = ModelOptions(held="held.csv", deploy="deployed.csv", corrected="right.csv")
    trained, name, rows, _ = load_trained("net.py", "train.csv", told)
    assert (name, rows) == ("net.py", "train.csv")
    assert [len(part) for part in (trained.x, trained.held[0], trained.deployed)] == [60, 60, 60]
    assert os.getcwd() == str(tmp_path / "elsewhere")  # where later calls of the program expect to be
