"""The data of a comparison: right-aligned sequences, padded to one length, each with a mask and a target."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from lemmata.errors import DataError

FEWEST_ROWS = 40


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Sequences and their targets.

    Args:
        name: the name of the task or the file.
        x: the tokens. Each channel has mean 0 and variance 1 over the present tokens; absent tokens are 0.
        mask: whether a position holds a token. The tokens of a row occupy its last positions.
        y: the centred targets; one-hot columns for classes.
        task: "classification" or "regression".
        target: the name of the target.
        classes: the names of the classes, or None.
        shares: the share of each class, which is the mean of its column of `y` before centring; 0 for numbers.
        rows: the number of rows of the source. For a table with one line for each token, the number of lines.
        notes: remarks on how the data were loaded.
        words: for a bundled task, its description; else empty.
        expected: for a bundled task, the expected result of a comparison; else empty.
        test: the share of held-out rows, unless the options give another share.
    """

    name: str
    x: Float[np.ndarray, "n T c"]
    mask: Bool[np.ndarray, "n T"]
    y: Float[np.ndarray, "n k"]
    task: str
    target: str
    classes: tuple[str, ...] | None
    shares: Float[np.ndarray, " k"]
    rows: int
    notes: tuple[str, ...] = ()
    words: str = ""
    expected: str = ""
    test: float = 0.5

    @property
    def length(self) -> int:
        """T, the length of the longest sequence."""
        return self.x.shape[1]

    @property
    def channels(self) -> int:
        """The number of channels, c: each token consists of c numbers."""
        return self.x.shape[2]


def check_length(length: int, name: str) -> None:
    """Raise an error if the sequences are so short that their tokens have no order.

    Raises:
        DataError: if the length is below 2.
    """
    if length < 2:
        raise DataError(
            f"a comparison needs sequences with an order, but sequences of length {length} have none",
            found=f"{name} with --sequence-length {length}",
            rule="at least 2 tokens in a row",
            remedy="use lemmata study, which compares models of plain columns",
        )


def standard_tokens(
    name: str, x: Float[np.ndarray, "n T c"], mask: Bool[np.ndarray, "n T"], channels: tuple[str, ...] | None = None
) -> Float[np.ndarray, "n T c"]:
    """Scale each channel to mean 0 and variance 1 over the present tokens. Absent tokens become 0.

    Raises:
        DataError: if there are too few rows, the mask is not right-aligned, a row has no tokens, a number is not
            finite, or a channel does not vary.
    """
    n, length, _ = x.shape
    if n < FEWEST_ROWS:
        raise DataError(
            f"{name} has too few rows", found=f"{n} rows", rule=f"a comparison needs at least {FEWEST_ROWS} rows",
            remedy="add data",
        )  # fmt: skip
    check_length(length, name)
    _check_mask(name, mask)
    absent = np.argwhere(mask[:, :, None] & ~np.isfinite(x))
    if len(absent):
        row, position, channel = (int(value) for value in absent[0])
        raise DataError(
            f"{name} has cells that are not finite numbers",
            found=f"{len(absent)} of them, the first in row {row}, position {position}, channel {channel}",
            rule="every token must be a vector of finite numbers",
            remedy="fill them in, or leave these tokens out with a mask",
        )
    tokens = np.where(mask[:, :, None], x, 0.0)
    largest = np.maximum(np.abs(tokens).max(axis=(0, 1)), np.finfo(float).tiny)
    scaled, count = tokens / largest, mask.sum()
    mean = scaled.sum(axis=(0, 1)) / count
    centred = np.where(mask[:, :, None], scaled - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=(0, 1)) / count)
    constant = np.flatnonzero(deviation <= 1e-12)
    if len(constant):
        names = [channels[j] if channels else str(j) for j in constant[:10].tolist()]
        raise DataError(
            f"{name} has {'a constant channel' if len(constant) == 1 else 'constant channels'}",
            found=f"channel {', '.join(names)}",
            rule="each channel must vary over rows and positions",
            remedy=(
                "leave out the constant channels: they carry no information, and layers that combine tokens would turn "
                "them into rounding errors"
            ),
        )
    return centred / deviation


def _check_mask(name: str, mask: Bool[np.ndarray, "n T"]) -> None:
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise DataError(
            f"{name} has rows without a token", found=f"{len(empty)} rows, the first {int(empty[0])}",
            rule="each row must have at least one token", remedy="leave these rows out",
        )  # fmt: skip
    broken = np.flatnonzero((mask[:, :-1] & ~mask[:, 1:]).any(axis=1))
    if len(broken):
        raise DataError(
            f"{name} has a mask that is not right-aligned", found=f"{len(broken)} rows, the first {int(broken[0])}",
            rule="the tokens of a row must be in its last positions, because the prediction is made at the last "
                 "position",
            remedy="move the tokens of each row to its end, in order",
        )  # fmt: skip
