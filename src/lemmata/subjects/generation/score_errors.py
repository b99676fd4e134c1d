"""Errors of a score: the distance between the samples of the reverse process and the data.

This theory is about the process dx = -x dt + sqrt(2) dW and its reverse. If both processes start from the same
distribution, the divergence of the paths is the integral of the squared error of the score. The divergence of the
samples is at most the divergence of the paths. The theory assumes continuous time. It does not explain which errors a
network makes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.generation._gaussian_pairs import BY_SOLVER, carried

ABOUT = {"tool": "information theory", "architecture": "diffusion model", "object": "score"}

_STEPS, _PATHS = 256, 128
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class WrongScore(eqx.Module):
    """Data from N(m, diag s²) in d coordinates, the last time T of the noise, and a model (1 + e) s_q of the score.

    Here s_q is the score of N(n, diag r²) under the same noise. The reverse process starts at time T from the noisy
    version of N(n, diag r²).

    Args:
        means: m and n.
        spreads: s and r.
        excess: e.
        horizon: T.
    """

    means: Float[Array, "2 d"]
    spreads: Float[Array, "2 d"]
    excess: Float[Array, ""]
    horizon: Float[Array, ""]

    def noised(self, t: Array) -> tuple[Array, Array]:
        """Return means and variances of both distributions at time t, one row for each distribution."""
        a = jnp.exp(-t)
        return a * self.means, 1 + a**2 * (self.spreads**2 - 1)

    def scores(self, t: Array, x: Array) -> tuple[Array, Array]:
        """Return the exact score and its model."""
        means, variances = self.noised(t)
        exact, other = -(x[..., None, :] - means)[..., 0, :] / variances[0], -(x - means[1]) / variances[1]
        return exact, (1 + self.excess) * other

    def divergence_of_paths(self) -> Array:
        """Return KL(p_T | q_T) plus the integral of E |s - model|² over [0, T].

        Here p_T and q_T are both distributions with noise at time T, and s is the score of the noisy data.
        """

        def error(t: Array) -> Array:
            means, variances = self.noised(t)
            slope = (1 + self.excess) / variances[1]
            shift = slope * (means[0] - means[1])
            return jnp.sum((slope - 1 / variances[0]) ** 2 * variances[0] + shift**2)

        # squares of the nodes: the scores are steep near time 0
        roots = (1 + _NODES) / 2
        times, weights = self.horizon * roots**2, self.horizon * roots * _WEIGHTS
        return divergence(*self.noised(self.horizon)) + weights @ jax.vmap(error)(times)


def divergence(means: Float[Array, "2 d"], variances: Float[Array, "2 d"]) -> Float[Array, ""]:
    """Return KL(first | second) of two normal distributions with independent coordinates."""
    ratio = variances[0] / variances[1]
    return jnp.sum(ratio - 1 - jnp.log(ratio) + (means[0] - means[1]) ** 2 / variances[1]) / 2


class WrongScores(Population[WrongScore]):
    """Two distributions. The model is the score of the second distribution; in half of the problems, this score is
    multiplied by 1 + e.
    """

    settings = Space(d=dimension(2, 1, 8), horizon=Real(2.0, 1.0, 4.0, "T"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> WrongScore:
        mean_key, spread_key, excess_key, kind_key = jax.random.split(key, 4)
        shape = (2, setting["d"])
        excess = jax.random.uniform(excess_key, minval=-0.3, maxval=0.3)
        return WrongScore(
            jax.random.normal(mean_key, shape) / 2,
            jax.random.uniform(spread_key, shape, minval=0.6, maxval=1.6),
            jnp.where(jax.random.bernoulli(kind_key), excess, 0.0),
            jnp.asarray(setting["horizon"]),
        )

    def hypotheses(self, problem: WrongScore) -> list[Hypothesis]:
        return [Hypothesis("the distributions have densities", problem.spreads.min(), ">", 0.0)]


class PathDivergence(Claim[WrongScore]):
    """Let p_t be the distribution of dx = -x dt + sqrt(2) dW at time t, and let s_t be its score. Let P be the
    distribution of the reverse paths from time T to 0 that start from p_T and use the score s. Let Q be the
    distribution of the reverse paths that start from q and use a model u of the score. Then

        KL(P | Q) = KL(p_T | q) + integral_0^T E_{p_t} |s_t - u_t|² dt.

    The test uses normal data and a linear model.
    """

    title = "The KL divergence of reverse diffusion paths is the integrated squared error of the score"
    source = Source(
        "song2021likelihood", "Theorem 1", note="its bound is this divergence, with weight 1 for noise sqrt(2)"
    )
    population = WrongScores()
    # A step of T/256 on squared nodes moves the mean of the log ratio by about its relative size.
    relation = EqualInMean(margin=0.02, resolution=0.05)
    control = Control(
        "the integral has the factor 1/2",
        lambda paths, problem: (paths + divergence(*problem.noised(problem.horizon))) / 2,
    )
    controls = "how far the paths of a generator are from the exact ones"
    unexplained = "steps of a solver"
    trials = 64

    def predict(self, problem: WrongScore) -> Array:
        return problem.divergence_of_paths()

    def measure(self, problem: WrongScore, key: Key[Array, ""]) -> Array:
        """Average the log ratio of the densities of steps along simulated exact paths."""
        start_key, path_key = jax.random.split(key)
        means, variances = problem.noised(problem.horizon)
        noise = jax.random.normal(start_key, (_PATHS, means.shape[1]))
        noise = jnp.concatenate([noise, -noise])
        start = means[0] + jnp.sqrt(variances[0]) * noise
        logs = jnp.sum((start - means[1]) ** 2 / variances[1] - noise**2 + jnp.log(variances[1] / variances[0]), 1) / 2
        grid = problem.horizon * (1 - jnp.arange(_STEPS + 1) / _STEPS) ** 2

        def step(carry, inputs):
            x, logs = carry
            t, h, own = inputs
            exact, model = problem.scores(t, x)
            moved = x + h * (x + 2 * exact) + jnp.sqrt(2 * h) * jax.random.normal(own, x.shape)
            gap = lambda score: jnp.sum((moved - x - h * (x + 2 * score)) ** 2, axis=1)
            return (moved, logs + (gap(model) - gap(exact)) / (4 * h)), None

        inputs = (grid[:-1], grid[:-1] - grid[1:], jax.random.split(path_key, _STEPS))
        (_, logs), _ = jax.lax.scan(step, (start, logs), inputs)
        return logs.mean()


class SampleDivergence(Claim[WrongScore]):
    """Let p_t be the distribution of dx = -x dt + sqrt(2) dW at time t, let s_t be its score, and let p_0 be the data.
    Start the reverse process from a distribution q and use a model u_t of the score. The distribution q_0 of its
    samples satisfies

        KL(p_0 | q_0) <= KL(p_T | q) + integral_0^T E_{p_t} |s_t - u_t|² dt.

    Suppose that u_t is the score of some data distribution under the same noise, and that q is the noisy version of
    this distribution at time T. Then the two sides are equal. If u_t is not the score of any distribution, the samples
    are better than the bound says. The test uses normal data. In half of the trials, the model is the score of a
    distribution.
    """

    # For a score u = s_q, the likelihood ratio of two reverse paths equals that of their forward versions, because
    # these have equal transitions. So it depends only on the end.
    title = "The KL divergence from data to diffusion samples is at most the score error plus the error of the start"
    source = Source(
        "emergence2026", "Theorem 16.7", "Figure 16.11", note="with explicit constants, and when they are attained"
    )
    population = WrongScores()
    relation = AtMost()
    control = Control("the divergence is at most 0.95 of the bound", lambda bound, problem: 0.95 * bound)
    controls = "the divergence of the samples of a generator from the data"
    unexplained = "models that are not scores, for which the bound is too large"
    trivial = "without the theory, a divergence can be arbitrarily large"

    def predict(self, problem: WrongScore) -> Array:
        return problem.divergence_of_paths()

    def measure(self, problem: WrongScore, key: Key[Array, ""]) -> Array:
        """Compute the exact distribution of the samples by a solver for its moments."""
        means, variances = problem.noised(problem.horizon)

        def slope(s: Array, moments: Array) -> Array:
            t = problem.horizon - s
            own, widths = problem.noised(t)
            k = (1 + problem.excess) / widths[1]
            return jnp.stack([moments[0] - 2 * k * (moments[0] - own[1]), 2 * (1 - 2 * k) * moments[1] + 2])

        mean, variance = carried(slope, jnp.stack([means[1], variances[1]]), 0.0, problem.horizon)
        return divergence(jnp.stack([problem.means[0], mean]), jnp.stack([problem.spreads[0] ** 2, variance]))

    def condition(self, problem: WrongScore) -> Array:
        """Allow for the solver's error, which is relative to the moments.

        A divergence is quadratic in the differences of moments.
        """
        return BY_SOLVER * (1 + 1 / problem.divergence_of_paths())


class NoisyReverse(eqx.Module):
    """Data from N(m, S), the last time T of the noise, and a factor a + b t of the noise in the reverse process."""

    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]
    factors: Float[Array, " 2"]
    horizon: Float[Array, ""]

    def ends(self, share) -> Array:
        """Return mean and covariance of the samples of dx = (x + share score) ds + factor sqrt(2) dW, by a solver.

        Here `share` is a function of the factor. Score and factor are taken at the time t = T - s, and the samples are
        at t = 0.
        """
        identity = jnp.eye(len(self.mean))

        def noised(t: Array) -> tuple[Array, Array]:
            return jnp.exp(-t) * self.mean, identity + jnp.exp(-2 * t) * (self.covariance - identity)

        def slope(s: Array, moments: Array) -> Array:
            t = self.horizon - s
            factor, (centre, width) = self.factors[0] + self.factors[1] * t, noised(t)
            drift = identity - share(factor) * jnp.linalg.inv(width)
            mean, covariance = moments[0], moments[1:]
            spread = drift @ covariance
            moved = mean + share(factor) * jnp.linalg.solve(width, centre - mean)
            return jnp.concatenate([moved[None], spread + spread.T + 2 * factor**2 * identity])

        centre, width = noised(self.horizon)
        return carried(slope, jnp.concatenate([centre[None], width]), 0.0, self.horizon)


class NoisyReverses(Population[NoisyReverse]):
    """Random normal data. The noise factor starts between 0.2 and 0.8 or between 1.2 and 2, and changes with time."""

    settings = Space(d=dimension(2, 1, 6), horizon=Real(2.0, 0.5, 3.0, "T"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyReverse:
        mean_key, matrix_key, factor_key, kind_key = jax.random.split(key, 4)
        d = setting["d"]
        matrix = jax.random.normal(matrix_key, (d, d)) / d**0.5
        low, slope = jax.random.uniform(factor_key, (2,), minval=0.2, maxval=0.8)
        first = jnp.where(jax.random.bernoulli(kind_key), 1.0 + low, low)
        mean = jax.random.normal(mean_key, (d,))
        return NoisyReverse(
            mean, matrix @ matrix.T + 0.1 * jnp.eye(d), jnp.stack([first, slope / 10]), jnp.asarray(setting["horizon"])
        )

    def hypotheses(self, problem: NoisyReverse) -> list[Hypothesis]:
        return [Hypothesis("the factor of the noise is at least 0", problem.factors.min(), ">=", 0.0)]


class NoiseFamilySharesMarginals(Claim[NoisyReverse]):
    """Let p_t be the distribution of dx = -x dt + sqrt(2) dW at time t, let s_t be its score, and let lambda(t) >= 0 be
    any function. Started from p_T, the reverse process

        dx = (x + (1 + lambda²) s_t(x)) ds + lambda sqrt(2) dW   at t = T - s

    has the distribution p_t at every time. The case lambda = 0 is the probability flow, and the case lambda = 1 is the
    reverse equation. The test uses normal data and functions lambda that change with time. It compares the mean and the
    covariance at time 0.
    """

    title = "Every amount of noise in the reverse diffusion process gives the same marginal distributions"
    source = Source("emergence2026", "Figure 16.8", "Figure 16.16", note="for every amount of noise")
    population = NoisyReverses()
    relation = Equal(block=-1)
    control = Control(
        "the factor is 1 + lambda instead of 1 + lambda²",
        lambda moments, problem: problem.ends(lambda factor: 1 + factor),
    )
    controls = "how much noise a sampler may use"
    unexplained = "which amount of noise repairs the errors of a learned score"

    def predict(self, problem: NoisyReverse) -> Array:
        """Return mean and covariance of the data."""
        return jnp.concatenate([problem.mean[None], problem.covariance])

    def measure(self, problem: NoisyReverse, key: Key[Array, ""]) -> Array:
        return problem.ends(lambda factor: 1 + factor**2)

    def condition(self, problem: NoisyReverse) -> Array:
        return jnp.asarray(BY_SOLVER)
