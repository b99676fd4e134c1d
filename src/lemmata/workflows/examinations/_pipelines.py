"""Rows as the last step of a pipeline reads them, and sparse rows with their zeros."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

_SHARE = 0.25  # share of free memory that the rows may take


def as_last_step_reads(pipeline: Any, rows: Any) -> Float[np.ndarray, "n d"]:
    """The rows after the other steps of a fitted pipeline, in double precision.

    Encoders of categories and of words make sparse matrices, whose zeros are written out here.

    Args:
        pipeline: of scikit-learn, with at least two steps.
        rows: as the pipeline takes them: an array, a data frame, or texts.

    Raises:
        MemoryPlanError: see `dense`.
    """
    return np.asarray(dense(pipeline[:-1].transform(rows)), dtype=np.float64)


def dense(rows: Any) -> Any:
    """Rows of a sparse matrix as an array (n, d) in double precision; anything else is not changed.

    Args:
        rows: as the user has them.

    Raises:
        MemoryPlanError: the zeros of a sparse matrix would take more than a quarter of the memory that is free.
    """
    if not sparse.issparse(rows):
        return rows
    size, free = 8.0 * np.prod(rows.shape, dtype=float), _SHARE * available_bytes()
    if size > free:
        found = f"{rows.shape[0]:,} rows of {rows.shape[1]:,} columns, {size / 2**30:.2g} GiB with their zeros"
        raise MemoryPlanError(
            "rows of a sparse matrix", found=found, rule=f"at most {free / 2**30:.2g} GiB",
            remedy="encode fewer columns (max_features of a vectorizer), or pass fewer rows",
        )  # fmt: skip
    return np.asarray(rows.toarray(), dtype=np.float64)
