"""The tutorial does what it says: its programs run in order, and its commands end with the codes that it names."""

import pathlib
import re
import shlex

from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.interfaces.site._markdown import rendered
from tests.programs import printed, started_in_float32

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```(python file=(\S+)|python|sh)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def commands(block):
    """The commands of a block with the exit codes that stand behind them."""
    for line in block.splitlines():
        command, _, said = line.partition("#")
        yield shlex.split(command)[1:], int(said.removeprefix(" exit code ") or 0)


def test_the_tutorial_has_its_five_steps():
    titles = re.findall(r"^## (\d)\. (.+)$", PAGE.read_text(encoding="utf-8"), re.M)
    assert titles == [
        ("1", "A study"),
        ("2", "A claim of your own"),
        ("3", "A kernel"),
        ("4", "Verify"),
        ("5", "Refute"),
    ]
    assert len(BLOCKS) >= 8


def test_the_tutorial_runs_from_the_first_line_to_the_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, file, text in BLOCKS:
        if file:
            (tmp_path / file).write_text(text)
        elif kind == "python":
            with started_in_float32():
                assert printed(text, names)
        else:
            for arguments, code in commands(text):
                result = CliRunner().invoke(app, arguments)
                assert result.exit_code == code, (arguments, result.output)
                assert result.stdout
    assert (tmp_path / "wine" / "report" / "index.html").is_file()


def test_a_program_with_the_name_of_its_file_is_coloured():
    text = "```python file=largest.py\nimport jax\n```\n"
    fence = rendered(text, lambda name: None, lambda target: target)
    assert '<pre class="code"' in fence
    assert '<span class="kn">import</span>' in fence
