"""One process of a shared product. It returns K(x, x) v, one block of rows at a time."""

import contextlib
import os
import pathlib
import signal
from multiprocessing.connection import Connection

import jax
import jax.numpy as jnp
import numpy as np

from ._operators import kernel_product


def serve(end: Connection, number: int) -> None:
    """Answer requests until the other end of the connection is closed.

    The first message contains whether float64 is on, the kernel, the points and the rows of a block. Each later message
    is a vector, or the number of the first row of a block. The answer to a row number is the block of the product that
    starts at this row, or the error.

    Args:
        end: the connection to the calling process.
        number: the number of this process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the calling process is interrupted too, and ends this one
    with contextlib.suppress(EOFError, OSError), _one_thread(number):
        try:
            float64, kernel, x, rows = end.recv()
        except (AttributeError, ImportError) as error:
            end.send(f"no kernel: {type(error).__name__}: {error}")
            return
        jax.config.update("jax_enable_x64", float64)
        points = v = jnp.asarray(x)
        while True:
            message = end.recv()
            if isinstance(message, np.ndarray):
                v = jnp.asarray(message)
                continue
            try:
                answer = np.asarray(kernel_product(kernel, points[message : message + rows], points, v, block=rows))
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            end.send(answer)


@contextlib.contextmanager
def _one_thread(number: int):
    """Give JAX one thread.

    JAX's pool has one thread for each core that is available when the pool starts. So the pool is started while only
    one core is available.

    Afterwards its threads may run on any core again, because other processes may use the core on which the pool was
    started.
    """
    if not hasattr(os, "sched_setaffinity"):
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(cores)[number % len(cores)]})
    jax.devices("cpu")
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # a thread that has ended meanwhile
            os.sched_setaffinity(int(task.name), cores)
    yield
