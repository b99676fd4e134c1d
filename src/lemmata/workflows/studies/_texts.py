"""Return findings about text columns: categories with few rows, and free text."""

import numpy as np

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._columns import FEWEST_REPEATS, Inputs


def rare_texts(inputs: Inputs) -> list[Finding]:
    """Return findings about text columns with many categories, some of which have few rows."""
    found = []
    for name, codes in zip(inputs.texts, inputs.pooled.T, strict=True):
        sizes = np.unique(codes[~np.isnan(codes)], return_counts=True)[1]
        few = sizes[sizes < FEWEST_REPEATS]
        if len(few):
            text = (
                f"{len(few):,} of the {len(sizes):,} categories of {shortened(name)!r} have fewer than "
                f"{FEWEST_REPEATS} rows ({few.sum():,} rows in all). Each category enters as the mean target of its "
                "training rows, which is unreliable for so few rows. A new category gets the mean of all rows."
            )
            found.append(Finding("categories", (name,), text))
    return found


def free_texts(inputs: Inputs) -> list[Finding]:
    """Return findings about text columns whose texts hardly repeat.

    The study's own models do not use such a column. Only a model of the user can use it.
    """
    text = (
        "{} is text that hardly repeats. The study's own models do not use this column; only a model of --model does."
    )
    return [Finding("categories", (name,), text.format(repr(shortened(name)))) for name in inputs.free]
