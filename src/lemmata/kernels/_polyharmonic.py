"""The generalised covariance r² (ln r - b) + c of functions without a preferred place, direction or scale."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import known
from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._distance import squared_distance, squared_distances
from ._parameters import check_number, learnable


class PolyharmonicCovariance(AbstractKernel):
    """k(x, y) = r² (ln r - b) + c with r = |x - y|, and k(x, x) = c exactly.

    r² ln r is conditionally positive definite of order 2 in every dimension. This means the following. Let w be weights
    of distinct points, not all 0, for which the weighted sum of every affine function is 0. Then sum_ij w_i w_j r_ij²
    ln r_ij > 0 for the distances r_ij of the points. Since

        r² = |x|² + |y|² - 2 <x, y>,

    the other two terms of the kernel, -b r² and c, describe a random affine function if c is much larger than b². The
    level of this function has prior variance c, and every slope has prior variance 2b. So, as b and c / b² grow,
    regression with this kernel tends to the polyharmonic (thin-plate) spline with affine drift
    (`lemmata.solvers.universal_kriging` is this limit).

    The kernel is positive definite only on bounded sets. On the disc of radius R in the plane, the kernel is positive
    definite if and only if

        B >= 1  and  c >= R² (2 B² - 2 B + 1),    B = b - ln R,

    and both conditions are also necessary for balls of more dimensions (`lemmata show
    regression.spline_limit.positive_on_discs`). With b = 5 and c = 400, the largest such radius R is 4.7. If all points
    are multiplied by s, the kernel becomes s² times the kernel with b - ln s and c / s².

    The derivative at x = y is 0. The second derivative there is infinite, and `jax.hessian` returns only its finite
    part -2b.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import PolyharmonicCovariance, gram
    >>> print(gram(PolyharmonicCovariance(slope=5.0, level=400.0), jnp.array([[0.0], [1.0]])))
    [[400. 395.]
     [395. 400.]]

    Reference: Bakhvalov 2025; conditional positive definiteness by Duchon 1977 and Micchelli 1986.

    Args:
        slope: the finite number b.
        level: the positive number c, which is the variance at every point.

    Raises:
        SettingError: if a number is known (not traced by JAX) and not finite, or if the level is not positive.
    """

    slope: Float[Array, ""] = eqx.field(converter=learnable, default=5.0)
    level: Float[Array, ""] = eqx.field(converter=learnable, default=400.0)
    cheap_points = True

    def __check_init__(self):
        check_number("PolyharmonicCovariance.level", self.level)
        slope = known(self.slope)
        if slope is not None and (slope.shape != () or not np.isfinite(slope)):
            raise SettingError("PolyharmonicCovariance.slope", found=slope.tolist(), rule="one finite number")

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel as a function of |x - y|²."""
        return self._profile(squared_distance(x, y))

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """The cross matrix, computed by a matrix product."""
        return self._profile(squared_distances(x, y))

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The vector k(x_i, x_i), which is exactly c."""
        return jnp.broadcast_to(self.level.astype(x.dtype), (x.shape[0],))

    def _profile(self, squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return squares_logarithm(squares) - self.slope * squares + self.level


def squares_logarithm(squares: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The function r² ln r, as a function of r². Its value and its derivative at 0 are set to 0.

    Args:
        squares: the values of r².
    """
    apart = squares > 0
    return jnp.where(apart, 0.5 * squares * jnp.log(jnp.where(apart, squares, 1.0)), 0.0)
