"""Privacy as stability: how far the expected losses of a private algorithm move, and how much noise makes it private.

This theory is about the distribution of the output of an algorithm, for every two data sets that differ in one row. It
does not say how well a private algorithm learns, or how private it is on typical data.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Source
from lemmata.subjects.stability._gaussian_releases import GaussianRelease, GaussianReleases
from lemmata.subjects.stability._neighbouring_laws import Channel, NeighbouringLaws, PrivateAlgorithms, PrivateChannels

ABOUT = {"tool": "statistics", "architecture": "any", "object": "inequality"}

_CAPTION = "Figure 8.14"
_PANELS, _REACH, _ROUNDS = 16, 12.0, 100
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


def gaussian_delta(eps: Float[Array, ""], ratio: Float[Array, ""]) -> Float[Array, ""]:
    """Return Phi(r/2 - eps/r) - e^eps Phi(-r/2 - eps/r), where r is the ratio of sensitivity to noise."""
    first, second = (log_ndtr(sign * ratio / 2 - eps / ratio) for sign in (1, -1))
    return -jnp.exp(first) * jnp.expm1(eps + second - first)


def integrated_delta(eps: Float[Array, ""], ratio: Float[Array, ""]) -> Float[Array, ""]:
    """Return the mean of (1 - e^(eps - L))+, by quadrature, for the privacy loss L of N(r, 1) against N(0, 1).

    At x = r + t + u with t = eps/r - r/2, the loss exceeds eps by r u, so the integrand is phi(t + u)(1 - e^(-r u)).
    """
    start = eps / ratio - ratio / 2
    # it falls like exp(-t u) where t is large
    reach = (_REACH + jnp.maximum(-start, 0.0)) / jnp.maximum(1.0, start / 4)
    edges = jnp.linspace(0.0, 1.0, _PANELS + 1) ** 2 * reach
    middles, halves = (edges[1:] + edges[:-1]) / 2, jnp.diff(edges) / 2
    place = middles[:, None] + halves[:, None] * _NODES
    values = norm.pdf(start + place) * -jnp.expm1(-ratio * place)
    return jnp.sum(halves[:, None] * _WEIGHTS * values)


def least_noise(problem: GaussianRelease) -> Float[Array, ""]:
    """Return the least sigma whose `integrated_delta` is within the budget, by bisection in log sigma."""

    def half(_, ends):
        middle = (ends[0] + ends[1]) / 2
        kept = integrated_delta(problem.eps, jnp.exp(middle)) <= problem.delta
        return jnp.where(kept, middle, ends[0]), jnp.where(kept, ends[1], middle)

    ratio = jnp.exp(jax.lax.fori_loop(0, _ROUNDS, half, (jnp.log(1e-6), jnp.log(1e3)))[0])
    return problem.sensitivity / ratio


def _moved(problem: NeighbouringLaws) -> Array:
    """Return by how much the expected loss differs between the two data sets."""
    return jnp.abs(jnp.vdot(problem.before, problem.loss) - jnp.vdot(problem.after, problem.loss))


class PrivacyIsStability(Claim[NeighbouringLaws]):
    """Let an algorithm be eps-differentially private: if one row of the data set is replaced, no event becomes more
    than e^eps times as likely. Take any loss of the algorithm's output with values in [0, 1]. If one row is replaced,
    the expected loss changes by at most

        tanh(eps/2) = (e^eps - 1)/(e^eps + 1),

    and randomised response attains this bound.
    """

    title = "Replacing a row changes the expected loss of a differentially private algorithm by at most tanh(eps/2)"
    source = Source("emergence2026", _CAPTION, note="with the sharp constant")
    population = PrivateAlgorithms()
    relation = AtMost()
    control = Control("the expected loss moves by at most 0.95 tanh(eps/2)", lambda bound, problem: 0.95 * bound)
    controls = "how far one row moves the expected loss"
    unexplained = "algorithms that are stable without noise; how much noise costs"
    trivial = 1.0

    def predict(self, problem: NeighbouringLaws) -> Array:
        return jnp.tanh(problem.eps / 2)

    def measure(self, problem: NeighbouringLaws, key: Key[Array, ""]) -> Array:
        return _moved(problem)

    def condition(self, problem: NeighbouringLaws) -> Array:
        return 1 + 1 / problem.eps


class LoosePrivacyStability(Claim[NeighbouringLaws]):
    """Let an algorithm be eps-differentially private, and replace one row of the data set. Take any loss of the
    algorithm's output with values in [0, 1]. The expected loss changes by at most e^eps - 1. The sharp bound is
    tanh(eps/2). The bound e^eps - 1 is about twice the sharp bound for small eps, and three times the sharp bound at
    eps = log 2. Above log 2, e^eps - 1 exceeds 1, so the bound is vacuous.
    """

    title = "Replacing a row changes the expected loss of a differentially private algorithm by at most e^eps - 1"
    source = Source("wang2016private", note="that privacy implies stability")
    population = PrivateAlgorithms(low=0.05, high=0.69)
    relation = AtMost()
    control = Control("the expected loss moves by at most a third of the bound", lambda bound, problem: bound / 3)
    controls = "how far one row moves the expected loss"
    unexplained = "the constant, which is two to three times too large"
    trivial = 1.0

    def predict(self, problem: NeighbouringLaws) -> Array:
        return jnp.expm1(problem.eps)

    def measure(self, problem: NeighbouringLaws, key: Key[Array, ""]) -> Array:
        return _moved(problem)


class ApproximatePrivacyIsStability(Claim[NeighbouringLaws]):
    """Take any two data sets that differ in one row, and let P and Q be the distributions of an algorithm's output on
    them. Let the algorithm be (eps, delta)-differentially private: P(E) <= e^eps Q(E) + delta for every event E. Take
    any loss of the output with values in [0, 1]. Its expectations on the two data sets differ by at most

        1 - 2 (1 - delta)/(1 + e^eps) = tanh(eps/2) + delta (1 - tanh(eps/2)).
    """

    title = (
        "Replacing a row changes the expected loss under (eps, delta)-privacy by at most 1 - 2 (1 - delta)/(1 + e^eps)"
    )
    source = Source("kairouz2015", note="main result on privacy regions, at equal errors")
    population = PrivateAlgorithms(leaks=True)
    relation = AtMost()
    control = Control("the bound holds without the delta", lambda bound, problem: jnp.tanh(problem.eps / 2))
    controls = "how far one row moves the expected loss"
    unexplained = "which rows are revealed"
    trivial = 1.0

    def predict(self, problem: NeighbouringLaws) -> Array:
        return 1 - 2 * (1 - problem.delta) * jax.nn.sigmoid(-problem.eps)

    def measure(self, problem: NeighbouringLaws, key: Key[Array, ""]) -> Array:
        return _moved(problem)

    def condition(self, problem: NeighbouringLaws) -> Array:
        return 1 + 1 / problem.eps


class PrivateGap(Claim[Channel]):
    """Let the rows be independent with the same distribution, and let the algorithm be eps-differentially private. Take
    a loss with values in [0, 1]. The absolute difference between the expected loss on a new row and the expected loss
    on the training rows is at most

        tanh(eps/4).

    For small eps, this bound is half of the bound tanh(eps/2) on the effect of replacing one row.

    Proof: fix all rows but one. Each value of this row gives a distribution of the output, and the gap compares this
    distribution with the mean of these distributions. So each output has one likelihood for each value of the row. In
    the worst case, these likelihoods take only two values, whose ratio is e^eps. Let a fraction f of the likelihoods
    have the larger value. Take the mean of the positive parts of (likelihood - mean)/mean, where mean is the mean
    likelihood. The result is f (1 - f)(e^eps - 1)/(1 + f (e^eps - 1)), which is largest at f = 1/(1 + e^(eps/2)).
    """

    title = "The expected generalisation gap of an eps-differentially private algorithm is at most tanh(eps/4)"
    source = Source("emergence2026", _CAPTION, note="for the expected gap, with a sharp constant")
    stated = Kind.OWN
    population = PrivateChannels()
    relation = AtMost()
    control = Control("the gap is at most 0.95 tanh(eps/4)", lambda bound, problem: 0.95 * bound)
    controls = "the expected generalisation gap"
    unexplained = "the gap of a single sample"
    trivial = 1.0

    def predict(self, problem: Channel) -> Array:
        return jnp.tanh(problem.eps / 4)

    def measure(self, problem: Channel, key: Key[Array, ""]) -> Array:
        """The absolute difference of the expected losses at the row's own value and at another, random row."""
        joint = problem.prior[:, None] * problem.answers
        apart = problem.prior[:, None] * joint.sum(axis=0)
        return jnp.abs(jnp.sum((joint - apart) * problem.loss))

    def condition(self, problem: Channel) -> Array:
        """The condition number: differences are smaller than their terms, and are summed over outputs."""
        return jnp.sqrt(problem.answers.size) / problem.eps


