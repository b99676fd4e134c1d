"""The memory plan of a computation whose result is one large array."""

import dataclasses
import math
import sys
from typing import Any

import jax

from lemmata.errors import MemoryPlanError

from ._memory import available_bytes

# results with fewer bytes than the first number are never checked; results with more than the second are announced
_SMALL, _ANNOUNCED = 2**26, 2**30


@dataclasses.dataclass(frozen=True)
class ResultPlan:
    """The bytes of an array, and of the working memory in addition to this array.

    Args:
        what: the name of the array, in the caller's words.
        shape: its shape.
        itemsize: bytes of an entry.
        copies: how many arrays of this shape are alive at once.
        other: the bytes for everything else.
    """

    what: str
    shape: tuple[int, ...]
    itemsize: int
    copies: int = 1
    other: int = 0

    @property
    def result_bytes(self) -> int:
        """Bytes of the result only."""
        return self.itemsize * math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Peak bytes: all copies, and the other memory."""
        return self.copies * self.result_bytes + self.other

    def __str__(self) -> str:
        times = f", {self.copies} times" if self.copies > 1 else ""
        return (
            f"{self.what} of {' x '.join(map(str, self.shape))} numbers of {self.itemsize} bytes = "
            f"{self.result_bytes / 2**30:.2f} GiB{times}, and {self.other / 2**30:.2f} GiB of "
            "other arrays"
        )

    def require(self, near: Any = None, *, remedy: str) -> None:
        """Refuse a result of more than 64 MiB whose plan does not fit. Print the plan of a result of more than 1 GiB.

        Args:
            near: the array on whose device the result will be; None means this machine.
            remedy: the advice to the caller if the result is refused.

        Raises:
            MemoryPlanError: if the plan needs more bytes than are free; the message states both.
        """
        if self.result_bytes <= _SMALL:
            return
        if self.bytes > (found := free_bytes(near)):
            rule = f"at most the {found / 2**30:.2f} GiB that are free"
            raise MemoryPlanError(self.what, found=str(self), rule=rule, remedy=remedy)
        if self.result_bytes > _ANNOUNCED:
            print(f"lemmata: {self}", file=sys.stderr, flush=True)


def free_bytes(x: Any = None) -> int:
    """The free memory of an array's device if the device reports it. Otherwise, the free memory of this machine.

    Args:
        x: the array. For a traced array or None, the free memory of the machine is returned.
    """
    try:
        device: Any = next(iter(x.devices()))
    except (AttributeError, TypeError, jax.errors.ConcretizationTypeError):
        return available_bytes()
    found = None if device.platform == "cpu" else device.memory_stats()
    return available_bytes() if not found else int(found["bytes_limit"] - found["bytes_in_use"])
