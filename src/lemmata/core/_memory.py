"""Plans of the memory that a large computation needs, made before the computation.

A plan counts the bytes at the peak. Depending on this number, the computation is split into blocks, uses fewer rows, or
is refused.
"""

import ctypes
import dataclasses
import os
import pathlib

from lemmata.limits import limits


def available_bytes() -> int:
    """Return the bytes of memory that this process can still use.

    The result is the least of three numbers: the free memory of the machine, the memory that the limits of control
    groups leave, and the memory that the limits of the process leave.

    The free memory of the machine includes caches that the system can release, but not swap.
    """
    return int(min(_machine_bytes(), *(limit.left for limit in limits()), float("inf")))


def release_freed() -> None:
    """Return freed memory to the system, if the C library can do this.

    glibc keeps freed blocks for later arrays, in one pool for each thread. Without this call, the pools of two threads
    held up to 0.15 GiB after large matrices were freed. Other C libraries are left as they are.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):  # another C library, or another system
        return
    trim(0)


def _machine_bytes() -> int:
    try:
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """The bytes that a computation on n points needs at its peak. Each n x n matrix is stored in float64.

    Args:
        points: number of points n.
        matrices: how many n x n matrices exist at the same time.
        other: the bytes for all other arrays.
    """

    points: int
    matrices: int
    other: int = 0

    @property
    def bytes(self) -> int:
        """The bytes at the peak: 8 n² for each matrix, plus `other`."""
        return 8 * self.points**2 * self.matrices + self.other

    def largest(self, limit: int) -> int:
        """The largest number of points whose plan fits in `limit` bytes."""
        return int(max((limit - self.other) / (8 * self.matrices), 0) ** 0.5)

    def __str__(self) -> str:
        return f"{self.matrices} matrices of {self.points} x {self.points} in float64 = {self.bytes / 2**30:.2f} GiB"
