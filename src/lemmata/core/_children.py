"""Start child processes."""

import os
import threading
from typing import Any

from lemmata.code_files import SAFE_PATH

_starting = threading.Lock()


def started(process: Any) -> Any:
    """Start a process of `multiprocessing` in which no file of the current folder is imported, and return it.

    Its Python is started with `-c`. By default, the current folder would then come before the standard library, and a
    `signal.py` there would run.

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
