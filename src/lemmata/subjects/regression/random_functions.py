"""Regression with random functions whose distribution does not change under shifts, rotations and magnification.

Consider a Gaussian distribution of functions that is invariant under shifts and rotations. Its covariance depends only
on r = |x - y|. Suppose that magnification by s multiplies functions by s^(e/2). Up to affine functions, the generalised
covariance is then homogeneous of degree e: it is r^e, or r² ln r for e = 2. Regression is then universal kriging. The
predictor is a spline with affine drift, and the variances v_i of the noise at x_i are added to the diagonal of the
covariance matrix. This theory describes the predictor for a given e. It does not determine e, and no symmetry
determines it.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.kernels import PolyharmonicCovariance
from lemmata.solvers import polyharmonic_spline, universal_kriging
from lemmata.subjects.regression._scattered_values import (
    ScatteredSamples,
    ScatteredValues,
    affine_columns,
    complement,
    logarithmic,
    power,
    squared_gaps,
)

ABOUT = {"tool": "Gaussian processes", "architecture": "kernel method", "object": "estimator"}

_KEY = "bakhvalov2025random"
_STEP, _REACH = 0.25, 42.0
_SLOPE, _LEVEL = 5.0, 400.0


@eqx.filter_jit
def _compiled(x: Array, y: Array, noise: Array, z: Array) -> tuple[Array, Array]:
    """Return the values of the spline of r² ln r at z, and the variance of its error there."""
    spline = polyharmonic_spline(x, y, noise)
    return spline(z), spline.variance(z)


@eqx.filter_jit
def _compiled_process(kernel: PolyharmonicCovariance, x: Array, y: Array, noise: Array, z: Array) -> Array:
    """Return the mean of the Gaussian process with the library's kernel."""
    return kernel.cross(z, x) @ jnp.linalg.solve(kernel.cross(x, x) + jnp.diag(noise), y)


@eqx.filter_jit
def _compiled_kriging(
    K: Array, drift: Array, y: Array, noise: Array, cross: Array, drift_there: Array
) -> Float[Array, " t"]:
    return universal_kriging(K, drift, y, noise).predict(cross, drift_there)


def spline_at(
    problem: ScatteredValues, noise: Float[np.ndarray, " n"], z: Float[np.ndarray, "t d"], part: int = 0
) -> Float[np.ndarray, " t"]:
    """Return the library's spline of r² ln r (part 0), or the variance of its error (part 1), at the points z."""
    return np.asarray(_compiled(*map(jnp.asarray, (problem.x, problem.y, noise, z)))[part])


def gaussian_mixture(squares: Float[np.ndarray, "n m"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, ""]:
    """Return 1/2 int over s > 0 of sum_ij w_i w_j e^(-s r_ij²) s^(-2), for squared distances r_ij² and weights w_i.

    The weights annihilate affine functions: sum w_i = 0 and sum w_i x_i = 0.

    The function sums e^(-u) - 1 + u, where u = s r_ij², instead of e^(-u). For weights that annihilate affine
    functions, both sums are equal. In the first sum, the terms do not cancel for small s. The integral is computed by
    the trapezoid rule in log s with step 1/4. The integrand is analytic in a strip of half-width pi/2, so the relative
    error is e^(-pi²/step).
    """
    scales = np.exp(np.arange(-_REACH, _REACH, _STEP))
    u = scales[:, None, None] * squares
    small = u < 0.03
    safe = np.where(small, u, 0.0)
    series = safe**2 * (1 / 2 - safe * (1 / 6 - safe * (1 / 24 - safe * (1 / 120 - safe * (1 / 720 - safe / 5040)))))
    sums = np.einsum("i,sij,j->s", weights, np.where(small, series, np.expm1(-u) + u), weights)
    return np.asarray(_STEP * np.sum(sums / scales) / 2)


def saddle_prediction(
    K: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "t n"],
    x: Float[np.ndarray, "n d"],
    z: Float[np.ndarray, "t d"],
    y: Float[np.ndarray, "n *k"],
) -> Float[np.ndarray, "t *k"]:
    """Return the spline with affine drift through the values y at the points x, evaluated at the points z.

    The whole linear system [K P; P' 0] is solved at once, where K contains the noise and P are the affine columns.
    """
    columns = affine_columns(x)
    size = columns.shape[1]
    system = np.block([[K, columns], [columns.T, np.zeros((size, size))]])
    solved = np.linalg.solve(system, np.concatenate([y, np.zeros((size, *y.shape[1:]))]))
    return np.concatenate([cross, affine_columns(z)], axis=1) @ solved


