"""Kernels that are a power series, with non-negative coefficients, of the inner product <x, y>.

Such a series is positive semidefinite in every dimension: each power <x, y>^k is the inner product of the k-th tensor
powers of the points.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractKernel
from ._parameters import check_number, counting, learnable


def inner(x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
    """The inner product <x, y> at the full precision of its type, even if the device rounds factors by default."""
    return jnp.dot(x, y, precision="highest")


class Linear(AbstractKernel):
    """K(x, y) = <x, y> / scale.

    Args:
        scale: a positive number. If the scale is the dimension d of the points, the kernel of a standardised point with
            itself is about 1.

    Raises:
        SettingError: if the scale is known and not positive.
    """

    scale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)
    cheap_points = True

    def __check_init__(self):
        check_number("Linear.scale", self.scale)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """<x, y> / scale."""
        return inner(x, y) / self.scale


class Polynomial(AbstractKernel):
    """K(x, y) = (<x, y> / scale + offset)^degree.

    With offset 0, the kernel is homogeneous: its features are the monomials of exactly this degree. With a positive
    offset, its features are all monomials up to the degree.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import Polynomial
    >>> print(Polynomial(degree=2, offset=1.0)(jnp.array([1.0, 2.0]), jnp.array([3.0, 1.0])))
    36.0

    Args:
        degree: an integer of at least 1.
        offset: a number of at least 0, which is added to <x, y> / scale.
        scale: a positive number, by which <x, y> is divided.

    Raises:
        SettingError: if a parameter is outside its allowed range.
    """

    degree: int = eqx.field(static=True, converter=counting("Polynomial.degree"))
    offset: Float[Array, ""] = eqx.field(converter=learnable, default=0.0)
    scale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)
    cheap_points = True

    def __check_init__(self):
        check_number("Polynomial.offset", self.offset, zero_allowed=True)
        check_number("Polynomial.scale", self.scale)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel (<x, y> / scale + offset)^degree of two points."""
        return (inner(x, y) / self.scale + self.offset) ** self.degree


class ExponentialDotProduct(AbstractKernel):
    """K(x, y) = exp(<x, y> / scale), strictly positive definite on distinct points.

    Args:
        scale: a positive number, by which <x, y> is divided.

    Raises:
        SettingError: if the scale is known and not positive.
    """

    scale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)
    cheap_points = True

    def __check_init__(self):
        check_number("ExponentialDotProduct.scale", self.scale)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """exp(<x, y> / scale)."""
        return jnp.exp(inner(x, y) / self.scale)
