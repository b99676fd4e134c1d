"""Every command goes through every fault. A run takes a few cells in turn; `pytest -m every tests/faults` takes all."""

import os

import pytest

from tests.faults.commands import COMMANDS, COSTS
from tests.faults.faults import FAULTS
from tests.faults.world import World

if not hasattr(os, "pidfd_open"):
    pytest.skip("a forked child is watched by its descriptor, which Linux alone has", allow_module_level=True)


def cells():
    """A case for each part of each cell that applies, with about what it costs."""
    for fault in FAULTS.values():
        for command in COMMANDS.values():
            if fault.spared(command):
                continue
            runs = 4 + (fault.most / 4 if fault.name == "killed" else min(fault.most, 6))
            cost = pytest.mark.seconds(COSTS.get(command.name, 1.0) * runs)
            for part in range(fault.parts):
                yield pytest.param(command.name, fault.name, part, marks=cost, id=f"{command.name}-{fault.name}-{part}")


@pytest.fixture(scope="module")
def world():
    with World() as found:
        yield found


@pytest.mark.parametrize(("command", "fault", "part"), list(cells()))
def test_a_command_stands_a_fault(world, command, fault, part):
    own = FAULTS[fault]
    attempts = list(own.attempts(world, COMMANDS[command], own.most, part))
    assert attempts, "nothing was tried"
    wrong = [f"{label}: {problem}" for label, problems in attempts for problem in problems]
    assert not wrong, "\n".join(wrong)
