"""Plans of memory against the peak of resident memory, for each kind of kernel, of network and of solver."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SLACK = 4 * 2**20
"""Bytes: whole pages, objects of Python, and what the system's allocator keeps."""
JOBS = {"plain": 12, "networks": 5, "solvers": 5}


@pytest.mark.seconds(40)
@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of memory")
@pytest.mark.parametrize("group", JOBS)
def test_what_is_planned_is_not_passed(group):
    command = [sys.executable, "-W", "ignore", "-m", "tests.kernels.plans", group]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == JOBS[group]
    for name, planned, measured in found:
        assert measured > 2**20, f"{name}: nothing was measured"
        assert measured <= planned + SLACK, f"{name}: {planned} bytes planned, {measured} measured"
