"""Progress on a terminal: each stage has a bar, which is full when the next begins or when all is done."""

import io

import pytest
from rich.console import Console

from lemmata.interfaces.cli._progress import StageProgress


def bars(progress):
    return [(task.description, task.completed, task.total) for task in progress._bars.tasks]


def terminal():
    return StageProgress(Console(file=io.StringIO(), force_terminal=True, width=80))


@pytest.mark.parametrize("failed", [False, True])
def test_the_last_stage_is_complete_unless_the_computation_failed(failed):
    progress = terminal()
    try:
        with progress:
            progress("read", 0, 4)
            progress("read", 3, 4)
            assert bars(progress) == [("read", 3, 4)]
            progress("fit", 1, 8)
            assert bars(progress) == [("read", 4, 4), ("fit", 1, 8)]
            progress("fit", 9, 8)
            assert bars(progress)[1] == ("fit", 8, 8), "never more than all"
            progress("fit", 2, 8)
            if failed:
                raise ValueError("a failure")
    except ValueError:
        pass
    assert bars(progress) == [("read", 4, 4), ("fit", 2 if failed else 8, 8)]
    assert not progress._bars.live.is_started


@pytest.mark.parametrize("every", [10.0, 1.0])
def test_a_log_has_a_line_for_each_stage_and_one_after_so_many_seconds(every):
    now, log = [100.0], io.StringIO()
    console = Console(file=log, force_terminal=False, width=80)
    with StageProgress(console, every=every, clock=lambda: now[0]) as progress:
        for stage, done, later in (("read [a]", 0, 1), ("fit", 0, 9.9), ("fit", 1, 0.1), ("fit", 5, 0.0)):
            progress(stage, done, 4)
            now[0] += later
    lines = log.getvalue().splitlines()
    last = "[  11.0 s] fit 100 %" if every == 10.0 else "[  10.9 s] fit 25 %"
    assert lines == ["[   0.0 s] read [a]", "[   1.0 s] fit", last]
