"""Ridgeless least squares: why the test error peaks if there are as many parameters as rows.

This theory gives the excess risk E (x'b - x'beta)² of the least squares fit b of smallest norm, for d isotropic inputs
and n rows at a fixed gamma = d/n. The variance explodes at gamma = 1 and falls again beyond it. The bias is 0 below
gamma = 1. Above gamma = 1, the bias rises towards the whole signal. The theory assumes a linear target, noise of known
variance and a covariance that is the identity. It does not explain why fits with many parameters are good on real data,
whose covariance is far from the identity. The report says how far the covariance of your data is from the identity.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source
from lemmata.subjects.high_dimension._linear_designs import LinearDesign, LinearDesigns

ABOUT = {"tool": "random matrices", "architecture": "linear model", "object": "generalisation"}

_THEOREM = Source("hastie2022ridgeless", "Section 3", note="the limiting risk for isotropic features")
_NOISES = 16
# For Gaussian inputs, the mean variance is known at every size. It is sigma² d/(n - d - 1) and sigma² n/(d - n - 1). It
# exceeds the limit by the factor 1 + 1/(|n - d| - 1), which is within this margin for |n - d| >= 21. This is the mean
# over designs; a single design differs by several percent.
_MARGIN = 0.05
_LIMIT = EqualInMean(margin=_MARGIN, resolution=0.05, over="problems")
# |n - d| >= 21 within the bounds of both
_BELOW = LinearDesigns(Integer(80, 60, 200, "rows"), Real(0.5, 0.2, 0.65, "columns per row"))
_BEYOND = LinearDesigns(Integer(40, 40, 100, "rows"), Real(2.0, 1.6, 3.0, "columns per row"))


def ridgeless_variance(gamma: float, noise: Float[Array, ""] | float) -> Float[Array, ""]:
    """Return noise² gamma/(1 - gamma) for gamma < 1, noise²/(gamma - 1) for gamma > 1, and infinity at 1.

    >>> float(ridgeless_variance(0.5, 2.0)), float(ridgeless_variance(3.0, 2.0))
    (4.0, 2.0)
    """
    if gamma == 1:
        return jnp.asarray(jnp.inf)
    return jnp.asarray(noise) ** 2 * (gamma / (1 - gamma) if gamma < 1 else 1 / (gamma - 1))


def ridgeless_bias(gamma: float, signal: Float[Array, ""] | float) -> Float[Array, ""]:
    """Return signal² (1 - 1/gamma) for gamma > 1, and 0 otherwise, where signal is the norm of the coefficients."""
    return jnp.asarray(signal) ** 2 * max(0.0, 1 - 1 / gamma)


def _variance(problem: LinearDesign, key: Key[Array, ""]) -> Array:
    """Fit noise alone by least squares; return the mean squared prediction on fresh inputs."""
    noise = problem.noise * jax.random.normal(key, (problem.x.shape[0], _NOISES))
    return jnp.mean((problem.x_test @ (jnp.linalg.pinv(problem.x) @ noise)) ** 2)


def _far_from_threshold(problem: LinearDesign) -> Hypothesis:
    rows, columns = problem.x.shape
    name = "n and d are far enough apart for the limit"
    return Hypothesis(
        name, abs(rows - columns), ">=", 1 + 1 / _MARGIN, "the claim's margin for finite size assumes this"
    )


class UnderparameterisedVariance(Claim[LinearDesign]):
    """Fit least squares to n rows with d isotropic inputs, where sigma² is the variance of the noise, and let gamma =
    d/n < 1. The variance of the fit is the mean square of the predictions, on fresh inputs, after a fit to the noise
    alone. As n and d grow in proportion, the variance tends to

        sigma² gamma / (1 - gamma)

    and the bias is 0.
    """

    title = "Least squares with gamma < 1 parameters per row has the variance sigma² gamma/(1 - gamma) and the bias 0"
    source = _THEOREM
    population = _BELOW
    relation = _LIMIT
    control = Control("the variance is sigma² gamma", lambda value, problem: problem.noise**2 * problem.gamma)
    controls = "the excess risk of least squares on fresh inputs"
    unexplained = "inputs whose covariance is not the identity; targets that are not linear"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        return [_far_from_threshold(problem)]

    def predict(self, problem: LinearDesign) -> Array:
        return ridgeless_variance(problem.gamma, problem.noise)

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        return _variance(problem, key)


class OverparameterisedVariance(Claim[LinearDesign]):
    """Fit least squares with the smallest norm to n rows with d isotropic inputs, where sigma² is the variance of the
    noise, and let gamma = d/n > 1. The variance of the fit is the mean square of the predictions, on fresh inputs,
    after a fit to the noise alone. As n and d grow in proportion, the variance tends to

        sigma² / (gamma - 1),

    which falls as parameters are added. If your data have more than d/2 rows, the first d/2 rows are used.
    """

    title = "The variance of the interpolating ridgeless fit of smallest norm falls as parameters are added"
    source = _THEOREM
    population = _BEYOND
    relation = _LIMIT
    control = Control("the variance is sigma² gamma/(gamma - 1)", lambda value, problem: value * problem.gamma)
    controls = "the part of the excess risk that is due to noise"
    unexplained = "inputs whose covariance is not the identity"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        return [_far_from_threshold(problem)]

    def predict(self, problem: LinearDesign) -> Array:
        return ridgeless_variance(problem.gamma, problem.noise)

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        return _variance(problem, key)


class OverparameterisedBias(Claim[LinearDesign]):
    """Fit least squares with the smallest norm to n rows with d isotropic inputs, and let gamma = d/n > 1. The target
    is x'beta, where beta is the vector of coefficients. The bias is the mean squared error, on fresh inputs, of a fit
    to the target without noise. The bias is

        r² (1 - 1/gamma),    r = |beta|.

    For normal inputs, the mean of the bias has exactly this value at every size. The reason is that the fit is the
    projection of beta on n random directions out of d. If your data have more than d/2 rows, the first d/2 rows are
    used.
    """

    title = "The bias of the interpolating ridgeless fit of smallest norm is |beta|² (1 - n/d) for isotropic inputs"
    source = _THEOREM
    population = _BEYOND
    # a design has only one bias, so nothing can be measured twice
    relation = EqualInMean(resolution=0.05, over="problems")
    control = Control("the bias is r² (1 - 1/gamma)²", lambda value, problem: value * (1 - 1 / problem.gamma))
    controls = "the part of the excess risk that is due to missing rows"
    unexplained = "inputs whose covariance is not the identity, where the target may lie in the leading directions"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 512

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        # The share of |beta|² in n random directions of d is Beta(n/2, (d - n)/2). Its mean is 1/gamma, and its
        # variance is 2 (1/gamma)(1 - 1/gamma)/(d + 2). Relative to the smaller of the kept and the lost share:
        kept = min(1 / problem.gamma, 1.0)
        smaller, larger = min(kept, 1 - kept), max(kept, 1 - kept)
        spread = (2 * larger / (smaller * (problem.x.shape[1] + 2))) ** 0.5 if smaller > 0 else jnp.inf
        why = "with few rows or columns, one draw of rows can be far from the mean"
        return [
            Hypothesis(
                "n and d are large enough (relative spread of the kept share of |beta|²)",
                spread,
                "<=",
                0.25,
                why,
            )
        ]

    def predict(self, problem: LinearDesign) -> Array:
        return ridgeless_bias(problem.gamma, jnp.linalg.norm(problem.coefficients))

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        fitted = jnp.linalg.pinv(problem.x) @ (problem.x @ problem.coefficients)
        return jnp.mean((problem.x_test @ (fitted - problem.coefficients)) ** 2)
