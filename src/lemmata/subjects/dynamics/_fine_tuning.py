"""Fine-tune a function, and compute kernels of fine-tuning, for gradient descent and for signs of gradients."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Shaped

from lemmata.core import check_whole, known
from lemmata.errors import SettingError, ShapeError, SolverError

Function = Callable[[Any, Any], Array]
WORKING_SET = 2**28


class FineTuningKernels(eqx.Module):
    """Three kernels of one function at given parameters. A row of a kernel is one output at one point.

    Let g be the gradient of one output at one point x with respect to the parameters. Let g' be the gradient at x'.

    Attributes:
        sgd: <g, g'>. A step of gradient descent on x' moves the output at x in proportion to this kernel.
        sign: <sign g, sign g'>.
        asymmetric: <g, sign g'>. A step along the sign of the gradient on x', such as Adam's first step, moves the
            output at x in proportion to this kernel.
    """

    sgd: Float[Array, "n m"]
    sign: Float[Array, "n m"]
    asymmetric: Float[Array, "n m"]


def fine_tuning_kernels(
    f: Function,
    params: Any,
    x: Shaped[Array, "n *point"],
    y: Shaped[Array, "m *point"] | None = None,
    *,
    working_set: int = WORKING_SET,
) -> FineTuningKernels:
    """Return the three kernels of `FineTuningKernels` for any function of parameters.

    Gradients are computed in reverse mode for one block of rows at a time. So memory holds the kernels and two blocks
    of gradients, but never all gradients. With C outputs, a point has C consecutive rows, and kernels have the shape (n
    C, m C). An entry of a gradient that is 0 has the sign 0. `sgd` and `sign` are positive semidefinite if y is x;
    `asymmetric` is not symmetric, and its diagonal entries are the sums of |g| over parameters, where g is a gradient.

    Args:
        f: f(params, x) of one point, a number or a vector of C outputs.
        params: a tree of arrays; leaves that are not floating-point numbers are fixed.
        x: points, of any shape, one in each row.
        y: other points x'; x itself by default.
        working_set: bytes that two blocks of gradients and their signs may take. A block has at least one row.

    Raises:
        ShapeError: if there are no points, or if the outputs are matrices.
        SettingError: if the parameters contain no array of floating-point numbers.
        SolverError: if a gradient is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import fine_tuning_kernels
        >>> f = lambda w, x: w @ x
        >>> kernels = fine_tuning_kernels(f, jnp.zeros(2), jnp.array([[1.0, 0.0], [3.0, -1.0]]))
        >>> kernels.sgd.tolist(), kernels.asymmetric.tolist()
        ([[1.0, 3.0], [3.0, 10.0]], [[1.0, 1.0], [3.0, 4.0]])
    """
    check_whole("working_set", working_set, 1)
    points = [jnp.asarray(x)] if y is None else [jnp.asarray(x), jnp.asarray(y)]
    for name, own in zip(("x", "y"), points, strict=False):
        if own.ndim == 0 or not len(own):
            raise ShapeError(name, found=f"shape {own.shape}", rule="at least one point, and one point in each row")
    free = [leaf for leaf in jax.tree.leaves(params) if eqx.is_inexact_array(leaf)]
    if not free:
        raise SettingError(
            "params",
            found="no array of floating-point numbers",
            rule="at least one array of floating-point numbers, because derivatives with respect to it are needed",
        )
    out = jax.eval_shape(f, params, points[0][0])
    if len(out.shape) > 1:
        raise ShapeError("f(params, x)", found=f"shape {out.shape}", rule="a number, or a vector of outputs")
    size = sum(leaf.size for leaf in free) * math.prod(out.shape) * out.dtype.itemsize
    step = max(1, working_set // (4 * size))
    rows = [_blocks(f, params, own, step) for own in points]
    tiles = [[_products(left(), right()) for right in rows[-1]] for left in rows[0]]
    found = [jnp.block([[tile[which] for tile in line] for line in tiles]) for which in range(3)]
    values = known(found[0])
    if values is not None and not np.isfinite(values).all():
        raise SolverError(
            "fine-tuning kernels",
            found="gradients that are not finite",
            rule="the function has finite derivatives at all points",
        )
    return FineTuningKernels(*found)


def _blocks(f: Function, params: Any, x: Array, step: int) -> list[Callable[[], Array]]:
    """Return functions that compute the gradients of one block of rows each. A single block is computed only once."""
    starts = range(0, len(x), step)
    if len(starts) == 1:
        whole = _gradients(f, params, x)
        return [lambda: whole]
    return [lambda start=start: _gradients(f, params, x[start : start + step]) for start in starts]


@eqx.filter_jit
def _gradients(f: Function, params: Any, x: Array) -> Float[Array, "rows P"]:
    """Return the gradient of every output at every point as a flat vector."""
    free, fixed = eqx.partition(params, eqx.is_inexact_array)

    def one(point: Array) -> Array:
        value, pull = jax.vjp(lambda own: jnp.atleast_1d(f(eqx.combine(own, fixed), point)), free)
        (slopes,) = jax.vmap(pull)(jnp.eye(len(value), dtype=value.dtype))
        return jnp.concatenate([leaf.reshape(len(value), -1) for leaf in jax.tree.leaves(slopes)], axis=1)

    found = jax.vmap(one)(x)
    return found.reshape(-1, found.shape[-1])


@jax.jit
def _products(left: Array, right: Array) -> tuple[Array, Array, Array]:
    signs = jnp.sign(right).T
    return left @ right.T, jnp.sign(left) @ signs, left @ signs


def fine_tune(
    f: Function,
    params: Any,
    x: Shaped[Array, "n *point"],
    y: Float[Array, " classes"],
    optimiser: optax.GradientTransformation,
    *,
    steps: Sequence[int],
    until: float = 0.0,
) -> list[Any]:
    """Train on the mean over all rows of the logistic loss log(1 + exp(-y f)). Return the parameters at the start and
    after given numbers of steps.

    Args:
        f: a function f(params, x) that returns one number for one point.
        params: the parameters at the start; leaves that are not floating-point numbers are fixed.
        x: training points.
        y: the classes of the training points, -1 and 1.
        optimiser: an optimiser from optax.
        steps: increasing numbers of steps after which parameters are returned.
        until: training stops when the mean loss is at most this number.

    Raises:
        ShapeError: if x and y have different numbers of rows.
        SettingError: if a class is not -1 or 1, or if the numbers of steps do not increase or are below 1.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> from lemmata.subjects.dynamics import fine_tune
        >>> f = lambda w, x: w @ x
        >>> path = fine_tune(f, jnp.zeros(2), jnp.eye(2), jnp.array([1.0, -1.0]), optax.sgd(1.0), steps=[10])
        >>> len(path), round(float(path[1][0]), 2)
        (2, 1.55)
    """
    x, y = jnp.asarray(x), jnp.asarray(y, float)
    if y.shape != x.shape[:1]:
        raise ShapeError("y", found=f"shape {y.shape}", rule=f"shape {x.shape[:1]}, one class for each point")
    classes = known(y)
    if classes is not None and not np.isin(classes, (-1.0, 1.0)).all():
        raise SettingError("y", found=np.unique(classes)[:5].tolist(), rule="the classes -1 and 1",
                           remedy="pass 2 * y - 1 for classes 0 and 1")  # fmt: skip
    counts = np.diff(np.asarray(steps), prepend=0)
    if counts.ndim != 1 or not len(counts) or (counts < 1).any():
        raise SettingError("steps", found=list(steps), rule="increasing whole numbers that are at least 1",
                           remedy="pass one list of them, for example [1, 10, 100]")  # fmt: skip
    path, state = [params], optimiser.init(eqx.filter(params, eqx.is_inexact_array))
    for count in counts:
        found, state = _descend(f, path[-1], state, x, y, optimiser, jnp.asarray(count), jnp.asarray(until))
        path.append(found)
    return path


@eqx.filter_jit
def _descend(
    f: Function, params: Any, state: Any, x: Array, y: Array, optimiser: optax.GradientTransformation,
    count: Array, until: Array,
) -> tuple[Any, Any]:  # fmt: skip
    free, fixed = eqx.partition(params, eqx.is_inexact_array)

    def loss(own: Any) -> Array:
        outputs = jax.vmap(lambda point: f(eqx.combine(own, fixed), point))(x)
        return jnp.mean(jax.nn.softplus(-y * outputs))

    def more(carry: tuple) -> Array:
        return (carry[2] < count) & (carry[3] > until)

    def step(carry: tuple) -> tuple:
        own, held, number, _, slopes = carry
        moves, held = optimiser.update(slopes, held, own)
        own = eqx.apply_updates(own, moves)
        return own, held, number + 1, *jax.value_and_grad(loss)(own)

    own, state, *_ = jax.lax.while_loop(more, step, (free, state, 0, *jax.value_and_grad(loss)(free)))
    return eqx.combine(own, fixed), state
