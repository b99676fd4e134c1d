"""Ridgeless least squares at finite numbers of rows and columns: exact mean risk, risk for given rows, and best number
of columns.

This theory gives the excess risk of the least squares fit b of smallest norm. The excess risk is the mean of (x'b -
x'beta)² over new rows x. For isotropic normal rows, the theory gives the mean excess risk at every size, not only in
the limit. It assumes a linear target. It does not explain how columns should be chosen if some are better than others.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import rows
from lemmata.subjects.high_dimension._normal_designs import least_norm

ABOUT = {"tool": "random matrices", "architecture": "linear model", "object": "generalisation"}

_DRAWS = 32
_NOISES = 16


class IsotropicModel(eqx.Module):
    """The numbers of rows and columns, the norm of the coefficients, and the standard deviation of the noise."""

    signal: Float[Array, ""]
    noise: Float[Array, ""]
    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)


class IsotropicModels(Population[IsotropicModel]):
    """Half of the models have fewer columns than rows, half have more; the two numbers differ by 6 or more."""

    settings = Space(n=Integer(20, 14, 80, "rows", corners=(16, 30)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> IsotropicModel:
        rng, n = generator_of(key), setting["n"]
        columns = rng.integers(2, n - 5) if rng.random() < 0.5 else rng.integers(n + 6, 2 * n + 1)
        signal, noise = np.exp(rng.uniform(-1.0, 1.0, 2))
        return IsotropicModel(jnp.asarray(signal), jnp.asarray(noise), n, int(columns))

    def hypotheses(self, problem: IsotropicModel) -> list[Hypothesis]:
        apart = abs(problem.rows - problem.columns)
        return [
            Hypothesis(
                "|n - p|", apart, ">=", 6, "at a difference of 1 the mean risk is infinite, and up to 3 its variance is"
            )
        ]


class FiniteSampleRidgeless(Claim[IsotropicModel]):
    """Let n rows have p independent standard normal columns. Let r be the norm of the coefficients, and let sigma² be
    the variance of the noise. The excess risk of the least squares fit of smallest norm has the mean

        sigma² p/(n - p - 1)                           if p < n - 1,
        r² (1 - n/p) + sigma² n/(p - n - 1)            if p > n + 1.

    The mean is over the rows and the noise. The formula holds at every size. The known limits for p/n -> gamma leave
    out the 1 in both denominators.
    """

    title = "At every size, the mean risk of ridgeless least squares is its limit with |n - p| - 1 in place of |n - p|"
    source = Source(
        "emergence2026", "Theorem 9.3", "Figure 9.3", "Figure 9.7", note="exact at every size, not only in the limit"
    )
    population = IsotropicModels()
    relation = EqualInMean(resolution=0.03)
    control = Control("the risk is that of the limit", lambda value, problem: _isotropic_risk(problem, 0))
    controls = "the mean risk of least squares with any numbers of rows and columns"
    unexplained = "columns of unequal variance; sizes p = n - 1, n and n + 1, where the mean is infinite"
    traced = False
    trials = 192

    def predict(self, problem: IsotropicModel) -> Array:
        return _isotropic_risk(problem, 1)

    def measure(self, problem: IsotropicModel, key: Key[Array, ""]) -> Array:
        """Average the excess risk of fits over draws of the rows, the noise, and coefficients of this norm."""
        rng, (n, p) = generator_of(key), (problem.rows, problem.columns)
        x = rng.normal(size=(_DRAWS, n, p))
        beta = rng.normal(size=(_DRAWS, p, _NOISES))
        beta = float(problem.signal) * beta / np.linalg.norm(beta, axis=1, keepdims=True)
        y = x @ beta + float(problem.noise) * rng.normal(size=(_DRAWS, n, _NOISES))
        return jnp.asarray(np.mean(np.sum((least_norm(x, y) - beta) ** 2, axis=1)))


def _isotropic_risk(problem: IsotropicModel, less: int) -> Array:
    """Return the mean risk, with `less` subtracted in the denominator of the variance."""
    n, p = problem.rows, problem.columns
    if p < n:
        return problem.noise**2 * p / (n - p - less)
    return problem.signal**2 * (1 - n / p) + problem.noise**2 * n / (p - n - less)


class GivenRows(eqx.Module):
    """Rows, the population variances of their columns, the coefficients, and the standard deviation of the noise."""

    x: Float[Array, "n p"]
    variances: Float[Array, " p"]
    coefficients: Float[Array, " p"]
    noise: Float[Array, ""]


class ConditionalRisk(Claim[GivenRows]):
    """Let X be a matrix of n rows, and let S be the covariance of new rows. Let beta be the vector of coefficients of
    the target, and let sigma² be the variance of the noise. Let X^+ be the pseudo-inverse of X, and let P = I - X^+ X
    be the projection on the null space of the rows. Given the rows, the least squares fit of smallest norm has the mean
    excess risk

        beta' P S P beta + sigma² tr((X^+)' S X^+).

    The first term is the bias, and the second term is the variance. The formula holds for every X and every S. If the
    rows span the whole space, the bias is 0.
    """

    title = "Given its rows, ridgeless least squares has a bias in their null space and a variance in their row space"
    source = Source("emergence2026", "Figure 9.4", "Figure 9.6", note="with the variance")
    population = Drawn(
        GivenRows,
        positive("variances", "a column without variance does not count"),
        n=rows(30, 10, 200, corners=(20, 40)),
        p=Integer(45, 10, 300, "columns", corners=(10, 60)),
        x=normal("n", "p"),
        variances=log_uniform(0.1, 10.0, "p"),
        coefficients=normal("p", times=0.3),
        noise=log_uniform(0.5, 2.0),
        rules={"n and p differ by 5 or more": lambda setting: abs(setting["n"] - setting["p"]) >= 5},
    )
    relation = EqualInMean(resolution=0.03)
    control = Control("the covariance is replaced by the identity", lambda value, problem: _given(problem, 1.0))
    controls = "the mean risk for given rows, over the draws of the noise"
    unexplained = "covariances that are not known"
    traced = False
    trials = 128

    def predict(self, problem: GivenRows) -> Array:
        return _given(problem, problem.variances)

    def measure(self, problem: GivenRows, key: Key[Array, ""]) -> Array:
        """Fit noisy targets on these rows, and return the mean excess risk over the population."""
        x, beta = np.asarray(problem.x * jnp.sqrt(problem.variances)), np.asarray(problem.coefficients)
        noise = float(problem.noise) * generator_of(key).normal(size=(len(x), 64))
        fits = np.linalg.lstsq(x, (x @ beta)[:, None] + noise, rcond=None)[0]
        return jnp.asarray(np.mean(np.asarray(problem.variances) @ (fits - beta[:, None]) ** 2))


def _given(problem: GivenRows, variances: Array | float) -> Array:
    x = problem.x * jnp.sqrt(problem.variances)
    inverse = jnp.linalg.pinv(x)
    unseen = problem.coefficients - inverse @ (x @ problem.coefficients)
    return jnp.sum(variances * unseen**2) + problem.noise**2 * jnp.sum((variances * inverse.T**2).T)


_STEPS = np.arange(-2.0, 1.81, 0.2)  # of log(p/n - 1)
_AROUND = 4


class SignalToNoise(eqx.Module):
    """The number of rows, and the squared norm of the coefficients divided by the variance of the noise."""

    ratio: Float[Array, ""]
    n: int = eqx.field(static=True)


class BestOverparameterisation(Claim[SignalToNoise]):
    """Let n rows have p independent standard normal columns, and let g = p/n > 1. Let S be the squared norm of the
    coefficients divided by the variance of the noise, and let this S be the same for every p. In the limit of large n
    and p, the excess risk of the least squares fit of smallest norm is S (1 - 1/g) + 1/(g - 1) times the variance of
    the noise. If S > 1, the risk is smallest at

        g = sqrt(S)/(sqrt(S) - 1),    with the value 2 sqrt(S) - 1.

    This value is less than S, the risk of predicting 0. If S <= 1, no g is best: the risk falls with every added column
    and stays above S.

    The test measures three numbers: the best g, the risk at this g, and, for S = 1/2, the smallest risk over several
    values of g. The prediction for the third number is the risk at the largest g.
    """

    title = (
        "For p > n features and a signal-to-noise ratio S > 1, ridgeless least squares is best at p/n = "
        "sqrt(S)/(sqrt(S) - 1)"
    )
    source = Source("hastie2022ridgeless", "Section 3", note="the minimum of the limiting risk for isotropic features")
    population = Drawn(
        SignalToNoise,
        lambda own: Hypothesis(
            "S, the ratio of signal to noise", own.ratio, ">", 1.0, "otherwise the risk has no minimum over g"
        ),
        ratio=uniform(3.0, 12.0),
        n=rows(80, 60, 150, corners=(60, 100)),
    )
    relation = EqualInMean(margin=0.03, resolution=0.04)
    control = Control(
        "the risk is least at g = S/(S - 1), its least value is S, and S is also reached for S = 1/2",
        lambda best, problem: jnp.stack([problem.ratio / (problem.ratio - 1), problem.ratio, jnp.asarray(0.5)]),
    )
    controls = "how many columns an interpolating fit should have"
    unexplained = "columns that carry unequal parts of the signal"
    traced = False
    trials = 32

    def predict(self, problem: SignalToNoise) -> Float[Array, "3"]:
        root, last = jnp.sqrt(problem.ratio), _ladder(problem.n)[-1] / problem.n
        return jnp.stack([root / (root - 1), 2 * root - 1, jnp.asarray(0.5 * (1 - 1 / last) + 1 / (last - 1))])

    def measure(self, problem: SignalToNoise, key: Key[Array, ""]) -> Float[Array, "3"]:
        """Fit for several values of p, and smooth the risks by a cubic in log(g - 1) around the best p."""
        rng, ladder = generator_of(key), _ladder(problem.n)
        risks = _risks(float(problem.ratio), problem.n, ladder, rng)
        at = np.log(ladder / problem.n - 1)
        best = int(np.clip(np.argmin(risks), _AROUND, len(at) - 1 - _AROUND))
        near = slice(best - _AROUND, best + _AROUND + 1)
        fine = np.linspace(at[near][0], at[near][-1], 401)
        smooth = np.polyval(np.polyfit(at[near] - at[best], risks[near], 3), fine - at[best])
        null = _risks(0.5, problem.n, ladder, rng)
        return jnp.asarray([1 + np.exp(fine[np.argmin(smooth)]), smooth.min(), null.min()])


def _ladder(n: int) -> np.ndarray:
    return np.rint(n * (1 + np.exp(_STEPS))).astype(int)


def _risks(ratio: float, n: int, ladder: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the risks of fits to the first p columns, for each p of `ladder`. The coefficients have the squared norm
    `ratio`, and the noise has variance 1.
    """
    found = np.zeros((3, len(ladder)))
    for own in found:
        columns, noise = rng.normal(size=(n, ladder[-1])), rng.normal(size=(n, _NOISES))
        drawn = rng.normal(size=(ladder[-1], _NOISES))
        for place, p in enumerate(ladder):
            x, beta = columns[:, :p], ratio**0.5 * drawn[:p] / np.linalg.norm(drawn[:p], axis=0)
            own[place] = np.mean(np.sum((least_norm(x, x @ beta + noise) - beta) ** 2, axis=0))
    return found.mean(axis=0)
