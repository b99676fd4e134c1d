"""Checks of arrays and settings, memory plans, random keys and parallel workers, for all other subpackages."""

from lemmata import answers as _answers
from lemmata import errors as _errors
from lemmata import files as _files
from lemmata import results as _results
from lemmata.signatures import shows_public as _shows_public

from ._arrays import check_gram as check_gram
from ._arrays import check_numbers as check_numbers
from ._arrays import known as known
from ._arrays import mirror as mirror
from ._calls import answer_of as answer_of
from ._children import started as started
from ._float64 import float64_enabled as float64_enabled
from ._float64 import require_float64 as require_float64
from ._given import array_argument as array_argument
from ._given import array_of as array_of
from ._given import missing_in as missing_in
from ._given import numbers_of as numbers_of
from ._given import plain_labels as plain_labels
from ._given import real_numbers as real_numbers
from ._given import refuse_text as refuse_text
from ._given import refusing_in_one_line as refusing_in_one_line
from ._given import single_of as single_of
from ._memory import MemoryPlan as MemoryPlan
from ._memory import available_bytes as available_bytes
from ._memory import release_freed as release_freed
from ._randomness import key_from as key_from
from ._reading import read_arguments as read_arguments
from ._result_plan import ResultPlan as ResultPlan
from ._result_plan import free_bytes as free_bytes
from ._settings import check_real as check_real
from ._settings import check_whole as check_whole
from ._settings import whole as whole
from ._shared_arrays import read_array as read_array
from ._shared_arrays import refusing_disk_errors as refusing_disk_errors
from ._shared_arrays import write_array as write_array
from ._threads import all_blas_threads as all_blas_threads
from ._threads import one_blas_thread as one_blas_thread
from ._threads import one_torch_thread as one_torch_thread
from ._workers import check_executor as check_executor
from ._workers import completed as completed

_shows_public(__name__)
for _module in (
    _answers,
    _errors,
    _files,
    _results,
):  # they run nothing when they are imported, or have no room for this line
    _shows_public(_module.__name__)
