"""Which way of mixing a sequence fits a user's rows. Sequences in, a record of the comparison out."""

from lemmata.workflows.records.comparisons import ComparisonRecord as ComparisonRecord

from ._load import load_sequences as load_sequences
from ._run import run_comparison as run_comparison
from ._sequences import Sequences as Sequences
from ._tasks import TASKS as TASKS
