"""Tables of an examination: inputs, layers, outputs of a regression, and the posterior; part of model.json."""

import dataclasses

from lemmata.intervals import Interval


@dataclasses.dataclass(frozen=True)
class InputShown:
    """One input of a model: how far it moves the output, and what its values are worth.

    Args:
        name: of the column, or its place in a row.
        slope: the mean size of the gradient times the input's standard deviation; None without derivatives.
        growth: by how much the mean loss grows if the values of this input are permuted among the rows, with its 95 %
            interval for new rows; None where it was not permuted.
        null: 95 % of such growths lie within +- this of 0 if the input says nothing.
        told: whether the growth is told from nothing: the null is rejected, all inputs together at 5 %, and the interval
            lies above 0; None where it was not permuted.
    """

    name: str
    slope: float | None
    growth: Interval | None = None
    null: float | None = None
    told: bool | None = None


@dataclasses.dataclass(frozen=True)
class InputTable:
    """Which inputs matter.

    Args:
        part: the rows that were permuted: "held out" or "training".
        rows: how many.
        permutations: of each input.
        loss: the mean loss of these rows as they are: log loss, the share of errors, or squared distance.
        unit: which of these.
        notes: what was left out, and why.
        columns: inputs, the largest growth of the loss first; empty where nothing was asked.
    """

    part: str
    rows: int
    permutations: int
    loss: float
    unit: str
    notes: list[str] = dataclasses.field(default_factory=list)
    columns: list[InputShown] = dataclasses.field(default_factory=list)
