"""Kernels that depend on the distance |x - y|: Gaussian, Laplace and Matérn."""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import known
from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._distance import squared_distance, squared_distances
from ._matern import matern_function
from ._numpy_distance import numpy_distances, numpy_matern
from ._parameters import check_number, for_columns, learnable

# Up to rounding, a Matérn kernel below the first order is 0 between different points. Above the second order, a Matérn
# kernel equals the Gaussian kernel, up to rounding.
_ROUGHEST, _SMOOTHEST = 1e-30, 1e15


class _Stationary(AbstractKernel):
    """A kernel of |x - y|² / lengthscale², computed after points and lengthscale are divided by a power of two.

    This power of two is near the lengthscale. With a lengthscale for each column, the squared distance is sum_k (x_k -
    y_k)² / lengthscale_k². Division by a power of two does not round, so the result is exactly the kernel of the given
    points. Squares neither overflow nor underflow if the ratio |x - y|² / lengthscale² does not.
    """

    lengthscale: eqx.AbstractVar[Float[Array, "*columns"]]
    cheap_points = True

    def __check_init__(self):
        check_number(f"{type(self).__name__}.lengthscale", self.lengthscale, each_column=True)

    @abc.abstractmethod
    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The kernel, computed from |x - y|² / lengthscale²."""

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel as a function of |x - y|² / lengthscale²."""
        return self._profile(self._squares(squared_distance, x, y))

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """The cross matrix, computed by a matrix product."""
        return self._profile(self._squares(squared_distances, x, y))

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The vector K(x_i, x_i), which is exactly 1."""
        return jnp.ones(x.shape[0], x.dtype)

    def numpy_cross(self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"] | None:
        """The cross matrix by NumPy, for kernels whose profile is a polynomial times an exponential."""
        length, profile = known(self.lengthscale), self._numpy_profile()
        if profile is None or length is None or not x.dtype == y.dtype == np.float64:
            return None
        length = for_columns(f"{type(self).__name__}.lengthscale", np.asarray(length, np.float64), x)
        return numpy_distances(x, y, length, profile)

    def _numpy_profile(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The kernel as a NumPy function of |x - y|² / lengthscale², which may overwrite its argument, or None."""
        return None

    def _squares(self, distances: Callable[..., Array], x: Array, y: Array) -> Array:
        length = for_columns(f"{type(self).__name__}.lengthscale", self.lengthscale, x)
        unit = _unit(length, x)
        if length.ndim:
            return distances(x, y, length * unit, unit)
        return distances(x, y, unit=unit) / (length * unit) ** 2


def _unit(length: Any, x: Array) -> Float[Array, "*columns"]:
    """The power of two whose product with a lengthscale lies in [1/2, 1), in the precision of the points."""
    given = jax.lax.stop_gradient(length)
    return jnp.ldexp(jnp.ones_like(given), -jnp.frexp(given)[1]).astype(x.dtype)


class RBF(_Stationary):
    """K(x, y) = exp(-|x - y|² / (2 lengthscale²)), the Gaussian kernel.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import RBF, gram
    >>> print(gram(RBF(lengthscale=1.0), jnp.array([[0.0], [1.0]])).round(4))
    [[1.     0.6065]
     [0.6065 1.    ]]

    Args:
        lengthscale: a positive number in the units of the points, or an array with one number for each column.

    Raises:
        SettingError: if a lengthscale is known and not positive, or an array does not have one number for each column.
    """

    lengthscale: Float[Array, "*columns"] = eqx.field(converter=learnable, default=1.0)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.exp(-0.5 * squares)

    def _numpy_profile(self) -> Callable[[np.ndarray], np.ndarray]:
        return lambda squares: np.exp(np.multiply(squares, -0.5, out=squares), out=squares)


class Laplace(_Stationary):
    """K(x, y) = exp(-|x - y| / lengthscale) with the Euclidean distance.

    The kernel has a kink at x = y; the derivatives there are set to the subgradient 0.

    Args:
        lengthscale: a positive number in the units of the points, or an array with one number for each column.

    Raises:
        SettingError: if a lengthscale is known and not positive, or an array does not have one number for each column.
    """

    lengthscale: Float[Array, "*columns"] = eqx.field(converter=learnable, default=1.0)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return matern_function(0.5, squares)

    def _numpy_profile(self) -> Callable[[np.ndarray], np.ndarray]:
        return numpy_matern(0.5)


def _order(nu: Any) -> float:
    """Check the order nu, and return it as a Python number."""
    if isinstance(nu, jax.Array) and known(nu) is None:
        raise SettingError(
            "Matern.nu",
            found="a value that JAX traces, in jit or grad",
            rule="a number that JAX does not trace, because the kernel has no derivative with respect to nu",
            remedy="build a kernel for each of a few values of nu, and compare their evidence or held-out error",
        )
    try:
        number = math.nan if isinstance(nu, bool | str) else float(nu)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        remedy = "pass a number such as 1.5, or use RBF, which is the limit of infinite nu"
        raise SettingError("Matern.nu", found=repr(nu), rule="a finite number above 0", remedy=remedy)
    return number


class Matern(_Stationary):
    """The Matérn kernel of smoothness nu > 0.

    Let r = |x - y| / lengthscale, s = √(2 nu) r, and let K_nu be the modified Bessel function of the second kind. The
    kernel is

        K(x, y) = 2^(1 - nu) / Γ(nu) s^nu K_nu(s),

    which is exp(-r), (1 + √3 r) exp(-√3 r) and (1 + √5 r + 5r²/3) exp(-√5 r) for nu = 1/2, 3/2 and 5/2. For the other
    half-integers nu, closed forms are used, too. If nu is not a half-integer, the kernel is still accurate to rounding,
    but costs a few times as much as a closed form.

    Derivatives exist with respect to the points and the lengthscale. At x = y, the derivative with respect to the
    points is 0. For nu <= 1/2, the kernel has a kink or a cusp at x = y, and 0 is a subgradient. The order nu is a
    static field, so there is no derivative with respect to nu.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import Matern, gram
    >>> print(gram(Matern(nu=0.8, lengthscale=jnp.array([1.0, 10.0])), jnp.array([[0.0, 0.0], [1.0, 1.0]])).round(4))
    [[1.     0.4186]
     [0.4186 1.    ]]

    Args:
        nu: a number above 0. Samples of the Gaussian process with this kernel have fewer than nu derivatives.
        lengthscale: a positive number in the units of the points, or an array with one number for each column.

    Raises:
        SettingError: if nu is not a finite number above 0, or is traced by JAX. This error is also raised if a
            lengthscale is known and not positive, or if an array does not have one number for each column of the
            points.

    Reference: Rasmussen & Williams 2006, equation 4.14.
    """

    nu: float = eqx.field(static=True, converter=_order)
    lengthscale: Float[Array, "*columns"] = eqx.field(converter=learnable, default=1.0)

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        nu = min(max(self.nu, _ROUGHEST), _SMOOTHEST)
        return matern_function(nu, 2 * nu * squares)

    def _numpy_profile(self) -> Callable[[np.ndarray], np.ndarray] | None:
        return numpy_matern(self.nu) if self.nu in (0.5, 1.5, 2.5) else None
