"""Constellations: the points at which the splines of a package have given values. The points are arbitrary, or the
centre and the vertices of a hyperoctahedron.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError

from ._covariance import SplineCovariance

_LN2 = math.log(2.0)


class AbstractConstellation(eqx.Module):
    """N points t_1, ..., t_N of R^p that all splines of a package share, with products of the points and of K^-1."""

    points: eqx.AbstractVar[Float[Array, "N p"]]

    @abc.abstractmethod
    def squared_distances(self, z: Float[Array, "... n p"]) -> Float[Array, "... n N"]:
        """Return the squared distances |z_i - t_j|² between the points z and the points of the constellation."""

    @abc.abstractmethod
    def combine(self, weights: Float[Array, "... n N"]) -> Float[Array, "... n p"]:
        """Return W t, the sums of the constellation's points with the weights W."""

    @abc.abstractmethod
    def solve(self, covariance: SplineCovariance, values: Float[Array, "... N m"]) -> Float[Array, "... N m"]:
        """Return K^-1 Y with K_ij = k(|t_i - t_j|), for the covariance k and the values Y."""

    @property
    def dimension(self) -> int:
        """The dimension p."""
        return self.points.shape[1]


class Scattered(AbstractConstellation):
    """A constellation of arbitrary points. Distances need one matrix product. K^-1 needs a Cholesky factor, in O(N³).

    Args:
        points: N different points of R^p.

    Raises:
        ShapeError: if the points are not a matrix.
        DataError: if a coordinate is not finite.

    >>> import jax
    >>> with jax.enable_x64(True):
    ...     Scattered(jax.numpy.eye(3)).squared_distances(jax.numpy.zeros((1, 3))).tolist()
    [[1.0, 1.0, 1.0]]
    """

    points: Float[Array, "N p"]

    def __check_init__(self):
        if jnp.ndim(self.points) != 2:
            raise ShapeError(
                "points", found=f"shape {jnp.shape(self.points)}", rule="a matrix with one point in each row"
            )
        check_numbers("points", self.points)

    def squared_distances(self, z: Float[Array, "... n p"]) -> Float[Array, "... n N"]:
        """Return |z|² + |t|² - 2 z't, clipped at 0 from below."""
        squares = jnp.sum(z**2, axis=-1)[..., None] + jnp.sum(self.points**2, axis=1)
        return jnp.maximum(squares - 2 * z @ self.points.T, 0.0)

    def combine(self, weights: Float[Array, "... n N"]) -> Float[Array, "... n p"]:
        """Return W t by one matrix product."""
        return weights @ self.points

    def solve(self, covariance: SplineCovariance, values: Float[Array, "... N m"]) -> Float[Array, "... N m"]:
        """Return K^-1 Y by the Cholesky factor of K.

        Raises:
            NotPositiveDefiniteError: if K has no Cholesky factor. Then the slope b or the level c of the covariance is
                too small for these points, or two points are equal.
        """
        squared = self.squared_distances(self.points)
        matrix = covariance(jnp.where(jnp.eye(len(self.points), dtype=bool), 0.0, squared))
        factor = jnp.linalg.cholesky(matrix)
        seen = known(factor)
        if seen is not None and not jnp.isfinite(seen).all():
            least = float(jnp.linalg.eigvalsh(matrix)[0])
            raise NotPositiveDefiniteError(
                "covariance of the constellation",
                found=f"smallest eigenvalue {least:.3g}",
                rule="a positive definite matrix",
                remedy="use a larger slope and level, or remove repeated points",
            )
        return jax.scipy.linalg.cho_solve((factor, True), values)


