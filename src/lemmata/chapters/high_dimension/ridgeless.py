"""Ridgeless least squares: why the test error peaks where parameters and rows are equal in number.

This theory controls the excess risk E (x'b - x'beta)² of the least squares fit b of smallest norm, for d isotropic
inputs and n rows with gamma = d/n kept: the variance explodes at gamma = 1 and falls again beyond it, while the bias,
nought before, rises towards the whole signal. It assumes a linear target, noise of known variance and a covariance that
is the identity; it leaves unexplained why fits with many parameters are good on real data, whose covariance is far
from the identity. The report says how far.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source, Space
from lemmata.problems import Regression

from .marchenko_pastur import marchenko_pastur_edges, tracy_widom_scales

_THEOREM = Source("hastie2022ridgeless", "Section 3", note="the limiting risk for isotropic features")
_STANDARD_ERRORS = 5.0
_NOISES = 16
_FRESH = 512
# For Gaussian inputs the mean variance is known at every size: sigma² d/(n - d - 1) and sigma² n/(d - n - 1). It
# exceeds the limit by the factor 1 + 1/(|n - d| - 1), which is within this margin for |n - d| >= 21.
_MARGIN = 0.05


class LinearDesign(eqx.Module):
    """A linear model y = x'beta + noise, and fresh inputs on which its fit is judged.

    Args:
        x: training inputs.
        y: training targets.
        x_test: fresh inputs of the same population.
        coefficients: beta.
        noise: standard deviation of the noise.
        known: whether beta and the noise are known, or estimated from data.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_test: Float[Array, "t d"]
    coefficients: Float[Array, " d"]
    noise: Float[Array, ""]
    known: bool = eqx.field(static=True, default=True)

    @property
    def gamma(self) -> float:
        """Columns per row."""
        return self.x.shape[1] / self.x.shape[0]


def ridgeless_variance(gamma: float, noise: Float[Array, ""] | float) -> Float[Array, ""]:
    """noise² gamma/(1 - gamma) for gamma < 1, noise²/(gamma - 1) for gamma > 1; infinite at 1.

    >>> float(ridgeless_variance(0.5, 2.0)), float(ridgeless_variance(3.0, 2.0))
    (4.0, 2.0)
    """
    if gamma == 1:
        return jnp.asarray(jnp.inf)
    return jnp.asarray(noise) ** 2 * (gamma / (1 - gamma) if gamma < 1 else 1 / (gamma - 1))


def ridgeless_bias(gamma: float, signal: Float[Array, ""] | float) -> Float[Array, ""]:
    """signal² (1 - 1/gamma) for gamma > 1, else 0; signal is the norm of the coefficients."""
    return jnp.asarray(signal) ** 2 * max(0.0, 1 - 1 / gamma)


def draw_design(rows: int, columns: int, fresh: int, signal: float, noise: float, key: Key[Array, ""]) -> LinearDesign:
    """Standard normal inputs, coefficients of norm `signal` in a random direction, normal noise."""
    keys = jax.random.split(key, 4)
    x = jax.random.normal(keys[0], (rows, columns))
    direction = jax.random.normal(keys[1], (columns,))
    beta = signal * direction / jnp.linalg.norm(direction)
    y = x @ beta + noise * jax.random.normal(keys[2], (rows,))
    return LinearDesign(x, y, jax.random.normal(keys[3], (fresh, columns)), beta, jnp.asarray(noise, x.dtype))


def pose_design(problem: object, rows: int | None = None) -> LinearDesign | None:
    """The linear model on a regression's own inputs, first output; coefficients and noise by least squares on all rows.

    Noise that the problem declares is kept; otherwise it is the residual standard deviation, in which a part of the
    target that is not linear counts as noise. `rows` keeps the first rows for training.
    """
    if isinstance(problem, LinearDesign):
        return problem
    if not isinstance(problem, Regression):
        return None
    x, y = jnp.concatenate([problem.x, problem.x_test]), jnp.concatenate([problem.y, problem.y_test])[:, 0]
    beta, _, rank, _ = jnp.linalg.lstsq(x, y)
    freedom = jnp.maximum(x.shape[0] - rank, 1)
    estimate = jnp.sqrt(jnp.sum((y - x @ beta) ** 2) / freedom)
    known = bool(jnp.isfinite(problem.noise))
    noise = problem.noise if known else estimate
    return LinearDesign(problem.x[:rows], problem.y[:rows, 0], problem.x_test, beta, noise, known)


