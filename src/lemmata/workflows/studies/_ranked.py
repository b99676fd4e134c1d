"""Estimate the average precision on new rows from a few held-out rows."""

import numpy as np
from jaxtyping import Bool, Float


def expected_precision(
    positive: Bool[np.ndarray, " m"], scores: Float[np.ndarray, " m"], share: float | None = None
) -> float:
    """Estimate, from these rows, the average precision on many new rows of the same distribution.

    Average precision is the mean, over the positive rows, of the precision among all rows ranked at least as high as
    the positive row,

        p TPR / (p TPR + (1 - p) FPR),

    where p is the share of positive rows. TPR and FPR are the shares of positive rows and of other rows that are ranked
    at least as high. scikit-learn's `average_precision_score` counts a positive row itself among the rows ranked at
    least as high. This count makes its value too large, and the error grows as the number P of positive rows falls. For
    example, with 5 positive rows among 500 and random scores, the mean of its value is 0.02 instead of 0.01. This
    function computes the TPR of a positive row from the other P - 1 positive rows only (1/2 if there is none). The
    share p is that of the table. The share of positive rows among the given rows would be too large on average, because
    average precision is computed only if there is a positive row. The values of the two functions agree if P is large,
    and if the ranking is perfect.

    Args:
        positive: for each row, whether it belongs to the positive class.
        scores: the scores of the rows; rows with higher scores are ranked first.
        share: p, the share of positive rows in the table; None means their share in these rows.

    >>> y = np.arange(1000) < 10
    >>> bool(abs(expected_precision(y, np.zeros(1000)) - 0.01) < 1e-12), expected_precision(y, 1.0 * y)
    (True, 1.0)
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    above = np.cumsum(positive[order])[last].astype(float)
    others = np.cumsum(~positive[order])[last]
    own = np.diff(above, prepend=0.0)
    total, rest = float(positive.sum()), float((~positive).sum())
    p = total / len(positive) if share is None else share
    right = np.maximum(above - 1, 0.0) / (total - 1) if total > 1 else 0.5 * above
    wrong = others / max(rest, 1.0)
    precision = np.where(wrong > 0, p * right / np.maximum(p * right + (1 - p) * wrong, np.finfo(float).tiny), 1.0)
    return float(own @ precision / total)


def mean_precision(
    y: Float[np.ndarray, "m k"], scores: Float[np.ndarray, "m k"], shares: tuple[float, ...] = ()
) -> float:
    """Return `expected_precision` of the second of two classes, or the mean over the classes that occur in the rows.

    Args:
        y: the classes as one-hot columns.
        scores: a score for each class.
        shares: the share of each class in the table; empty for the shares in these rows.
    """
    if y.shape[1] == 2:
        return expected_precision(y[:, 1] > 0, scores[:, 1] - scores[:, 0], shares[1] if shares else None)
    found = [expected_precision(y[:, c] > 0, scores[:, c], shares[c] if shares else None)
             for c in np.flatnonzero(y.any(axis=0))]  # fmt: skip
    return float(np.mean(found))
