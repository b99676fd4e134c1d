"""`lemmata model` with what is known of a training: checkpoints, a claimed privacy, the steps that should give it."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.workflows.examinations import ExaminationRecord, gauges_of
from tests.interfaces.cli import model_files

OWN = {
    "claimed_privacy_bounds_the_attack", "claim_covers_its_steps", "later_error_from_memorising_checkpoint",
    "loss_on_the_law_of_checkpoints",
}  # fmt: skip
PRIVATE = '\nprivacy = {"sampling": 1.0, "noise": 4.0, "steps": 20}\n'


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = model_files.write(tmp_path_factory.mktemp("training"))
    weights = load_file(folder / "net.safetensors")
    for place in range(1, 6):
        share = 1 - 0.8**place  # on the way from 0
        save_file({name: share * part for name, part in weights.items()}, folder / f"step{place}.safetensors")
    save_file({"w": np.zeros((4, 2)), "b": np.zeros(3)}, folder / "narrow.safetensors")
    save_file({"weights": weights["w"], "b": weights["b"]}, folder / "renamed.safetensors")
    (folder / "private.py").write_text(model_files.PROGRAM + PRIVATE)
    (folder / "vague.py").write_text(model_files.PROGRAM + '\nprivacy = {"noise": 4.0}\n')
    (folder / "none.py").write_text(model_files.PROGRAM + '\nprivacy = {"sampling": 1, "noise": 0, "steps": 20}\n')
    return folder


@pytest.fixture
def run(files, tmp_path, monkeypatch):
    own = lambda trained: [claim for claim in gauges_of(trained) if claim.name.split(".")[-1] in OWN]
    monkeypatch.setattr("lemmata.workflows.examinations._run.gauges_of", own)

    def start(*arguments, net="net.py", held=True):
        options = ["--weights", files / "net.safetensors", *(["--held", files / "held.csv"] if held else [])]
        words = [files / net, files / "train.csv", *options, *arguments, "--out", tmp_path]
        return CliRunner().invoke(app, ["model", *map(str, words)])

    return start


def record(tmp_path):
    return ExaminationRecord.load(tmp_path / "model.json")


def test_what_checkpoints_and_a_claim_unlock_stands_on_the_page(run, files, tmp_path):
    checkpoints = [word for place in range(1, 6) for word in ("--checkpoint", files / f"step{place}.safetensors")]
    result = run(*checkpoints, "--epsilon", "1.5", "--delta", "1e-5", net="private.py")
    assert result.exit_code == 0, result.output
    found = record(tmp_path)
    law, claim = found.gauge("loss_on_the_law_of_checkpoints"), found.gauge("claimed_privacy_bounds_the_attack")
    assert law.status in ("agrees", "disagrees"), law.reason
    assert law.measured is not None
    assert claim.status == "agrees", claim.reason
    assert (claim.predicted.value, claim.measured.value < 1.5) == (1.5, True)
    steps = found.gauge("claim_covers_its_steps")
    assert steps.status == "disagrees", "twenty steps of noise 4 spend more than 1.5"
    assert any("do not give the claimed privacy" in finding.text for finding in found.findings)
    page = (tmp_path / "model" / "index.html").read_text()
    for own in (law, claim, steps):
        assert own.title in page
    assert "separated by chance alone" in page
    assert found.gauge("later_error_from_memorising_checkpoint").title in page
    assert found.command.count("--checkpoint") == 5
    assert "--epsilon 1.5" in found.command


def test_without_them_the_page_says_what_is_missing(run, tmp_path):
    assert run().exit_code == 0
    found = record(tmp_path)
    reasons = {own.name.split(".")[-1]: own.reason for own in found.gauges}
    assert reasons.keys() == OWN
    assert all(own.status == "inapplicable" for own in found.gauges)
    assert reasons["loss_on_the_law_of_checkpoints"] == "checkpoints = 0, required >= 4"
    assert (
        reasons["claimed_privacy_bounds_the_attack"]
        == "not true here: a differential privacy of the training is claimed"
    )
    page = (tmp_path / "model" / "index.html").read_text()
    assert "a differential privacy of the training is claimed" in page


def test_a_claim_without_held_rows_is_not_scored(run, tmp_path):
    assert run("--epsilon", "2", held=False).exit_code == 0
    own = record(tmp_path).gauge("claimed_privacy_bounds_the_attack")
    assert (own.status, own.reason) == ("unscored", "nothing was measured, because there are no held-out rows")


BAD = {
    "shape": (("--checkpoint", "narrow.safetensors"), "narrow.safetensors does not fit found: w has shape (4, 2)"),
    "name": (("--checkpoint", "renamed.safetensors"), "renamed.safetensors does not fit found: w is missing; weights"),
    "absent": (
        ("--checkpoint", "never.safetensors"),
        "never.safetensors cannot be read found: No such file or directory",
    ),
    "pickle": (("--checkpoint", "step.pt"), "found: step.pt rule: a safetensors file"),
    "zero": (("--epsilon", "0"), "--epsilon is out of bounds found: 0.0 rule: a finite number above 0"),
    "negative": (("--epsilon", "-1"), "--epsilon is out of bounds found: -1.0"),
    "infinite": (("--epsilon", "inf"), "--epsilon is out of bounds found: inf"),
    "one": (
        ("--epsilon", "1", "--delta", "1"),
        "--delta is out of bounds found: 1.0 rule: a number that is at least 0 and below 1",
    ),
    "below": (("--epsilon", "1", "--delta", "-0.1"), "--delta is out of bounds found: -0.1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_a_line(run, files, tmp_path, case):
    arguments, said = BAD[case]
    own = [files / word if word.endswith((".safetensors", ".pt")) else word for word in arguments]
    result = run(*own)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split()), result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(("net", "said"), [
    ("vague.py", "steps of a private training found: ['noise'] rule: a mapping with the keys sampling, noise, steps"),
    ("none.py", "noise of a private training found: 0 rule: a finite number above 0"),
])  # fmt: skip
def test_steps_that_a_program_states_badly(run, net, said):
    result = run(net=net)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split()), result.output