def isotropy(x: Float[Array, "n d"]) -> list[Hypothesis]:
    """Checks that inputs look like independent standard normals: ends of the covariance spectrum, and kurtosis.

    Too few entries look like anything: there must be enough to tell the kurtosis 3 of a normal law from 1.8, that of
    the uniform law.
    """
    rows, columns = x.shape
    lower, upper = marchenko_pastur_edges(columns / rows)
    below, above = tracy_widom_scales(rows, columns)
    narrow = x if rows >= columns else x.T
    squares = jnp.linalg.eigvalsh(narrow.T @ narrow)[::-1] / rows
    kurtosis = jnp.mean(x**4) / jnp.mean(x**2) ** 2
    why = "isotropic inputs: the spectrum of X'X/n ends where Marchenko and Pastur say"
    fewest = 24 * (_STANDARD_ERRORS / (3 - 1.8)) ** 2
    return [
        Hypothesis("enough entries to know a normal law", rows * columns, ">=", fewest, "the checks below have power"),
        Hypothesis("no direction has too much variance", squares[0], "<=", upper + _STANDARD_ERRORS * above, why),
        Hypothesis("no direction has too little variance", squares[-1], ">=", lower - _STANDARD_ERRORS * below, why),
        Hypothesis(
            "entries have the kurtosis 3 of a normal law",
            jnp.abs(kurtosis - 3),
            "<=",
            _STANDARD_ERRORS * (24 / (rows * columns)) ** 0.5,
            "the finite-size terms are those of normal inputs",
        ),
    ]


def linearity(problem: LinearDesign) -> Hypothesis:
    """Checks that the residual of the linear fit is no larger than the known noise, where there are rows to see it."""
    name, freedom = "the target is linear up to the noise", problem.x.shape[0] - problem.x.shape[1]
    if freedom < 1:
        return Hypothesis.unchecked(name, "a fit with as many coefficients as rows has no residual")
    if not problem.known:
        return Hypothesis.unchecked(name, "the noise is estimated from the residual of the linear fit itself")
    beta = jnp.linalg.lstsq(problem.x, problem.y)[0]
    residual = jnp.sum((problem.y - problem.x @ beta) ** 2) / freedom
    # Of normal noise the residual variance is sigma² chi²/freedom, of standard deviation sigma² sqrt(2/freedom).
    allowed = problem.noise**2 * (1 + _STANDARD_ERRORS * (2 / freedom) ** 0.5)
    return Hypothesis(name, residual, "<=", allowed, "what is not linear acts as more noise")


def _variance(problem: LinearDesign, key: Key[Array, ""]) -> Array:
    """The mean squared prediction on fresh inputs of least squares fits to noise alone."""
    noise = problem.noise * jax.random.normal(key, (problem.x.shape[0], _NOISES))
    return jnp.mean((problem.x_test @ (jnp.linalg.pinv(problem.x) @ noise)) ** 2)


