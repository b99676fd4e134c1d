"""Start child processes."""

import os
import threading
from typing import Any

from lemmata.code_files import SAFE_PATH

_starting = threading.Lock()


def started(process: Any) -> Any:
    """Start a process of `multiprocessing` in which no file of the current folder is imported, and return it.

    The Python of this process is started with `-c`. By default, Python would then search the current folder before the
    standard library, and would run a file such as `signal.py` in this folder.

    Args:
        process: a process that was not started yet.
    """
    with _starting:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            process.start()
        finally:
            if before is None:
                del os.environ[SAFE_PATH]
            else:
                os.environ[SAFE_PATH] = before
    return process
