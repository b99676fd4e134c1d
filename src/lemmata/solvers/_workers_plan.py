"""Estimate the cost of kernel computations with many points on many machines before anything runs."""

import dataclasses
import math

from lemmata.core import check_whole
from lemmata.errors import SettingError

from ._shared_vectors import runs_of_rows


@dataclasses.dataclass(frozen=True)
class SharedWork:
    """The operation counts of one computation that machines share through a folder.

    A machine keeps the files that it has read, so each file counts once for each machine and not once for each task.

    Attributes:
        name: the name of the computation.
        tasks: the number of tasks that the scheduler hands out.
        entries: kernel entries that are evaluated.
        operations: floating-point operations of all workers together, without those that evaluate kernel entries.
        written: bytes that are written to the folder.
        read: bytes that all machines and the caller read from the folder.
        kept: bytes that stay in the folder.
        answered: bytes that come back to the caller through the scheduler.
    """

    name: str
    tasks: int
    entries: int
    operations: int
    written: int
    read: int
    kept: int
    answered: int = 0

    @property
    def network(self) -> int:
        """All bytes that pass between machines, folder and caller."""
        return self.written + self.read + self.answered

    def seconds(self, cores: int, *, entry: float, operations: float, storage: float) -> float:
        """Return the seconds that the computation takes at these rates if computation and transfers do not overlap.

        If computation and transfers overlap, the time is shorter.

        Args:
            cores: the number of cores of all machines together.
            entry: seconds of one core for a kernel entry.
            operations: floating-point operations per second of one core.
            storage: bytes per second between the folder and all machines together.
        """
        return (self.entries * entry + self.operations / operations) / cores + self.network / storage

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.tasks} tasks, {self.entries:.3g} kernel entries, "
            f"{self.operations:.3g} operations, {_bytes(self.read)} read, {_bytes(self.written)} "
            f"written, {_bytes(self.answered)} returned, {_bytes(self.kept)} kept"
        )


def workers_plan(
    points: int,
    columns: int,
    machines: int,
    *,
    centres: int,
    outputs: int = 1,
    block: int = 4096,
    rows: int = 1024,
    tasks: int = 64,
    itemsize: int = 8,
) -> tuple[SharedWork, SharedWork, SharedWork, SharedWork]:
    """Return the costs of four computations with n points on this number of machines.

    The computations are the matrix on disk, a product with the stored matrix, a product without a stored matrix, and
    the direct solution on centres.

    Let B = ceil(n/b) be the number of tiles in a row. The symmetric matrix (`gram_on_disk`) takes B (B+1)/2 tasks of b²
    entries each. These tasks write B² b² numbers, because tiles at the edge of the matrix are stored whole. A product
    with the stored matrix (`StoredOperator`) reads all these numbers. A product that is computed without storing the
    matrix (`ExecutorOperator`) evaluates every entry, and reads only points and the vector. The direct solution on p
    centres (`subset_of_regressors`, if it whitens only the sum over all rows) evaluates n p entries in all, and each
    task accumulates an array of p² sums. Then the caller needs about 3 p³ operations, which are not shared.

    Args:
        points: the number n of points.
        columns: the number d of columns.
        machines: the number of machines that read the folder, each with any number of workers.
        centres: the number p of centres, at most n.
        outputs: the number of columns of the vector or targets.
        block: the number b of rows of a tile on disk.
        rows: the number of rows of a block that is computed when it is needed, for products and centres.
        tasks: the largest number of tasks in a product, and of runs of rows in the direct solution.
        itemsize: bytes of a number; a number of the sums on centres always has 8 bytes.

    Raises:
        SettingError: if a number is not a whole number above 0, or there are more centres than points.

    Example:
        >>> from lemmata.solvers import workers_plan
        >>> for work in workers_plan(1_000_000, 10, 100, centres=10_000, tasks=100):
        ...     print(work.name, f"{work.entries:.2g} entries, {work.network / 1e9:.0f} GB")
        matrix on disk 5.1e+11 entries, 8076 GB
        product, stored 0 entries, 8057 GB
        product, on the fly 1e+12 entries, 9 GB
        direct on centres 1e+10 entries, 238 GB
    """
    given = {
        "points": points, "columns": columns, "machines": machines, "centres": centres, "outputs": outputs,
        "block": block, "rows": rows, "tasks": tasks, "itemsize": itemsize,
    }  # fmt: skip
    for name, value in given.items():
        check_whole(name, value, 1)
    if centres > points:
        raise SettingError("centres", found=centres, rule=f"at most {points}, the number of points")
    block, rows = min(block, points), min(rows, points)
    tiles = math.ceil(points / block)
    across, down = tiles * (tiles + 1) // 2, math.ceil(points / rows)
    matrix = tiles**2 * block**2 * itemsize
    x, v = points * columns * itemsize, points * outputs * itemsize
    stored_runs, runs = (len(runs_of_rows(points, size, tasks)) for size in (block, rows))
    square = 8 * centres * (centres + outputs)
    fixed = (points * outputs + centres**2) * 8 + centres * columns * itemsize
    return (
        SharedWork(
            "matrix on disk", across, across * block**2, 0, matrix + x,
            (2 * across - tiles) * block * columns * itemsize, matrix + x,
        ),
        SharedWork(
            "product, stored", stored_runs, 0, 2 * points**2 * outputs, v, matrix + machines * v, 0, v,
        ),
        SharedWork(
            "product, on the fly", runs, down * rows * points, 2 * down * rows * points * outputs, x + v,
            machines * (x + v), 0, v,
        ),
        SharedWork(
            "direct on centres", runs, down * rows * centres, points * centres * (centres + 2 * outputs),
            x + fixed + runs * square,
            x + 8 * points * outputs + machines * (fixed - 8 * points * outputs) + runs * square, 0,
        ),
    )  # fmt: skip


def _bytes(count: int) -> str:
    unit, name = next((unit, name) for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (1, "bytes"))
                      if count >= unit or unit == 1)  # fmt: skip
    return f"{count / unit:.3g} {name}"
