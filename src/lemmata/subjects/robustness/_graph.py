"""Convert graphs of affine maps and ReLUs to a sequence of layers.

A value in the graph is an affine function of units. Units are the input and ReLUs at any depth. A later layer may need
the units of an earlier layer, as in a skip connection or in one argument of a maximum. Then the layers in between carry
these units, that is, copy them. Copying is possible because a ReLU does not change a value of at least 0. The input is
carried as its positive and negative parts. Leaky ReLUs, clips and maxima are sums of ReLUs: max(a, b) = a + max(b - a,
0). So every such graph is a `ReluNetwork` with the same outputs.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import SettingError

from ._inputs import as_weights
from ._network import ReluNetwork

RULE = "affine layers, ReLU, leaky ReLU, clips, maxima and sums of these, which can be bounded"


@dataclasses.dataclass(frozen=True)
class Signal:
    """A value in the graph: the sum over blocks b and units u of u * columns[b][u], plus offset.

    Args:
        columns: for each block of units, the factors of its units: one array of the value's shape for each unit.
        offset: the value if all units are 0.
    """

    columns: dict[int, Any]
    offset: Any


@dataclasses.dataclass(frozen=True)
class _Block:
    """A block of units max(pre, 0) of one depth. The block of the input has no `pre`, and its depth is 0."""

    depth: int
    size: int
    pre: Signal | None


class Graph:
    """A graph of affine maps and ReLUs, stored as blocks of units in the order of their creation. The first block is
    the input.

    Args:
        shape: the shape of the input.
        array: the function that converts a NumPy array to the array type of the signals, for example JAX.
    """

    def __init__(self, shape: tuple[int, ...], array: Callable[[np.ndarray], Any]):
        self.array = array
        self.blocks = [_Block(0, math.prod(shape), None)]
        self.input = self._units(0, shape)

    def _units(self, block: int, shape: tuple[int, ...]) -> Signal:
        size = math.prod(shape)
        return Signal({block: self.array(np.eye(size).reshape(size, *shape))}, self.array(np.zeros(shape)))

    def relu(self, signal: Signal) -> Signal:
        """Return max(signal, 0), whose units are a new block."""
        depth = 1 + max(self.blocks[own].depth for own in signal.columns)
        shape = tuple(signal.offset.shape)
        self.blocks.append(_Block(depth, math.prod(shape), signal))
        return self._units(len(self.blocks) - 1, shape)

    def leaky(self, signal: Signal, slope: Any) -> Signal:
        """Return the signal where it is positive, and slope times the signal elsewhere."""
        other = self.relu(combined([-1.0], [signal]))
        return combined([1.0, -slope], [self.relu(signal), other])

    def largest(self, first: Signal, second: Signal) -> Signal:
        """Return the elementwise maximum of two signals, first + max(second - first, 0). Later layers carry `first`."""
        return combined([1.0, 1.0], [first, self.relu(combined([1.0, -1.0], [second, first]))])

    def largest_of(self, signals: Sequence[Signal]) -> Signal:
        """Return the elementwise largest of several signals, computed in rounds of pairs."""
        left = list(signals)
        while len(left) > 1:
            pairs = [left[k : k + 2] for k in range(0, len(left), 2)]
            left = [self.largest(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return left[0]

    def clipped(self, signal: Signal, low: Any = None, high: Any = None) -> Signal:
        """Return min(max(signal, low), high), with one ReLU for each end that is given."""
        if low is not None:
            signal = moved(self.relu(moved(signal, -low)), low)
        if high is not None:
            signal = moved(combined([-1.0], [self.relu(moved(combined([-1.0], [signal]), high))]), high)
        return signal

    def network(self, output: Signal) -> ReluNetwork:
        """Return the network of layers that computes the output."""
        depth = max((self.blocks[own].depth for own in output.columns), default=0)
        last = self._last_use(output, depth)
        maps, present = [], {0: np.eye(self.blocks[0].size)}
        for layer in range(1, depth + 1):
            rows, kept = [], {}
            for own, until in sorted(last.items()):
                block = self.blocks[own]
                if block.depth == layer:
                    assert block.pre is not None  # only the block of the input has no `pre`
                    rows.append(self._affine(block.pre, present))
                    kept[own] = np.eye(block.size)
                elif block.depth < layer <= until:
                    reads, carried = _carried(present[own], signed=layer == 1)
                    rows.append((reads, np.zeros(len(reads))))
                    kept[own] = carried
            maps.append((np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])))
            present = _placed(kept)
        maps.append(self._affine(output, present))
        return ReluNetwork(tuple(weight for weight, _ in maps), tuple(bias for _, bias in maps))

    def _last_use(self, output: Signal, depth: int) -> dict[int, int]:
        """Return, for each block on which the output depends, the last layer that must carry the units of the block."""
        last: dict[int, int] = {}
        waiting = [(output, depth)]
        while waiting:
            signal, until = waiting.pop()
            for own in signal.columns:
                fresh = own not in last
                last[own] = max(last.get(own, 0), until)
                pre = self.blocks[own].pre
                if fresh and pre is not None:
                    waiting.append((pre, self.blocks[own].depth - 1))
        return last

    @staticmethod
    def _affine(signal: Signal, present: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix and bias that compute the flattened signal from the units of a layer."""
        offset = as_weights("network", signal.offset).ravel()
        flat = lambda columns: as_weights("network", columns).reshape(len(columns), -1).T
        width = next(iter(present.values())).shape[1]
        own = [flat(columns) @ present[block] for block, columns in signal.columns.items()]
        return sum(own, np.zeros((len(offset), width))), offset


def _carried(value: Float[np.ndarray, "k u"], signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices. The first gives the pre-activations of the units that a layer adds to carry a value. The
    second gives the value as a function of these units.

    The input is carried as its positive and negative parts.

    Args:
        value: the matrix that gives the value from the units of the layer before. After the first layer, each entry of
            the value is a unit of at least 0, or a difference of two such units.
        signed: whether the value is the input itself.
    """
    if signed:
        return np.concatenate([value, -value]), np.concatenate([np.eye(len(value)), -np.eye(len(value))], axis=1)
    used = np.flatnonzero(value.any(0))
    return np.eye(value.shape[1])[used], value[:, used]


def _placed(kept: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return the matrices of values as functions of all units of the layer, with the blocks of units concatenated."""
    width, start, found = sum(own.shape[1] for own in kept.values()), 0, {}
    for block, own in kept.items():
        found[block] = np.zeros((len(own), width))
        found[block][:, start : start + own.shape[1]] = own
        start += own.shape[1]
    return found


def combined(factors: Sequence[Any], signals: Sequence[Signal]) -> Signal:
    """Return the sum of signals of one shape, each multiplied by its factor."""
    columns: dict[int, Any] = {}
    for factor, signal in zip(factors, signals, strict=True):
        for block, own in signal.columns.items():
            columns[block] = columns[block] + factor * own if block in columns else factor * own
    return Signal(columns, sum(factor * signal.offset for factor, signal in zip(factors, signals, strict=True)))


def moved(signal: Signal, by: Any) -> Signal:
    """Return the signal plus a constant."""
    return Signal(signal.columns, signal.offset + by)


def refused(where: str, found: str | None) -> SettingError:
    """Return the error for a layer that cannot be bounded.

    Args:
        where: the path of the layer in the network, or the name of the network.
        found: the operation that cannot be bounded.
    """
    return SettingError(f"layer {where}", found=found, rule=RULE)
