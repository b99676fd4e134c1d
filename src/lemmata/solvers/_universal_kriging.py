"""Regression with a drift and a conditionally positive definite kernel, for example polyharmonic splines.

The drift is a linear combination of given functions without penalty, such as an affine function. The matrix P holds the
values of these functions at the points. The kernel only has to be positive definite on weights w with P^T w = 0.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import array_argument, check_gram, require_float64
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import squared_distances, squares_logarithm

from ._checks import check_at_least, check_targets, known

_MISSED = 1e-6  # the allowed error of a fit, as a share of the spread of the targets
_OFFSET = 1e4  # the size of a column of the drift, divided by its spread, from which its offset may be to blame
_ROUNDING = 64.0  # the largest rounding error of the drift's sums, in units of eps times the size of the terms


class Kriging(eqx.Module):
    """A fit of kernel and drift, with the matrices that its variance at other points needs.

    At a point with kernel values k and drift p, the fit is coefficients . k + trend . p.

    Args:
        coefficients: the coefficients alpha, one row for each point, with P^T alpha = 0 for the drift P.
        trend: the coefficients of the columns of the drift.
        energy: the number alpha^T K alpha for every column of the targets. This number is the squared semi-norm of the
            kernel's part of the fit.
        noise: noise variances on the diagonal, one for each point.
        matrix: the matrix K plus the noise on the diagonal.
        basis: orthonormal columns: first the columns of Q in P = Q R, then a basis of the complement of the drift.
        triangle: the triangular matrix R.
        factor: the Cholesky factor of K + noise on the complement of the drift.
    """

    coefficients: Float[Array, "n *k"]
    trend: Float[Array, "p *k"]
    energy: Float[Array, "*k"]
    noise: Float[Array, " n"]
    matrix: Float[Array, "n n"]
    basis: Float[Array, "n n"]
    triangle: Float[Array, "p p"]
    factor: Float[Array, "m m"]

    def predict(self, cross: Any, drift: Any) -> Float[Array, "t *k"]:
        """Return the fit at other points.

        Args:
            cross: K(other points, training points), (t, n).
            drift: the columns of the drift at the other points, (t, p).
        """
        cross, drift = self._read(cross, drift)
        return cross @ self.coefficients + drift @ self.trend

    def weights(self, cross: Any, drift: Any) -> Float[Array, "t n"]:
        """Return the weights w with which the fit at other points is a weighted sum of the targets.

        Among all w with P^T w = p, where p holds the columns of the drift at the point, these weights have the least
        mean square error.

        Args:
            cross: K(other points, training points).
            drift: the columns of the drift at the other points.
        """
        cross, drift = self._read(cross, drift)
        own, rest = jnp.split(self.basis, [drift.shape[1]], axis=1)
        fixed = own @ solve_triangular(self.triangle, drift.T, trans=1)
        free = rest @ cho_solve((self.factor, True), rest.T @ (cross.T - self.matrix @ fixed))
        return (fixed + free).T

    def variance(self, cross: Any, drift: Any, prior: Any) -> Float[Array, " t"]:
        """Return the mean square E (fit - f)² at other points z: k(z, z) - 2 w^T k(z) + w^T (K + noise) w.

        The w are the weights of the targets in the fit at z.

        Args:
            cross: K(other points, training points).
            drift: the columns of the drift at the other points.
            prior: the values k(z, z) of the kernel at the other points.
        """
        cross, drift = self._read(cross, drift)
        prior = array_argument("prior variances", prior, axes=1)
        weights = self.weights(cross, drift)
        spread = prior - 2 * jnp.sum(weights * cross, axis=1) + jnp.sum((weights @ self.matrix) * weights, axis=1)
        return jnp.maximum(spread, 0.0)  # a rounded difference may be below 0

    def _read(self, cross: Any, drift: Any) -> tuple[Array, Array]:
        cross, drift = array_argument("cross", cross, axes=2), array_argument("drift", drift, axes=2)
        rows, columns = len(self.matrix), len(self.triangle)
        if cross.shape[1] != rows or drift.shape != (len(cross), columns):
            found = f"cross {cross.shape}, drift {drift.shape}"
            raise ShapeError("matrices of the other points", found=found, rule=f"shapes (t, {rows}) and (t, {columns})")
        return cross, drift


def universal_kriging(K: Any, drift: Any, y: Any, noise: Any = 0.0) -> Kriging:
    """Return the best linear unbiased prediction of f = P beta + (random function of covariance K) from y = f + noise.

    K only has to be positive definite on weights w with P^T w = 0. For distances r, examples are r² ln r with an affine
    drift, and -r with a constant drift. The coefficients alpha and beta solve

        (K + diag(noise)) alpha + P beta = y,    P^T alpha = 0,

    and are computed by a Cholesky factor on the complement of the columns of P (Wahba 1990, chapter 2). The prediction
    is the limit of Gaussian process regression as the prior variance of the coefficients beta grows without bound.

    The columns of the drift may have any scale, but subtract large offsets from them: x + 1e10 loses digits of x. If
    the drift contains constants, do not add a constant to K: in K = 1 + 1e-16 r, for example, r is lost to rounding.

    Args:
        K: the generalised covariance of the points, (n, n).
        drift: the matrix P, (n, p), one row for each point, of full column rank.
        y: targets, one row for each point, (n,) or (n, k).
        noise: the variance of the noise, one number or one for each point, at least 0.

    Raises:
        DataError: if the columns of the drift are linearly dependent at these points, if a column of the drift has so
            large an offset that the solution misses its own targets, or if an entry is not finite.
        NotPositiveDefiniteError: if K + noise is not positive definite on the complement of the drift. This error is
            also raised if this matrix is so near to singular that the solution misses its own targets by more than 1e-6
            of their spread.
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
    K, drift = array_argument("the generalised covariance K", K, axes=2), array_argument("drift", drift, axes=2)
    y, noise = array_argument("targets", y, axes=(1, 2)), array_argument("noise", noise, axes=(0, 1))
    check_gram("the generalised covariance K", K)
    check_targets(y, len(K))
    check_targets(drift, len(K), "drift")
    check_at_least("noise", noise, 0.0)
    if noise.ndim:
        check_targets(noise, len(K), "noise")
    columns = drift.shape[1]
    if columns >= len(K):
        raise ShapeError("points", found=len(K), rule=f"more points than the {columns} columns of the drift")
    return _solve(K, drift, y, jnp.broadcast_to(noise.astype(K.dtype), (len(K),)))


