"""What the commands write, print and return; the computation itself is replaced by a short record."""

import dataclasses
import json
import re
import subprocess
import sys

import jax
import pytest
from rich.console import Console
from typer.testing import CliRunner

import lemmata
import lemmata.interfaces.python  # before `run` replaces what it imports
import lemmata.interfaces.report
from lemmata.interfaces.cli import _console, app
from lemmata.interfaces.cli._files import strict_json, write_text
from lemmata.interfaces.cli._progress import StageProgress
from lemmata.options import StudyOptions
from lemmata.workflows.studies import StudyRecord, run_study
from tests.workflows.studies import tables


@pytest.fixture(scope="module")
def record():
    """A study that really ran."""
    return run_study(tables.waves(40), StudyOptions(models="linear,rbf", quick=True, error="r2 0.5"))


@pytest.fixture
def run(monkeypatch, tmp_path, record):
    def start(*options, record=record, stop=None):
        def computed(dataset, options, progress, started, executor):
            start.seen = dataset, options
            progress("Learning curves", 1, 2)
            if stop:
                raise stop
            return record

        monkeypatch.setattr("lemmata.workflows.studies.run_study", computed)
        return CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path / "out"), *options])

    return start


def test_the_files_and_the_summary(run, tmp_path, monkeypatch, record):
    monkeypatch.setattr(_console.out, "width", 120)  # a test worker may have set another
    result = run("--models", "rbf, linear", "--error", "accuracy 0.9", "--time-limit", "90", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert run.seen[1] == StudyOptions(models="rbf, linear", error="accuracy 0.9", time_limit=90.0, seed=3)
    assert jax.config.jax_enable_x64
    written = StudyRecord.load(tmp_path / "out" / "study.json")
    command = "lemmata study iris --error 'accuracy 0.9' --models 'rbf, linear' --time-limit 90 --seed 3"
    assert written == dataclasses.replace(record, command=command)
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    shown = " ".join(result.stdout.split())
    for sentence in record.answers.sentences:
        assert " ".join(sentence.split()) in shown
        assert sentence.split(" (")[0] in page
    for part in ("RBF kernel", "linear model", "index.html", "study.json"):
        assert part in shown
    assert "Learning curves" in result.stderr


def test_json_stands_alone_on_stdout(run, tmp_path):
    result = run("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout, parse_constant=pytest.fail) == json.loads(
        (tmp_path / "out" / "study.json").read_text()
    )


def test_interrupted_with_something_finished(run, tmp_path, record):
    result = run(record=dataclasses.replace(record, interrupted=True))
    assert result.exit_code == 130
    assert (tmp_path / "out" / "report" / "index.html").exists()
    assert "finished results were written" in result.stderr


def test_interrupted_before_anything_was_finished(run, tmp_path):
    result = run(stop=KeyboardInterrupt())
    assert result.exit_code == 130
    assert "Traceback" not in result.output
    assert not (tmp_path / "out" / "study.json").exists()


def test_options_of_the_data_reach_it(run, tmp_path):
    run("--target", "petal width (cm)", "--task", "regression", "--drop-column", "target", "--max-rows", "50")
    data = run.seen[0]
    assert (data.target, data.task, len(data.x), data.x.shape[1]) == ("petal width (cm)", "regression", 50, 3)
    assert StudyRecord.load(tmp_path / "out" / "study.json").command == (
        "lemmata study iris --target 'petal width (cm)' --task regression --drop-column target --max-rows 50"
    )


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "lemmata study iris"),
        ({"time_limit": 100.0, "seed": 0}, "lemmata study iris --time-limit 100"),
        ({"error": "0.25", "quick": True}, "lemmata study iris --error 0.25 --quick"),
        ({"keep": ("a", "b c"), "cost": 2.5}, "lemmata study iris --cost 2.5 --keep a --keep 'b c'"),
    ],
)
def test_the_command_leaves_out_what_is_the_default(options, command):
    assert StudyOptions(**options).command("iris") == command


def test_the_help_lists_every_option_once():
    shown = CliRunner().invoke(app, ["study", "--help"], terminal_width=300).stdout
    for field in dataclasses.fields(StudyOptions):
        flag = "--" + field.name.replace("_", "-")
        assert len(re.findall(rf"(?m)^\W*{flag} ", shown)) == 1, flag


def test_the_page_is_made_again_and_two_studies_are_compared(run, tmp_path, record):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_text(record.to_json())
    for count in (1, 2):
        out = tmp_path / f"page{count}"
        result = CliRunner().invoke(app, ["report", *map(str, paths[:count]), "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert "RBF kernel" in (out / "index.html").read_text()
    for words, said in (
        ([str(tmp_path / "none.json")], "cannot be read"),
        ([*map(str, paths), "c"], "two result files to compare"),
    ):
        result = CliRunner().invoke(app, ["report", *words, "--out", str(tmp_path / "no")])
        assert result.exit_code == 2
        assert said in result.stderr
        assert not (tmp_path / "no").exists()


def test_a_study_in_python(tmp_path):
    found = lemmata.study("iris", models="linear", quick=True, keep="petal width (cm)")
    assert found.answer.splitlines() == found.record.answers.sentences
    assert set(found.curves["kind"]) == {"measured", "expected"}
    assert lemmata.Study.load(found.save(tmp_path / "s.json")) == found
    assert found.report(tmp_path).name == "index.html"
    assert "linear model" in found._repr_html_()
    assert found.plot().to_dict()
    with pytest.raises(lemmata.errors.SettingError, match="did you mean 'models'"):
        lemmata.study("iris", model_s="linear")


def test_json_is_strict():
    assert json.loads(strict_json({"a": [float("inf"), 1], 2: (float("nan"), {"b": None})})) == {
        "a": [None, 1],
        "2": [None, {"b": None}],
    }


def test_characters_that_utf_8_lacks_are_escaped_in_files(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("old")
    write_text(path, "\ud800")
    assert path.read_text() == "\\ud800\n"
    assert [place.name for place in tmp_path.iterdir()] == ["study.json"]


def test_progress_in_a_log_is_a_line_a_stage_and_one_now_and_then(capsys):
    times = iter([0.0, 0.0, 1.0, 12.0, 13.0])
    with StageProgress(Console(force_terminal=False, width=80), clock=lambda: next(times)) as progress:
        progress("first", 0, 4)
        progress("first", 1, 4)
        progress("first", 2, 4)
        progress("second", 0, 1)
    lines = [line.split("] ")[1] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["first", "first 50 %", "second"]


def test_progress_in_a_terminal_completes_its_stages(capsys):
    with StageProgress(Console(force_terminal=True, width=80)) as progress:
        progress("first", 1, 4)
        progress("second [x]", 1, 1)
    shown = capsys.readouterr().out
    assert "second [x]" in shown
    assert shown.count("100%") >= 2


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).stdout == f"lemmata {lemmata.__version__}\n"
    result = CliRunner().invoke(app, [])
    assert "study" in result.output
    assert result.exit_code in (0, 2)
    assert CliRunner().invoke(app, ["study"]).exit_code == 2


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from lemmata.interfaces.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'numpy', 'polars', 'altair', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_installed_command_refuses_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from lemmata.interfaces.cli import main; main()", "study", "digit"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean digits?" in done.stderr
    assert "Traceback" not in done.stderr
