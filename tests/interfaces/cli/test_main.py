"""What the command sets before JAX starts."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from lemmata.interfaces.cli import solve_in_turn

DEFECT = """
import sys
import lemmata.engine.catalogue as catalogue
from lemmata.interfaces.cli import main
def fail(*given, **more):
    raise {error}
for name in dir(catalogue):
    if callable(getattr(catalogue, name)):
        setattr(catalogue, name, fail)
sys.argv = ["lemmata", *{words}]
main()
"""
THREE_SEEDS = """
import sys
from lemmata.interfaces.cli import main
codes, given = [], sys.argv[1:]
for seed in range(3):
    sys.argv = ["lemmata", *given, str(seed)]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
print(*codes)
"""
_FLAG = "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        ("0.10.2", "", _FLAG),
        ("0.10.0", "--xla_dump_to=here", f"--xla_dump_to=here {_FLAG}"),
        ("0.10.2", "--xla_cpu_scheduler_type=other", "--xla_cpu_scheduler_type=other"),
        ("0.10.2", "flags.txt", "flags.txt"),
        ("0.9.2", "", ""),
        ("0.11.0", "--xla_dump_to=here", "--xla_dump_to=here"),
    ],
)
def test_only_the_release_that_waits_for_itself_solves_in_turn(monkeypatch, version, before, after):
    monkeypatch.setenv("XLA_FLAGS", before)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    solve_in_turn()
    assert os.environ["XLA_FLAGS"] == after


def test_a_claim_with_two_batches_of_systems_is_judged_in_this_process(tmp_path):
    """With three seeds, one after the other: without the flag it may wait for ever."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    given = ["verify", "regression.odd_even.effective_kernel", "--ledger", str(tmp_path / "l.sqlite"), "--seed"]
    done = subprocess.run(
        [sys.executable, "-c", THREE_SEEDS, *given], env=environment, timeout=600, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "0 0 0", done.stderr


@pytest.mark.parametrize("words", [["list", "descent"], ["show", "hoeffding_held_out"], ["map", "--out", "{}"]])
@pytest.mark.parametrize("error", ["ZeroDivisionError('by the rows')", "AttributeError()", "KeyError('a\\x1bb')"])
def test_a_defect_is_told_in_the_house_s_form_and_never_has_the_exit_code_of_a_refuted_claim(tmp_path, error, words):
    words = [word.format(tmp_path / "out") for word in words]
    program = DEFECT.format(error=error, words=words)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
    assert "because of a bug in lemmata" in done.stderr
    assert f"{error.partition('(')[0]}: " in done.stderr
    assert "LEMMATA_TRACEBACK=1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_a_defect_is_printed_whole_if_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("LEMMATA_TRACEBACK", "1")
    program = DEFECT.format(error="ZeroDivisionError()", words=["list", "descent"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 4
    assert "Traceback" in done.stderr
