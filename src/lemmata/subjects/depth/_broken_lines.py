"""Continuous piecewise affine functions of one variable, and ReLU networks of one input, in exact arithmetic."""

import bisect
import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np


@dataclasses.dataclass(frozen=True)
class BrokenLine:
    """A function given by its values at one or more knots, and by its slopes before the first and after the last knot.

    >>> tent = BrokenLine([Fraction(0), Fraction(1, 2), Fraction(1)], [Fraction(0), Fraction(1), Fraction(0)])
    >>> tent.pieces, tent.after(tent).pieces
    (4, 6)
    """

    knots: Sequence[Fraction]
    values: Sequence[Fraction]
    left: Fraction = Fraction(0)
    right: Fraction = Fraction(0)

    @classmethod
    def of(cls, knots: np.ndarray, values: np.ndarray, left: float, right: float) -> "BrokenLine":
        """Make a function from floating-point numbers, which are rational."""
        exact = lambda numbers: [Fraction(float(number)) for number in numbers]
        return cls(exact(knots), exact(values), *exact((left, right)))

    @property
    def slopes(self) -> list[Fraction]:
        """The slopes in order, with repetitions at knots where the slope does not change."""
        pairs = zip(self.knots[1:], self.knots, self.values[1:], self.values, strict=False)
        return [self.left, *((v - w) / (x - y) for x, y, v, w in pairs), self.right]

    @property
    def pieces(self) -> int:
        """The least number of intervals on which the function is affine."""
        return 1 + len(self.turns(lambda before, after: before != after))

    def turns(self, which: Callable[[Fraction, Fraction], bool]) -> list[Fraction]:
        """Return the knots at which `which` holds for the slopes before and after the knot."""
        slopes = self.slopes
        return [x for x, before, after in zip(self.knots, slopes, slopes[1:], strict=False) if which(before, after)]

    def __call__(self, x: Fraction) -> Fraction:
        at = bisect.bisect_left(self.knots, x)
        if at == len(self.knots):
            return self.values[-1] + self.right * (x - self.knots[-1])
        if at == 0:
            return self.values[0] + self.left * (x - self.knots[0])
        low, high = self.knots[at - 1], self.knots[at]
        return self.values[at - 1] + (self.values[at] - self.values[at - 1]) * (x - low) / (high - low)

    def after(self, inner: "BrokenLine") -> "BrokenLine":
        """Return x -> self(inner(x)). Its knots are knots of inner, or points that inner maps to knots of self."""
        knots = set(inner.knots)
        slopes = inner.slopes
        starts = [inner.knots[0], *inner.knots]
        levels = [inner.values[0], *inner.values]
        ends = [None, *inner.knots[1:], None]
        for place, slope in enumerate(slopes):
            if slope == 0:
                continue
            for level in self.knots:
                x = starts[place] + (level - levels[place]) / slope
                inside = x < starts[0] if place == 0 else x > starts[place] and (ends[place] is None or x < ends[place])
                if inside:
                    knots.add(x)
        ordered = sorted(knots)
        first, last = (self.right if inner.left < 0 else self.left), (self.left if inner.right < 0 else self.right)
        return BrokenLine(
            ordered, [self(inner(x)) for x in ordered], first * inner.left, last * inner.right
        ).without_false_knots()

    def without_false_knots(self) -> "BrokenLine":
        """Return this function with knots only where the slope changes, or with one knot if the slope is constant."""
        kept = self.turns(lambda before, after: before != after) or [self.knots[0]]
        return BrokenLine(kept, [self(x) for x in kept], self.left, self.right)


def combined(
    lines: Sequence[BrokenLine], factors: Sequence[Fraction | int], shift: Fraction = Fraction(0)
) -> BrokenLine:
    """Return the sum of the lines, each multiplied by its factor, plus the number `shift`."""
    knots = sorted({x for line in lines for x in line.knots})
    sums = lambda numbers: sum((a * number for a, number in zip(factors, numbers, strict=True)), Fraction(0))
    values = [shift + sums([line(x) for line in lines]) for x in knots]
    ends = sums([line.left for line in lines]), sums([line.right for line in lines])
    return BrokenLine(knots, values, *ends).without_false_knots()


IDENTITY = BrokenLine([Fraction(0)], [Fraction(0)], Fraction(1), Fraction(1))
RELU = BrokenLine([Fraction(0)], [Fraction(0)], Fraction(0), Fraction(1))


def network_output(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]) -> BrokenLine:
    """Return the output of a ReLU network of one input as a function. The last layer is affine and has one output."""
    layer = [IDENTITY]
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        exact = lambda row: [Fraction(float(number)) for number in row]
        layer = [combined(layer, exact(row), Fraction(float(b))) for row, b in zip(weight, bias, strict=True)]
        if depth + 1 < len(weights):
            layer = [RELU.after(line) for line in layer]
    return layer[0]


def tent_network(k: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return weights and biases of a network that composes the tent map relu(2 relu(x) - 4 relu(x - 1/2)) k times."""
    weights = [np.ones((2, 1)), np.asarray([[2.0, -4.0]])] * k + [np.ones((1, 1))]
    return weights, [np.asarray([0.0, -0.5]), np.zeros(1)] * k + [np.zeros(1)]
