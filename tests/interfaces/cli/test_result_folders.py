"""What a command writes is of one run: record, page and the files beside it; and a mixed folder is told."""

import dataclasses
import io
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from lemmata import results
from lemmata.engine.refutations import Counterexample, load_counterexample
from lemmata.engine.refutations._problem import Place
from lemmata.errors import DataError
from lemmata.interfaces.cli import app
from lemmata.interfaces.cli._refute import _Told
from lemmata.interfaces.python import ModelStudy, Study
from lemmata.interfaces.report import write_page
from lemmata.interfaces.report._pages import files_of
from tests.interfaces.report.example import classified, measured
from tests.interfaces.report.test_model_page import example

RUNNER = CliRunner()


@pytest.fixture
def run_study(monkeypatch):
    """`lemmata study` finds what it is told, at once."""
    monkeypatch.setattr("lemmata.interfaces.report._vega.svg_text", lambda spec: None)
    monkeypatch.setattr("lemmata.interfaces.report._page.svg_text", lambda spec: None)

    def run(record, folder):
        monkeypatch.setattr("lemmata.workflows.studies.run_study", lambda *_a, **_k: record)
        return RUNNER.invoke(app, ["study", "iris", "--out", str(folder)])

    return run


def told(folder, name="study.json"):
    """What `lemmata report` says on standard error."""
    result = RUNNER.invoke(app, ["report", str(folder / name), "--out", str(folder / "again")])
    assert result.exit_code == 0, result.output
    return " ".join(result.stderr.split())


def test_a_page_names_its_record_and_a_mixed_folder_is_told(tmp_path, run_study):
    one, two = tmp_path / "one", tmp_path / "two"
    assert run_study(measured(), one).exit_code == 0
    assert run_study(classified(), two).exit_code == 0
    assert told(one) == told(two) == ""
    assert files_of(one / "report" / "index.html") == {"study.json": results.digest((one / "study.json").read_bytes())}
    os.replace(two / "study.json", one / "study.json")
    assert "come from different runs: the page was not made from the present content of study.json" in told(one)


def test_a_second_study_into_a_folder_is_told_who_writes_and_leaves_nothing(tmp_path, run_study):
    with results.writing(tmp_path, "study.json"):
        result = run_study(measured(), tmp_path)
    assert result.exit_code == 2
    assert f"found: process {os.getpid()} on" in " ".join(result.stderr.split())
    assert not (tmp_path / "study.json").exists()
    assert run_study(measured(), tmp_path).exit_code == 0, "the lock ended"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "study.json"]


def test_report_finishes_what_a_killed_study_left(tmp_path, run_study, monkeypatch):
    """The record has its place, the page is still in the draft: as after SIGKILL between two renamings."""
    assert run_study(measured(), tmp_path).exit_code == 0
    move, old = results._move, (tmp_path / "study.json").read_text()
    monkeypatch.setattr(
        results, "_move", lambda whole, folder: os.replace(whole / "files/study.json", folder / "study.json")
    )
    assert run_study(classified(), tmp_path).exit_code == 0
    monkeypatch.setattr(results, "_move", move)
    assert (tmp_path / "study.json").read_text() != old
    page = (tmp_path / "report" / "index.html").read_text()
    assert told(tmp_path) == ""
    assert (tmp_path / "report" / "index.html").read_text() != page
    assert Study.load(tmp_path / "study.json").record.data == classified().data


def test_rows_of_an_earlier_examination_do_not_stay_beside_the_next(tmp_path):
    """The second has none; what the user put there stays."""
    write_page(tmp_path, example(), beside={"rows.csv": "a\n1\n"})
    assert (tmp_path / "rows.csv").read_text() == "a\n1\n"
    write_page(tmp_path, example())
    assert (tmp_path / "rows.csv").exists(), "the page of the same record, once more"
    (tmp_path / "model.json").write_text(example().to_json() + "\n")
    other = dataclasses.replace(example(), command="another")
    write_page(tmp_path, other)
    assert not (tmp_path / "rows.csv").exists()
    assert (tmp_path / "model.json").exists(), "no file beside a page"
    (tmp_path / "rows.csv").write_text("mine")
    write_page(tmp_path, example())
    assert (tmp_path / "rows.csv").read_text() == "mine"


def test_rows_of_another_run_are_told(tmp_path):
    study = ModelStudy(example())
    study.save(tmp_path / "model.json")
    write_page(tmp_path / "model", example(), beside={"rows.csv": "a\n1\n"})
    assert told(tmp_path, "model.json") == ""
    (tmp_path / "model" / "rows.csv").write_text("a\n2\n")
    assert "the page was not made from the present content of rows.csv" in told(tmp_path, "model.json")


def counterexample(value):
    place = Place(setting={}, seed=0, number=0, fields={"x": np.full(3, value)})
    return Counterexample("a.b", place, 1.0, 2.0, 2.0, (("h", 1.0),), "", 1)


def test_arrays_of_another_search_are_refused(tmp_path):
    counterexample(1.0).save(tmp_path / "one")
    counterexample(2.0).save(tmp_path / "two")
    os.replace(tmp_path / "two" / "counterexample.npz", tmp_path / "one" / "counterexample.npz")
    for folder in ("one", "two"):
        with pytest.raises(DataError, match=r"found no file, or a file with other content"):
            load_counterexample(tmp_path / folder / "counterexample")
    record = json.loads((tmp_path / "one" / "counterexample.json").read_text())
    content = io.BytesIO()
    np.savez(content, x=np.full(3, 1.0))
    assert record["arrays"] == results.digest(content.getvalue())


def test_a_counterexample_is_not_written_behind_a_link(tmp_path, capsys):
    """The folder below --out has the name of the claim, and may already stand there as a link."""
    (tmp_path / "home").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.b").symlink_to(tmp_path / "home")
    assert _Told(tmp_path / "out", as_json=False)._written("a.b", counterexample(1.0)) is None
    assert list((tmp_path / "home").iterdir()) == []
    assert "a.b, which is a link" in " ".join(capsys.readouterr().err.split()).replace(" ,", ",")
    assert _Told(tmp_path / "out", as_json=False)._written("c.d", counterexample(1.0)) is not None