def _solve(K: Array, drift: Array, y: Array, noise: Array) -> Kriging:
    columns = drift.shape[1]
    basis, triangle = jnp.linalg.qr(drift, mode="complete")
    triangle = triangle[:columns]
    _refuse_dependent(drift, triangle)
    matrix = K + jnp.diag(noise)
    own, rest = jnp.split(basis, [columns], axis=1)
    inner = rest.T @ matrix @ rest
    factor = jnp.linalg.cholesky((inner + inner.T) / 2)
    _refuse_indefinite(matrix, inner, factor)
    coefficients = rest @ cho_solve((factor, True), rest.T @ y)
    trend = solve_triangular(triangle, own.T @ (y - matrix @ coefficients))
    fitted = matrix @ coefficients + drift @ trend
    _refuse_missed(y, fitted, drift, jnp.abs(drift) @ jnp.abs(trend))
    energy = jnp.sum(coefficients * (K @ coefficients), axis=0)
    return Kriging(coefficients, trend, energy, noise, matrix, basis, triangle, factor)


def _refuse_dependent(drift: Array, triangle: Array) -> None:
    """Refuse a drift with a column that is a linear combination of the columns before it, up to rounding."""
    pivots, sizes = known(jnp.abs(jnp.diagonal(triangle))), known(jnp.max(jnp.abs(drift), axis=0))
    if pivots is None or sizes is None:
        return
    if np.any(pivots <= 16 * len(drift) * np.finfo(pivots.dtype).eps * sizes):
        raise DataError(
            "drift",
            found="linearly dependent columns",
            rule="linearly independent columns",
            remedy="use points that do not lie in a common hyperplane, or a smaller drift",
        )


def _refuse_indefinite(matrix: Array, inner: Array, factor: Array) -> None:
    seen, whole = known(factor), known(matrix)
    if seen is None or whole is None or np.all(np.isfinite(seen)):
        return
    smallest = float(jnp.linalg.eigvalsh(inner)[0])
    floor = 16 * len(whole) * np.finfo(whole.dtype).eps * float(np.linalg.norm(whole))
    if abs(smallest) <= floor:  # the sign cannot be determined
        raise NotPositiveDefiniteError(
            "generalised covariance",
            found=(
                f"a smallest eigenvalue of {smallest:.3g} on the complement of the drift, which is 0 up to the "
                f"rounding error {floor:.3g}"
            ),
            rule="a matrix whose eigenvalues on this complement exceed the rounding error",
            remedy="use points that differ, noise above 0, or a covariance without a large constant added to it",
        )
    raise NotPositiveDefiniteError(
        "generalised covariance",
        found=f"a smallest eigenvalue of {smallest:.6g} on the complement of the drift",
        rule="a matrix that is positive definite on this complement",
        remedy="use points that differ, noise above 0, or the drift that the order of the covariance needs",
    )


