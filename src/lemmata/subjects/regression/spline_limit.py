"""The covariance r² (ln r - b) + c: when it is positive definite, its limit, and what this limit minimises.

Here r is the distance of two points. The terms -b r² and c act as a prior on the affine part of the function. This
theory describes the Gaussian process with that covariance for large b and c, and the spline of r² ln r that is its
limit. It does not treat balls in more than two dimensions. For these balls, the least level c is larger than for the
disc, and no closed form is given here.
"""

import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Rate, Source
from lemmata.subjects.regression._scattered_values import (
    DiscPoints,
    FilledDiscs,
    ScatteredSamples,
    ScatteredValues,
    complement,
    logarithmic,
    squared_gaps,
)

from .random_functions import saddle_prediction, spline_at

ABOUT = {"tool": "reproducing kernels", "architecture": "kernel method", "object": "kernel"}

_KEY = "bakhvalov2025random"
_SLOPES = (30.0, 100.0, 300.0, 1000.0)


def process_minus_spline(problem: ScatteredValues, slope: float, level: float) -> float:
    """Return the root mean square difference between the process' mean and the spline of r² ln r at the points z.

    The terms of the covariance with the constant and the slopes are eliminated before the system is solved. The matrix
    of the process is K + 2b XX' + c uu' - (b²/c) qq'. Here b is `slope`, c is `level`, K is the matrix of r² ln r, X
    holds the points, u = 1 - (b/c) q, and q_i = |x_i|².
    """
    x, z = problem.x, problem.z
    q, there = np.sum(x**2, axis=1), np.sum(z**2, axis=1)
    weights = lambda p, s: np.concatenate([(1 - slope / level * s)[:, None], p], axis=1)
    own, other = weights(x, q), weights(z, there)
    K = logarithmic(x, x) - slope**2 / level * np.outer(q, q) + np.diag(problem.noise)
    cross = logarithmic(z, x) - slope**2 / level * np.outer(there, q)
    prior = np.diag(np.concatenate([[1 / level], np.full(x.shape[1], 1 / (2 * slope))]))
    system = np.block([[K, own], [own.T, -prior]])
    solved = np.linalg.solve(system, np.concatenate([problem.y, np.zeros(own.shape[1])]))
    process = np.concatenate([cross, other], axis=1) @ solved
    spline = saddle_prediction(logarithmic(x, x) + np.diag(problem.noise), logarithmic(z, x), x, z, problem.y)
    return float(np.sqrt(np.mean((process - spline) ** 2)))


