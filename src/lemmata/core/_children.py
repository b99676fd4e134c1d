"""Start child processes that import no file of the current folder."""

import os
import threading
from typing import Any

from lemmata.code_files import SAFE_PATH

_starting = threading.Lock()


def started(process: Any) -> Any:
    """Start a process of `multiprocessing` and return it. This process imports no file of the current folder.

    `multiprocessing` starts the Python of this process with `-c`. By default, the new Python would search for modules
    in the current folder before the standard library. The new Python would then run a file such as `signal.py` in that
    folder instead of the standard module.

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
