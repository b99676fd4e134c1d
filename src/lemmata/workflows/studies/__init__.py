"""Study a table and return a record of the results."""

from typing import Any

from lemmata.bundled import SETS as SETS
from lemmata.bundled import Bundled as Bundled
from lemmata.signatures import shows_public as _shows_public
from lemmata.workflows.records.studies import StudyRecord as StudyRecord

from ._archives import read_arrays as read_arrays
from ._asking import question as question
from ._columns import encode_targets as encode_targets
from ._columns import listing as listing
from ._columns import plain_column as plain_column
from ._data import Dataset as Dataset
from ._data import load_dataset as load_dataset
from ._dates import with_dates as with_dates
from ._final import FinalModel as FinalModel
from ._final import final_model as final_model
from ._final import named_model as named_model
from ._memory import Table as Table
from ._models import check_models as check_models
from ._named_columns import named_target as named_target
from ._roles import assign_roles as assign_roles
from ._roles import target_numbers as target_numbers
from ._run import run_study as run_study
from ._signal import Signal as Signal
from ._signal import signal as signal
from ._tables import Reading as Reading
from ._tables import read_table as read_table


def __getattr__(name: str) -> Any:
    """Return `run_in_context`. Its module, which imports networks and their file format, is imported at first use."""
    if name == "run_in_context":
        from ._in_context import run_in_context

        return run_in_context
    raise AttributeError(f"module 'lemmata.workflows.studies' has no attribute {name!r}")


_shows_public(__name__)
