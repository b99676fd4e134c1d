"""Packages: several splines on one constellation of points, with values and derivatives from matrix products."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_numbers, require_float64
from lemmata.errors import ShapeError

from ._constellations import AbstractConstellation
from ._covariance import SplineCovariance


class Package(eqx.Module):
    """m splines F: R^p -> R^m that take given values Y at the N points t_j of one constellation.

        F(z) = M(z) C,   C = K^-1 Y,   M_ij = k(|z_i - t_j|),   K_ij = k(|t_i - t_j|).

    After M is computed, the values at n points cost n N m operations. For a cotangent G of shape (n, m), the gradient
    is

        d<G, F(z)>/dz = z * rowsum(W) - W t,   W = (ln r² - 2b + 1) * (G C').

    In this formula, r are the distances |z_i - t_j|, and b is the slope of the covariance. The gradient takes two
    matrix products and no array of n N p numbers. Leading axes of z and Y stand for several packages, which are
    computed together. These axes broadcast.

    Args:
        constellation: the points t_j that all splines of the package share.
        covariance: the covariance k as a function of the distance.
        values: the values Y, (..., N, m).

    Raises:
        ShapeError: if Y does not have one row for each point.
        DataError: if a value is not finite.
        PrecisionError: if JAX computes in float32, which loses the small eigenvalues of K because the level c is large.

    Source: Bakhvalov (2025).

    >>> import jax
    >>> from lemmata.subjects.splines import Hyperoctahedron
    >>> with jax.enable_x64(True):
    ...     h = Hyperoctahedron(3)
    ...     package = Package(h, SplineCovariance(), h.points[:, :2])
    ...     package(h.points).round(9).tolist()[1]
    [1.0, 0.0]
    """

    constellation: AbstractConstellation
    covariance: SplineCovariance
    values: Float[Array, "... N m"]

    def __check_init__(self):
        require_float64("a package of polyharmonic splines")
        nodes = self.constellation.points.shape[0]
        if jnp.ndim(self.values) < 2 or jnp.shape(self.values)[-2] != nodes:
            raise ShapeError(
                "values",
                found=f"shape {jnp.shape(self.values)}",
                rule=f"shape (..., {nodes}, m), one row for each point",
            )
        check_numbers("values", self.values)

    def coefficients(self) -> Float[Array, "... N m"]:
        """Return the coefficients C = K^-1 Y."""
        return self.constellation.solve(self.covariance, self.values)

    def __call__(self, z: Float[Array, "... n p"]) -> Float[Array, "... n m"]:
        """Return the values F(z) at points z."""
        return self.covariance(self._squared(z)) @ self.coefficients()

    def pull_back(self, z: Float[Array, "... n p"], cotangent: Float[Array, "... n m"]) -> Float[Array, "... n p"]:
        """Return the gradient of <cotangent, F(z)> with respect to z."""
        weights = self.covariance.pull(self._squared(z)) * (cotangent @ jnp.swapaxes(self.coefficients(), -1, -2))
        return z * jnp.sum(weights, axis=-1, keepdims=True) - self.constellation.combine(weights)

    def influence(self, z: Float[Array, "... n p"]) -> Float[Array, "... n N"]:
        """Return the influence H = M K^-1, with F(z) = H Y. K is symmetric, so H' is computed as K^-1 M'."""
        covariances = jnp.swapaxes(self.covariance(self._squared(z)), -1, -2)
        return jnp.swapaxes(self.constellation.solve(self.covariance, covariances), -1, -2)

    def _squared(self, z: Float[Array, "... n p"]) -> Float[Array, "... n N"]:
        if jnp.shape(z)[-1] != self.constellation.dimension:
            rule = f"points of R^{self.constellation.dimension}, one in each row"
            raise ShapeError("z", found=f"shape {jnp.shape(z)}", rule=rule)
        return self.constellation.squared_distances(z)
