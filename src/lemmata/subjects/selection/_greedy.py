"""A greedy choice of points for a large determinant of their Gram matrix, by a Cholesky factorisation with pivots."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lemmata.core import check_gram, check_numbers, known
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError


def greedy_log_determinant(
    gram: Float[Array, "n columns"],
    count: int,
    noise: float | Float[Array, ""] | Float[Array, " rows"],
    *,
    allowed: Bool[Array, " points"] | None = None,
) -> tuple[Int[Array, " count"], Float[Array, " count"]]:
    """Choose points one by one. Each new point of the set S adds most to log det(K_S + D_S), with diagonal noise D.

    Extend the Cholesky factor of K + D at the chosen points to all candidates, and let l_i be the row of candidate i. A
    chosen candidate i adds the logarithm of its pivot k_ii + d_i - |l_i|². The pivot is the variance of a noisy value
    at the point, given noisy values at the chosen points. After each choice, the rows of all candidates are updated, so
    choosing c of n points takes n c² operations. With one noise for all points, the sum of log(pivot / noise) = log
    det(I + K_S / noise) is a monotone submodular function of the set. So the greedy choice reaches at least 1 - 1/e of
    the maximum of this sum (Nemhauser, Wolsey and Fisher, 1978). Of tied candidates, the first is chosen.

    Args:
        gram: the Gram matrix K of all candidates, positive semidefinite.
        count: the number of points to choose.
        noise: the noise variances d_i, above 0: one number for all candidates or one for each.
        allowed: whether each candidate may be chosen; by default, all may.

    Returns:
        The chosen rows in their order, and the pivot of each.

    Raises:
        ShapeError: if K is not square and symmetric, or `noise` or `allowed` has another length.
        SettingError: for a count outside 1..m, where m is the number of allowed candidates, or a noise that is not
            positive.
        NotPositiveDefiniteError: if a pivot is not above 0. Pivots that JAX traces are not checked.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.selection import greedy_log_determinant
        >>> rows, pivots = greedy_log_determinant(jnp.diag(jnp.array([1.0, 3.0, 2.0])), 2, 1.0)
        >>> rows.tolist(), pivots.tolist()
        ([1, 2], [4.0, 3.0])
    """
    check_gram("the Gram matrix", gram)
    n = len(gram)
    check_numbers("noise", noise)
    levels = jnp.asarray(noise, gram.dtype)
    if levels.shape not in ((), (n,)):
        raise ShapeError(
            "noise", found=f"shape {levels.shape}", rule=f"one number, or one for each of the {n} candidates"
        )
    if known(levels) is not None and not bool(jnp.all(levels > 0)):
        raise SettingError("noise", found=float(jnp.min(levels)), rule="a number above 0")
    free = jnp.ones(n, bool) if allowed is None else jnp.asarray(allowed)
    if free.shape != (n,):
        raise ShapeError("allowed", found=f"shape {free.shape}", rule=f"shape ({n},), one value for each candidate")
    left = n if known(free) is None else int(free.sum())
    if not 1 <= count <= left:
        raise SettingError(
            "count", found=count, rule=f"a whole number from 1 to {left}, the number of candidates that may be chosen"
        )
    rows, pivots = _pivoted(gram, jnp.broadcast_to(levels, (n,)), free, count)
    told = known(pivots)
    if told is not None and not told.min() > 0:  # NaN, too
        found, rule = (
            f"a pivot of {told[~(told > 0)][0]:.3g}",
            "a positive semidefinite matrix, for which pivots of K + D are above 0",
        )
        remedy = "use a kernel that is positive semidefinite, or more noise"
        raise NotPositiveDefiniteError("Gram matrix", found=found, rule=rule, remedy=remedy)
    return rows, pivots


@partial(jax.jit, static_argnames="count")
def _pivoted(gram: Array, noise: Array, free: Array, count: int) -> tuple[Array, Array]:
    def choose(step: Array, state: tuple) -> tuple:
        pivots, factor, free, rows, found = state
        row = jnp.argmax(jnp.where(free, pivots, -jnp.inf))
        column = (gram[:, row] - factor @ factor[row]) / jnp.sqrt(pivots[row])
        rows, found = rows.at[step].set(row), found.at[step].set(pivots[row])
        return pivots - column**2, factor.at[:, step].set(column), free.at[row].set(False), rows, found

    start = (jnp.diagonal(gram) + noise, jnp.zeros((len(gram), count)), free)
    return jax.lax.fori_loop(0, count, choose, (*start, jnp.zeros(count, int), jnp.zeros(count)))[3:]
