"""`lemmata study --model FILE.py:function` with code of the user that changes the current folder."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app

PARTS = """
import os
from sklearn.linear_model import Ridge

class Own(Ridge):
    def fit(self, x, y):
        {fit}
        return super().fit(x, y)
"""
OWN = """
import os
from parts import Own

{module}
def made():
    {call}
    return Own()
"""


@pytest.mark.parametrize("place", ["module", "call", "fit"])
def test_code_that_changes_the_folder_moves_neither_the_program_nor_the_model(place, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    stray = f"os.chdir({str(tmp_path / 'elsewhere')!r})"
    lines = {name: stray if name == place else "pass" for name in ("module", "call", "fit")}
    (tmp_path / "own.py").write_text(OWN.format(**lines))
    (tmp_path / "parts.py").write_text(PARTS.format(**lines))
    numbers = np.random.default_rng(0).normal(size=(80, 3))
    rows = "\n".join(f"{a},{b},{2 * a + b + c}" for a, b, c in numbers)
    (tmp_path / "table.csv").write_text(f"a,b,y\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "parts", raising=False)
    words = ["study", "table.csv", "--target", "y", "--models", "linear", "--quick", "--model", "own.py:made"]
    done = CliRunner().invoke(app, [*words, "--max-rows", "70", "--save-model", "kept/m.skops"])
    assert "made was left out" not in done.stdout, done.output
    assert done.exit_code == 0, done.output
    assert (tmp_path / "kept" / "m.skops").is_file()
