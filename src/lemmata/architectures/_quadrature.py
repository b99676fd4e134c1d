"""A layer for any activation function, whose moments come from a Hermite expansion.

At two points x and y, the inputs u and v of an activation phi are Gaussian. A `State` holds their variances xx and yy,
their covariance nngp and their tangent kernel ntk. `push` returns the state of the outputs. Their tangent kernel is ntk
times E[phi' phi'], the mean of phi'(u) phi'(v), where phi' is the derivative of phi.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import answer_of
from lemmata.errors import SettingError

from ._activations import Cos, Erf, Relu, Sin
from ._expansion import Correlation, product_means
from ._layer import AbstractLayer
from ._state import Means, State, versine_of
from ._versine import sign_of

# The rule for high orders assumes that orders are at least this number.
_FEWEST = 64
# functions that have closed forms, with their layers
_CLOSED = ((jnp.sin, Sin()), (jnp.cos, Cos()), (jax.scipy.special.erf, Erf()), (jax.nn.relu, Relu()))


class Elementwise(AbstractLayer):
    r"""A layer for any activation function. Its kernels are computed by the Hermite expansion of the function.

    Let u and v be Gaussian with variances xx and yy and correlation c. Let a_j(xx) = E[fn(sqrt(xx) z) h_j(z)], where z
    is standard normal and h_j are the orthonormal Hermite polynomials. Mehler's formula gives

        E[fn(u) fn(v)] = sum_j c^j a_j(xx) a_j(yy),

    and the tangent kernel needs the same sum for the derivative of `fn`. The first `degree` orders j are summed one by
    one. If, for u = v, their sum misses more than 1e-12 of E[fn(u)²] (5e-7 in float32), orders up to 1e11 are added in
    blocks [J, 4 J]. For tanh, this happens at standard deviations above 1. As functions of sqrt(j), the terms of even
    orders j are smooth, and so are the terms of odd orders. Therefore Gauss's rule with 16 nodes replaces the even
    orders of a block, and a rule with 16 nodes replaces its odd orders. The coefficients a_j are integrals over panels
    whose lengths halve towards 0, because an activation may bend at 0.

    E[fn(u) fn(v)] is a double integral over u and v for each pair of points. The sum over orders replaces it, and costs
    `degree` operations for each pair, and 32 more for each block. The sum needs no memory besides the output. The
    resulting kernel is positive semidefinite by construction.

    For analytic functions that vary on a scale of about 1 around 0, the mean E[fn(u) fn(v)] has an error below 1e-10 of
    sqrt(E[fn(u)²] E[fn(v)²]), and about 1e-6 in float32. The errors are as small for the derivative in place of `fn`.
    These bounds hold at standard deviations from 0 to 1000 and at every correlation. Examples are tanh, sigmoid,
    softplus, SiLU, GELU, Mish, arctan and Gaussians. Functions that only bend at 0, such as ReLU, have errors below
    1e-6. For `jax.numpy.sin`, `jax.numpy.cos`, `jax.scipy.special.erf` and `jax.nn.relu`, the closed forms of `Sin`,
    `Cos`, `Erf` and `Relu` are used.

    Args:
        fn: a function of one real number, written in JAX and differentiable almost everywhere.
        degree: the number of orders that are summed one by one, from 2 to 160. At least 64 orders are always summed in
            this way.

    Raises:
        SettingError: for another degree, or a function that JAX cannot compute or differentiate at one number.

    `NNGPKernel` and `TangentKernel` compare the sum over orders with E[fn(u)²] from another quadrature rule.
    `TangentKernel` also makes this comparison for the derivative. Both kernels raise SettingError if the two results
    differ by more than 1e-6, or 2e-5 in float32. Such a difference happens for functions that are not
    square-integrable, are singular, bend elsewhere than at 0, or oscillate too fast. Sines oscillate too fast at
    standard deviations above about 6 radians; use `Sin` and `Cos`, which have closed forms. `push` itself sets such
    moments to NaN, because under `jit` it cannot raise an error.
    """

    fn: Callable[[Any], Any] = eqx.field(static=True)
    degree: int = eqx.field(default=128, static=True)

    def __check_init__(self):
        if (
            isinstance(self.degree, bool)
            or not isinstance(self.degree, int | np.integer)
            or not 2 <= self.degree <= 160
        ):
            raise SettingError(
                "degree of the quadrature", found=self.degree, rule="a whole number of nodes from 2 to 160"
            )
        if not callable(self.fn):
            rule, remedy = "a function of one number", "pass jnp.tanh, for example"
            raise SettingError("fn of Elementwise", found=repr(self.fn)[:60], rule=rule, remedy=remedy)
        answer_of(
            "fn of Elementwise",
            jax.eval_shape,
            jax.value_and_grad(lambda u: jnp.asarray(self.fn(u))),
            jax.ShapeDtypeStruct((), jnp.zeros(()).dtype),
            rule="a differentiable function from one real number to one real number, in JAX",
            remedy="write it with jax.numpy, for example jnp.tanh instead of np.tanh, without an `if` on its value",
        )

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return `fn` of every coordinate."""
        return jax.vmap(self.fn)(x.reshape(-1)).reshape(x.shape)

    def push(self, state: State) -> State:
        """Return the moments of fn(u), and the tangent kernel times E[fn'(u) fn'(v)]."""
        for known, layer in _CLOSED:
            if self.fn is known:
                return layer.push(state)
        law = state.law.activated()
        c = Correlation(sign_of(state.nngp), versine_of(state))
        low = max(_FEWEST, self.degree + self.degree % 2)
        found = product_means(self.fn, c, state.xx, state.yy, low)
        means, ntk = Means(found.mean_left[0], found.mean_right[0]), state.ntk * found.pair[1]
        return state.replace(nngp=found.pair[0], ntk=ntk, xx=found.left[0], yy=found.right[0], law=law, means=means)
