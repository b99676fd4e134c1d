"""Replace training rows, one at a time, by new rows, and compute the changes of the losses."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from ._fits import Fit, Loss, losses_of, predictor


@dataclasses.dataclass(frozen=True, eq=False)
class ReplaceOne:
    """The changes of losses when training rows are replaced, one at a time.

    S is the training set with rows z_i, A(S) is the fit to S, and l is the loss. The pool contains rows that are not in
    S. S^(i) is S with z_i replaced by a row z' of the pool.

    Args:
        rows: the training rows that were replaced, one at a time.
        by: for each replaced row, the index in the pool of the row that replaced it.
        changes: l(A(S^(i)), z_i) - l(A(S), z_i) for each i: the loss at z_i after its replacement, minus the loss at
            z_i before.
        new: l(A(S), z') - l(A(S^(i)), z') for each i: the loss at z' before the replacement, minus the loss at z' after
            it.
        others: the mean of l(A(S^(i)), z_j) - l(A(S), z_j) over the training rows, with 0 for j = i.
        unseen: the mean of l(A(S^(i)), z) - l(A(S), z) over the rows z of the pool except z'.
        spread: the sample variance, over the same rows of the pool, of the differences whose mean is `unseen`.
        largest: max_z |l(A(S^(i)), z) - l(A(S), z)| for each i, over the training rows and the pool.
        train: the losses of A(S) at the training rows.
        pool: the losses of A(S) at the rows of the pool.
    """

    rows: Int[np.ndarray, " r"]
    by: Int[np.ndarray, " r"]
    changes: Float[np.ndarray, " r"]
    new: Float[np.ndarray, " r"]
    others: Float[np.ndarray, " r"]
    unseen: Float[np.ndarray, " r"]
    spread: Float[np.ndarray, " r"]
    largest: Float[np.ndarray, " r"]
    train: Float[np.ndarray, " n"]
    pool: Float[np.ndarray, " m"]


def replace_one(
    fit: Fit,
    sample: tuple[np.ndarray, np.ndarray],
    pool: tuple[np.ndarray, np.ndarray],
    replaced: int,
    loss: Loss,
    generator: np.random.Generator,
) -> ReplaceOne:
    """Fit again with one training row replaced by a row of the pool, for several training rows, and compute the losses.

    The replaced rows are distinct. The mean of `changes` is an unbiased estimate of E[R(A(S)) - R_S(A(S))], risk minus
    training loss, for any algorithm and loss. If the i-th row is replaced, z_i has the same relation to A(S^(i)) as a
    new row has to A(S). Rows of the pool are used in turn, in random order.

    Args:
        fit: the algorithm A.
        sample: inputs and targets of S.
        pool: inputs and targets of rows from the same distribution that are not in S.
        replaced: the number of training rows to replace, one at a time.
        loss: a function of (predicted, y) that returns one number for each row.
        generator: the random generator that chooses the rows.
    """
    (x, y), (pool_x, pool_y) = sample, pool
    every_x, every_y = np.concatenate([x, pool_x]), np.concatenate([y, pool_y])
    before = losses_of(loss, predictor(fit, x, y)(every_x), every_y)
    rows = generator.permutation(len(y))[:replaced]
    by = np.resize(generator.permutation(len(pool_y)), len(rows))
    found = np.empty((len(rows), 6))
    for number, (row, new) in enumerate(zip(rows, by, strict=True)):
        other_x, other_y = x.copy(), y.copy()
        other_x[row], other_y[row] = pool_x[new], pool_y[new]
        moved = losses_of(loss, predictor(fit, other_x, other_y)(every_x), every_y) - before
        seen, unseen = moved[: len(y)], np.delete(moved[len(y) :], new)
        others = (seen.sum() - seen[row]) / len(y)
        found[number] = seen[row], -moved[len(y) + new], others, unseen.mean(), unseen.var(ddof=1), np.abs(moved).max()
    changes, own, others, unseen, spread, largest = found.T
    return ReplaceOne(rows, by, changes, own, others, unseen, spread, largest, before[: len(y)], before[len(y) :])
