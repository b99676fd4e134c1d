"""`lemmata study --save-model`: the files, what is said, the exit codes, and what is refused before anything runs."""

import numpy as np
import pytest
import skops.io
from typer.testing import CliRunner

import lemmata
from lemmata.errors import SettingError
from lemmata.interfaces.cli import app

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table whose column predicts the target, and one of noise."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    x = rng.normal(size=80)
    for name, y in (("line", 3 * x + 0.1 * rng.normal(size=80)), ("noise", rng.normal(size=80))):
        pd.DataFrame({"x": x, "y": y}).to_csv(folder / f"{name}.csv", index=False)
    return folder


def start(table, folder, model, *options):
    words = ["study", str(table), "--target", "y", "--models", "linear", "--quick", "--out", str(folder), *options]
    return CliRunner().invoke(app, [*words, "--save-model", str(model)])


def test_the_model_and_its_card_are_written(tables, tmp_path):
    file = tmp_path / "models" / "model.skops"
    found = start(tables / "line.csv", tmp_path, file)
    assert found.exit_code == 0, found.output
    assert f"Model: {file}" in found.stdout.replace("\n", "")
    assert "--save-model model.skops" not in " ".join(found.stdout.split())  # it is done
    assert "--save-model model.skops" in (tmp_path / "report" / "index.html").read_text()
    model = skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))
    assert abs(model.predict(pd.DataFrame({"x": [2.0]}))[0] - 6) < 0.3
    assert "# Linear model for `y`" in (tmp_path / "models" / "model.md").read_text()
    found = start(tables / "line.csv", tmp_path, file, "--json")
    assert found.stdout.lstrip().startswith("{")
    assert "Model card" not in found.stdout


def test_without_a_recommended_model_the_rest_is_written(tables, tmp_path):
    found = start(tables / "noise.csv", tmp_path, tmp_path / "model.skops")
    assert found.exit_code == 1
    said = " ".join(found.output.split())
    assert "No model was saved: the study recommends no model" in said
    assert (tmp_path / "study.json").exists()
    assert not (tmp_path / "model.skops").exists()
    assert "--save-model model.skops" not in said


def test_what_cannot_be_written_is_refused_before_the_table_is_read(tmp_path):
    (tmp_path / "folder.skops").mkdir()
    for model, words in (
        ("model.pickle", "does not end in .skops"),
        ("folder.skops", "is a directory"),
        ("folder.skops/../table.csv/model.skops", "cannot be written"),
    ):
        (tmp_path / "table.csv").write_text("x,y\n")
        found = start(tmp_path / "table.csv", tmp_path, tmp_path / model)
        assert found.exit_code == 2
        assert words in " ".join(found.output.split())
        assert not (tmp_path / "study.json").exists()


def test_a_saved_model_is_examined_by_its_file(tables, tmp_path):
    file, table = tmp_path / "model.skops", tables / "line.csv"
    assert start(table, tmp_path, file).exit_code == 0
    for name in ("held", "used"):
        x = np.random.default_rng(len(name)).normal(size=60)
        pd.DataFrame({"x": x, "y": 3 * x}).to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["model", str(file), str(table), "--target", "y"]
    words += ["--held", str(tmp_path / "held.csv"), "--deploy", str(tmp_path / "used.csv")]
    found = CliRunner().invoke(app, [*words, "--time-limit", "10", "--out", str(tmp_path / "out")])
    assert found.exit_code == 0, found.output
    assert "Error on held-out rows" in found.stdout
    assert "build()" not in found.output
    for extra, words_said in (
        (["--weights", "net.safetensors"], "--weights with a .skops file"),
        ([], "no column 'x'"),
    ):
        other = tmp_path / "other.csv"
        pd.DataFrame({"z": range(30), "y": range(30)}).to_csv(other, index=False)
        found = CliRunner().invoke(app, ["model", str(file), str(other), *extra, "--out", str(tmp_path / "out")])
        assert found.exit_code == 2
        assert words_said in " ".join(found.output.split())


