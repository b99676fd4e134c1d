"""What the command sets before JAX starts."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from lemmata.interfaces.cli import solve_in_turn

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
