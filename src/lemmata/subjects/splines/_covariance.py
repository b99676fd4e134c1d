"""The covariance r²(ln r - b) + c as a function of r², and the factor that multiplies z - t in its gradient."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import known
from lemmata.errors import SettingError

_TINY = 1e-290


class SplineCovariance(eqx.Module):
    """The covariance of a random function whose distribution prefers no place, direction or scale.

        k(r) = r² (ln r - b) + c = r² (ln r² - 2b)/2 + c,   k(0) = c.

    The term -b r² adds a random slope of size sqrt(2b), and the term c adds a random level of size sqrt(c). As b and
    c/b² go to infinity, the posterior mean becomes the polyharmonic spline of r² ln r with an affine drift. If b goes
    to infinity with b²/c = s, the posterior mean becomes the spline of r² ln r - s |z|² |t|² instead. For example, b =
    5 and c = 400 have s = 1/16. The function k is not a covariance on the whole space. If b and c are large enough, k
    is a covariance on a bounded set.

    Args:
        slope: the number b, above 0.
        level: the number c, above 0.

    Raises:
        SettingError: if slope or level is not positive and finite.

    Source: the covariance of Bakhvalov (2025) with the numbers b = 5 and c = 400 of his public code.

    >>> import jax.numpy as jnp
    >>> k = SplineCovariance()
    >>> [float(k(jnp.asarray(square))) for square in (0.0, 1.0)]
    [400.0, 395.0]
    """

    slope: Float[ArrayLike, ""] = 5.0
    level: Float[ArrayLike, ""] = 400.0

    def __check_init__(self):
        for name, given in (("slope", self.slope), ("level", self.level)):
            value = known(given)
            if value is not None and not (value > 0 and np.isfinite(value)):
                raise SettingError(name, found=str(given), rule="a positive number")

    def __call__(self, squared: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Return k at squared distances r². At 0, the result is exactly c."""
        return 0.5 * squared * (jnp.log(jnp.maximum(squared, _TINY)) - 2 * self.slope) + self.level

    def pull(self, squared: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Return ln r² - 2b + 1, the factor of z - t in the gradient of k(|z - t|) with respect to z.

        The result is finite at r = 0.
        """
        return jnp.log(jnp.maximum(squared, _TINY)) - 2 * self.slope + 1
