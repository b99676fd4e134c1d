"""Activations that change their form at 0: slopes, powers and the sign.

At two points x and y, the inputs u and v of an activation phi are Gaussian. A `State` holds their variances xx and yy,
their covariance nngp and their tangent kernel ntk. `push` returns the state of the outputs. The tangent kernel of the
outputs is ntk times E[phi' phi'], the mean of phi'(u) phi'(v), where phi' is the derivative of phi.

The kernels of these activations are functions of the angle between u and v, the arccosine of their correlation.
"""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._activations import piecewise_linear
from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._moments import check_finite
from ._polynomials import check_degree
from ._state import Means, State, versine_of
from ._versine import arcs, sign_of


class ABRelu(AbstractLayer):
    """The activation phi(u) = a min(u, 0) + b max(u, 0) with a = `below` and b = `above`.

    Its kernels mix kappa0 and kappa1, the arc-cosine kernels of ReLU. Let u and v be Gaussian with variances xx and yy
    and correlation c. The means of phi(u) phi(v) and phi'(u) phi'(v) are

    E[phi phi] = sqrt(xx yy) [(b - a)² kappa1(c) + 2 a b c] / 2, and E[phi' phi'] = [(b - a)² kappa0(c) + 2 a b] / 2.
    `LeakyRelu` is the case a = slope, b = 1.

    Args:
        below: the slope for u < 0.
        above: the slope for u > 0.

    Raises:
        SettingError: for slopes that are not finite, if both slopes are 0, or if their squares leave the range of
            float64.
    """

    below: float
    above: float

    def __check_init__(self):
        check_finite("slopes of ABRelu", self.below, self.above)
        if not 0.0 < self.below * self.below + self.above * self.above < math.inf:
            raise SettingError(
                "slopes of ABRelu",
                found=(self.below, self.above),
                rule="finite numbers, not both 0, whose squares have a positive and finite sum",
            )

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return phi of every coordinate."""
        return jnp.where(x > 0, self.above * x, self.below * x)

    def push(self, state: State) -> State:
        """Return the moments, as mixtures of the arc-cosine kernels."""
        return piecewise_linear(state, self.below, self.above)


class Sign(AbstractLayer):
    """The activation phi(u) = sign(u), which is -1, 0 or 1.

    For Gaussian u and v of correlation c, the mean of phi(u) phi(v) is E[phi phi] = (2 / pi) arcsin(c).

    The derivative is 0 almost everywhere, so the layer does not pass the tangent kernel on. Only the layers after a
    network's last Sign contribute to its tangent kernel. At finite width, the gradient of earlier layers is 0, too. A
    point 0 has the sign 0.
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the sign of every coordinate."""
        return jnp.sign(x)

    def push(self, state: State) -> State:
        """Return the state with E[phi phi] = 1 - 2 theta / pi, where the versine gives the angle theta in [0, pi]."""
        law = state.law.activated(odd=True)
        share, _ = _acute_arcs(versine_of(state))
        present = (state.xx > 0) & (state.yy > 0)
        nngp = jnp.where(present, sign_of(state.nngp) * (1.0 - 2.0 * share), 0.0)
        ones = lambda variance: jnp.where(variance > 0, jnp.ones_like(variance), 0.0)
        return state.replace(
            nngp=nngp,
            ntk=jnp.zeros_like(state.ntk),
            xx=ones(state.xx),
            yy=ones(state.yy),
            law=law,
            means=None,
            versine=jnp.where(present, 2.0 * share, 1.0),
        )


class RectifiedMonomial(AbstractLayer):
    r"""The activation u^n for u > 0, and 0 otherwise, with n = `degree`.

    Its kernel is the arc-cosine kernel of degree n (Cho and Saul, 2009).

    Let u and v be Gaussian with variances xx and yy and correlation c = cos theta, and let J_n be the functions

        J_0 = pi - theta,    J_1 = sin theta + (pi - theta) c,    J_{n+1} = (2n + 1) c J_n + n² sin² theta J_{n-1},

        E[phi phi] = (xx yy)^(n/2) J_n / (2 pi),    E[phi' phi'] = n² (xx yy)^((n-1)/2) J_{n-1} / (2 pi).

    Degree 1 is `Relu`. Degree 0 is the step function, whose derivative is 0 almost everywhere. Like `Sign`, the step
    function does not pass the tangent kernel on.

    Raises:
        SettingError: for a degree that is not an integer from 0 to 64.
    """

    degree: int

    def __check_init__(self):
        check_degree(self.degree, 0)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the power of every positive coordinate, and 0 for other coordinates."""
        return jnp.where(x > 0, x**self.degree, 0.0)

    def push(self, state: State) -> State:
        """Return the moments from the arc-cosine kernels of degrees n and n - 1."""
        n, law = self.degree, state.law.activated()
        left, right = safe_sqrt(state.xx), safe_sqrt(state.yy)
        present = (left > 0) & (right > 0)
        found, apart, lower = arc_cosine_kernels_of_degree(n, state.nngp < 0, versine_of(state))
        size, slope = _half_double_factorial(n), n * n * _half_double_factorial(n - 1)
        # E[max(z, 0)^n] for a standard normal z
        mean = 2.0 ** (0.5 * n - 1.0) * math.gamma(0.5 * (n + 1)) / math.sqrt(math.pi)
        own = lambda factor, root, power: jnp.where(root > 0, factor * root**power, 0.0)
        return state.replace(
            nngp=jnp.where(present, size * (left * right) ** n * found, 0.0),
            ntk=state.ntk * (slope * (left * right) ** (n - 1) * lower) if n else jnp.zeros_like(state.ntk),
            xx=own(size, state.xx, n),
            yy=own(size, state.yy, n),
            law=law,
            means=Means(own(mean, left, n), own(mean, right, n)),
            versine=jnp.where(present, apart, 1.0),
        )


