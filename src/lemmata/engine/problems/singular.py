"""The reason why a Gram matrix is singular, in words."""

import numpy as np
from jaxtyping import Array, Float

from lemmata.engine.problems.duplicates import duplicate_rows

_SHOWN = 3


def singular_cause(matrix: Float[Array, "n n"], inputs: Float[Array, "n d"] | None) -> str | None:
    """A text about equal training rows, and about the rank if equal rows do not explain it. None if the rank is full.

    An eigenvalue counts as zero up to 16 n eps times the largest eigenvalue. The hypotheses of claims allow the same
    rounding error.

    Args:
        matrix: the Gram matrix.
        inputs: the training rows to which the matrix belongs, if they are known.
    """
    if not np.isfinite(matrix).all():
        return None
    values = np.linalg.eigvalsh(np.asarray(matrix))
    rows = len(values)
    rank = int(np.sum(values > 16 * rows * np.finfo(values.dtype).eps * values[-1]))
    if rank == rows:
        return None
    pairs = [] if inputs is None else duplicate_rows(inputs)
    low_rank = f"the kernel matrix of the {rows} rows has rank {rank}"
    if not pairs:
        return low_rank
    shown = ", ".join(f"{earlier} and {later}" for earlier, later in pairs[:_SHOWN])
    more = ", ..." if len(pairs) > _SHOWN else ""
    count = "1 pair of equal rows" if len(pairs) == 1 else f"{len(pairs)} pairs of equal rows"
    verb = "makes" if len(pairs) == 1 else "make"
    equal = (
        f"{count} (training rows {shown}{more}, counted from 0) {verb} the smallest eigenvalue of the kernel matrix "
        "zero"
    )
    return equal if rows - rank <= len(pairs) else f"{equal}, and {low_rank}"
