"""What EigenPro needs before it is computed: bytes of the centres' matrices, and the rows of a step at most."""

import dataclasses
import math
import sys

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

# K(z, z) and its factor, the inverse, and what finding it holds beside them.
_SQUARES = 5
# A block of the kernel and what the kernel holds while it computes it; the subsample's matrices and eigenvectors.
_COPIES = 4
# Plans above this many bytes are printed.
_ANNOUNCED = 2**30


@dataclasses.dataclass(frozen=True)
class EigenProPlan:
    """How EigenPro will be computed, and the memory that takes beside points and targets.

    Attributes:
        rows: n.
        centres: p.
        batch: rows of a step, at most.
        subsample: centres whose eigenfunctions are preconditioned.
        itemsize: bytes of a number.
    """

    rows: int
    centres: int
    batch: int
    subsample: int
    itemsize: int

    @property
    def bytes(self) -> int:
        """Peak bytes: the centres' matrices, in the precision of the points, a block, and the subsample's matrices."""
        numbers = _SQUARES * self.centres**2 + _COPIES * (self.batch * self.centres + self.subsample**2)
        return self.itemsize * numbers

    def require(self) -> None:
        """Refuse a plan that does not fit into free memory; print one of more than 1 GiB to standard error.

        Raises:
            MemoryPlanError: if it does not fit into memory; the message states its bytes, the free memory, and how many
                centres would fit.
        """
        if self.bytes > (free := available_bytes()):
            possible = int(self.centres * math.sqrt(free / self.bytes))
            raise MemoryPlanError(
                f"EigenPro with {self.centres} centres",
                found=f"a plan of {self.bytes / 2**30:.2f} GiB, but only {free / 2**30:.2f} GiB are free",
                rule="matrices of the centres that fit into memory",
                remedy=f"use at most {possible} centres",
            )
        if self.bytes > _ANNOUNCED:
            print(f"lemmata: {self}", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        square = self.itemsize * self.centres**2
        return (
            f"EigenPro on {self.centres} centres in steps of at most {self.batch} of {self.rows} rows, with "
            f"eigenfunctions of {self.subsample} centres: {_SQUARES} squares of {square / 2**30:.3f} GiB in "
            f"float{8 * self.itemsize}, together {self.bytes / 2**30:.3f} GiB"
        )
