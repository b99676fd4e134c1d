"""Find equal rows, the most common cause of a singular Gram matrix."""

import numpy as np
from jaxtyping import Array, Float


def duplicate_rows(x: Float[Array, "n d"] | Float[np.ndarray, "n d"]) -> list[tuple[int, int]]:
    """The rows that exactly repeat an earlier row, each with the first row that is equal to it.

    Every such pair lowers the largest possible rank of a Gram matrix of the rows by one. A row that contains NaN is not
    equal to any row.

    Args:
        x: inputs, one row for each point.

    Returns:
        Pairs (earlier, later), counted from 0, in the order of the later row.

    >>> import numpy as np
    >>> duplicate_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0]]))
    [(0, 2), (0, 3)]
    """
    seen: dict[tuple, int] = {}
    pairs = []
    for later, row in enumerate(map(tuple, np.asarray(x).tolist())):
        earlier = seen.setdefault(row, later)
        if earlier != later:
            pairs.append((earlier, later))
    return pairs
