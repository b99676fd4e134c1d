"""Floor 6: the main job. Data in, a record of the study out."""

from ._architectures import Architecture as Architecture
from ._architectures import architectures as architectures
from ._architectures import check_names as check_names
from ._data import Dataset as Dataset
from ._data import load_dataset as load_dataset
from ._in_context import run_in_context as run_in_context
from ._run import run_study as run_study
