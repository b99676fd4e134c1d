"""Kernels of the distance |x - y|: Gaussian, Laplace, Matérn."""

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._distance import squared_distance, squared_distances
from ._parameters import check_number, learnable

# exp(-1000) is 0 in every precision; of an infinite t the profile would be inf times 0.
_FAR = 1e6


class _Stationary(AbstractKernel):
    """A kernel of |x - y|² / lengthscale², with the points and the lengthscale in units of a power of two near it.

    Multiplication by a power of two rounds nothing, so that values are those of the points as given, and squares
    neither overflow nor vanish where the ratio does not.
    """

    lengthscale: eqx.AbstractVar[Float[Array, ""]]

    @abc.abstractmethod
    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The kernel from |x - y|² / lengthscale²."""

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The profile of |x - y|² / lengthscale²."""
        unit = self._unit(x)
        return self._profile(squared_distance(x * unit, y * unit) / (self.lengthscale * unit) ** 2)

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """The cross matrix by way of a matrix product."""
        unit = self._unit(x)
        return self._profile(squared_distances(x * unit, y * unit) / (self.lengthscale * unit) ** 2)

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Exactly 1."""
        return jnp.ones(x.shape[0], x.dtype)

    def _unit(self, x: Array) -> Float[Array, ""]:
        """The power of two that takes the lengthscale to [1/2, 1), in the precision of the points."""
        given = jax.lax.stop_gradient(self.lengthscale)
        return jnp.ldexp(jnp.ones_like(given), -jnp.frexp(given)[1]).astype(x.dtype)


class RBF(_Stationary):
    """K(x, y) = exp(-|x - y|² / (2 lengthscale²)), the Gaussian kernel.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import RBF, gram
    >>> print(gram(RBF(lengthscale=1.0), jnp.array([[0.0], [1.0]])).round(4))
    [[1.     0.6065]
     [0.6065 1.    ]]

    Args:
        lengthscale: a positive number, in the units of the points.

    Raises:
        SettingError: if the lengthscale is known and not positive.
    """

    lengthscale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)

    def __check_init__(self):
        check_number("RBF.lengthscale", self.lengthscale)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.exp(-0.5 * squares)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def matern_profile(order: int, t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The Matérn function of smoothness order + 1/2 in t = s², s = sqrt(2 order + 1) |x - y| / lengthscale.

    exp(-s), (1 + s) exp(-s) and (1 + s + s²/3) exp(-s) for order 0, 1 and 2. As functions of t they have the
    derivatives -phi_0/(2s), -phi_0/2 and -phi_1/6: for order 1 and 2 the derivative is finite at distance zero, and
    the rule below says so where differentiating the square root would give nan. Order 0 has a kink there, and its
    derivative is the subgradient 0.
    """
    t = jnp.minimum(t, _FAR)
    s = jnp.sqrt(t)
    polynomial = {0: 1.0, 1: 1.0 + s, 2: 1.0 + s + t / 3}[order]
    return polynomial * jnp.exp(-s)


@matern_profile.defjvp
def _matern_profile_jvp(order, primals, tangents):
    (t,), (dt,) = primals, tangents
    value = matern_profile(order, t)
    if order == 0:
        apart = t > 0
        slope = jnp.where(apart, -value / (2 * jnp.sqrt(jnp.where(apart, t, 1.0))), 0.0)
    else:
        slope = -matern_profile(order - 1, t) / (2.0 if order == 1 else 6.0)
    return value, slope * dt


class Laplace(_Stationary):
    """K(x, y) = exp(-|x - y| / lengthscale) with the Euclidean distance.

    It has a kink at x = y; derivatives there are the subgradient 0.

    Args:
        lengthscale: a positive number, in the units of the points.

    Raises:
        SettingError: if the lengthscale is known and not positive.
    """

    lengthscale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)

    def __check_init__(self):
        check_number("Laplace.lengthscale", self.lengthscale)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return matern_profile(0, squares)


class Matern(_Stationary):
    """The Matérn kernel of smoothness nu = 1/2, 3/2 or 5/2.

    With r = |x - y| / lengthscale it is exp(-r), (1 + √3 r) exp(-√3 r) and (1 + √5 r + 5r²/3) exp(-√5 r).

    Args:
        nu: 0.5, 1.5 or 2.5; a sample of the Gaussian process is less than nu times differentiable.
        lengthscale: a positive number, in the units of the points.

    Raises:
        SettingError: if nu is not 0.5, 1.5 or 2.5, or the lengthscale is known and not positive.
    """

    nu: float = eqx.field(static=True)
    lengthscale: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)

    def __check_init__(self):
        if self.nu not in (0.5, 1.5, 2.5):
            raise SettingError(
                "Matern.nu", found=self.nu, rule="0.5, 1.5 or 2.5", remedy="use RBF, which is the limit of infinite nu"
            )
        check_number("Matern.lengthscale", self.lengthscale)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return matern_profile(int(self.nu), 2 * self.nu * squares)
