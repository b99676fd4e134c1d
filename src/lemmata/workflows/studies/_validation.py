"""Decide which training rows choose a model's settings: single rows, or whole groups if rows have groups.

Rows of one group have information about each other. If settings were chosen on rows whose groups are also in training,
the settings would suit new rows of known groups. But a study with groups is about rows of new groups.
"""

import numpy as np
from jaxtyping import Bool, Int

PARTS = 5
"""A setting is chosen on a fifth of the rows, or on groups of about this size. Then the model is fitted to all rows."""

Groups = Int[np.ndarray, " n"] | None


def parted(groups: Groups) -> bool:
    """Whether there are at least two groups, so that groups can be left out."""
    return groups is not None and len(np.unique(groups)) > 1


def group_parts(groups: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " part"]]:
    """The rows of up to five parts of about equal size, where no group is in two parts, by scikit-learn's GroupKFold.

    >>> sorted(part.tolist() for part in group_parts(np.array([0, 0, 1, 2])))
    [[0, 1], [2], [3]]
    """
    from sklearn.model_selection import GroupKFold

    number = min(PARTS, len(np.unique(groups)))
    return [part for _, part in GroupKFold(number).split(groups, groups=groups)]


def validating(n: int, groups: Groups = None) -> Bool[np.ndarray, " n"]:
    """Return which of n rows are left out of a fit to choose a setting.

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
    """Return n minus the number of last rows that choose settings, which is a share of n, but at most `most`.

    Rows of groups are sorted by group. With groups, the last groups with a fifth of the rows choose, but never all
    groups.
    """
    if not parted(groups):
        return n - min(most, int(share * n))
    assert groups is not None
    starts = np.flatnonzero(np.diff(groups)) + 1
    before = starts[starts <= n - n // PARTS]
    return int(before[-1] if len(before) else starts[0])
