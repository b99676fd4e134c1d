"""Examine a trained model and its rows, and return a record of theoretical predictions and their measured values."""

from lemmata.signatures import shows_public as _shows_public
from lemmata.workflows.records.examinations import ExaminationRecord as ExaminationRecord

from ._findings import Sign as Sign
from ._findings import signs as signs
from ._gauges import gauges_of as gauges_of
from ._gauges import posable as posable
from ._load import load_trained as load_trained
from ._pipelines import as_examined as as_examined
from ._pipelines import as_last_step_reads as as_last_step_reads
from ._pipelines import dense as dense
from ._required import check_required as check_required
from ._required import read_required as read_required
from ._row_names import RowNames as RowNames
from ._row_names import columns_after as columns_after
from ._row_names import columns_in_frame as columns_in_frame
from ._row_names import names_in_frame as names_in_frame
from ._row_names import naming_rows as naming_rows
from ._row_table import row_table as row_table
from ._run import run_examination as run_examination

_shows_public(__name__)
