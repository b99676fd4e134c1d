"""Rows as the last step of a pipeline reads them."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

_SHARE = 0.25  # of free memory that the rows may take


def as_last_step_reads(pipeline: Any, rows: Any) -> Float[np.ndarray, "n d"]:
    """What the other steps of a fitted pipeline make of rows, in double precision.

    Encoders of categories and of words make sparse matrices, whose zeros are written out here.

    Args:
        pipeline: of scikit-learn, with at least two steps.
        rows: as the pipeline takes them: an array, a data frame, or texts.

    Raises:
        MemoryPlanError: the zeros of a sparse matrix would take more than a quarter of the memory that is free.
    """
    found = pipeline[:-1].transform(rows)
    if not sparse.issparse(found):
        return np.asarray(found, dtype=np.float64)
    size, free = 8.0 * np.prod(found.shape, dtype=float), _SHARE * available_bytes()
    if size > free:
        columns = f"{found.shape[0]:,} rows of {found.shape[1]:,} columns, {size / 2**30:.2g} GiB with their zeros"
        raise MemoryPlanError(
            "the rows that the last step of the pipeline reads", found=columns, rule=f"at most {free / 2**30:.2g} GiB",
            remedy="encode fewer columns (max_features of a vectorizer), or pass fewer rows",
        )  # fmt: skip
    return np.asarray(found.toarray(), dtype=np.float64)
