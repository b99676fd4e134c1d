"""A process that computes blocks of rows of a product K(x, x) v. Several processes share one product."""

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

    The first message contains whether float64 is on, the kernel K, the points x and the number of rows of a block. Each
    later message is a vector v, or the number of the first row of a block. A vector has no answer. The answer to a row
    number is the block of K(x, x) v that starts at this row, or the text of an error.

    Args:
        end: the connection to the calling process.
        number: the number of this process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the calling process too, which ends this process
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
    """Return a context in which JAX uses one thread.

    JAX's pool has one thread for each core that is available when the pool starts. So the pool is started while only
    one core is available.

    Afterwards, the threads of the pool may run on any core again, because other processes may use the core on which the
    pool was started.
    """
    if not hasattr(os, "sched_setaffinity"):
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(cores)[number % len(cores)]})
    jax.devices("cpu")
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # the thread has ended meanwhile
            os.sched_setaffinity(int(task.name), cores)
    yield
