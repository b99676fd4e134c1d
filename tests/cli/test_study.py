"""What the command writes, prints and returns; the computation itself is replaced by a short record."""

import json
import subprocess
import sys

import jax
import pytest
from rich.console import Console
from typer.testing import CliRunner

import lemmata
from lemmata.cli import _console, app
from lemmata.cli._files import strict_json, write_text
from lemmata.cli._progress import StageProgress

RECORD = {
    "lemmata": "0.1.0", "seed": 3, "seconds": 1.0, "data": {"name": "iris", "baseline_error": float("nan")},
    "architectures": [{"name": "rbf", "title": "Gaussian (RBF) kernel", "curve": [
        {"n": 20, "predicted": 0.5, "lower": 0.4, "upper": 0.6, "measured": 0.52, "measured_se": 0.01},
        {"n": 40, "predicted": 0.31234, "lower": 0.3, "upper": 0.4, "measured": 0.32, "measured_se": 0.01}],
        "spectrum": {"condition": 1.5e9},
        "samples": {"theory": {"n": 300, "lower": 250, "upper": 380, "extrapolates": True}}}],
    "answers": {"error": 0.1, "best": "rbf", "sentences": ["The [bold]RBF[/bold] kernel needs 300 rows."]},
    "notes": ["ran out of time before training"],
}  # fmt: skip


@pytest.fixture
def run(monkeypatch, tmp_path):
    def start(*options, record=RECORD, stop=None):
        def run_study(dataset, *, kernels, error, time_limit, seed, progress):
            start.seen = {
                "dataset": dataset,
                "kernels": kernels,
                "error": error,
                "time_limit": time_limit,
                "seed": seed,
            }
            progress("Spectra", 1, 2)
            if stop:
                raise stop
            return json.loads(json.dumps(record))

        monkeypatch.setattr("lemmata.studies.run_study", run_study, raising=False)
        return CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path / "out"), *options])

    return start


def test_the_files_and_the_summary(run, tmp_path, monkeypatch):
    monkeypatch.setattr(_console.out, "width", 120)  # a test worker may have set another
    result = run("--kernels", "rbf, linear", "--error", "0.1", "--time-limit", "9", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert {**run.seen, "dataset": None} == {
        "dataset": None,
        "kernels": ["rbf", "linear"],
        "error": 0.1,
        "time_limit": 9.0,
        "seed": 3,
    }
    assert jax.config.jax_enable_x64
    written = json.loads((tmp_path / "out" / "study.json").read_text(), parse_constant=pytest.fail)
    assert written["command"] == "lemmata study iris --kernels 'rbf, linear' --error 0.1 --time-limit 9 --seed 3"
    assert written["data"]["baseline_error"] is None
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "The [bold]RBF[/bold] kernel" in page
    shown = " ".join(result.stdout.split())
    for part in (
        "The [bold]RBF[/bold] kernel needs 300 rows.",
        "300 (250 to 380)*",
        "0.312",
        "1.50 × 10⁹",
        "Note: ran out of time",
        "index.html",
        "study.json",
    ):
        assert part in shown
    assert "Spectra" in result.stderr
    assert "standardised every input column" in result.stderr


def test_json_stands_alone_on_stdout(run, tmp_path):
    result = run("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((tmp_path / "out" / "study.json").read_text())


def test_interrupted_with_something_finished(run, tmp_path):
    result = run(record={**RECORD, "interrupted": True})
    assert result.exit_code == 130
    assert (tmp_path / "out" / "report" / "index.html").exists()
    assert "what was finished is written" in result.stderr


def test_interrupted_before_anything_was_finished(run, tmp_path):
    result = run(stop=KeyboardInterrupt())
    assert result.exit_code == 130
    assert "Traceback" not in result.output
    assert not (tmp_path / "out" / "study.json").exists()


def test_options_of_the_data_reach_it(run, tmp_path):
    run("--target", "petal width (cm)", "--task", "regression", "--drop-column", "target", "--max-rows", "50")
    data = run.seen["dataset"]
    assert (data.target, data.task, len(data.x), data.x.shape[1]) == ("petal width (cm)", "regression", 50, 3)
    command = json.loads((tmp_path / "out" / "study.json").read_text())["command"]
    assert command == (
        "lemmata study iris --target 'petal width (cm)' --task regression --drop-column target --max-rows 50"
    )


def test_the_command_leaves_out_what_is_the_default(run, tmp_path):
    for options, command in (
        ([], "lemmata study iris"),
        (["--time-limit", "100", "--seed", "0"], "lemmata study iris --time-limit 100"),
        (["--error", "0.25"], "lemmata study iris --error 0.25"),
    ):
        run(*options)
        assert json.loads((tmp_path / "out" / "study.json").read_text())["command"] == command


def test_a_singular_matrix_and_the_units_of_the_target_are_told(run):
    record = json.loads(json.dumps(RECORD | {"data": {}}))
    record["data"] = {"name": "t", "task": "regression", "target": "price", "used_rows": 50, "y_scale": [30.0]}
    record["architectures"][0]["spectrum"] = {"condition": float("inf"), "rank": 40}
    shown = " ".join(run(record=record).stdout.split())
    assert "∞ marks a singular Gram matrix" in shown
    assert "0.32 ∞" in shown.replace("0.320", "0.32")
    assert "a root mean squared error of 9.49 in the units of 'price': √0.1 × 30" in shown


def test_the_help_says_in_which_units_an_error_is():
    shown = " ".join(CliRunner().invoke(app, ["study", "--help"], terminal_width=400).stdout.split())
    assert "the target is scaled to variance 1" in " ".join(shown.replace("│", " ").split())


def test_json_is_strict():
    assert json.loads(strict_json({"a": [float("inf"), 1], 2: (float("nan"), {"b": None})})) == {
        "a": [None, 1],
        "2": [None, {"b": None}],
    }


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
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
        "import sys; from lemmata.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'numpy', 'polars', 'altair', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_installed_command_refuses_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from lemmata.cli import main; main()", "study", "digit"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean digits?" in done.stderr
    assert "Traceback" not in done.stderr
