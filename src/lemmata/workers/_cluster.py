"""Provide an executor within a context: none, processes of this machine, or the workers of a Dask scheduler."""

import contextlib
import json
import logging
import os
import pathlib
import queue
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

from lemmata.core import check_whole
from lemmata.errors import MissingFileError, SettingError

from ._processes import Processes
from ._tasks import told_line

_PATIENCE = 5  # seconds to wait for a scheduler to answer, and then for one of its workers to connect
_SCHEMES = ("tcp", "tls", "ws", "wss")
_ADDRESS = re.compile(rf"(?:({'|'.join(_SCHEMES)})://)?(\[[0-9A-Fa-f:.%]+\]|[^\s/:@\[\]]+):([0-9]{{1,5}})")
_LARGEST = 2**20  # the largest number of bytes of a scheduler file; usually it has less than a thousand
_RULE = "HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT of a running Dask scheduler, or its scheduler file"
_REMEDY = "start a scheduler with `dask scheduler`, which prints its address"
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextlib.contextmanager
def workers(jobs: int = 1, dask: str | os.PathLike[str] | None = None) -> Iterator[Executor | None]:
    """Provide an executor within this context: None for one job, else `Processes` or the workers of a Dask cluster.

    Args:
        jobs: the number of processes on this machine.
        dask: the address of a Dask scheduler to use instead of processes, such as tcp://10.0.0.1:8786, or the JSON
            file that `dask scheduler --scheduler-file` writes.

    Raises:
        SettingError: if both arguments are given; if jobs is not a whole number above 0; if `dask` is not an address;
            if the scheduler does not answer within 10 s, or has no worker within 5 s.
        MissingFileError: if the scheduler file does not exist.
    """
    check_whole("jobs", jobs, 1, "processes")
    if dask is not None:
        if jobs != 1:
            raise SettingError(
                "--jobs with --dask",
                rule="give only one of the two options, because a Dask scheduler has its own workers",
                remedy="leave --jobs out",
            )
        with _cluster(dask) as executor:
            yield executor
    elif jobs == 1:
        yield None
    else:
        with Processes(jobs) as executor:
            yield executor


@contextlib.contextmanager
def _cluster(named: str | os.PathLike[str]) -> Iterator[Executor]:
    """Connect to the workers of a scheduler, which is given by its address or its scheduler file."""
    address = scheduler_address(named)
    try:
        from distributed import Client
    except ImportError as error:
        raise SettingError(
            "--dask",
            found="that the package distributed is not installed",
            rule="the optional dependency `scale`",
            remedy="install it with pip install 'lemmata[scale]'",
        ) from error
    with _quiet():
        try:
            _knock(address)  # if no program listens at the address, Dask's client tries again for seconds
            client = _answer(lambda: Client(address, timeout=_PATIENCE, set_as_default=False))
        except Exception as error:  # the class of the error depends on the fault of the address
            secure = address.startswith(("tls:", "wss:"))
            remedy = "name the TLS files in Dask's configuration, as docs/scale.md describes" if secure else _REMEDY
            raise SettingError(
                f"scheduler {address}", found=told_line(error)[:120], rule=_RULE, remedy=remedy
            ) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
            except Exception as error:
                remedy = f"start a worker with `dask worker {address}`"
                raise SettingError(
                    f"scheduler {address}", found="no worker", rule="at least one worker", remedy=remedy
                ) from error
            executor: Any = client.get_executor(pure=False)
            threads: Any = client.nthreads()
            executor._max_workers = sum(threads.values())
            yield executor


def scheduler_address(named: str | os.PathLike[str]) -> str:
    """Return the complete address of a scheduler, such as tcp://10.0.0.1:8786.

    Args:
        named: the address, or the JSON file that `dask scheduler --scheduler-file` writes.

    Raises:
        SettingError: if the argument is neither, for example an address without a port.
        MissingFileError: if the scheduler file does not exist.

    >>> scheduler_address("10.0.0.1:8786")
    'tcp://10.0.0.1:8786'
    """
    if not isinstance(named, str | os.PathLike):
        raise SettingError(
            f"scheduler {named!r}", found=f"an object of type {type(named).__name__}", rule=_RULE, remedy=_REMEDY
        )
    path, named = pathlib.Path(named), os.fspath(named)
    if "://" not in named and (named.endswith(".json") or "/" in named or path.is_file()):
        return _address(_of_file(path), f"scheduler file {path}")
    return _address(named, f"scheduler {named}")


def _address(named: object, what: str) -> str:
    found = _ADDRESS.fullmatch(named) if isinstance(named, str) else None
    if found is None or not 0 < int(found[3]) < 2**16:
        raise SettingError(what, found=_amiss(named), rule=_RULE, remedy=_REMEDY)
    return f"{found[1] or 'tcp'}://{found[2]}:{found[3]}"


def _amiss(named: object) -> str:
    """Describe what is wrong with an address."""
    if not isinstance(named, str):
        return "no address"
    scheme, _, rest = named.rpartition("://")
    host, colon, port = rest.rpartition(":")
    if scheme not in ("", *_SCHEMES):
        return f"the protocol {scheme[:20]!r}"
    if rest and (not colon or rest.endswith("]")):
        return f"{named[:80]!r}, which has no port"
    if ":" in host and not host.startswith("["):
        return f"{named[:80]!r}, an IPv6 address without brackets, as in tcp://[::1]:8786"
    return f"the port {port[:20]!r}" if host else f"the address {named[:80]!r}"


def _of_file(path: pathlib.Path) -> object:
    """Read the address from a scheduler file."""
    what, rule = f"scheduler file {path}", "the JSON file that `dask scheduler --scheduler-file FILE` writes"
    try:
        if not path.exists():
            raise MissingFileError(what, found="no such file", rule=rule, remedy="check the path")
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise SettingError(what, found="a file that is not a scheduler file", rule=rule, remedy=_REMEDY)
        known = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, MissingFileError | SettingError):
            raise
        raise SettingError(what, found=told_line(error)[:120], rule=rule, remedy=_REMEDY) from error
    return known.get("address") if isinstance(known, dict) else None


def _knock(address: str) -> None:
    """Raise an error at once if no program listens at the address."""
    host, _, port = address.partition("://")[2].rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _answer(ask: Callable[[], Any]) -> Any:
    """Wait for the scheduler's answer for a limited time, because Dask's client would wait forever."""
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def wait() -> None:
        try:
            found.put((ask(), None))
        except Exception as error:
            found.put((None, error))

    threading.Thread(target=wait, daemon=True).start()
    try:
        answer, error = found.get(timeout=2 * _PATIENCE)
    except queue.Empty:
        raise TimeoutError(f"the scheduler did not answer within {2 * _PATIENCE} s") from None
    if error is not None:
        raise error
    return answer


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide Dask's log, because the tasks themselves report the loss of a worker or a scheduler."""
    kept = []
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        kept.append((logger, logger.handlers, logger.propagate))
        logger.handlers, logger.propagate = [logging.NullHandler()], False
    try:
        yield
    finally:
        for logger, handlers, propagate in kept:
            logger.handlers, logger.propagate = handlers, propagate
