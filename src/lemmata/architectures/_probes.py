"""Find gradients of a plain function by probes: zeros that are added where it is linear in its parameters.

The jaxpr of the function shows these places.

A jaxpr is JAX's list of the operations of a function. Suppose that a function f computes h = W u with a parameter W.
Then the gradient of f with respect to W is the product of u and the gradient with respect to h. A probe is a zero that
is added to h. The derivative with respect to the probe is the gradient with respect to h, so the gradient with respect
to W is never formed. So gradients of a plain function cost as much as gradients of a network of layers. The gradient of
a parameter is formed if the parameter is used twice, or in an operation other than a sum or a product with a vector.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array

# operations that only reorder the entries of a parameter, and so keep inner products of gradients
_REORDER = ("reshape", "transpose", "squeeze", "expand_dims", "broadcast_in_dim", "copy")
_CALL = ("jit", "pjit")


class Probes:
    """One run through a jaxpr. The run follows the parameters and lists the places at which probes were added.

    Args:
        whole: the jaxpr of the function.
        values: the values of the parameters' leaves.
        probes: the arrays to add, one for each place, in order. With `None`, nothing is added, and the places are
            listed.
        formed: the leaves whose gradients are computed directly. The run does not follow these leaves.

    Attributes:
        places: for each place, the leaf, the shape of the output, and the vector that multiplies the leaf (or None).
        uses: how often each leaf (array of parameters) was used. If a leaf is `formed` or is used more than once, its
            gradient is formed.
    """

    def __init__(self, whole: Any, values: list[Array], probes: list[Array] | None, formed: set[int]):
        self.whole, self.values, self.probes, self.formed = whole, values, probes, formed
        self.places: list[tuple[int, tuple[int, ...], Array | None]] = []
        self.uses = [0] * len(values)
        self.loose: set[int] = set()

    def run(self, closed: Any, inputs: list[Any], leaves: list[int | None]) -> tuple[list, list]:
        """Return the values of the outputs and, for each output, the leaf whose entries form the output, or None."""
        jaxpr, held = closed.jaxpr, {}
        held.update(zip(jaxpr.constvars, ((value, None) for value in closed.consts), strict=True))
        held.update(zip(jaxpr.invars, zip(inputs, leaves, strict=True), strict=True))
        read = lambda var: (var.val, None) if hasattr(var, "val") else held[var]
        for equation in jaxpr.eqns:
            values, followed = zip(*map(read, equation.invars), strict=True) if equation.invars else ((), ())
            found = self._equation(equation, list(values), list(followed))
            held.update(zip(_kept(equation.outvars), found, strict=True))
        values, followed = zip(*map(read, jaxpr.outvars), strict=True)
        return list(values), list(followed)

    def _equation(self, equation: Any, values: list, followed: list[int | None]) -> list[tuple[Any, int | None]]:
        name, there = equation.primitive.name, [leaf for leaf in followed if leaf is not None]
        if there and name in _CALL:
            inner = equation.params["jaxpr"]
            results = zip(*self.run(inner, values, followed), strict=True)
            pairs = zip(equation.outvars, results, strict=True)
            return [pair for var, pair in pairs if _kept([var])]
        results = self._evaluated(equation, values)
        if len(results) != 1:
            self.loose.update(there)
            return [(one, None) for one in results]
        (result,) = results
        if not there:
            return [(result, None)]
        if len(there) == 1 and name in _REORDER and result.size == self.values[there[0]].size:
            return [(result, there[0])]
        return [(self._probed(equation, result, values, followed, there), None)]

    def _evaluated(self, equation: Any, values: list) -> list:
        """Return the results of one equation for the values of its operands."""
        given = {var: value for var, value in zip(equation.invars, values, strict=True) if not hasattr(var, "val")}
        alone = self.whole.jaxpr.replace(
            eqns=[equation], constvars=[], invars=list(given), outvars=_kept(equation.outvars)
        )
        return jaxpr_as_fun(self.whole.replace(jaxpr=alone, consts=[]))(*given.values())

    def _probed(self, equation: Any, result: Any, values: list, followed: list[int | None], there: list[int]) -> Any:
        leaf, name = there[0], equation.primitive.name
        other, size = values[followed.index(leaf) - 1], self.values[leaf].size
        product = name == "dot_general" and other.ndim == 1 and result.size * other.size == size
        shifted = name in ("add", "add_any") and result.size == size
        if len(there) > 1 or not (product or shifted):
            self.loose.update(there)
            return result
        self.uses[leaf] += 1
        if leaf in self.formed:
            return result
        self.places.append((leaf, result.shape, other if product else None))
        return result if self.probes is None else result + self.probes[len(self.places) - 1]


def _kept(variables: list) -> list:
    """Return the variables of an equation that later equations may use."""
    return [var for var in variables if type(var).__name__ != "DropVar"]


def probed(apply: Any, params: Any, x: Array, g: Array) -> tuple[list[tuple[Array, Array | None]], list[Array]]:
    """Return gradients of the combinations g (q, ...) of outputs at one point, by probes and by leaves.

    The rows of g are the coefficients of q linear combinations of outputs. By a probe, the gradient is with respect to
    h = W u; by a leaf, it is with respect to the leaf itself, for leaves whose gradients must be formed.

    Returns:
        ([(gradient (q, p) by h, u or None), ...], [gradient (q, p) by a leaf, ...]).
    """
    leaves, tree = jax.tree.flatten(params)
    closed = jax.make_jaxpr(lambda own, point: apply(jax.tree.unflatten(tree, own), point))(leaves, x)
    numbers = [*range(len(leaves)), None]

    def places() -> tuple[set[int], list[tuple[int, ...]]]:
        found: list[Probes] = []
        formed: set[int] = set()
        for _ in range(2):  # the second run follows only leaves that are used once in the first run
            run = Probes(closed, leaves, None, formed)
            jax.eval_shape(lambda own, run=run: run.run(closed, [*own, x], numbers)[0], leaves)
            found.append(run)
            formed = run.loose | {leaf for leaf, uses in enumerate(run.uses) if uses != 1} | formed
        return formed, [shape for _, shape, _ in found[-1].places]

    formed, shapes = places()
    chosen = sorted(formed)

    def outputs(probes: list[Array], own: list[Array]) -> tuple[Array, list[Array | None]]:
        whole = list(leaves)
        for number, value in zip(chosen, own, strict=True):
            whole[number] = value
        run = Probes(closed, leaves, probes, formed)
        (value,), _ = run.run(closed, [*whole, x], numbers)
        return value, [vector for _, _, vector in run.places]

    probes = [jnp.zeros(shape, g.dtype) for shape in shapes]
    _, pullback, vectors = jax.vjp(outputs, probes, [leaves[number] for number in chosen], has_aux=True)
    by_probes, by_leaves = jax.vmap(pullback)(g)
    flat = lambda part: part.reshape(len(g), -1)
    return list(zip(map(flat, by_probes), vectors, strict=True)), list(map(flat, by_leaves))
