"""Find rows that nearly equal another row: repeated measurements, jittered copies, or parts of one picture."""

import math

import numpy as np
from jaxtyping import Float, Int

from lemmata.workflows.records.studies import Finding

from ._columns import Inputs
from ._copies import many_values
from ._encoder import Standardise

ROWS, FEWEST_ROWS = 20_000, 50
"""Only the first `ROWS` rows are compared. A table with fewer than `FEWEST_ROWS` rows is not tested."""
NEIGHBOURS = 20
EXPECTED = 0.01
"""A distance counts as near if at most this many rows of the whole table are expected to be as near by chance."""
NEAREST = 0.1
"""The largest distance of a near duplicate, as a share of the distance to the twentieth neighbour."""
LEAST, SHARE = 3, 0.01
"""The least number of near duplicates, and their least share of the compared rows, at which they are reported."""


def near_copies(inputs: Inputs, groups: np.ndarray | None = None, order: np.ndarray | None = None) -> list[Finding]:
    """Return a finding on the number of rows that nearly equal another row (with groups: a row of another group).

    For each row, the distance to its nearest row is divided by the distance to its twentieth nearest row. Because of
    the division, dense and sparse regions of rows are treated equally. If rows are spread evenly in d dimensions around
    a row, the ratio of the two distances is below r with a probability of at most 19 r^d. The rows themselves determine
    d: half of the twenty neighbours are within 2^(-1/d) times the distance of the twentieth neighbour. A ratio counts
    as near if at most 0.01 rows of the whole table are expected to have a smaller ratio by chance. Distances are
    computed from columns of numbers with many values. In all other columns, two rows count as near only if they are
    equal. Rows that are ordered in time are not tested, because neighbours in time are naturally near.

    Args:
        inputs: the raw inputs.
        groups: the group of each row, or None.
        order: the time of each row, or None.
    """
    numbers = [j for j, names in enumerate(inputs.categories) if names is None and many_values(inputs.values[:, j])]
    if order is not None or not numbers or len(inputs.values) < FEWEST_ROWS:
        return []
    raw = inputs.values[:ROWS, numbers]
    whole = np.flatnonzero(~np.isnan(raw).any(axis=1))
    x = Standardise().fit_transform(raw[whole]) if len(whole) >= FEWEST_ROWS else raw[:0]
    first = np.sort(np.unique(x, axis=0, return_index=True)[1])
    if len(first) < FEWEST_ROWS:
        return []
    pairs = _pairs(x[first])
    rows = whole[first]
    first_rows, second_rows = rows[pairs[:, 0]], rows[pairs[:, 1]]
    rest = np.delete(np.nan_to_num(inputs.values, nan=-1.0), numbers, axis=1)
    alike = (rest[first_rows] == rest[second_rows]).all(axis=1)
    if groups is not None:
        alike &= groups[first_rows] != groups[second_rows]
    involved = np.unique(pairs[alike])
    if len(involved) < max(LEAST, SHARE * len(first)):
        return []
    text = (
        f"{len(involved):,} rows are nearly equal to another row{' of another group' if groups is not None else ''}, "
        "and much closer to it than neighbours in this table usually are. If these rows are repeated measurements, "
        "jittered copies, or parts of the same object, give them the same group with --group. Then no held-out row "
        "has a near copy in the training set."
    )
    return [Finding("repeats", (), text)]


def _pairs(x: Float[np.ndarray, "n d"]) -> Int[np.ndarray, "pairs 2"]:
    """Return pairs of a row and its nearest row, for rows whose nearest row is much nearer than expected by chance."""
    from sklearn.neighbors import NearestNeighbors

    neighbours = min(NEIGHBOURS, len(x) // 4)
    distances, places = NearestNeighbors(n_neighbors=neighbours + 1).fit(x).kneighbors(x)
    far = np.maximum(distances[:, -1], np.finfo(float).tiny)
    middle = float(np.median(distances[:, (neighbours + 1) // 2] / far))
    dimension = math.log(0.5) / math.log(min(max(middle, 1e-6), 1 - 1e-6))
    near = min((EXPECTED / (neighbours * len(x))) ** (1 / dimension), NEAREST)
    found = np.flatnonzero(distances[:, 1] < near * far)
    return np.stack([found, places[found, 1]], axis=1)
