"""Moments of an activation at a Gaussian preactivation, and the response of a layer to small changes."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.architectures import ABRelu, AbstractLayer, LeakyRelu, Relu
from lemmata.core import check_real, require_float64
from lemmata.errors import SettingError

_STEPS = 1 / 16, 1 / 11
_REACH = 16.0
_AGREE = 1e-6


class GaussianMoments(NamedTuple):
    """Expectations over z ~ N(0, K), where s is the activation.

    Attributes:
        second: E[s(z)²].
        fourth: E[s(z)⁴].
        slope: E[s'(z)²].
        bend: E[s(z) s''(z)], so the derivative of E[s(z)²] with respect to K is slope + bend.
    """

    second: Float[Array, "*batch"]
    fourth: Float[Array, "*batch"]
    slope: Float[Array, "*batch"]
    bend: Float[Array, "*batch"]


class Susceptibilities(NamedTuple):
    """The factors by which a layer multiplies small changes of its input.

    Attributes:
        parallel: the factor of small changes of the kernel, C_W (E[s'²] + E[s s'']) = C_W E[s² (z² - K)] / (2 K²).
        perpendicular: C_W E[s'²], the factor of the squared distance of two close inputs of equal length, and of
            squared gradients.
    """

    parallel: Float[Array, "*batch"]
    perpendicular: Float[Array, "*batch"]


def slopes_of(activation: AbstractLayer) -> tuple[float, float] | None:
    """Return the slopes below and above 0 of an activation of two lines, or None for any other layer.

    Args:
        activation: a layer of `lemmata.architectures`.

    Raises:
        SettingError: if the activation is not a layer.

    >>> from lemmata.architectures import LeakyRelu, tanh
    >>> slopes_of(LeakyRelu(0.1)), slopes_of(tanh())
    ((0.1, 1.0), None)
    """
    if not isinstance(activation, AbstractLayer):
        rule, remedy = "a layer of lemmata.architectures", "Relu(), tanh(), or Elementwise(fn) for another function"
        raise SettingError("activation", found=repr(activation), rule=rule, remedy=f"use {remedy}")
    if isinstance(activation, Relu):
        return 0.0, 1.0
    if isinstance(activation, LeakyRelu):
        return activation.slope, 1.0
    return (activation.below, activation.above) if isinstance(activation, ABRelu) else None


def gaussian_moments(activation: AbstractLayer, kernel: float | Float[Array, "*batch"]) -> GaussianMoments:
    """Return E[s²], E[s⁴], E[s'²] and E[s s''] over z ~ N(0, K), where s = s(z) is the activation.

    For activations of two lines with slopes a and b, E[s²] = K (a² + b²)/2, E[s⁴] = 3 K² (a⁴ + b⁴)/2, E[s'²] = (a² +
    b²)/2 and E[s s''] = 0. For any other activation, the trapezoidal rule in z/sqrt(K) with step 1/16 gives the
    moments. The error of this rule is exp(-32 pi d) if the function is analytic up to the distance d sqrt(K) from the
    real line. With N Gauss-Hermite nodes, the error would fall only like the exponential of -sqrt(N), up to a factor in
    the exponent. Moments are NaN if the step 1/11 changes them by more than one part in a million. Moments change so
    much if the layer has an undeclared kink, or if the kernel is too large.

    Args:
        activation: a layer of `lemmata.architectures` that acts on every coordinate by itself.
        kernel: K, the variance of the preactivation, positive.

    Returns:
        Moments of the shape of `kernel`.

    Raises:
        SettingError: if the activation is not a layer, or a known kernel is not finite and positive.
        ShapeError: if there is no kernel.
        PrecisionError: if JAX computes in float32.

    >>> import jax
    >>> from lemmata.architectures import Relu
    >>> with jax.enable_x64(True):
    ...     print(*(float(value) for value in gaussian_moments(Relu(), 2.0)))
    1.0 6.0 0.5 0.0
    """
    require_float64("the moments of an activation")
    check_real("kernel", kernel, "finite, above 0", lambda found: found > 0, several=True)
    return _moments(activation, jnp.asarray(kernel, float))


@eqx.filter_jit
def _moments(activation: AbstractLayer, kernel: Float[Array, "*batch"]) -> GaussianMoments:
    lines = slopes_of(activation)
    if lines is not None:
        two, four = (0.5 * (lines[0] ** p + lines[1] ** p) for p in (2, 4))
        return GaussianMoments(two * kernel, 3.0 * four * kernel**2, jnp.full_like(kernel, two), jnp.zeros_like(kernel))
    rules = [_trapezoid(step) for step in _STEPS]
    both = jnp.concatenate([jnp.asarray(nodes) for nodes, _ in rules])
    value = lambda u: activation.apply((), u[None])[0]
    slope = jax.grad(value)
    points = (jnp.sqrt(kernel)[..., None] * both).reshape(-1)
    s, first, second = (
        jax.vmap(f)(points).reshape(*kernel.shape, -1) for f in (value, slope, jax.grad(slope))
    )  # fmt: skip
    integrands = jnp.stack([s**2, s**4, first**2, s * second])
    count = len(rules[0][0])
    many = integrands[..., :count] @ jnp.asarray(rules[0][1])
    fewer = integrands[..., count:] @ jnp.asarray(rules[1][1])
    # The bend may cancel, so its error is compared with the slope, to which the bend is added.
    scales = many.at[3].set(many[2])
    resolved = jnp.all(jnp.abs(many - fewer) <= _AGREE * scales, axis=0)
    return GaussianMoments(*jnp.where(resolved, many, jnp.nan))


def _trapezoid(step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for the standard normal distribution."""
    z = step * np.arange(-int(_REACH / step), int(_REACH / step) + 1)
    return z, step * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def susceptibilities(
    activation: AbstractLayer, kernel: float | Float[Array, "*batch"], weight_variance: float | Float[Array, ""]
) -> Susceptibilities:
    """Return chi_parallel and chi_perpendicular of a layer with weight variance C_W / fan-in at the kernel K.

    Away from criticality, kernels and gradients grow or vanish like powers of these numbers. The two numbers are 1 at a
    critical point.

    Args:
        activation: as for `gaussian_moments`, whose errors this function also raises.
        kernel: K, the variance of the preactivation.
        weight_variance: C_W, the variance of weights times the fan-in.

    Raises:
        SettingError: if a known variance of weights is not finite and positive.

    >>> import jax
    >>> from lemmata.architectures import Relu
    >>> with jax.enable_x64(True):
    ...     print(*(float(value) for value in susceptibilities(Relu(), 1.0, 2.0)))
    1.0 1.0
    """
    check_real("weight_variance", weight_variance, "finite, above 0", lambda found: found > 0, several=True)
    found = gaussian_moments(activation, kernel)
    return Susceptibilities(weight_variance * (found.slope + found.bend), weight_variance * found.slope)
