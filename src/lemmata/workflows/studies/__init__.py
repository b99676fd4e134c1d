"""Floor 7: the main job. A table in, a record of the study out."""

from typing import Any

from ._bundled import Bundled as Bundled
from ._data import Dataset as Dataset
from ._data import load_dataset as load_dataset
from ._models import check_models as check_models
from ._result import Record as Record
from ._run import question as question
from ._run import run_study as run_study
from ._signal import Signal as Signal
from ._signal import signal as signal
from ._tables import read_table as read_table


def __getattr__(name: str) -> Any:
    """`run_in_context`, which imports networks and their file format when it is first asked for."""
    if name == "run_in_context":
        from ._in_context import run_in_context

        return run_in_context
    raise AttributeError(f"module 'lemmata.workflows.studies' has no attribute {name!r}")
