"""Contexts that set the number of threads: one for many small problems, and all for a few large problems."""

import contextlib
import os
import sys
from collections.abc import Iterator

from threadpoolctl import threadpool_limits


def one_blas_thread() -> contextlib.AbstractContextManager:
    """Return a context in which BLAS and LAPACK use one thread.

    Two BLAS threads on busy cores wait for each other. When other programs ran on the machine, the eigendecomposition
    of a matrix of 1800 rows was up to thirty times slower with two threads than with one. On an idle machine, two
    threads were less than twice as fast as one.
    """
    import scipy.linalg  # noqa: F401, loads the BLAS that JAX calls, so that its threads can be limited; slow to import

    return threadpool_limits(1, user_api="blas")


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let PyTorch use one thread, if PyTorch is loaded, and restore its number of threads at the end.

    After each operation on two threads, one thread of PyTorch waits actively for the next operation, and so disturbs
    SciPy. Gradient descent on a network with 10,000 parameters on 300 rows was three times slower with two threads.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def all_blas_threads() -> contextlib.AbstractContextManager:
    """Return a context in which BLAS and LAPACK use OMP_NUM_THREADS threads.

    If this environment variable is not a positive whole number, BLAS and LAPACK use one thread for each core. Use this
    context inside `one_blas_thread` for products of matrices with thousands of rows.
    """
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return threadpool_limits(int(stated) if stated.isdigit() and int(stated) else os.cpu_count(), user_api="blas")
