"""The tangent kernel of a finite network or any function, computed in blocks, and its products with vectors."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact, Int, Shaped

from lemmata.core import ResultPlan, check_whole
from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError

from ._gradients import (
    Function,
    activations_of_a_point,
    along,
    by_vectors,
    contract,
    entries_of_a_point,
    prefers_vectors,
    side,
)
from ._shapes import of_shapes, traced

# Bytes in memory besides points, parameters and result, if the caller does not set another number.
_WORKING_SET = 2**28
# A symmetric kernel is computed in _STRIPES rows of blocks, so only little more than half of it is computed. No block
# has fewer than _SHORTEST rows, counted with their outputs. Products of shorter blocks are slower than twice as many
# long products.
_STRIPES, _SHORTEST = 4, 256


def tangent_gram(
    network: Any,
    params: Any,
    x: Shaped[Array, "n *point"],
    y: Shaped[Array, "m *point"] | None = None,
    *,
    output: int | None = None,
    each: bool = False,
    trace: bool = False,
    working_set: int = _WORKING_SET,
) -> Inexact[Array, "n m k k"] | Inexact[Array, "n m k"] | Inexact[Array, "n m"]:
    """Return the tangent kernel of a finite network, Theta(x_i, y_j)_ab = <df_a(x_i)/dparams, df_b(y_j)/dparams>.

    The gradients of `Dense` layers are products (output gradient times input) and are never formed. So for each point
    and output, a layer of a network costs one gradient with respect to its outputs. In addition, each layer costs one
    matrix product. The gradients of other layers with parameters are formed. For a plain function, either all gradients
    are formed, or one gradient is formed at a time and the outputs are differentiated along it. The method with fewer
    operations is chosen. If the result has more than 1 GiB, its memory plan is printed to standard error.

    Args:
        network: a function f(params, x) of one point, or an object with such an `apply`. Layers of this subpackage use
            a faster algorithm. Outputs may have any shape; k is their total number.
        params: the parameters at which the kernel is computed, as a tree of arrays. Leaves that are not floating-point
            numbers are fixed.
        x: points of any shape, one in each row.
        y: other points. `None` means `x` itself; in this case, only half of the blocks are computed.
        output: the index of an output. If given, only the kernel (n, m) of this output is returned.
        each: whether to return only the kernel of each output with itself, (n, m, k).
        trace: whether to return only the mean of the kernels of each output with itself, (n, m). At infinite width,
            this mean is the kernel of each output.
        working_set: the bytes of gradients and products that may be in memory at once, without the result. The
            gradients of two points are always kept in memory.

    Returns:
        (n, m, k, k) for k outputs, (n, m, k) with `each`, or (n, m) with `output` or `trace`.

    Raises:
        ShapeError: if x and y are not rows of points of the same shape, are empty, or are not inputs of the function.
        SettingError: if two of `output`, `each` and `trace` are given, or the output does not exist.
        PrecisionError: for parameters, points or outputs in half precision.
        MemoryPlanError: if the result and the working set need more bytes than are free.

    Example:
        >>> import jax
        >>> from lemmata.architectures import relu_network, tangent_gram
        >>> network = relu_network(depth=1, width=32, outputs=2)
        >>> params, _ = network.init(jax.random.key(0), 3)
        >>> tangent_gram(network, params, jax.numpy.eye(3)).shape
        (3, 3, 2, 2)
        >>> tangent_gram(lambda w, x: w @ x, jax.numpy.ones((2, 3)), jax.numpy.eye(3), trace=True).shape
        (3, 3)
    """
    if (output is not None) + each + trace > 1:
        raise SettingError(
            "output, each and trace",
            found=f"output={output}, each={each}, trace={trace}",
            rule="at most one of these three options",
        )
    check_whole("working_set", working_set, 1)
    network, params = differentiable(network, params)
    out = output_structure(network, params, x, y)
    k = math.prod(out.shape)
    if output is not None and not 0 <= output < k:
        raise SettingError("output", found=output, rule=f"a whole number from 0 to {k - 1}")
    basis = jnp.eye(k, dtype=out.dtype).reshape(k, *out.shape)
    if output is not None:
        basis = basis[output : output + 1]
    which = "all" if output is None and not (each or trace) else "each" if each else "mean"
    return _blocked(network, params, x, y, basis, which, working_set)


def tangent_product(
    network: Any,
    params: Any,
    v: Inexact[Array, "m *out"],
    x: Shaped[Array, "n *point"],
    y: Shaped[Array, "m *point"] | None = None,
    *,
    working_set: int = _WORKING_SET,
) -> Inexact[Array, "n *out"]:
    """Return the product (Theta v)_ia = sum_jb Theta(x_i, y_j)_ab v_jb, without forming the kernel Theta.

    Theta(x_i, y_j)_ab = <df_a(x_i)/dparams, df_b(y_j)/dparams> is the tangent kernel of `tangent_gram`.

    The computation takes one gradient and one derivative.

    Let u be the gradient of sum_jb v_jb f_b(y_j) with respect to the parameters. The outputs at all x_i are
    differentiated along u. The gradient and the derivative process the points in batches. So the cost is only a few
    passes over the data. The memory is a few copies of the parameters, plus `working_set`.

    Args:
        network: as in `tangent_gram`.
        params: the parameters of the network.
        v: the vector: for each point of y, one row with the shape of an output.
        x: points of the result.
        y: points of the vector; `None` means `x` itself.
        working_set: the bytes of activations that may be in memory at once. The activations of one point are always
            kept in memory.

    Raises:
        ShapeError: if v does not fit the points y and the outputs, and for the same reasons as `tangent_gram`.
        DataError: if v is complex and the outputs are real.
        PrecisionError: for parameters or outputs in half precision.
    """
    check_whole("working_set", working_set, 1)
    network, params = differentiable(network, params)
    out = output_structure(network, params, x, y)
    batch = _batch(network, params, x, out, working_set)
    others = x if y is None else y
    return _pushed(network, params, _pulled(network, params, _weights(v, out, others), others, batch), x, batch)


def combined_gradient(
    network: Any,
    params: Any,
    v: Inexact[Array, "n *out"],
    x: Shaped[Array, "n *point"],
    *,
    working_set: int = _WORKING_SET,
) -> Any:
    """Return the gradient of sum_ia v_ia f_a(x_i) with respect to the floating-point parameters, in batches of points.

    For parameters that are not floating-point numbers, the result is None.

    If v holds the residuals f(x) - y, this is the gradient of half the sum of squared residuals. Arguments and errors
    are those of `tangent_product`.
    """
    network, params = differentiable(network, params)
    out = output_structure(network, params, x)
    return _pulled(network, params, _weights(v, out, x), x, _batch(network, params, x, out, working_set))


def output_structure(network: Any, params: Any, x: Array, y: Array | None = None) -> jax.ShapeDtypeStruct:
    """Return the shape and type of f(params, x_i). First, check that the function and its inputs have a tangent kernel.

    Raises:
        ShapeError: if x and y are not rows of points of the same shape, are empty, or are not inputs of the function.
        SettingError: for parameters without a floating-point number.
        PrecisionError: for parameters, points or outputs in half precision.
    """
    network, params = differentiable(network, params)
    y = x if y is None else y
    for name, points in (("x", x), ("y", y)):
        if not hasattr(points, "shape"):
            raise ShapeError(
                f"points {name}",
                found=type(points).__name__,
                rule="an array with one point in each row",
                remedy=f"convert it with jax.numpy.asarray({name})",
            )
        if jnp.issubdtype(points.dtype, jnp.floating) and points.dtype.itemsize < 4:
            raise PrecisionError(
                f"points {name}",
                found=f"{points.dtype}",
                rule="float32 or float64, as every tangent kernel needs",
                remedy=f"convert them with {name}.astype(jax.numpy.float32)",
            )
    if not jax.tree.leaves(params):
        raise SettingError(
            "parameters",
            found="no floating-point numbers",
            rule="at least one array of floating-point numbers, because a tangent kernel is made of "
            "derivatives with respect to them",
        )
    if jnp.ndim(x) == 0 or jnp.ndim(y) == 0 or x.shape[1:] != y.shape[1:]:
        raise ShapeError(
            "points x and y",
            found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}",
            rule="shapes (n, ...) and (m, ...) with the same axes after the first",
        )
    if not len(x) or not len(y):
        raise ShapeError("points x and y", found=f"shapes {x.shape} and {y.shape}", rule="at least one point in both")
    try:
        out = _output(network, params, x)
    except LemmataError:
        raise
    except Exception as error:  # any error of a user's function
        shapes = ", ".join(str(leaf.shape) for leaf in jax.tree.leaves(params)) or "none"
        raise ShapeError(
            "points x",
            found=f"points of shape {x.shape[1:]}; parameters of shapes {shapes}",
            rule="points for which f(params, x[0]) can be computed",
            remedy=f"correct the function; it raised {type(error).__name__}: {error}",
        ) from error
    if not isinstance(out, jax.ShapeDtypeStruct):
        raise ShapeError(
            "output of the function",
            found=f"{type(out).__name__}",
            rule="one array of any shape",
            remedy="return a single array",
        )
    if out.dtype not in (jnp.float32, jnp.float64):
        raise PrecisionError(
            "outputs of the function",
            found=f"{out.dtype}",
            rule="float32 or float64, as every tangent kernel needs",
            remedy="pass parameters and points in float32 or float64",
        )
    return out


@of_shapes
def _output(network: Any, params: Any, x: Any) -> Any:
    return traced(lambda network, params, x: jax.tree.map(jnp.asarray, network.apply(params, x[0])), network, params, x)


def differentiable(network: Any, params: Any) -> tuple[Any, Any]:
    """Return two things: the network as an object with a method `apply`, and the network's floating-point parameters.

    Other parameters become constants of this object.
    """
    free, constants = eqx.partition(params, eqx.is_inexact_array)
    for leaf in jax.tree.leaves(free):
        if leaf.dtype not in (jnp.float32, jnp.float64):
            raise PrecisionError(
                "parameters",
                found=f"{leaf.dtype}",
                rule="float32 or float64, as every tangent kernel needs",
                remedy="convert them with jax.tree.map(lambda part: part.astype(jax.numpy.float32), params)",
            )
    if jax.tree.leaves(constants):
        return Function(network, constants), free
    return network if hasattr(network, "apply") else Function(network), params


def _blocked(
    network: Any, params: Any, x: Array, y: Array | None, basis: Array, which: str, working_set: int
) -> Inexact[Array, "n m *outputs"]:
    """Compute the kernel in square blocks. If y is None, only blocks on and above the diagonal are computed."""
    others, symmetric = x if y is None else y, y is None
    entries = working_set // basis.dtype.itemsize
    outputs = {"all": (len(basis),) * 2, "each": (len(basis),), "mean": ()}[which]
    shape = (len(x), len(others), *outputs)
    if _known((params, x, others)):
        plan = ResultPlan("tangent kernel", shape, basis.dtype.itemsize, other=working_set)
        plan.require(x, remedy="use product(x, v), which needs no kernel, or outputs='mean', fewer points or float32")
    if prefers_vectors(network, params, x, basis, which):
        # memory besides the activations: a tile of all pairs of outputs, as it is computed, and in two further orders
        rows = min(
            entries // (8 * activations_of_a_point(network, params, x)), math.isqrt(entries // (6 * len(basis) ** 2))
        )
        left, right = x, others
        part: Any = lambda points, i: _cut(points, i, rows)
        block: Any = partial(_by_vectors, network, params, basis, which)
    else:
        one = entries_of_a_point(network, params, x, basis)
        rows, block = _rows(entries, one, len(basis), which), partial(contract, which=which)
        if 2 * one * (len(x) + len(others)) <= entries:
            left = side(network, params, x, basis)
            right = left if symmetric else side(network, params, others, basis)
            part = lambda whole, i: _cut(whole, i, rows)
        else:
            left, right = x, others
            part = lambda points, i: side(network, params, _cut(points, i, rows), basis)
    if symmetric:
        rows = min(rows, _stripe(len(x), len(basis) if which == "all" else 1))
    rows = max(1, rows)
    if rows >= max(len(x), len(others)):
        tile = block(part(left, 0), part(right, 0))
        return _symmetrised(tile) if symmetric else tile
    matrix = jnp.zeros(shape, basis.dtype)
    for i in range(0, len(x), rows):
        row = part(left, i)
        for j in range(i if symmetric else 0, len(others), rows):
            own = symmetric and i == j
            tile = _symmetrised(block(row, row)) if own else block(row, part(right, j))
            matrix = _place(matrix, tile, i, j)
            if symmetric and i < j:
                matrix = _place(matrix, _transposed(tile), j, i)
    return matrix


def _cut(whole: Any, i: int, rows: int) -> Any:
    return jax.tree.map(lambda leaf: leaf if rows >= len(leaf) else leaf[i : i + rows], whole)


def _known(tree: Any) -> bool:
    """Return whether all arrays have values. If JAX traces an array, no memory plan is made."""
    try:
        return all(leaf.devices() for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array))
    except jax.errors.ConcretizationTypeError:
        return False


def _by_vectors(network: Any, params: Any, basis: Array, which: str, x: Array, y: Array) -> Array:
    found = by_vectors(network, params, x, y, basis)
    if which == "all":
        return found
    found = jnp.einsum("ijaa->ija", found)
    return found if which == "each" else jnp.mean(found, axis=2)


def _rows(entries: int, side_of_a_point: int, outputs: int, which: str) -> int:
    """Return the largest r such that gradients of 2 r points and 3 kernel blocks of r x r points fit into `entries`."""
    product = 3 * (outputs**2 if which == "all" else outputs if which == "each" else 1)
    return int((math.sqrt(side_of_a_point**2 + product * entries) - side_of_a_point) / product)


def _stripe(points: int, outputs: int) -> int:
    """Return the number of rows of a block of a symmetric kernel, or all rows if the blocks would be too short."""
    return points if points * outputs < _STRIPES * _SHORTEST else -(-points // _STRIPES)


@jax.jit
def _symmetrised(tile: Array) -> Array:
    return (tile + _transposed(tile)) / 2


def _transposed(tile: Array) -> Array:
    """Return Theta(y, x)_ba, from the block Theta(x, y)_ab."""
    return jnp.transpose(tile, (1, 0, 3, 2) if tile.ndim == 4 else (1, 0, *range(2, tile.ndim)))


@partial(jax.jit, donate_argnums=0)
def _place(matrix: Array, tile: Array, row: Int[ArrayLike, ""], column: Int[ArrayLike, ""]) -> Array:
    # the matrix is donated, so the tile is written into it; outside jit, `.at[].set` would copy the whole matrix each
    # time
    return jax.lax.dynamic_update_slice(matrix, tile, (row, column, *(0 for _ in tile.shape[2:])))


def _weights(v: Array, out: jax.ShapeDtypeStruct, x: Array) -> Array:
    if jnp.shape(v) != (len(x), *out.shape):
        raise ShapeError(
            "vector v",
            found=f"shape {jnp.shape(v)}",
            rule=f"shape {(len(x), *out.shape)}, one output for each point of x",
        )
    if jnp.iscomplexobj(v) and not jnp.issubdtype(out.dtype, jnp.complexfloating):
        remedy = "use the real part or the modulus of the output"
        raise DataError("vector v", found=f"entries of type {jnp.result_type(v)}", rule="real numbers", remedy=remedy)
    return jnp.asarray(v, out.dtype)


def _batch(network: Any, params: Any, x: Array, out: jax.ShapeDtypeStruct, working_set: int) -> int:
    # A derivative along a direction needs about as much memory as a gradient, and the compiler stores some arrays of
    # both twice.
    return max(1, working_set // (4 * out.dtype.itemsize * activations_of_a_point(network, params, x)))


@eqx.filter_jit
def _pulled(network: Any, params: Any, v: Array, x: Array, batch: int) -> Any:
    def add(total: Any, rows: tuple[Array, Array]) -> tuple[Any, None]:
        points, weights = rows
        _, pullback = jax.vjp(lambda own: jax.vmap(lambda point: network.apply(own, point))(points), params)
        return jax.tree.map(jnp.add, total, pullback(weights)[0]), None

    whole = len(x) // batch * batch
    split = lambda rows: rows[:whole].reshape(-1, batch, *rows.shape[1:])
    direction = jax.tree.map(jnp.zeros_like, params)
    if whole:
        direction, _ = jax.lax.scan(add, direction, (split(x), split(v)))
    if whole < len(x):
        direction, _ = add(direction, (x[whole:], v[whole:]))
    return direction


@eqx.filter_jit
def _pushed(network: Any, params: Any, direction: Any, x: Array, batch: int) -> Array:
    return jax.lax.map(lambda point: along(network, params, point, direction), x, batch_size=batch)
