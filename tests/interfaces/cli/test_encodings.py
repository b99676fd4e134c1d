"""Every text can be printed in every encoding, and names of files need not be UTF-8."""

import dataclasses
import io
import json
import os
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import find
from lemmata.engine.ledger import open_ledger, read_ledger
from lemmata.engine.refutations import Counterexample, refute
from lemmata.interfaces.cli import app, main
from lemmata.interfaces.python import Study
from lemmata.printable import json_for, open_streams
from lemmata.workflows.studies import load_dataset
from tests.engine.claims.test_declared import FILE, MEASURED, PREDICTED
from tests.interfaces.report.example import measured

NAME = os.fsdecode(b"caf\xe9.csv")
ENCODINGS = ("ascii", "cp1252", "latin-1", "utf-8")


@pytest.fixture(params=ENCODINGS)
def run(request, monkeypatch):
    """Runs the command line on a terminal of an encoding; gives exit code, standard output and standard error."""

    def start(*words):
        streams = [io.TextIOWrapper(io.BytesIO(), request.param) for _ in range(2)]
        monkeypatch.setattr(sys, "argv", ["lemmata", *words])
        with monkeypatch.context() as own:
            own.setattr(sys, "stdout", streams[0])
            own.setattr(sys, "stderr", streams[1])
            with pytest.raises(SystemExit) as ended:
                main()
        for stream in streams:
            stream.flush()
        return ended.value.code or 0, *(stream.buffer.getvalue().decode(request.param) for stream in streams)

    return start


@pytest.fixture
def run_study(monkeypatch):
    """The study finds a record with signs of all alphabets."""
    signs = measured(command="lemmata study é ≤ λ² … \udcff 😀")
    monkeypatch.setattr("lemmata.workflows.studies.run_study", lambda *_a, **_k: signs)
    monkeypatch.setattr("lemmata.interfaces.report._page.svg_text", lambda spec: None)
    return signs


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "softmax_training"], 0), (["show", "λ² ≤ \udcff 😀"], 2), (["report", f"nö-{NAME}"], 2),
        (["--help"], 0), (["study", "é≤\udcff.csv"], 2), (["list", "--subject", "Ω"], 2),
    ],
    ids=lambda value: "".join(filter(str.isascii, "-".join(value))) if isinstance(value, list) else value,
)  # fmt: skip
def test_a_command_prints_on_every_terminal(run, words, code):
    found, out, err = run(*words)
    assert found == code, err
    assert "Traceback" not in err
    assert (out if code == 0 else err).strip()


def test_json_stays_json_with_the_same_content(run, run_study, tmp_path):
    code, out, err = run("study", "iris", "--json", "--out", str(tmp_path))
    assert code == 0, err
    assert json.loads(out) == json.loads((tmp_path / "study.json").read_text("utf-8"))


def test_signs_are_spelled_and_other_characters_escaped(run, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(), "ascii") for _ in range(2)]
    with monkeypatch.context() as own:
        own.setattr(sys, "stdout", streams[0])
        own.setattr(sys, "stderr", streams[1])
        open_streams()
        print("n² ≤ λ µ a₁ – “x” → é ł 😀 \udcff")
    streams[0].flush()
    said = r"n^2 <= lambda mu a_1 - " + '"x"' + r" -> \xe9 \u0142 \U0001f600 \udcff" + "\n"
    assert streams[0].buffer.getvalue().decode("ascii") == said


def test_what_an_encoding_has_stays():
    assert json_for('"é ≤"', "utf-8") == '"é ≤"'
    assert json.loads(json_for('"é 😀"', "latin-1")) == "é 😀"


def test_a_stream_that_was_closed_gives_its_number_to_no_file(tmp_path):
    """A library that prints would write into the first file that is opened."""
    program = (
        "import os; from lemmata.printable import open_streams; open_streams()\n"
        f"file = open({str(tmp_path / 'a')!r}, 'w'); os.write(1, b'noise'); os.write(2, b'noise'); print('text')"
    )
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(shell, check=False, timeout=60).returncode == 0
    assert (tmp_path / "a").read_bytes() == b""


def table(folder):
    frame = pl.DataFrame({"a": [row % 7 for row in range(40)], "y": [row**0.5 for row in range(40)]})
    path = folder / NAME
    path.write_bytes(frame.write_csv().encode())
    return path


def test_a_table_whose_name_is_not_utf_8(tmp_path):
    data = load_dataset(str(table(tmp_path)), "y")
    assert (len(data.targets), data.name) == (40, NAME)
    parquet = tmp_path / os.fsdecode(b"\xff.parquet")
    with open(parquet, "wb") as file:
        pl.read_csv(table(tmp_path).read_bytes()).write_parquet(file)
    assert len(load_dataset(str(parquet), "y").targets) == 40


def test_results_whose_names_are_not_utf_8(tmp_path, run_study):
    folder = tmp_path / os.fsdecode(b"out\xff")
    done = CliRunner().invoke(app, ["study", str(table(tmp_path)), "--target", "y", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    assert os.listdir(os.fsencode(tmp_path)).count(b"out\xff") == 1
    assert Study.load(folder / "study.json").record.command.startswith("lemmata study")
    (folder / "report" / "index.html").read_bytes().decode()
    again = CliRunner().invoke(app, ["report", str(folder / "study.json"), "--out", str(folder / NAME)])
    assert again.exit_code == 0, again.output


def test_a_ledger_whose_name_is_not_utf_8(tmp_path):
    with open_ledger(tmp_path / NAME) as ledger:
        ledger.begin(f"lemmata verify {NAME}", 0)
        (row,) = ledger.query("SELECT command FROM runs")
    assert row["command"] == r"lemmata verify caf\udce9.csv"


def test_claims_in_a_file_whose_name_is_not_utf_8(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, ledger = tmp_path / os.fsdecode(b"own\xff.py"), tmp_path / os.fsdecode(b"l\xff.db")
    path.write_text(FILE.replace(PREDICTED, "return problem.x.max() - 10.0"))
    done = CliRunner().invoke(app, ["verify", path.name, "--budget", "64", "--ledger", str(ledger)])
    assert done.exit_code == 1, done.output
    with read_ledger(ledger) as kept:
        ((claim, status),) = kept.query("SELECT claim, status FROM verdicts")
    assert (claim, status) == (r"own\udcff.mean", "refuted")
    found = refute(find(str(path))[0], 0.1)
    assert isinstance(found, Counterexample), found


def test_what_a_claim_says_in_bytes_that_are_not_utf_8_is_kept(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(FILE.replace(MEASURED, r"raise ValueError('caf\udce9')"))
    done = CliRunner().invoke(app, ["verify", str(path), "--budget", "64", "--ledger", str(tmp_path / "l.db")])
    assert done.exit_code == 4, done.output
    with read_ledger(tmp_path / "l.db") as kept:
        ((reason,),) = kept.query("SELECT reason FROM verdicts")
    assert r"caf\udce9" in reason


def test_a_record_with_a_name_that_is_not_utf_8_is_read_as_it_was(tmp_path):
    record = dataclasses.replace(measured(), command=f"lemmata study {NAME}")
    assert Study.load(Study(record).save(tmp_path / "study.json")).record == record
