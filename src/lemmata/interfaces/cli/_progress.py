"""Show the progress of a long computation on stderr: bars in a terminal, one line for each stage in a log."""

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from lemmata.interruption import heed


class StageProgress:
    """A callable `(stage, done, total)` and context manager that shows the stages of one computation.

    If the console is not a terminal, it prints a line when a stage begins, and then a line every `every` seconds.

    Args:
        console: the console on which to show the progress.
        every: seconds between two lines in a log.
        clock: a function that returns the time in seconds.
    """

    def __init__(self, console: Console, every: float = 10.0, clock: Callable[[], float] = time.monotonic):
        self._console, self._every, self._clock = console, every, clock
        self._stage, self._start, self._last = "", clock(), 0.0
        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=console) if console.is_terminal else None
        self._task = None

    def __enter__(self) -> "StageProgress":
        """Start to show the progress."""
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show the last stage as complete, unless the computation failed, and then remove the display."""
        if self._bars:
            if kind is None:
                self._complete()
            self._bars.stop()

    def __call__(self, stage: str, done: float | int = 0, total: float | int = 1) -> None:
        """Show that `done` of `total` of the stage is finished. After Ctrl-C, the computation stops here."""
        heed()
        begins = stage != self._stage
        if self._bars:
            if begins:
                self._complete()
                self._task = self._bars.add_task(stage, total=total)
            if self._task is not None:
                self._bars.update(self._task, completed=min(done, total), total=total)
        else:
            now = self._clock()
            if begins or now - self._last >= self._every:
                self._last = now
                share = "" if begins or not total else f" {100 * min(done / total, 1):.0f} %"
                self._console.print(f"[{now - self._start:6.1f} s] {stage}{share}", markup=False, highlight=False)
        self._stage = stage

    def _complete(self) -> None:
        if self._bars and self._task is not None:
            total = next(task.total for task in self._bars.tasks if task.id == self._task)
            self._bars.update(self._task, completed=total)
