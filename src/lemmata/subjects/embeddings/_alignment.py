"""Regression that is trained on labelled rows of a source distribution and used on rows of a target distribution. The
regression uses a linear map of the inputs for which source and target have a small discrepancy.
"""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from lemmata.core import check_numbers, check_whole
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import RBF, gram

from ._conditional import conditional_discrepancy

Term = Literal["none", "marginal", "conditional"]
_RIDGE = 1e-2


class AlignedRegression(eqx.Module):
    """A linear map z of the inputs, and a linear predictor of the label from z.

    Args:
        projection: the matrix that maps inputs x to z.
        weights: the weights of z in the prediction.
        level: the constant in the prediction.
        start: the loss on the source and the squared discrepancy D² before the first step.
        end: the loss on the source and the squared discrepancy D² after the last step.
    """

    projection: Float[Array, "d c"]
    weights: Float[Array, " c"]
    level: Float[Array, ""]
    start: tuple[float, float]
    end: tuple[float, float]

    def predict(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the predicted label of each row of x."""
        return x @ self.projection @ self.weights + self.level


def aligned_regression(
    x: Float[Array, "n d"],
    y: Float[Array, " n"],
    target: Float[Array, "m d"],
    *,
    term: Term = "conditional",
    weight: float = 1.0,
    columns: int = 3,
    steps: int = 100,
    rate: float = 0.02,
) -> AlignedRegression:
    """Fit a linear map z = W'x that minimises the source's error plus a discrepancy D between source and target.

        min over W of  mean (y - z'b - c)²/var y  +  weight D(z_s, z_t)².

    Adam minimises this sum. The search starts at the leading principal components of source and target together. Here
    z_s and z_t are the values of z in source and target. Given W, b and c are the slope and constant of a ridge
    regression of standardised labels on z with a ridge of 0.01. The minimised squared error does not include the
    penalty of the ridge. If `term` is `"none"`, D is zero. If it is `"marginal"`, D is the distance between the mean
    embeddings of z. If it is `"conditional"`, D is the conditional operator discrepancy of z given the label. For
    `"conditional"`, the current predictions replace the target's labels, and gradients ignore that predictions depend
    on W. z is divided by its standard deviations over source and target together. So multiplying W by a small number
    does not reduce D. The kernel of z is an `RBF` whose lengthscale is the square root of the number of columns. The
    kernel of the standardised labels is `RBF(1)`.

    Args:
        x: inputs of the source, one row each.
        y: labels of the source.
        target: inputs of the target.
        term: the kind of the discrepancy D: `"none"`, `"marginal"` or `"conditional"`.
        weight: the factor of D² in the minimised sum.
        columns: the number of columns of z.
        steps: the number of steps of Adam.
        rate: the learning rate of Adam.

    Raises:
        SettingError: if the term is unknown, or if the weight is negative or infinite. This error is also raised if
            there are more columns than the inputs have, if `steps` is negative, or if the rate is not a finite number
            above 0.
        ShapeError: if the shapes of x, y and target do not fit each other, or if z has at least as many columns as
            there are rows.
        DataError: if a number is not finite, or if all labels are equal. This error is also raised if the rows of
            source and target vary in fewer directions than z has columns, or if numbers are so large that the fit is
            not finite.

    References: yang2024cod, abstract: the objective of this source, without its marginal term and without its modified
    moments.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.embeddings import aligned_regression
        >>> x = jax.random.normal(jax.random.key(0), (60, 3))
        >>> fitted = aligned_regression(x, x[:, 0], x + jnp.array([0.0, 0.0, 4.0]), columns=1, steps=20)
        >>> fitted.projection.shape
        (3, 1)
    """
    if term not in get_args(Term):
        raise SettingError("term", found=repr(term), rule=f"one of {', '.join(get_args(Term))}")
    if not 0 <= weight < jnp.inf:
        raise SettingError("weight", found=weight, rule="a finite number that is not negative")
    check_whole("steps", steps, 0, "steps")
    if not 0 < rate < jnp.inf:
        raise SettingError("rate", found=rate, rule="a finite number above 0")
    _check_data(x, y, target, columns)
    both = jnp.concatenate([x, target])
    centre, spread = y.mean(), y.std()
    first = _leading(both, columns)
    kernel, of_label = RBF(columns**0.5), RBF(1.0)

    def fitted(w: Array) -> tuple[Array, Array, Array, Array]:
        scale = (both @ w).std(axis=0)
        z = (x - x.mean(axis=0)) @ w / scale
        slope = jnp.linalg.solve(z.T @ z / len(z) + _RIDGE * jnp.eye(columns), z.T @ (y - centre) / spread / len(z))
        return z, (target - x.mean(axis=0)) @ w / scale, slope, scale

    def parts(w: Array) -> tuple[Array, Array]:
        z, moved, slope, _ = fitted(w)
        loss = jnp.mean(((y - centre) / spread - z @ slope) ** 2)
        if term == "none":
            return loss, jnp.zeros(())
        if term == "marginal":
            return loss, gram(kernel, z).mean() + gram(kernel, moved).mean() - 2 * gram(kernel, z, moved).mean()
        told = jax.lax.stop_gradient(moved @ slope)
        labels = (y - centre)[:, None] / spread
        found = conditional_discrepancy((z, labels), (moved, told[:, None]), kernel, of_label)
        return loss, found.mean + found.covariance

    descent = optax.adam(rate)

    @eqx.filter_jit
    def step(w: Array, state: optax.OptState) -> tuple[Array, optax.OptState]:
        slopes = jax.grad(lambda w: parts(w)[0] + weight * parts(w)[1])(w)
        change, state = descent.update(slopes, state)
        return eqx.apply_updates(w, change), state

    w, state = first, descent.init(first)
    for _ in range(steps):
        w, state = step(w, state)
    _, _, slope, scale = fitted(w)
    level = centre - spread * x.mean(axis=0) @ (w / scale) @ slope
    start, end = ((float(loss), float(apart)) for loss, apart in (parts(first), parts(w)))
    found = AlignedRegression(w / scale, spread * slope, level, start, end)
    wrong = sum(int(jnp.sum(~jnp.isfinite(part))) for part in jax.tree.leaves(found))
    if wrong:
        rule, remedy = "numbers whose squares are finite", "rescale x and target together, or y"
        raise DataError(
            "x, y and target", found=f"a fit with {wrong} numbers that are not finite", rule=rule, remedy=remedy
        )
    return found


def _leading(both: Array, columns: int) -> Array:
    """Return the first principal directions of all rows. Raise DataError if the rows do not vary in `columns`
    directions.
    """
    _, values, directions = jnp.linalg.svd(both - both.mean(axis=0), full_matrices=False)
    # After centring, a constant column is not exactly 0: it contains the rounding error of its mean.
    floor = max(both.shape) * jnp.finfo(both.dtype).eps * jnp.maximum(values[0], jnp.abs(both).max())
    rank = int((values > floor).sum())
    if rank < columns:
        rule = f"rows that vary in at least {columns} directions, because each column of z is divided by its deviation"
        raise DataError(
            "x and target", found=f"rows that vary in {rank} directions", rule=rule, remedy="ask for fewer columns"
        )
    return directions[:columns].T


def _check_data(x: Array, y: Array, target: Array, columns: int) -> None:
    for name, array in (("x", x), ("y", y), ("target", target)):
        check_numbers(name, array)
    if (x.ndim, y.ndim, target.ndim) != (2, 1, 2) or len(x) != len(y) or x.shape[1] != target.shape[1]:
        found = f"inputs {x.shape}, labels {y.shape}, target {target.shape}"
        raise ShapeError(
            "x, y and target",
            found=found,
            rule="one label for each row of x, and as many columns in the target as in x",
        )
    check_whole("columns", columns, 1, "columns")
    if columns > x.shape[1]:
        raise SettingError(
            "columns", found=columns, rule=f"a whole number from 1 to {x.shape[1]}, the number of columns of x"
        )
    if len(x) + len(target) <= columns:
        found = f"{len(x)} of the source and {len(target)} of the target"
        raise ShapeError(
            "rows", found=found, rule=f"more rows than the {columns} columns of z", remedy="ask for fewer columns"
        )
    if bool((y == y[0]).all()):
        raise DataError("y", found=f"{float(y[0]):g} in every row", rule="at least two different labels")
