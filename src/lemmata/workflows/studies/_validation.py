"""Choose the training rows on which a model's settings are validated: single rows, or whole groups.

Rows of one group have information about each other. If settings were chosen on rows whose groups are also trained on,
they would suit new rows of known groups. But a study with groups is about rows of new groups, so whole groups are left
out.
"""

import numpy as np
from jaxtyping import Bool, Int

PARTS = 5
"""To choose a setting, a fifth of the rows (or of the groups) is left out. Then the model is fitted to all rows."""

Groups = Int[np.ndarray, " n"] | None


def parted(groups: Groups) -> bool:
    """Whether there are at least two groups, so that groups can be left out."""
    return groups is not None and len(np.unique(groups)) > 1


def group_parts(groups: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " part"]]:
    """Return the rows of up to five parts of about equal size, by scikit-learn's GroupKFold. No group is in two parts.

    >>> sorted(part.tolist() for part in group_parts(np.array([0, 0, 1, 2])))
    [[0, 1], [2], [3]]
    """
    from sklearn.model_selection import GroupKFold

    number = min(PARTS, len(np.unique(groups)))
    return [part for _, part in GroupKFold(number).split(groups, groups=groups)]


def validating(n: int, groups: Groups = None) -> Bool[np.ndarray, " n"]:
    """Return a mask of the rows, among n rows, that are left out of a fit to choose a setting.

    >>> validating(10).nonzero()[0].tolist()
    [4, 9]
    """
    found = np.arange(n) % PARTS == PARTS - 1
    if parted(groups):
        assert groups is not None
        found = np.zeros(n, bool)
        found[group_parts(groups)[-1]] = True
    return found


def last_rows(n: int, most: int, share: float, groups: Groups = None) -> int:
    """Return how many of n rows are fitted while the last rows choose settings.

    The number of last rows is the given share of n, but at most `most`. If rows have groups, they must be sorted by
    group. The last groups, with at least a fifth of the rows, then choose settings, but never all groups.
    """
    if not parted(groups):
        return n - min(most, int(share * n))
    assert groups is not None
    starts = np.flatnonzero(np.diff(groups)) + 1
    before = starts[starts <= n - n // PARTS]
    return int(before[-1] if len(before) else starts[0])