class UnderparameterisedVariance(Claim[LinearDesign]):
    """For gamma = d/n < 1 the variance of least squares with isotropic inputs tends to

        sigma² gamma / (1 - gamma)

    and the bias is 0.
    """

    title = "Variance of least squares with fewer parameters than rows"
    source = _THEOREM
    relation = EqualInMean(margin=_MARGIN, resolution=0.05)
    label = "tight"
    controls = "the excess risk of least squares on fresh inputs"
    unexplained = "inputs whose covariance is not the identity; targets that are not linear"
    problem = LinearDesign

    def settings(self) -> Space:
        """Rows and columns per row; |n - d| >= 21 within the bounds."""
        return Space(n=Integer(80, 60, 200, "rows"), gamma=Real(0.5, 0.2, 0.65, "columns per row"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearDesign:
        """Standard normal inputs, coefficients of norm 1, noise 1/2."""
        return draw_design(setting["n"], int(setting["gamma"] * setting["n"]), _FRESH, 1.0, 0.5, key)

    def pose(self, problem: object) -> LinearDesign | None:
        """The linear model on a regression's own inputs."""
        return pose_design(problem)

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        """gamma < 1, far enough from the threshold, isotropic inputs, a linear target."""
        return [
            Hypothesis("fewer columns than rows", problem.gamma, "<", 1.0, "gamma = d/n"),
            _far_from_threshold(problem),
            *isotropy(jnp.concatenate([problem.x, problem.x_test])),
            linearity(problem),
        ]

    def predict(self, problem: LinearDesign) -> Array:
        """The limit."""
        return ridgeless_variance(problem.gamma, problem.noise)

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        """Squared predictions of fits to drawn noise."""
        return _variance(problem, key)

    def control(self) -> Control:
        """As if the sample covariance were the identity."""
        return Control("the variance is sigma² gamma", lambda value, problem: problem.noise**2 * problem.gamma)


def _far_from_threshold(problem: LinearDesign) -> Hypothesis:
    rows, columns = problem.x.shape
    return Hypothesis(
        "n and d are far enough apart for the limit", abs(rows - columns), ">=", 1 + 1 / _MARGIN, "see the margin"
    )


def _shares_known(problem: LinearDesign) -> Hypothesis:
    # The share of |beta|² in n random directions of d is Beta(n/2, (d - n)/2): its mean is 1/gamma, its variance
    # 2 (1/gamma)(1 - 1/gamma)/(d + 2). Relative to the smaller of the kept and the lost share:
    kept = min(problem.x.shape[0] / problem.x.shape[1], 1.0)
    smaller, larger = min(kept, 1 - kept), max(kept, 1 - kept)
    spread = (2 * larger / (smaller * (problem.x.shape[1] + 2))) ** 0.5 if smaller > 0 else jnp.inf
    why = "with few rows or columns one draw of rows says little about the mean"
    return Hypothesis("n and d are large enough (relative spread of a share)", spread, "<=", 0.25, why)


def _interpolating_rows(problem: object) -> LinearDesign | None:
    # Where a user has more rows than columns, the claim speaks about the fit to the first d/2 of them: gamma = 2.
    if isinstance(problem, Regression):
        return pose_design(problem, min(problem.x.shape[0], max(1, problem.x.shape[1] // 2)))
    return pose_design(problem)


_BEYOND = Space(n=Integer(40, 40, 100, "rows"), gamma=Real(2.0, 1.6, 3.0, "columns per row"))


class OverparameterisedVariance(Claim[LinearDesign]):
    """For gamma = d/n > 1 the variance of the least squares fit of smallest norm with isotropic inputs tends to

        sigma² / (gamma - 1),

    which falls as parameters are added. Of a user's rows the first d/2 are used where there are more.
    """

    title = "Variance of the interpolating fit of smallest norm"
    source = _THEOREM
    relation = EqualInMean(margin=_MARGIN, resolution=0.05)
    label = "tight"
    controls = "the part of the excess risk that noise makes"
    unexplained = "inputs whose covariance is not the identity"
    problem = LinearDesign

    def settings(self) -> Space:
        """Rows and columns per row; |n - d| >= 21 within the bounds."""
        return _BEYOND

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearDesign:
        """Standard normal inputs, coefficients of norm 1, noise 1/2."""
        return draw_design(setting["n"], round(setting["gamma"] * setting["n"]), _FRESH, 1.0, 0.5, key)

    def pose(self, problem: object) -> LinearDesign | None:
        """The linear model on a regression's own inputs, on at most d/2 rows."""
        return _interpolating_rows(problem)

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        """gamma > 1, far enough from the threshold, isotropic inputs, a linear target."""
        return [
            Hypothesis("more columns than rows", problem.gamma, ">", 1.0, "gamma = d/n"),
            _far_from_threshold(problem),
            *isotropy(jnp.concatenate([problem.x, problem.x_test])),
            linearity(problem),
        ]

    def predict(self, problem: LinearDesign) -> Array:
        """The limit."""
        return ridgeless_variance(problem.gamma, problem.noise)

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        """Squared predictions of fits to drawn noise."""
        return _variance(problem, key)

    def control(self) -> Control:
        """The numerator of the other side."""
        return Control("the variance is sigma² gamma/(gamma - 1)", lambda value, problem: value * problem.gamma)


class OverparameterisedBias(Claim[LinearDesign]):
    """For gamma = d/n > 1 the bias of the least squares fit of smallest norm with isotropic inputs is

        r² (1 - 1/gamma),    r = |beta|.

    For normal inputs its mean is so at every size: the fit keeps the projection of beta on n random directions of d.
    Of a user's rows the first d/2 are used where there are more.
    """

    title = "Bias of the interpolating fit of smallest norm"
    source = _THEOREM
    relation = EqualInMean(resolution=0.05)
    label = "identity"
    controls = "the part of the excess risk that missing rows make"
    unexplained = "inputs whose covariance is not the identity, where the target may lie in the leading directions"
    problem = LinearDesign
    trials = 512

    def settings(self) -> Space:
        """Rows and columns per row."""
        return _BEYOND

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearDesign:
        """Standard normal inputs, coefficients of norm 1, noise 1/2."""
        return draw_design(setting["n"], round(setting["gamma"] * setting["n"]), _FRESH, 1.0, 0.5, key)

    def pose(self, problem: object) -> LinearDesign | None:
        """The linear model on a regression's own inputs, on at most d/2 rows."""
        return _interpolating_rows(problem)

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        """gamma > 1, enough rows and columns, isotropic inputs, a linear target."""
        more = Hypothesis("more columns than rows", problem.gamma, ">", 1.0, "gamma = d/n")
        inputs = jnp.concatenate([problem.x, problem.x_test])
        return [more, _shares_known(problem), *isotropy(inputs), linearity(problem)]

    def predict(self, problem: LinearDesign) -> Array:
        """The bias."""
        return ridgeless_bias(problem.gamma, jnp.linalg.norm(problem.coefficients))

    def measure(self, problem: LinearDesign, key: Key[Array, ""]) -> Array:
        """Squared error on fresh inputs of the fit to targets without noise."""
        fitted = jnp.linalg.pinv(problem.x) @ (problem.x @ problem.coefficients)
        return jnp.mean((problem.x_test @ (fitted - problem.coefficients)) ** 2)

    def control(self) -> Control:
        """The square of the lost share."""
        return Control("the bias is r² (1 - 1/gamma)²", lambda value, problem: value * (1 - 1 / problem.gamma))