def _acute_arcs(versine: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return the `arcs` of an obtuse angle pi - u, from the versine of u. Rounding in pi - u would lose a small u."""
    return arcs(jnp.ones_like(versine, bool), versine)


def _half_double_factorial(n: int) -> float:
    """Return (2n - 1)!! / 2, the moment E[max(z, 0)^(2n)] for a standard normal z, or 0 for n below 0."""
    return 0.5 * math.prod(range(1, 2 * n, 2)) if n >= 0 else 0.0


def arc_cosine_kernels_of_degree(
    degree: int, obtuse: Array, versine: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """Return k_n, 1 - k_n and k_{n-1} (0 for n = 0), where k_n is Cho and Saul's kernel, with value 1 at angle 0.

    With r_n = n² / (4n² - 1), the recurrence of `RectifiedMonomial` is k_{n+1} = c k_n + r_n sin² theta k_{n-1}. At
    acute angles, with c = 1 - v, the recurrence is computed for the gaps g_n = 1 - k_n instead,

        g_{n+1} = g_n (1 - v) + v [1 - r_n (2 - v) (1 - g_{n-1})],

    whose terms are not negative, because r_n <= 1/3. So 1 - k_n keeps its accuracy for angles near 0.
    """
    share, bow = _acute_arcs(versine)
    cosine, square = jnp.where(obtuse, versine - 1.0, 1.0 - versine), versine * (2.0 - versine)
    kernels = jnp.where(obtuse, share, 1.0 - share), jnp.where(obtuse, bow, 1.0 - versine + bow)
    gaps = jnp.where(obtuse, 1.0 - share, share), jnp.where(obtuse, 1.0 - bow, versine - bow)
    if degree == 0:
        return kernels[0], gaps[0], jnp.zeros_like(share)
    for n in range(1, degree):
        ratio = n * n / (4.0 * n * n - 1.0)
        near = gaps[1] * (1.0 - versine) + versine * (1.0 - ratio * (2.0 - versine) * kernels[0])
        far = cosine * kernels[1] + ratio * square * kernels[0]
        kernels = kernels[1], jnp.where(obtuse, far, 1.0 - near)
        gaps = gaps[1], jnp.where(obtuse, 1.0 - far, near)
    return kernels[1], gaps[1], kernels[0]
