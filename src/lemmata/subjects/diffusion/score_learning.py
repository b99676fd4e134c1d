"""How fast a score is learned from n draws. The error falls as 1/n if the score has finitely many parameters.

This theory is about the mean squared error of a score learned from n pairs of clean and noised data. For normal data,
the score is linear, and the error is known exactly. For data at two points, a kernel has to learn a function. Between
32 and 128 pairs, more noise then makes learning slower. The theory does not explain how the exponent depends on data
and kernel.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Order,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive
from lemmata.kernels import Matern, gram

ABOUT = {"tool": "statistics", "architecture": "diffusion model", "object": "score", "problem": 3}


class SignsUnderNoise(eqx.Module):
    """Data x0 = 1 or -1, equally likely, and z = x0 + sigma xi with standard normal xi. Ridge regression with a Matérn
    kernel learns E[x0 | z] from pairs (z, x0).

    Args:
        lengthscale: the lengthscale of the kernel.
    """

    lengthscale: Float[Array, ""]


_LENGTHSCALE = log_uniform(0.5, 1.0)


class NormalPairs(eqx.Module):
    """Normal data of mean 0 with a given covariance, noise of a given variance, and the number n of pairs."""

    covariance: Float[Array, "d d"]
    variance: Float[Array, ""]
    n: int = eqx.field(static=True)


class NormalDataPairs(Population[NormalPairs]):
    """Normal data with random covariances and noise levels. The number of pairs is several times the dimension."""

    def settings(self) -> Space:
        space = Space(n=Integer(40, 12, 400, "pairs"), d=Integer(8, 1, 32, "dimension"))
        return space.where("n is at least d + 6", lambda setting: setting["n"] >= setting["d"] + 6)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalPairs:
        """Draw a Wishart matrix as the covariance, and a noise variance from 0.1 to 10."""
        factor_key, level_key = jax.random.split(key)
        factor = jax.random.normal(factor_key, (setting["d"], setting["d"])) / setting["d"] ** 0.5
        variance = 0.1 * 100 ** jax.random.uniform(level_key)
        return NormalPairs(factor @ factor.T, variance, setting["n"])

    def hypotheses(self, problem: NormalPairs) -> list[Hypothesis]:
        d = len(problem.covariance)
        return [
            Hypothesis(
                "noise is added (variance)", problem.variance, ">", 0.0, "otherwise the density may not have a score"
            ),
            Hypothesis(
                "pairs outnumber dimensions",
                problem.n,
                ">",
                d + 1,
                "otherwise the mean error of least squares is infinite",
            ),
        ]


_RIDGES = 10.0 ** np.arange(-4.0, 2.01, 0.25)
_REPEATS = 8
_PLACES = 200
_SIZES = (32, 128)


def _kernel_error(lengthscale: Array, sigma: Array, key: Key[Array, ""], n: int) -> Float[Array, ""]:
    """Return the mean squared error of the learned score over 8 sets of n pairs, at the ridge for which it is least."""
    kernel, places = Matern(nu=1.5, lengthscale=lengthscale), jnp.linspace(-1.0, 1.0, _PLACES) * (1 + 4 * sigma)
    density = jnp.exp(-((places - 1) ** 2) / (2 * sigma**2)) + jnp.exp(-((places + 1) ** 2) / (2 * sigma**2))
    truth = jnp.tanh(places / sigma**2)

    def errors(key):
        sign_key, noise_key = jax.random.split(key)
        clean = jax.random.rademacher(sign_key, (n,), float)
        noised = (clean + sigma * jax.random.normal(noise_key, clean.shape))[:, None]
        values, vectors = jnp.linalg.eigh(gram(kernel, noised))
        shrunk = (vectors.T @ clean)[:, None] / (jnp.maximum(values, 0.0)[:, None] + jnp.asarray(_RIDGES))
        found = gram(kernel, places[:, None], noised) @ vectors @ shrunk
        return density @ (found - truth[:, None]) ** 2 / density.sum() / sigma**4

    return jnp.mean(jax.lax.map(errors, jax.random.split(key, _REPEATS)), axis=0).min()


class ScoreExponentInNoise(Claim[SignsUnderNoise]):
    """Let the clean data x0 be 1 or -1, and let the noised data be x0 plus normal noise of standard deviation sigma.
    Learn the score from n pairs of clean and noised data by ridge regression with a Matérn kernel of smoothness 3/2.
    Use the ridge whose mean error is smallest. Between n = 32 and 128, take the slope of the logarithm of the error in
    log n. This negative exponent is closer to 0 if there is more noise. That is, the exponent falls along

        sigma = 4, 2, 1.

    With much noise the pairs carry little information about x0, and the regression has to average out the variance of
    the labels. At small sigma the score becomes steep and its Sobolev norms grow without bound. At these n, the
    steepness does not decide which exponent is larger.
    """

    title = "More noise slows the rate at which kernel ridge regression learns a score from n pairs"
    source = Source("foundation2025", "(8)", note="how the exponent moves with the noise level")
    stated = Kind.OWN
    population = Drawn(
        SignsUnderNoise, positive("lengthscale", "a Matérn kernel has a positive lengthscale"), lengthscale=_LENGTHSCALE
    )
    relation = Order("sigma", (4.0, 2.0, 1.0))
    control = Control("less noise slows the learning", lambda sign, problem: -sign)
    controls = "the exponent in n of the error of a learned score"
    unexplained = "levels of noise below 1/2, where the exponent moves either way"
    trials = 48
    predict = -1.0

    def measure_at(self, problem: SignsUnderNoise, key: Key[Array, ""], rung: float) -> Array:
        """Return the slope of log errors between n = 32 and 128."""
        error = lambda key, n: _kernel_error(problem.lengthscale, jnp.asarray(rung), key, n)
        few, many = (error(own, n) for own, n in zip(jax.random.split(key), _SIZES, strict=True))
        return jnp.log(many / few) / np.log(_SIZES[1] / _SIZES[0])


class LinearScoreLearning(Claim[NormalPairs]):
    """Let x0 be normal in d dimensions with mean 0 and covariance S, and let z = x0 + sqrt(v) xi, where xi is standard
    normal. Let p_v be the density of z. The score of p_v is linear. Learn it as s_n(z) = (A z - z)/v, where A is the
    matrix of the least squares regression of x0 on z, from n > d + 1 pairs. On a new draw z the mean squared error of
    s_n is

        E |s_n(z) - grad log p_v(z)|² = tr( S (S + v I)^-1 ) d / ( v (n - d - 1) ).

    So the error falls like 1/n. If S is large compared with v I, then tr(S (S + v I)^-1) d is about d², the number of
    parameters.
    """

    title = "A formula for the expected error of a linear score learned from n pairs of clean and noised data"
    source = Source("foundation2025", "(8)", note="for normal data, with the constant")
    population = NormalDataPairs()
    relation = EqualInMean(margin=0.0, resolution=0.05)
    control = Control(
        "the denominator has n in place of n - d - 1",
        lambda error, problem: error * (problem.n - len(problem.covariance) - 1) / problem.n,
    )
    controls = "the error of a learned score"
    unexplained = "scores that are not linear, and kernels that have to learn them"
    trials = 128

    def predict(self, problem: NormalPairs) -> Array:
        d = len(problem.covariance)
        shares = jnp.trace(jnp.linalg.solve(problem.covariance + problem.variance * jnp.eye(d), problem.covariance))
        return shares * d / (problem.variance * (problem.n - d - 1))

    def measure(self, problem: NormalPairs, key: Key[Array, ""]) -> Array:
        """Fit least squares on 16 sets of pairs, and compare with the exact score at noised data."""
        d = len(problem.covariance)
        spread = problem.covariance + problem.variance * jnp.eye(d)
        values, vectors = jnp.linalg.eigh(problem.covariance)
        root = vectors * jnp.sqrt(jnp.maximum(values, 0.0))

        def error(key):
            clean_key, noise_key = jax.random.split(key)
            clean = jax.random.normal(clean_key, (problem.n, d)) @ root.T
            noised = clean + jnp.sqrt(problem.variance) * jax.random.normal(noise_key, clean.shape)
            fitted = jnp.linalg.lstsq(noised, clean)[0].T
            gap = (fitted - jnp.eye(d)) / problem.variance + jnp.linalg.inv(spread)
            return jnp.trace(gap @ spread @ gap.T)

        return jnp.mean(jax.vmap(error)(jax.random.split(key, 16)))
