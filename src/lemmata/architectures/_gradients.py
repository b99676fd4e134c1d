"""Gradients of outputs with respect to parameters, as factors whose inner products add up to the tangent kernel."""

import functools
import itertools
import math
import operator
from functools import partial, singledispatch
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Shaped

from ._branches import Parallel
from ._concatenation import Concatenate
from ._convolution import LocalDense
from ._dense import Dense
from ._multiplication import Multiply
from ._probes import probed
from ._serial import Serial
from ._shapes import of_shapes, split, traced


class Factor(eqx.Module):
    """Gradients of q linear combinations of a network's outputs at n points.

    The gradients are with respect to parameters, or with respect to the outputs of a layer that is linear in its
    parameters.

    The factor's term of the tangent kernel is <u_i, u'_j> <G_ia, G'_jb>, where G are the gradients and u the features.
    Here, i and j are points of two sets, a and b are combinations, and u' and G' belong to the second set. For a layer
    h = W u, G holds the gradients with respect to h. The gradients with respect to W would be the products of G and u.
    These products are never formed. If `features` is None, <u_i, u'_j> is replaced by 1, and G is the gradient with
    respect to the parameters themselves.

    Attributes:
        gradients: G, of p entries for each point and combination.
        features: u, the inputs of a layer h = W u, or None.
    """

    gradients: Inexact[Array, "n q p"]
    features: Inexact[Array, "n c"] | None = None


class Function(eqx.Module):
    """A function f(params, x) of one point, as an object with a method `apply`. `constants` stay fixed in `apply`."""

    f: Any
    constants: Any = None

    def apply(self, params: Any, x: Any) -> Any:
        """Return the function at one point, with its constants put back."""
        whole = params if self.constants is None else eqx.combine(params, self.constants)
        return self.f.apply(whole, x) if hasattr(self.f, "apply") else self.f(whole, x)