def _refuse_missed(y: Array, fitted: Array, drift: Array, terms: Array) -> None:
    """Refuse a solution that misses its own targets. Then the system is singular up to rounding.

    If rounding errors of the sum of the drift's terms are as large, the offset of a column of the drift is to blame.

    Args:
        y: the targets.
        fitted: the values of the solution at the points.
        drift: the drift P.
        terms: the sums |P| |beta| of the sizes of the drift's terms.
    """
    seen, reached, columns, sizes = known(y), known(fitted), known(drift), known(terms)
    if seen is None or reached is None or columns is None or sizes is None:
        return
    # The rounding errors of sums of y are relative to the size of y, and not to its spread.
    allowed = _MISSED * np.ptp(seen, axis=0) + 1e-12 * np.max(np.abs(seen), axis=0)
    missed = np.max(np.abs(reached - seen), axis=0)
    if np.all(missed <= allowed):
        return
    row = int(np.argmax(np.abs((reached - seen).reshape(len(seen), -1)).max(axis=1)))
    spread, size = np.ptp(columns, axis=0), np.max(np.abs(columns), axis=0)
    offset = np.where(spread > 0, size / np.where(spread > 0, spread, 1.0), 1.0)
    column = int(np.argmax(offset))
    if offset[column] > _OFFSET and np.all(missed <= _ROUNDING * np.finfo(sizes.dtype).eps * np.max(sizes, axis=0)):
        raise DataError(
            "drift",
            found=f"column {column} (counted from 0) of size {size[column]:.3g}, which varies by {spread[column]:.3g} "
            f"only, so that the solution misses the target of row {row} by {np.max(missed):.3g} through rounding",
            rule=f"targets met within {np.max(allowed):.3g}",
            remedy=f"subtract one number, such as its mean over the points, from column {column} at all points; a "
            "constant column absorbs this number",
        )
    raise NotPositiveDefiniteError(
        "generalised covariance",
        found=f"a nearly singular matrix, whose solution misses the target of row {row} by {np.max(missed):.3g}",
        rule=f"targets met within {np.max(allowed):.3g}",
        remedy="merge rows at equal or nearly equal points, or use noise above 0",
    )


class PolyharmonicSpline(eqx.Module):
    """The function sum_i alpha_i r_i² ln r_i plus an affine function of points z, where r_i = |z - x_i|.

    Args:
        points: the points x_i.
        kriging: the fit; its affine part uses the coordinates (z - centre) / unit. The covariance of the fit is r² ln(r
            / unit), which differs from r² ln r by a term that the affine part absorbs.
        centre: the mean of the points.
        unit: the largest distance of a point from the centre.
        scale: the power of 2 by which `kriging` divides all points. This power is 1, except for points so large or so
            near to each other that powers of their distances overflow or underflow.
    """

    points: Float[Array, "n d"]
    kriging: Kriging
    centre: Float[Array, " d"]
    unit: Float[Array, ""]
    scale: Float[ArrayLike, ""] = 1.0

    def __call__(self, z: Any) -> Float[Array, "t *k"]:
        """Return the values of the spline at other points (t, d)."""
        return self.kriging.predict(*self._at(z))

    def variance(self, z: Any) -> Float[Array, " t"]:
        """Return the variance of f(z) given the data, for a random function f whose covariance is r² ln r itself.

        Args:
            z: other points (t, d).
        """
        cross, drift = self._at(z)
        return jnp.asarray(self.scale**2 * self.kriging.variance(cross, drift, jnp.zeros(len(cross), cross.dtype)))

    def _at(self, z: Any) -> tuple[Array, Array]:
        z = array_argument("points", z, axes=2)
        if z.shape[1] != self.points.shape[1]:
            raise ShapeError("points", found=f"shape {z.shape}", rule=f"{self.points.shape[1]} coordinates each")
        z, points, centre, unit = (each / self.scale for each in (z, self.points, self.centre, self.unit))
        return _covariance(z, points, centre, unit), affine(z, centre, unit)


def _covariance(z: Array, x: Array, centre: Array, unit: Array) -> Array:
    """Return r² ln(r / unit) for the distances r between the points z and x.

    Sums of this function with weights that annihilate affine functions equal the sums of r² ln r, but lose no digits.
    """
    return unit**2 * squares_logarithm(squared_distances((z - centre) / unit, (x - centre) / unit))


