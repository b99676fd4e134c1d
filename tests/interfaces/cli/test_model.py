"""`lemmata model` as a stranger would try it: what it writes, prints and returns, and what it refuses in a line."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.workflows.examinations import ExaminationRecord
from tests.interfaces.cli import model_files

PROGRAM = model_files.PROGRAM
LAMBDA = '(lambda own, x: x @ own["w"] + own["b"])'


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return model_files.write(tmp_path_factory.mktemp("model"))


def program(files, name, text):
    (files / name).write_text(text)
    return files / name


@pytest.fixture
def run(files, tmp_path):
    def start(*arguments, net="net.py", data="train.csv"):
        return CliRunner().invoke(app, ["model", str(files / net), str(files / data), "--out", str(tmp_path),
                                        *map(str, arguments)])  # fmt: skip

    return start


def with_weights(files, *rest):
    return ("--weights", files / "net.safetensors", "--held", files / "held.csv", *rest)


def test_the_files_and_what_is_printed(run, files, tmp_path):
    result = run(*with_weights(files, "--require", "held.error<0.01", "--require", "largest_stable_step.measured>0.1"))
    assert result.exit_code == 1, result.output
    assert "Required held.error<0.01: held.error is" in result.stderr
    assert "largest_stable_step" not in result.stderr
    record = ExaminationRecord.load(tmp_path / "model.json")
    assert record.model.decay_from == "stated"
    assert record.command.startswith("lemmata model ")
    stopped, blind = record.notes
    assert "The weights imply a decay of" in stopped, "the program states another one"
    assert "looks for the trigger" in blind, "there are three classes: no gauge does"
    said = " ".join(result.stdout.split())
    assert f"{100 * record.held_error.value:.3g} %" in said
    assert "Largest stable learning rate" in said
    page = (tmp_path / "model" / "index.html").read_text()
    assert "Error on held-out rows" in page
    assert len(page.encode()) < 1_000_000
    again = CliRunner().invoke(app, ["report", str(tmp_path / "model.json"), "--out", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    elsewhere = page.replace(  # where the file of all rows does not stand beside the page
        '<a href="rows.csv">rows.csv</a> has all rows.',
        "In Python, all rows are in <code>.rows</code>; <code>lemmata model</code> writes them to rows.csv.",
    )
    assert elsewhere != page
    elsewhere = re.sub(r", &quot;rows\.csv&quot;: &quot;\w+&quot;", "", elsewhere)
    assert (tmp_path / "again" / "index.html").read_text() == elsewhere
    both = [str(tmp_path / "model.json")] * 2
    assert CliRunner().invoke(app, ["report", *both, "--out", str(tmp_path / "two")]).exit_code == 0
    assert (tmp_path / "two" / "index.html").read_text().count("Largest stable learning rate") == 1
    (tmp_path / "rows.csv").write_text("a,b\n")
    refused = CliRunner().invoke(app, ["report", both[0], str(tmp_path / "rows.csv"), "--out", str(tmp_path / "no")])
    assert refused.exit_code == 2
    assert "a record of a model, but rows.csv is a record of another kind" in refused.stderr


def test_json_alone_on_stdout_whatever_the_program_prints(run, files):
    program(files, "loud.py", 'print("loaded")\n' + PROGRAM.replace("def build():", 'def build():\n    print("built")'))
    result = run("--json", "--time-limit", "10", net="loud.py")
    assert result.exit_code == 0, result.output
    record = ExaminationRecord.from_json(result.stdout)
    assert record.notes[0].startswith("No check here looks for the trigger")
    assert (
        record.notes[1]
        == "No weights were given, so lemmata examined the model that build() returned, without changes."
    )
    assert json.loads(result.stdout)["schema"] == record.schema
    assert "built" in result.stderr


@pytest.fixture
def without_gauges(monkeypatch):
    """Examinations that end after the preflight."""
    monkeypatch.setattr("lemmata.workflows.examinations._run._gauges", lambda *arguments: None)


@pytest.mark.usefixtures("without_gauges")
def test_columns_of_held_rows_are_read_by_their_names(run, files, tmp_path):
    (x, y), held = model_files.rows()
    frame = {f"x{i}": held[0][:, i] for i in (3, 1, 0, 2)} | {"y": held[1]}
    np.savetxt(files / "moved.csv", np.column_stack([*frame.values()]), delimiter=",", header=",".join(frame),
               comments="")  # fmt: skip
    errors = []
    for name in ("held.csv", "moved.csv"):
        run("--weights", files / "net.safetensors", "--held", files / name, "--json")
        errors.append(ExaminationRecord.load(tmp_path / "model.json").held_error)
    assert errors[0] == errors[1]
    model_files.table(*(np.concatenate(pair) for pair in ((x, held[0]), (y, held[1]))), files / "both.csv",
                      part=["train"] * len(x) + ["Test"] * len(held[0]))  # fmt: skip
    run("--weights", files / "net.safetensors", "--split", "part", data="both.csv")
    assert ExaminationRecord.load(tmp_path / "model.json").held_error == errors[0]
    np.savez(files / "both.npz", x=x, y=y, x_held=held[0], y_held=held[1])
    run("--weights", files / "net.safetensors", data="both.npz")
    assert ExaminationRecord.load(tmp_path / "model.json").held_error == errors[0]


FAILING = {
    "batch": (
        LAMBDA.replace("x @", "(x - x.mean(0)) @"),
        "the output for a row does not depend on the other rows of its batch",
    ),
    "infinite": (LAMBDA.replace('own["b"]', 'own["b"] / 0'), "outputs are finite"),
    "order": ('(lambda own, x: (x @ own["w"] + own["b"])[:, jnp.array([1, 2, 0])])', "classes are in the order"),
}


@pytest.mark.usefixtures("without_gauges")
@pytest.mark.parametrize("case", FAILING)
def test_no_function_of_a_row_ends_with_3(run, files, tmp_path, case):
    text, said = FAILING[case]
    program(files, f"{case}.py", PROGRAM.replace(LAMBDA, text))
    result = run(*with_weights(files, "--require", "largest_stable_step.measured>0.1"), net=f"{case}.py")
    assert result.exit_code == 3, result.output
    assert f"because this condition does not hold: {said}" in " ".join(result.stdout.split())
    record = ExaminationRecord.load(tmp_path / "model.json")
    assert (record.held_error is None) == (case == "infinite")
    assert record.findings == []
    if case == "order":
        assert "labels=(1, 2, 0)" in " ".join(result.stdout.split())
        program(files, "named.py", (files / "order.py").read_text() + "\nlabels = (1, 2, 0)\n")
        assert run(*with_weights(files), net="named.py").exit_code == 0


def test_ctrl_c_keeps_what_was_finished(run, files, tmp_path, monkeypatch):
    from lemmata.workflows.examinations import _run

    real, done = _run.gauge, []

    def stop(claim, trained, seed):
        if done:
            raise KeyboardInterrupt
        done.append(claim.title)
        return real(claim, trained, seed)

    monkeypatch.setattr(_run, "gauge", stop)
    result = run(*with_weights(files))
    assert result.exit_code == 130, result.output
    assert "finished results were written" in result.stderr
    record = ExaminationRecord.load(tmp_path / "model.json")
    assert record.interrupted
    assert [own.title for own in record.gauges] == done
    assert "The examination was interrupted" in (tmp_path / "model" / "index.html").read_text()


PROGRAMS = {
    "x = 1": "defines no build()",
    "def build():\n    raise ValueError('no')": "found: ValueError: no",
    "def build():\n    import sys\n    sys.exit(3)": "found: SystemExit: 3",
    "this is no program": "found: SyntaxError: invalid syntax",
    "\0": "null bytes",
    "import no_such_module_anywhere": "No module named 'no_such_module_anywhere'",
    "def build(): pass": "found: an object of type NoneType",
    "def build(a): pass": "missing 1 required positional argument: 'a'",
    PROGRAM + "\nlabels = 5": "rule: the class of each output, in order",
    PROGRAM + "\ndecay = 'a'": "rule: a number",
    PROGRAM + "\ndecay = -1": "rule: a finite number, at least 0",
    PROGRAM + "\nfit = 3": "rule: a function fit(x, y, seed, start=None)",
    PROGRAM.replace(LAMBDA, '(lambda own, x: (x @ own["w"])[:, :2])'): "class 2 in row",
    PROGRAM.replace(LAMBDA, '(lambda own, x: x @ own["w"].T)'): "rule: rows that the model accepts; it raised ",
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_that_are_refused(run, files, text):
    program(files, "bad.py", text)
    result = run(net="bad.py")
    assert PROGRAMS[text] in result.stderr, result.stderr
    assert result.exit_code == 2
    assert "Traceback" not in result.output


FILES = {
    "net.pt": "as s; s.save_file(torch.load('net.pt', weights_only=True), 'net.safetensors')",
    "net.pkl": "safetensors.torch.save_file(module.state_dict(), 'net.safetensors')",
    "net.joblib": "lemmata.study_model(joblib.load('net.joblib'), x, y)",
    "net.msgpack": "own.weights((module, variables))",
    "absent.safetensors": "found: No such file",
    "garbage.safetensors": "cannot be read",
    "other.safetensors": "found: b is missing; c is unknown; e is unknown; 2 more",
}


@pytest.mark.parametrize("name", FILES)
def test_weights_that_are_refused(run, files, name):
    from safetensors.numpy import save_file

    (files / "garbage.safetensors").write_text("garbage")
    arrays = {"w": np.zeros((3, 4)), "c": np.zeros(3), "e": np.zeros(3), "f": np.zeros(1)}
    save_file(arrays, files / "other.safetensors")
    result = run("--weights", files / name)
    assert result.exit_code == 2
    assert FILES[name] in result.stderr


def column(**columns):
    return lambda files, x, y: model_files.table(x, y, files / "rows.csv", **columns)


N = model_files.N
TABLES = {
    "words": (column(x1=["a"] * N), [], "column 'x1'\n  found: words, for example 'a'"),
    "an empty cell": (
        column(x1=[1.0, None] + [1.0] * (N - 2)),
        [],
        "column 'x1', row 3 (lines of rows.csv)\n  found: a cell that is empty or NaN",
    ),
    "an empty target": (column(y=[None] + [1] * (N - 1)), [], "column 'y', row 2 (lines of rows.csv)"),
    "five classes": (column(y=np.arange(N) % 5), [], "class 3 in row 5 (lines of rows.csv)"),
    "another column": (column(z=np.ones(N)), [], "found: shape (5,) each"),
    "no target": (column(), ["--target", "price"], "rows.csv has no column 'price'\n  found: x0, x1, x2, x3, y"),
    "many columns": (
        column(y=np.ones(N), **{f"z{i:02}": np.ones(N) for i in range(20)}, price=np.ones(N)),
        ["--target", "cost"],
        "no column 'cost'\n  found: x0, x1, x2, x3, y, z00, z01, z02, z03, z04, ..., price",
    ),
    "no split": (column(), ["--split", "part"], "has no column 'part'"),
    "nobody held": (column(part=["train"] * N), ["--split", "part"], "found: 0 held-out rows of 150"),
    "unknown name": (column(), ["--require", "held.errror<1"], "one of held.error, train.error, score.covered"),
    "no number": (column(), ["--require", "held.error<1.2.3"], "a name, a sign and a number"),
    "no sign": (column(), ["--require", "held.error"], "a name, a sign and a number"),
    "both ways": (column(), ["--split", "y", "--held", "y.csv"], "--held with --split"),
    "too little time": (column(), ["--time-limit", "1"], "--time-limit is out of bounds"),
}


@pytest.mark.parametrize("case", TABLES)
def test_rows_and_options_that_are_refused(run, files, tmp_path, case):
    make, options, said = TABLES[case]
    make(files, *model_files.rows()[0])
    result = run("--weights", files / "net.safetensors", *options, data="rows.csv")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert not (tmp_path / "model.json").exists(), "nothing was computed before it was refused"


def test_a_file_that_memory_does_not_hold_is_refused(run, files, monkeypatch):
    monkeypatch.setattr("lemmata.workflows.examinations._rows.available_bytes", lambda: 4_000)
    result = run("--weights", files / "net.safetensors")
    assert result.exit_code == 2
    assert "too large to be read whole" in result.stderr


def test_records_that_are_none(files, tmp_path):
    record = tmp_path / "model.json"
    for text, said in (
        ("{}", "found: no schema"), ('{"gauges": 1, "schema": 2}', "is not a record of a model"),
        ("[", "is not a record"), ('{"gauges": [1, 2', "is not a record of a model"),
        ('{"gauges": [], "schema": 99}', "schema 99"),
    ):  # fmt: skip
        record.write_text(text)
        result = CliRunner().invoke(app, ["report", str(record), "--out", str(tmp_path / "r")])
        assert result.exit_code == 2, text
        assert said in result.stderr, text


@pytest.mark.usefixtures("without_gauges")
def test_dropout_in_training_mode_is_named(run, files, tmp_path):
    torch = pytest.importorskip("torch")
    layers = "torch.nn.Linear(4, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 3)"
    text = f"import torch\n\n\ndef build():\n    return torch.nn.Sequential({layers}).train()\n"
    program(files, "dropout.py", text)
    torch.manual_seed(0)
    result = run("--held", files / "held.csv", net="dropout.py")
    assert result.exit_code == 3, result.output
    assert "the same rows give the same outputs" in " ".join(result.stdout.split())
    assert "dropout" in " ".join(result.stdout.split())


@pytest.mark.parametrize(("option", "file"), [("--start", "net.pt"), ("--checkpoint", "absent.safetensors")])
def test_the_option_whose_file_is_refused_is_named(run, files, option, file):
    result = run(*with_weights(files), option, files / file)
    assert result.exit_code == 2
    assert result.stderr.count(option) == 1
    assert "--weights" not in result.stderr
