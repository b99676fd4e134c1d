"""Compare ways of mixing the tokens of a sequence on the user's rows, and return a record."""

from lemmata.signatures import shows_public as _shows_public
from lemmata.workflows.records.comparisons import ComparisonRecord as ComparisonRecord

from ._load import load_sequences as load_sequences
from ._run import run_comparison as run_comparison
from ._sequences import Sequences as Sequences
from ._tasks import TASKS as TASKS

_shows_public(__name__)