class GaussianCurve(Claim[GaussianRelease]):
    """Let D be the sensitivity of a statistic: the largest distance between its values on two neighbouring data sets.
    Release the statistic with normal noise of standard deviation s in each coordinate. The smallest delta for which
    this release is (eps, delta)-differentially private is

        delta(eps) = Phi(D/(2s) - eps s/D) - e^eps Phi(-D/(2s) - eps s/D),

    where Phi is the normal distribution function.
    """

    title = "The differential privacy curve delta(eps) of a release with normal noise has a closed form"
    source = Source("balle2018", "Theorem 8")
    population = GaussianReleases()
    relation = Equal()
    control = Control(
        "delta is the probability that the privacy loss exceeds eps", lambda delta, problem: _exceeding(problem)
    )
    controls = "the privacy of a release with normal noise"
    unexplained = "which statistics have a small sensitivity"

    def predict(self, problem: GaussianRelease) -> Array:
        return gaussian_delta(problem.eps, problem.sensitivity / problem.sigma)

    def measure(self, problem: GaussianRelease, key: Key[Array, ""]) -> Array:
        return integrated_delta(problem.eps, problem.sensitivity / problem.sigma)

    def condition(self, problem: GaussianRelease) -> Array:
        """The condition number: exponents are sums, and the two terms are subtracted."""
        ratio = problem.sensitivity / problem.sigma
        exponents = 1 + problem.eps + (problem.eps / ratio + ratio / 2) ** 2
        return 2 * exponents * _exceeding(problem) / integrated_delta(problem.eps, ratio)


