"""The ledger: a user's file that stores every trial and every verdict, and stays valid after interruptions."""

from lemmata.signatures import shows_public as _shows_public

from ._carried import CarriedTrials as CarriedTrials
from ._compare import Change as Change
from ._compare import changes_in as changes_in
from ._compare import compare_runs as compare_runs
from ._file import FullDiskError as FullDiskError
from ._file import Ledger as Ledger
from ._file import default_path as default_path
from ._file import open_ledger as open_ledger
from ._file import read_ledger as read_ledger
from ._known import Known as Known
from ._known import evidence_of as evidence_of
from ._known import known_of as known_of
from ._known import prospects as prospects
from ._recorded import recorded_trials as recorded_trials
from ._recorded import replay as replay
from ._rows import numbers_of as numbers_of
from ._rows import reading as reading
from ._tolerant import TolerantTrials as TolerantTrials

_shows_public(__name__)