class SplineLimit(Claim[ScatteredValues]):
    """Consider the Gaussian process with the covariance r² (ln r - b) + c of the distance r, where c = b³. The
    observations have noise of variances v_i. As b grows, the mean of the process tends to the spline of r² ln r with
    affine drift and the same noise. The difference falls like 1/b.
    """

    title = "A Gaussian process with covariance r² (ln r - b) + b³ tends to the spline of r² ln r like 1/b"
    source = Source(_KEY, "Abstract, polyharmonic", note="for c much larger than b²")
    population = ScatteredSamples()
    relation = Rate("b", _SLOPES)
    traced = False
    control = Control("like b^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the distance of the process from the spline"
    unexplained = "the distance at the finite b that a program uses"
    trials = 32
    predict = -1.0

    def measure_at(self, problem: ScatteredValues, key: Key[Array, ""], b: float) -> np.ndarray:
        return np.asarray(process_minus_spline(problem, b, b**3))


class PositiveOnDiscs(Claim[DiscPoints]):
    """Consider the function r² (ln r - b) + c of the distance r of two points on the disc of radius R in the plane.
    This function is positive definite exactly if

        B >= 1  and  c >= R² (2 B² - 2 B + 1),    B = b - ln R.

    The test takes points in the disc with B >= 1, and finds the smallest c at which their matrix is positive
    semidefinite. This c is at most R² (2 B² - 2 B + 1).

    Proof for R = 1. Take weights w of points x_i, and let s be their sum. Write w = s delta_0 + v, where delta_0 is the
    weight 1 at the centre, and suppose first that v annihilates affine functions. Let g = r² (ln r - b), where r is the
    distance from the centre, and use the semi-norm of r² ln r. The quadratic form of w is |v|² + 2 s v(g) + c s². So c
    has to be at least |g|². Here g is restricted to the disc. Outside the disc, g is continued with the smallest
    energy, which gives -b + (1 - 2b) ln r. Then |g|², which is 1/(8 pi) times the integral of squared second
    derivatives, equals 2 b² - 2 b + 1. Now take weights of sum 0 whose first moment is not 0. They add 2b |sum w_i
    x_i|² to the form. This term has to be at least the amount that r² ln r subtracts from the form. On the unit circle,
    this amount is 2 |sum w_i x_i|², and hence b >= 1.
    """

    title = "A formula for the smallest c at which r² (ln r - b) + c is positive definite on a disc of radius R"
    source = Source(_KEY, "Abstract, polyharmonic", note="the parameters for which r² (ln r - b) + c is a covariance")
    stated = Kind.OWN
    population = FilledDiscs()
    relation = AtMost()
    traced = False
    control = Control("nine tenths of the bound", lambda level, problem: 0.9 * level)
    controls = "the levels at which r² (ln r - b) + c is a covariance on the disc"
    unexplained = "balls in more dimensions, for which c has to be larger"
    trivial = "the least level has no trivial bound"

    def predict(self, problem: DiscPoints) -> np.ndarray:
        relative = problem.slope - np.log(problem.radius)
        return np.asarray(problem.radius**2 * (2 * relative**2 - 2 * relative + 1))

    def measure(self, problem: DiscPoints, key: Key[Array, ""]) -> np.ndarray:
        """Find the least level for these points, by bisection on the sign of the smallest eigenvalue."""
        K = logarithmic(problem.x, problem.x) - problem.slope * squared_gaps(problem.x, problem.x)
        low, high = 0.0, 4 * float(self.predict(problem))
        for _ in range(40):
            middle = (low + high) / 2
            positive = np.linalg.eigvalsh(K + middle)[0] > 0
            low, high = (low, middle) if positive else (middle, high)
        return np.asarray(low)


class WeightedSmoothing(Claim[ScatteredValues]):
    """Take the spline of r² ln r for values y_i at points x_i, and add noise variances v_i to the diagonal of the
    matrix of r² ln r. This spline minimises

        sum_i (f(x_i) - y_i)² / v_i + |f|²,

    where |f| is the semi-norm (integral of |w|^(d+2) |F f(w)|²)^(1/2) up to a constant. Here F f is the Fourier
    transform of f in d dimensions, at the frequency w. The values u of the spline at the points solve

        (E + diag(1/v)) u = diag(1/v) y,    E = Q (Q'KQ)^-1 Q',

    where K is the matrix of r² ln r, and Q has orthonormal columns that annihilate affine functions.
    """

    title = "Noise variances on the diagonal of a spline's matrix are inverse weights of squared errors"
    source = Source(_KEY, "Abstract, regularisation")
    population = ScatteredSamples()
    relation = Equal(block=1)
    traced = False
    control = Control("every point has the mean variance", lambda value, problem: _smoothed(problem, shared=True))
    controls = "the values of the spline at the points"
    unexplained = "the variances, if they are not known"

    def predict(self, problem: ScatteredValues) -> np.ndarray:
        return _smoothed(problem)

    def measure(self, problem: ScatteredValues, key: Key[Array, ""]) -> np.ndarray:
        return spline_at(problem, problem.noise, problem.x)

    def condition(self, problem: ScatteredValues) -> float:
        """Return the sum of the condition numbers of both systems. If points are close to each other, E is
        ill-conditioned, because it does not contain the noise.
        """
        K, basis = logarithmic(problem.x, problem.x), complement(problem.x)
        range_of_noise = float(problem.noise.max() / problem.noise.min())
        return problem.conditioning(K) * range_of_noise + float(np.linalg.cond(basis.T @ K @ basis))


def energy_matrix(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    """Return the matrix E; u'Eu is the least squared semi-norm of functions with the values u at the points."""
    basis = complement(x)
    return basis @ np.linalg.solve(basis.T @ logarithmic(x, x) @ basis, basis.T)


def _smoothed(problem: ScatteredValues, shared: bool = False) -> np.ndarray:
    noise = np.full(len(problem.y), problem.noise.mean()) if shared else problem.noise
    return np.linalg.solve(energy_matrix(problem.x) + np.diag(1 / noise), problem.y / noise)
