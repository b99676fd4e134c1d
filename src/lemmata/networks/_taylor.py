"""The Taylor expansion of a network in its parameters. The expansion of order 1 is the linearised network."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from lemmata.core import check_whole
from lemmata.errors import SettingError, ShapeError

from ._modules import check_variables, function_of
from ._torch_taylor import TorchExpansion, are_tensors


class TaylorExpansion(eqx.Module):
    r"""The Taylor polynomial of a function f(params, x) in its parameters, around its centre.

    Let p be the centre, q the parameters of a call, and f^(j) the j-th derivative with respect to the parameters. Then

        value = sum_{j <= order} f^(j)(p, x)[q - p, ..., q - p] / j!,

    where leaves of the tree that are not floating-point numbers keep the values of the centre. The expansion is a
    function of (params, x) like f itself, so `train`, `EmpiricalKernel` and expansions accept it in place of f.
    Derivatives come from nested forward derivatives, whose cost grows like 2^order. See `taylor_expand`.

    Args:
        f: the function, or an object with a method `apply` that takes the same arguments.
        params: the centre, a tree of arrays.
        order: the order of the polynomial, at least 1.
    """

    f: Any
    params: Any
    order: int = eqx.field(static=True)

    def __call__(self, params: Any, *x: Any, **settings: Any) -> Any:
        """The value of the polynomial at other parameters.

        Args:
            params: a tree of the same structure and shapes as the centre.
            x: the argument of f after its parameters, for example a point.
            settings: keyword arguments of f.

        Raises:
            ShapeError: if the parameters form another tree than the centre's, or arrays of other shapes.
            SettingError: if an output of f is not a floating-point number, because it has no derivative.
        """
        centre, fixed = eqx.partition(self.params, eqx.is_inexact_array)
        moved = _moved(params, self.params)
        apply = function_of(self.f)
        terms = lambda own: (_differentiable(apply(eqx.combine(own, fixed), *x, **settings)),)
        for _ in range(self.order):
            terms = _with_next(terms, moved)
        found = terms(centre)
        scaled = [jax.tree.map(lambda part, j=j: part / math.factorial(j), term) for j, term in enumerate(found)]
        return jax.tree.map(lambda *parts: sum(parts[1:], parts[0]), *scaled)

    def apply(self, params: Any, x: Any) -> Any:
        """Return the value of the polynomial, as `__call__` does. `train` needs a method of this name."""
        return self(params, x)


def linearize(f: Any, params: Any) -> Any:
    """The linearised network f(p, x) + f'(p, x)[q - p] as a function of (q, x): `taylor_expand` of order 1.

    At all parameters q, the tangent kernel of the linearised network equals the tangent kernel of f at p. So the
    solvers predict the training of the linearised network from this kernel: `gradient_flow` for squared loss,
    `loss_flow` for any smooth loss.

    Args:
        f: the function f(params, x), or an object with a method `apply(params, x)`; for modules see `taylor_expand`.
        params: the parameters p at which to linearise.

    Raises:
        SettingError: for the same reasons as `taylor_expand`.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.networks import linearize
        >>> line = linearize(lambda params, x: params["w"] ** 2 * x, {"w": jnp.array(3.0)})
        >>> float(line({"w": jnp.array(4.0)}, 1.0))  # 9 + 6 (4 - 3)
        15.0
    """
    return taylor_expand(f, params, 1)


def taylor_expand(f: Any, params: Any, order: int | float) -> Any:
    """Return the Taylor polynomial of f in its parameters about `params`, a function that is called like f.

    The remainder is of order |q - p|^(order + 1). If f is a polynomial of degree `order` in its parameters, there is no
    remainder. `equinox_function`, `flax_function` and `torch_function` convert a module to the pair (f, params). For
    JAX arrays, the result is a `TaylorExpansion`, which `train` can train. If the parameters are tensors, for example
    those of `torch_function`, the result is a function of tensors. PyTorch's autograd differentiates this function, and
    any optimiser of PyTorch trains it (`train` works only for JAX). Later changes of the tensors in place do not move
    the centre.

    Args:
        f: the function f(params, x), or an object with a method `apply(params, x)`.
        params: the centre p.
        order: the order of the polynomial, at least 1.

    Raises:
        SettingError: for an order that is not a whole number of at least 1; for an argument that is not a function; for
            parameters without a floating-point number; for the variables of a Flax module in place of its parameters. A
            call also raises this error, for outputs that are not floating-point numbers.
        ShapeError: in a call, if the parameters do not have the names and shapes of `params`.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.networks import taylor_expand
        >>> cubic = taylor_expand(lambda w, x: jnp.sin(w * x), jnp.array(0.0), 3)
        >>> float(cubic(jnp.array(6.0), 1.0))  # 6 - 6^3 / 6
        -30.0
    """
    check_whole("order", order, 1, "derivatives")
    if not (hasattr(f, "apply") or callable(f)):
        raise SettingError(
            "f", found=repr(f), rule="a function f(params, x), or an object with a method apply(params, x)"
        )
    if are_tensors(params):
        return TorchExpansion(f, params, int(order))
    check_variables(f, params)
    centre = jax.tree.map(lambda leaf: jnp.array(leaf) if eqx.is_array_like(leaf) else leaf, params)
    if not any(map(eqx.is_inexact_array, jax.tree.leaves(centre))):
        raise SettingError(
            "params", found="no floating-point number", rule="at least one array of floating-point numbers"
        )
    return TaylorExpansion(f, centre, int(order))


Terms = Callable[[Any], tuple[Any, ...]]


def _with_next(terms: Terms, moved: Any) -> Terms:
    """Extend a function that returns (f, f'[moved], ...), up to some order, to return the next derivative, too."""

    def longer(own: Any) -> tuple[Any, ...]:
        values, slopes = jax.jvp(terms, (own,), (moved,))
        return (*values, slopes[-1])

    return longer


def _moved(params: Any, centre: Any) -> Any:
    """The difference of the parameters and the centre, in the type of the centre."""
    if (found := jax.tree.structure(params)) != (own := jax.tree.structure(centre)):
        raise ShapeError("params", found=f"the tree {found}", rule=f"the tree of the centre, {own}")
    for leaf, other in zip(jax.tree.leaves(params), jax.tree.leaves(centre), strict=True):
        if jnp.shape(leaf) != jnp.shape(other):
            raise ShapeError("params", found=f"an array of shape {jnp.shape(leaf)}", rule=f"{jnp.shape(other)}")
    difference = lambda p, q: (jnp.asarray(q) - p).astype(p.dtype) if eqx.is_inexact_array(p) else None
    return jax.tree.map(difference, centre, params)


def _differentiable(outputs: Any) -> Any:
    for leaf in jax.tree.leaves(outputs):
        if not jnp.issubdtype(kind := jnp.result_type(leaf), jnp.inexact):
            raise SettingError(
                "f", found=f"outputs of type {kind}", rule="floating-point numbers, which have derivatives"
            )
    return outputs
