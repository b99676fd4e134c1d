"""Floor 7: the main job. A table in, a record of the study out."""

from ._data import Dataset as Dataset
from ._data import load_dataset as load_dataset
from ._in_context import run_in_context as run_in_context
from ._models import check_models as check_models
from ._result import Record as Record
from ._run import question as question
from ._run import run_study as run_study
from ._signal import Signal as Signal
from ._signal import signal as signal
