"""Compare ways of mixing a sequence on the user's rows: it takes sequences and returns a record."""

from lemmata.workflows.records.comparisons import ComparisonRecord as ComparisonRecord

from ._load import load_sequences as load_sequences
from ._run import run_comparison as run_comparison
from ._sequences import Sequences as Sequences
from ._tasks import TASKS as TASKS
