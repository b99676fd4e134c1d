"""A study on disk: written whole or not at all."""

import pytest

from lemmata.errors import DataError
from lemmata.report import Study
from tests.report.example import classified


def test_a_study_comes_back_from_its_file(tmp_path):
    found = Study(classified())
    path = found.save(tmp_path / "new" / "study.json")
    assert path == tmp_path / "new" / "study.json"
    assert path.read_text().endswith("}\n")
    assert Study.load(path).record.to_json() == found.record.to_json()


def test_a_failed_write_leaves_the_old_study(tmp_path, monkeypatch):
    path = tmp_path / "study.json"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError, match="cannot be written"):
        Study(classified()).save(path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("study.json", "old")]