@singledispatch
def factors(layer: Any, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    """Return the factors of a layer, from inputs x (n, ...) and gradients g (n, q, ...) with respect to its outputs.

    The general rule uses `probed` to find products of parameters with vectors. Layers with a special structure register
    their own rule.
    """
    if not jax.tree.leaves(params):
        return ()
    by_probes, by_leaves = jax.vmap(lambda point, weights: probed(layer.apply, params, point, weights))(x, g)
    return (*(Factor(*pair) for pair in by_probes), *map(Factor, by_leaves))


@factors.register
def _(layer: Dense, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    features = layer.gradient_features(x)
    if x.ndim == 2:
        # Every output has an equal kernel of its own, and different outputs share no parameter. So Theta = kernel times
        # identity.
        return (Factor(g, features),)
    # every position has the same weights, so the gradients with respect to the weights are formed
    return _formed("nqpw,npc->nqwc", g, features)


@factors.register
def _(layer: LocalDense, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    # Separate weights at every position.
    return _formed("nqpw,npc->nqpwc", g, layer.gradient_features(x))


def _formed(form: str, g: Array, features: Array) -> tuple[Factor, ...]:
    """Return gradients with respect to weights, as sums of products over the positions p of a field.

    The positions become one axis.
    """
    positions = (jnp.reshape(part, (*part.shape[:axes], -1, part.shape[-1])) for part, axes in ((g, 2), (features, 1)))
    gradients = jnp.einsum(form, *positions)
    return (Factor(gradients.reshape(*gradients.shape[:2], -1)),)


@factors.register
def _(layer: Serial, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    inputs, pullbacks = [], []
    for part, own in zip(layer.layers, params, strict=True):
        inputs.append(x)
        x, pullback = jax.vjp(jax.vmap(partial(part.apply, own)), x)
        pullbacks.append(jax.vmap(pullback, in_axes=1, out_axes=1))
    found = ()
    for part, own, before, pullback in reversed(list(zip(layer.layers, params, inputs, pullbacks, strict=True))):
        found += factors(part, own, before, g)
        (g,) = pullback(g)
    return found


@factors.register
def _(layer: Parallel, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    # The branches share no parameter. The gradient with respect to the sum is the gradient with respect to each branch.
    parts = [factors(branch, own, x, g) for branch, own in zip(layer.branches, params, strict=True)]
    return sum(parts, start=())


@factors.register
def _(layer: Concatenate, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    # The gradient with respect to each branch is the gradient with respect to its part of the outputs.
    place = layer.place(g.ndim - 2)
    applied = [jax.eval_shape(branch.apply, own, x[0]) for branch, own in zip(layer.branches, params, strict=True)]
    cuts = list(itertools.accumulate(part.shape[place] for part in applied))[:-1]
    pieces = zip(layer.branches, params, jnp.split(g, cuts, axis=2 + place), strict=True)
    return sum((factors(branch, own, x, piece) for branch, own, piece in pieces), start=())


@factors.register
def _(layer: Multiply, params: Any, x: Array, g: Array) -> tuple[Factor, ...]:
    # the gradient with respect to each branch is the gradient with respect to the product, times the other branches
    values = [jax.vmap(partial(part.apply, own))(x) for part, own in zip(layer.branches, params, strict=True)]
    found = ()
    for number, (branch, own) in enumerate(zip(layer.branches, params, strict=True)):
        others = [value[:, None] for c, value in enumerate(values) if c != number]
        found += factors(branch, own, x, functools.reduce(operator.mul, others, g))
    return found


@eqx.filter_jit
def side(
    network: Any, params: Any, x: Shaped[Array, "n *point"], basis: Inexact[Array, "q *out"]
) -> tuple[Factor, ...]:
    """Return the factors of a network for linear combinations of its outputs, with coefficients in rows of `basis`."""
    return factors(network, params, x, jnp.broadcast_to(basis, (len(x), *basis.shape)))


# the layout of the products over points i, j and outputs a, b, and the place of the product of features
_PRODUCTS = {
    "all": ("iap,jbp->iajb", (slice(None), None, slice(None), None), (0, 2, 1, 3)),
    "each": ("iap,jap->aij", (None,), (1, 2, 0)),
    "mean": ("iap,jap->ij", (), (0, 1)),
}


@partial(jax.jit, static_argnames="which")
def contract(left: tuple[Factor, ...], right: tuple[Factor, ...], which: str) -> Array:
    """Return the kernel from the factors of two sets of points.

    `which` is "all" for all pairs of outputs (i, j, a, b), "each" for each output with itself (i, j, a), or "mean" for
    the mean over outputs with themselves (i, j).
    """
    product, spread, order = _PRODUCTS[which]
    total = 0.0
    for one, other in zip(left, right, strict=True):
        term = jnp.einsum(product, one.gradients, other.gradients)
        if one.features is not None and other.features is not None:
            term = (one.features @ other.features.T)[spread] * term
        total = total + term
    return jnp.transpose(total / left[0].gradients.shape[1] if which == "mean" else total, order)


@eqx.filter_jit
def by_vectors(
    network: Any,
    params: Any,
    x: Shaped[Array, "n *point"],
    y: Shaped[Array, "m *point"],
    basis: Inexact[Array, "q *out"],
) -> Inexact[Array, "n m q q"]:
    """Return the tangent kernel of all pairs of outputs by products with vectors.

    Only the gradient of one combination b of outputs at one point y_j is stored at a time.

    The outputs at all x_i are differentiated along this gradient, a direction of the parameters.
    """

    def column(pair: tuple[Array, Array]) -> Array:
        point, weights = pair
        _, pullback = jax.vjp(lambda own: network.apply(own, point), params)
        (direction,) = pullback(weights)
        return jax.vmap(lambda one: along(network, params, one, direction))(x)

    def columns(point: Array) -> Array:
        return jax.lax.map(lambda weights: column((point, weights)), basis)

    found = jax.lax.map(columns, y)  # m, b, n, ...
    flat = found.reshape(*found.shape[:3], -1) @ basis.reshape(len(basis), -1).T
    return jnp.transpose(flat, (2, 0, 3, 1))


def along(network: Any, params: Any, x: Array, direction: Any) -> Array:
    """Return the derivative of the output at one point along a direction of the parameters."""
    return jax.jvp(lambda own: network.apply(own, x), (params,), (direction,))[1]


@of_shapes
def prefers_vectors(network: Any, params: Any, x: Any, basis: Any, which: str) -> bool:
    """Return whether products with vectors need fewer operations than products of gradients, over many pairs of points.

    With products of gradients, a pair of points costs 2 p operations for each pair of outputs, where p is the number
    of entries of all factors. With products with vectors, a pair costs one derivative along a direction for each
    output.
    """
    pairs = len(basis) ** 2 if which == "all" else len(basis)
    held = traced(_side_of_one, network, params, x, basis)
    gradients = 2 * sum(factor.gradients.shape[2] for factor in held) * pairs
    if gradients <= 2 * len(basis) * sum(leaf.size for leaf in jax.tree.leaves(params)):
        return False
    shapes, rest = split((network, params, x))

    def derivative(arrays: Any) -> Array:
        network, params, x = eqx.combine(arrays, rest)
        return along(network, params, x[0], params)

    try:
        cost = jax.jit(derivative).lower(shapes).cost_analysis()
    except (RuntimeError, TypeError, jax.errors.JAXTypeError):  # no estimate on this platform, or inside a trace
        return False
    return len(basis) * float((cost or {}).get("flops", math.inf)) < gradients


@of_shapes
def entries_of_a_point(network: Any, params: Any, x: Any, basis: Any) -> int:
    """Return the number of entries of the factors of one point."""
    return sum(leaf.size for leaf in jax.tree.leaves(traced(_side_of_one, network, params, x, basis)))


def _side_of_one(network: Any, params: Any, x: Array, basis: Array) -> tuple[Factor, ...]:
    return side(network, params, x[:1], basis)


@of_shapes
def activations_of_a_point(network: Any, params: Any, x: Any) -> int:
    """Return the number of entries that automatic differentiation stores for each additional point."""

    def kept(count: int) -> int:
        def pullback(network: Any, params: Any, x: Array) -> Any:
            points = jnp.broadcast_to(x[0], (count, *x.shape[1:]))
            return jax.vjp(lambda own: jax.vmap(partial(network.apply, own))(points), params)[1]

        return sum(leaf.size for leaf in jax.tree.leaves(traced(pullback, network, params, x)))

    return max(1, kept(2) - kept(1))
