"""A record of a counterexample is data: no file that it names runs, and its program says only what it should."""

import ast
import dataclasses
import json

import pytest

from lemmata.engine.claims import find
from lemmata.engine.refutations import Counterexample, load_counterexample
from lemmata.engine.refutations._problem import Place
from lemmata.errors import SettingError

FOUND = Counterexample("", Place({}, 0, 0), 1.0, 2.0, 2.0, (), "confirmed", 1)


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A file of claims that writes down that it ran."""
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["trap.py", "trap.py:Trap", "./sub/../trap.py:trap", "{}/trap.py:Trap", "trap.py:"])
def test_a_file_that_a_record_names_does_not_run(trap, name):
    (trap / "sub").mkdir()
    dataclasses.replace(FOUND, claim=name.format(trap)).save(trap / "record")
    with pytest.raises(SettingError, match="because a record names the file") as refused:
        load_counterexample(trap / "record" / "counterexample")
    assert "find(" in refused.value.remedy
    assert not (trap / "ran").exists()


@pytest.mark.parametrize(
    "name", ['"""\nimport os\n"""', "a'); open('ran', 'w'); ('", "{0}", "\\", "\udcff", "q\"'.py:X"]
)
def test_the_name_of_a_claim_cannot_become_code_of_the_program(trap, name):
    program = dataclasses.replace(FOUND, claim=name).save(trap / "record")
    tree = ast.parse(program.read_text(encoding="utf-8"))
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "find"]
    assert [ast.literal_eval(call.args[0]) for call in called] == [name]
    assert len(tree.body) == 8
    assert not (trap / "ran").exists()


def test_the_program_of_a_claim_of_the_catalogue_needs_no_claim(tmp_path):
    name = find("hoeffding_held_out")[0].name
    dataclasses.replace(FOUND, claim=name, alone=False, budget=64, place=Place({"m": 100, "p": 0.3}, 0, 0)).save(
        tmp_path
    )
    assert json.loads((tmp_path / "counterexample.json").read_text())["claim"] == name
    again = load_counterexample(tmp_path / "counterexample")
    assert again.claim == name
    assert again.confirmed == "", "it is evaluated afresh"
