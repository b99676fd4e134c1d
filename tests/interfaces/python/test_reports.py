"""What `report` of each finished job writes: a page, and of an examination its rows, whole."""

import polars as pl
import pytest

from lemmata.interfaces.python import ModelStudy, Study
from tests.interfaces.report.example import classified
from tests.interfaces.report.test_model_page import example

ROWS = pl.DataFrame({"row": [0, 1, 2], "part": ["training", "training", "held out"], "loss": [0.5, 0.25, None]})


@pytest.mark.parametrize(("rows", "files"), [(ROWS, ["index.html", "rows.csv"]), (None, ["index.html"])])
def test_an_examination_writes_its_page_and_its_rows(tmp_path, rows, files):
    page = ModelStudy(example(), rows=rows).report(tmp_path)
    assert sorted(path.name for path in page.parent.iterdir()) == files
    assert "Gauge number 1 of a trained model" in page.read_text(encoding="utf-8")
    if rows is not None:
        assert pl.read_csv(tmp_path / "rows.csv").equals(rows)


def test_a_study_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, vl_version: "<svg></svg>")
    monkeypatch.setattr("lemmata.interfaces.report._page.bundle", lambda: "")
    page = Study(classified()).report(tmp_path)
    assert page == tmp_path / "index.html"
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
