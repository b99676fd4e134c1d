"""Any activation function: its moments from a Hermite expansion, with coefficients by Gauss-Hermite quadrature."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._state import Means, State, versine_of
from ._versine import sign_of


@functools.lru_cache(maxsize=8)
def hermite_rule(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z of the `degree`-point rule for the standard normal law, and the matrix weight_i h_j(z_i).

    The h_j are the Hermite polynomials that are orthonormal under that law, j < degree. Columns are built
    from sqrt(weight_i) h_j(z_i), which is an orthogonal matrix, so nothing overflows.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(degree)
    root = np.sqrt(weights / weights.sum())
    columns = [root, nodes * root]
    for j in range(1, degree - 1):
        columns.append((nodes * columns[j] - np.sqrt(j) * columns[j - 1]) / np.sqrt(j + 1))
    return nodes, np.stack(columns[:degree], axis=1) * root[:, None]


@functools.lru_cache(maxsize=2)
def _graded_rule(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a second rule for the standard normal law: panels that halve towards 0, out to `reach`."""
    near, middle, far = 0.5 ** np.arange(30, 0, -1), np.arange(1.0, 8.0, 0.5), np.arange(8.0, reach + 1, 2.0)
    edges = np.concatenate([[0.0], near, middle, far])
    sizes = np.where(edges[1:] <= 0.5, 2, np.where(edges[1:] <= 8.0, 8, 6))
    nodes, weights = [], []
    for left, right, size in zip(edges[:-1], edges[1:], sizes, strict=True):
        z, w = np.polynomial.legendre.leggauss(size)
        nodes.append(0.5 * (left + right) + 0.5 * (right - left) * z)
        weights.append(0.5 * (right - left) * w)
    half, weight = np.concatenate(nodes), np.concatenate(weights)
    weight = weight * np.exp(-0.5 * half**2) / np.sqrt(2.0 * np.pi)
    return np.concatenate([-half, half]), np.concatenate([weight, weight])


class Elementwise(AbstractLayer):
    r"""Any activation function, by Gauss-Hermite quadrature.

    With u = sqrt(xx) z and a_j(xx) = E[fn(sqrt(xx) z) h_j(z)], z standard normal and h_j the orthonormal Hermite
    polynomials, Mehler's formula gives for correlation c

        E[fn(u) fn(v)] = sum_j c^j a_j(xx) a_j(yy),    j < degree,

    and the tangent kernel needs the same sum for the derivative of `fn`. The coefficients come from the
    `degree`-point Gauss-Hermite rule, in which the discrete h_j are exactly orthonormal: at c = 1 the sum *is* the rule
    applied to fn². So the double integral over a pair costs `degree` operations and not `degree`², needs no memory
    beside the output, and is positive semidefinite by construction.

    For an analytic `fn` the error falls geometrically in `degree`, slower for larger variances; at a kink it falls
    as a power of `degree` (for ReLU near 1/degree).

    Args:
        fn: a function of one real number, written in JAX and differentiable almost everywhere.
        degree: number of nodes, at least 2.

    `NNGPKernel` and `TangentKernel` raise SettingError where the expansion is not resolved: where more than a quarter
    of E[fn(u)²] lies in the upper half of the coefficients, or where a second rule, graded towards 0, gives another
    E[fn(u)²] by more than 2 % (fn not square-integrable, singular, or oscillating too fast). `push` itself marks such
    moments as NaN, since under `jit` it cannot raise.
    """

    fn: Callable[[Any], Any] = eqx.field(static=True)
    degree: int = eqx.field(default=128, static=True)

    def __check_init__(self):
        if not 2 <= self.degree <= 160:
            raise SettingError(
                "degree of the quadrature", found=self.degree, rule="a whole number of nodes from 2 to 160"
            )

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """`fn` of every coordinate."""
        return fn_at(self.fn, x)

    def push(self, state: State) -> State:
        """The moments of fn(u), and the tangent kernel times E[fn'(u) fn'(v)]."""
        law = state.law.activated()
        c = sign_of(state.nngp) * (1.0 - versine_of(state))
        one = jnp.ones((), c.dtype)
        left, right = (self._agreeing(self._coefficients(self.fn, v), v) for v in (state.xx, state.yy))
        slope = jax.grad(self.fn)
        dot = _mehler(c, self._coefficients(slope, state.xx), self._coefficients(slope, state.yy))
        xx, yy = _mehler(one, left, left), _mehler(one, right, right)
        means = Means(left[0], right[0])
        return state.replace(nngp=_mehler(c, left, right), ntk=state.ntk * dot, xx=xx, yy=yy, law=law, means=means)

    def _coefficients(self, fn: Callable[[Any], Any], variance: Float[Array, "..."]) -> Float[Array, "degree ..."]:
        nodes, projection = hermite_rule(self.degree)
        values = fn_at(fn, safe_sqrt(variance)[..., None] * jnp.asarray(nodes, variance.dtype))
        a = jnp.moveaxis(values @ jnp.asarray(projection, variance.dtype), -1, 0)
        # What the nodes cannot tell apart spreads evenly over the coefficients: half of it falls in the upper half.
        resolved = jnp.sum(a[self.degree // 2 :] ** 2, axis=0) <= 0.25 * jnp.sum(a * a, axis=0)
        return jnp.where(resolved, a, jnp.nan)

    def _agreeing(self, a: Float[Array, "degree ..."], variance: Float[Array, "..."]) -> Float[Array, "degree ..."]:
        """The coefficients of `fn`, or NaN where a second rule gives another E[fn(u)²]."""
        nodes, weights = _graded_rule(36.0 if variance.dtype == jnp.float64 else 12.0)
        values = fn_at(self.fn, safe_sqrt(variance)[..., None] * jnp.asarray(nodes, variance.dtype))
        second = (values * values) @ jnp.asarray(weights, variance.dtype)
        return jnp.where(jnp.abs(jnp.sum(a * a, axis=0) - second) <= 0.02 * second, a, jnp.nan)


def fn_at(fn: Callable[[Any], Any], points: Float[Array, "..."]) -> Float[Array, "..."]:
    """A scalar function at every entry of an array."""
    return jax.vmap(fn)(points.reshape(-1)).reshape(points.shape)


def _mehler(c: Float[Array, "..."], left: Float[Array, "degree ..."], right: Float[Array, "degree ..."]):
    """sum_j c^j left_j right_j by Horner's rule, holding one array of the shape of the result."""
    shape = jnp.broadcast_shapes(c.shape, left.shape[1:], right.shape[1:])
    step = lambda total, pair: (total * c + pair[0] * pair[1], None)
    total, _ = jax.lax.scan(step, jnp.zeros(shape, left.dtype), (left, right), reverse=True)
    return total
