"""How often a label changes if each sign of the input is flipped with probability eta (noise sensitivity).

This theory computes the sensitivity from the Fourier coefficients, and it bounds the weight of high degrees by the
sensitivity. It assumes uniform inputs from the cube {-1, 1}^d and independent flips. It does not explain which
functions of practical interest are stable.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Kind, Population, Rate, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive
from lemmata.engine.problems.variables import dimension
from lemmata.functions import degrees, walsh_hadamard, weights_by_degree
from lemmata.subjects.boolean._cube_functions import (
    NoisyFunction,
    NoisyFunctions,
    changed_by_flips,
    flip_rates,
    halfspace,
    noise_rate,
    parity_of_size,
    random_halfspace,
    random_tree,
    two_values,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def _changed_by_spectrum(values: Float[Array, " points"], eta: Float[Array, ""], flips: float = 2.0) -> Array:
    """Return (1/2) sum_S (1 - (1 - flips eta)^|S|) f^(S)^2, which assumes f^2 = 1."""
    weights = weights_by_degree(walsh_hadamard(values))
    damped = -jnp.expm1(jnp.arange(len(weights)) * jnp.log1p(-jnp.minimum(flips * eta, 1.0 - 1e-15)))
    return damped @ weights / 2


class NoiseFormula(Claim[NoisyFunction]):
    """Let f be a function on {-1, 1}^d with values -1 and 1, and let f^(S) be its Fourier coefficient for the set S of
    coordinates. Let x be uniform, and let y be x with each sign flipped with probability eta <= 1/2, independently.
    Then

        P(f(x) != f(y)) = 1/2 - (1/2) sum_S (1 - 2 eta)^|S| f^(S)^2.
    """

    title = "The Fourier coefficients of a Boolean function determine its noise sensitivity by a formula"
    source = Source("emergence2026", "Proposition 10.11", "Definition 10.9", "Figure 10.10", "Figure 10.11")
    population = NoisyFunctions()
    relation = Equal()
    control = Control(
        "noise redraws a sign with probability eta, which gives (1 - eta)^|S|",
        lambda rate, problem: _changed_by_spectrum(problem.values, problem.eta, 1.0),
    )
    controls = "how often noise in the input changes a label"
    unexplained = "inputs that are not uniform, and noise that depends on the input"

    def predict(self, problem: NoisyFunction) -> Array:
        return _changed_by_spectrum(problem.values, problem.eta)

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        """Return P(f(x) != f(y)) as a sum over all patterns of flips."""
        patterns = jnp.arange(len(problem.values))
        flipped = degrees(problem.inputs)
        chance = problem.eta**flipped * (1 - problem.eta) ** (problem.inputs - flipped)
        differs = jax.lax.map(lambda z: jnp.mean(problem.values != problem.values[patterns ^ z]), patterns)
        return chance @ differs

    def condition(self, problem: NoisyFunction) -> Array:
        """Bound the rounding errors. They come from powers of up to d factors, and from coefficients with d rounding
        errors each.
        """
        return jnp.asarray(float(problem.inputs))


class StableFunctions(Population[NoisyFunction]):
    """A parity of size k = 1/eta >= 8 in a third of the problems, and otherwise a halfspace or a tree."""

    settings = Space(d=dimension(12, 9, 13, corners=(10, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFunction:
        d = setting["d"]
        own, kind_key, size_key, rate_key = jax.random.split(key, 4)
        size = jax.random.randint(size_key, (), 8, d + 1)
        kinds = jnp.stack([parity_of_size(d, size), random_halfspace(own, d), random_tree(own, d)])
        kind = jax.random.randint(kind_key, (), 0, 3)
        eta = jax.random.uniform(rate_key, minval=1 / d, maxval=0.25)
        return NoisyFunction(kinds[kind], jnp.where(kind == 0, 1 / size, eta))

    def hypotheses(self, problem: NoisyFunction) -> list[Hypothesis]:
        return [two_values(problem), noise_rate(problem)]


class StableMeansLow(Claim[NoisyFunction]):
    """Let f be a function on {-1, 1}^d with values -1 and 1 and Fourier coefficients f^(S). Let NS be the probability
    that f changes if each sign is flipped with probability eta <= 1/2. Then

        sum_{|S| >= 1/eta} f^(S)^2 <= 2/(1 - e^-2) NS.

    The constant 2/(1 - e^-2) is 2.313. Parities of 1/eta coordinates attain this constant in the limit of a small eta.
    """

    title = "A Boolean function that is stable under noise has little Fourier weight at high degrees"
    source = Source("emergence2026", "Lemma 10.13", "Figure 10.12")
    population = StableFunctions()
    relation = AtMost()
    control = Control("the constant 2.2 is enough", lambda bound, problem: bound * 2.2 * (1 - jnp.exp(-2.0)) / 2)
    controls = "the weight at degrees that low-degree learning leaves out"
    unexplained = "functions that are sensitive to noise but can be learned in another basis, such as parities"

    def predict(self, problem: NoisyFunction) -> Array:
        return 2 / (1 - jnp.exp(-2.0)) * changed_by_flips(problem.values, problem.eta)

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        weights = weights_by_degree(walsh_hadamard(problem.values))
        return jnp.sum(jnp.where(jnp.arange(len(weights)) >= 1 / problem.eta - 1e-9, weights, 0.0))

    def trivial(self, problem: NoisyFunction) -> Array:
        """Return the variance of f, which is the sum of all f^(S)^2 over nonempty S."""
        return 1 - jnp.mean(problem.values) ** 2


class LittleNoiseCountsInfluence(Claim[NoisyFunction]):
    """Let f be a function on {-1, 1}^d with values -1 and 1. The influence of a coordinate is the probability that f
    changes if this coordinate of a uniform input changes its sign. The total influence I of f is the sum of the
    influences of all coordinates. If each sign is flipped with probability eta <= 1/2, then f changes with probability
    at most

        eta I.

    At a fixed d, the probability of a change is eta I to first order in eta. So if eta is far below 1/d, the noise
    sensitivity of every function, including the majority, is linear in eta. The noise sensitivity of the majority is of
    the order sqrt(eta) only for eta far above 1/d.
    """

    title = "At noise rate eta, the noise sensitivity of a Boolean function is at most eta times its total influence"
    source = Source("odonnell2014", "Section 2.4", note="by Bernoulli's inequality for (1 - 2 eta)^|S|")
    stated = Kind.OWN
    population = NoisyFunctions(inputs=9, least=0.0001)
    relation = AtMost()
    control = Control("0.95 times the bound is enough", lambda bound, problem: 0.95 * bound)
    controls = "how often little noise in the input changes a label"
    unexplained = "noise of a rate above 1/I, for which the bound exceeds 1"
    trivial = 0.5  # a label changes at most this often for eta <= 1/2

    def predict(self, problem: NoisyFunction) -> Array:
        return problem.eta * jnp.sum(flip_rates(problem.values))

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        return _changed_by_spectrum(problem.values, problem.eta)

    def condition(self, problem: NoisyFunction) -> Array:
        return jnp.asarray(float(problem.inputs))


class ComposedFunction(eqx.Module):
    """A function h = g(f_1, ..., f_k) of Boolean functions f_i on {-1, 1}^d, and noise of rate eta.

    Args:
        inner: the values of each f_i at the points of `cube(d)`.
        outer: the values of g at the points of `cube(k)`.
        eta: the probability that a coordinate changes its sign.
    """

    inner: Float[Array, "k points"]
    outer: Float[Array, " codes"]
    eta: Float[Array, ""]

    @property
    def composed(self) -> Float[Array, " points"]:
        """The values of h at the points of `cube(d)`."""
        codes = jnp.sum((self.inner < 0) * 2 ** jnp.arange(len(self.inner))[:, None], axis=0)
        return self.outer[codes]


class ComposedFunctions(Population[ComposedFunction]):
    """Compositions of halfspaces.

    Half of the problems use disjoint coordinates. Independently, the outer function is a parity in half of the
    problems.
    """

    settings = Space(d=dimension(9, 4, 12, corners=(7, 10)), k=dimension(3, 2, 4, corners=(2, 4)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ComposedFunction:
        d, k = setting["d"], setting["k"]
        weight_key, threshold_key, kind_key, outer_key, rate_key = jax.random.split(key, 5)
        apart, parity = jax.random.bernoulli(kind_key, 0.5, (2,))
        own = jnp.arange(d) % k == jnp.arange(k)[:, None]
        weights = jax.random.normal(weight_key, (k, d)) * (own | ~apart)
        thresholds = 0.7 * jnp.linalg.norm(weights, axis=1) * jax.random.normal(threshold_key, (k,))
        table = jax.random.rademacher(outer_key, (2**k,), float)
        outer = jnp.where(parity, parity_of_size(k, jnp.asarray(k)), table)
        return ComposedFunction(
            jax.vmap(halfspace)(weights, thresholds), outer, 1e-3 * 100 ** jax.random.uniform(rate_key)
        )

    def hypotheses(self, problem: ComposedFunction) -> list[Hypothesis]:
        gap = jnp.max(jnp.abs(jnp.abs(problem.inner) - 1))
        return [Hypothesis("the largest distance of |f_i| from 1", gap, "==", 0.0, "the values are labels")]


class UnionOfNoise(Claim[ComposedFunction]):
    """Let f_1, ..., f_k be functions on {-1, 1}^d with values -1 and 1, and let h(x) = g(f_1(x), ..., f_k(x)) for any
    function g with values -1 and 1. Let NS(f) be the probability that f changes if each sign of the input is flipped
    with probability eta. Then

        NS(h) <= sum_i NS(f_i).

    The bound is nearly attained if g is a parity and two of the f_i seldom change together.
    """

    title = "The noise sensitivity of a composed function is at most the sum of the noise sensitivities of its parts"
    source = Source("emergence2026", "Proposition 10.17", "Figure 10.13")
    population = ComposedFunctions()
    relation = AtMost()
    control = Control("0.95 times the sum is enough", lambda bound, problem: 0.95 * bound)
    controls = "the noise sensitivity of intersections of halfspaces and of other two-layer networks of thresholds"
    unexplained = "intersections of many halfspaces, which are far more stable than the sum suggests"
    trivial = 0.5  # a label changes at most this often for eta <= 1/2

    def predict(self, problem: ComposedFunction) -> Array:
        return jnp.sum(jax.vmap(lambda f: _changed_by_spectrum(f, problem.eta))(problem.inner))

    def measure(self, problem: ComposedFunction, key: Key[Array, ""]) -> Array:
        return changed_by_flips(problem.composed, problem.eta)


class NoiseRate(eqx.Module):
    """The noise rate eta: noise replaces a Gaussian vector by another one that has correlation 1 - 2 eta with it."""

    eta: Float[Array, ""]


def _intersection_noise(eta: Float[Array, ""], halfspaces: float) -> Float[Array, ""]:
    """Return how often the label of k halfspaces <x, u_j> <= t changes, for orthonormal u_j and P(all hold) = 1/2."""
    beyond = -jnp.expm1(-jnp.log(2.0) / halfspaces)
    t = -jax.scipy.special.ndtri(beyond)
    kept, width = 1 - 2 * eta, 2 * jnp.sqrt(eta * (1 - eta))
    far = (9 * width + 2 * eta * t) / kept  # beyond t + far, the part that comes back is smaller than rounding
    x = t + far * (1 + _NODES) / 2
    inside = jax.scipy.special.ndtr((t - kept * x) / width)
    crossing = far / 2 * _WEIGHTS @ (jax.scipy.stats.norm.pdf(x) * inside)
    return -jnp.expm1(halfspaces * jnp.log1p(-crossing / (1 - beyond)))


class IntersectionsAreStable(Claim[NoiseRate]):
    """Let x and y be standard Gaussian vectors of correlation 1 - 2 eta. Take the intersection of k halfspaces <x, u_j>
    <= t, where the u_j are orthonormal and t is such that the intersection has probability 1/2. The noise sensitivity
    of this intersection is the probability that exactly one of x and y lies in it. Divide this number by the noise
    sensitivity of a single halfspace of probability 1/2. If eta is far below 1/log k, then the ratio grows with k as

        (log k)^(1/2).

    Peres' bound on the noise sensitivity of a single halfspace, 2 sqrt(eta), is the same for every threshold. So the
    sum of these bounds over the k halfspaces grows like k instead.
    """

    title = "The noise sensitivity of the intersection of k orthogonal halfspaces grows like sqrt(log k)"
    source = Source("kane2014", "Main result", note="the order in k is attained, for Gaussian inputs")
    stated = Kind.OWN
    population = Drawn(NoiseRate, positive("eta", "without noise, no label changes"), eta=log_uniform(1e-7, 1e-5))
    relation = Rate("log2 k", (16.0, 32.0, 64.0, 128.0), margin=0.06, resolution=0.04)
    control = Control("like log k", lambda exponent, problem: exponent + 0.5)
    controls = "the noise sensitivity of many halfspaces together"
    unexplained = "thresholds that make the intersection rare, for which the sensitivity falls"
    trials = 32
    predict = 0.5

    def measure_at(self, problem: NoiseRate, key: Key[Array, ""], rung: float) -> Array:
        alone = 2 / jnp.pi * jnp.arcsin(jnp.sqrt(problem.eta))
        return _intersection_noise(problem.eta, 2.0**rung) / alone
