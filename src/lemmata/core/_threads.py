"""Contexts that set the number of BLAS threads: one for many small problems, and all for a few large problems."""

import contextlib
import os

from threadpoolctl import threadpool_limits


def one_blas_thread() -> contextlib.AbstractContextManager:
    """Return a context in which BLAS and LAPACK use one thread.

    Two BLAS threads on busy cores wait for each other. When other programs ran on the machine, the eigendecomposition
    of a matrix of 1800 rows was up to thirty times slower with two threads than with one. On an idle machine, two
    threads were never twice as fast as one.
    """
    import scipy.linalg  # noqa: F401, loads the BLAS that JAX calls, so that its threads can be limited; slow to import

    return threadpool_limits(1, user_api="blas")


def all_blas_threads() -> contextlib.AbstractContextManager:
    """Return a context in which BLAS and LAPACK use OMP_NUM_THREADS threads.

    If this environment variable is not a positive whole number, BLAS and LAPACK use one thread for each core. Use this
    context inside `one_blas_thread` for products of matrices with thousands of rows.
    """
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return threadpool_limits(int(stated) if stated.isdigit() and int(stated) else os.cpu_count(), user_api="blas")
