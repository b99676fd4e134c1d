"""Means of f(u) f(v) for a function f of two correlated normal variables u and v.

The means are computed by the Hermite expansion of f, summed over all orders.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._correlation import safe_sqrt
from ._hermite_rule import Rule, hermite_rule

# Three tolerances, as shares of a mean square: the part in the omitted orders, the difference between the sum over all
# orders and another quadrature rule, and the part in the outermost tenth of the range.
_LEFT_OUT, _DISAGREEMENT, _OUTERMOST = {"float32": 5e-7, "float64": 1e-12}, {"float32": 2e-5, "float64": 1e-6}, 1e-7
# the number of variances for which values of the function are stored at once
_ROWS = 4096


class Correlation(NamedTuple):
    """The correlations of pairs, stored as a sign and a versine: the correlation is sign * (1 - versine)."""

    sign: Float[Array, "..."]
    versine: Float[Array, "..."]


class ProductMeans(NamedTuple):
    """The means E[f(u) f(v)], E[f(u)²], E[f(v)²], E[f(u)] and E[f(v)], for a function f and also for its derivative."""

    pair: tuple[Float[Array, "..."], Float[Array, "..."]]
    left: Float[Array, "2 ..."]
    right: Float[Array, "2 ..."]
    mean_left: Float[Array, "2 ..."]
    mean_right: Float[Array, "2 ..."]


class _Sums(NamedTuple):
    """Partial sums of the means of f(u) f(v), f(u)² and f(v)², each for the function f and for its derivative."""

    pair: tuple[Float[Array, "..."], Float[Array, "..."]]
    own: Float[Array, "2 rows"]


class _Sides(NamedTuple):
    """The shapes of the variances of u and of v, which are rows of one array.

    If `same`, u and v have the same variances, and the array holds them only once.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    same: bool

    def split(self, rows: Float[Array, "2 rows *terms"]) -> tuple[Array, Array]:
        """Return the values for u and v. The axes are terms, function and derivative, and the axes of the variances."""
        count = len(rows[0]) if self.same else functools.reduce(int.__mul__, self.left, 1)
        rows = jnp.moveaxis(rows, (0, 1), (-2, -1))
        left = rows[..., :count].reshape(*rows.shape[:-1], *self.left)
        return left, left if self.same else rows[..., count:].reshape(*rows.shape[:-1], *self.right)


def product_means(
    fn: Callable[[Any], Any], c: Correlation, xx: Float[Array, "..."], yy: Float[Array, "..."], degree: int
) -> ProductMeans:
    """Return the means for `fn` and its derivative, for centred normal variables u and v of variances xx and yy.

    A mean is NaN if its sum over all orders differs from the mean square that another quadrature rule gives.
    """
    same = xx is yy
    return (_compiled if _known(*c, xx, yy) and _hashable(fn) else _product_means)(fn, degree, same, c, xx, yy)


def _known(*parts: Array) -> bool:
    """Return whether the values of the arrays are known, that is, whether no surrounding compilation traces them."""
    try:
        return all(part.devices() for part in parts)
    except jax.errors.ConcretizationTypeError:
        return False


def _hashable(fn: Callable[[Any], Any]) -> bool:
    try:
        hash(fn)
    except TypeError:
        return False
    return True


def _product_means(
    fn: Callable[[Any], Any], degree: int, same: bool, c: Correlation, xx: Array, yy: Array
) -> ProductMeans:
    kind = "float64" if xx.dtype == jnp.float64 else "float32"
    rule = hermite_rule(degree, kind)
    sides = _Sides(xx.shape, yy.shape, same)
    variances = xx.reshape(-1) if same else jnp.concatenate([xx.reshape(-1), yy.reshape(-1)])
    deviations = safe_sqrt(variances)
    even, odd, squares = _coefficients(fn, deviations, rule.nodes, rule.even, rule.odd, rule.density)
    square, outermost = squares[:, :, 0], squares[:, :, 1]
    sums = _with_high_orders(fn, c, sides, deviations, _low_orders(c, sides, even, odd), (rule, square))
    resolved = (jnp.abs(sums.own - square) <= _DISAGREEMENT[kind] * square) & (outermost <= _OUTERMOST * square)
    own = jnp.where(resolved & jnp.isfinite(square), sums.own, jnp.nan)
    left, right = sides.split(own)
    # For equal points, the mean is the mean square itself. The next layer would read a difference of two sums as an
    # angle.
    equal = (c.versine == 0) & (c.sign > 0) & (xx == yy)
    pair = []
    for i, total in enumerate(sums.pair):
        total = total + jax.lax.stop_gradient(jnp.where(equal, left[i] - total, 0.0))
        pair.append(jnp.where(jnp.isnan(left[i] + right[i]), jnp.nan, total))
    return ProductMeans((pair[0], pair[1]), left, right, *sides.split(even[:, :, 0]))


