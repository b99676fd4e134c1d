"""A network as a function of one vector of parameters, its Jacobian, and the path of the parameters under descent."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from lemmata.core import check_numbers, numbers_of
from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError

_MOST = 2e8  # largest number of entries of a Jacobian
_ROUNDING = 64.0  # rounding errors of an output, in units of eps


@dataclasses.dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a network at its rows.

    Args:
        of: the function from a vector of parameters to the outputs (n,).
        slopes: the function from a vector of parameters to the gradients (n, p) of the outputs. Each gradient is
            computed by a pass over its own row.
        start: the parameters at the start.
        y: the targets.
    """

    of: Callable[[Float[Array, " p"]], Float[Array, " n"]]
    slopes: Callable[[Float[Array, " p"]], Float[Array, "n p"]]
    start: Float[Array, " p"]
    y: Float[Array, " n"]

    def misfit(self) -> float:
        """Return |f - y| at the start, relative to the larger of |f| and |y|, or 0 if it is only a rounding error."""
        outputs = np.asarray(self.of(self.start), float)
        targets = np.asarray(self.y, float)
        size = max(np.linalg.norm(outputs), np.linalg.norm(targets))
        share = float(np.linalg.norm(outputs - targets) / size) if size > 0 else 0.0
        return share if share > _ROUNDING * np.finfo(self.start.dtype).eps else 0.0

    def jacobian(self, at: Float[Array, " p"]) -> Float[np.ndarray, "n p"]:
        """Return the gradients of the outputs with respect to the parameters, one row for each output.

        Raises:
            DataError: if a gradient is not finite.
        """
        found = np.asarray(self.slopes(at))
        if not np.isfinite(found).all():
            rule = "outputs with finite gradients, and targets and steps that are not too large"
            remedy = "scale the rows and targets, or start at other parameters"
            raise DataError(
                "the gradients of the network", found="entries that are not finite", rule=rule, remedy=remedy
            )
        return found

    def path(self, first: Array, rate: float, steps: int, kept: list[int]) -> list[Float[Array, " p"]]:
        """Return the parameters after some of the steps of descent on |f - first - y|²/2.

        Args:
            first: the outputs that are subtracted from those of the network.
            rate: the step size.
            steps: the number of descent steps.
            kept: the numbers of steps after which the parameters are returned, in order.
        """

        def step(at: Array) -> Array:
            outputs, pull = jax.vjp(self.of, at)
            return at - rate * pull(outputs - first - self.y)[0]

        move = jax.jit(lambda at, count: jax.lax.fori_loop(0, count, lambda _, now: step(now), at))
        at, done, found = self.start, 0, []
        for after in kept:
            at, done = move(at, after - done), after
            found.append(at)
        return found


def outputs_of(network: Any, params: Any, x: Any, y: Any) -> Outputs:
    """Return the outputs of a network at its rows as functions of one vector of parameters.

    Args:
        network: a function f(params, row) with one output, or an object whose method `apply` is such a function.
        params: the parameters, an array or a tree of floating-point arrays.
        x: the rows of inputs.
        y: the targets, (n,).

    Raises:
        SettingError: if the network is not a function.
        DataError, ShapeError: for rows, targets, parameters or outputs that do not fit each other.
        MemoryPlanError: if the Jacobian has more than 2e8 entries.
    """
    apply = getattr(network, "apply", network)
    if not callable(apply):
        rule = "a function f(params, row), or an object with such a method `apply`"
        remedy = "pass a network of lemmata, or lambda params, row: ..."
        raise SettingError("network", found=f"a {type(network).__name__}", rule=rule, remedy=remedy)
    rows, targets = numbers_of("x", x), numbers_of("y", y).astype(float)
    if rows.ndim < 2:
        raise ShapeError("x", found=f"shape {rows.shape}", rule="one row for each target")
    if targets.shape != (len(rows),):
        raise ShapeError(
            "y", found=f"shape {targets.shape}", rule=f"shape ({len(rows)},), one target for each row of x"
        )
    leaves = jax.tree.leaves(params)
    if not leaves or not all(_is_floating(leaf) for leaf in leaves):
        raise DataError(
            "params",
            found="no parameters, or parameters that are not floating-point numbers",
            rule="floating-point arrays",
            remedy="convert them with astype(float)",
        )
    for leaf in leaves:
        check_numbers("params", leaf)
    start, tree = ravel_pytree(params)
    if len(rows) * len(start) > _MOST:
        raise MemoryPlanError(
            "the Jacobian",
            found=f"{len(rows)} rows and {len(start)} parameters",
            rule=f"at most {_MOST:.0e} entries",
            remedy="pass fewer rows",
        )
    inputs = jnp.asarray(rows)

    def called(at: Any, row: Array) -> Any:
        try:
            return apply(at, row)
        except Exception as error:  # any error of a user's network
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
            rule = f"a function f(params, row) in JAX, where row has the shape {row.shape}"
            remedy = "call it with params and one row to see the error"
            raise SettingError("network", found=found, rule=rule, remedy=remedy) from error

    def of(at: Float[Array, " p"]) -> Float[Array, " n"]:
        found = jax.vmap(lambda row: jnp.asarray(called(tree(at), row)))(inputs)
        if found.size != len(inputs):
            rule = "one output; pass a function that returns the output of interest"
            raise ShapeError("network", found=f"outputs of shape {found.shape[1:]}", rule=rule)
        return found.reshape(len(inputs))

    one = lambda at, row: jnp.asarray(called(tree(at), row)).reshape(())
    slopes = jax.jit(jax.vmap(jax.grad(one), (None, 0)))
    check_numbers("the outputs of the network", np.asarray(of(start)))
    return Outputs(of, lambda at: slopes(at, inputs), start, jnp.asarray(targets, start.dtype))


def _is_floating(leaf: Any) -> bool:
    kind = getattr(leaf, "dtype", None)
    return isinstance(leaf, float) or (isinstance(kind, np.dtype) and bool(jnp.issubdtype(kind, jnp.floating)))
