"""Critical initialisations: the variances of weights and biases at which signals neither explode nor vanish."""

import enum
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.optimize import brentq

from lemmata.architectures import AbstractLayer
from lemmata.core import require_float64
from lemmata.errors import SettingError

from ._moments import gaussian_moments, slopes_of

_GRID = np.geomspace(1e-2, 40.0, 64)  # kernels between which a sign change of E[s s''] is searched
_FLAT = 1e-11


class Universality(enum.StrEnum):
    """The classes of critically initialised networks, by the change of the kernel with depth. The kernel is the
    variance of preactivations.
    """

    SCALE_INVARIANT = "scale invariant"
    ZERO = "K* = 0"
    HALF_STABLE = "half-stable"
    NONE = "none"


class Criticality(NamedTuple):
    """A critical initialisation: both susceptibilities, a layer's factors of small changes, are 1 at the kernel K*.

    Attributes:
        bias_variance: C_b, the variance of biases; NaN if there is no critical point.
        weight_variance: C_W, where weights have the variance C_W / fan-in; NaN if there is no critical point.
        kernel: K*, the fixed point of the kernel (the variance of a preactivation at infinite width); NaN if there is
            no critical point, or if every kernel is fixed.
        universality: the class of the network, one of `Universality`.
    """

    bias_variance: float
    weight_variance: float
    kernel: float
    universality: Universality


def critical_initialisation(activation: AbstractLayer) -> Criticality:
    """Find the critical variances of biases and weights of a network, its fixed point and its universality class.

    Let s be the activation, and let g(K) = C_b + C_W E[s(z)²] with z ~ N(0, K) be the kernel of the next layer. A
    critical point has g(K*) = K*, and both susceptibilities are 1 there. So E[s s''] = 0, C_W = 1/E[s'²] and C_b =
    K* - C_W E[s²] at K*.

    * An activation that is linear below 0 and linear above 0 has E[s s''] = 0 for every K. The class is *scale
      invariant*: C_b = 0, and every kernel is fixed.
    * If s(0) = 0, s'(0) != 0 and a = s'''/s' + 3/4 (s''/s')² < 0 at 0, then the class is `ZERO`: K* = 0 is stable,
      C_b = 0 and C_W = 1/s'(0)².
    * Otherwise, K* is the smallest root of E[s s''] between 1/100 and 40 with C_b >= 0. The class is *half-stable*:
      g(K) - K does not change its sign at K*. So kernels flow to K* on one side and away from K* on the other.
    * If none of these cases applies (softplus, sigmoid), the class is *none*.

    Args:
        activation: a layer of `lemmata.architectures` that acts on every coordinate by itself.

    Raises:
        SettingError: if the activation is not a layer, or if no critical point is found and `gaussian_moments` cannot
            resolve the moments at some kernel.
        PrecisionError: if JAX computes in float32.

    >>> import jax
    >>> from lemmata.architectures import Gelu
    >>> with jax.enable_x64(True):
    ...     point = critical_initialisation(Gelu())
    >>> [round(value, 4) for value in point[:3]], str(point.universality)
    ([0.1729, 1.9831, 3.5616], 'half-stable')
    """
    require_float64("a critical initialisation")
    slopes = slopes_of(activation)
    if slopes is not None:
        return Criticality(0.0, 2.0 / (slopes[0] ** 2 + slopes[1] ** 2), np.nan, Universality.SCALE_INVARIANT)
    found = gaussian_moments(activation, jnp.asarray(_GRID))
    ratio = np.asarray(found.bend / found.slope)
    if np.all(np.abs(ratio) <= _FLAT):
        return Criticality(0.0, 1.0 / float(found.slope[0]), np.nan, Universality.SCALE_INVARIANT)
    s0, s1, s2, s3 = (float(value) for value in _taylor(activation))
    if s0 == 0.0 and s1 != 0.0 and s3 / s1 + 0.75 * (s2 / s1) ** 2 < 0.0:
        return Criticality(0.0, s1**-2, 0.0, Universality.ZERO)
    return _half_stable(activation, ratio)


@eqx.filter_jit
def _taylor(activation: AbstractLayer) -> list[Array]:
    """Return the activation and its first three derivatives at 0."""
    derivatives = [lambda u: activation.apply((), u[None])[0]]
    for _ in range(3):
        derivatives.append(jax.grad(derivatives[-1]))
    return [derivative(jnp.zeros(())) for derivative in derivatives]


def _half_stable(activation: AbstractLayer, ratio: np.ndarray) -> Criticality:
    """Find the smallest root of E[s s''] that is a fixed point for a bias variance C_b >= 0."""
    bend = lambda log_kernel: float(gaussian_moments(activation, float(np.exp(log_kernel))).bend)
    for at in np.flatnonzero(ratio[:-1] * ratio[1:] < 0.0):
        root = float(brentq(bend, np.log(_GRID[at]), np.log(_GRID[at + 1]), xtol=1e-14))  # pyright: ignore
        kernel = float(np.exp(root))
        second, _, slope, _ = (float(value) for value in gaussian_moments(activation, kernel))
        if kernel - second / slope >= 0.0:
            return Criticality(kernel - second / slope, 1.0 / slope, kernel, Universality.HALF_STABLE)
    if np.isnan(ratio).any():
        at = float(_GRID[np.isnan(ratio)][0])
        rule = "an activation whose moments the quadrature can resolve"
        remedy = "use ABRelu for an activation made of two lines, or smooth the kink"
        raise SettingError("activation", found=f"no Gaussian moments at the kernel {at:.3g}", rule=rule, remedy=remedy)
    return Criticality(np.nan, np.nan, np.nan, Universality.NONE)
