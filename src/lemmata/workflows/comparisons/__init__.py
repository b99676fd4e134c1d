"""Which way of mixing a sequence fits a user's rows. Sequences in, a record of the comparison out."""

from ._load import load_sequences as load_sequences
from ._record import CostPoint as CostPoint
from ._record import FamilyResult as FamilyResult
from ._record import Record as Record
from ._run import run_comparison as run_comparison
from ._sequences import Sequences as Sequences
from ._tasks import TASKS as TASKS