def test_a_file_that_would_run_something_is_refused(tables, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    table = tables / "line.csv"
    for name, model, words in (
        ("odd", make_pipeline(FunctionTransformer(np.save), FunctionTransformer()), "types that are not trusted"),
        ("step", FunctionTransformer(), "holds no pipeline"),
    ):
        skops.io.dump(model, tmp_path / f"{name}.skops")
        found = CliRunner().invoke(app, ["model", str(tmp_path / f"{name}.skops"), str(table), "--out", str(tmp_path)])
        assert found.exit_code == 2
        assert words in " ".join(found.output.split())
    (tmp_path / "broken.skops").write_text("no archive")
    for name, words in (("broken", "cannot be read"), ("missing", "No such file")):
        found = CliRunner().invoke(app, ["model", str(tmp_path / f"{name}.skops"), str(table), "--out", str(tmp_path)])
        assert found.exit_code == 2
        assert words in " ".join(found.output.split())


OWN = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

class Mine(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.slope_ = float((X["x"] * y).sum() / (X["x"] ** 2).sum())
        return self
    def predict(self, X):
        return np.asarray(self.slope_ * X["x"])

def mine(): return Mine()
def squared(): return make_pipeline(FunctionTransformer(lambda own: own[["x"]]), LinearRegression())
def plain(): return LinearRegression()
"""


@pytest.mark.parametrize(("name", "what"), [("mine", "Mine"), ("squared", "a lambda")])
def test_a_model_that_no_program_could_load_is_refused_and_the_rest_is_written(name, what, tables, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    found = lemmata.study(
        str(tables / "line.csv"), "y", models="linear", model=f"{tmp_path / 'own.py'}:{name}", quick=True
    )
    with pytest.raises(SettingError, match=rf"{what}, defined in the file of --model.*in a separate module"):
        found.save_model(tmp_path / "model.skops", name)
    assert not (tmp_path / "model.skops").exists()
    table = pd.read_csv(tables / "line.csv")
    assert len(found.best(name).predict(table)) == len(table)


def test_the_rest_is_written_if_the_model_cannot_be_stored(tables, tmp_path):
    """The target is a product, which only the user's own model knows."""
    rows = pd.read_csv(tables / "line.csv").assign(v=lambda own: np.resize([1.0, -1.0, 2.0], len(own)))
    rows.assign(y=rows.y * rows.v).to_csv(tmp_path / "product.csv", index=False)
    (tmp_path / "own.py").write_text(OWN.replace('X["x"]', 'X["x"] * X["v"]').replace("** 2", "* X['x'] * X['v']"))
    model = ["--model", f"{tmp_path}/own.py:mine"]
    found = start(tmp_path / "product.csv", tmp_path, tmp_path / "model.skops", *model)
    assert found.exit_code != 0
    assert "Mine, defined in the file of --model" in " ".join(found.output.split())
    assert (tmp_path / "study.json").exists()
    assert not (tmp_path / "model.skops").exists()


def test_the_card_of_an_own_model_has_no_empty_program(tables, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    found = lemmata.study(
        str(tables / "line.csv"), "y", models="linear", model=f"{tmp_path / 'own.py'}:plain", quick=True
    )
    card = found.save_model(tmp_path / "model.skops", "plain").with_suffix(".md").read_text()
    assert "This program fits the same model" not in card
    assert "The estimator is your own (LinearRegression of own.py), so this card holds no program." in card


def test_a_card_names_the_packages_that_the_file_needs():
    from lemmata.interfaces.report._model_card import _packages

    named = ["xdist.plugin.Thing", "parts.Mine", "sklearn.tree._tree.Tree", "operator.methodcaller", "numpy.dtype"]
    assert _packages(named) == {"xdist": "pytest-xdist", "parts": ""}


@pytest.mark.parametrize("written", ["${:,.2f}", "{:.1f}%", "{:,.2f} EUR"])
def test_a_target_with_units_is_examined_as_it_was_studied(written, tables, tmp_path):
    rows = pd.read_csv(tables / "line.csv")
    rows["y"] = [written.format(1000 * y) for y in rows.y]
    if "EUR" in written:
        rows["y"] = rows.y.str.translate(str.maketrans(",.", ".,"))
    rows.to_csv(tmp_path / "money.csv", index=False)
    assert start(tmp_path / "money.csv", tmp_path, tmp_path / "model.skops").exit_code == 0
    words = [
        "model",
        str(tmp_path / "model.skops"),
        str(tmp_path / "money.csv"),
        "--target",
        "y",
        "--out",
        str(tmp_path),
    ]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
