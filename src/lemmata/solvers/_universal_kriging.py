"""Regression with a kernel that is positive definite beside a drift alone, and the polyharmonic spline as a case."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, require_float64
from lemmata.errors import DataError, NotPositiveDefiniteError, ShapeError
from lemmata.kernels import PolyharmonicCovariance, gram

from ._checks import check_at_least, check_targets, known

_PLAIN = PolyharmonicCovariance(0.0, 1.0)  # any level is the same here: weights sum to 0


class Kriging(eqx.Module):
    """A fit coefficients . k + trend . p, and what its variance at other points takes.

    Args:
        coefficients: alpha, one row a point; P^T alpha = 0.
        trend: of the columns of the drift.
        energy: alpha^T K alpha of every column of the targets: the squared semi-norm of the kernel's part.
        noise: variances on the diagonal, one a point.
        matrix: K + noise on the diagonal.
        basis: orthonormal columns: those of the drift P = Q R, then their complement.
        triangle: R.
        factor: the Cholesky factor of K + noise on the complement.
    """

    coefficients: Float[Array, "n *k"]
    trend: Float[Array, "p *k"]
    energy: Float[Array, "*k"]
    noise: Float[Array, " n"]
    matrix: Float[Array, "n n"]
    basis: Float[Array, "n n"]
    triangle: Float[Array, "p p"]
    factor: Float[Array, "m m"]

    def predict(self, cross: Float[Array, "t n"], drift: Float[Array, "t p"]) -> Float[Array, "t *k"]:
        """The fit at other points.

        Args:
            cross: K(other points, training points).
            drift: its columns at the other points.
        """
        return cross @ self.coefficients + drift @ self.trend

    def weights(self, cross: Float[Array, "t n"], drift: Float[Array, "t p"]) -> Float[Array, "t n"]:
        """Weights w of the targets in the fit at other points: of all with P^T w = p those of least mean square error.

        Args:
            cross: K(other points, training points).
            drift: its columns at the other points.
        """
        own, rest = jnp.split(self.basis, [drift.shape[1]], axis=1)
        fixed = own @ solve_triangular(self.triangle, drift.T, trans=1)
        free = rest @ cho_solve((self.factor, True), rest.T @ (cross.T - self.matrix @ fixed))
        return (fixed + free).T

    def variance(
        self, cross: Float[Array, "t n"], drift: Float[Array, "t p"], prior: Float[Array, " t"]
    ) -> Float[Array, " t"]:
        """E (fit - f)² at other points: k(z, z) - 2 w^T k(z) + w^T (K + noise) w.

        Args:
            cross: K(other points, training points).
            drift: its columns at the other points.
            prior: k(z, z).
        """
        weights = self.weights(cross, drift)
        spread = prior - 2 * jnp.sum(weights * cross, axis=1) + jnp.sum((weights @ self.matrix) * weights, axis=1)
        return jnp.maximum(spread, 0.0)  # nearly equal numbers may round below 0


def universal_kriging(
    K: Float[Array, "n columns"],
    drift: Float[Array, "drifts p"],
    y: Float[Array, "rows *k"],
    noise: float | Float[Array, "*n"] = 0.0,
) -> Kriging:
    """Best linear unbiased prediction of f = P beta + (a random function with covariance K) from y = f + noise.

    K has to be positive definite on weights w with P^T w = 0 alone: r² ln r with an affine drift, -r with a constant
    one. alpha and beta solve

        (K + diag(noise)) alpha + P beta = y,    P^T alpha = 0,

    by a Cholesky factor on the complement of the columns of P (Wahba 1990, chapter 2). It is the limit of Gaussian
    process regression for a prior variance of the coefficients beta that grows without bound.

    Args:
        K: generalised covariance of the points.
        drift: P, one row a point, of full column rank.
        y: targets, one row a point.
        noise: variance of the noise, one number or one a point, at least 0.

    Raises:
        DataError: if the columns of the drift are linearly dependent at these points, or an entry is not finite.
        NotPositiveDefiniteError: if K + noise is not positive definite on the complement of the drift.
        ShapeError: if K, drift, y and noise do not fit each other.
        SettingError: for a negative noise.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import universal_kriging
        >>> x = jnp.array([0.0, 1.0, 3.0])
        >>> fit = universal_kriging(-jnp.abs(x[:, None] - x), jnp.ones((3, 1)), jnp.array([0.0, 2.0, 0.0]))
        >>> print(fit.predict(-jnp.abs(jnp.array([[2.0]]) - x), jnp.ones((1, 1))).round(6))
        [1.]
    """
    require_float64("universal kriging")
    check_gram("the generalised covariance K", K)
    check_targets(y, len(K))
    check_targets(drift, len(K), "drift")
    check_at_least("noise", noise, 0.0)
    columns = drift.shape[1]
    if columns >= len(K):
        raise ShapeError("points", found=len(K), rule=f"more points than the {columns} columns of the drift")
    noise = jnp.broadcast_to(jnp.asarray(noise, K.dtype), (len(K),))
    return _solve(K, drift, y, noise)


def _solve(K: Array, drift: Array, y: Array, noise: Array) -> Kriging:
    columns = drift.shape[1]
    basis, triangle = jnp.linalg.qr(drift, mode="complete")
    triangle = triangle[:columns]
    pivots = known(jnp.abs(jnp.diagonal(triangle)))
    if pivots is not None and pivots.min() <= 16 * len(K) * jnp.finfo(K.dtype).eps * pivots.max():
        raise DataError(
            "drift",
            found="columns that depend linearly on each other",
            rule="linearly independent columns",
            remedy="use points that do not lie in a common hyperplane, or a smaller drift",
        )
    matrix = K + jnp.diag(noise)
    own, rest = jnp.split(basis, [columns], axis=1)
    inner = rest.T @ matrix @ rest
    factor = jnp.linalg.cholesky((inner + inner.T) / 2)
    seen = known(factor)
    if seen is not None and not jnp.all(jnp.isfinite(seen)):
        raise NotPositiveDefiniteError(
            "generalised covariance",
            found=f"smallest eigenvalue {float(jnp.linalg.eigvalsh(inner)[0]):.6g} on the complement of the drift",
            rule="a positive definite matrix there",
            remedy="use points that differ, noise above 0, or the drift that the order of the covariance needs",
        )
    coefficients = rest @ cho_solve((factor, True), rest.T @ y)
    trend = solve_triangular(triangle, own.T @ (y - matrix @ coefficients))
    energy = jnp.sum(coefficients * (K @ coefficients), axis=0)
    return Kriging(coefficients, trend, energy, noise, matrix, basis, triangle, factor)


class PolyharmonicSpline(eqx.Module):
    """A function sum_i alpha_i r_i² ln r_i + an affine one of points z, r_i = |z - x_i|.

    Args:
        points: x_i.
        kriging: the coefficients, in coordinates (z - centre) / unit of the affine part.
        centre: mean of the points.
        unit: their largest distance from it.
    """

    points: Float[Array, "n d"]
    kriging: Kriging
    centre: Float[Array, " d"]
    unit: Float[Array, ""]

    def __call__(self, z: Float[Array, "t d"]) -> Float[Array, "t *k"]:
        """The values at other points."""
        return self.kriging.predict(*self._at(z))

    def variance(self, z: Float[Array, "t d"]) -> Float[Array, " t"]:
        """The variance of f(z) given the data, for the random function whose covariance is r² ln r itself.

        Args:
            z: other points.
        """
        cross, drift = self._at(z)
        return self.kriging.variance(cross, drift, _PLAIN.diagonal(z))

    def _at(self, z: Array) -> tuple[Array, Array]:
        check_numbers("points", z)
        return gram(_PLAIN, z, self.points), affine(z, self.centre, self.unit)


def affine(z: Float[Array, "t d"], centre: Float[Array, " d"], unit: Float[Array, ""]) -> Float[Array, "t p"]:
    """The columns 1 and (z - centre) / unit of affine functions.

    Args:
        z: points.
        centre: where the slopes have no part in the level.
        unit: of lengths.
    """
    return jnp.concatenate([jnp.ones((len(z), 1), z.dtype), (z - centre) / unit], axis=1)


def polyharmonic_spline(
    x: Float[Array, "n d"], y: Float[Array, "rows *k"], noise: float | Float[Array, "*n"] = 0.0
) -> PolyharmonicSpline:
    """The spline of r² ln r with affine drift, in any dimension: in the plane the thin-plate spline.

    It is the limit of regression with `PolyharmonicCovariance(b, c)` for b and c / b² without bound. Without noise it
    is the interpolant of least semi-norm (integral of |w|^(d+2) |F f(w)|²)^(1/2); affine functions are reproduced
    exactly, with any noise; moving and turning the points changes nothing, and magnification by s with noise s² times
    as large neither. (`scipy.interpolate.RBFInterpolator` with `thin_plate_spline` and degree 1 is a peer, whose
    smoothing is this noise.)

    Args:
        x: different points, not in a common hyperplane, more than d + 1.
        y: targets, one row a point.
        noise: variance of the noise in units of the covariance r² ln r, one number or one a point, at least 0.

    Raises:
        DataError: if the points lie in a common hyperplane, or an entry is not finite.
        NotPositiveDefiniteError: if points are equal and have no noise.
        ShapeError: if x, y and noise do not fit each other, or there are d + 1 points or fewer.
        SettingError: for a negative noise.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import polyharmonic_spline
        >>> x = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> spline = polyharmonic_spline(x, jnp.array([0.0, 0.0, 0.0, 1.0]))
        >>> print(spline(jnp.array([[0.5, 0.5], [1.0, 1.0]])).round(6))
        [0.25 1.  ]
    """
    check_numbers("points", x)
    centre = jnp.mean(x, axis=0)
    unit = jnp.max(jnp.linalg.norm(x - centre, axis=1))
    unit = jnp.where(unit > 0, unit, 1.0)
    return PolyharmonicSpline(x, universal_kriging(gram(_PLAIN, x), affine(x, centre, unit), y, noise), centre, unit)
