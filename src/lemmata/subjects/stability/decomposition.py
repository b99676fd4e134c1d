"""The squared error is the sum of squared bias, variance and noise, and two fits to separate rows estimate these parts.

This theory is about the expected squared error of any estimator at a new noisy target. It assumes noise of mean 0 and
constant variance that is independent of the fit. It does not say how the parts depend on the estimator.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}


class SignedNoise(eqx.Module):
    """Targets y_i = values_i + noise s_i with independent random signs s_i."""

    values: Float[Array, " n"]
    noise: Float[Array, ""]

    @property
    def every(self) -> Float[Array, "m n"]:
        """The targets of all 2^n training sets, one for each choice of signs; they are equally likely."""
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(self.values))))
        return self.values + self.noise * signs

    def draw(self, key: Key[Array, ""], sets: int) -> Float[Array, "sets n"]:
        """Draw the targets of this number of training sets."""
        return self.values + self.noise * jax.random.rademacher(key, (sets, len(self.values)), jnp.float64)


class SignedNoises(Population[SignedNoise]):
    """Targets with values on a wave of random phase, whose size is 1 to 2.5 times the size of the noise."""

    settings = Space(n=Integer(8, 5, 12, "points", corners=(6, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignedNoise:
        u = jax.random.uniform(key, (4,))
        at = jnp.arange(setting["n"]) / setting["n"]
        noise = 0.3 * 10 ** u[0]
        size = noise * (1 + 1.5 * u[1])
        return SignedNoise(size * jnp.sin(2 * jnp.pi * ((0.7 + 0.8 * u[2]) * at + u[3])), noise)

    def hypotheses(self, problem: SignedNoise) -> list[Hypothesis]:
        """Require noise; its mean is 0, because it has two opposite values."""
        return [Hypothesis("targets are noisy", problem.noise, ">", 0.0, "otherwise there is nothing to decompose")]


_DRAWS = 64


def _median(y: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Return the median of each value and its two neighbours; the first and the last value are repeated."""
    ends = jnp.concatenate([y[:, :1], y, y[:, -1:]], axis=1)
    return jnp.median(jnp.stack([ends[:, :-2], ends[:, 1:-1], ends[:, 2:]]), axis=0)


def _two_means(y: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Return, for each point, the mean of its side of the best split, as a tree with one split does."""
    n = y.shape[1]
    left = (jnp.arange(n) <= jnp.arange(n - 1)[:, None]).astype(y.dtype)
    mean = lambda part: (y @ part.T / part.sum(axis=1))[:, :, None] * part
    fits = mean(left) + mean(1 - left)
    best = jnp.sum((fits - y[:, None]) ** 2, axis=2).argmin(axis=1)
    return jnp.take_along_axis(fits, best[:, None, None], axis=1)[:, 0]


def _shrunk(y: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """Return the values, moved towards 0 by a quarter of the largest absolute value, but not beyond 0."""
    return jnp.sign(y) * jnp.maximum(jnp.abs(y) - jnp.abs(y).max(axis=1, keepdims=True) / 4, 0.0)


def _fits(y: Float[Array, "m n"]) -> Float[Array, "3 m n"]:
    return jnp.stack([_median(y), _two_means(y), _shrunk(y)])


def _parts(problem: SignedNoise) -> tuple[Array, Array]:
    """Return the exact squared bias and variance of each estimator over all training sets, averaged over points."""
    fits = _fits(problem.every)
    return jnp.mean((fits.mean(axis=1) - problem.values) ** 2, axis=1), jnp.mean(fits.var(axis=1), axis=1)


class BiasVariance(Claim[SignedNoise]):
    """Let y = f(x) + noise, where the noise has mean 0 and variance sigma². Let f_S be the fit of any estimator to a
    sample S, and let y be a new target that is independent of S. The expected squared error is

        E(y - f_S(x))² = (E f_S(x) - f(x))² + Var f_S(x) + sigma².

    The three terms are squared bias, variance and noise. The test uses three estimators that are not linear in the
    targets: a running median, a split into two means, and a threshold. It computes the right side by enumerating all
    samples, and the left side as a mean over random samples.
    """

    title = "The expected squared error is the sum of squared bias, variance and noise"
    source = Source("emergence2026", "Proposition 8.16")
    population = SignedNoises()
    relation = EqualInMean(resolution=0.05)
    control = Control("the error does not include the noise", lambda error, problem: error - problem.noise**2)
    controls = "the expected squared error of any estimator"
    unexplained = "other losses, which have no such decomposition"
    trials = 128

    def predict(self, problem: SignedNoise) -> Array:
        bias, variance = _parts(problem)
        return bias + variance + problem.noise**2

    def measure(self, problem: SignedNoise, key: Key[Array, ""]) -> Array:
        keys = jax.random.split(key)
        fits, new = _fits(problem.draw(keys[0], _DRAWS)), problem.draw(keys[1], _DRAWS)
        return jnp.mean((new - fits) ** 2, axis=(1, 2))


class TwoFitsTellVariance(Claim[SignedNoise]):
    """Let f_1 and f_2 be the predictions at an input by fits of any estimator to two independent samples of one
    distribution. Let y be a new target at this input, and let sigma² be the variance of its noise. Let bias and
    variance be those of the prediction by one fit. Then

        E (y - f_1)(y - f_2) = sigma² + bias²,    E (f_1 - f_2)²/2 = variance.

    These equations do not contain the true function, so they are useful even if this function is unknown. They do not
    separate squared bias from noise.
    """

    title = "Two fits to separate samples give the variance and the sum of squared bias and noise"
    source = Source("emergence2026", "Proposition 8.16", note="as an estimate from data")
    population = SignedNoises()
    relation = EqualInMean(resolution=0.05)
    control = Control(
        "the mean of both fits stands in place of f_1, and (f_1 - f_2)² in place of its half",
        lambda parts, problem: jnp.stack([parts[0] + parts[1] / 2, 2 * parts[1]]),
    )
    controls = "how much data reveal about bias and variance"
    unexplained = "how much of sigma² + bias² is noise"
    trials = 256

    def predict(self, problem: SignedNoise) -> Array:
        bias, variance = _parts(problem)
        return jnp.stack([bias + problem.noise**2, variance])

    def measure(self, problem: SignedNoise, key: Key[Array, ""]) -> Array:
        keys = jax.random.split(key, 3)
        first, second = (_fits(problem.draw(own, _DRAWS)) for own in keys[:2])
        new = problem.draw(keys[2], _DRAWS)
        rest = jnp.mean((new - first) * (new - second), axis=(1, 2))
        return jnp.stack([rest, jnp.mean((first - second) ** 2, axis=(1, 2)) / 2])
