"""The cells of a small space of architectures, and the networks of these cells, built from lemmata's layers."""

import dataclasses
import itertools
import math

from lemmata.architectures import AbstractLayer, Dense, Erf, Gelu, Relu, Serial, Sin, residual
from lemmata.architectures import tanh as tanh_layer
from lemmata.errors import SettingError

ACTIVATIONS: dict[str, AbstractLayer] = {
    "relu": Relu(), "gelu": Gelu(), "erf": Erf(), "tanh": tanh_layer(), "sin": Sin(),
}  # fmt: skip
"""The activations that a cell may use, by name."""
DEEPEST, WIDEST = 8, 1024
WEIGHT_STD = math.sqrt(2.0)


class CellError(SettingError):
    """Raised if a cell does not describe a network. The message names the invalid argument, its value and the rule."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """A fully connected network with `depth` hidden layers of one width, with or without skip connections.

    The network computes u_1 = D x, then u_{l+1} = [skip] u_l + D a(u_l) for each further layer, and returns D
    a(u_depth). In this formula, [skip] is 1 with skip connections and 0 without, and a is the activation. Each D is a
    separate dense layer in the NTK parameterisation. The standard deviation of the weights is sqrt(2) in hidden layers
    and 1 in the readout.

    Args:
        depth: the number of hidden layers, from 1 to 8.
        activation: one of `ACTIVATIONS`.
        skip: whether the output of every hidden layer after the first is added to the input of this layer.
        width: the width of the hidden layers, from 1 to 1024.

    Raises:
        CellError: for an invalid depth, width or activation, and for a skip connection without a layer to skip.

    Example:
        >>> from lemmata.subjects.adversaries import Cell
        >>> Cell(depth=2, activation="erf", skip=True, width=16).parameters(inputs=4, outputs=1)
        336
    """

    depth: int
    activation: str
    skip: bool
    width: int

    def __post_init__(self):
        for name, value, most in (("depth", self.depth, DEEPEST), ("width", self.width, WIDEST)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise CellError(f"{name} of a cell", found=repr(value), rule=f"a whole number from 1 to {most}")
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise CellError("activation of a cell", found=repr(self.activation), rule=f"one of {known}")
        if not isinstance(self.skip, bool):
            raise CellError("skip of a cell", found=repr(self.skip), rule="True or False")
        if self.skip and self.depth == 1:
            rule = "a depth of at least 2, because a skip needs a hidden layer with as many inputs as outputs"
            raise CellError("skip of a cell", found="True with depth 1", rule=rule, remedy="use depth=2, or skip=False")

    def network(self, outputs: int = 1) -> Serial:
        """Return the cell as a layer of `lemmata.architectures`, with a finite network and infinite-width kernels."""
        activation = ACTIVATIONS[self.activation]
        layers: list[AbstractLayer] = [Dense(self.width, WEIGHT_STD)]
        for _ in range(self.depth - 1):
            block = Serial([activation, Dense(self.width, WEIGHT_STD)])
            layers.append(residual(block) if self.skip else block)
        return Serial([*layers, activation, Dense(outputs)])

    def parameters(self, inputs: int, outputs: int) -> int:
        """The number of trained parameters of the network with these numbers of inputs and outputs."""
        return self.width * (inputs + (self.depth - 1) * self.width + outputs)


def cell_grid(
    depths: tuple[int, ...] = (2, 3, 4),
    activations: tuple[str, ...] = tuple(ACTIVATIONS),
    skips: tuple[bool, ...] = (False, True),
    widths: tuple[int, ...] = (12, 32),
) -> tuple[Cell, ...]:
    """Return all cells of a grid. Without arguments, the grid has 60 cells.

    Args:
        depths: numbers of hidden layers.
        activations: names in `ACTIVATIONS`.
        skips: True for cells with skip connections, False for cells without.
        widths: widths of the hidden layers.

    Raises:
        CellError: if a cell of the grid is invalid, as in `Cell`; the message names the first invalid cell.

    Example:
        >>> from lemmata.subjects.adversaries import cell_grid
        >>> len(cell_grid())
        60
    """
    return tuple(Cell(*parts) for parts in itertools.product(depths, activations, skips, widths))
