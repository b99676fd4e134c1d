"""What a notebook shows: results as HTML without scripts, no bars of progress, a program of the gallery as it was."""

import json

import pytest

from lemmata.interfaces.site._gallery import gallery

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytestmark = pytest.mark.seconds(40)

SETUP = """
import numpy as np
import lemmata
rng = np.random.default_rng(0)
x = rng.normal(size=(160, 3))
y = (x[:, 0] + 0.5 * rng.normal(size=160) > 0).astype(int)
"""
STUDY = "import polars\nframe = polars.DataFrame(x, schema=['a', 'b', 'c']).with_columns(target=y)\n"
STUDIED = STUDY + "lemmata.study(frame, target='target', quick=True, models=['linear', 'neighbours'])"
EXAMINED = """
from sklearn.linear_model import LogisticRegression
model = LogisticRegression().fit(x[:100], y[:100])
lemmata.study_model(model, x[:100], y[:100], held=(x[100:], y[100:]))
"""


def ran(folder, *sources):
    """The outputs of each cell of a notebook, run in a kernel of its own."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.parametrize("asked", [STUDIED, EXAMINED], ids=["study", "model"])
def test_a_result_shows_itself_and_nothing_else_is_printed(asked, tmp_path):
    setup, outputs = ran(tmp_path, SETUP, asked)
    assert setup == []
    assert [output.output_type for output in outputs] == ["execute_result"]
    shown = outputs[0].data["text/html"]
    assert "<script" not in shown
    assert "%" in shown


def test_a_notebook_of_the_gallery_prints_and_draws_what_it_shows(tmp_path):
    example = next(own for some in gallery().values() for own in some if own.name == "bayesian")
    stored = nbformat.reads(example.notebook, as_version=4)
    nbformat.validate(stored)
    code = next(cell for cell in stored.cells if cell.cell_type == "code")
    (outputs,) = ran(tmp_path, code.source)
    assert outputs[0].text == code.outputs[0].text == example.printed
    assert outputs[1].data["image/svg+xml"].startswith("<svg")
    assert json.loads(example.notebook)["nbformat"] == 4