_compiled = jax.jit(_product_means, static_argnums=(0, 1, 2))


def _coefficients(fn: Callable[[Any], Any], deviations: Float[Array, " rows"], *tables: Any) -> tuple[Array, ...]:
    """Return Hermite coefficients of even orders and of odd orders, and mean squares if `tables` has weights for them.

    Axis 0 holds the function and its derivative. The other axes are the rows and the orders.
    """
    nodes, even, odd, *density = (jnp.asarray(table, deviations.dtype) for table in tables)
    both = jnp.concatenate([nodes, -nodes])
    at = jax.vmap(jax.value_and_grad(fn))

    def of(rows: Array) -> tuple[Array, ...]:
        values = [part.reshape(len(rows), 2, -1) for part in at((rows[:, None] * both).reshape(-1))]
        above, below = jnp.moveaxis(jnp.stack(values), 2, 0)
        squares = [(above * above + below * below) @ weights for weights in density]
        return (above + below) @ even, (above - below) @ odd, *squares

    if len(deviations) <= _ROWS:
        return of(deviations)
    found = jax.lax.map(lambda row: of(row[None]), deviations, batch_size=_ROWS)
    return tuple(jnp.moveaxis(part[:, :, 0], 0, 1) for part in found)


def _low_orders(c: Correlation, sides: _Sides, even: Array, odd: Array) -> _Sums:
    """Return sum_j c^j left_j right_j over all low orders j, with the coefficients of u and v, by Horner's rule.

    There is one more even order than there are odd orders.
    """
    signed = c.sign * (1.0 - c.versine)
    odd = jnp.pad(odd, [(0, 0), (0, 0), (0, 1)])
    orders = jnp.stack([even, odd], axis=-1).reshape(*even.shape[:2], -1)[:, :, :-1]
    zero = jnp.zeros(jnp.broadcast_shapes(signed.shape, sides.left, sides.right), even.dtype)
    step = lambda totals, part: (
        (totals[0] * signed + part[0][0] * part[1][0], totals[1] * signed + part[0][1] * part[1][1]),
        None,
    )
    pair = jax.lax.scan(step, (zero, zero), sides.split(orders), reverse=True)[0]
    return _Sums(pair, jnp.sum(orders * orders, axis=-1))


def _with_high_orders(
    fn: Callable[[Any], Any],
    c: Correlation,
    sides: _Sides,
    deviations: Float[Array, " rows"],
    sums: _Sums,
    rules: tuple[Rule, Array],
) -> _Sums:
    """Add blocks of high orders to the sums until they reach the mean squares.

    A block adds sum_q |c|^q (even_left_q even_right_q + sign odd_left_q odd_right_q) over its orders q. Here, |c| is 1
    - versine.
    """
    rule, square = rules
    share = _LEFT_OUT["float64" if deviations.dtype == jnp.float64 else "float32"]
    rate = jnp.log1p(-jnp.minimum(c.versine, 0.9))  # 0.1^q is negligible at these orders

    def step(totals: tuple[Array, Array], part: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        order, left, right, odd_left, odd_right = part
        power = jnp.exp(order * rate)
        first, second = (
            total + power * (left[i] * right[i] + c.sign * (odd_left[i] * odd_right[i]))
            for i, total in enumerate(totals)
        )
        return (first, second), None

    def block(sums: _Sums, tables: tuple[Array, ...]) -> tuple[_Sums, None]:
        nodes, of_even, of_odd, orders = tables

        def more(sums: _Sums) -> _Sums:
            even, odd = _coefficients(fn, deviations, nodes, of_even, of_odd)
            (left, right), (odd_left, odd_right) = sides.split(even), sides.split(odd)
            pair = jax.lax.scan(step, sums.pair, (orders, left, right, odd_left, odd_right))[0]
            return _Sums(pair, sums.own + jnp.sum(even * even + odd * odd, axis=-1))

        lacking = jax.lax.stop_gradient(square - sums.own > share * square)
        return jax.lax.cond(jnp.any(lacking), more, lambda sums: sums, sums), None

    tables = tuple(jnp.asarray(part) for part in (rule.far_nodes, rule.far_even, rule.far_odd, rule.orders))
    return jax.lax.scan(jax.checkpoint(block), sums, tables)[0]
