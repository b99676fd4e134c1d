"""Find the memory limits of this process, and recognise errors that a lack of memory causes.

A limit belongs to the process itself, or to a control group: the processes of a container or of a batch job.
"""

import errno
import os
import pathlib
from typing import NamedTuple

from lemmata.errors import LemmataError, SettingError, words_of

# Each tuple names a control group's files with its limit and its use, and the entry of its file `memory.stat` for the
# used bytes that the operating system can free on demand.
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_LONG = 100_000  # characters of an error's text that are read
_UNLIMITED = 2**60
"""A limit of at least this many bytes means no limit.

If there is no limit, control groups of version 1 report about 2^63 bytes."""
OPEN_FILES = 64
"""A process needs at least this many open files. Measured studies and verdicts had up to 25."""
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_MORE_FILES = "raise the limit, for example with `ulimit -n 1024`, or use fewer processes (--jobs)"
_OWN = (
    ("RLIMIT_AS", "the address space of this process (RLIMIT_AS, `ulimit -v`)"),
    ("RLIMIT_DATA", "the data segment of this process (RLIMIT_DATA, `ulimit -d`)"),
)
_WORDS = (
    "MemoryError", "RESOURCE_EXHAUSTED", "bad_alloc", "annot allocate memory", "failed to map segment",
    "start new thread", "pthread_create", "thread creation failed", "Resource temporarily unavailable",
    "ThreadPoolBuildError", "emory allocation", "Out of memory", "out of memory", "unable to allocate",
    "Unable to allocate", "cannot map", "cannot apply additional memory protection",
)  # fmt: skip


class Limit(NamedTuple):
    """A limit on memory.

    Args:
        what: whose memory is limited, and by which mechanism.
        most: the limit in bytes.
        left: bytes that are not yet used.
        own: whether the limit belongs to the process itself. At this limit, the process gets no more memory. If a
            control group exceeds its limit, the operating system kills the process.
    """

    what: str
    most: int
    left: int
    own: bool

    def __str__(self) -> str:
        return f"{self.what} is limited to {self.most / 2**30:.2f} GiB"


def limits() -> list[Limit]:
    """All limits on the memory of this process; an empty list on Windows.

    The function reads the limits of the process, of its control groups (versions 1 and 2), and of all parents of these
    groups.
    """
    return [*own_limits(), *group_limits(pathlib.Path("/proc/self/cgroup"), pathlib.Path("/sys/fs/cgroup"))]


def own_limits() -> list[Limit]:
    """The limits that `ulimit -v` and `ulimit -d` set for this process."""
    try:
        import resource
    except ImportError:
        return []
    found = []
    for (name, what), used in zip(_OWN, used_bytes(), strict=True):
        most = resource.getrlimit(getattr(resource, name))[0]
        if most != resource.RLIM_INFINITY:
            found.append(Limit(what, most, max(most - used, 0), True))
    return found


def check_open_files() -> None:
    """Refuse to begin if this process may open too few files. Some libraries end with a traceback at that limit.

    Raises:
        SettingError: if the limit is below `OPEN_FILES`.
    """
    try:
        import resource
    except ImportError:
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most != resource.RLIM_INFINITY and most < OPEN_FILES:
        raise SettingError(
            "this process may open too few files",
            found=f"{most} (RLIMIT_NOFILE, `ulimit -n`)",
            rule=f"at least {OPEN_FILES} open files",
            remedy=_MORE_FILES,
        )


def no_open_files(error: BaseException) -> LemmataError | None:
    """What to tell if an error is due to the limit on open files; None for other errors.

    Args:
        error: an error of Python, or of a library that quotes an error of the system.
    """
    if getattr(error, "errno", None) not in _NO_FILES and not any(
        os.strerror(code) in words_of(error, _LONG) for code in _NO_FILES
    ):
        return None
    return LemmataError(
        "too many files are open",
        found=words_of(error, 200),
        rule="the operating system limits how many files a process, or all processes, may open",
        remedy=_MORE_FILES,
    )


def used_bytes(process: int | str = "self") -> tuple[int, int]:
    """The bytes of a process's address space, and the bytes of its data; 0 if the system does not report them."""
    try:
        pages = [int(word) for word in pathlib.Path(f"/proc/{process}/statm").read_text().split()]
        return pages[0] * os.sysconf("SC_PAGE_SIZE"), pages[5] * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0, 0


def group_limits(membership: pathlib.Path, mount: pathlib.Path) -> list[Limit]:
    """The limits of the control groups of a process.

    Args:
        membership: the file that names the control groups of the process.
        mount: the folder in which the operating system shows all control groups.
    """
    try:
        lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return []
    found = []
    for _, controllers, group in (line for line in lines if len(line) == 3):
        second = not controllers
        if not second and "memory" not in controllers.split(","):
            continue
        root = mount if second else mount / "memory"
        inside = root / group.lstrip("/")
        folders = [folder for folder in (inside, *inside.parents) if folder.is_relative_to(root)]
        found += [limit for folder in folders if (limit := _of_group(folder, *(_V2 if second else _V1)))]
    return found


def _of_group(folder: pathlib.Path, limit: str, usage: str, cache: str) -> Limit | None:
    try:
        most, used = (folder / limit).read_text().strip(), int((folder / usage).read_text())
        given_back = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines()).get(cache, 0)
        if most == "max" or int(most) >= _UNLIMITED:
            return None
        left = max(int(most) - used + int(given_back), 0)
    except (OSError, ValueError):
        return None
    return Limit("the memory of the control group (of a container or a batch job)", int(most), left, False)


def speaks_of_memory(text: str) -> bool:
    """Whether a text reports a lack of memory in the words of Python, NumPy, XLA, the system or a library."""
    return any(word in text for word in _WORDS)


def lacked_memory(error: BaseException) -> bool:
    """Whether an error, or an error that caused it, is due to a lack of memory.

    If the process itself has a limit, two other errors count, too: a library that cannot be loaded, and a panic (the
    fatal error of a library written in Rust). The messages of these two errors often do not give the reason.
    """
    seen: BaseException | None = error
    for _ in range(20):
        if seen is None:
            return False
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) == errno.ENOMEM:
            return True
        if not isinstance(seen, OSError) and speaks_of_memory(words_of(seen, _LONG)):
            return True
        broken = isinstance(seen, ImportError) and not isinstance(seen, ModuleNotFoundError)
        if (broken or type(seen).__name__ == "PanicException") and own_limits():
            return True
        seen = seen.__cause__ or seen.__context__
    return False
