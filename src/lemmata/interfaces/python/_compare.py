"""`lemmata.compare`: the comparison of ways of mixing sequences, as a function in Python."""

import dataclasses
import functools
import time
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl

from lemmata.core import check_executor
from lemmata.errors import SettingError
from lemmata.interfaces.report import curves_chart, families_fragment, plotted
from lemmata.options import ComparisonOptions
from lemmata.signatures import shows_signature, shows_signatures
from lemmata.workflows.comparisons import ComparisonRecord, load_sequences, run_comparison

from ._asked import asked, typed
from ._exits import exits_told
from ._finished import Finished


@shows_signatures
@dataclasses.dataclass(frozen=True, repr=False)
class Comparison(Finished[ComparisonRecord]):
    """A finished comparison.

    Args:
        record: all results of the comparison, as in compare.json.
        data: the sequences as they were given; None if the comparison was read from compare.json.
    """

    data: object = dataclasses.field(default=None, compare=False)
    kind = ComparisonRecord

    @property
    def _source(self) -> object:
        return self.data

    @property
    def winner(self) -> str | None:
        """The name of the family that wins; None if no family wins."""
        return self.record.winner

    @property
    def answer(self) -> str:
        """The answer in words, the most important sentence first."""
        return "\n".join(self.record.sentences)

    @functools.cached_property
    def curves(self) -> pl.DataFrame:
        """Learning curves: a row for each family, number of training rows, and kind ("measured" or "predicted").

        Errors are divided by the error of guessing the mean. For a measured value, `lower` and `upper` are two standard
        errors (over the splits) below and above this value. For a predicted value, they are the ends of its interval.
        """
        rows = []
        for family in self.record.families:
            for point in family.points:
                if point.measured is not None:
                    reach = 2 * (point.se or 0.0)
                    ends = point.measured - reach, point.measured + reach
                    rows.append((family.name, point.n, "measured", point.measured, *ends))
                if point.predicted is not None:
                    own = point.predicted
                    rows.append((family.name, point.n, "predicted", own.value, own.lower, own.upper))
        return pl.DataFrame(rows, schema=["family", "n", "kind", "value", "lower", "upper"], orient="row")

    def plot(self) -> Any:
        """The learning curves as an Altair chart."""
        return plotted(curves_chart(self.record))

    def __repr__(self) -> str:
        return f"Comparison on {self.record.data.name}\n{self.answer}"

    def _repr_html_(self) -> str:
        return families_fragment(self.record)


@shows_signature
@exits_told()
def compare(
    x: object, y: object = None, mask: object = None, executor: Executor | None = None, **options: Any
) -> Comparison:
    """Which way of mixing a sequence fits these rows: none, local windows, a linear recurrence, or attention?

    Args:
        x: an array of shape (n, T, c), with n rows of T tokens and c channels. Or an array of shape (n, columns) or a
            pandas or polars data frame, together with `sequence_length`. Or the name of a bundled task ("lookup",
            "filter", "motif", "smooth", "noise", "hold"), the data set "digits", or a path.
        y: the targets, of shape (n) or (n, k); None if x is a table in which `target` names their column.
        mask: for an array (n, T, c), whether a position holds a token. The tokens of a row must be at its last
            positions.
        executor: an executor of `concurrent.futures` that fits the families; None means this process.
        options: the fields of `lemmata.options.ComparisonOptions`, such as families=["mlp", "attention"],
            lengths="none", repeats=3.

    Raises:
        DataError: if the rows cannot be used.
        SettingError: if an option is unknown or out of its bounds.
        UnknownNameError: if a named column does not exist.
        MissingFileError: if the file or task does not exist.

    >>> import lemmata
    >>> found = lemmata.compare("motif", families=["mlp", "conv"], repeats=2, max_rows=200, lengths="none")
    >>> found.winner
    'conv'
    """
    started = time.monotonic()
    told = ComparisonOptions(**_checked(options))
    check_executor(executor)
    data = x if y is None else (x, y) if mask is None else (x, y, mask)
    if y is None and mask is not None:
        raise SettingError("mask is given without y", rule="x, y and mask must be arrays with the same number of rows")
    if mask is not None and np.ndim(np.asarray(x)) != 3:
        raise SettingError("mask does not fit x", found=f"x of {np.ndim(np.asarray(x))} axes", rule="x (n, T, c)")
    with jax.enable_x64(True):
        record = run_comparison(load_sequences(data, told), told, started=started, executor=executor)
    return Comparison(record, x if isinstance(x, str | Path) else None)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Check the options by name, and join sequences of names or lengths to one string each."""
    joined = {
        name: ",".join(str(part) for part in value) or "none"
        if name in ("families", "lengths") and not isinstance(value, str) and isinstance(value, Iterable) else value
        for name, value in asked(ComparisonOptions, options, "compare").items()
    }  # fmt: skip
    return typed(ComparisonOptions, joined)
