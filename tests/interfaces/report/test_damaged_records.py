"""Records of others, generated from their schemas: valid ones are shown, and edited ones are read or refused."""

import dataclasses
import json

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from markupsafe import Markup
from typer.testing import CliRunner

from lemmata.errors import DataError
from lemmata.interfaces.cli import app
from lemmata.interfaces.report import _page, write_page
from lemmata.intervals import Interval
from lemmata.workflows.records.comparisons import ComparisonRecord, PairResult
from lemmata.workflows.records.examinations import ExaminationRecord
from lemmata.workflows.records.studies import StudyRecord
from tests.budget import seed as turn
from tests.interfaces.report.example import classified
from tests.interfaces.report.test_families import example as comparison
from tests.stored.schemas import alike, edited, records

KINDS = {"study": StudyRecord, "compare": ComparisonRecord, "model": ExaminationRecord}
WHOLE = {name: records(kind) for name, kind in KINDS.items()}
QUIET = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck),
         "phases": (Phase.explicit, Phase.generate)}  # fmt: skip
PARTS = 4
"""Cases of each kind, with other examples; a run takes as many of them as its budget has room for."""


def some(part, examples=40):
    """So many examples, others in each part and with each number of the run."""
    return lambda test: seed(PARTS * turn() + part)(settings(max_examples=examples, **QUIET)(test))


def refused(error, name):
    """The form of an error about a record: one line that can be printed, with the file, the rule and the remedy."""
    said = str(error)
    assert said.startswith(name)
    assert "; found " in said
    assert "; rule: " in said
    assert "; remedy: " in said
    assert said.isprintable()
    assert len(said) < 500


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", KINDS)
def test_a_valid_record_comes_back(name, part):
    kind = KINDS[name]

    @some(part)
    @given(WHOLE[name])
    def check(values):
        record = kind.from_json(json.dumps(values))
        text = record.to_json()
        assert alike(json.loads(text), values)
        assert kind.from_json(text).to_json() == text

    check()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", KINDS)
def test_a_record_with_one_edit_is_read_as_it_says_or_refused(name, part):
    kind = KINDS[name]

    @some(part)
    @given(edited(WHOLE[name]))
    def check(values):
        try:
            record = kind.from_json(json.dumps(values), "mine.json")
        except DataError as error:
            refused(error, "mine.json ")
        else:
            assert alike(json.loads(record.to_json()), values)

    check()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", KINDS)
def test_a_valid_record_has_a_page_or_is_refused(name, part, tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "svg_of", lambda spec, words, name: Markup(f"<svg>{json.dumps(spec)[:9]}</svg>"))
    monkeypatch.setattr(_page, "bundle", lambda: "")
    kind, shown = KINDS[name], []

    @some(part, examples=10)
    @given(WHOLE[name])
    def check(values):
        try:
            shown.append(write_page(tmp_path, kind.from_json(json.dumps(values)), name="mine.json").stat().st_size)
        except DataError as error:
            refused(error, "mine.json is a record of")

    check()
    assert shown


TEXT = classified().to_json()
NULLS = json.dumps(json.loads(TEXT, parse_float=lambda _: None))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 200_000, "nested too deeply"), ('{"gauges":' * 200_000, "nested too deeply"), ("", "an empty file"),
        (TEXT[: len(TEXT) // 2], "valid JSON"), (b"\xff\xfe" + TEXT.encode(), "not UTF-8"), ("[]", "found no object"),
        (NULLS, "seconds; found null; rule: a number from 0 up"), (TEXT.replace("21.2", "NaN"), "seconds; found NaN"),
        (TEXT.replace("21.2", "1e999"), "seconds; found a number beyond"),
        (TEXT.replace("21.2", "-5"), "seconds; found -5"),
        (TEXT.replace('"seed": 0', '"seed": 0, "seed": 1'), "found the key 'seed' twice"),
        (TEXT.replace('"schema": 3', '"schema": 99'), "remedy: install a newer lemmata"),
        (TEXT.replace('"schema": 3', '"schema": true'), "schema; found true"),
        (TEXT.replace('"n": 20.0', '"n": -20.0', 1), "models[0].points[0].n; found -20.0; rule: a number above 0"),
        (TEXT.replace('"models": [', '"models": 5, "was": ['), "models; found 5; rule: a list"),
        (json.dumps(json.loads(TEXT) | {"claims": [{"hypotheses": [[]]}]}), "claims[0].hypotheses[0]; found a list"),
    ],
)  # fmt: skip
def test_report_says_in_one_line_what_is_amiss(tmp_path, text, words):
    path = tmp_path / "study.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    done = CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "page")], terminal_width=2000)
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    said = " ".join(done.stderr.replace(" found:", "; found").replace(" rule:", "; rule:").split())
    assert words.replace("remedy: ", "") in said.replace("remedy: ", "").replace(" ;", ";")
    assert not (tmp_path / "page").exists()


def test_a_record_after_a_mark_of_the_byte_order_is_shown(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("\ufeff" + TEXT, encoding="utf-8")
    assert StudyRecord.load(path) == classified()


def test_values_that_do_not_fit_together_are_told_with_the_file(tmp_path):
    stranger = PairResult("nobody", "mlp", Interval(0.1, 0.0, 0.2), 0.5, 0.5, False)
    record = dataclasses.replace(comparison(), pairs=[stranger])
    (tmp_path / "mine.json").write_text(record.to_json())
    done = CliRunner().invoke(app, ["report", str(tmp_path / "mine.json"), "--out", str(tmp_path / "page")])
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "mine.json is a record of a comparison, but its values contradict each other" in said
    assert "KeyError: 'nobody'" in said
    assert not (tmp_path / "page" / "index.html").exists()
