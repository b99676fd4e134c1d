"""The tangent kernel of a finite network, by automatic differentiation."""

from functools import partial, singledispatch
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError

from ._branches import Parallel
from ._dense import Dense
from ._serial import Serial

# Entries of a Jacobian that are held at once: a quarter of a gigabyte in float64.
_JACOBIAN_ENTRIES = 2**25


def tangent_gram(
    network: Any,
    params: Any,
    x: Float[Array, "n d"],
    y: Float[Array, "m d"] | None = None,
    *,
    output: int | None = None,
    trace: bool = False,
) -> Float[Array, "n m k k"] | Float[Array, "n m"]:
    """The finite tangent kernel Theta(x_i, y_j)_ab = <df_a(x_i)/dparams, df_b(y_j)/dparams>.

    The gradients of `Dense` layers are products (output gradient times input) and are never formed; those of other
    layers with parameters, and of any object with an `apply`, are formed in blocks of rows.

    Args:
        network: anything with `apply(params, x)` for one point; layers of this room take the faster route.
        params: its parameters, at which the kernel is taken.
        x: points, one a row.
        y: other points; `None` means `x` itself.
        output: give only the kernel (n, m) of this output.
        trace: give only the mean over outputs of the diagonal of Theta, (n, m), which at infinite width is the kernel
            of each output.

    Returns:
        (n, m, k, k) for k outputs, or (n, m) with `output` or `trace`.

    Raises:
        ShapeError: where x and y are not matrices with the same number of columns.
        SettingError: where both `output` and `trace` are given, or the output does not exist.

    Example:
        >>> import jax
        >>> from lemmata.architectures import relu_network, tangent_gram
        >>> network = relu_network(depth=1, width=32, outputs=2)
        >>> params, _ = network.init(jax.random.key(0), 3)
        >>> tangent_gram(network, params, jax.numpy.eye(3)).shape
        (3, 3, 2, 2)
    """
    y = x if y is None else y
    if jnp.ndim(x) != 2 or jnp.ndim(y) != 2 or x.shape[1] != y.shape[1]:
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule="(n, d) and (m, d)")
    if trace and output is not None:
        raise SettingError("output and trace", found=f"output {output} and trace", rule="at most one of them")
    outputs = jax.eval_shape(network.apply, params, x[0]).shape[0]
    if output is not None and not 0 <= output < outputs:
        raise SettingError("output", found=output, rule=f"between 0 and {outputs - 1}")
    kernel = partial(_directed, network, params, x, y)
    basis = jnp.eye(outputs, dtype=x.dtype)
    if output is not None:
        return kernel(basis[output], basis[output])
    if trace:
        return jnp.mean(jax.lax.map(lambda e: kernel(e, e), basis), axis=0)
    rows = jax.lax.map(lambda a: jax.lax.map(lambda b: kernel(a, b), basis), basis)
    return jnp.transpose(rows, (2, 3, 0, 1))


@eqx.filter_jit
def _directed(network: Any, params: Any, x: Array, y: Array, a: Array, b: Array) -> Array:
    """The tangent kernel between the combinations <a, f(x)> and <b, f(y)> of outputs."""
    left, right = (jnp.broadcast_to(weights, (len(points), len(weights))) for points, weights in ((x, a), (y, b)))
    return pulled_back(network, params, (x, left), (y, right))


@singledispatch
def pulled_back(layer: Any, params: Any, left: tuple[Array, Array], right: tuple[Array, Array]) -> Array:
    """sum_ab g_ia h_jb Theta_ab(x_i, y_j) for left = (x, g) and right = (y, h), where g, h weigh the outputs.

    This is what a layer inside a network contributes, with g and h the gradients of the network's output by the
    layer's output. The general rule forms the gradients by the parameters; a layer with structure registers its own.
    """
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    if size == 0:
        return jnp.zeros((len(left[0]), len(right[0])), left[0].dtype)

    def gradient(point: Array, weights: Array) -> Array:
        by_params = jax.grad(lambda p: jnp.vdot(weights, layer.apply(p, point)))(params)
        return jnp.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(by_params)])

    rows = _rows_at_once(size)

    def block(start: int) -> Array:
        held = jax.vmap(gradient)(left[0][start : start + rows], left[1][start : start + rows])
        return jax.lax.map(lambda other: held @ gradient(*other), right, batch_size=rows).T

    return jnp.concatenate([block(start) for start in range(0, len(left[0]), rows)])


def _rows_at_once(size: int) -> int:
    return max(1, _JACOBIAN_ENTRIES // (2 * size))


@pulled_back.register
def _(layer: Dense, params: Any, left: tuple[Array, Array], right: tuple[Array, Array]) -> Array:
    # Every output has the same own kernel and different outputs share no parameter: Theta = kernel times identity.
    return layer.gradient_kernel(left[0], right[0]) * (left[1] @ right[1].T)


@pulled_back.register
def _(layer: Serial, params: Any, left: tuple[Array, Array], right: tuple[Array, Array]) -> Array:
    traces = [_layer_by_layer(layer, params, *side) for side in (left, right)]
    total = jnp.zeros((len(left[0]), len(right[0])), left[0].dtype)
    for part, own, one, other in zip(layer.layers, params, *traces, strict=True):
        total = total + pulled_back(part, own, one, other)
    return total


@pulled_back.register
def _(layer: Parallel, params: Any, left: tuple[Array, Array], right: tuple[Array, Array]) -> Array:
    # The branches share no parameter, and the gradient by the sum is the gradient by each of them.
    parts = [pulled_back(branch, own, left, right) for branch, own in zip(layer.branches, params, strict=True)]
    return sum(parts[1:], start=parts[0])


def _layer_by_layer(network: Serial, params: Any, x: Array, g: Array) -> list[tuple[Array, Array]]:
    """For every layer its input, and the gradient of <g, output of the network> by its output."""
    inputs, pullbacks = [], []
    for layer, own in zip(network.layers, params, strict=True):
        inputs.append(x)
        x, pullback = jax.vjp(jax.vmap(partial(layer.apply, own)), x)
        pullbacks.append(pullback)
    gradients = []
    for pullback in reversed(pullbacks):
        gradients.append(g)
        (g,) = pullback(g)
    return list(zip(inputs, reversed(gradients), strict=True))
