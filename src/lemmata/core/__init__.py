"""Numerics, randomness and typing that every other room stands on."""

from ._arrays import check_gram as check_gram
from ._arrays import check_numbers as check_numbers
from ._arrays import known as known
from ._float64 import float64_enabled as float64_enabled
from ._float64 import require_float64 as require_float64
from ._given import array_argument as array_argument
from ._given import array_of as array_of
from ._given import missing_in as missing_in
from ._given import numbers_of as numbers_of
from ._given import refusing_in_one_line as refusing_in_one_line
from ._given import single_of as single_of
from ._memory import MemoryPlan as MemoryPlan
from ._memory import available_bytes as available_bytes
from ._randomness import key_from as key_from
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
from ._workers import check_executor as check_executor
from ._workers import completed as completed
