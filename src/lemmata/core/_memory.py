"""A memory plan before any large computation: say the bytes, then block, subsample or refuse."""

import dataclasses
import os
import pathlib

# Files of a control group with its limit, its use, and the share of the use that the kernel gives back when asked.
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_bytes() -> int:
    """Bytes of memory that this process can still take: what the machine, its control groups and its own limits leave.

    The machine's share counts caches that it gives back, and not swap. Control groups (of a container or a batch job)
    are asked up to the root, in both versions.
    """
    groups = _group_bytes(pathlib.Path("/proc/self/cgroup"), pathlib.Path("/sys/fs/cgroup"))
    return int(min(_machine_bytes(), *groups, *_limit_bytes()))


def _machine_bytes() -> int:
    try:
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _limit_bytes() -> list[float | int]:
    """What the limits of the process leave, as `ulimit -v` and `ulimit -d` set them; none on Windows."""
    try:
        import resource
    except ImportError:
        return []
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return [
        float("inf") if limit == resource.RLIM_INFINITY else max(limit - used, 0)
        for limit, used in zip(limits, _used_bytes(), strict=True)
    ]


def _used_bytes() -> tuple[int, int]:
    """The size of the address space of the process, and of the data in it; 0 where the system does not say."""
    try:
        pages = [int(word) for word in pathlib.Path("/proc/self/statm").read_text().split()]
        return pages[0] * os.sysconf("SC_PAGE_SIZE"), pages[5] * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0, 0


def _group_bytes(membership: pathlib.Path, mount: pathlib.Path) -> list[float | int]:
    """What each control group of the process leaves; infinity first, for a process in none."""
    left: list[float | int] = [float("inf")]
    try:
        lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return left
    for _, controllers, group in (line for line in lines if len(line) == 3):
        second = not controllers
        if not second and "memory" not in controllers.split(","):
            continue
        root = mount if second else mount / "memory"
        inside = root / group.lstrip("/")
        left += [_left(folder, *(_V2 if second else _V1)) for folder in (inside, *inside.parents)
                 if folder.is_relative_to(root)]  # fmt: skip
    return left


def _left(folder: pathlib.Path, limit: str, usage: str, cache: str) -> float | int:
    try:
        most, used = (folder / limit).read_text().strip(), int((folder / usage).read_text())
        given_back = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines()).get(cache, 0)
        return float("inf") if most == "max" else max(int(most) - used + int(given_back), 0)
    except (OSError, ValueError):
        return float("inf")


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """The bytes a computation on n points needs at its peak, if each n x n matrix is held in float64.

    Args:
        points: number of points n.
        matrices: how many n x n matrices are alive at once.
        other: bytes for everything else.
    """

    points: int
    matrices: int
    other: int = 0

    @property
    def bytes(self) -> int:
        """Peak bytes: 8 n² per matrix, and the rest."""
        return 8 * self.points**2 * self.matrices + self.other

    def largest(self, limit: int) -> int:
        """The largest number of points whose plan fits in `limit` bytes."""
        return int(max((limit - self.other) / (8 * self.matrices), 0) ** 0.5)

    def __str__(self) -> str:
        return f"{self.matrices} matrices of {self.points} x {self.points} in float64 = {self.bytes / 2**30:.2f} GiB"