class GaussianMixture(Claim[ScatteredValues]):
    """Let w be weights of points x_i with sum w_i = 0 and sum w_i x_i = 0. Then

        sum_ij w_i w_j r_ij² ln r_ij = 1/2 int_0^inf sum_ij w_i w_j e^(-s r_ij²) ds / s²,    r_ij = |x_i - x_j| .

    So, up to an affine drift, r² ln r is a mixture of Gaussian covariances whose widths follow a power law. In every
    dimension, r² ln r is therefore positive definite on weights with sum w_i = 0 and sum w_i x_i = 0.
    """

    title = "The covariance r² ln r is a power-law mixture of Gaussian covariances"
    source = Source(_KEY, "Abstract, derivation")
    population = ScatteredSamples()
    relation = Equal()
    traced = False
    control = Control(
        "the mixture has the power law s^-1.75, as for r^1.5", lambda value, problem: _rough_mixture(problem)
    )
    controls = "the variance of sums that annihilate affine functions"
    unexplained = "the distribution of the functions themselves, in which affine functions have infinite variance"
    reading = "the power law of the spectrum, |w|^(-d-2), is read as a mixture of Gaussians"

    def predict(self, problem: ScatteredValues) -> np.ndarray:
        return gaussian_mixture(squared_gaps(problem.x, problem.x), _annihilating(problem))

    def measure(self, problem: ScatteredValues, key: Key[Array, ""]) -> np.ndarray:
        w = _annihilating(problem)
        return np.asarray(w @ logarithmic(problem.x, problem.x) @ w)

    def condition(self, problem: ScatteredValues) -> float:
        """Return the condition number of the sum: the sum of the absolute values of its terms, divided by the sum."""
        w, terms = _annihilating(problem), logarithmic(problem.x, problem.x)
        return float(len(w) * (np.abs(w) @ np.abs(terms) @ np.abs(w)) / (w @ terms @ w))


def _annihilating(problem: ScatteredValues) -> Float[np.ndarray, " n"]:
    basis = complement(problem.x)
    return basis @ (basis.T @ problem.y)


def _rough_mixture(problem: ScatteredValues) -> np.ndarray:
    w = _annihilating(problem)
    return np.asarray(w @ power(problem.x, problem.x, 1.5) @ w)


def _power_spline(problem: ScatteredValues, x: np.ndarray, z: np.ndarray, noise: np.ndarray) -> np.ndarray:
    K = power(x, x, problem.exponent) + np.diag(noise)
    return saddle_prediction(K, power(z, x, problem.exponent), x, z, problem.y)


class SelfSimilarSplines(Claim[ScatteredValues]):
    """Let e be an exponent between 0 and 4 with e != 2. Fit noisy values at points x_i by the spline with affine drift
    and the covariance r^e (-r^e for e < 2) of the distance r, and predict at points z. Now rotate and shift all points
    x_i and z, magnify them by the factor s, and multiply the variances v_i of the noise by s^e. The predictions at the
    moved points z equal the original predictions.
    """

    title = "Splines with the covariance r^e are invariant under rotations, shifts and magnification"
    source = Source(_KEY, "Abstract, symmetries", note="for the exponent e, which symmetry does not determine")
    population = ScatteredSamples()
    relation = Equal(block=1)
    traced = False
    control = Control("the noise is multiplied by s²", lambda value, problem: _squared_noise(problem))
    controls = "predictions of the spline of r^e under movements of the points"
    unexplained = "which exponent to use"

    def predict(self, problem: ScatteredValues) -> np.ndarray:
        return _eliminated(problem, problem.x, problem.z, problem.noise)

    def measure(self, problem: ScatteredValues, key: Key[Array, ""]) -> np.ndarray:
        noise = problem.magnification**problem.exponent * problem.noise
        return _power_spline(problem, problem.moved(problem.x), problem.moved(problem.z), noise)

    def condition(self, problem: ScatteredValues) -> float:
        """Return the condition number of the linear system, times a factor for the rounding of shifted points."""
        shifted = 1 + np.linalg.norm(problem.shift) / problem.magnification
        return float(problem.conditioning(power(problem.x, problem.x, problem.exponent)) * shifted**2)


def _eliminated(problem: ScatteredValues, x: np.ndarray, z: np.ndarray, noise: np.ndarray) -> np.ndarray:
    K, cross = power(x, x, problem.exponent), power(z, x, problem.exponent)
    given = (K, affine_columns(x), problem.y, noise, cross, affine_columns(z))
    return np.asarray(_compiled_kriging(*map(jnp.asarray, given)))


def _squared_noise(problem: ScatteredValues) -> np.ndarray:
    s, e = problem.magnification, problem.exponent
    return _eliminated(problem, problem.x, problem.z, s ** (2 - e) * problem.noise)


