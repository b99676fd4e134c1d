"""Transform rows as the last step of a pipeline reads them, and write out the zeros of sparse rows."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

_SHARE = 0.25  # share of free memory that the rows may take


def as_last_step_reads(pipeline: Any, rows: Any) -> Float[np.ndarray, "n d"]:
    """Return the rows after all steps but the last of a fitted pipeline, in double precision.

    Encoders of categories and words make sparse matrices. Their zeros are written out here.

    Args:
        pipeline: a pipeline of scikit-learn with at least two steps.
        rows: the rows in a form that the pipeline takes: an array, a data frame, or texts.

    Raises:
        MemoryPlanError: see `dense`.
    """
    return np.asarray(dense(pipeline[:-1].transform(rows)), dtype=np.float64)


def dense(rows: Any) -> Any:
    """Return the rows of a sparse matrix as an array (n, d) in double precision. Return anything else unchanged.

    Args:
        rows: the user's rows.

    Raises:
        MemoryPlanError: if a sparse matrix with its zeros would take more than a quarter of the free memory.
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
