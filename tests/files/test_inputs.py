"""Results do not replace a file from which they are computed."""

import os
import types

import pytest

from lemmata.errors import SettingError
from lemmata.files import keep_inputs
from lemmata.interfaces.python import Comparison, Study


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "table.json"
    path.write_text("[]")
    return path


@pytest.mark.parametrize("how", ["the same name", "another name", "a link", "a linked folder"])
def test_an_output_that_is_an_input_is_refused_under_every_name(table, how):
    output = {"the same name": table, "another name": "./table.json", "a link": "link.json",
              "a linked folder": "folder/table.json"}[how]  # fmt: skip
    os.symlink(table, "link.json")
    os.symlink(table.parent, "folder")
    with pytest.raises(SettingError, match="would be overwritten"):
        keep_inputs(["nosuch", str(table)], ["new.json", output])


def test_other_values_and_missing_files_are_no_inputs(table):
    keep_inputs([None, 3, [str(table)], "a\0b", "x" * 5000, "nosuch.json"], [table, "nosuch.json"])


@pytest.mark.parametrize("write", ["save", "report"])
@pytest.mark.parametrize("kind", ["study", "comparison"])
def test_a_finished_job_does_not_replace_its_data(table, kind, write):
    page = table.rename("index.html")
    done = object.__new__(Study if kind == "study" else Comparison)
    given = {"given": types.SimpleNamespace(data=str(page))} if kind == "study" else {"data": str(page)}
    vars(done).update(given)
    with pytest.raises(SettingError, match="would be overwritten"):
        done.save(page) if write == "save" else done.report(".")
    assert page.read_text() == "[]"