def _exceeding(problem: GaussianRelease) -> Array:
    """Return the probability of a privacy loss above eps."""
    ratio = problem.sensitivity / problem.sigma
    return norm.cdf(ratio / 2 - problem.eps / ratio)


class ClassicalGaussian(Claim[GaussianRelease]):
    """Let D be the sensitivity of a statistic, and let eps < 1. The release with normal noise of standard deviation

        D sqrt(2 log(1.25/delta)) / eps

    in each coordinate is (eps, delta)-differentially private.
    """

    title = "The classical formula gives normal noise that suffices for differential privacy if eps is below 1"
    source = Source("dwork2014", "Theorem A.1")
    population = GaussianReleases(low=0.05, high=0.999)
    relation = AtMost()
    control = Control("2/3 of the noise is enough", lambda sigma, problem: 2 / 3 * sigma)
    controls = "the noise that a release needs"
    unexplained = "the constant, which is 30 % too large at eps = 1 and delta = 1e-5, and more at smaller eps"
    trivial = "no amount of noise is known in advance to be enough"

    def predict(self, problem: GaussianRelease) -> Array:
        return problem.sensitivity * jnp.sqrt(2 * jnp.log(1.25 / problem.delta)) / problem.eps

    def measure(self, problem: GaussianRelease, key: Key[Array, ""]) -> Array:
        return least_noise(problem)

    def condition(self, problem: GaussianRelease) -> Array:
        return 1 + 1 / problem.eps


class GaussianNoiseForEveryEps(Claim[GaussianRelease]):
    """Let D be the sensitivity of a statistic, let eps > 0, and let z be the normal quantile of 1 - delta. The release
    with normal noise of standard deviation

        D (z + sqrt(z² + 2 eps)) / (2 eps)

    in each coordinate is (eps, delta)-differentially private. With this noise, the privacy loss exceeds eps with
    probability exactly delta if the statistic changes by D.
    """

    title = "Normal noise of a standard deviation in closed form suffices for differential privacy at every eps"
    source = Source("dwork2014", "Theorem A.1", note="for every eps, with the normal quantile in place of its bound")
    stated = Kind.OWN
    population = GaussianReleases()
    relation = AtMost()
    control = Control("9/10 of the noise is enough", lambda sigma, problem: 0.9 * sigma)
    controls = "the noise that a release needs"
    unexplained = "the excess of the noise, which is 40 % at eps = 0.1 and delta = 1e-5"
    trivial = "no amount of noise is known in advance to be enough"

    def predict(self, problem: GaussianRelease) -> Array:
        quantile = -norm.ppf(problem.delta)
        return problem.sensitivity * (quantile + jnp.sqrt(quantile**2 + 2 * problem.eps)) / (2 * problem.eps)

    def measure(self, problem: GaussianRelease, key: Key[Array, ""]) -> Array:
        return least_noise(problem)

    def condition(self, problem: GaussianRelease) -> Array:
        return 1 + 1 / problem.eps
