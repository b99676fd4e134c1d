"""The memory plan of a computation whose result is one large array."""

import dataclasses
import math
import sys
from typing import Any

import jax

from lemmata.errors import MemoryPlanError

from ._memory import available_bytes

# A result of at most _SMALL bytes is never checked. The plan of a result of more than _ANNOUNCED bytes is printed.
_SMALL, _ANNOUNCED = 2**26, 2**30


@dataclasses.dataclass(frozen=True)
class ResultPlan:
    """The bytes that a computation needs for its result, which is one array, and for its working memory.

    Args:
        what: the name of the result, for messages.
        shape: the shape of the result.
        itemsize: the bytes of one entry.
        copies: how many arrays of this shape exist at the same time.
        other: the bytes for all other arrays.
    """

    what: str
    shape: tuple[int, ...]
    itemsize: int
    copies: int = 1
    other: int = 0

    @property
    def result_bytes(self) -> int:
        """The bytes of the result alone."""
        return self.itemsize * math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The bytes at the peak: those of all `copies` of the result, plus `other`."""
        return self.copies * self.result_bytes + self.other

    def __str__(self) -> str:
        times = f" in each of {self.copies} copies" if self.copies > 1 else ""
        return (
            f"{self.what} of {' x '.join(map(str, self.shape))} numbers of {self.itemsize} bytes = "
            f"{self.result_bytes / 2**30:.2f} GiB{times}, and {self.other / 2**30:.2f} GiB of "
            "other arrays"
        )

    def require(self, near: Any = None, *, remedy: str) -> None:
        """Refuse a result of more than 64 MiB if its plan needs more bytes than are free.

        If the result has more than 1 GiB and fits, the plan is printed on stderr.

        Args:
            near: the array on whose device the result will be; None means this machine.
            remedy: the advice to the caller if the result is refused.

        Raises:
            MemoryPlanError: if the plan needs more bytes than are free; the message states both numbers of bytes.
        """
        if self.result_bytes <= _SMALL:
            return
        if self.bytes > (found := free_bytes(near)):
            rule = f"at most the {found / 2**30:.2f} GiB that are free"
            raise MemoryPlanError(self.what, found=str(self), rule=rule, remedy=remedy)
        if self.result_bytes > _ANNOUNCED:
            print(f"lemmata: {self}", file=sys.stderr, flush=True)


def free_bytes(x: Any = None) -> int:
    """Return the free bytes of an array's device if the device reports them, and the machine's free bytes otherwise.

    Args:
        x: the array. For a traced array, an array on the CPU, or None, the free bytes of this machine are returned.
    """
    try:
        device: Any = next(iter(x.devices()))
    except (AttributeError, TypeError, jax.errors.ConcretizationTypeError):
        return available_bytes()
    found = None if device.platform == "cpu" else device.memory_stats()
    return available_bytes() if not found else int(found["bytes_limit"] - found["bytes_in_use"])