class MovedParameters(Claim[ScatteredValues]):
    """Let the covariance at distance r be r² (ln r - b) + c with b = 5 and c = 400. Let K be its matrix on points x_i
    with values y, and let v_i be the variances of the noise. Let k(z) hold the covariances of a new point z with the
    x_i, and consider the predictions k(z)' (K + diag v)^-1 y. Magnify all points by s, and take noise of variances s²
    v_i. The new predictions equal the predictions at the original points with

        b - ln s  and  c / s²    in place of b and c.

    So the predictions are not invariant under magnification. If b and c / b² grow without bound, the predictions before
    and after magnification tend to the same limit, which is the spline of r² ln r. So this spline is invariant.
    """

    title = "Magnifying the points is the same as changing b and c of the covariance r² (ln r - b) + c"
    source = Source(_KEY, "Abstract, noise", note="for the parameters that magnification changes")
    population = ScatteredSamples()
    relation = Equal(block=1)
    traced = False
    control = Control("b and c do not change", lambda value, problem: _process_as_it_was(problem))
    controls = "predictions at finite b and c under magnification"
    unexplained = "which b and c to use"

    def predict(self, problem: ScatteredValues) -> np.ndarray:
        s = problem.magnification
        return _gaussian_process(problem, _SLOPE - np.log(s), _LEVEL / s**2)

    def measure(self, problem: ScatteredValues, key: Key[Array, ""]) -> np.ndarray:
        return _magnified_process(problem)

    def condition(self, problem: ScatteredValues) -> float:
        """Return the condition number of K + diag v."""
        return _process_condition(problem)


def _process_as_it_was(problem: ScatteredValues) -> np.ndarray:
    return _gaussian_process(problem, _SLOPE, _LEVEL)


def _gaussian_process(problem: ScatteredValues, slope: float, level: float) -> np.ndarray:
    """Compute the predictions at z by the formula k(z)' (K + diag v)^-1 y with b = slope and c = level."""
    covariance = lambda a, b: logarithmic(a, b) - slope * squared_gaps(a, b) + level
    return covariance(problem.z, problem.x) @ np.linalg.solve(
        covariance(problem.x, problem.x) + np.diag(problem.noise), problem.y
    )


def _magnified_process(problem: ScatteredValues) -> np.ndarray:
    """Compute the predictions at the magnified points by the kernel of the library."""
    s = problem.magnification
    given = (s * problem.x, problem.y, s**2 * problem.noise, s * problem.z)
    return np.asarray(_compiled_process(PolyharmonicCovariance(_SLOPE, _LEVEL), *map(jnp.asarray, given)))


def _process_condition(problem: ScatteredValues) -> float:
    matrix = logarithmic(problem.x, problem.x) - _SLOPE * squared_gaps(problem.x, problem.x) + _LEVEL
    return len(problem.y) * np.linalg.cond(matrix + np.diag(problem.noise))


class BestUnder(Claim[ScatteredValues]):
    """Draw a function with generalised covariance r² ln r and an affine part of any size, and observe it with noise of
    variances v_i. Take the spline of r² ln r with affine drift and with these v_i on the diagonal. Compare it with the
    same spline with r^e in place of r² ln r, for any e between 0 and 4. At every point, the mean square error of the
    spline of r² ln r is at most the mean square error of the spline of r^e.
    """

    title = "For functions with the covariance r² ln r, the spline of r² ln r errs at most as much as that of any r^e"
    source = Source(_KEY, "Abstract, optimality", note="for functions with this covariance")
    population = ScatteredSamples()
    relation = AtMost()
    traced = False
    control = Control("the error is at most half of the error of the spline of r^e", lambda bound, problem: bound / 2)
    controls = "the mean square error of the spline of r² ln r"
    unexplained = "errors under other distributions"
    trivial = "if the affine part may have any size, the error has no trivial bound"

    def predict(self, problem: ScatteredValues) -> np.ndarray:
        return _error(problem, _weights(problem, _power_of(problem)), logarithmic)

    def measure(self, problem: ScatteredValues, key: Key[Array, ""]) -> np.ndarray:
        """Return the mean square error (variance) that the library's spline computes."""
        return spline_at(problem, problem.noise, problem.z, part=1)

    def condition(self, problem: ScatteredValues) -> float:
        """Return the condition number of the linear system of the spline."""
        return problem.conditioning(logarithmic(problem.x, problem.x))


def _power_of(problem: ScatteredValues):
    return lambda a, b: power(a, b, problem.exponent)


def _weights(problem: ScatteredValues, covariance) -> Float[np.ndarray, "t n"]:
    """Return the weights w of the values y in the spline's predictions, one row for each point z."""
    K = covariance(problem.x, problem.x) + np.diag(problem.noise)
    return saddle_prediction(K, covariance(problem.z, problem.x), problem.x, problem.z, np.eye(len(K)))


def _error(problem: ScatteredValues, weights: Float[np.ndarray, "t n"], covariance) -> Float[np.ndarray, " t"]:
    """Return E (w'y - f(z))² for noisy values y of functions f with this generalised covariance.

    A generalised covariance is 0 at r = 0.
    """
    K = covariance(problem.x, problem.x) + np.diag(problem.noise)
    return np.sum((weights @ K) * weights, axis=1) - 2 * np.sum(weights * covariance(problem.z, problem.x), axis=1)
