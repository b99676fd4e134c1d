"""Rows with missing cells: for models that take them, and named where a model does not."""

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import lemmata
from lemmata.errors import LemmataError
from lemmata.subjects.trained_models import find_copies

RNG = np.random.default_rng(9)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=200) > 0).astype(int)
X[::7, 1] = np.nan
ROWS, NEW = slice(0, 120), slice(120, None)
TREES = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X[ROWS], Y[ROWS])


def test_trees_take_them():
    found = lemmata.study_model(TREES, X[ROWS], Y[ROWS], held=(X[NEW], Y[NEW]), deployed=X[NEW] + 0.1)
    assert found.record.held_error.value == pytest.approx(1 - TREES.score(X[NEW], Y[NEW]))
    assert not [own for own in found.record.gauges if own.status == "failed"]
    assert any("HistGradientBoostingClassifier" in note for note in found.record.notes)


def test_a_pipeline_fills_them():
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X[ROWS], Y[ROWS])
    found = lemmata.study_model(model, X[ROWS], Y[ROWS], held=(X[NEW], Y[NEW]))
    assert found.record.held_error.value == pytest.approx(1 - model.score(X[NEW], Y[NEW]))
    assert found.record.left_out.predicted is not None


@pytest.mark.parametrize("cell", [np.nan, np.inf])
def test_models_that_do_not_take_them_are_told_where_they_are(cell):
    whole = np.where(np.isnan(X), 0.0, X)
    model, bad = LogisticRegression().fit(whole[ROWS], Y[ROWS]), whole[ROWS].copy()
    bad[5, 2] = cell
    with pytest.raises(LemmataError, match=r"x; found a cell that is not finite in row 5.*remedy: fill the cell"):
        lemmata.study_model(model, bad, Y[ROWS])
    infinite = X[ROWS].copy()
    infinite[5, 2] = np.inf
    with pytest.raises(LemmataError, match="not finite in row 5"):
        lemmata.study_model(TREES, infinite, Y[ROWS])
    through = lambda rows: np.stack([-rows.sum(1), rows.sum(1)], axis=1)
    with pytest.raises(LemmataError, match=r"NaN in row 0.*for which the model returns NaN"):
        lemmata.study_model(through, X[ROWS], Y[ROWS])


def test_copies_among_rows_with_missing_cells():
    """A missing cell equals a missing one, and no known one."""
    x = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, 0.5], [4.0, 0.5], [7.0, -3.0]])
    found = find_copies(x, np.array([[7.0, -3.0], [7.0, np.nan]]))
    assert found.within.tolist() == [True, True, False, False, False]
    assert found.held.tolist() == [True, False]


def test_the_command_reads_empty_cells_where_the_model_takes_them(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from lemmata.interfaces.cli import app

    frame = pl.DataFrame({f"x{k}": X[:, k] for k in range(3)} | {"y": Y}).with_columns(pl.col("x1").fill_nan(None))
    frame[ROWS].write_csv(tmp_path / "rows.csv")
    frame[NEW].write_csv(tmp_path / "new.csv")
    program = """
import numpy as np
def build():
    return lambda x: np.where(np.isnan(x[:, :1]), 0.5, np.where(x[:, :1] > 0, [0.2, 0.8], [0.8, 0.2]))
"""
    (tmp_path / "net.py").write_text(program)
    (tmp_path / "line.py").write_text(
        "import jax.numpy as jnp\ndef build():\n    return (lambda own, x: x @ own), jnp.ones((3, 2))\n"
    )
    monkeypatch.chdir(tmp_path)
    run = lambda name: CliRunner().invoke(app, ["model", name, "rows.csv", "--held", "new.csv", "--out", "found"])
    found = run("net.py")
    assert found.exit_code == 0, found.output
    assert "lemmata sees the outputs of this function" in " ".join(found.output.split())
    refused = run("line.py")
    assert refused.exit_code == 2
