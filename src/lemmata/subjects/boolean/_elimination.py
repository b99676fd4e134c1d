"""Find parities by algebra over F_2: elimination, or Blum, Kalai and Wasserman's algorithm if labels are noisy."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from lemmata.functions import walsh_hadamard

LAST = 20
"""The largest number b of inputs in the last block. All 2^b parities of these inputs are compared at once."""


@dataclasses.dataclass(frozen=True)
class Elimination:
    """The result of Gaussian elimination over F_2, one row after another.

    Args:
        solution: a parity of the inputs that fits all rows, with one bit for each input (1 if the input is in the
            parity); None if no parity fits.
        rank: the rank of the rows over F_2; if no parity fits, the rank of the rows before the contradiction.
        spare: the number of rows whose labels follow from the other rows; 0 if no parity fits.
        clash: the positions of rows whose inputs add up to 0 and whose labels add up to 1; empty if a parity fits.
    """

    solution: Bool[np.ndarray, " d"] | None
    rank: int
    spare: int
    clash: tuple[int, ...]


def eliminate(x: Bool[np.ndarray, "n d"], y: Bool[np.ndarray, " n"]) -> Elimination:
    """Solve <s, x> = y over F_2 for s, the bits of a parity.

    Args:
        x: the inputs as bits, one row for each example.
        y: the label of each row as a bit.
    """
    d = x.shape[1]
    pivots: dict[int, tuple[int, int, frozenset[int]]] = {}
    for number, (row, label) in enumerate(zip(_integers(x), y.tolist(), strict=True)):
        label, used = int(label), frozenset((number,))
        while row and row.bit_length() in pivots:
            other, its_label, its_rows = pivots[row.bit_length()]
            row, label, used = row ^ other, label ^ its_label, used ^ its_rows
        if row:
            pivots[row.bit_length()] = (row, label, used)
        elif label:
            return Elimination(None, len(pivots), 0, tuple(sorted(used)))
    solved = 0
    for top in sorted(pivots):  # the other bits of a row are below its top bit and already solved
        row, label, _ = pivots[top]
        if ((row & solved).bit_count() & 1) ^ label:
            solved |= 1 << (top - 1)
    bits = np.array([solved >> place & 1 for place in range(d)], bool)
    return Elimination(bits, len(pivots), len(y) - len(pivots), ())


def rank_of(x: Bool[np.ndarray, "n d"]) -> int:
    """Return the rank of the rows over F_2.

    Args:
        x: the rows, as bits.
    """
    pivots: dict[int, int] = {}
    for given in _integers(x):
        row = given
        while row and row.bit_length() in pivots:
            row ^= pivots[row.bit_length()]
        if row:
            pivots[row.bit_length()] = row
        if len(pivots) == x.shape[1]:
            break
    return len(pivots)


@dataclasses.dataclass(frozen=True)
class Blocks:
    """A division of the inputs into blocks.

    Args:
        stages: the number of blocks that are made 0 by adding rows in pairs, before the last block is solved.
        bits: the number of bits of each of these blocks.
        rows: the least number of rows that remain for the last block.
        advantage: the advantage (1 - 2 noise)^(2^stages) of a sum of 2^stages labels.
    """

    stages: int
    bits: int
    rows: int
    advantage: float

    @property
    def evidence(self) -> float:
        """The squared advantage times the number of rows.

        If this product is above 2 log(2^b), the right parity of the last block, which has b bits, stands out among 2^b
        parities.
        """
        return self.rows * self.advantage**2


def plan_blocks(n: int, d: int, noise: float) -> Blocks:
    """Choose the number of blocks that leaves the most evidence (`Blocks.evidence`) for the last block.

    Args:
        n: the number of rows.
        d: the number of inputs.
        noise: the rate of wrong labels.
    """
    spare = max(d - LAST, 0)
    found = [Blocks(0, 0, n, 1 - 2 * noise)] if spare == 0 else []
    for stages in range(1, spare + 1):
        bits = math.ceil(spare / stages)
        if stages * 2**bits < n:
            found.append(Blocks(stages, bits, n - stages * 2**bits, (1 - 2 * noise) ** (2**stages)))
    return max(found, key=lambda blocks: blocks.evidence, default=Blocks(spare, 1, 0, 0.0))


def noisy_parity(
    x: Bool[np.ndarray, "n d"], y: Bool[np.ndarray, " n"], noise: float, constant: bool, generator: np.random.Generator
) -> Bool[np.ndarray, " d"]:
    """Find, block by block, the parity that agrees best with noisy labels. With `constant`, negations of parities are
    candidates, too.

    Among the rows with equal bits in a block, one row is added to each of the other rows. The sums are 0 in this block.
    The resulting labels are sums of 2^stages labels, and their inputs are nonzero only in the last block. One fast
    transform compares all parities of this block. The bits that were found are subtracted from the labels, and the
    algorithm continues with the remaining inputs.

    Args:
        x: the inputs as bits, one row for each example.
        y: the label of each row as a bit.
        noise: the rate of wrong labels.
        constant: whether the negation of a parity also counts as a parity.
        generator: the random generator for the order of the inputs, and for the choice of rows that are added to
            others.
    """
    n, d = x.shape
    order = generator.permutation(d)
    x, known, left = x[:, order], np.zeros(d, bool), d
    while left:
        labels = y ^ _parity(x[:, left:], known[left:])
        blocks = plan_blocks(n, left, noise)
        rows, sums = x[:, :left], labels
        for _ in range(blocks.stages):
            bits = min(blocks.bits, rows.shape[1] - min(LAST, left))
            rows, sums = _cleared(rows, sums, bits, generator)
        width = rows.shape[1]
        votes = np.bincount(_numbers(rows), 1.0 - 2.0 * sums, 2**width)
        with jax.enable_x64(True):
            scores = np.asarray(walsh_hadamard(jnp.asarray(votes)))
        # The constant cancels in a sum of an even number of labels.
        best = int(np.abs(scores).argmax() if constant and not blocks.stages else scores.argmax())
        known[left - width : left] = (best >> np.arange(width)) & 1
        left -= width
    found = np.zeros(d, bool)
    found[order] = known
    return found


def _cleared(
    rows: np.ndarray, labels: np.ndarray, bits: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Among rows with equal first `bits` inputs, add one row to the others. Drop this row and these inputs."""
    if bits < 1:
        return rows, labels
    keys = _numbers(rows[:, :bits])
    order = generator.permutation(len(keys))
    _, first, group = np.unique(keys[order], return_index=True, return_inverse=True)
    chosen = order[first][group.ravel()]
    others = order != chosen
    mine, theirs = order[others], chosen[others]
    return rows[mine, bits:] ^ rows[theirs, bits:], labels[mine] ^ labels[theirs]


def _parity(x: np.ndarray, bits: np.ndarray) -> np.ndarray:
    return (x[:, bits].sum(axis=1) & 1).astype(bool)


def _numbers(rows: np.ndarray) -> Int[np.ndarray, " n"]:
    return rows.astype(np.int64) @ (1 << np.arange(rows.shape[1], dtype=np.int64))


def _integers(x: np.ndarray) -> list[int]:
    packed = np.packbits(x, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
