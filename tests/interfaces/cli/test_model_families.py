"""`lemmata model` with corrected labels, models of other sizes and a stated scale of the inputs."""

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.workflows.examinations import ExaminationRecord, gauges_of
from tests.interfaces.cli import model_files

OWN = {"wrong_labels_come_first", "share_of_wrong_labels", "loss_on_the_law_of_sizes", "attacks_on_smoothed_model"}
SIZES = """
def sizes():
    return [(lambda own, x: x[:, : len(own["w"])] @ own["w"] + own["b"], {"w": jnp.zeros((d, 3)), "b": jnp.zeros(3)})
            for d in (1, 2, 3)]
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = model_files.write(tmp_path_factory.mktemp("families"))
    (x, y), _ = model_files.rows()
    wrong = np.where(np.arange(len(y)) % 20 == 0, (y + 1) % 3, y)
    model_files.table(x, wrong, folder / "doubted.csv", right=y)
    model_files.table(x, wrong, folder / "hole.csv", right=[None, *y[1:].tolist()])
    model_files.table(x, wrong, folder / "foreign.csv", right=[7, *y[1:].tolist()])
    pl.DataFrame({"y": y}).write_csv(folder / "right.csv")
    pl.DataFrame({"y": y[:-1]}).write_csv(folder / "short.csv")
    pl.DataFrame({"a": y, "b": y}).write_csv(folder / "two.csv")
    np.savez(folder / "doubted.npz", x=x, y=wrong, right=y)
    weights = load_file(folder / "net.safetensors")
    for d in (1, 2, 3):
        save_file({"w": np.ascontiguousarray(weights["w"][:d]), "b": weights["b"]}, folder / f"size{d}.safetensors")
    (folder / "sizes.py").write_text(model_files.PROGRAM + SIZES)
    (folder / "nosizes.py").write_text(model_files.PROGRAM + "\nsizes = 3\n")
    (folder / "raising.py").write_text(model_files.PROGRAM + "\ndef sizes():\n    raise ValueError('none here')\n")
    (folder / "words.py").write_text(model_files.PROGRAM + "\nscale = 'pixels'\n")
    (folder / "negative.py").write_text(model_files.PROGRAM + "\nscale = -1.0\n")
    (folder / "scaled.py").write_text(model_files.PROGRAM + "\nscale = 50.0\n")
    return folder


@pytest.fixture
def run(files, tmp_path, monkeypatch):
    own = lambda trained: [claim for claim in gauges_of(trained) if claim.name.split(".")[-1] in OWN]
    monkeypatch.setattr("lemmata.workflows.examinations._run.gauges_of", own)

    def start(*arguments, net="net.py", data="doubted.csv"):
        options = ["--weights", files / "net.safetensors", "--held", files / "held.csv"]
        words = [files / net, files / data, *options, *arguments, "--out", tmp_path]
        return CliRunner().invoke(app, ["model", *map(str, words)])

    return start


@pytest.mark.parametrize(("data", "given"), [
    ("doubted.csv", "right"), ("doubted.csv", "right.csv"), ("doubted.npz", "right"), ("doubted.npz", "right.csv"),
])  # fmt: skip
def test_corrected_labels_come_from_a_column_or_a_file(run, files, tmp_path, data, given):
    value = files / given if given.endswith(".csv") else given
    if data == "doubted.csv" and given == "right.csv":
        pl.read_csv(files / data).drop("right").write_csv(files / "plain.csv")
        data = "plain.csv"
    result = run("--corrected", value, data=data)
    assert result.exit_code == 0, result.output
    found = ExaminationRecord.load(tmp_path / "model.json")
    own = found.gauge("share_of_wrong_labels")
    assert own.measured is not None, own.reason
    assert abs(own.measured.value - 8 / 150) < 1e-9
    assert f"--corrected {value}" in found.command


BAD = {
    "nowhere": (
        ("--corrected", "nobody"),
        {"data": "train.csv"},
        "--corrected found: 'nobody', which is neither a column nor a file; columns are x0, x1",
    ),
    "target": (
        ("--corrected", "y"),
        {},
        "--corrected found: column 'y', which is also the target or the split rule: a separate column",
    ),
    "hole": (
        ("--corrected", "right"),
        {"data": "hole.csv"},
        "hole.csv, column 'right', row 2 (lines of hole.csv) found: a cell that is empty or NaN",
    ),
    "class": (("--corrected", "right"), {"data": "foreign.csv"}, "class 7 in corrected row 2 (lines of foreign.csv)"),
    "short": (
        ("--corrected", "short.csv"),
        {"data": "train.csv"},
        "short.csv found: 149 rows rule: 150 rows, one for each training row",
    ),
    "two": (
        ("--corrected", "two.csv"),
        {"data": "train.csv"},
        "two.csv found: columns a, b rule: a column 'y', or a single column",
    ),
    "no sizes": (("--size", "size1.safetensors"), {}, "--size found: no sizes() in"),
    "one size": (("--size", "size1.safetensors"), {"net": "sizes.py"}, "found: 1 files rule: 3 files, one for each"),
    "missing": (
        3 * ("--size", "never.safetensors"),
        {"net": "sizes.py"},
        "never.safetensors cannot be read found: No such file",
    ),
    "other shape": (3 * ("--size", "size1.safetensors"), {"net": "sizes.py"}, "size1.safetensors does not fit"),
    "no function": ((), {"net": "nosizes.py"}, "found: 3 rule: a function that returns models"),
    "raising": ((), {"net": "raising.py"}, "fails found: ValueError: none here"),
    "words": ((), {"net": "words.py"}, "found: 'pixels' rule: a number, the largest absolute value of an input"),
    "negative": ((), {"net": "negative.py", "data": "train.csv"}, "scale found: -1 rule: a finite number above 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_a_line(run, files, tmp_path, case):
    arguments, options, said = BAD[case]
    own = [files / word if word.endswith((".safetensors", ".csv")) else word for word in arguments]
    result = run(*own, **options)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split()), result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "model.json").exists()


def test_models_of_three_other_sizes_are_too_few_and_it_is_said(run, files, tmp_path):
    sizes = [word for d in (1, 2, 3) for word in ("--size", files / f"size{d}.safetensors")]
    assert run(*sizes, net="sizes.py", data="train.csv").exit_code == 0
    own = ExaminationRecord.load(tmp_path / "model.json").gauge("loss_on_the_law_of_sizes")
    assert (own.status, own.reason) == ("inapplicable", "smaller models of different sizes = 3, required >= 4")


def test_a_stated_scale_is_a_hypothesis(run, tmp_path):
    assert run(net="scaled.py", data="train.csv").exit_code == 0
    own = ExaminationRecord.load(tmp_path / "model.json").gauge("attacks_on_smoothed_model")
    stated = next(condition for condition in own.hypotheses if "stated scale" in condition.name)
    assert stated.holds
    assert 0.01 < stated.value < 1
