"""`lemmata model --deploy`: deployment rows that are like the held-out rows, or are not, and files that are refused."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.workflows.examinations import ExaminationRecord
from tests.interfaces.cli import model_files

IN_USE = "rows_in_use_are_alike"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return model_files.write(tmp_path_factory.mktemp("deployed"))


def in_use(files, x, **columns):
    own = {f"x{i}": x[:, i] for i in range(x.shape[1])} | columns
    pl.DataFrame(own).write_csv(files / "use.csv")


@pytest.fixture
def run(files, tmp_path):
    def start(deployed="use.csv"):
        told = ["--weights", "net.safetensors", "--held", "held.csv", "--deploy", deployed]
        told = [name if name.startswith("--") else str(files / name) for name in told]
        own = ["model", str(files / "net.py"), str(files / "train.csv"), "--out", str(tmp_path), *told]
        return CliRunner().invoke(app, own)

    return start


@pytest.fixture
def only_shift(monkeypatch):
    """Examinations with the gauges of this section alone."""
    from lemmata.workflows.examinations import _run

    real = _run.gauges_of
    monkeypatch.setattr(_run, "gauges_of", lambda own: [one for one in real(own) if ".shift." in one.name])


def rows_of_the_law(n):
    """Rows of the law of `model_files.rows`."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, model_files.C, model_files.N + model_files.M)
    centres = 1.5 * rng.normal(size=(model_files.C, model_files.D))
    (x, _), _ = model_files.rows()
    assert np.abs(x - centres[y[: model_files.N]]).mean() < 1
    new = np.random.default_rng(1)
    return centres[new.integers(0, model_files.C, n)] + new.normal(size=(n, model_files.D))


@pytest.mark.usefixtures("only_shift")
def test_rows_of_the_same_law_and_of_another(run, files, tmp_path):
    x = rows_of_the_law(100)
    in_use(files, x[:, ::-1], y=np.zeros(100))  # columns are found by name, whatever their order; a target is not read
    pl.read_csv(files / "use.csv").rename({f"x{i}": f"x{3 - i}" for i in range(4)}).write_csv(files / "use.csv")
    result = run()
    assert result.exit_code == 0, result.output
    record = ExaminationRecord.load(tmp_path / "model.json")
    assert record.gauge(IN_USE).status == "agrees"
    error = record.gauge("error_in_use_by_confidence")
    assert error.status == "unscored"
    assert error.predicted.lower <= record.held_error.value <= error.predicted.upper
    assert "Error in deployment, estimated from" in (tmp_path / "model" / "index.html").read_text()
    in_use(files, x + 2.0)
    result = run()
    assert result.exit_code == 0, result.output
    record = ExaminationRecord.load(tmp_path / "model.json")
    assert record.gauge(IN_USE).status == "disagrees"
    assert record.gauge("error_in_use_by_confidence").status == "inapplicable"
    assert "The deployment rows differ from the held-out rows" in " ".join(result.stdout.split())
    assert "the classes of 404 deployment rows" in (tmp_path / "model" / "index.html").read_text()
    assert record.score.tested == 0, "a shift is no prediction that failed"


X = rows_of_the_law(40)
REFUSED = {
    "a column is missing": (lambda files: in_use(files, X[:, :3]), "has no column 'x3'"),
    "few rows": (lambda files: in_use(files, X[:19]), "deployment rows\n  found: 19\n  rule: at least 20"),
    "words": (lambda files: in_use(files, X[:, :3], x3=["a"] * 40), "column 'x3'\n  found: words, for example 'a'"),
    "an empty cell": (
        lambda files: in_use(files, X[:, :3], x3=[None, *range(39)]),
        "column 'x3', row 2 (lines of use.csv)",
    ),
    "infinite": (lambda files: in_use(files, X[:, :3], x3=[np.inf] * 40), "not finite in row 0"),
    "no file": (lambda files: (files / "use.csv").unlink(missing_ok=True), "use.csv"),
    "empty": (lambda files: (files / "use.csv").write_text("x0,x1,x2,x3\n"), "no rows"),
    "training rows": (lambda files: in_use(files, model_files.rows()[0][0]), "found: only training rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_refused(run, files, tmp_path, case):
    make, said = REFUSED[case]
    make(files)
    result = run()
    assert result.exit_code == 2, result.output
    assert said in result.stderr, result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "model.json").exists()


def test_other_shapes_in_an_archive(run, files):
    np.savez(files / "use.npz", x=np.ones((30, 5)))
    result = run("use.npz")
    assert result.exit_code == 2
    assert "deployment rows\n  found: shape (5,)\n  rule: (4,), as in training" in result.stderr
    assert run("train.csv").exit_code == 2  # the very file
