"""One BLAS thread for many small problems, and all BLAS threads for a few large ones."""

import contextlib
import os

from threadpoolctl import threadpool_limits


def one_blas_thread() -> contextlib.AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread.

    Two BLAS threads on busy cores wait for each other. With other work on the machine, an eigensystem of 1800 rows was
    up to thirty times slower with two threads than with one. On an idle machine, it was never twice as fast.
    """
    import scipy.linalg  # noqa: F401, loads the BLAS that JAX calls, so that it can be limited; slow to import

    return threadpool_limits(1, user_api="blas")


def all_blas_threads() -> contextlib.AbstractContextManager:
    """A context in which BLAS and LAPACK use OMP_NUM_THREADS threads, or one thread for each core if it is not set.

    Use it inside `one_blas_thread` for products of matrices with thousands of rows.
    """
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return threadpool_limits(int(stated) if stated.isdigit() and int(stated) else os.cpu_count(), user_api="blas")