def affine(z: Float[Array, "t d"], centre: Float[Array, " d"], unit: Float[Array, ""]) -> Float[Array, "t p"]:
    """Return a column of ones and the columns (z - centre) / unit, which span the affine functions of the points z.

    Args:
        z: the points.
        centre: the point at which the columns (z - centre) / unit are 0.
        unit: the unit of lengths.
    """
    return jnp.concatenate([jnp.ones((len(z), 1), z.dtype), (z - centre) / unit], axis=1)


def polyharmonic_spline(x: Any, y: Any, noise: Any = 0.0) -> PolyharmonicSpline:
    """Fit the spline of r² ln r with affine drift, in any dimension. In the plane, this is the thin-plate spline.

    The spline is the limit of regression with `PolyharmonicCovariance(b, c)` as b and c / b² grow without bound.
    Without noise, the spline is the interpolant of least semi-norm (integral of |w|^(d+2) |F f(w)|²)^(1/2), with the
    Fourier transform F f. Affine functions are reproduced exactly, with any noise. Moving and turning the points does
    not change the spline. The spline is computed from centred points in units of their extent. Multiplying all points
    by s and the noise by s² does not change the spline either, even if s² overflows or underflows. (The counterpart in
    SciPy is `scipy.interpolate.RBFInterpolator` with `thin_plate_spline` and degree 1. Its argument `smoothing` is the
    `noise` of this function.)

    Args:
        x: more than d + 1 different points (n, d) that do not lie in a common hyperplane.
        y: targets, one row for each point.
        noise: the variance of the noise in units of the covariance r² ln r, one number or one for each point, at least
            0.

    Raises:
        DataError: if the points lie in a common hyperplane, or an entry is not finite.
        NotPositiveDefiniteError: if points are equal and have no noise, or are so near to each other that the spline
            misses its own targets.
        ShapeError: if x, y and noise do not fit each other, or there are d + 1 points or fewer.
        SettingError: for a negative noise, or a noise that is too large for the size of the points.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import polyharmonic_spline
        >>> x = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> spline = polyharmonic_spline(x, jnp.array([0.0, 0.0, 0.0, 1.0]))
        >>> print(spline(jnp.array([[0.5, 0.5], [1.0, 1.0]])).round(6))
        [0.25 1.  ]
    """
    x, y = array_argument("points", x, axes=2), array_argument("targets", y, axes=(1, 2))
    noise = array_argument("noise", noise, axes=(0, 1))
    _refuse_repeated(x, y, noise)
    scale = _scale(x)
    near = x / scale
    centre = jnp.mean(near, axis=0)
    unit = jnp.max(jnp.linalg.norm(near - centre, axis=1))
    unit = jnp.where(unit > 0, unit, 1.0)
    noise = noise / scale / scale
    if (level := known(noise)) is not None and not np.all(np.isfinite(level)):
        raise SettingError(
            "noise",
            found=f"a variance that is too large for points within {float(scale):.3g} of each other",
            rule="a variance that is finite in units of the squared size of the points",
            remedy="multiply the points by s and the noise by s², which does not change the spline",
        )
    fit = universal_kriging(_covariance(near, near, centre, unit), affine(near, centre, unit), y, noise)
    return PolyharmonicSpline(x, fit, centre * scale, unit * scale, scale)


def _scale(x: Array) -> Array:
    """Return 1 if the cubes of the points' distances are normal numbers, and otherwise a power of 2 near their size."""
    size, limits = jnp.max(jnp.abs(x - x[0])), jnp.finfo(x.dtype)
    usual = (size == 0) | ((size > limits.tiny ** (1 / 3)) & (size < limits.max ** (1 / 3)))
    exponent = jnp.frexp(jnp.where(usual, 0.5, size))[1]  # 0 for 0.5
    return jnp.ldexp(jnp.ones((), x.dtype), exponent)


def _refuse_repeated(x: Array, y: Array, noise: Array) -> None:
    """Refuse rows at one point without noise. Such rows make the covariance singular, even if rounding hides this."""
    points, targets, noises = known(x), known(y), known(noise)
    if points is None or targets is None or noises is None or noises.shape not in ((), (len(points),)):
        return
    exact = np.flatnonzero(np.broadcast_to(noises, len(points)) == 0)
    _, first, group = np.unique(points[exact], axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[group.reshape(-1)] != np.arange(len(exact)))
    if len(again) == 0 or len(targets) != len(points):
        return
    row, other = int(exact[again[0]]), int(exact[first[group.reshape(-1)[again[0]]]])
    how = "equal" if np.array_equal(targets[row], targets[other]) else "different"
    raise NotPositiveDefiniteError(
        "generalised covariance",
        found=f"rows {other} and {row} at the same point, with {how} targets and without noise",
        rule="different points; otherwise the covariance is not positive definite on the complement of the drift",
        remedy="merge the rows, or use noise above 0",
    )
