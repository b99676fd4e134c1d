"""The products of rows with parameter matrices in the trace (the jaxpr) of a JAX function."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}


@dataclasses.dataclass(frozen=True)
class _Matrix:
    """A value in the trace that is a parameter array, possibly transposed."""

    value: jax.Array
    leaf: int


@dataclasses.dataclass
class _Products:
    """A recorder of products of rows with parameter arrays, in the order in which a function computes them.

    Args:
        rows: the number of rows.
        probes: the arrays that are added to the results of the products, so that derivatives with respect to these
            results can be computed; None if nothing is added.
    """

    rows: int
    probes: list[jax.Array] | None
    leaves: list[int] = dataclasses.field(default_factory=list)
    taken: list[jax.Array] = dataclasses.field(default_factory=list)
    given: list[jax.Array] = dataclasses.field(default_factory=list)
    rows_last: list[bool] = dataclasses.field(default_factory=list)

    def run(self, closed: ClosedJaxpr, values: list[Any]) -> list[Any]:
        known = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *values], strict=True))
        look_up = lambda var: var.val if isinstance(var, Literal) else known[var]
        for step in closed.jaxpr.eqns:
            known.update(zip(step.outvars, self.step(step, [look_up(var) for var in step.invars]), strict=True))
        return [look_up(var) for var in closed.jaxpr.outvars]

    def step(self, step: JaxprEqn, values: list[Any]) -> list[Any]:
        places = [place for place, value in enumerate(values) if isinstance(value, _Matrix)]
        name, params = step.primitive.name, step.params
        if places and name in _CALLS:
            return self.run(params[_CALLS[name]], values)
        plain = [value.value if isinstance(value, _Matrix) else value for value in values]
        told = step.primitive.get_bind_params(params)
        functions, rest = told if isinstance(told, tuple) else ((), told)  # older releases of JAX return a pair
        found = step.primitive.bind(*functions, *plain, **rest)
        found = list(found) if step.primitive.multiple_results else [found]
        if places and name in ("transpose", "copy", "convert_element_type"):
            return [_Matrix(found[0], values[0].leaf)]
        if len(places) == 1 and name == "dot_general":
            return [self.product(params["dimension_numbers"], values, plain, places[0], found[0])]
        return found

    def product(self, numbers: Any, values: list[Any], plain: list[Any], place: int, out: jax.Array) -> jax.Array:
        """Return the result of a product. Record a product of all rows with a matrix, and add its probe."""
        (contracted, batched), rows = numbers, plain[1 - place]
        one = rows.ndim == plain[place].ndim == 2 and all(len(own) == 1 for own in contracted) and not any(batched)
        inner = contracted[1 - place][0] if one else 0
        if not one or rows.shape[1 - inner] != self.rows:
            return out
        self.leaves.append(values[place].leaf)
        self.taken.append(rows.T if inner == 0 else rows)
        self.given.append(out)
        self.rows_last.append(place == 0)
        return out if self.probes is None else out + self.probes[len(self.given) - 1]


def matrix_factors(
    call: Callable[[list[jax.Array], jax.Array], jax.Array], arrays: list[jax.Array], x: jax.Array
) -> dict[int, tuple[jax.Array, jax.Array]]:
    """Return a mapping from the index of each parameter array that multiplies rows exactly once to a pair.

    The pair has the rows that are multiplied by the array, and the derivatives of the outputs with respect to the
    products.

    Args:
        call: a function from arrays and rows to outputs (n, C).
        arrays: the parameter arrays.
        x: the rows.
    """
    closed = jax.make_jaxpr(call)(arrays, x)
    wrapped = [_Matrix(own, place) for place, own in enumerate(arrays)]
    first = _Products(len(x), None)
    (f,) = first.run(closed, [*wrapped, x])
    once = [place for place, leaf in enumerate(first.leaves) if first.leaves.count(leaf) == 1]

    def pushed_by(probes: list[jax.Array]) -> jax.Array:
        return _Products(len(x), probes).run(closed, [*wrapped, x])[0]

    _, back = jax.vjp(pushed_by, [jnp.zeros_like(own) for own in first.given])
    each = jnp.broadcast_to(jnp.eye(f.shape[1], dtype=f.dtype)[:, None, :], (f.shape[1], *f.shape))
    (slopes,) = jax.vmap(back)(each)
    order = lambda place: slopes[place].transpose((2, 0, 1) if first.rows_last[place] else (1, 0, 2))
    return {first.leaves[place]: (first.taken[place], order(place)) for place in once}