class Hyperoctahedron(AbstractConstellation):
    """The centre and the 2p vertices of a hyperoctahedron: the N = 2p + 1 points 0, e_1, ..., e_p, -e_1, ..., -e_p.

    There are four distances, 0, 1, sqrt(2) and 2. Therefore K is invariant under sign changes and permutations of the
    axes. Let b and c be the slope and the level of the covariance. On odd values, which are 0 at the centre and
    opposite numbers at e_i and -e_i, K has the eigenvalue 4 (b - ln 2). On even values that are 0 at the centre and sum
    to 0, K has the eigenvalue 2 ln 2. On the remaining values, K acts as a 2 x 2 matrix with determinant 2 ((p + 1) c
    ln 2 - p b²). Therefore K^-1 Y takes O(p) operations for each column. The squared distances of a point z, which are
    |z|² and |z|² + 1 -+ 2 z_i, take O(p) operations. K is positive definite exactly if

        b > ln 2  and  (p + 1) c ln 2 > p b².

    Args:
        size: the dimension p, at least 1.

    Raises:
        SettingError: if the size is not a whole number of at least 1.

    >>> import jax
    >>> with jax.enable_x64(True):
    ...     h = Hyperoctahedron(2)
    ...     h.squared_distances(h.points[1:2]).tolist()
    [[1.0, 0.0, 2.0, 4.0, 2.0]]
    """

    size: int = eqx.field(static=True)

    def __init__(self, size: int) -> None:
        self.size = size

    def __check_init__(self):
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise SettingError("size", found=repr(self.size), rule="a whole number that is at least 1")

    @property
    def points(self) -> Float[Array, "N p"]:  # pyright: ignore[reportIncompatibleVariableOverride]  # fills AbstractVar
        """The points of the constellation, with the centre first."""
        axes = np.eye(self.size)
        return jnp.asarray(np.concatenate([np.zeros((1, self.size)), axes, -axes]), float)

    @property
    def dimension(self) -> int:
        """The dimension p."""
        return self.size

    def squared_distances(self, z: Float[Array, "... n p"]) -> Float[Array, "... n N"]:
        """Return |z|², then |z|² + 1 - 2 z_i and |z|² + 1 + 2 z_i for all axes i, clipped at 0 from below."""
        square = jnp.sum(z**2, axis=-1, keepdims=True)
        return jnp.maximum(jnp.concatenate([square, square + 1 - 2 * z, square + 1 + 2 * z], axis=-1), 0.0)

    def combine(self, weights: Float[Array, "... n N"]) -> Float[Array, "... n p"]:
        """Return W t: for each axis, the difference of the weights of its two vertices."""
        return weights[..., 1 : self.size + 1] - weights[..., self.size + 1 :]

    def solve(self, covariance: SplineCovariance, values: Float[Array, "... N m"]) -> Float[Array, "... N m"]:
        """Return K^-1 Y from the odd and even parts of Y, in O(p) for each column.

        Raises:
            NotPositiveDefiniteError: if K is not positive definite for the slope b and the level c.
        """
        self.require_positive_definite(covariance)
        b, c, p = jnp.asarray(covariance.slope), jnp.asarray(covariance.level), self.size
        centre, plus, minus = values[..., :1, :], values[..., 1 : p + 1, :], values[..., p + 1 :, :]
        odd, even = (plus - minus) / (8 * (b - _LN2)), (plus + minus) / 2
        mean = jnp.mean(even, axis=-2, keepdims=True)
        determinant = 2 * ((p + 1) * c * _LN2 - p * b**2)
        # The 2 x 2 matrix has the rows (c, 2p (c - b)) and (c - b, 2 ln 2 + 2p (c + ln 2 - 2b)). The solution below
        # avoids cancellation of terms of size c.
        shared = (c * (mean - centre) + b * centre) / determinant
        first = (2 * _LN2 * centre + 2 * p * ((c - b) * (centre - mean) + (_LN2 - b) * centre)) / determinant
        rest = (even - mean) / (2 * _LN2) + shared
        return jnp.concatenate([first, rest + odd, rest - odd], axis=-2)

    def eigenvalues(self, covariance: SplineCovariance) -> Float[Array, " distinct"]:
        """Return the eigenvalues of K: on odd values, on even values of sum 0 (if p > 1), and of the 2 x 2 matrix."""
        b, c, p = jnp.asarray(covariance.slope), jnp.asarray(covariance.level), self.size
        other = 2 * _LN2 + 2 * p * (c + _LN2 - 2 * b)
        half, determinant = (c + other) / 2, 2 * ((p + 1) * c * _LN2 - p * b**2)
        largest = half + jnp.sqrt(((c - other) / 2) ** 2 + 2 * p * (c - b) ** 2)
        even = [] if p == 1 else [jnp.full((), 2 * _LN2)]
        return jnp.stack([4 * (b - _LN2), *even, determinant / largest, largest])

    def require_positive_definite(self, covariance: SplineCovariance) -> None:
        """Raise an error if K is not positive definite for b and c. Traced values are not checked.

        Args:
            covariance: the covariance k, with the slope b and the level c.

        Raises:
            NotPositiveDefiniteError: if K is not positive definite. The message states b, c and the rule.
        """
        b, c = known(covariance.slope), known(covariance.level)
        if b is None or c is None:
            return
        p = self.size
        if not (b > _LN2 and (p + 1) * c * _LN2 > p * b**2):
            raise NotPositiveDefiniteError(
                f"covariance of a hyperoctahedron of {p} axes",
                found=f"slope b = {float(b):g}, level c = {float(c):g}",
                rule="b > ln 2 and (p + 1) c ln 2 > p b²",
                remedy=f"use a slope above {_LN2:.3f} and a level of at least b²/ln 2 = {float(b) ** 2 / _LN2:.3g}",
            )
