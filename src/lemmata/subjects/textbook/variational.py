"""Variational methods for latent variables: bounds on sums over too many states, and the gain of an EM step.

The theory gives a lower bound on the gain in likelihood of each EM step, and the cost of an approximate posterior with
independent variables. It does not say which of several maxima is reached.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Source
from lemmata.subjects.textbook._ising_models import IsingModel, IsingModels
from lemmata.subjects.textbook._mixture_fits import FactorModel, FactorModels, MixtureFit, MixtureFits

from .graphical_models import log_mean_weight

ABOUT = {"tool": "information theory", "architecture": "any", "object": "estimator"}

_KEY = "younes2024introduction"


def mean_field(model: IsingModel, rounds: int = 60) -> Float[np.ndarray, " n"]:
    """Return means of independent spins with m_i = tanh(h_i + sum of J_ij m_j), updated one after the other."""
    means = np.tanh(model.fields)
    for _ in range(rounds):
        for i in range(len(means)):
            means[i] = np.tanh(model.fields[i] + model.couplings[i] @ means)
    return means


def mean_field_value(model: IsingModel, means: Float[np.ndarray, " n"]) -> float:
    """Return the energy plus entropy of independent spins with these means, minus n log 2."""
    up = (1 + means) / 2
    entropy = -np.sum(up * np.log(up) + (1 - up) * np.log1p(-up))
    return float(means @ model.couplings @ means / 2 + model.fields @ means + entropy - len(means) * np.log(2))


class MeanFieldFromBelow(Claim[IsingModel]):
    """Let n spins have couplings J_ij, fields h_i and the partition function Z. Consider independent spins with means
    m_i = tanh(h_i + sum of J_ij m_j), where the sum is over j. The means and the entropies of these spins give the
    lower bound

        m'Jm/2 + h'm + sum of their entropies <= log Z.

    The test subtracts n log 2 from both sides. The bound also holds for couplings of either sign and for graphs with
    loops.
    """

    title = "Mean field gives a lower bound on the log partition function"
    source = Source(_KEY, "Abstract, variational methods", note="the evidence lower bound, for spins")
    population = IsingModels("dense", rest=False)
    relation = AtMost()
    control = Control("the lower bound is at most 0.8 of log(Z / 2^n)", lambda value, problem: 0.8 * value)
    controls = "the partition function, from below"
    unexplained = "how far the bound is below the partition function; which of several solutions m is found"
    traced = False

    def predict(self, problem: IsingModel) -> Array:
        return jnp.asarray(log_mean_weight(problem))

    def measure(self, problem: IsingModel, key: Key[Array, ""]) -> Array:
        """The lower bound minus n log 2, with means after 60 rounds of updates."""
        return jnp.asarray(mean_field_value(problem, mean_field(problem)))

    def trivial(self, problem: IsingModel) -> Array:
        """Return an upper bound on the logarithm of the largest weight of a state."""
        return jnp.asarray(np.abs(np.triu(problem.couplings)).sum() + np.abs(problem.fields).sum())


class EmStepGains(Claim[MixtureFit]):
    """Fit the means and weights of a mixture of normal distributions of variance 1 by expectation maximisation (EM).
    The responsibilities of a point i are the probabilities of the components, given this point. Let r_i be the
    responsibilities before a step and r_i' the responsibilities after it. The step raises the log likelihood by at
    least

        sum over points of KL(r_i, r_i').
    """

    title = (
        "An EM step raises the log likelihood by at least the KL divergences from the old to the new responsibilities"
    )
    source = Source(_KEY, "Abstract, variational methods", note="for one step")
    population = MixtureFits(apart=1.0, steps=10)
    relation = AtLeast()
    control = Control("the gain is at least four times the bound", lambda gain, problem: 4 * gain)
    controls = "the change of the log likelihood in one step"
    unexplained = "where the steps end"
    traced = False
    trivial = 0.0  # it does not fall

    def predict(self, problem: MixtureFit) -> Array:
        before = problem.log_posterior(problem.means, problem.weights)
        after = problem.log_posterior(*problem.step(problem.means, problem.weights))
        return jnp.asarray(np.sum(np.exp(before) * (before - after)))

    def measure(self, problem: MixtureFit, key: Key[Array, ""]) -> Array:
        """The log likelihood after the step minus the log likelihood before the step."""
        return jnp.asarray(_gain(problem))

    def condition(self, problem: MixtureFit) -> Array:
        """Return the condition number of a difference of log likelihoods."""
        gain = max(abs(_gain(problem)), 1e-290)
        return jnp.asarray(abs(problem.log_likelihood(problem.means, problem.weights)) / gain)


def _gain(problem: MixtureFit) -> float:
    after = problem.log_likelihood(*problem.step(problem.means, problem.weights))
    return after - problem.log_likelihood(problem.means, problem.weights)


class FactorisedPosteriorCost(Claim[FactorModel]):
    """Consider the model x = W z + noise, where z ~ N(0, I) and the noise has variance s. The posterior of z has the
    precision M = I + W'W/s. Among normal distributions with independent components, take the distribution with the
    largest evidence lower bound. This largest lower bound is smaller than the log likelihood of a point by

        1/2 (sum of log M_kk - log det M),

    and this difference is the same for every point.
    """

    title = "In a linear factor model, the mean-field evidence bound is below the log likelihood by a constant"
    source = Source(_KEY, "Abstract, variational methods", note="for normal laws")
    population = FactorModels()
    relation = Equal()
    control = Control("the gap does not have the factor 1/2", lambda cost, problem: 2 * cost)
    controls = "the gap between the log likelihood and the evidence lower bound"
    unexplained = "posteriors that are not normal"
    traced = False

    def hypotheses(self, problem: FactorModel) -> list[Hypothesis]:
        count = float(problem.loadings.shape[1])
        return [
            Hypothesis(
                "components of z", count, ">=", 2.0, "a single component is already independent, so the bound is exact"
            )
        ]

    def predict(self, problem: FactorModel) -> Array:
        precision = _precision(problem)
        return jnp.asarray((np.log(np.diagonal(precision)).sum() - np.linalg.slogdet(precision)[1]) / 2)

    def measure(self, problem: FactorModel, key: Key[Array, ""]) -> Array:
        """The log likelihood of the first row minus the lower bound with the posterior's mean and variances 1/M_kk."""
        x, w, s = problem.rows[0], problem.loadings, problem.noise
        d, k = w.shape
        spread, variances = w @ w.T + s * np.eye(d), 1 / np.diagonal(_precision(problem))
        density = -(x @ np.linalg.solve(spread, x) + np.linalg.slogdet(2 * np.pi * spread)[1]) / 2
        mean = w.T @ np.linalg.solve(spread, x)
        fit = -(np.sum((x - w @ mean) ** 2) + np.sum(w**2 @ variances)) / (2 * s) - d * np.log(2 * np.pi * s) / 2
        divergence = (mean @ mean + variances.sum() - k - np.log(variances).sum()) / 2
        return jnp.asarray(density - fit + divergence)

    def condition(self, problem: FactorModel) -> Array:
        """Return the condition number of a difference of two numbers of the size of |x|²/s."""
        size = (problem.rows[0] @ problem.rows[0] + np.sum(problem.loadings**2)) / problem.noise
        return jnp.asarray(
            10 * (size + len(problem.loadings)) / self.predict(problem) * np.linalg.cond(_precision(problem))
        )


def _precision(problem: FactorModel) -> Float[np.ndarray, "k k"]:
    w = problem.loadings
    return np.eye(w.shape[1]) + w.T @ w / problem.noise
